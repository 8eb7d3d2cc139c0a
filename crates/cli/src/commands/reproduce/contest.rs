//! The baselines of the exact figure, tuned on draws that it does not show, over grids declared here.

use super::exact::{Budget, Method};
use super::honest::{DELTA, EPSILONS, LOSSES};
use super::trials::{Stop, Trial, in_parallel};
use dzoa::plan::Auto;
use dzoa::privacy::calibrate::Schedule;
use dzoa::tuning::Setting;
use dzoa_table::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::sync::Mutex;

/// Algorithms that are tuned, as a config names them.
pub const TUNED: [&str; 3] = ["dp-gd", "dp-admm", "p-admm"];

/// Draws that each setting is tried on.
const TRIALS: u64 = 4;

/// What was chosen for one baseline, loss and epsilon, at [`DELTA`]; the panels along delta take it over.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Choice {
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

impl Choice {
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
    Method { algorithm, mechanism: "output", schedule, setting: setting.clone() }
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
pub fn tune(seed: u64) -> Result<Vec<Choice>, Stop> {
    // Per draw, in this order: loss, epsilon, algorithm, setting.
    let errors: Mutex<Vec<(u64, Vec<f64>)>> = Mutex::new(Vec::new());
    in_parallel(&(0..TRIALS).collect::<Vec<u64>>(), |&number| {
        let mut trial = Trial::for_tuning(seed, number);
        let mut found = Vec::new();
        for loss in LOSSES {
            let draw = trial.exact(loss)?;
            for epsilon in EPSILONS {
                let budget = Budget { epsilon, delta: DELTA };
                for name in TUNED {
                    for setting in grid(name) {
                        found.push(draw.error(&baseline(name, &setting), budget)?);
                    }
                }
            }
        }
        errors.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((number, found));
        Ok(())
    })?;
    let mut errors = errors.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    errors.sort_by_key(|(number, _)| *number);
    let mean = |i: usize| errors.iter().map(|(_, found)| found[i]).sum::<f64>() / TRIALS as f64;
    let (mut choices, mut place) = (Vec::new(), 0);
    for loss in LOSSES {
        for epsilon in EPSILONS {
            for name in TUNED {
                let mut best: Option<Choice> = None;
                for setting in 0..grid(name).len() {
                    let error = mean(place);
                    place += 1;
                    if best.as_ref().is_none_or(|best| error < best.error) {
                        let (name, loss) = (name.into(), loss.into());
                        best = Some(Choice { name, loss, epsilon, setting, error });
                    }
                }
                choices.extend(best);
            }
        }
    }
    Ok(choices)
}

/// `fig3-honest.tuning.csv`
pub fn csv(choices: &[Choice]) -> String {
    let mut csv = String::from(
        "algorithm,loss,epsilon_total,delta,tuning_error,tuning_trials,settings_tried,settings\n",
    );
    for Choice { name, loss, epsilon, setting, error } in choices {
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
        "{} are tuned for each ε and loss on {TRIALS} other draws, over as many settings as in brackets \
         (fig3-honest.tuning.csv); dp-gd and dp-admm also need a coordinator.",
        tried.join(", ")
    )
}
