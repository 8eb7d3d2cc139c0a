//! DVP, dual variable perturbation (Zhang and Zhu 2017): the dual is perturbed before the primal
//! update, and the minimiser itself is released.
//!
//! ```text
//! beta_k = argmin F_k(b) + e'b;  gamma_kl += rho (beta_k - beta_l)
//! ```
//!
//! That is objective perturbation of `F_k` with fresh noise in every round. The published noise
//! constant is known here from secondary sources only; ours comes from the proof at
//! [`dzoa_privacy::NoisyObjective`], with the penalty's `2 rho |N_k|` as strong convexity. Pure
//! epsilon, summed over rounds.

use super::consensus::{Consensus, vectors};
use super::registry::{AlgorithmEntry, rho_and_rounds};
use super::{Baseline, Derivatives, Needs, Party};
use crate::admm::Admm;
use crate::guarantee::{BudgetTarget, NoGuarantee};
use crate::network::Graph;
use crate::primal::InnerFailure;
use crate::problem::PublicProblem;
use crate::tuning::{Setting, Sizes};
use dzoa_privacy::{Event, NoiseKey, Receipt, Release};

/// In the registry.
pub const ENTRY: AlgorithmEntry = AlgorithmEntry {
    name: "dvp",
    page: "docs/algorithms/dvp.md",
    options: &[],
    reads_rho: true,
    rounds: None,
    rounds_per_query: 1,
    nominal: false,
    check: AlgorithmEntry::ANY_OPTIONS,
    build: |making| {
        Box::new(Dvp::new(DvpSettings { admm: making.admm }, making.problem, making.graph))
    },
    grid,
};

fn grid(sizes: &Sizes) -> Vec<Setting> {
    rho_and_rounds(sizes, [5, 20])
}

/// Its own settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DvpSettings {
    /// rho, and how neighbourhoods are counted.
    pub admm: Admm,
}

/// All agents.
pub struct Dvp {
    consensus: Consensus,
}

impl Dvp {
    /// Before the first round.
    pub fn new(settings: DvpSettings, problem: &PublicProblem, graph: &Graph) -> Self {
        Self { consensus: Consensus::new(settings.admm, problem, graph) }
    }
}

impl Baseline for Dvp {
    fn name(&self) -> &'static str {
        "dvp"
    }

    fn needs(&self) -> Needs {
        Needs {
            exact_solver: true,
            smooth_loss: true,
            smooth_regularizer: true,
            strongly_convex: true,
            known_c1: true,
            ..Needs::default()
        }
    }

    fn events(
        &self,
        problem: &PublicProblem,
        k: usize,
        rounds: u64,
        target: &BudgetTarget,
    ) -> Result<Vec<Event>, NoGuarantee> {
        let rhos = vec![self.consensus.admm.rho; rounds as usize];
        self.consensus.perturbed_events(problem, k, &rhos, target)
    }

    fn query(
        &self,
        _round: u64,
        party: &mut Party,
        receipt: Receipt,
        noise: &NoiseKey,
    ) -> Result<Release, InnerFailure> {
        self.consensus.query_perturbed(self.consensus.admm.rho, party, receipt, noise)
    }

    fn perturbed(&self, _round: u64, party: &Party, at: &[f64]) -> Option<Derivatives> {
        Some(self.consensus.perturbed(self.consensus.admm.rho, party, at))
    }

    fn absorb(&mut self, _round: u64, releases: &[Release]) {
        self.consensus.exchange(self.consensus.admm.rho, &vectors(releases));
    }

    fn estimate(&self, k: usize) -> Vec<f64> {
        self.consensus.states[k].beta.to_vec()
    }

    fn messages(&self, _round: u64) -> u64 {
        self.consensus.messages()
    }
}
