//! Figure 2: error against round.

use super::captions::{NOMINAL, lost, number, spread};
use super::curves::{D_ZOA, DP_ADMM, ERROR, curve, paper_style};
use super::paper::{Pair, ROUNDS};
use super::raw::{Key, Measurement, Point};
use super::trials::FigureTrial;
use super::tuning::{self, Tuned};
use super::{Columns, Drawing, Figure};
use crate::Interrupt;
use crate::workers::Stop;
use dzoa_report::{Chart, Panel};
use dzoa_table::Result;

const EPSILONS: [f64; 2] = [0.15, 0.95];
/// Of panels a and b.
const DELTAS: [f64; 2] = [1e-3, 1e-6];
const PANELS: [&str; 2] = ["fig2a", "fig2b"];

/// D-ZOA and tuned DP-ADMM, round by round.
#[derive(Default)]
pub struct Fig2 {
    tuned: Vec<Tuned>,
}

fn pairs() -> Vec<Pair> {
    DELTAS.iter().flat_map(|&delta| EPSILONS.map(|epsilon| (epsilon, delta))).collect()
}

impl Figure for Fig2 {
    fn name(&self) -> &'static str {
        "fig2"
    }

    fn columns(&self) -> Columns {
        Columns { x: "round", value: "error" }
    }

    fn cost(&self) -> f64 {
        1.8
    }

    fn cost_of_tuning(&self) -> f64 {
        9.0
    }

    fn prepare(&mut self, seed: u64, interrupt: Interrupt) -> Result<(), Stop> {
        self.tuned = tuning::tune(seed, interrupt, &pairs())?;
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
        for (panel, delta) in PANELS.iter().zip(DELTAS) {
            for epsilon in EPSILONS {
                let mut record = |algorithm: &str, errors: &[f64]| {
                    measurements.extend(errors.iter().zip(1..).map(|(&value, round)| {
                        Measurement {
                            key: Key {
                                figure: (*panel).into(),
                                algorithm: algorithm.into(),
                                epsilon,
                                delta,
                                x: f64::from(round),
                            },
                            value,
                        }
                    }));
                };
                record(D_ZOA, draw.d_zoa_errors((epsilon, delta))?);
                record(DP_ADMM, &tuning::errors_for(draw, &self.tuned, (epsilon, delta))?);
            }
        }
        Ok(measurements)
    }

    fn draw(&self, points: &[Point], trials: u64) -> Result<Drawing> {
        let panel = |(letter, (figure, delta)): (char, (&&str, f64))| {
            let curves = [D_ZOA, DP_ADMM].into_iter().flat_map(|algorithm| {
                EPSILONS.map(|epsilon| {
                    let label = format!("{algorithm}, ε = {epsilon}");
                    let style = paper_style(algorithm, epsilon == EPSILONS[1]);
                    let select = |key: &Key| {
                        key.figure == **figure
                            && key.algorithm == algorithm
                            && key.epsilon == epsilon
                    };
                    let mut curve = curve(points, &label, style, select, |key| key.x);
                    curve.marker_every = 25;
                    curve
                })
            });
            Panel {
                title: format!("({letter})  δ = {}, nominal privacy", number(delta)),
                x_label: "round m  (ε per round)".into(),
                y_label: ERROR.into(),
                log_x: false,
                curves: curves.collect(),
            }
        };
        let panels = ('a'..).zip(PANELS.iter().zip(DELTAS)).map(panel).collect();
        let caption = format!(
            "**Figure 2.** Error against round on the paper's example ({} rounds, sum scale). \
             {NOMINAL} {}{} {} {}",
            ROUNDS,
            spread(trials),
            lost(points),
            tuning::describe(&self.tuned, "fig2"),
            findings(points)
        );
        let svg = Chart { panels, columns: 1 }.svg();
        let further = vec![("fig2.tuning.csv".into(), tuning::csv(&self.tuned))];
        Ok(Drawing { svg, caption, further })
    }
}

/// Who is ahead early and at the end, for every pair.
fn findings(points: &[Point]) -> String {
    let at = |algorithm: &str, (epsilon, delta): Pair, round: f64| {
        let is = |key: &Key| {
            key.algorithm == algorithm && (key.epsilon, key.delta, key.x) == (epsilon, delta, round)
        };
        points.iter().find(|point| is(&point.key)).map_or(f64::NAN, |point| point.mean)
    };
    let each = pairs().into_iter().map(|pair| {
        let at = |algorithm, round| number(at(algorithm, pair, round));
        let last = ROUNDS as f64;
        format!(
            "ε = {}, δ = {}: {} and {} at round 10, {} and {} at round {ROUNDS}",
            pair.0,
            number(pair.1),
            at(D_ZOA, 10.0),
            at(DP_ADMM, 10.0),
            at(D_ZOA, last),
            at(DP_ADMM, last)
        )
    });
    format!("Mean error of D-ZOA and DP-ADMM: {}.", each.collect::<Vec<_>>().join("; "))
}
