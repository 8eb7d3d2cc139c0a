//! Step sizes of the inner loop where nobody gave one: public rules, from public numbers.

use crate::problem::Problem;
use crate::zeroth_order::ZerothOrder;

/// For a quadratic of curvature h the two-point estimate with J directions in P dimensions contracts for
/// steps below `2/(h (1 + (P + 1)/J))`, or `2/(h max(1, P/J))` with directions at right angles; half of that is taken.
/// Of mirrored directions only one of each pair counts.
pub fn stable_step(curvature: f64, features: usize, inner: &ZerothOrder) -> f64 {
    let (p, j) = (features as f64, inner.distinct_directions() as f64);
    let spread = if inner.orthogonal { (p / j).max(1.0) } else { 1.0 + (p + 1.0) / j };
    1.0 / (curvature * spread)
}

/// The curvature of agent k's data term, for rows in the unit ball and without looking at them: a bound, or for
/// `scalar` on a loss with kinks what it is like.
pub fn data_curvature(problem: &Problem, k: usize, inner: &ZerothOrder, scalar: bool) -> f64 {
    let steepest = problem.loss.lipschitz().unwrap_or(1.0);
    let loss = match problem.loss.smoothness() {
        Some(smoothness) if scalar || problem.loss.name() != "huber" => smoothness,
        // `scalar` sees the mean over many rows only, whose margins lie at many distances from a kink: the
        // logistic loss, which spreads its change of slope likewise, has c1/4.
        _ if scalar => steepest / 4.0,
        // One agent's few rows may have their kinks together, smoothed over the width u1.
        _ => 1.0_f64.max(steepest / inner.smoothing),
    };
    problem.sample_weight(k) * problem.agents[k].count() as f64 * loss
}

/// `alpha_0 R` for which the first step of the inner loop has this length.
pub fn first_step(length: f64, inner: &ZerothOrder, features: usize) -> f64 {
    length / ZerothOrder { alpha0_times_r: 1.0, ..*inner }.step_size(1, features)
}
