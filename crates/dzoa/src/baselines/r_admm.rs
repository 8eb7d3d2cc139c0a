//! R-ADMM, recycled ADMM (Zhang, Khalili, Liu 2018): every even round reuses the odd round's
//! linearisation and costs no privacy.
//!
//! ```text
//! odd:   beta_k = argmin F_k(b) + e'b,   g_k = -(linear_k + 2 q_k beta_k)
//! even:  beta_k <- beta_k - [g_k + gamma_k + rho sum_l (beta_k - beta_l)]/(2 q_k + proximity)
//! both:  gamma_kl += rho (beta_k - beta_l)
//! ```
//!
//! `g_k`, the perturbed gradient, follows from the stationarity of the odd step **at the released
//! value**: here it is computed from public vectors alone. (Taken at the unreleased solution of an
//! output-perturbed step it would reveal that solution.) The odd rounds are objective perturbation,
//! as in [`super::Dvp`].

use super::consensus::{Consensus, vectors};
use super::registry::{AlgorithmEntry, NumberRange, OptionKey, rho_and_rounds};
use super::{Baseline, Derivatives, Needs, Part, Party};
use crate::admm::Admm;
use crate::guarantee::{BudgetTarget, NoGuarantee};
use crate::network::Graph;
use crate::primal::InnerFailure;
use crate::problem::PublicProblem;
use crate::tuning::{Setting, Sizes};
use dzoa_privacy::{Event, NoiseKey, Receipt, Release};
use std::sync::Arc;

/// In the registry.
pub const ENTRY: AlgorithmEntry = AlgorithmEntry {
    name: "r-admm",
    page: "docs/algorithms/r-admm.md",
    options: &[OptionKey::new("proximity", NumberRange::Positive)],
    reads_rho: true,
    rounds: None,
    rounds_per_query: 2,
    nominal: false,
    check: AlgorithmEntry::ANY_OPTIONS,
    build: |making| {
        Box::new(RAdmm::new(
            RAdmmSettings { admm: making.admm, proximity: making.options.get("proximity") },
            making.problem,
            making.graph,
        ))
    },
    grid,
};

fn grid(sizes: &Sizes) -> Vec<Setting> {
    // Every other round queries rows.
    rho_and_rounds(sizes, [10, 40])
}

/// Its own settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RAdmmSettings {
    /// rho, and how neighbourhoods are counted.
    pub admm: Admm,
    /// How firmly an even step stays near; without one, the largest curvature of `f_k`.
    pub proximity: Option<f64>,
}

/// All agents.
pub struct RAdmm {
    consensus: Consensus,
    proximity: Vec<f64>,
    /// `g_k`
    gradients: Vec<Vec<f64>>,
}

impl RAdmm {
    /// Before the first round.
    pub fn new(settings: RAdmmSettings, problem: &PublicProblem, graph: &Graph) -> Self {
        let agents = graph.len();
        let share = problem.eta / agents as f64 * problem.regularizer.strong_convexity();
        let curvature = |k: usize| {
            let rows = problem.weight(k);
            rows * problem.loss.smoothness().unwrap_or(1.0) + share
        };
        Self {
            consensus: Consensus::new(settings.admm, problem, graph),
            proximity: (0..agents).map(|k| settings.proximity.unwrap_or(curvature(k))).collect(),
            gradients: vec![vec![0.0; problem.dim()]; agents],
        }
    }

    /// The even step of agent k, from public vectors.
    fn recycle(&self, k: usize) -> Arc<[f64]> {
        let (linear, quadratic) = self.consensus.forces(k);
        let beta = &self.consensus.states[k].beta;
        let step = 1.0 / (2.0 * quadratic + self.proximity[k]);
        (0..beta.len())
            .map(|p| {
                let slope = self.gradients[k][p] + linear[p] + 2.0 * quadratic * beta[p];
                beta[p] - step * slope
            })
            .collect()
    }
}

impl Baseline for RAdmm {
    fn name(&self) -> &'static str {
        "r-admm"
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
        let rhos = vec![self.consensus.admm.rho; rounds.div_ceil(2) as usize];
        self.consensus.perturbed_events(problem, k, &rhos, target)
    }

    fn part(&self, round: u64, _k: usize) -> Part {
        if round.is_multiple_of(2) { Part::Rests } else { Part::Releases }
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

    fn absorb(&mut self, round: u64, releases: &[Release]) {
        let betas = if round.is_multiple_of(2) {
            (0..self.gradients.len()).map(|k| self.recycle(k)).collect()
        } else {
            for (k, release) in releases.iter().enumerate() {
                let (linear, quadratic) = self.consensus.forces(k);
                let slope = |(b, linear): (&f64, f64)| -(linear + 2.0 * quadratic * b);
                self.gradients[k] = release.iter().zip(linear).map(slope).collect();
            }
            vectors(releases)
        };
        self.consensus.exchange(self.consensus.admm.rho, &betas);
    }

    fn estimate(&self, k: usize) -> Vec<f64> {
        self.consensus.states[k].beta.to_vec()
    }

    fn messages(&self, _round: u64) -> u64 {
        self.consensus.messages()
    }
}
