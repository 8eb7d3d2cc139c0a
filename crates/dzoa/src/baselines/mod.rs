//! The other algorithms, for comparison: one file each, all behind one trait.
//!
//! Every one of them has the same shape. In a round each agent queries its rows and releases a
//! vector; everything after that is a function of what was released. [`Baseline`] says just that:
//! only [`Baseline::query`] sees rows, those of one [`Party`], and [`Baseline::absorb`] sees
//! nothing but releases. So the state between two rounds is public by its type, the ledger charges
//! the queries, and an attacker who knows the state can compute what a query would have given under
//! other rows. [`crate::run::Lockstep`] runs all agents of one; where everybody hears every release
//! ([`Needs::flooding`]), [`FloodedBaseline`] is one agent of a network.
//!
//! To add an algorithm, write a file like `dp_gd.rs` with its `ENTRY`, name it here, and add that
//! to [`ENTRIES`]. Config, errors, comparison, audit and the tables of the documentation read the
//! rows.
//!
//! docs/algorithms/ has the update equations, the sources and the proofs.

mod agent;
mod consensus;
mod derivatives;
mod dp_admm;
mod dp_gd;
mod dvp;
mod flooded;
mod m_admm;
mod objective_perturbation;
mod p_admm;
mod plan;
mod projected_gradient;
mod ps_admm;
mod pvp;
mod r_admm;
mod registry;
mod scheme;

pub use agent::{BaselineAgent, BaselineAgentSetup};
pub use derivatives::Derivatives;
pub use dp_admm::{DpAdmm, DpAdmmSettings};
pub use dp_gd::{DpGd, DpGdSettings};
pub use flooded::{FloodedBaseline, FloodedOpening};
pub use objective_perturbation::{ObjectivePerturbation, ObjectivePerturbationSettings};
pub use projected_gradient::{ProjectedGradient, ProjectedGradientSettings};
pub use registry::{AlgorithmEntry, Making, NumberRange, OptionError, OptionKey, Options};

use crate::guarantee::{BudgetTarget, NoGuarantee};
use crate::network::Graph;
use crate::primal::{Exact, InnerFailure};
use crate::problem::{EmpiricalRisk, LocalObjective, Problem, PublicProblem};
use dzoa_privacy::{Event, NoiseKey, Receipt, Release};
use std::sync::Arc;
use thiserror::Error;

/// All of them, in the order of the documentation.
pub const ENTRIES: &[AlgorithmEntry] = &[
    dp_admm::ENTRY,
    pvp::ENTRY,
    dvp::ENTRY,
    p_admm::ENTRY,
    m_admm::ENTRY,
    r_admm::ENTRY,
    ps_admm::ENTRY,
    projected_gradient::ENTRY,
    objective_perturbation::ENTRY,
    dp_gd::ENTRY,
];

/// The names users type.
pub fn names() -> impl Iterator<Item = &'static str> {
    ENTRIES.iter().map(|entry| entry.name)
}

/// The row of this name.
pub fn entry(name: &str) -> Option<&'static AlgorithmEntry> {
    ENTRIES.iter().find(|entry| entry.name == name)
}

/// What one agent does in one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// It queries its rows, and releases.
    Releases,
    /// A solver that it trusts queries its rows; it is charged.
    LendsRows,
    /// It only reuses what was released before: free.
    Rests,
}

/// An algorithm, all of its agents, between two rounds. See the [module](self).
pub trait Baseline: Send + Sync {
    /// The name users type.
    fn name(&self) -> &'static str;

    /// What it takes.
    fn needs(&self) -> Needs;

    /// How agent k's queries are charged so that all of them together keep to the target; one event
    /// per query.
    fn events(
        &self,
        problem: &PublicProblem,
        k: usize,
        rounds: u64,
        target: &BudgetTarget,
    ) -> Result<Vec<Event>, NoGuarantee>;

    /// What agent k does in this round.
    fn part(&self, _round: u64, _k: usize) -> Part {
        Part::Releases
    }

    /// A party's query of its rows, released in the way it was charged: with noise, or as it is.
    fn query(
        &self,
        round: u64,
        party: &mut Party,
        receipt: Receipt,
        noise: &NoiseKey,
    ) -> Result<Release, InnerFailure>;

    /// For algorithms that release the minimiser of an objective with a random linear term: that
    /// objective without the term, at a point. What an attacker computes to score a release.
    fn perturbed(&self, _round: u64, _party: &Party, _at: &[f64]) -> Option<Derivatives> {
        None
    }

    /// The rest of the round, from what was released (in the order of the agents): by parties of
    /// this process, or by agents elsewhere.
    fn absorb(&mut self, round: u64, released: &[Arc<[f64]>]);

    /// What agent k would report now.
    fn estimate(&self, k: usize) -> Vec<f64>;

    /// Vectors exchanged over this network in one round.
    fn messages(&self, round: u64, graph: &Graph) -> u64;

    /// Gradients that an agent computes in one query.
    fn gradients_per_query(&self) -> u64 {
        0
    }
}

/// One agent's rows, and a solver that remembers its last solution: all that a query sees.
pub struct Party {
    /// Its position.
    pub k: usize,
    /// The data term.
    pub risk: EmpiricalRisk,
    /// `f_k`.
    pub objective: LocalObjective,
    /// Solves its primal problems.
    pub exact: Exact,
    trusted: Option<TrustedSolver>,
}

impl Party {
    /// Agent k of this algorithm.
    pub fn new(baseline: &dyn Baseline, problem: &Problem, k: usize) -> Self {
        let risk = problem.risk(k);
        Self {
            k,
            exact: Exact::new(risk.clone(), None).until_certified(),
            objective: problem.local(k),
            trusted: TrustedSolver::new(baseline, problem),
            risk,
        }
    }

    /// The solver that all agents trust with their rows, where the algorithm says that it needs
    /// one.
    pub fn trusted(&self) -> Option<&TrustedSolver> {
        self.trusted.as_ref()
    }
}

/// Everybody's rows. Only an algorithm that declares [`Needs::trusted_solver`] gets them, and
/// tables that compare algorithms show what they need.
pub struct TrustedSolver {
    problem: Problem,
}

impl TrustedSolver {
    fn new(baseline: &dyn Baseline, problem: &Problem) -> Option<Self> {
        baseline.needs().trusted_solver.then(|| Self { problem: problem.clone() })
    }

    /// All agents' rows.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }
}

/// What an algorithm takes beyond rows and neighbours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Somebody who collects and hands out.
    pub coordinator: bool,
    /// Every release reaches every agent: neighbours pass it on. Nobody collects and hands out,
    /// and all agents hold the same.
    pub flooding: bool,
    /// Somebody who is trusted with all rows.
    pub trusted_solver: bool,
    /// Gradients of the loss.
    pub gradients: bool,
    /// A solver for the primal problem.
    pub exact_solver: bool,
    /// A loss without kinks.
    pub smooth_loss: bool,
    /// A regulariser without kinks.
    pub smooth_regularizer: bool,
    /// A strongly convex regulariser.
    pub strongly_convex: bool,
    /// A bound c1 on the gradient of one sample's loss, where a guarantee is asked for.
    pub known_c1: bool,
}

/// An assumption of an algorithm that the problem breaks.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum Broken {
    /// A loss with kinks.
    #[error("{algorithm} needs a smooth loss, and the {loss} loss has kinks")]
    Kinks {
        /// The algorithm.
        algorithm: &'static str,
        /// The loss.
        loss: &'static str,
    },
    /// A regulariser with kinks.
    #[error("{algorithm} needs a smooth regulariser, and this one has kinks")]
    RegularizerKinks {
        /// The algorithm.
        algorithm: &'static str,
    },
    /// A regulariser that is not strongly convex.
    #[error("{algorithm} needs a strongly convex regulariser, and this one is not (or eta is 0)")]
    NotStronglyConvex {
        /// The algorithm.
        algorithm: &'static str,
    },
    /// A gradient without a bound.
    #[error(
        "{algorithm} needs a bound c1 on the gradient of one sample's loss, and the {loss} loss \
         has \
         none"
    )]
    NoBound {
        /// The algorithm.
        algorithm: &'static str,
        /// The loss.
        loss: &'static str,
    },
}

impl Needs {
    /// In the words of a table.
    pub fn words(&self) -> Vec<&'static str> {
        [
            (self.coordinator, "coordinator"),
            (self.flooding, "flooding"),
            (self.trusted_solver, "trusted solver"),
            (self.gradients, "gradients"),
            (self.exact_solver, "exact solver"),
            (self.smooth_loss, "smooth loss"),
            (self.smooth_regularizer, "smooth regulariser"),
            (self.strongly_convex, "strong convexity"),
            (self.known_c1, "known c1"),
        ]
        .into_iter()
        .filter_map(|(needed, word)| needed.then_some(word))
        .collect()
    }

    /// Refuses a problem that breaks an assumption; c1 matters only where privacy is asked for.
    pub fn check(
        &self,
        algorithm: &'static str,
        problem: &PublicProblem,
        private: bool,
    ) -> Result<(), Broken> {
        let loss = problem.loss.name();
        if self.smooth_loss && problem.loss.smoothness().is_none() {
            return Err(Broken::Kinks { algorithm, loss });
        }
        if self.smooth_regularizer && problem.eta > 0.0 && !problem.regularizer.is_smooth() {
            return Err(Broken::RegularizerKinks { algorithm });
        }
        if self.strongly_convex && problem.eta * problem.regularizer.strong_convexity() <= 0.0 {
            return Err(Broken::NotStronglyConvex { algorithm });
        }
        if self.known_c1 && private && problem.loss.lipschitz().is_none() {
            return Err(Broken::NoBound { algorithm, loss });
        }
        Ok(())
    }
}
