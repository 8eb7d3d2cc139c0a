//! `[privacy]`: what is promised.

use super::PerAgent;
use crate::error::Result;
use crate::reader::{Node, Section, Value};

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
            Mechanism::None => "none",
        }
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
                    "choose: \"none\" promises nothing; \"intrinsic\" is the paper's, nominal only",
                ));
        };
        if matches!(name, "output" | "scalar") {
            return Err(section
                .error("mechanism", &format!("is `{name}`, which this version cannot run yet"))
                .hint(
                    "only `none` and the nominal `intrinsic` are there: neither is a guarantee",
                ));
        }
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
        for key in ["total_epsilon", "schedule", "tolerance", "clip", "rows_per_person"] {
            if section.node(key).is_some() {
                return Err(section
                    .error(key, &format!("has no effect with mechanism `{name}`"))
                    .hint("it belongs to the mechanisms output and scalar"));
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
            _ => Mechanism::None,
        };
        Ok(Self { mechanism })
    }
}
