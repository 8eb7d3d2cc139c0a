//! DP-ADMM (Huang, Hu, Guo, Chan-Tin, Gong 2020): the paper's benchmark. There a coordinator
//! averages; here every agent hears every release and averages by itself, to the same bits.
//!
//! ```text
//! w_k  = (w~_k/s_m + rho w + gamma_k - f_k'(w~_k))/(rho + 1/s_m),  s_m = step m^-decay
//! w~_k = w_k + noise, flooded to all agents              sensitivity 2 c1 scale_k/(rho + 1/s_m)
//! w    = mean_k(w~_k - gamma_k/rho), found by everybody
//! gamma_k <- gamma_k - rho (w~_k - w)
//! ```
//!
//! The sensitivity is exact given what was exchanged: only `f_k'` sees rows. The D-ZOA paper runs
//! it at an epsilon a round with c1 = 1, which the squared loss does not have, and with 1/N_k,
//! which its sum scale does not have: [`DpAdmmSettings::nominal`], for its figures only.

use super::plan::{gaussian, gradient, gradient_sensitivity};
use super::registry::{AlgorithmEntry, Making, NumberRange, OptionKey};
use super::{Baseline, Needs, Party};
use crate::guarantee::{BudgetTarget, NoGuarantee};
use crate::network::Graph;
use crate::primal::InnerFailure;
use crate::problem::PublicProblem;
use crate::tuning::{Setting, Sizes, product};
use dzoa_privacy::calibrate::theorem1_sigma;
use dzoa_privacy::{Event, NoiseKey, Private, Receipt, Release};
use rand_distr::{Distribution, StandardNormal};
use std::sync::Arc;

/// In the registry.
pub const ENTRY: AlgorithmEntry = AlgorithmEntry {
    options: &[
        OptionKey::new("step", NumberRange::Positive),
        OptionKey::new("clip", NumberRange::Positive),
        OptionKey::new("decay", NumberRange::NonNegative),
    ],
    nominal: true,
    flooding: true,
    ..AlgorithmEntry::new("dp-admm", "docs/algorithms/dp-admm.md", build, grid)
};

fn build(making: &Making<'_>) -> Box<dyn Baseline> {
    let settings = DpAdmmSettings {
        rho: making.admm.rho,
        step: making.option("step", 0.3),
        decay: making.option("decay", 0.5),
        clip: making.options.get("clip"),
        nominal: making.nominal,
    };
    Box::new(DpAdmm::new(settings, making.problem))
}

fn grid(sizes: &Sizes) -> Vec<Setting> {
    let setting = |(step, rho, rounds): (f64, f64, u64)| {
        let own = [("step", step / sizes.weight), ("decay", 0.0)];
        sizes.setting(rho, rounds).with(own.into_iter().chain(sizes.clip()))
    };
    product([1.0, 5.0, 20.0], [0.03, 0.3], [30, 100]).map(setting).collect()
}

/// Its own settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DpAdmmSettings {
    /// rho.
    pub rho: f64,
    /// `step`
    pub step: f64,
    /// How fast steps shrink.
    pub decay: f64,
    /// Per-sample gradients are clipped to this norm.
    pub clip: Option<f64>,
    /// Noise as the D-ZOA paper has it, charged as nominal: epsilon and delta of one round, with c1
    /// = 1.
    pub nominal: Option<(f64, f64)>,
}

/// What all agents hold alike.
pub struct DpAdmm {
    settings: DpAdmmSettings,
    /// What stands for `N_k` in the nominal claim.
    samples: Vec<f64>,
    /// `w~_k`, released.
    primal: Vec<Arc<[f64]>>,
    /// `gamma_k`
    dual: Vec<Vec<f64>>,
    /// `w`
    global: Vec<f64>,
}

impl DpAdmm {
    /// Before the first round.
    pub fn new(settings: DpAdmmSettings, problem: &PublicProblem) -> Self {
        let (agents, dim) = (problem.agents(), problem.dim());
        Self {
            settings,
            samples: (0..agents).map(|k| problem.nominal_samples(k)).collect(),
            primal: vec![vec![0.0; dim].into(); agents],
            dual: vec![vec![0.0; dim]; agents],
            global: vec![0.0; dim],
        }
    }

    /// `1/s_m`
    fn pull(&self, round: u64) -> f64 {
        (round as f64).powf(self.settings.decay) / self.settings.step
    }

    /// `w_k` before noise.
    pub fn update(&self, round: u64, party: &Party) -> Vec<f64> {
        let Party { k, risk, objective, .. } = party;
        let (rho, pull) = (self.settings.rho, self.pull(round));
        let before = &self.primal[*k];
        let mut slope = gradient(risk, None, before, risk.weight, self.settings.clip);
        objective.penalty.add_subgradient(before, &mut slope);
        (0..slope.len())
            .map(|p| {
                let drawn = pull * before[p] + rho * self.global[p] + self.dual[*k][p];
                (drawn - slope[p]) / (rho + pull)
            })
            .collect()
    }

    /// `w`, the average that everybody finds.
    pub fn global(&self) -> &[f64] {
        &self.global
    }

    /// `gamma_k`
    pub fn dual(&self, k: usize) -> &[f64] {
        &self.dual[k]
    }
}

impl Baseline for DpAdmm {
    fn name(&self) -> &'static str {
        "dp-admm"
    }

    fn needs(&self) -> Needs {
        let known_c1 = self.settings.clip.is_none() && self.settings.nominal.is_none();
        Needs { flooding: ENTRY.flooding, gradients: true, known_c1, ..Needs::default() }
    }

    fn events(
        &self,
        problem: &PublicProblem,
        k: usize,
        rounds: u64,
        target: &BudgetTarget,
    ) -> Result<Vec<Event>, NoGuarantee> {
        let gradient = gradient_sensitivity(problem, k, self.settings.clip, target)?;
        let sensitivities: Vec<f64> =
            (1..=rounds).map(|round| gradient / (self.settings.rho + self.pull(round))).collect();
        gaussian(&sensitivities, problem.dim(), target, target.schedule)
    }

    fn query(
        &self,
        round: u64,
        party: &mut Party,
        receipt: Receipt,
        noise: &NoiseKey,
    ) -> Result<Release, InnerFailure> {
        let mut w = self.update(round, party);
        if let Some((epsilon, delta)) = self.settings.nominal {
            // With 1/N_k on the sum scale, too: the paper's figures take D-ZOA's own Lemma 3 in the
            // same way.
            let samples = self.samples[party.k];
            let sensitivity = 2.0 / (samples * (self.settings.rho + self.pull(round)));
            let sigma = theorem1_sigma(sensitivity, epsilon, delta);
            let mut draw = noise.generator(&receipt, 1, &w);
            w.iter_mut().for_each(|w| {
                let normal: f64 = StandardNormal.sample(&mut draw);
                *w += sigma * normal;
            });
        }
        Ok(Private::new(w).release(receipt, noise)?)
    }

    fn absorb(&mut self, _round: u64, released: &[Arc<[f64]>]) {
        let rho = self.settings.rho;
        self.primal = released.to_vec();
        let agents = released.len() as f64;
        for p in 0..self.global.len() {
            let sum: f64 =
                (0..released.len()).map(|k| self.primal[k][p] - self.dual[k][p] / rho).sum();
            self.global[p] = sum / agents;
        }
        for (dual, primal) in self.dual.iter_mut().zip(&self.primal) {
            for ((dual, primal), global) in dual.iter_mut().zip(&**primal).zip(&self.global) {
                *dual -= rho * (primal - global);
            }
        }
    }

    fn estimate(&self, _k: usize) -> Vec<f64> {
        self.global.clone()
    }

    fn messages(&self, _round: u64, graph: &Graph) -> u64 {
        graph.flooded(self.primal.len() as u64)
    }

    fn gradients_per_query(&self) -> u64 {
        1
    }
}
