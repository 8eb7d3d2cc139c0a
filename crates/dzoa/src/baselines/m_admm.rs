//! M-ADMM (Zhang, Khalili, Liu 2018): the penalty is perturbed, and its weight grows over the
//! rounds, so that later releases are more stable.
//!
//! ```text
//! eta_m = rho growth^(m-1)
//! beta_k = argmin f_k(b) + gamma_k'b + eta_m sum_l ||b - (beta_k + beta_l)/2 - e||^2
//! gamma_kl += rho (beta_k - beta_l)
//! ```
//!
//! Noise in the penalty is a random linear term `-2 eta_m |N_k| e'b`: objective perturbation of
//! `F_k`, whose strong convexity `2 eta_m |N_k|` grows. The published constant is known here from
//! secondary sources only; ours comes from the proof at [`dzoa_privacy::NoisyObjective`], with the
//! linear term calibrated directly. Pure epsilon, summed over rounds.

use super::consensus::{Consensus, vectors};
use super::registry::{AlgorithmEntry, NumberRange, OptionKey};
use super::{Baseline, Derivatives, Needs, Party};
use crate::admm::Admm;
use crate::guarantee::{BudgetTarget, NoGuarantee};
use crate::network::Graph;
use crate::primal::InnerFailure;
use crate::problem::PublicProblem;
use crate::tuning::{Setting, Sizes, product};
use dzoa_privacy::{Event, NoiseKey, Receipt, Release};

/// In the registry.
pub const ENTRY: AlgorithmEntry = AlgorithmEntry {
    name: "m-admm",
    page: "docs/algorithms/m-admm.md",
    options: &[OptionKey::new("growth", NumberRange::Between(1.0, 2.0))],
    reads_rho: true,
    rounds: None,
    rounds_per_query: 1,
    nominal: false,
    check: AlgorithmEntry::ANY_OPTIONS,
    build: |making| {
        Box::new(MAdmm::new(
            MAdmmSettings { admm: making.admm, growth: making.option("growth", 1.01) },
            making.problem,
            making.graph,
        ))
    },
    grid,
};

fn grid(sizes: &Sizes) -> Vec<Setting> {
    let setting = |(rho, growth, rounds): (f64, f64, u64)| Setting {
        rho: Some(rho * sizes.weight),
        rounds: Some(rounds),
        options: vec![("growth", growth)],
        ..Setting::default()
    };
    product([0.03, 0.3, 3.0], [1.0, 1.05], [5, 20]).map(setting).collect()
}

/// Its own settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MAdmmSettings {
    /// rho, and how neighbourhoods are counted.
    pub admm: Admm,
    /// Each round's penalty over that of the one before, at least 1.
    pub growth: f64,
}

/// All agents.
pub struct MAdmm {
    consensus: Consensus,
    growth: f64,
}

impl MAdmm {
    /// Before the first round.
    pub fn new(settings: MAdmmSettings, problem: &PublicProblem, graph: &Graph) -> Self {
        let consensus = Consensus::new(settings.admm, problem, graph);
        Self { consensus, growth: settings.growth }
    }

    /// `eta_m`
    fn penalty(&self, round: u64) -> f64 {
        // Beyond this the iterates no longer move.
        const MOST: f64 = 1e6;
        self.consensus.admm.rho * self.growth.powf((round - 1) as f64).min(MOST)
    }
}

impl Baseline for MAdmm {
    fn name(&self) -> &'static str {
        "m-admm"
    }

    fn needs(&self) -> Needs {
        Needs {
            exact_solver: true,
            smooth_loss: true,
            smooth_regularizer: true,
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
        let penalties: Vec<f64> = (1..=rounds).map(|round| self.penalty(round)).collect();
        self.consensus.perturbed_events(problem, k, &penalties, target)
    }

    fn query(
        &self,
        round: u64,
        party: &mut Party,
        receipt: Receipt,
        noise: &NoiseKey,
    ) -> Result<Release, InnerFailure> {
        self.consensus.query_perturbed(self.penalty(round), party, receipt, noise)
    }

    fn perturbed(&self, round: u64, party: &Party, at: &[f64]) -> Option<Derivatives> {
        Some(self.consensus.perturbed(self.penalty(round), party, at))
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
