//! Figure 3 as it should have been: at equal exact total epsilon, with mechanisms that hold.

use super::captions::{lost, number, spread};
use super::contest::{self, TUNED, TunedChoice};
use super::curves::{ERROR, curve};
use super::exact::{AGENTS, DELTA, EPSILONS, ETA, FEATURES, LOSSES, Method, SAMPLES};
use super::raw::{Key, Measurement, Point};
use super::trials::FigureTrial;
use super::{Columns, Drawing, Figure};
use crate::Interrupt;
use crate::workers::Stop;
use dzoa::plan::Auto;
use dzoa::privacy::{Budget, Colluders};
use dzoa::tuning::Setting;
use dzoa_report::{Chart, Panel, Style};
use dzoa_table::{Error, Result};

/// Along the other panels, at [`EPSILON`].
const DELTAS: [f64; 5] = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4];
const EPSILON: f64 = 2.0;
/// With all figures: a trial takes five times as long as any other figure's.
const MOST_TRIALS: u64 = 20;

/// Joint sums: against all others together, and against any one of them.
const JOINT: [&str; 2] = ["joint sums", "joint sums (t = 1)"];
/// Names in CSV files and legends: D-ZOA's mechanisms, the tuned baselines, joint sums.
const NAMES: [&str; 7] =
    ["D-ZOA output", "D-ZOA scalar", TUNED[0], TUNED[1], TUNED[2], JOINT[0], JOINT[1]];

/// The exact trade-off.
#[derive(Default)]
pub struct Honest {
    tuned: Vec<TunedChoice>,
}

impl Honest {
    fn method(&self, name: &str, loss: &str, epsilon: f64) -> Result<Method> {
        let by_rule = |algorithm, mechanism| Method {
            algorithm,
            mechanism,
            colluders: None,
            schedule: Auto::Auto,
            setting: Setting::default(),
        };
        let joint =
            |colluders| Method { colluders: Some(colluders), ..by_rule("joint-gradient", "joint") };
        Ok(match name {
            "D-ZOA output" => by_rule("admm", "output"),
            "D-ZOA scalar" => by_rule("d-zoa", "scalar"),
            name if name == JOINT[0] => joint(Colluders::All),
            name if name == JOINT[1] => joint(Colluders::AtMost(1)),
            name => {
                let is =
                    |c: &&TunedChoice| c.name == name && c.loss == loss && c.epsilon == epsilon;
                let choice = self.tuned.iter().find(is).ok_or_else(|| {
                    Error::input(format!(
                        "fig3-honest.settings.json: {name} on {loss} was not tuned"
                    ))
                    .hint("compute the figure again, in another directory")
                })?;
                choice.method()?
            }
        })
    }
}

impl Figure for Honest {
    fn name(&self) -> &'static str {
        "fig3-honest"
    }

    fn columns(&self) -> Columns {
        Columns { x: "epsilon_total", value: "error" }
    }

    fn trials(&self, asked: u64, all: bool) -> u64 {
        if all { asked.min(MOST_TRIALS) } else { asked }
    }

    fn cost(&self) -> f64 {
        38.0
    }

    fn cost_of_tuning(&self) -> f64 {
        200.0
    }

    fn prepare(&mut self, seed: u64, interrupt: Interrupt) -> Result<(), Stop> {
        self.tuned = contest::tune(seed, interrupt)?;
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
        let mut measurements = Vec::new();
        for loss in LOSSES {
            for name in NAMES {
                let draw = trial.exact(loss)?;
                let along_epsilon = EPSILONS.map(|epsilon| ("epsilon", epsilon, DELTA));
                let along_delta = DELTAS.map(|delta| ("delta", EPSILON, delta));
                let mut again = None;
                for (panel, epsilon, delta) in along_epsilon.into_iter().chain(along_delta) {
                    let both = (epsilon, delta) == (EPSILON, DELTA);
                    let value = match again {
                        Some(value) if both => value,
                        _ => {
                            let method = self.method(name, loss, epsilon)?;
                            draw.error(&method, Budget { epsilon, delta })?
                        }
                    };
                    if both {
                        again = Some(value);
                    }
                    let key = Key {
                        figure: format!("fig3-honest-{loss}-{panel}"),
                        algorithm: name.into(),
                        epsilon,
                        delta,
                        x: epsilon,
                    };
                    measurements.push(Measurement { key, value });
                }
            }
        }
        Ok(measurements)
    }

    fn draw(&self, points: &[Point], trials: u64) -> Result<Drawing> {
        let mut panels = Vec::new();
        for (panel, x_label, x) in [
            (
                "epsilon",
                format!("exact total ε  (δ = {})", number(DELTA)),
                (|key| key.x) as fn(&Key) -> f64,
            ),
            ("delta", format!("δ  (exact total ε = {EPSILON})"), |key| key.delta),
        ] {
            for loss in LOSSES {
                let figure = format!("fig3-honest-{loss}-{panel}");
                let curves = NAMES.iter().zip((0..).map(Style::nth)).map(|(name, style)| {
                    let select = |key: &Key| key.figure == figure && key.algorithm == *name;
                    curve(points, name, style, select, x)
                });
                let letter = ["a", "b", "c", "d"][panels.len()];
                panels.push(Panel {
                    title: format!("({letter})  {loss}, exact privacy"),
                    x_label: x_label.clone(),
                    y_label: ERROR.into(),
                    log_x: true,
                    curves: curves.collect(),
                });
            }
        }
        let caption = format!(
            "**Figure 3, honest.** The same axes with mechanisms that hold: error at equal *exact* \
             total (ε, δ), replace-one \
             adjacency, each agent's releases together. L1 logistic and hinge (c₁ = 1), K = \
             {AGENTS} on the paper's graph, \
             Nₖ = {SAMPLES}, P = {FEATURES}, η = {ETA}, mean scale. D-ZOA with `output` and \
             `scalar` and joint sums (joint-gradient) take their public rules, untuned; \
             \"t = 1\" holds if at most one of the other agents colludes with whoever looks, all \
             else whoever colludes; {} {}{} {}",
            contest::describe(),
            spread(trials),
            lost(points),
            winners(points)
        );
        let svg = Chart { panels, columns: 2 }.svg();
        let further = vec![("fig3-honest.tuning.csv".into(), contest::csv(&self.tuned))];
        Ok(Drawing { svg, caption, further })
    }
}

/// Who has the lowest mean error at every epsilon, of those that hold whoever colludes and of the
/// others, and how far behind D-ZOA is.
fn winners(points: &[Point]) -> String {
    let each_loss = LOSSES.map(|loss| {
        let figure = format!("fig3-honest-{loss}-epsilon");
        let each = EPSILONS.map(|epsilon| {
            let least = |fits: &dyn Fn(&str) -> bool| {
                points
                    .iter()
                    .filter(|p| p.key.figure == figure && p.key.epsilon == epsilon)
                    .filter(|p| fits(&p.key.algorithm))
                    .min_by(|a, b| a.mean.total_cmp(&b.mean))
                    .map(|p| format!("{} {}", p.key.algorithm, number(p.mean)))
            };
            let best = least(&|name| name != JOINT[1]);
            let under_condition = least(&|name| name == JOINT[1]);
            let other = least(&|name| !JOINT.contains(&name));
            match (best, under_condition, other) {
                (Some(best), Some(under_condition), Some(other)) => {
                    format!("{best} at ε = {epsilon} ({under_condition}; {other})")
                }
                _ => String::new(),
            }
        });
        format!("{loss}: {}", each.join(", "))
    });
    format!(
        "Lowest mean error whoever colludes, and in brackets that of joint sums at t = 1 and the \
         lowest of all that are no joint sums: {}.",
        each_loss.join("; ")
    )
}
