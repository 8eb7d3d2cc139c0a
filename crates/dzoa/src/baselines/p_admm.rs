//! P-ADMM (Ding, Gong, Zhang, Pan, Han): Gaussian primal variable perturbation whose variance
//! decays, `sigma_m^2 = sigma_1^2 q^(m-1)`, so that the noise falls while the run converges.
//!
//! The total and q give sigma_1. The authors account in zCDP, `Delta^2/(2 sigma_m^2)` a round; here
//! the same releases are accounted exactly. It is d-zoa's mechanism `output` with an exact solver
//! and `schedule = { growth = 1/q }`.

use super::consensus::{Consensus, vectors};
use super::plan::gaussian;
use super::registry::{AlgorithmEntry, NumberRange, OptionKey};
use super::{Baseline, Needs, Party};
use crate::admm::Admm;
use crate::guarantee::{BudgetTarget, NoGuarantee};
use crate::network::Graph;
use crate::primal::InnerFailure;
use crate::problem::PublicProblem;
use crate::tuning::{Setting, Sizes, product};
use dzoa_privacy::calibrate::Schedule;
use dzoa_privacy::{Event, NoiseKey, Private, Receipt, Release};

/// In the registry.
pub const ENTRY: AlgorithmEntry = AlgorithmEntry {
    name: "p-admm",
    page: "docs/algorithms/p-admm.md",
    options: &[OptionKey::new("decay", NumberRange::Fraction)],
    reads_rho: true,
    rounds: None,
    rounds_per_query: 1,
    nominal: false,
    check: AlgorithmEntry::ANY_OPTIONS,
    build: |making| {
        Box::new(PAdmm::new(
            PAdmmSettings { admm: making.admm, decay: making.option("decay", 0.97) },
            making.problem,
            making.graph,
        ))
    },
    grid,
};

fn grid(sizes: &Sizes) -> Vec<Setting> {
    let setting = |(rho, decay, rounds): (f64, f64, u64)| Setting {
        rho: Some(rho * sizes.rho * sizes.weight),
        rounds: Some(rounds),
        options: vec![("decay", decay)],
        ..Setting::default()
    };
    product([0.3, 1.0, 3.0], [0.995, 0.97], [30, 60]).map(setting).collect()
}

/// Its own settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PAdmmSettings {
    /// rho, and how neighbourhoods are counted.
    pub admm: Admm,
    /// q: each round's variance over that of the one before.
    pub decay: f64,
}

/// All agents.
pub struct PAdmm {
    consensus: Consensus,
    decay: f64,
}

impl PAdmm {
    /// Before the first round.
    pub fn new(settings: PAdmmSettings, problem: &PublicProblem, graph: &Graph) -> Self {
        let consensus = Consensus::new(settings.admm, problem, graph);
        Self { consensus, decay: settings.decay }
    }
}

impl Baseline for PAdmm {
    fn name(&self) -> &'static str {
        "p-admm"
    }

    fn needs(&self) -> Needs {
        Needs { exact_solver: true, known_c1: true, ..Needs::default() }
    }

    fn events(
        &self,
        problem: &PublicProblem,
        k: usize,
        rounds: u64,
        target: &BudgetTarget,
    ) -> Result<Vec<Event>, NoGuarantee> {
        let sensitivity = self.consensus.sensitivity(problem, k, target)?;
        let schedule = Schedule::Growth(1.0 / self.decay);
        gaussian(&vec![sensitivity; rounds as usize], problem.dim(), target, schedule)
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
