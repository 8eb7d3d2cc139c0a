//! How the error falls with the number of rounds, beside the theory.

use super::captions::{lost, number, spread};
use super::curves::{ERROR, curve};
use super::paper::PaperDraw;
use super::raw::{Key, Measurement, Point};
use super::trials::FigureTrial;
use super::{Columns, Drawing, Figure};
use crate::workers::Stop;
use dzoa::prelude::*;
use dzoa::privacy::calibrate::{lemma3_sensitivity, theorem1_sigma};
use dzoa::run::evaluate::mean;
use dzoa::theory::{Theorem3Inputs, theorem3_bound};
use dzoa_report::{BLACK, BLUE, Chart, Curve, GREEN, MarkerShape, Panel, RED, Style};
use dzoa_table::{Error, Result};

const EPSILON: f64 = 0.15;
const DELTA: f64 = 1e-3;
const ROUNDS: [u64; 8] = [5, 10, 20, 50, 100, 200, 500, 1000];
const AVERAGE: &str = "running average";
const LAST: &str = "last iterate";
const BOUND: &str = "Theorem 3";
const FLOOR: &str = "Theorem 3 noise floor";

/// Error and objective gap against M.
pub struct Rate;

impl Figure for Rate {
    fn name(&self) -> &'static str {
        "rate"
    }

    fn columns(&self) -> Columns {
        Columns { x: "rounds", value: "value" }
    }

    fn cost(&self) -> f64 {
        1.1
    }

    fn measure(&self, trial: &mut FigureTrial) -> Result<Vec<Measurement>, Stop> {
        let draw = trial.paper()?;
        let rows = Rows { draw, sums: Vec::new(), found: Vec::new() };
        let found = rows.run()?;
        let theory = theory(draw)?;
        let mut measurements = Vec::new();
        let mut record = |figure: &str, algorithm: &str, values: Vec<f64>| {
            measurements.extend(values.into_iter().zip(ROUNDS).map(|(value, rounds)| {
                Measurement {
                    key: Key {
                        figure: figure.into(),
                        algorithm: algorithm.into(),
                        epsilon: EPSILON,
                        delta: DELTA,
                        x: rounds as f64,
                    },
                    value: if value.is_nan() { f64::INFINITY } else { value },
                }
            }));
        };
        record("rate-a", AVERAGE, found.iter().map(|row| row.average_error).collect());
        record("rate-a", LAST, found.iter().map(|row| row.last_error).collect());
        record("rate-b", AVERAGE, found.iter().map(|row| row.average_gap).collect());
        record("rate-b", BOUND, theory.iter().map(|(bound, _)| *bound).collect());
        record("rate-b", FLOOR, theory.iter().map(|(_, floor)| *floor).collect());
        Ok(measurements)
    }

    fn draw(&self, points: &[Point], trials: u64) -> Result<Drawing> {
        let plain = |color, dash| Style { color, dash: Some(dash), marker: None };
        let marked = |color, marker| Style { color, dash: None, marker: Some(marker) };
        let of = |figure: &'static str, algorithm: &'static str, label: &str, style: Style| {
            let select = move |key: &Key| key.figure == figure && key.algorithm == algorithm;
            curve(points, label, style, select, |key| key.x)
        };
        let average = |figure| {
            of(figure, AVERAGE, "average of rounds 1 to M", marked(BLUE, MarkerShape::Circle))
        };
        let guide = |measured: &Curve| {
            // Through the first point.
            let at = measured.points.first().map_or((1.0, 1.0), |&(x, y)| (x, x * y));
            Curve {
                label: "1/M, for comparison".into(),
                style: plain(BLACK, "3 5"),
                points: ROUNDS.iter().map(|&m| (m as f64, at.1 / m as f64)).collect(),
                band: Vec::new(),
                marker_every: 1,
            }
        };
        let (error, gap) = (average("rate-a"), average("rate-b"));
        let panels = vec![
            Panel {
                title: "(a)  normalised error".into(),
                x_label: "rounds M".into(),
                y_label: ERROR.into(),
                log_x: true,
                curves: vec![
                    guide(&error),
                    error,
                    of("rate-a", LAST, "last iterate", marked(GREEN, MarkerShape::Square)),
                ],
            },
            Panel {
                title: "(b)  objective above the optimum".into(),
                x_label: "rounds M".into(),
                y_label: "objective gap  f(β̄ₖ) − f(βᶜ)".into(),
                log_x: true,
                curves: vec![
                    guide(&gap),
                    gap,
                    of("rate-b", BOUND, "Theorem 3's bound", plain(RED, "10 6")),
                    of("rate-b", FLOOR, "its noise floor", plain(RED, "2 6")),
                ],
            },
        ];
        let caption = caption(points, trials);
        Ok(Drawing { svg: Chart { panels, columns: 1 }.svg(), caption, further: Vec::new() })
    }
}

fn caption(points: &[Point], trials: u64) -> String {
    let value = |algorithm: &str, figure: &str, rounds: f64| {
        let is = |key: &Key| key.figure == figure && key.algorithm == algorithm && key.x == rounds;
        points.iter().find(|p| is(&p.key)).map_or("?".into(), |p| number(p.mean))
    };
    let last = ROUNDS[ROUNDS.len() - 1];
    format!(
        "**Rate.** D-ZOA on the paper's example at ε = {EPSILON} a round, δ = {} (nominal). \
         (a) Error of the average of \
         rounds 1 to M and of the last iterate. (b) Centralised objective at each agent's \
         average, above the optimum, \
         mean over the agents, with Theorem 3's bound for the noise of Theorem 1 (largest σₖ), \
         which the run does not \
         have. {}{} At M = {last}: gap {}, bound {}, its noise floor {}; error of the average \
         {}, of the last iterate {}.",
        number(DELTA),
        spread(trials),
        lost(points),
        value(AVERAGE, "rate-b", last as f64),
        value(BOUND, "rate-b", last as f64),
        value(FLOOR, "rate-b", last as f64),
        value(AVERAGE, "rate-a", last as f64),
        value(LAST, "rate-a", last as f64),
    )
}

/// What one run shows at each of [`ROUNDS`]: a run of M rounds is the beginning of a longer one.
struct Rows<'a> {
    draw: &'a PaperDraw,
    sums: Vec<Vec<f64>>,
    found: Vec<Row>,
}

#[derive(Clone, Copy)]
struct Row {
    average_error: f64,
    average_gap: f64,
    last_error: f64,
}

impl Rows<'_> {
    fn run(mut self) -> Result<Vec<Row>, Stop> {
        let draw = self.draw;
        draw.d_zoa((EPSILON, DELTA), ROUNDS[ROUNDS.len() - 1], |view| self.round(view))?;
        let lost = f64::INFINITY;
        let row = Row { average_error: lost, average_gap: lost, last_error: lost };
        self.found.resize(ROUNDS.len(), row);
        Ok(self.found)
    }

    fn round(&mut self, view: &RoundView<'_>) {
        let simulation = view.simulation;
        self.sums.resize_with(simulation.len(), || vec![0.0; self.draw.problem.dim()]);
        for (k, sum) in self.sums.iter_mut().enumerate() {
            sum.iter_mut().zip(simulation.release(k)).for_each(|(sum, b)| *sum += b);
        }
        if ROUNDS.contains(&view.round) {
            let scaled = |sum: &Vec<f64>| sum.iter().map(|s| s / view.round as f64).collect();
            let averages: Vec<Vec<f64>> = self.sums.iter().map(scaled).collect();
            let gaps: Vec<Vec<f64>> = averages
                .iter()
                .map(|b| vec![self.draw.problem.value(b) - self.draw.optimum.objective])
                .collect();
            self.found.push(Row {
                average_error: self.draw.error(averages.iter()),
                average_gap: mean(&gaps)[0],
                last_error: self.draw.error((0..simulation.len()).map(|k| simulation.release(k))),
            });
        }
    }
}

/// Theorem 3's bound and its noise floor at each of [`ROUNDS`], with the largest sigma_k of Theorem
/// 1.
fn theory(draw: &PaperDraw) -> Result<Vec<(f64, f64)>> {
    let rho = dzoa::plan::rules::PAPER_RHO;
    let sigmas = draw.problem.agents.iter().enumerate().map(|(k, samples)| {
        let neighbourhood = draw.graph.neighbourhood(k, true);
        let sensitivity = lemma3_sensitivity(1.0, rho, neighbourhood, samples.count());
        theorem1_sigma(sensitivity, EPSILON, DELTA)
    });
    let sigma = sigmas.fold(0.0, f64::max);
    let bound = |&rounds: &u64| {
        let inputs = Theorem3Inputs {
            rho,
            rounds,
            features: draw.problem.dim(),
            optimum_norm_squared: draw.optimum_norm_squared(),
            sigma,
            self_loop: true,
        };
        let bound = theorem3_bound(&draw.graph, &inputs)
            .ok_or_else(|| Error::run("the paper's network has no Laplacian eigenvalue"))?;
        Ok((bound.optimisation + bound.noise_floor, bound.noise_floor))
    };
    ROUNDS.iter().map(bound).collect()
}
