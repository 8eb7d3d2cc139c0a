//! P-ADMM (Ding, Gong, Zhang, Pan, Han): Gaussian primal variable perturbation whose variance
//! decays, `sigma_m^2 = sigma_1^2 q^(m-1)`, so that the noise falls while the run converges.
//!
//! The total and q give sigma_1. The authors account in zCDP, `Delta^2/(2 sigma_m^2)` a round; here
//! the same releases are accounted exactly. It is d-zoa's mechanism `output` with an exact solver
//! and `schedule = { growth = 1/q }`.

use super::consensus::{Asked, Consensus};
use super::plan::gaussian;
use super::registry::{AlgorithmEntry, NumberRange, OptionKey};
use super::scheme::{OnConsensus, Scheme};
use super::{Needs, NoGuarantee};
use crate::tuning::{Setting, Sizes, product};
use dzoa_privacy::Event;
use dzoa_privacy::calibrate::Schedule;

/// In the registry.
pub const ENTRY: AlgorithmEntry = AlgorithmEntry {
    options: &[OptionKey::new("decay", NumberRange::Fraction)],
    ..AlgorithmEntry::new(
        "p-admm",
        "docs/algorithms/p-admm.md",
        |making| OnConsensus::build(PAdmm { decay: making.option("decay", 0.97) }, making),
        grid,
    )
};

fn grid(sizes: &Sizes) -> Vec<Setting> {
    product([0.3, 1.0, 3.0], [0.995, 0.97], [30, 60])
        .map(|(rho, decay, rounds)| sizes.setting(rho * sizes.rho, rounds).with([("decay", decay)]))
        .collect()
}

struct PAdmm {
    /// q: each round's variance over that of the one before.
    decay: f64,
}

impl Scheme for PAdmm {
    const NAME: &'static str = ENTRY.name;

    fn needs(&self) -> Needs {
        Needs { exact_solver: true, known_c1: true, ..Needs::default() }
    }

    fn events(&self, on: &Consensus, asked: &Asked<'_>) -> Result<Vec<Event>, NoGuarantee> {
        let sensitivities = vec![on.sensitivity(asked)?; asked.rounds as usize];
        gaussian(&sensitivities, on.dim(), asked.target, Schedule::Growth(1.0 / self.decay))
    }
}
