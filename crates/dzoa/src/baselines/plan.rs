//! What the baselines share: gradients of bounded sensitivity, and from a target to events.

use crate::guarantee::{self, BudgetTarget, NoGuarantee};
use crate::problem::{EmpiricalRisk, PublicProblem};
use dzoa_privacy::calibrate::{RoundQueries, Schedule, discrete_gaussian_events};
use dzoa_privacy::{Accountant, Budget, Event, ExactGaussian, noise};

/// The share of an objective perturbation's epsilon that hides the solver's tolerance.
const SHARE_OF_TOLERANCE: f64 = 0.02;

/// How long a per-sample gradient can be at agent k: what it is clipped to, or less where loss and
/// rows have a smaller bound. Clipping lets rows of any length in, so the loss's slope alone says
/// nothing.
fn longest_gradient(
    problem: &PublicProblem,
    k: usize,
    clip: Option<f64>,
) -> Result<f64, NoGuarantee> {
    match (guarantee::c1(problem, k), clip) {
        (Ok(c1), Some(clip)) => Ok(c1.min(clip)),
        (Err(_), Some(clip)) => Ok(clip),
        (c1, None) => c1,
    }
}

/// How far replacing one person's rows moves agent k's gradient: twice the longest per-sample
/// gradient a row, weighted.
pub fn gradient_sensitivity(
    problem: &PublicProblem,
    k: usize,
    clip: Option<f64>,
    target: &BudgetTarget,
) -> Result<f64, NoGuarantee> {
    let samples = problem.samples(k) as f64;
    // One replaced summand also changes how the others are rounded: at most this much, relatively.
    let rounding = samples * samples * (problem.dim() as f64).sqrt() * 2.0 * f64::EPSILON;
    let rows = target.rows_per_person as f64;
    let longest = longest_gradient(problem, k, clip)?;
    Ok(2.0 * longest * problem.sample_weight(k) * rows * (1.0 + rounding))
}

/// `scale sum_i loss'(x_i'w) x_i` over the given rows (all without a list), each summand clipped to
/// norm `clip`.
pub fn gradient(
    risk: &EmpiricalRisk,
    rows: Option<&[usize]>,
    w: &[f64],
    scale: f64,
    clip: Option<f64>,
) -> Vec<f64> {
    let samples = &risk.samples;
    let slope = |i: usize| {
        let slope = risk.loss.slope(samples.rows.dot(i, w), samples.targets[i]);
        match clip {
            None => slope,
            Some(clip) => {
                let norm = slope.abs() * samples.rows.norm(i);
                let kept = if norm > clip { slope * (clip / norm) } else { slope };
                // What is no number cannot be clipped; a row may not poison the sum.
                if kept.is_finite() { kept } else { 0.0 }
            }
        }
    };
    let mut slopes = vec![0.0; samples.count()];
    match rows {
        None => (0..samples.count()).for_each(|i| slopes[i] = scale * slope(i)),
        Some(rows) => rows.iter().for_each(|&i| slopes[i] = scale * slope(i)),
    }
    let mut gradient = vec![0.0; w.len()];
    samples.rows.add_transposed(&slopes, &mut gradient);
    gradient
}

/// Gaussian events for queries of these sensitivities; each spends its share of `mu^2`.
pub fn gaussian(
    sensitivities: &[f64],
    dim: usize,
    target: &BudgetTarget,
    schedule: Schedule,
) -> Result<Vec<Event>, NoGuarantee> {
    let budget = Budget { epsilon: target.total_epsilon, delta: target.delta };
    let queries = RoundQueries { coordinates: dim, count: 1 };
    let unit = discrete_gaussian_events(1.0, budget, queries, sensitivities.len() as u64, schedule)
        .ok_or(NoGuarantee::BudgetTooSmall { epsilon: target.total_epsilon })?;
    let scaled = unit.iter().zip(sensitivities).map(|(event, &sensitivity)| match *event {
        Event::DiscreteGaussian { sigma, .. } => {
            // The grid scales along; a few units in the last place pay for the product's rounding.
            let sigma = sensitivity * sigma * (1.0 + 4.0 * f64::EPSILON);
            Event::discrete_gaussian(sensitivity, sigma, dim, 1)
        }
        event => event,
    });
    Ok(scaled.collect())
}

/// Pure events: query i gets the share `shares[i]` of the total epsilon, and `event` makes one from
/// it.
pub fn pure(
    shares: &[f64],
    target: &BudgetTarget,
    event: impl Fn(usize, f64) -> Result<Event, NoGuarantee>,
) -> Result<Vec<Event>, NoGuarantee> {
    let mut aim = target.total_epsilon;
    // Rounding to the grid costs a little: aim that much lower until the accountant agrees.
    for _ in 0..20 {
        let events: Vec<Event> = shares
            .iter()
            .enumerate()
            .map(|(i, share)| event(i, aim * share))
            .collect::<Result<_, _>>()?;
        let mut total = ExactGaussian::default();
        let composed = events.iter().try_for_each(|event| total.compose(event));
        let spent = total.epsilon(target.delta);
        if composed.is_ok() && spent <= target.total_epsilon {
            return Ok(events);
        }
        aim *= target.total_epsilon / spent * (1.0 - 1e-9);
    }
    Err(NoGuarantee::BudgetTooSmall { epsilon: target.total_epsilon })
}

/// A convex objective that is perturbed: what its guarantee rests on.
#[derive(Clone, Copy, Debug)]
pub struct Perturbed {
    /// How far one person's rows move its gradient.
    pub gradient: f64,
    /// The largest curvature of one row's share, over the objective's strong convexity without it.
    pub curvature: f64,
    /// Rows a person may have.
    pub rows: usize,
    /// How near the solver comes.
    pub tau: f64,
    /// P.
    pub dim: usize,
}

impl Perturbed {
    fn log_determinant(&self) -> f64 {
        self.rows as f64 * self.curvature.ln_1p() * (1.0 + 1e-12)
    }

    /// The noise in the objective, for a release that costs this epsilon; refused where the Hessian
    /// alone costs more.
    pub fn scale(&self, epsilon: f64) -> Result<f64, NoGuarantee> {
        let left = epsilon - SHARE_OF_TOLERANCE * epsilon - self.log_determinant();
        if left <= 0.0 {
            return Err(NoGuarantee::Hessian { epsilon, costs: self.log_determinant() });
        }
        Ok(self.gradient / left)
    }

    /// The event of one release that costs this epsilon; refused where the Hessian alone costs
    /// more.
    pub fn event(&self, epsilon: f64) -> Result<Event, NoGuarantee> {
        let output_scale = 2.0 * self.tau / (SHARE_OF_TOLERANCE * epsilon);
        Ok(Event::ObjectivePerturbation {
            gradient: self.gradient,
            scale: self.scale(epsilon)?,
            log_determinant: self.log_determinant(),
            tolerance: 2.0 * self.tau + noise::laplace_rounding(output_scale, self.dim),
            output_scale,
            coordinates: self.dim as u64,
        })
    }
}
