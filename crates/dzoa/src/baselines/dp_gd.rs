//! Proximal gradient descent in which every agent adds its own noise to its gradient: the strongest
//! simple baseline. Every agent hears every noisy gradient, adds them up, and so holds the same
//! model.
//!
//! ```text
//! g_k = scale_k sum_i loss'(x_i'w) x_i + noise       sensitivity 2 c1 scale_k
//! w  <- prox_{step eta R}(w - step sum_k g_k)
//! ```

use super::plan::{gaussian, gradient, gradient_sensitivity};
use super::registry::{AlgorithmEntry, Making, NumberRange, OptionKey};
use super::{Baseline, Needs, Party};
use crate::guarantee::{BudgetTarget, NoGuarantee};
use crate::network::Graph;
use crate::primal::InnerFailure;
use crate::problem::PublicProblem;
use crate::problem::regularizer::Penalty;
use crate::tuning::{Setting, Sizes};
use dzoa_privacy::{Event, NoiseKey, Private, Receipt, Release};
use std::sync::Arc;

/// In the registry.
pub const ENTRY: AlgorithmEntry = AlgorithmEntry {
    options: &[
        OptionKey::new("step", NumberRange::Positive),
        OptionKey::new("clip", NumberRange::Positive),
    ],
    reads_rho: false,
    flooding: true,
    ..AlgorithmEntry::new("dp-gd", "docs/algorithms/dp-gd.md", build, grid)
};

fn build(making: &Making<'_>) -> Box<dyn Baseline> {
    let settings = DpGdSettings {
        step: making.option("step", 1.0 / making.curvature()),
        clip: making.options.get("clip"),
    };
    Box::new(DpGd::new(settings, making.problem))
}

fn grid(sizes: &Sizes) -> Vec<Setting> {
    let setting = |(step, rounds): (f64, u64)| Setting {
        rounds: Some(rounds),
        options: std::iter::once(("step", step / sizes.curvature())).chain(sizes.clip()).collect(),
        ..Setting::default()
    };
    let steps = [0.5, 2.0, 4.0, 8.0].into_iter();
    steps.flat_map(|step| [30, 100, 200].map(|rounds| (step, rounds))).map(setting).collect()
}

/// Its own settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DpGdSettings {
    /// Step size.
    pub step: f64,
    /// Per-sample gradients are clipped to this norm.
    pub clip: Option<f64>,
}

/// What all agents hold alike.
pub struct DpGd {
    settings: DpGdSettings,
    penalty: Penalty,
    agents: usize,
    w: Vec<f64>,
}

impl DpGd {
    /// Before the first round.
    pub fn new(settings: DpGdSettings, problem: &PublicProblem) -> Self {
        let w = vec![0.0; problem.dim()];
        let penalty = problem.penalty(problem.eta);
        Self { settings, penalty, agents: problem.agents(), w }
    }
}

impl Baseline for DpGd {
    fn name(&self) -> &'static str {
        "dp-gd"
    }

    fn needs(&self) -> Needs {
        let known_c1 = self.settings.clip.is_none();
        Needs { flooding: ENTRY.flooding, gradients: true, known_c1, ..Needs::default() }
    }

    fn events(
        &self,
        problem: &PublicProblem,
        k: usize,
        rounds: u64,
        target: &BudgetTarget,
    ) -> Result<Vec<Event>, NoGuarantee> {
        let sensitivity = gradient_sensitivity(problem, k, self.settings.clip, target)?;
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
        let risk = &party.risk;
        let gradient = gradient(risk, None, &self.w, risk.weight, self.settings.clip);
        Ok(Private::new(gradient).release(receipt, noise)?)
    }

    fn absorb(&mut self, _round: u64, released: &[Arc<[f64]>]) {
        let step = self.settings.step;
        for gradient in released {
            self.w.iter_mut().zip(&gradient[..]).for_each(|(w, g)| *w -= step * g);
        }
        self.penalty.prox(&mut self.w, step);
    }

    fn estimate(&self, _k: usize) -> Vec<f64> {
        self.w.clone()
    }

    fn messages(&self, _round: u64, graph: &Graph) -> u64 {
        graph.flooded(self.agents as u64)
    }

    fn gradients_per_query(&self) -> u64 {
        1
    }
}
