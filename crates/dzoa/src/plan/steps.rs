//! Step sizes of the inner loop where nobody gave one: public rules, from public numbers.

use crate::primal::ZerothOrder;
use crate::problem::Problem;

/// For a quadratic of curvature h the two-point estimate with J directions in P dimensions
/// contracts for steps below `2/(h (1 + (P + 1)/J))`, or `2/(h max(1, P/J))` with directions at
/// right angles; half of that is taken. Of mirrored directions only one of each pair counts.
pub fn stable_step(curvature: f64, features: usize, inner: &ZerothOrder) -> f64 {
    1.0 / (curvature * spread(features, inner))
}

/// By how much the directions of a step make it feel more curvature than there is.
fn spread(features: usize, inner: &ZerothOrder) -> f64 {
    let (p, j) = (features as f64, inner.distinct_directions() as f64);
    if inner.orthogonal { (p / j).max(1.0) } else { 1.0 + (p + 1.0) / j }
}

/// A bound on the curvature of agent k's data term, from the rows' public bound (1 where there is
/// none) and without querying them. One agent's few rows may have their kinks together, smoothed
/// over the width u1.
pub(super) fn bounded_curvature(problem: &Problem, k: usize, inner: &ZerothOrder) -> f64 {
    weight(problem, k) * problem.loss.smoothed_curvature(inner.smoothing)
}

/// What the curvature of agent k's data term is like, for `scalar`, which sees only the mean over
/// many rows: their margins lie at many distances from a kink, and the logistic loss, which spreads
/// its change of slope likewise, has c1/4.
pub(super) fn typical_curvature(problem: &Problem, k: usize) -> f64 {
    let steepest = problem.loss.lipschitz().unwrap_or(1.0);
    weight(problem, k) * problem.loss.smoothness().unwrap_or(steepest / 4.0)
}

/// The weight of all of agent k's samples together, each as long as it may be.
fn weight(problem: &Problem, k: usize) -> f64 {
    let longest = problem.agents[k].rows.norm_bound().unwrap_or(1.0);
    problem.sample_weight(k) * problem.agents[k].count() as f64 * longest.powi(2)
}

/// `alpha_0 R` for which the first step of the inner loop has this length.
pub fn first_step(length: f64, inner: &ZerothOrder, features: usize) -> f64 {
    length / ZerothOrder { alpha0_times_r: 1.0, ..*inner }.step_size(1, features)
}

/// The step on the data term in one query of `scalar`, for a data term of at most this curvature h.
///
/// The Lagrangian's quadratic `q = rho |N_k|` goes through its prox, so a step contracts the
/// distance by `|1 - step h|/(1 + 2 step q)`: it is stable while `h < 2/step + 2q`. Four fifths of
/// the longest stable step is taken, and at most `4/h`, where more no longer helped on the tuning
/// seeds. Fewer directions than features, or directions at any angles, have estimates with a spread
/// of their own, which counts as curvature.
pub fn scalar_step(curvature: f64, features: usize, inner: &ZerothOrder, quadratic: f64) -> f64 {
    let curvature = curvature * spread(features, inner);
    let excess = curvature - 2.0 * quadratic;
    let most = 4.0 / curvature;
    if excess > 0.0 { most.min(1.6 / excess) } else { most }
}
