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

use super::Needs;
use super::registry::{AlgorithmEntry, rho_and_rounds};
use super::scheme::{EXACT_AND_SMOOTH, OnConsensus, Perturbation};

/// In the registry.
pub const ENTRY: AlgorithmEntry = AlgorithmEntry::new(
    "dvp",
    "docs/algorithms/dvp.md",
    |making| OnConsensus::build(Dvp, making),
    |sizes| rho_and_rounds(sizes, [5, 20]),
);

struct Dvp;

impl Perturbation for Dvp {
    const NAME: &'static str = ENTRY.name;

    fn needs(&self) -> Needs {
        Needs { strongly_convex: true, ..EXACT_AND_SMOOTH }
    }
}
