//! PS-ADMM (Ding et al. 2019): stochastic ADMM. Each round the loss is linearised by the noisy gradient of a
//! mini-batch, and the primal update is a prox in closed form.
//!
//! ```text
//! g_k    = (1/B) sum_{i in batch} loss'(x_i'beta_k) x_i + noise        sensitivity 2 c1/B (times N_k under `sum`)
//! beta_k = argmin g_k'b + (eta/K) R(b) + linear_k'b + q_k ||b||^2 + ||b - beta_k||^2/(2 s_m),  s_m = step m^-decay
//! gamma_kl += rho (beta_k - beta_l)
//! ```
//!
//! Drawing a batch would amplify privacy; the exact Gaussian formula ignores it, and no amplification is
//! claimed here. So the whole data set is the default batch: a smaller one only saves time.

use super::consensus::Consensus;
use super::plan::{gaussian, gradient, gradient_sensitivity};
use super::{Baseline, Holder, Needs};
use crate::admm::{Admm, InnerFailure};
use crate::graph::Graph;
use crate::mechanism::{NoGuarantee, Target};
use crate::problem::Problem;
use crate::problem::regularizer::Penalty;
use dzoa_privacy::{Event, NoiseKey, Private, Receipt, Release};
use rand::seq::index;
use std::sync::Arc;

/// The part of a receipt's randomness that draws the batch.
const BATCH: u64 = 3;

/// Settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
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
    settings: Settings,
    consensus: Consensus,
    penalty: Penalty,
}

impl PsAdmm {
    /// Before the first round.
    pub fn new(settings: Settings, problem: &Problem, graph: &Graph) -> Self {
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
        problem: &Problem,
        k: usize,
        rounds: u64,
        target: &Target,
    ) -> Result<Vec<Event>, NoGuarantee> {
        let samples = problem.agents[k].count();
        let larger = samples as f64 / self.batch(samples) as f64;
        let sensitivity = larger * gradient_sensitivity(problem, k, self.settings.clip, target)?;
        let schedule = target.schedule;
        gaussian(&vec![sensitivity; rounds as usize], problem.dim(), target, schedule)
    }

    fn look(
        &self,
        _round: u64,
        holder: &mut Holder,
        receipt: Receipt,
        noise: &NoiseKey,
    ) -> Result<Release, InnerFailure> {
        let samples = holder.risk.samples.count();
        let batch = self.batch(samples);
        let rows = (batch < samples).then(|| {
            let draw = &mut noise.generator(&receipt, BATCH, &[]);
            index::sample(draw, samples, batch).into_vec()
        });
        let scale = holder.risk.weight * samples as f64 / batch as f64;
        let beta = &self.consensus.states[holder.k].beta;
        let gradient = gradient(&holder.risk, rows.as_deref(), beta, scale, self.settings.clip);
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

    fn gradients_per_look(&self) -> u64 {
        1
    }
}
