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

use super::consensus::{Asked, Consensus};
use super::plan::pure;
use super::registry::{AlgorithmEntry, rho_and_rounds};
use super::scheme::{EXACT_AND_SMOOTH, OnConsensus, Scheme};
use super::{Needs, NoGuarantee};
use dzoa_privacy::Event;

/// In the registry.
pub const ENTRY: AlgorithmEntry = AlgorithmEntry::new(
    "pvp",
    "docs/algorithms/pvp.md",
    |making| OnConsensus::build(Pvp, making),
    |sizes| rho_and_rounds(sizes, [5, 20]),
);

struct Pvp;

impl Scheme for Pvp {
    const NAME: &'static str = ENTRY.name;

    fn needs(&self) -> Needs {
        Needs { strongly_convex: true, ..EXACT_AND_SMOOTH }
    }

    fn events(&self, on: &Consensus, asked: &Asked<'_>) -> Result<Vec<Event>, NoGuarantee> {
        let sensitivity = on.sensitivity(asked)?;
        let shares = vec![1.0 / asked.rounds as f64; asked.rounds as usize];
        pure(&shares, asked.target, |_, epsilon| {
            Ok(Event::spherical_laplace(sensitivity, sensitivity / epsilon, on.dim()))
        })
    }
}
