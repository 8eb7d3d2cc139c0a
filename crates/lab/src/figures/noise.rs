//! The noise that `intrinsic` assumes, and the noise that it has.

use super::captions::{number, spread};
use super::curves::curve;
use super::raw::{Key, Measurement, Point};
use super::trials::FigureTrial;
use super::{Columns, Drawing, Figure};
use crate::workers::Stop;
use dzoa::plan::REPLICATES;
use dzoa::run::evaluate::quantile;
use dzoa_report::{BLACK, BLUE, Chart, MarkerShape, Panel, Style};
use dzoa_table::Result;

const EPSILONS: [f64; 2] = [0.15, 0.95];
const DELTA: f64 = 1e-3;
const ROUNDS: [u64; 9] = [1, 2, 5, 10, 20, 50, 100, 150, 200];
const PANELS: [&str; 2] = ["noise-a", "noise-b"];
const ASSUMED: &str = "assumed";
const MEASURED: &str = "measured";

/// Assumed against measured sigma, over the rounds.
pub struct NoiseFigure;

impl Figure for NoiseFigure {
    fn name(&self) -> &'static str {
        "noise"
    }

    fn columns(&self) -> Columns {
        Columns { x: "round", value: "sigma" }
    }

    fn cost(&self) -> f64 {
        1.7
    }

    fn measure(&self, trial: &mut FigureTrial) -> Result<Vec<Measurement>, Stop> {
        let draw = trial.paper()?;
        let mut measurements = Vec::new();
        for (panel, epsilon) in PANELS.iter().zip(EPSILONS) {
            let noise = draw.noise((epsilon, DELTA), &ROUNDS)?;
            for algorithm in [ASSUMED, MEASURED] {
                for (round, agents) in &noise {
                    measurements.extend(agents.iter().map(|agent| Measurement {
                        key: Key {
                            figure: (*panel).into(),
                            algorithm: algorithm.into(),
                            epsilon,
                            delta: DELTA,
                            x: *round as f64,
                        },
                        value: match algorithm {
                            ASSUMED => agent.assumed,
                            _ => agent.measured.unwrap_or(f64::INFINITY),
                        },
                    }));
                }
            }
        }
        Ok(measurements)
    }

    fn draw(&self, points: &[Point], trials: u64) -> Result<Drawing> {
        let panel = |(letter, (figure, epsilon)): (char, (&&str, f64))| {
            let looks = [
                (
                    ASSUMED,
                    "assumed: σₖ of Theorem 1",
                    Style { color: BLACK, dash: Some("10 6"), marker: None },
                ),
                (
                    MEASURED,
                    "measured in the release",
                    Style { color: BLUE, dash: None, marker: Some(MarkerShape::Circle) },
                ),
            ];
            let curves = looks.map(|(algorithm, label, style)| {
                let select = |key: &Key| key.figure == **figure && key.algorithm == algorithm;
                curve(points, label, style, select, |key| key.x)
            });
            Panel {
                title: format!("({letter})  ε = {epsilon} a round, nominal"),
                x_label: "round m".into(),
                y_label: "noise σ of a coordinate".into(),
                log_x: true,
                curves: curves.into(),
            }
        };
        let panels = ('a'..).zip(PANELS.iter().zip(EPSILONS)).map(panel).collect();
        let ratios = EPSILONS.map(|epsilon| ratio(points, epsilon)).join("; ");
        let caption = format!(
            "**Noise.** Why `intrinsic` is nominal: the noise that its epsilon assumes \
             (Theorem 1, δ = {}) and the standard \
             deviation of a coordinate over {REPLICATES} repetitions of the inner loop at the \
             inputs of the round, on the \
             paper's example. {} The bands are over trials and agents. Assumed over measured, \
             medians over trials and \
             agents: {ratios}.",
            number(DELTA),
            spread(trials),
        );
        Ok(Drawing { svg: Chart { panels, columns: 1 }.svg(), caption, further: Vec::new() })
    }
}

/// How many times less noise there is than assumed, in the first and the last round.
fn ratio(points: &[Point], epsilon: f64) -> String {
    let values = |algorithm: &str, round: u64| {
        let is = |key: &Key| {
            key.algorithm == algorithm && key.epsilon == epsilon && key.x == round as f64
        };
        points.iter().find(|point| is(&point.key)).map_or(&[][..], |point| &point.values)
    };
    let median = |round| {
        let (assumed, measured) = (values(ASSUMED, round), values(MEASURED, round));
        let ratios: Vec<f64> = assumed.iter().zip(measured).map(|(a, m)| a / m).collect();
        quantile(&ratios, 0.5)
    };
    let last = ROUNDS[ROUNDS.len() - 1];
    format!(
        "{} in round 1 and {} in round {last} at ε = {epsilon}",
        number(median(1)),
        number(median(last))
    )
}
