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

use super::consensus::{Asked, Consensus, QueryOf};
use super::plan::{gaussian, gradient, gradient_sensitivity};
use super::registry::{AlgorithmEntry, Making, NumberRange, OptionKey};
use super::scheme::{OnConsensus, Scheme};
use super::{InnerFailure, Needs, NoGuarantee};
use crate::problem::regularizer::Penalty;
use crate::tuning::{Setting, Sizes, product};
use dzoa_privacy::{Event, Private, Release};
use rand::seq::index;
use std::sync::Arc;

/// The part of a receipt's randomness that draws the batch.
const BATCH: u64 = 3;

/// In the registry.
pub const ENTRY: AlgorithmEntry = AlgorithmEntry {
    options: &[
        OptionKey::new("step", NumberRange::Positive),
        OptionKey::new("clip", NumberRange::Positive),
        OptionKey::new("decay", NumberRange::NonNegative),
        OptionKey::new("batch", NumberRange::Count),
    ],
    ..AlgorithmEntry::new(
        "ps-admm",
        "docs/algorithms/ps-admm.md",
        |making| OnConsensus::build(PsAdmm::new(making), making),
        grid,
    )
};

fn grid(sizes: &Sizes) -> Vec<Setting> {
    let setting = |(step, rho, rounds): (f64, f64, u64)| {
        let step = ("step", step / sizes.weight);
        sizes.setting(rho, rounds).with(std::iter::once(step).chain(sizes.clip()))
    };
    product([1.0, 4.0, 16.0], [0.01, 0.1], [30, 100]).map(setting).collect()
}

struct PsAdmm {
    /// The first step's size.
    step: f64,
    /// How fast steps shrink.
    decay: f64,
    /// B; all rows without one.
    batch: Option<usize>,
    /// Per-sample gradients are clipped to this norm.
    clip: Option<f64>,
    /// One agent's share of the regulariser.
    penalty: Penalty,
}

impl PsAdmm {
    fn new(making: &Making<'_>) -> Self {
        let problem = making.problem;
        Self {
            step: making.option("step", making.agents_step()),
            decay: making.option("decay", 0.0),
            batch: making.options.get("batch").map(|batch| batch as usize),
            clip: making.options.get("clip"),
            penalty: problem.penalty(problem.eta / making.graph.len() as f64),
        }
    }

    /// The size of batches of an agent with this many rows.
    fn batch(&self, samples: usize) -> usize {
        self.batch.unwrap_or(samples).min(samples)
    }

    fn primal(&self, on: &Consensus, k: usize, round: u64, gradient: &[f64]) -> Arc<[f64]> {
        let (linear, quadratic) = on.forces(k);
        let beta = &on.states[k].beta;
        let pull = (round as f64).powf(self.decay) / self.step;
        let shrink = 1.0 / (2.0 * quadratic + pull);
        let mut b: Vec<f64> =
            (0..beta.len()).map(|p| shrink * (pull * beta[p] - linear[p] - gradient[p])).collect();
        self.penalty.prox(&mut b, shrink);
        b.into()
    }
}

impl Scheme for PsAdmm {
    const NAME: &'static str = ENTRY.name;

    fn needs(&self) -> Needs {
        Needs { gradients: true, known_c1: self.clip.is_none(), ..Needs::default() }
    }

    fn events(&self, on: &Consensus, asked: &Asked<'_>) -> Result<Vec<Event>, NoGuarantee> {
        let &Asked { problem, k, rounds, target } = asked;
        let samples = problem.samples(k);
        let larger = samples as f64 / self.batch(samples) as f64;
        let sensitivity = larger * gradient_sensitivity(problem, k, self.clip, target)?;
        gaussian(&vec![sensitivity; rounds as usize], on.dim(), target, target.schedule)
    }

    fn query(&self, on: &Consensus, query: QueryOf<'_>) -> Result<Release, InnerFailure> {
        let QueryOf { party, receipt, noise, .. } = query;
        let samples = party.risk.samples.count();
        let batch = self.batch(samples);
        let rows = (batch < samples).then(|| {
            let draw = &mut noise.generator(&receipt, BATCH, &[]);
            index::sample(draw, samples, batch).into_vec()
        });
        let scale = party.risk.weight * samples as f64 / batch as f64;
        let beta = &on.states[party.k].beta;
        let gradient = gradient(&party.risk, rows.as_deref(), beta, scale, self.clip);
        Ok(Private::new(gradient).release(receipt, noise)?)
    }

    fn betas(&mut self, on: &Consensus, round: u64, released: &[Arc<[f64]>]) -> Vec<Arc<[f64]>> {
        released.iter().enumerate().map(|(k, g)| self.primal(on, k, round, g)).collect()
    }

    fn gradients_per_query(&self) -> u64 {
        1
    }
}
