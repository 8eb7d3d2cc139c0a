//! Distributed projected gradient descent (Huang, Mitra, Vaidya 2015): pure epsilon over any number
//! of rounds, because steps and noise shrink geometrically.
//!
//! ```text
//! y_k = x_k + Laplace noise, sent to the neighbours
//! z_k = sum_l a_kl y_l                                      a: Metropolis weights
//! x_k = Proj(z_k - c q^t f_k'(z_k)) onto the ball of the given radius
//! ```
//!
//! Given what was exchanged, `x_k` moves by at most `2 c1 scale_k c q^t` in L2 when one row is
//! replaced, by `sqrt(P)` times that in L1. Round t gets the share `(q/p)^t` of epsilon, so that
//! the noise falls as `p^t`: the published schedule, with its constant taken from the rounds there
//! are instead of from all of eternity. The steps can be added up: the iterates stop short of the
//! optimum where `c q/(1-q)` is too small.

use super::plan::{gradient, gradient_sensitivity, pure};
use super::registry::{AlgorithmEntry, Making, NumberRange, OptionError, OptionKey, Options};
use super::{Baseline, Needs, Party};
use crate::guarantee::{BudgetTarget, NoGuarantee};
use crate::network::Graph;
use crate::primal::InnerFailure;
use crate::problem::PublicProblem;
use crate::tuning::{Setting, Sizes, product};
use dzoa_privacy::{Event, NoiseKey, Private, Receipt, Release};
use std::sync::Arc;

/// In the registry.
pub const ENTRY: AlgorithmEntry = AlgorithmEntry {
    options: &[
        OptionKey::new("step", NumberRange::Positive),
        OptionKey::new("clip", NumberRange::Positive),
        OptionKey::new("step_decay", NumberRange::Fraction),
        OptionKey::new("noise_decay", NumberRange::Fraction),
        OptionKey::new("radius", NumberRange::Positive),
    ],
    reads_rho: false,
    check: decays,
    ..AlgorithmEntry::new(
        "projected-gradient",
        "docs/algorithms/projected-gradient.md",
        build,
        grid,
    )
};

fn build(making: &Making<'_>) -> Box<dyn Baseline> {
    let settings = ProjectedGradientSettings {
        step: making.option("step", making.agents_step()),
        step_decay: making.option("step_decay", STEP_DECAY),
        noise_decay: making.option("noise_decay", NOISE_DECAY),
        radius: making.option("radius", 10.0),
        clip: making.options.get("clip"),
    };
    Box::new(ProjectedGradient::new(settings, making.problem, making.graph))
}

/// q, where none is given.
const STEP_DECAY: f64 = 0.96;
/// p, where none is given.
const NOISE_DECAY: f64 = 0.98;

fn decays(options: &Options) -> Result<(), OptionError> {
    let q = options.get("step_decay").unwrap_or(STEP_DECAY);
    let p = options.get("noise_decay").unwrap_or(NOISE_DECAY);
    if q < p {
        return Ok(());
    }
    Err(OptionError {
        key: "step_decay",
        problem: format!("is {q}, but must be below noise_decay ({p})"),
        hint: "the noise must fall more slowly than the steps, or no budget is enough",
    })
}

fn grid(sizes: &Sizes) -> Vec<Setting> {
    let setting = |(step, (q, p), rounds): (f64, (f64, f64), u64)| Setting {
        rounds: Some(rounds),
        options: [("step", step / sizes.weight), ("step_decay", q), ("noise_decay", p)]
            .into_iter()
            .chain(sizes.clip())
            .collect(),
        ..Setting::default()
    };
    let decays = [(0.9, 0.95), (0.97, 0.985)];
    product([1.0, 4.0, 16.0], decays, [40, 100]).map(setting).collect()
}

/// Its own settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProjectedGradientSettings {
    /// c, the first step's size before it is multiplied by q.
    pub step: f64,
    /// q: each step over the one before.
    pub step_decay: f64,
    /// p: each round's noise over that of the one before; `q < p < 1`.
    pub noise_decay: f64,
    /// Radius of the public ball that holds the model.
    pub radius: f64,
    /// Per-sample gradients are clipped to this norm.
    pub clip: Option<f64>,
}

/// All agents.
pub struct ProjectedGradient {
    settings: ProjectedGradientSettings,
    /// Neighbours and their weights.
    mixing: Vec<Vec<(usize, f64)>>,
    /// `z_k`
    mixed: Vec<Vec<f64>>,
}

impl ProjectedGradient {
    /// Before the first round.
    pub fn new(
        settings: ProjectedGradientSettings,
        problem: &PublicProblem,
        graph: &Graph,
    ) -> Self {
        let near = |k| graph.neighbours(k).iter().copied().zip(graph.gossip_weights(k)).collect();
        Self {
            settings,
            mixing: (0..graph.len()).map(near).collect(),
            mixed: vec![vec![0.0; problem.dim()]; graph.len()],
        }
    }

    /// `c q^t`
    pub fn step(&self, round: u64) -> f64 {
        self.settings.step * self.settings.step_decay.powf(round as f64)
    }
}

impl Baseline for ProjectedGradient {
    fn name(&self) -> &'static str {
        "projected-gradient"
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
        let ProjectedGradientSettings { step_decay, noise_decay, clip, .. } = self.settings;
        let gradient = gradient_sensitivity(problem, k, clip, target)?;
        let dim = problem.dim();
        let weights: Vec<f64> =
            (1..=rounds).map(|t| (step_decay / noise_decay).powf(t as f64)).collect();
        let sum: f64 = weights.iter().sum();
        let shares: Vec<f64> = weights.iter().map(|weight| weight / sum).collect();
        pure(&shares, target, |query, epsilon| {
            let sensitivity = self.step(query as u64 + 1) * gradient * (dim as f64).sqrt();
            let event = Event::laplace(sensitivity, sensitivity / epsilon, dim);
            // Steps so small that they are no numbers cannot be put on a grid.
            match event.pure_epsilon() {
                Some(spent) if spent.is_finite() && sensitivity > 0.0 => Ok(event),
                _ => Err(NoGuarantee::BudgetTooSmall { epsilon: target.total_epsilon }),
            }
        })
    }

    fn query(
        &self,
        round: u64,
        party: &mut Party,
        receipt: Receipt,
        noise: &NoiseKey,
    ) -> Result<Release, InnerFailure> {
        let risk = &party.risk;
        let z = &self.mixed[party.k];
        let mut slope = gradient(risk, None, z, risk.weight, self.settings.clip);
        party.objective.penalty.add_subgradient(z, &mut slope);
        let step = self.step(round);
        let mut x: Vec<f64> = z.iter().zip(&slope).map(|(z, slope)| z - step * slope).collect();
        let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
        if norm > self.settings.radius {
            x.iter_mut().for_each(|x| *x *= self.settings.radius / norm);
        }
        Ok(Private::new(x).release(receipt, noise)?)
    }

    fn absorb(&mut self, _round: u64, released: &[Arc<[f64]>]) {
        self.mixed = self
            .mixing
            .iter()
            .enumerate()
            .map(|(k, near)| {
                let kept = 1.0 - near.iter().map(|(_, weight)| weight).sum::<f64>();
                let mut mixed: Vec<f64> = released[k].iter().map(|y| kept * y).collect();
                for &(l, weight) in near {
                    mixed.iter_mut().zip(&released[l][..]).for_each(|(sum, y)| *sum += weight * y);
                }
                mixed
            })
            .collect();
    }

    fn estimate(&self, k: usize) -> Vec<f64> {
        self.mixed[k].clone()
    }

    fn messages(&self, _round: u64, _graph: &Graph) -> u64 {
        self.mixing.iter().map(|near| near.len() as u64).sum()
    }

    fn gradients_per_query(&self) -> u64 {
        1
    }
}
