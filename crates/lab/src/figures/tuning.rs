//! The paper's benchmark DP-ADMM, tuned as the paper says it was: for the error at the last round,
//! by a grid that is declared here, on draws that no figure shows.

use super::captions::number;
use super::paper::{Pair, PaperDraw, ROUNDS};
use super::trials::FigureTrial;
use crate::Interrupt;
use crate::tuner::{self, Middle, least};
use crate::workers::{Stop, in_parallel};
use dzoa::baselines::{DpAdmm, DpAdmmSettings};
use dzoa::privacy::Event;
use dzoa_table::Error;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Draws that each setting is tried on.
const TRIALS: u64 = 8;
const RHO: [f64; 6] = [0.1, 0.3, 1.0, 3.0, 10.0, 30.0];
const A: [f64; 6] = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0];
const P: [f64; 3] = [0.0, 0.5, 1.0];

/// The chosen settings for one pair.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Tuned {
    /// Of a round.
    pub epsilon: f64,
    /// delta.
    pub delta: f64,
    /// rho.
    pub rho: f64,
    /// Steps `a k^-p`.
    pub a: f64,
    /// Their decay.
    pub p: f64,
    /// Mean over the tuning draws at the last round.
    pub error: f64,
}

/// Tunes DP-ADMM for every pair.
pub fn tune(seed: u64, interrupt: Interrupt, pairs: &[Pair]) -> Result<Vec<Tuned>, Stop> {
    let mut draws = in_parallel(&(0..TRIALS).collect::<Vec<u64>>(), |&number| {
        let mut trial = FigureTrial::for_tuning(seed, number, interrupt);
        trial.paper()?;
        Ok(trial)
    })?;
    let draws: Vec<&PaperDraw> =
        draws.iter_mut().map(|trial| trial.paper().map(|draw| &*draw)).collect::<Result<_, _>>()?;
    in_parallel(pairs, |&pair| tune_pair(&draws, pair))
}

/// The grid, in the order in which the first of equals is chosen.
fn grid((epsilon, delta): Pair) -> Vec<Tuned> {
    let mut grid = Vec::new();
    for rho in RHO {
        for a in A {
            grid.extend(P.map(|p| Tuned { epsilon, delta, rho, a, p, error: f64::INFINITY }));
        }
    }
    grid
}

fn tune_pair(draws: &[&PaperDraw], pair: Pair) -> Result<Tuned, Stop> {
    let grid = grid(pair);
    let last = |setting: &Tuned, draw: &&PaperDraw| {
        Ok(errors(draw, setting)?.last().copied().unwrap_or(f64::INFINITY))
    };
    let tried: Vec<f64> =
        tuner::tune(&grid, draws, Middle::Mean, last).into_iter().collect::<Result<_, Stop>>()?;
    let best = least(tried.iter().copied().map(Some)).expect("the grid is not empty");
    Ok(Tuned { error: tried[best], ..grid[best] })
}

/// DP-ADMM's error after each round: every agent has the same w.
fn errors(draw: &PaperDraw, tuned: &Tuned) -> Result<Vec<f64>, Stop> {
    let Tuned { epsilon, delta, rho, a, p, .. } = *tuned;
    let nominal = Some((epsilon, delta));
    let settings = DpAdmmSettings { rho, step: a, decay: p, clip: None, nominal };
    let built = DpAdmm::new(settings, &draw.problem.public());
    draw.errors_of(Box::new(built), Event::Nominal { epsilon, delta })
}

/// DP-ADMM's error after each round, with the settings that were chosen for a pair.
pub fn errors_for(draw: &PaperDraw, tuned: &[Tuned], pair: Pair) -> Result<Vec<f64>, Stop> {
    let tuned =
        tuned.iter().find(|tuned| (tuned.epsilon, tuned.delta) == pair).ok_or_else(|| {
            let (epsilon, delta) = pair;
            Error::input(format!("settings.json: DP-ADMM was not tuned for ({epsilon}, {delta})"))
                .hint("compute the figure again, in another directory")
        })?;
    errors(draw, tuned)
}

/// `NAME.tuning.csv`
pub fn csv(tuned: &[Tuned]) -> String {
    let mut csv = String::from("epsilon,delta,rho,a,p,tuning_error,tuning_trials,settings_tried\n");
    let tried = RHO.len() * A.len() * P.len();
    for Tuned { epsilon, delta, rho, a, p, error } in tuned {
        let _ = writeln!(csv, "{epsilon},{delta},{rho},{a},{p},{error},{TRIALS},{tried}");
    }
    csv
}

/// For captions.
pub fn describe(tuned: &[Tuned], name: &str) -> String {
    let mut text = format!(
        "DP-ADMM is tuned for each (ε, δ) for its error at round {ROUNDS}, over {} settings (ρ \
         from {} to {}, steps \
         a k⁻ᵖ with a from {} to {} and p in 0, ½, 1) on {TRIALS} other draws",
        RHO.len() * A.len() * P.len(),
        RHO[0],
        RHO[RHO.len() - 1],
        A[0],
        A[A.len() - 1]
    );
    if tuned.len() <= 4 {
        let chosen = tuned.iter().map(|t| {
            let (epsilon, delta) = (number(t.epsilon), number(t.delta));
            format!("({epsilon}, {delta}): ρ = {}, a = {}, p = {}", t.rho, t.a, t.p)
        });
        let _ = write!(text, "; chosen: {}", chosen.collect::<Vec<_>>().join("; "));
    }
    text + &format!(" ({name}.tuning.csv).")
}
