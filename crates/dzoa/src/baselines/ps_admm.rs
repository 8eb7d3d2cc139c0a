//! PS-ADMM (Ding et al. 2019): stochastic ADMM. Each round the loss is linearised by the noisy
//! gradient of a mini-batch, and the primal update is a prox in closed form.
//!
//! ```text
//! g_k    = (1/B) sum_{i in batch} loss'(x_i'beta_k) x_i + noise
//! beta_k = argmin g_k'b + (eta/K) R(b) + linear_k'b + q_k ||b||^2 + ||b - beta_k||^2/(2 s_m)
//!
//! sensitivity 2 c1/B (times N_k under `sum`), s_m = step m^-decay
//! gamma_kl += rho (beta_k - beta_l)
//! ```
//!
//! Drawing a batch would amplify privacy; the exact Gaussian formula ignores it, and no
//! amplification is claimed here. So the whole data set is the default batch: a smaller one only
//! saves time.

use super::consensus::Consensus;
use super::plan::{gaussian, gradient, gradient_sensitivity};
use super::registry::{AlgorithmEntry, NumberRange, OptionKey};
use super::{Baseline, Needs, Party};
use crate::admm::Admm;
use crate::guarantee::{BudgetTarget, NoGuarantee};
use crate::network::Graph;
use crate::primal::InnerFailure;
use crate::problem::PublicProblem;
use crate::problem::regularizer::Penalty;
use crate::tuning::{Setting, Sizes, product};
use dzoa_privacy::{Event, NoiseKey, Private, Receipt, Release};
use rand::seq::index;
use std::sync::Arc;

/// The part of a receipt's randomness that draws the batch.
const BATCH: u64 = 3;

/// In the registry.
pub const ENTRY: AlgorithmEntry = AlgorithmEntry {
    name: "ps-admm",
    page: "docs/algorithms/ps-admm.md",
    options: &[
        OptionKey::new("step", NumberRange::Positive),
        OptionKey::new("clip", NumberRange::Positive),
        OptionKey::new("decay", NumberRange::NonNegative),
        OptionKey::new("batch", NumberRange::Count),
    ],
    reads_rho: true,
    rounds: None,
    rounds_per_query: 1,
    nominal: false,
    check: AlgorithmEntry::ANY_OPTIONS,
    build: |making| {
        Box::new(PsAdmm::new(
            PsAdmmSettings {
                admm: making.admm,
                step: making.option("step", making.agents_step()),
                decay: making.option("decay", 0.0),
                batch: making.options.get("batch").map(|batch| batch as usize),
                clip: making.options.get("clip"),
            },
            making.problem,
            making.graph,
        ))
    },
    grid,
};

fn grid(sizes: &Sizes) -> Vec<Setting> {
    let setting = |(step, rho, rounds): (f64, f64, u64)| Setting {
        rho: Some(rho * sizes.weight),
        rounds: Some(rounds),
        options: std::iter::once(("step", step / sizes.weight)).chain(sizes.clip()).collect(),
        ..Setting::default()
    };
    product([1.0, 4.0, 16.0], [0.01, 0.1], [30, 100]).map(setting).collect()
}

/// Its own settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PsAdmmSettings {
    /// rho, and how neighbourhoods are counted.
    pub admm: Admm,
    /// `step`
    pub step: f64,
    /// How fast steps shrink.
    pub decay: f64,
    /// B; all rows without one.
    pub batch: Option<usize>,
    /// Per-sample gradients are clipped to this norm.
    pub clip: Option<f64>,
}

/// All agents.
pub struct PsAdmm {
    settings: PsAdmmSettings,
    consensus: Consensus,
    penalty: Penalty,
}

impl PsAdmm {
    /// Before the first round.
    pub fn new(settings: PsAdmmSettings, problem: &PublicProblem, graph: &Graph) -> Self {
        Self {
            settings,
            consensus: Consensus::new(settings.admm, problem, graph),
            penalty: problem.penalty(problem.eta / graph.len() as f64),
        }
    }

    /// The size of agent k's batches.
    fn batch(&self, samples: usize) -> usize {
        self.settings.batch.unwrap_or(samples).min(samples)
    }

    fn primal(&self, k: usize, round: u64, gradient: &[f64]) -> Arc<[f64]> {
        let (linear, quadratic) = self.consensus.forces(k);
        let beta = &self.consensus.states[k].beta;
        let pull = (round as f64).powf(self.settings.decay) / self.settings.step;
        let shrink = 1.0 / (2.0 * quadratic + pull);
        let mut b: Vec<f64> =
            (0..beta.len()).map(|p| shrink * (pull * beta[p] - linear[p] - gradient[p])).collect();
        self.penalty.prox(&mut b, shrink);
        b.into()
    }
}

impl Baseline for PsAdmm {
    fn name(&self) -> &'static str {
        "ps-admm"
    }

    fn needs(&self) -> Needs {
        Needs { gradients: true, known_c1: self.settings.clip.is_none(), ..Needs::default() }
    }

    fn events(
        &self,
        problem: &PublicProblem,
        k: usize,
        rounds: u64,
        target: &BudgetTarget,
    ) -> Result<Vec<Event>, NoGuarantee> {
        let samples = problem.samples(k);
        let larger = samples as f64 / self.batch(samples) as f64;
        let sensitivity = larger * gradient_sensitivity(problem, k, self.settings.clip, target)?;
        let schedule = target.schedule;
        gaussian(&vec![sensitivity; rounds as usize], problem.dim(), target, schedule)
    }

    fn query(
        &self,
        _round: u64,
        party: &mut Party,
        receipt: Receipt,
        noise: &NoiseKey,
    ) -> Result<Release, InnerFailure> {
        let samples = party.risk.samples.count();
        let batch = self.batch(samples);
        let rows = (batch < samples).then(|| {
            let draw = &mut noise.generator(&receipt, BATCH, &[]);
            index::sample(draw, samples, batch).into_vec()
        });
        let scale = party.risk.weight * samples as f64 / batch as f64;
        let beta = &self.consensus.states[party.k].beta;
        let gradient = gradient(&party.risk, rows.as_deref(), beta, scale, self.settings.clip);
        Ok(Private::new(gradient).release(receipt, noise)?)
    }

    fn absorb(&mut self, round: u64, releases: &[Release]) {
        let betas: Vec<_> =
            releases.iter().enumerate().map(|(k, g)| self.primal(k, round, g)).collect();
        self.consensus.exchange(self.consensus.admm.rho, &betas);
    }

    fn estimate(&self, k: usize) -> Vec<f64> {
        self.consensus.states[k].beta.to_vec()
    }

    fn messages(&self, _round: u64) -> u64 {
        self.consensus.messages()
    }

    fn gradients_per_query(&self) -> u64 {
        1
    }
}
