//! Figure 3: error after the last round against total epsilon, and against delta.

use super::captions::{NOMINAL, lost, number, spread};
use super::curves::{D_ZOA, DP_ADMM, ERROR, curve, paper_style};
use super::paper::{Pair, ROUNDS};
use super::raw::{Key, Measurement, Point};
use super::trials::FigureTrial;
use super::tuning::{self, Tuned};
use super::{Columns, Drawing, Figure};
use crate::Interrupt;
use crate::workers::Stop;
use dzoa::privacy::calibrate::theorem2_epsilon;
use dzoa_report::{Chart, Curve, Panel};
use dzoa_table::Result;

/// Of a round, along panel a.
const EPSILONS: [f64; 7] = [0.05, 0.1, 0.15, 0.25, 0.4, 0.6, 0.95];
/// The curves of panel a.
const FEW_DELTAS: [f64; 2] = [1e-6, 1e-3];
/// Along panel b.
const DELTAS: [f64; 5] = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2];
/// The curves of panel b.
const FEW_EPSILONS: [f64; 2] = [0.15, 0.95];

/// The privacy-accuracy trade-off, as the paper accounts it.
#[derive(Default)]
pub struct Fig3 {
    tuned: Vec<Tuned>,
}

/// Panel and pair of every point, in the order of the CSV.
fn places() -> Vec<(&'static str, Pair)> {
    let a = FEW_DELTAS
        .into_iter()
        .flat_map(|delta| EPSILONS.map(|epsilon| ("fig3a", (epsilon, delta))));
    let b = FEW_EPSILONS
        .into_iter()
        .flat_map(|epsilon| DELTAS.map(|delta| ("fig3b", (epsilon, delta))));
    a.chain(b).collect()
}

impl Figure for Fig3 {
    fn name(&self) -> &'static str {
        "fig3"
    }

    fn columns(&self) -> Columns {
        Columns { x: "epsilon_total", value: "error" }
    }

    fn cost(&self) -> f64 {
        7.0
    }

    fn cost_of_tuning(&self) -> f64 {
        40.0
    }

    fn prepare(&mut self, seed: u64, interrupt: Interrupt) -> Result<(), Stop> {
        let mut pairs: Vec<Pair> = Vec::new();
        for (_, pair) in places() {
            if !pairs.contains(&pair) {
                pairs.push(pair);
            }
        }
        self.tuned = tuning::tune(seed, interrupt, &pairs)?;
        Ok(())
    }

    fn tuned(&self) -> serde_json::Value {
        serde_json::json!(self.tuned)
    }

    fn restore(&mut self, tuned: &serde_json::Value) -> Result<(), serde_json::Error> {
        self.tuned = serde::Deserialize::deserialize(tuned)?;
        Ok(())
    }

    fn measure(&self, trial: &mut FigureTrial) -> Result<Vec<Measurement>, Stop> {
        let draw = trial.paper()?;
        let mut measurements = Vec::new();
        for algorithm in [D_ZOA, DP_ADMM] {
            for (figure, pair) in places() {
                let errors = match algorithm {
                    D_ZOA => draw.d_zoa_errors(pair)?.to_vec(),
                    _ => tuning::errors_for(draw, &self.tuned, pair)?,
                };
                let (epsilon, delta) = pair;
                let x = theorem2_epsilon(epsilon, delta, ROUNDS);
                let key =
                    Key { figure: figure.into(), algorithm: algorithm.into(), epsilon, delta, x };
                let value = errors.last().copied().unwrap_or(f64::INFINITY);
                measurements.push(Measurement { key, value });
            }
        }
        Ok(measurements)
    }

    fn draw(&self, points: &[Point], trials: u64) -> Result<Drawing> {
        let both = |figure: &str,
                    few: [f64; 2],
                    symbol: &str,
                    value: fn(&Key) -> f64,
                    x: fn(&Key) -> f64| {
            let one = |algorithm: &str, fixed: f64| -> Curve {
                let label = format!("{algorithm}, {symbol} = {}", number(fixed));
                let select = |key: &Key| {
                    key.figure == figure && key.algorithm == algorithm && value(key) == fixed
                };
                curve(points, &label, paper_style(algorithm, fixed == few[1]), select, x)
            };
            [D_ZOA, DP_ADMM]
                .iter()
                .flat_map(|algorithm| few.map(|fixed| one(algorithm, fixed)))
                .collect()
        };
        let panels = vec![
            Panel {
                title: "(a)  nominal privacy, δ fixed".into(),
                x_label: format!("nominal total ε̄ of {ROUNDS} rounds (Theorem 2)"),
                y_label: ERROR.into(),
                log_x: true,
                curves: both("fig3a", FEW_DELTAS, "δ", |key| key.delta, |key| key.x),
            },
            Panel {
                title: "(b)  nominal privacy, ε of a round fixed".into(),
                x_label: "δ".into(),
                y_label: ERROR.into(),
                log_x: true,
                curves: both("fig3b", FEW_EPSILONS, "ε", |key| key.epsilon, |key| key.delta),
            },
        ];
        let caption = format!(
            "**Figure 3.** Error after {ROUNDS} rounds against (a) the total epsilon that Theorem \
             2 gives for {} values of \
             the epsilon of a round from {} to {}, and (b) delta. {NOMINAL} Theorem 2 is itself no \
             upper bound at the \
             larger values. {}{} {}",
            EPSILONS.len(),
            EPSILONS[0],
            EPSILONS[EPSILONS.len() - 1],
            spread(trials),
            lost(points),
            tuning::describe(&self.tuned, "fig3"),
        );
        let svg = Chart { panels, columns: 1 }.svg();
        let further = vec![("fig3.tuning.csv".into(), tuning::csv(&self.tuned))];
        Ok(Drawing { svg, caption, further })
    }
}
