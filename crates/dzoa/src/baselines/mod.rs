//! The other algorithms, for comparison: one file each, all behind one trait.
//!
//! Every one of them has the same shape. In a round each agent looks at its rows and releases a vector;
//! everything after that is a function of what was released. [`Baseline`] says just that: only
//! [`Baseline::look`] sees rows, and [`Baseline::absorb`] sees nothing but releases. So the state between
//! two rounds is public by its type, the ledger charges the looks, and an attacker who knows the state can
//! compute what a look would have given under other rows. [`Lockstep`] runs one.
//!
//! docs/algorithms/ has the update equations, the sources and the proofs.

mod consensus;
mod derivatives;
pub mod dp_admm;
pub mod dp_gd;
pub mod dvp;
mod lockstep;
pub mod m_admm;
pub mod objective_perturbation;
pub mod p_admm;
mod plan;
pub mod projected_gradient;
pub mod ps_admm;
pub mod pvp;
pub mod r_admm;

pub use derivatives::Derivatives;
pub use lockstep::Lockstep;

use crate::admm::InnerFailure;
use crate::exact::Exact;
use crate::graph::Graph;
use crate::mechanism::{NoGuarantee, Target};
use crate::problem::{EmpiricalRisk, LocalObjective, Problem};
use dzoa_privacy::{Event, NoiseKey, Receipt, Release};
use thiserror::Error;

/// What one agent does in one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// It looks at its rows, and releases.
    Releases,
    /// A solver that it trusts looks at its rows; it is charged.
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

    /// How agent k's looks are to be charged so that all of them together keep the target; one event per
    /// look.
    fn events(
        &self,
        problem: &Problem,
        k: usize,
        rounds: u64,
        target: &Target,
    ) -> Result<Vec<Event>, NoGuarantee>;

    /// What agent k does in this round.
    fn part(&self, _round: u64, _k: usize) -> Part {
        Part::Releases
    }

    /// Agent k's look at its rows, released in the way it was charged: with noise, or as it is.
    fn look(
        &self,
        round: u64,
        holder: &mut Holder,
        receipt: Receipt,
        noise: &NoiseKey,
    ) -> Result<Release, InnerFailure>;

    /// For algorithms that release the minimiser of an objective with a random linear term: that
    /// objective without the term, at a point. What an attacker computes to score a release.
    fn perturbed(&self, _round: u64, _holder: &Holder, _at: &[f64]) -> Option<Derivatives> {
        None
    }

    /// The rest of the round, from the releases of those who released (in the order of the agents).
    fn absorb(&mut self, round: u64, releases: &[Release]);

    /// What agent k would report now.
    fn estimate(&self, k: usize) -> Vec<f64>;

    /// Vectors exchanged in one round.
    fn messages(&self, round: u64) -> u64;

    /// Gradients that an agent computes in one look.
    fn gradients_per_look(&self) -> u64 {
        0
    }
}

/// What an agent holds: its rows, and a solver that remembers its last solution.
pub struct Holder {
    /// Its position.
    pub k: usize,
    /// The data term.
    pub risk: EmpiricalRisk,
    /// `f_k`.
    pub objective: LocalObjective,
    /// Solves its primal problems.
    pub exact: Exact,
    /// Everybody's rows, for a solver that all trust.
    pub problem: Problem,
}

impl Holder {
    /// Agent k.
    pub fn new(problem: &Problem, k: usize) -> Self {
        let risk = problem.risk(k);
        Self {
            k,
            exact: Exact::new(risk.clone(), None).until_certified(),
            objective: problem.local(k),
            problem: problem.clone(),
            risk,
        }
    }
}

/// What an algorithm takes beyond rows and neighbours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Somebody who collects and hands out in every round.
    pub coordinator: bool,
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
        "{algorithm} needs a bound c1 on the gradient of one sample's loss, and the {loss} loss has none"
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
        problem: &Problem,
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

/// Which algorithm, with its settings.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "each variant is the settings of the algorithm of its name")]
pub enum Spec {
    DpAdmm(dp_admm::Settings),
    DpGd(dp_gd::Settings),
    Dvp(dvp::Settings),
    MAdmm(m_admm::Settings),
    ObjectivePerturbation(objective_perturbation::Settings),
    PAdmm(p_admm::Settings),
    ProjectedGradient(projected_gradient::Settings),
    PsAdmm(ps_admm::Settings),
    Pvp(pvp::Settings),
    RAdmm(r_admm::Settings),
}

impl Spec {
    /// The algorithm before its first round.
    pub fn build(&self, problem: &Problem, graph: &Graph) -> Box<dyn Baseline> {
        match self {
            Spec::DpAdmm(settings) => Box::new(dp_admm::DpAdmm::new(*settings, problem)),
            Spec::DpGd(settings) => Box::new(dp_gd::DpGd::new(*settings, problem)),
            Spec::Dvp(settings) => Box::new(dvp::Dvp::new(*settings, problem, graph)),
            Spec::MAdmm(settings) => Box::new(m_admm::MAdmm::new(*settings, problem, graph)),
            Spec::ObjectivePerturbation(settings) => {
                Box::new(objective_perturbation::ObjectivePerturbation::new(*settings, problem))
            }
            Spec::PAdmm(settings) => Box::new(p_admm::PAdmm::new(*settings, problem, graph)),
            Spec::ProjectedGradient(settings) => {
                Box::new(projected_gradient::ProjectedGradient::new(*settings, problem, graph))
            }
            Spec::PsAdmm(settings) => Box::new(ps_admm::PsAdmm::new(*settings, problem, graph)),
            Spec::Pvp(settings) => Box::new(pvp::Pvp::new(*settings, problem, graph)),
            Spec::RAdmm(settings) => Box::new(r_admm::RAdmm::new(*settings, problem, graph)),
        }
    }
}
