//! Functional perturbation in its practical form (Nozari, Tallapragada, Cortes 2018; Chaudhuri, Monteleoni,
//! Sarwate 2011): the centralised objective gets one random linear term, and its minimiser is released once.
//!
//! ```text
//! w = argmin sum_k scale_k sum_i loss(x_i'w) + eta R(w) + ridge/2 ||w||^2 + b'w
//! ```
//!
//! It protects **one release by a solver that all agents trust with their rows**, and nothing else: if agents
//! exchanged iterates of their perturbed objectives, the one random term would cancel between them. So it is
//! a centralised baseline. The noise comes from the proof at [`dzoa_privacy::NoisyObjective`].

use super::plan::{Perturbed, gradient, gradient_sensitivity, pure};
use super::{Baseline, Derivatives, Holder, Needs, Part};
use crate::admm::InnerFailure;
use crate::mechanism::{self, NoGuarantee, Target};
use crate::problem::Problem;
use dzoa_privacy::{Event, NoisyObjective, Receipt, Release};
use rand::rngs::ChaCha20Rng;

/// How near the minimiser is found.
const TAU: f64 = 1e-7;
/// Steps after which a problem without noise is given up; under a guarantee an abort would be a release.
const MOST_STEPS: usize = 2_000_000;

/// Settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Strong convexity that is added; it bounds what one row does to the Hessian.
    pub ridge: f64,
}

/// The trusted solver.
pub struct ObjectivePerturbation {
    ridge: f64,
    agents: usize,
    w: Vec<f64>,
}

impl ObjectivePerturbation {
    /// Before the one round.
    pub fn new(settings: Settings, problem: &Problem) -> Self {
        let (agents, w) = (problem.agents.len(), vec![0.0; problem.dim()]);
        Self { ridge: settings.ridge, agents, w }
    }

    /// Accelerated proximal gradient descent until strong convexity certifies the distance.
    fn solve(&self, problem: &Problem, linear: &[f64]) -> Result<Vec<f64>, InnerFailure> {
        let penalty = problem.penalty(problem.eta);
        let slope = |w: &[f64]| {
            let mut sum: Vec<f64> = w.iter().zip(linear).map(|(w, b)| self.ridge * w + b).collect();
            for k in 0..self.agents {
                let risk = problem.risk(k);
                let part = gradient(&risk, None, w, risk.weight, None);
                sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
            }
            sum
        };
        let curvature: f64 = (0..self.agents)
            .map(|k| {
                let rows = &problem.agents[k].rows;
                // Under a guarantee there is a public bound; without one the rows themselves may
                // say.
                let longest = rows
                    .norm_bound()
                    .unwrap_or_else(|| (0..rows.count()).map(|i| rows.norm(i)).fold(0.0, f64::max));
                problem.sample_weight(k) * rows.count() as f64 * longest * longest
            })
            .sum();
        let smooth = curvature * problem.loss.smoothness().unwrap_or(1.0) + self.ridge;
        let ratio = (self.ridge / smooth).sqrt();
        let momentum = (1.0 - ratio) / (1.0 + ratio);
        let (mut w, mut y) = (vec![0.0; linear.len()], vec![0.0; linear.len()]);
        for step in 0..MOST_STEPS {
            let at_y = slope(&y);
            let mut next: Vec<f64> = y.iter().zip(&at_y).map(|(y, g)| y - g / smooth).collect();
            penalty.prox(&mut next, 1.0 / smooth);
            // A subgradient at `next`: its norm over the ridge bounds the distance to the minimiser.
            let at_next = slope(&next);
            let left: f64 = (0..next.len())
                .map(|p| (smooth * (y[p] - next[p]) + at_next[p] - at_y[p]).powi(2))
                .sum::<f64>()
                .sqrt();
            if left.is_nan() {
                return Err(InnerFailure::NonFinite { step });
            }
            if left <= TAU * self.ridge {
                return Ok(next);
            }
            for p in 0..w.len() {
                y[p] = next[p] + momentum * (next[p] - w[p]);
            }
            w = next;
        }
        Err(InnerFailure::NotCertified { distance: f64::INFINITY })
    }
}

impl Baseline for ObjectivePerturbation {
    fn name(&self) -> &'static str {
        "objective-perturbation"
    }

    fn needs(&self) -> Needs {
        Needs {
            coordinator: true,
            trusted_solver: true,
            gradients: true,
            smooth_loss: true,
            known_c1: true,
            ..Needs::default()
        }
    }

    fn events(
        &self,
        problem: &Problem,
        _k: usize,
        _rounds: u64,
        target: &Target,
    ) -> Result<Vec<Event>, NoGuarantee> {
        let largest = |of: &dyn Fn(usize) -> Result<f64, NoGuarantee>| {
            (0..self.agents).try_fold(0.0, |most: f64, k| Ok(most.max(of(k)?)))
        };
        // The noise is one vector for all agents: it must do for the one whose rows weigh most.
        let curvature = largest(&|k| Ok(mechanism::c3(problem, k)? * problem.sample_weight(k)))?;
        let gradient = largest(&|k| gradient_sensitivity(problem, k, None, target))?;
        pure(&[1.0], target, |_, epsilon| {
            Perturbed {
                gradient,
                curvature: curvature / self.ridge,
                rows: target.rows_per_person,
                tau: TAU,
                dim: problem.dim(),
            }
            .event(epsilon)
        })
    }

    fn part(&self, round: u64, k: usize) -> Part {
        match (round, k) {
            (1, 0) => Part::Releases,
            (1, _) => Part::LendsRows,
            _ => Part::Rests,
        }
    }

    fn look(
        &self,
        _round: u64,
        holder: &mut Holder,
        receipt: Receipt,
        noise: &mut ChaCha20Rng,
    ) -> Result<Release, InnerFailure> {
        let (linear, token) = NoisyObjective::new(receipt, self.w.len(), noise)?;
        let minimiser = self.solve(&holder.problem, &linear)?;
        Ok(token.finish(minimiser, noise))
    }

    fn perturbed(&self, _round: u64, holder: &Holder, at: &[f64]) -> Option<Derivatives> {
        let mut found = Derivatives::of_forces(at, &vec![0.0; at.len()], 0.5 * self.ridge);
        (0..self.agents).for_each(|k| found.add_risk(&holder.problem.risk(k), at));
        found.add_penalty(&holder.problem.penalty(holder.problem.eta), at);
        Some(found)
    }

    fn absorb(&mut self, _round: u64, releases: &[Release]) {
        if let Some(release) = releases.first() {
            self.w = release.to_vec();
        }
    }

    fn estimate(&self, _k: usize) -> Vec<f64> {
        self.w.clone()
    }

    fn messages(&self, round: u64) -> u64 {
        if round == 1 { self.agents as u64 } else { 0 }
    }
}
