//! PVP, primal variable perturbation (Zhang and Zhu 2017): consensus ADMM whose agents release
//! their exact primal update plus noise of density proportional to `exp(-zeta ||e||)`. Pure
//! epsilon, summed over rounds.
//!
//! ```text
//! f_k = argmin F_k;  beta_k = f_k + e;  gamma_kl += rho (beta_k - beta_l)
//! ```
//!
//! The published zeta rests on the strong convexity of R (its constant is known here from secondary
//! sources only). Ours is `epsilon_round/(Delta_k + 2 tau)` with Lemma 3's sensitivity, which the
//! penalty's strong convexity proves for any convex R; the published assumptions are checked all
//! the same.

use super::consensus::{Consensus, vectors};
use super::plan::pure;
use super::registry::{AlgorithmEntry, rho_and_rounds};
use super::{Baseline, Needs, Party};
use crate::admm::Admm;
use crate::guarantee::{BudgetTarget, NoGuarantee};
use crate::network::Graph;
use crate::primal::InnerFailure;
use crate::problem::PublicProblem;
use crate::tuning::{Setting, Sizes};
use dzoa_privacy::{Event, NoiseKey, Private, Receipt, Release};

/// In the registry.
pub const ENTRY: AlgorithmEntry = AlgorithmEntry {
    name: "pvp",
    page: "docs/algorithms/pvp.md",
    options: &[],
    reads_rho: true,
    rounds: None,
    rounds_per_query: 1,
    nominal: false,
    check: AlgorithmEntry::ANY_OPTIONS,
    build: |making| {
        Box::new(Pvp::new(PvpSettings { admm: making.admm }, making.problem, making.graph))
    },
    grid,
};

fn grid(sizes: &Sizes) -> Vec<Setting> {
    rho_and_rounds(sizes, [5, 20])
}

/// Its own settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PvpSettings {
    /// rho, and how neighbourhoods are counted.
    pub admm: Admm,
}

/// All agents.
pub struct Pvp {
    consensus: Consensus,
}

impl Pvp {
    /// Before the first round.
    pub fn new(settings: PvpSettings, problem: &PublicProblem, graph: &Graph) -> Self {
        Self { consensus: Consensus::new(settings.admm, problem, graph) }
    }
}

impl Baseline for Pvp {
    fn name(&self) -> &'static str {
        "pvp"
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
        let sensitivity = self.consensus.sensitivity(problem, k, target)?;
        let shares = vec![1.0 / rounds as f64; rounds as usize];
        pure(&shares, target, |_, epsilon| {
            Ok(Event::spherical_laplace(sensitivity, sensitivity / epsilon, problem.dim()))
        })
    }

    fn query(
        &self,
        _round: u64,
        party: &mut Party,
        receipt: Receipt,
        noise: &NoiseKey,
    ) -> Result<Release, InnerFailure> {
        Ok(Private::new(self.consensus.solve(party)?).release(receipt, noise)?)
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
