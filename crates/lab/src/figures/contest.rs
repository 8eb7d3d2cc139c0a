//! The baselines of the exact figure, tuned on draws that it does not show, over grids declared
//! here.

use super::exact::{DELTA, EPSILONS, ExactDraw, LOSSES, Method};
use super::trials::FigureTrial;
use crate::Interrupt;
use crate::tuner::{self, Middle, least};
use crate::workers::{Stop, in_parallel};
use dzoa::plan::Auto;
use dzoa::privacy::Budget;
use dzoa::privacy::calibrate::Schedule;
use dzoa::tuning::Setting;
use dzoa_table::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Algorithms that are tuned, as a config names them.
pub const TUNED: [&str; 3] = ["dp-gd", "dp-admm", "p-admm"];

/// Draws that each setting is tried on.
const TRIALS: u64 = 4;

/// What was chosen for one baseline, loss and epsilon, at [`DELTA`]; the panels along delta take it
/// over.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct TunedChoice {
    /// One of [`TUNED`].
    pub name: String,
    /// The loss.
    pub loss: String,
    /// Exact, total.
    pub epsilon: f64,
    /// Which setting of the declared grid.
    pub setting: usize,
    /// Mean over the tuning draws.
    pub error: f64,
}

impl TunedChoice {
    /// The baseline with the chosen setting.
    pub fn method(&self) -> Result<Method> {
        let name = TUNED.into_iter().find(|name| *name == self.name);
        let method = name.and_then(|name| Some(baseline(name, grid(name).get(self.setting)?)));
        method.ok_or_else(|| {
            Error::input(format!("fig3-honest.settings.json: {} has no such setting", self.name))
                .hint("compute the figure again, in another directory")
        })
    }
}

/// A baseline with these settings.
fn baseline(algorithm: &'static str, setting: &Setting) -> Method {
    let schedule = Auto::Given(Schedule::Constant);
    let setting = setting.clone();
    Method { algorithm, mechanism: "output", colluders: None, schedule, setting }
}

/// The settings that are tried.
fn grid(name: &str) -> Vec<Setting> {
    let mut settings = Vec::new();
    let mut add = |rho: Option<f64>, rounds: u64, options: Vec<(&'static str, f64)>| {
        settings.push(Setting { rho, rounds: Some(rounds), options, ..Setting::default() });
    };
    match name {
        "dp-gd" => {
            for rounds in [30, 100] {
                for step in [0.3, 1.0, 3.0, 6.0] {
                    add(None, rounds, vec![("step", step)]);
                }
            }
        }
        "dp-admm" => {
            for rounds in [30, 100] {
                for rho in [0.01, 0.03, 0.1] {
                    for step in [3.0, 10.0, 30.0] {
                        add(Some(rho), rounds, vec![("step", step), ("decay", 0.0)]);
                    }
                }
            }
        }
        _ => {
            for rounds in [30, 60] {
                for rho in [0.01, 0.03] {
                    for decay in [0.9, 0.97] {
                        add(Some(rho), rounds, vec![("decay", decay)]);
                    }
                }
            }
        }
    }
    settings
}

/// Tunes every baseline for every loss and epsilon.
pub fn tune(seed: u64, interrupt: Interrupt) -> Result<Vec<TunedChoice>, Stop> {
    let draws = |loss: &'static str| {
        in_parallel(&(0..TRIALS).collect::<Vec<u64>>(), |&number| {
            let mut trial = FigureTrial::for_tuning(seed, number, interrupt);
            trial.exact(loss)?;
            Ok(trial)
        })
    };
    let mut choices = Vec::new();
    for loss in LOSSES {
        let mut trials = draws(loss)?;
        let draws: Vec<&ExactDraw> =
            trials.iter_mut().map(|trial| trial.exact(loss)).collect::<Result<_>>()?;
        let places: Vec<(f64, &'static str)> =
            EPSILONS.iter().flat_map(|&epsilon| TUNED.map(|name| (epsilon, name))).collect();
        choices.extend(in_parallel(&places, |&(epsilon, name)| choose(&draws, epsilon, name))?);
    }
    Ok(choices)
}

fn choose(draws: &[&ExactDraw], epsilon: f64, name: &'static str) -> Result<TunedChoice, Stop> {
    let (grid, budget) = (grid(name), Budget { epsilon, delta: DELTA });
    let error = |setting: &Setting, draw: &&ExactDraw| draw.error(&baseline(name, setting), budget);
    let tried: Vec<f64> =
        tuner::tune(&grid, draws, Middle::Mean, error).into_iter().collect::<Result<_, Stop>>()?;
    let setting = least(tried.iter().copied().map(Some)).expect("the grid is not empty");
    let loss = draws[0].loss.into();
    Ok(TunedChoice { name: name.into(), loss, epsilon, setting, error: tried[setting] })
}

/// `fig3-honest.tuning.csv`
pub fn csv(choices: &[TunedChoice]) -> String {
    let mut csv = String::from(
        "algorithm,loss,epsilon_total,delta,tuning_error,tuning_trials,settings_tried,settings\n",
    );
    for TunedChoice { name, loss, epsilon, setting, error } in choices {
        let grid = grid(name);
        let (tried, text) = (grid.len(), grid.get(*setting).map(Setting::to_string));
        let text = text.unwrap_or_default();
        let _ = writeln!(csv, "{name},{loss},{epsilon},{DELTA},{error},{TRIALS},{tried},{text}");
    }
    csv
}

/// For captions.
pub fn describe() -> String {
    let tried = TUNED.map(|name| format!("{name} ({})", grid(name).len()));
    format!(
        "{} are tuned for each ε and loss on {TRIALS} other draws, over as many settings as in \
         brackets \
         (fig3-honest.tuning.csv); dp-gd and dp-admm also need every release at every agent.",
        tried.join(", ")
    )
}
