//! Functional perturbation in its practical form (Nozari, Tallapragada, Cortes 2018; Chaudhuri,
//! Monteleoni, Sarwate 2011): the centralised objective gets one random linear term, and its
//! minimiser is released once.
//!
//! ```text
//! w = argmin sum_k scale_k sum_i loss(x_i'w) + eta R(w) + ridge/2 ||w||^2 + b'w
//! ```
//!
//! It protects **one release by a solver that all agents trust with their rows**, and nothing else:
//! if agents exchanged iterates of their perturbed objectives, the one random term would cancel
//! between them. So it is a centralised baseline. The noise comes from the proof at
//! [`dzoa_privacy::NoisyObjective`].

use super::plan::{Perturbed, gradient, gradient_sensitivity, pure};
use super::registry::{AlgorithmEntry, Making, NumberRange, OptionKey};
use super::{Baseline, Derivatives, Needs, Part, Party};
use crate::guarantee::{self, BudgetTarget, NoGuarantee};
use crate::network::Graph;
use crate::primal::InnerFailure;
use crate::primal::rounding::{gamma, length};
use crate::problem::{Problem, PublicProblem};
use crate::tuning::{Setting, Sizes};
use dzoa_privacy::{Event, NoiseKey, NoisyObjective, Receipt, Release};
use std::sync::Arc;

/// How near the minimiser is found, where rounding allows it.
const TAU: f64 = 1e-7;
/// And the farthest that is worth to be released.
const LARGEST_TAU: f64 = 1e-3;
/// Steps after which a solve without a guarantee is given up, and that one with a guarantee may
/// need at most: a plan that needs more is refused, and a solve that has begun goes on to its end,
/// since an abort would be a release.
const MOST_STEPS: usize = 2_000_000;
/// A length of spherical Laplace noise of scale 1 that is exceeded with probability below 1e-30,
/// whatever the data: Chernoff's bound for a sum of that many exponentials.
fn longest_noise(coordinates: usize) -> f64 {
    (2 * coordinates + 90) as f64
}

/// In the registry.
pub const ENTRY: AlgorithmEntry = AlgorithmEntry {
    options: &[OptionKey::new("ridge", NumberRange::Between(1e-6, 1e6))],
    reads_rho: false,
    rounds: Some(1),
    ..AlgorithmEntry::new(
        "objective-perturbation",
        "docs/algorithms/objective-perturbation.md",
        build,
        grid,
    )
};

fn build(making: &Making<'_>) -> Box<dyn Baseline> {
    let ridge = making.options.get("ridge").unwrap_or_else(|| ridge(making));
    Box::new(ObjectivePerturbation::new(ObjectivePerturbationSettings { ridge }, making.problem))
}

fn grid(sizes: &Sizes) -> Vec<Setting> {
    let ridge = |power: i32| 1e-5 * sizes.weight * 10f64.powf(0.5 * f64::from(power));
    let setting = |power| Setting { options: vec![("ridge", ridge(power))], ..Setting::default() };
    (0..12).map(setting).collect()
}

/// The ridge at which one person's rows change the Hessian by a tenth of epsilon: public sizes
/// only.
fn ridge(making: &Making<'_>) -> f64 {
    let (problem, Some(target)) = (making.problem, making.target) else { return 1e-6 };
    let weight = (0..problem.agents()).map(|k| problem.sample_weight(k)).fold(0.0, f64::max);
    let curvature = weight * problem.loss.smoothness().unwrap_or(1.0);
    let share = 0.1 * target.total_epsilon / target.rows_per_person as f64;
    (curvature / share.exp_m1()).max(1e-6)
}

/// Its own settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ObjectivePerturbationSettings {
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
    pub fn new(settings: ObjectivePerturbationSettings, problem: &PublicProblem) -> Self {
        let (agents, w) = (problem.agents(), vec![0.0; problem.dim()]);
        Self { ridge: settings.ridge, agents, w }
    }

    /// The public numbers of the descent; `otherwise` says how long rows are that nothing bounds.
    fn course(&self, problem: &PublicProblem, otherwise: impl Fn(usize) -> f64) -> Course {
        let longest = |k: usize| problem.norm_bound(k).unwrap_or_else(|| otherwise(k));
        let (mut pull, mut curvature) = (0.0, 0.0);
        for k in 0..self.agents {
            let weight = problem.weight(k);
            pull += weight * longest(k);
            curvature += weight * longest(k).powi(2);
        }
        Course {
            smooth: curvature * problem.loss.smoothness().unwrap_or(1.0) + self.ridge,
            ridge: self.ridge,
            pull: pull * problem.loss.lipschitz().unwrap_or(0.0),
            terms: (0..self.agents).map(|k| problem.samples(k)).max().unwrap_or(0) + self.agents,
            features: problem.dim(),
        }
    }

    /// `sum_k scale_k sum_i loss'(x_i'w) x_i + ridge w + linear`
    fn slope(&self, problem: &Problem, linear: &[f64], w: &[f64]) -> Vec<f64> {
        let mut sum: Vec<f64> = w.iter().zip(linear).map(|(w, b)| self.ridge * w + b).collect();
        for k in 0..self.agents {
            let risk = problem.risk(k);
            let part = gradient(&risk, None, w, risk.weight, None);
            sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
        }
        sum
    }

    /// Accelerated proximal gradient descent until strong convexity certifies the distance.
    /// Without a tolerance there is no guarantee, and the search may be given up.
    fn solve(
        &self,
        problem: &Problem,
        linear: &[f64],
        guaranteed: Option<f64>,
    ) -> Result<Vec<f64>, InnerFailure> {
        let penalty = problem.penalty(problem.eta);
        // Under a guarantee there is a public bound; without one the rows themselves may say.
        let norms = |k: usize| {
            let rows = &problem.agents[k].rows;
            (0..rows.count()).map(|i| rows.norm(i)).fold(0.0, f64::max)
        };
        let course = self.course(&problem.public(), norms);
        let (smooth, momentum) = (course.smooth, course.momentum());
        let most = if guaranteed.is_some() { usize::MAX } else { MOST_STEPS };
        let (mut w, mut y) = (vec![0.0; linear.len()], vec![0.0; linear.len()]);
        for step in 0..most {
            let at_y = self.slope(problem, linear, &y);
            let mut next: Vec<f64> = y.iter().zip(&at_y).map(|(y, g)| y - g / smooth).collect();
            penalty.prox(&mut next, 1.0 / smooth);
            // A subgradient at `next`: its norm over the ridge bounds the distance to the
            // minimiser.
            let at_next = self.slope(problem, linear, &next);
            let left: f64 = (0..next.len())
                .map(|p| (smooth * (y[p] - next[p]) + at_next[p] - at_y[p]).powi(2))
                .sum::<f64>()
                .sqrt();
            if left.is_nan() {
                return Err(InnerFailure::NonFinite { step });
            }
            let rounding = match guaranteed {
                Some(_) => course.rounding(length(linear), length(&y) + length(&next)),
                None => 0.0,
            };
            if left + rounding <= guaranteed.unwrap_or(TAU) * self.ridge {
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

/// What the descent depends on: all of it public.
struct Course {
    /// The objective's smoothness and strong convexity.
    smooth: f64,
    ridge: f64,
    /// A bound on the gradient of all losses together, and on their values at the origin (targets
    /// are at most 1).
    pull: f64,
    /// The most numbers that are added up to one.
    terms: usize,
    features: usize,
}

impl Course {
    /// `sqrt(ridge/smooth)`
    fn rate(&self) -> f64 {
        (self.ridge / self.smooth).sqrt()
    }

    fn momentum(&self) -> f64 {
        (1.0 - self.rate()) / (1.0 + self.rate())
    }

    /// How far rounding can take the computed subgradient from the true one, for a linear term of
    /// this norm and points whose norms add up to `points`: that of two sums over the rows, of the
    /// predictions in them, and of the prox.
    fn rounding(&self, linear: f64, points: f64) -> f64 {
        let sums = gamma(self.terms + 8) * 2.0 * self.pull;
        sums + gamma(self.features + 16) * (self.smooth * points + linear)
    }

    /// How near the minimiser can be found on every data set, for linear terms up to this norm;
    /// half of it is rounding. The losses are not negative, so that a minimiser's norm is at most
    /// `sqrt(2 pull/ridge) + 2 linear/ridge`.
    fn tolerance(&self, linear: f64) -> f64 {
        let reach = (2.0 * self.pull / self.ridge).sqrt() + 2.0 * linear / self.ridge;
        TAU.max(2.0 * self.rounding(linear, 2.5 * reach) / self.ridge)
    }

    /// Steps after which a solve has ended on every data set.
    ///
    /// With g the gradient's norm at the origin, the objective is after t steps within
    /// `(1 - rate)^t g^2/ridge` of its minimum (Beck 2017, theorem 10.42). So the subgradient is at
    /// most `12 smooth g/ridge exp(-rate (t - 1)/2)`, and half of the tolerance is left for it.
    fn steps(&self, linear: f64, tolerance: f64) -> f64 {
        let shrink =
            24.0 * self.smooth * (self.pull + linear) / (tolerance * self.ridge * self.ridge);
        2.0 + 2.0 * shrink.ln().max(0.0) / self.rate()
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
        problem: &PublicProblem,
        _k: usize,
        _rounds: u64,
        target: &BudgetTarget,
    ) -> Result<Vec<Event>, NoGuarantee> {
        let largest = |of: &dyn Fn(usize) -> Result<f64, NoGuarantee>| {
            (0..self.agents).try_fold(0.0, |most: f64, k| Ok(most.max(of(k)?)))
        };
        // The noise is one vector for all agents: it must do for the one whose rows weigh most.
        let curvature = largest(&|k| Ok(guarantee::c3(problem, k)? * problem.sample_weight(k)))?;
        let gradient = largest(&|k| gradient_sensitivity(problem, k, None, target))?;
        // c3 has refused rows that nothing bounds.
        let (course, dim) = (self.course(problem, |_| f64::INFINITY), problem.dim());
        pure(&[1.0], target, |_, epsilon| {
            let perturbed = Perturbed {
                gradient,
                curvature: curvature / self.ridge,
                rows: target.rows_per_person,
                tau: TAU,
                dim,
            };
            // How far the noise may throw the minimiser decides how near it can be found.
            let longest = longest_noise(dim) * perturbed.scale(epsilon)?;
            let tau = course.tolerance(longest);
            if tau > LARGEST_TAU {
                return Err(NoGuarantee::Tolerance { tolerance: LARGEST_TAU, least: tau });
            }
            let steps = course.steps(longest, tau);
            if steps > MOST_STEPS as f64 {
                return Err(NoGuarantee::Steps { steps, most: MOST_STEPS });
            }
            Perturbed { tau, ..perturbed }.event(epsilon)
        })
    }

    fn part(&self, round: u64, k: usize) -> Part {
        match (round, k) {
            (1, 0) => Part::Releases,
            (1, _) => Part::LendsRows,
            _ => Part::Rests,
        }
    }

    fn query(
        &self,
        _round: u64,
        party: &mut Party,
        receipt: Receipt,
        noise: &NoiseKey,
    ) -> Result<Release, InnerFailure> {
        let (linear, token) = NoisyObjective::new(receipt, self.w.len(), noise)?;
        // A party of another algorithm lends no rows: there is nothing to certify.
        let nothing = InnerFailure::NotCertified { distance: f64::INFINITY };
        let lent = party.trusted().ok_or(nothing)?.problem();
        let minimiser = self.solve(lent, &linear, token.tolerance())?;
        Ok(token.finish(minimiser))
    }

    fn perturbed(&self, _round: u64, party: &Party, at: &[f64]) -> Option<Derivatives> {
        let lent = party.trusted()?.problem();
        let mut found = Derivatives::of_forces(at, &vec![0.0; at.len()], 0.5 * self.ridge);
        (0..self.agents).for_each(|k| found.add_risk(&lent.risk(k), at));
        found.add_penalty(&lent.penalty(lent.eta), at);
        Some(found)
    }

    fn absorb(&mut self, _round: u64, released: &[Arc<[f64]>]) {
        if let Some(release) = released.first() {
            self.w = release.to_vec();
        }
    }

    fn estimate(&self, _k: usize) -> Vec<f64> {
        self.w.clone()
    }

    fn messages(&self, round: u64, _graph: &Graph) -> u64 {
        if round == 1 { self.agents as u64 } else { 0 }
    }
}
