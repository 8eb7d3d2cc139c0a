//! The decision layer, in one room: from problem, network and guarantee to primal steps, step
//! sizes, noise and charges.
//!
//! [`RunSpec`] is what is asked for, with `auto` where the public rules choose; [`Data`] is what is
//! minimised over; [`Plan::new`] decides everything from them and the network, from public numbers
//! alone; a [`Forecast`] is what of it is known before anything is computed. Simulation, real
//! agents, comparison, audit and Python are readers of a plan.
//!
//! [`MECHANISMS`] is the registry of mechanisms, one file each; `rules` every number that is chosen
//! without being asked for.

mod afterwards;
mod checks;
mod claimed;
mod data;
mod defaults;
mod flooded;
mod forecast;
mod given;
mod intrinsic;
mod joint;
mod keys;
mod measure;
mod mechanism;
mod none;
mod outline;
mod output;
#[allow(clippy::module_inception, reason = "the plan is what this room is about")]
mod plan;
mod registry;
pub mod rules;
mod scalar;
mod seat;
mod spec;
mod spending;
mod steps;
mod sums;

pub use afterwards::{Circumstances, MeasuredNoise, REPLICATES};
pub use claimed::{Claimed, Total};
pub use data::{Boxes, Data, DataKind, Measured};
pub use defaults::Suited;
pub use forecast::Forecast;
pub use given::{Auto, PerAgent, Reported};
pub use intrinsic::Intrinsic;
pub use joint::{JointPlan, JointStudy};
pub use keys::{KeyError, Keys, OptimumNorm};
pub use mechanism::{AgentPlace, Assumed, Charges, Choice, Mechanism, Protection, SumTerms};
pub use none::Unprotected;
pub use outline::{AgentOutline, Outline};
pub use output::{OutputNoise, OutputQuery};
pub use plan::{AgentPlan, Plan};
pub use registry::{MECHANISMS, MechanismEntry};
pub use scalar::{ScalarNoise, ScalarQuery};
pub use seat::{JointSeat, PastRoot};
pub use spec::{Algorithm, RunSpec};
pub use spending::Spending;
pub use steps::{first_step, scalar_step, stable_step};
pub use sums::rules as joint_rules;
pub use sums::{JOINT, JointBudget, JointEntry, JointMaking, JointNoise};

use crate::baselines::{AlgorithmEntry, Broken};
use crate::guarantee::NoGuarantee;
use crate::inference::NoInference;
use crate::joint::NoRound;
use crate::problem::Failure;
use crate::run::BuildError;
use thiserror::Error;

/// Who made the decision that was refused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Decider {
    /// A mechanism.
    Mechanism {
        /// Its name.
        name: &'static str,
        /// Whether it queries the rows inside the inner loop.
        in_loop: bool,
    },
    /// An algorithm with noise of its own.
    Algorithm(&'static AlgorithmEntry),
    /// An algorithm on joint sums.
    Sums(&'static str),
}

impl Decider {
    /// The name users type.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Mechanism { name, .. } => name,
            Self::Algorithm(entry) => entry.name,
            Self::Sums(name) => name,
        }
    }
}

/// Why there is no plan.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum Refused {
    /// Data and network do not fit together.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A real agent without rows or neighbours.
    #[error("agent `{agent}` has {samples} rows and a neighbourhood of {neighbourhood}")]
    Empty {
        /// Its name.
        agent: String,
        /// Its rows.
        samples: usize,
        /// `|N_k|`
        neighbourhood: usize,
    },
    /// No guarantee can be given.
    #[error("{error}")]
    NoGuarantee {
        /// Whose guarantee.
        decider: Decider,
        /// Why.
        error: NoGuarantee,
    },
    /// The problem breaks an assumption of the algorithm.
    #[error("{broken}")]
    Broken {
        /// Which.
        broken: Broken,
        /// Whether the algorithm can clip gradients.
        clips: bool,
    },
    /// An array of another length than the number of agents.
    #[error("`{key}` has {got} numbers for {agents} agents")]
    PerAgent {
        /// The key.
        key: &'static str,
        /// Numbers given.
        got: usize,
        /// Agents there are.
        agents: usize,
    },
    /// Directions that depend on each other, where a claim counts on their independence.
    #[error("antithetic or orthogonal directions, but this mechanism counts on independent ones")]
    Arranged,
    /// Corollary 1 is to take the optimum's norm, and there is no optimum.
    #[error(
        "`privacy.optimum_norm_squared` is \"replicate\", but the problem has no reference optimum"
    )]
    NoOptimum,
    /// A black box whose minimiser would have to be certified.
    #[error("a minimiser must be certified, and that of a black box cannot be")]
    NoCertificate,
    /// Black boxes that give one value where one per sample is needed.
    #[error("one value per sample is needed, and these functions give one in all")]
    NotPerSample,
    /// Lemma 3 needs numbers of samples that nobody gave.
    #[error("Lemma 3 needs every agent's number of samples")]
    NotCounted,
    /// As many sample counts as agents are needed.
    #[error("{got} numbers of samples for {agents} agents")]
    Samples {
        /// Counts given.
        got: usize,
        /// Agents there are.
        agents: usize,
    },
    /// An algorithm that works on rows was asked to work on black boxes.
    #[error("{0} needs rows, and these are functions that only give values")]
    NeedsRows(&'static str),
    /// A mechanism that protects an inner loop was asked of an algorithm that has none.
    #[error("{algorithm} has no {needs}")]
    NoLoop {
        /// The algorithm.
        algorithm: &'static str,
        /// What the mechanism needs of a loop.
        needs: &'static str,
    },
    /// A mechanism that does not protect sums over all agents.
    #[error("{algorithm} takes sums over all agents, which `{mechanism}` does not protect")]
    NoSums {
        /// The algorithm.
        algorithm: &'static str,
        /// The mechanism.
        mechanism: &'static str,
    },
    /// A mechanism that protects nothing but sums over all agents.
    #[error("`{mechanism}` protects sums over all agents, and {algorithm} takes none")]
    OnlySums {
        /// The mechanism.
        mechanism: &'static str,
        /// The algorithm.
        algorithm: &'static str,
    },
    /// Agents that noise cannot be shared between.
    #[error("{0}")]
    NoShares(String),
    /// A sum that cannot be.
    #[error(transparent)]
    NoRound(#[from] NoRound),
    /// What no agent can do by itself.
    #[error("{0} runs with all agents in one process only")]
    OnlyTogether(&'static str),
    /// One agent by itself, whose rows weigh by those of all.
    #[error(
        "`problem.scale` is \"pooled\", which needs the number of rows of every agent, and one \
         agent knows its own only"
    )]
    RowsOfOthers,
    /// Intervals that would have to count the noise of a mechanism.
    #[error(
        "`inference` is true, and nobody knows intervals that count the noise of `{mechanism}`"
    )]
    NoIntervals {
        /// The mechanism.
        mechanism: &'static str,
    },
    /// Intervals of a loss that has none.
    #[error("`inference` is true, but {0}")]
    NoInference(#[from] NoInference),
    /// A number that nothing can be planned with.
    #[error("`{key}` is {value}, and must be a finite number above 0")]
    NotPositive {
        /// The key.
        key: &'static str,
        /// Its value.
        value: f64,
    },
    /// A penalty on variables whose coordinates are not themselves.
    #[error(
        "a regularizer pulls variables to zero, and these have a start, bounds or a scale of their \
         own"
    )]
    PenaltyElsewhere,
    /// Black boxes whose curvature was not measured, and no step was given.
    #[error("no step was given, and the curvature was not measured")]
    Unmeasured,
    /// A box gave no value before the first round.
    #[error("agent {agent}, before round 1: {failure}")]
    Failed {
        /// The agent.
        agent: String,
        /// Where, and why.
        failure: Failure,
    },
}
