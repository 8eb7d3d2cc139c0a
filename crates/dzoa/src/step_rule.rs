//! Step sizes of the inner loop where nobody gave one: public rules, from public numbers.

use crate::problem::Problem;
use crate::zeroth_order::ZerothOrder;

/// For a quadratic of curvature h the two-point estimate with J directions in P dimensions contracts for
/// steps below `2/(h (1 + (P + 1)/J))`; half of that is taken.
pub fn stable_step(curvature: f64, features: usize, directions: usize) -> f64 {
    1.0 / (curvature * (1.0 + (features as f64 + 1.0) / directions as f64))
}

/// A bound on the curvature of agent k's data term, for rows in the unit ball and without looking at them.
pub fn data_curvature(problem: &Problem, k: usize, inner: &ZerothOrder) -> f64 {
    let loss = match problem.loss.smoothness() {
        Some(smoothness) if problem.loss.name() != "huber" => smoothness,
        // Kinks are smoothed over the width u1: a slope change of at most 2 c1 over it.
        _ => 1.0_f64.max(problem.loss.lipschitz().unwrap_or(1.0) / inner.smoothing),
    };
    problem.sample_weight(k) * problem.agents[k].count() as f64 * loss
}

/// `alpha_0 R` for which the first step of the inner loop has this length.
pub fn first_step(length: f64, inner: &ZerothOrder, features: usize) -> f64 {
    length / ZerothOrder { alpha0_times_r: 1.0, ..*inner }.step_size(1, features)
}
