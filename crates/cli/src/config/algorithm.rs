//! `[algorithm]`: outer and inner loop.

use super::baseline::{self, Options};
use super::{Mechanism, PerAgent, Privacy, only_with};
use crate::error::Result;
use crate::reader::{Node, Section, Value};
use dzoa::prelude::*;
use std::time::Duration;

/// `[algorithm]`
#[derive(Debug)]
pub struct Algorithm {
    /// Which primal step.
    pub solver: Solver,
    /// Outer loop; `self_loop` is filled in from `[network]`.
    pub admm: Admm,
    /// Which estimate agents report.
    pub average: Average,
    /// `rho = "auto"`: from the public rule of [`crate::agents::apply_public_rule`].
    pub rho_is_auto: bool,
    /// `rounds = "auto"`: likewise.
    pub rounds_are_auto: bool,
    /// Whether real agents wait for each other.
    pub mode: Mode,
}

/// `algorithm.mode`
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    /// A round waits for all neighbours.
    Synchronous,
    /// A round goes on with those heard within a time limit. In a simulation nobody is late.
    Partial {
        /// The limit.
        limit: Duration,
        /// How many rounds a neighbour may be behind.
        lag: u64,
    },
}

/// The primal step.
#[derive(Debug)]
pub enum Solver {
    /// The two-point zeroth-order loop.
    ZerothOrder {
        /// T, J, u1 and the like; step and L are per agent.
        inner: ZerothOrder,
        /// `alpha0 R`, if given.
        step: Option<PerAgent>,
        /// L.
        lipschitz: PerAgent,
        /// How near to the minimiser it may stop, if given.
        tolerance: Option<f64>,
    },
    /// The exact solver.
    Exact {
        /// Distance to the minimiser, if given.
        tolerance: Option<f64>,
    },
    /// Another algorithm.
    Baseline(Options),
}

/// `algorithm.average`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Average {
    /// The last release.
    None,
    /// The mean over the second half of the rounds.
    LastHalf,
    /// And then over the agents.
    Network,
}

impl Algorithm {
    pub(super) fn read(section: &Section<'_>, privacy: &Privacy) -> Result<Self> {
        let words: Vec<&'static str> =
            ["d-zoa", "admm"].into_iter().chain(baseline::NAMES).collect();
        let name = section.choice("name", &words)?.unwrap_or("d-zoa");
        let options = section.section("options")?;
        let other = match baseline::NAMES.contains(&name) {
            true => Some(Options::read(name, &options)?),
            false => None,
        };
        let promised = privacy.mechanism.target().is_some();
        let rho_is_auto = is_auto(section, "rho", promised)?;
        let rounds_are_auto = is_auto(section, "rounds", promised)?;
        // Placeholders until the public rule has seen the public sizes.
        let rho = match rho_is_auto {
            true => Some(1.0),
            false => section.positive("rho")?,
        };
        let rounds = match rounds_are_auto {
            true => Some(1),
            false => section.count("rounds")?,
        };
        let missing = |key| section.required::<f64>(key).expect_err("the key is missing");
        let reads_rho = other.as_ref().is_none_or(Options::reads_rho);
        let rho = match (rho, reads_rho) {
            (Some(rho), _) => rho,
            (None, true) => return Err(missing("rho")),
            (None, false) => 1.0,
        };
        // One release by a trusted solver is one round.
        let once = name == "objective-perturbation";
        let rounds = match (rounds, once) {
            (_, true) => 1,
            (Some(rounds), false) => rounds,
            (None, false) => return Err(missing("rounds")),
        };
        let scalar = matches!(privacy.mechanism, Mechanism::Scalar { .. });
        // The public rule for `scalar` takes one look a round, along more directions, smoothed less.
        let standard = match scalar && rounds_are_auto {
            true => ZerothOrder {
                inner_steps: 1,
                directions: 40,
                smoothing: 0.1,
                ..ZerothOrder::default()
            },
            false => ZerothOrder::default(),
        };
        // Under `output` the inner noise is not needed: fewer values do.
        let output = matches!(privacy.mechanism, Mechanism::Output { .. });
        let few = |key: &'static str| match other {
            Some(_) => Ok(None),
            None => options.optional::<bool>(key),
        };
        let (antithetic, orthogonal) = (few("antithetic")?, few("orthogonal")?);
        let inner = ZerothOrder {
            antithetic: antithetic.unwrap_or(output),
            orthogonal: orthogonal.unwrap_or(output),
            inner_steps: section.count("inner_steps")?.unwrap_or(standard.inner_steps),
            directions: section.count("directions")?.unwrap_or(standard.directions),
            smoothing: section.positive("smoothing")?.unwrap_or(standard.smoothing),
            inner_average: section.or("inner_average", false)?,
            ..standard
        };
        let step = PerAgent::read(section, "step")?;
        let lipschitz = PerAgent::read(section, "lipschitz")?.unwrap_or(PerAgent::All(1.0));
        let intrinsic = matches!(privacy.mechanism, Mechanism::Intrinsic { .. });
        let warm_start = section.or("warm_start", !intrinsic)?;
        let words = ["auto", "none", "last-half", "network"];
        let average = match section.choice("average", &words)?.unwrap_or("auto") {
            "last-half" => Average::LastHalf,
            "network" => Average::Network,
            // Averaging releases is free, and under noise worth a lot.
            "auto" if privacy.mechanism.target().is_some() => Average::Network,
            _ => Average::None,
        };
        let mode = mode(section)?;
        let tolerance = match &other {
            Some(_) => None,
            None => options.positive("tolerance")?,
        };
        options.finish()?;
        section.finish()?;
        for (key, given) in [("antithetic", antithetic), ("orthogonal", orthogonal)] {
            only_with(
                &options,
                key,
                given.is_some(),
                "algorithm.name = \"d-zoa\"",
                name == "d-zoa",
            )?;
            if given == Some(true) && (intrinsic || scalar) {
                return Err(options
                    .error(key, "is true, but this mechanism counts on independent directions")
                    .hint("remove it, or set privacy.mechanism = \"output\" or \"none\""));
            }
        }
        let solver = if let Some(mut other) = other {
            match &privacy.mechanism {
                Mechanism::Scalar { .. } => {
                    return Err(section
                        .error("name", &format!("is `{name}`, which has no scalars to protect"))
                        .hint("set privacy.mechanism = \"output\": the algorithm's own noise, accounted exactly"));
                }
                Mechanism::Intrinsic { epsilon, delta, .. } if name == "dp-admm" => {
                    other.nominal = Some((*epsilon, *delta));
                }
                Mechanism::Intrinsic { .. } => {
                    return Err(section
                        .error("name", &format!("is `{name}`, which has no intrinsic noise"))
                        .hint("set privacy.mechanism = \"output\" (its own noise, accounted exactly) or \"none\""));
                }
                Mechanism::Output { tolerance: Some(_), .. } => {
                    return Err(section
                        .error(
                            "name",
                            &format!("is `{name}`, which does not read privacy.tolerance"),
                        )
                        .hint("remove privacy.tolerance"));
                }
                Mechanism::Output { .. } | Mechanism::None => {}
            }
            Solver::Baseline(other)
        } else if name == "admm" {
            if intrinsic {
                return Err(section
                    .error("name", "is `admm`, whose exact inner solver has no intrinsic noise")
                    .hint("set privacy.mechanism = \"none\", or algorithm.name = \"d-zoa\""));
            }
            if matches!(privacy.mechanism, Mechanism::Scalar { .. }) {
                return Err(section
                    .error("name", "is `admm`, whose exact inner solver has no scalars to protect")
                    .hint("set privacy.mechanism = \"output\", or algorithm.name = \"d-zoa\""));
            }
            if matches!(privacy.mechanism, Mechanism::Output { .. }) && tolerance.is_some() {
                return Err(options
                    .error("tolerance", "has no effect with mechanism `output`")
                    .hint("under output the tolerance is part of the promise: privacy.tolerance"));
            }
            only_with(section, "step", step.is_some(), "algorithm.name = \"d-zoa\"", false)?;
            Solver::Exact { tolerance }
        } else {
            if tolerance.is_some() && !matches!(privacy.mechanism, Mechanism::None) {
                return Err(options.error("tolerance", "has no effect with this mechanism").hint(
                    "under output it is privacy.tolerance; the others take all their steps",
                ));
            }
            if intrinsic {
                only_with(
                    section,
                    "step",
                    step.is_some(),
                    "another mechanism: intrinsic takes it from Corollary 1",
                    false,
                )?;
            }
            Solver::ZerothOrder { inner, step, lipschitz, tolerance }
        };
        let admm = Admm { rho, rounds: rounds as u64, self_loop: true, warm_start };
        Ok(Self { solver, admm, average, rho_is_auto, rounds_are_auto, mode })
    }

    /// The name users type.
    pub fn name(&self) -> &'static str {
        match &self.solver {
            Solver::ZerothOrder { .. } => "d-zoa",
            Solver::Exact { .. } => "admm",
            Solver::Baseline(options) => options.name(),
        }
    }
}

/// `mode = "partial"` with `round_limit` (seconds) and `lag` (rounds).
fn mode(section: &Section<'_>) -> Result<Mode> {
    const LIMIT_SECONDS: f64 = 1.0;
    const LAG: usize = 10;
    let partial = section.choice("mode", &["synchronous", "partial"])? == Some("partial");
    let limit = section.positive("round_limit")?;
    let lag = section.count("lag")?;
    only_with(section, "round_limit", limit.is_some(), "mode = \"partial\"", partial)?;
    only_with(section, "lag", lag.is_some(), "mode = \"partial\"", partial)?;
    if !partial {
        return Ok(Mode::Synchronous);
    }
    let limit = Duration::try_from_secs_f64(limit.unwrap_or(LIMIT_SECONDS))
        .map_err(|_| section.error("round_limit", "must be a number of seconds"))?;
    Ok(Mode::Partial { limit, lag: lag.unwrap_or(LAG) as u64 })
}

/// Whether a key says "auto", which only mechanisms with a budget know.
fn is_auto(section: &Section<'_>, key: &'static str, promised: bool) -> Result<bool> {
    match section.node(key) {
        Some(Node { value: Value::String(word), .. }) if word == "auto" && promised => Ok(true),
        Some(Node { value: Value::String(word), .. }) if word == "auto" => Err(section
            .error(key, "is \"auto\", which needs a mechanism with a total_epsilon")
            .hint("give a number")),
        _ => Ok(false),
    }
}
