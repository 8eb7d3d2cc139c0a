//! Distributed projected gradient descent (Huang, Mitra, Vaidya 2015): pure epsilon over any number of
//! rounds, because steps and noise shrink geometrically.
//!
//! ```text
//! y_k = x_k + Laplace noise, sent to the neighbours
//! z_k = sum_l a_kl y_l                                      a: Metropolis weights
//! x_k = Proj(z_k - c q^t f_k'(z_k)) onto the ball of the given radius
//! ```
//!
//! Given what was exchanged, `x_k` moves by at most `2 c1 scale_k c q^t` in L2 when one row is replaced, by
//! `sqrt(P)` times that in L1. Round t gets the share `(q/p)^t` of epsilon, so that the noise falls as `p^t`: the
//! published schedule, with its constant taken from the rounds there are instead of from all of eternity.
//! The steps can be added up: the iterates stop short of the optimum where `c q/(1-q)` is too small.

use super::plan::{gradient, gradient_sensitivity, pure};
use super::{Baseline, Holder, Needs};
use crate::admm::InnerFailure;
use crate::graph::Graph;
use crate::mechanism::{NoGuarantee, Target};
use crate::problem::Problem;
use dzoa_privacy::{Event, NoiseKey, Private, Receipt, Release};

/// Settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
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
    settings: Settings,
    /// Neighbours and their weights.
    mixing: Vec<Vec<(usize, f64)>>,
    /// `z_k`
    mixed: Vec<Vec<f64>>,
}

impl ProjectedGradient {
    /// Before the first round.
    pub fn new(settings: Settings, problem: &Problem, graph: &Graph) -> Self {
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
        problem: &Problem,
        k: usize,
        rounds: u64,
        target: &Target,
    ) -> Result<Vec<Event>, NoGuarantee> {
        let Settings { step_decay, noise_decay, clip, .. } = self.settings;
        let gradient = gradient_sensitivity(problem, k, clip, target)?;
        let dim = problem.dim();
        let weights: Vec<f64> =
            (1..=rounds).map(|t| (step_decay / noise_decay).powf(t as f64)).collect();
        let sum: f64 = weights.iter().sum();
        let shares: Vec<f64> = weights.iter().map(|weight| weight / sum).collect();
        pure(&shares, target, |look, epsilon| {
            let sensitivity = self.step(look as u64 + 1) * gradient * (dim as f64).sqrt();
            let event = Event::laplace(sensitivity, sensitivity / epsilon, dim);
            // Steps so small that they are no numbers cannot be put on a grid.
            match event.pure_epsilon() {
                Some(spent) if spent.is_finite() && sensitivity > 0.0 => Ok(event),
                _ => Err(NoGuarantee::BudgetTooSmall { epsilon: target.total_epsilon }),
            }
        })
    }

    fn look(
        &self,
        round: u64,
        holder: &mut Holder,
        receipt: Receipt,
        noise: &NoiseKey,
    ) -> Result<Release, InnerFailure> {
        let risk = &holder.risk;
        let z = &self.mixed[holder.k];
        let mut slope = gradient(risk, None, z, risk.weight, self.settings.clip);
        holder.objective.penalty.add_subgradient(z, &mut slope);
        let step = self.step(round);
        let mut x: Vec<f64> = z.iter().zip(&slope).map(|(z, slope)| z - step * slope).collect();
        let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
        if norm > self.settings.radius {
            x.iter_mut().for_each(|x| *x *= self.settings.radius / norm);
        }
        Ok(Private::new(x).release(receipt, noise)?)
    }

    fn absorb(&mut self, _round: u64, releases: &[Release]) {
        self.mixed = self
            .mixing
            .iter()
            .enumerate()
            .map(|(k, near)| {
                let kept = 1.0 - near.iter().map(|(_, weight)| weight).sum::<f64>();
                let mut mixed: Vec<f64> = releases[k].iter().map(|y| kept * y).collect();
                for &(l, weight) in near {
                    mixed.iter_mut().zip(&releases[l][..]).for_each(|(sum, y)| *sum += weight * y);
                }
                mixed
            })
            .collect();
    }

    fn estimate(&self, k: usize) -> Vec<f64> {
        self.mixed[k].clone()
    }

    fn messages(&self, _round: u64) -> u64 {
        self.mixing.iter().map(|near| near.len() as u64).sum()
    }

    fn gradients_per_look(&self) -> u64 {
        1
    }
}
