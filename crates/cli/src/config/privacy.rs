//! `[privacy]`: what is promised.

use super::PerAgent;
use crate::error::Result;
use crate::reader::{Node, Section, Value};
use dzoa::mechanism::Target;
use dzoa::privacy::Budget;
use dzoa::privacy::calibrate::Schedule;

/// `[privacy]`
#[derive(Debug)]
pub struct Privacy {
    /// What protects, or claims to.
    pub mechanism: Mechanism,
}

/// The mechanism.
#[derive(Debug)]
pub enum Mechanism {
    /// The paper's, nominal.
    Intrinsic {
        /// Per round.
        epsilon: f64,
        /// Per round and in total, as the paper.
        delta: f64,
        /// The constant of Lemma 2.
        c: PerAgent,
        /// The term of Corollary 1 that needs the optimum.
        optimum_norm: OptimumNorm,
    },
    /// The inner problem solved to a tolerance, then noise: exact.
    Output {
        /// The budget.
        target: Target,
        /// tau, if given.
        tolerance: Option<f64>,
    },
    /// Noise on clipped scalar differences inside the loop: exact, from values alone.
    Scalar {
        /// The budget.
        target: Target,
        /// C; without one, the public rule chooses.
        clip: Option<f64>,
    },
    /// None.
    None,
}

/// `privacy.optimum_norm_squared`
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OptimumNorm {
    /// A public bound.
    Bound(f64),
    /// The true optimum, as the paper.
    Replicate,
}

impl Mechanism {
    /// The name users type.
    pub fn name(&self) -> &'static str {
        match self {
            Mechanism::Intrinsic { .. } => "intrinsic",
            Mechanism::Output { .. } => "output",
            Mechanism::Scalar { .. } => "scalar",
            Mechanism::None => "none",
        }
    }

    /// Its delta, where it has one.
    pub fn delta(&self) -> Option<f64> {
        match self {
            Mechanism::Intrinsic { delta, .. } => Some(*delta),
            _ => self.target().map(|target| target.delta),
        }
    }

    /// The budget of a mechanism that has one.
    pub fn target(&self) -> Option<&Target> {
        match self {
            Mechanism::Output { target, .. } | Mechanism::Scalar { target, .. } => Some(target),
            Mechanism::Intrinsic { .. } | Mechanism::None => None,
        }
    }

    /// What all of a run may cost, where there is a guarantee.
    pub fn planned(&self) -> Option<Budget> {
        self.target().map(|target| Budget { epsilon: target.total_epsilon, delta: target.delta })
    }
}

impl Privacy {
    pub(super) fn read(section: &Section<'_>) -> Result<Self> {
        let words = ["intrinsic", "output", "scalar", "none"];
        let Some(name) = section.choice("mechanism", &words)? else {
            return Err(section
                .required::<String>("mechanism")
                .expect_err("the key is missing")
                .hint(
                    "choose: \"output\" and \"scalar\" hold exactly; \"intrinsic\" is the paper's, nominal only; \"none\" promises nothing",
                ));
        };
        let valid = |delta: f64| delta > 0.0 && delta < 1.0;
        let delta = section.number("delta", valid, "strictly between 0 and 1")?;
        let in_range = |epsilon: f64| epsilon > 0.0 && epsilon <= 1.0;
        let epsilon =
            section.number("epsilon", in_range, "above 0 and at most 1 (Theorem 1's range)")?;
        let c = PerAgent::read(section, "c")?;
        let norm = match section.node("optimum_norm_squared") {
            Some(Node { value: Value::String(word), .. }) if word == "replicate" => {
                OptimumNorm::Replicate
            }
            Some(Node { value: Value::String(_), .. }) => {
                return Err(
                    section.error("optimum_norm_squared", "must be a number or \"replicate\"")
                );
            }
            _ => OptimumNorm::Bound(section.non_negative("optimum_norm_squared")?.unwrap_or(0.0)),
        };
        let total_epsilon = section.positive("total_epsilon")?;
        let schedule = schedule(section)?;
        let tolerance = section.positive("tolerance")?;
        let clip = section.positive("clip")?;
        let rows_per_person = section.count("rows_per_person")?;
        let exact = matches!(name, "output" | "scalar");
        for (key, given, used) in [
            ("total_epsilon", total_epsilon.is_some(), exact),
            ("schedule", schedule.is_some(), exact),
            ("rows_per_person", rows_per_person.is_some(), exact),
            ("tolerance", tolerance.is_some(), name == "output"),
            ("clip", clip.is_some(), name == "scalar"),
        ] {
            if given && !used {
                return Err(section
                    .error(key, &format!("has no effect with mechanism `{name}`"))
                    .hint("remove it, or choose the mechanism that reads it"));
            }
        }
        section.finish()?;
        let missing = |key| section.required::<f64>(key).expect_err("the key is missing");
        let mechanism = match name {
            "intrinsic" => Mechanism::Intrinsic {
                epsilon: epsilon.ok_or_else(|| missing("epsilon"))?,
                delta: delta.ok_or_else(|| missing("delta"))?,
                c: c.unwrap_or(PerAgent::All(0.5)),
                optimum_norm: norm,
            },
            "output" | "scalar" => {
                let target = Target {
                    total_epsilon: total_epsilon.ok_or_else(|| missing("total_epsilon"))?,
                    delta: delta.ok_or_else(|| missing("delta"))?,
                    schedule: schedule.unwrap_or(Schedule::Constant),
                    rows_per_person: rows_per_person.unwrap_or(1),
                };
                match name {
                    "output" => Mechanism::Output { target, tolerance },
                    _ => Mechanism::Scalar { target, clip },
                }
            }
            _ => Mechanism::None,
        };
        Ok(Self { mechanism })
    }
}

/// `schedule = "constant"` or `{ growth = 1.03 }`.
fn schedule(section: &Section<'_>) -> Result<Option<Schedule>> {
    let Some(node) = section.node("schedule") else { return Ok(None) };
    if let Value::String(word) = &node.value {
        return match word.as_str() {
            "constant" => Ok(Some(Schedule::Constant)),
            _ => Err(section.error("schedule", "must be \"constant\" or { growth = NUMBER }")),
        };
    }
    let table = section.section("schedule")?;
    let growth = table.number(
        "growth",
        |growth| (0.5..=2.0).contains(&growth),
        "between 0.5 and 2 (each round's share of the budget over that of the one before)",
    )?;
    table.finish()?;
    match growth {
        Some(growth) => Ok(Some(Schedule::Growth(growth))),
        None => Err(table.required::<f64>("growth").expect_err("the key is missing")),
    }
}
