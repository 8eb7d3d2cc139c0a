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
//! as in `dvp.rs`.

use super::consensus::Consensus;
use super::registry::{AlgorithmEntry, Making, NumberRange, OptionKey, rho_and_rounds};
use super::scheme::{EXACT_AND_SMOOTH, OnConsensus, Perturbation};
use super::{Needs, Part};
use std::sync::Arc;

/// In the registry.
pub const ENTRY: AlgorithmEntry = AlgorithmEntry {
    options: &[OptionKey::new("proximity", NumberRange::Positive)],
    rounds_per_query: 2,
    ..AlgorithmEntry::new(
        "r-admm",
        "docs/algorithms/r-admm.md",
        |making| OnConsensus::build(RAdmm::new(making), making),
        // Every other round queries rows.
        |sizes| rho_and_rounds(sizes, [10, 40]),
    )
};

struct RAdmm {
    /// Per agent: how firmly an even step stays near.
    proximity: Vec<f64>,
    /// `g_k`
    gradients: Vec<Vec<f64>>,
}

impl RAdmm {
    /// Without a proximity that is given: the largest curvature of `f_k`.
    fn new(making: &Making<'_>) -> Self {
        let problem = making.problem;
        let agents = making.graph.len();
        let share = problem.eta / agents as f64 * problem.regularizer.strong_convexity();
        let curvature = |k: usize| {
            let rows = problem.weight(k);
            rows * problem.loss.smoothness().unwrap_or(1.0) + share
        };
        let given = making.options.get("proximity");
        Self {
            proximity: (0..agents).map(|k| given.unwrap_or(curvature(k))).collect(),
            gradients: vec![vec![0.0; problem.dim()]; agents],
        }
    }

    /// The even step of agent k, from public vectors.
    fn recycle(&self, on: &Consensus, k: usize) -> Arc<[f64]> {
        let (linear, quadratic) = on.forces(k);
        let beta = &on.states[k].beta;
        let step = 1.0 / (2.0 * quadratic + self.proximity[k]);
        (0..beta.len())
            .map(|p| {
                let slope = self.gradients[k][p] + linear[p] + 2.0 * quadratic * beta[p];
                beta[p] - step * slope
            })
            .collect()
    }
}

impl Perturbation for RAdmm {
    const NAME: &'static str = ENTRY.name;

    fn needs(&self) -> Needs {
        EXACT_AND_SMOOTH
    }

    fn part(&self, round: u64) -> Part {
        if round.is_multiple_of(2) { Part::Rests } else { Part::Releases }
    }

    fn betas(&mut self, on: &Consensus, round: u64, released: &[Arc<[f64]>]) -> Vec<Arc<[f64]>> {
        if round.is_multiple_of(2) {
            return (0..self.gradients.len()).map(|k| self.recycle(on, k)).collect();
        }
        for (k, release) in released.iter().enumerate() {
            let (linear, quadratic) = on.forces(k);
            let slope = |(b, linear): (&f64, f64)| -(linear + 2.0 * quadratic * b);
            self.gradients[k] = release.iter().zip(linear).map(slope).collect();
        }
        released.to_vec()
    }
}
