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

use super::Needs;
use super::registry::{AlgorithmEntry, NumberRange, OptionKey};
use super::scheme::{EXACT_AND_SMOOTH, OnConsensus, Perturbation};
use crate::tuning::{Setting, Sizes, product};

/// In the registry.
pub const ENTRY: AlgorithmEntry = AlgorithmEntry {
    options: &[OptionKey::new("growth", NumberRange::Between(1.0, 2.0))],
    ..AlgorithmEntry::new(
        "m-admm",
        "docs/algorithms/m-admm.md",
        |making| OnConsensus::build(MAdmm { growth: making.option("growth", 1.01) }, making),
        grid,
    )
};

fn grid(sizes: &Sizes) -> Vec<Setting> {
    product([0.03, 0.3, 3.0], [1.0, 1.05], [5, 20])
        .map(|(rho, growth, rounds)| sizes.setting(rho, rounds).with([("growth", growth)]))
        .collect()
}

struct MAdmm {
    /// Each round's penalty over that of the one before, at least 1.
    growth: f64,
}

impl Perturbation for MAdmm {
    const NAME: &'static str = ENTRY.name;

    fn needs(&self) -> Needs {
        EXACT_AND_SMOOTH
    }

    /// `eta_m`
    fn penalty(&self, rho: f64, round: u64) -> f64 {
        // Beyond this the iterates no longer move.
        const MOST: f64 = 1e6;
        rho * self.growth.powf((round - 1) as f64).min(MOST)
    }
}
