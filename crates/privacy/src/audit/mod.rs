//! From scores to a lower bound on epsilon: what an attack proves about a mechanism.
//!
//! An attacker who sees releases computes a score. If a mechanism is `(epsilon, delta)`-DP, then
//! for any threshold `P[score > t | D'] <= e^epsilon P[score > t | D] + delta`, and the same with
//! the data sets exchanged. So frequencies of scores give a lower bound on epsilon: a threshold is
//! chosen on one half of the trials, and tested on the other with Clopper-Pearson bounds. That
//! assumes nothing. [`separation`] assumes that scores are Gaussian, and proves far more where they
//! are.

mod separation;

pub use separation::{Separation, separation};

use statrs::function::beta::inv_beta_reg;

/// Scores of many runs under the two data sets.
#[derive(Clone, Copy, Debug)]
pub struct Scores<'a> {
    /// Under D.
    pub without: &'a [f64],
    /// Under D'.
    pub with: &'a [f64],
}

/// What the scores prove.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finding {
    /// With the given confidence, epsilon is at least this. 0 where nothing is proven.
    pub epsilon_lower_bound: f64,
    /// The largest lower bound that this many trials could have proven.
    pub largest_provable_epsilon: f64,
    /// Separation of the two score distributions in standard deviations: an estimate, not a bound.
    pub mu_estimate: f64,
    /// The threshold chosen on the first half.
    pub threshold: f64,
}

/// Tests scores at this delta and confidence. Half of the scores choose the threshold, half test
/// it.
///
/// ```
/// use dzoa_privacy::audit::{Scores, test};
/// // A mechanism that adds no noise is found out as far as the trials reach.
/// let (zeros, ones) = (vec![0.0; 1000], vec![1.0; 1000]);
/// let finding = test(Scores { without: &zeros, with: &ones }, 1e-5, 0.95);
/// assert!(finding.epsilon_lower_bound > 4.0);
/// assert_eq!(finding.epsilon_lower_bound, finding.largest_provable_epsilon);
/// ```
pub fn test(scores: Scores<'_>, delta: f64, confidence: f64) -> Finding {
    let half = |scores: &'_ [f64]| scores.len() / 2;
    let (train_without, test_without) = scores.without.split_at(half(scores.without));
    let (train_with, test_with) = scores.with.split_at(half(scores.with));
    let train = Scores { without: train_without, with: train_with };
    let tested = Scores { without: test_without, with: test_with };
    // Two one-sided bounds share the error probability.
    let error = 0.5 * (1.0 - confidence);
    let candidates = thresholds(&train);
    // The best of hundreds of candidates is lucky; a stricter bound picks one that lasts.
    let value = |threshold: f64, above: bool| bound(&train, threshold, above, delta, 1e-3 * error);
    let best = candidates
        .iter()
        .flat_map(|&t| [(value(t, true), t, true), (value(t, false), t, false)])
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let (_, threshold, above) = best.unwrap_or((0.0, 0.0, true));
    let trials = test_without.len().min(test_with.len());
    Finding {
        epsilon_lower_bound: bound(&tested, threshold, above, delta, error).max(0.0),
        largest_provable_epsilon: provable(trials, delta, error).max(0.0),
        mu_estimate: mu_estimate(&scores),
        threshold,
    }
}

/// Candidate thresholds: quantiles of all training scores.
fn thresholds(scores: &Scores<'_>) -> Vec<f64> {
    const CANDIDATES: usize = 200;
    let mut all: Vec<f64> =
        scores.without.iter().chain(scores.with).copied().filter(|s| s.is_finite()).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    // Between neighbouring scores, so that no score lies on a threshold.
    let between: Vec<f64> = all.windows(2).map(|pair| 0.5 * (pair[0] + pair[1])).collect();
    let step = between.len().div_ceil(CANDIDATES).max(1);
    between.into_iter().step_by(step).collect()
}

/// `ln((p_low - delta)/q_high)` for the event "score above (below) the threshold": p under the data
/// set where it is frequent, q under the other.
fn bound(scores: &Scores<'_>, threshold: f64, above: bool, delta: f64, error: f64) -> f64 {
    let count = |scores: &[f64]| scores.iter().filter(|s| (**s > threshold) == above).count();
    let (frequent, rare) =
        if above { (scores.with, scores.without) } else { (scores.without, scores.with) };
    let p_low = clopper_pearson_lower(count(frequent), frequent.len(), error);
    let q_high = clopper_pearson_upper(count(rare), rare.len(), error);
    if p_low <= delta { f64::NEG_INFINITY } else { ((p_low - delta) / q_high).ln() }
}

fn provable(trials: usize, delta: f64, error: f64) -> f64 {
    if trials == 0 {
        return 0.0;
    }
    let p_low = clopper_pearson_lower(trials, trials, error);
    let q_high = clopper_pearson_upper(0, trials, error);
    if p_low <= delta { 0.0 } else { ((p_low - delta) / q_high).ln() }
}

/// With probability `1 - error`, the success probability is at least this.
pub fn clopper_pearson_lower(successes: usize, trials: usize, error: f64) -> f64 {
    if successes == 0 || trials == 0 {
        return 0.0;
    }
    if successes == trials {
        return (error.ln() / trials as f64).exp();
    }
    inv_beta_reg(successes as f64, (trials - successes + 1) as f64, error)
}

/// With probability `1 - error`, the success probability is at most this.
pub fn clopper_pearson_upper(successes: usize, trials: usize, error: f64) -> f64 {
    1.0 - clopper_pearson_lower(trials - successes, trials, error)
}

/// Difference of the means over the pooled standard deviation.
fn mu_estimate(scores: &Scores<'_>) -> f64 {
    let moments = |scores: &[f64]| {
        let n = scores.len().max(1) as f64;
        let mean = scores.iter().sum::<f64>() / n;
        (mean, scores.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / n)
    };
    let ((m0, v0), (m1, v1)) = (moments(scores.without), moments(scores.with));
    let deviation = (0.5 * (v0 + v1)).sqrt();
    if deviation > 0.0 { (m1 - m0).abs() / deviation } else { f64::INFINITY * (m1 - m0).abs() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gaussian;
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    /// Normal scores with separation mu, by summing uniforms (good to the second digit of tails).
    pub(super) fn normals(shift: f64, count: usize, seed: u64) -> Vec<f64> {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut normal = || (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
        (0..count).map(|_| shift + normal()).collect()
    }

    #[test]
    fn clopper_pearson_agrees_with_scipy() {
        // scipy.stats.beta.ppf(0.025, 7, 94) and (0.975, 8, 93)
        assert!((clopper_pearson_lower(7, 100, 0.025) - 0.028_605_288_907_438_7).abs() < 1e-10);
        assert!((clopper_pearson_upper(7, 100, 0.025) - 0.138_919_728_455_857_3).abs() < 1e-10);
        assert_eq!(clopper_pearson_lower(0, 50, 0.025), 0.0);
    }

    #[test]
    fn the_bound_is_rarely_above_the_truth_and_finds_what_is_there() {
        let (mu, delta) = (1.0, 1e-3);
        let truth = gaussian::epsilon(delta, mu);
        let mut above = 0;
        for seed in 0..40 {
            let (a, b) = (normals(0.0, 4000, 2 * seed), normals(mu, 4000, 2 * seed + 1));
            let finding = test(Scores { without: &a, with: &b }, delta, 0.95);
            above += usize::from(finding.epsilon_lower_bound > truth);
            assert!(finding.epsilon_lower_bound > 0.8, "{finding:?}");
            assert!((finding.mu_estimate - mu).abs() < 0.15);
        }
        // At a true error of 5 %, more than 12 of 40 have probability below 1e-6.
        assert!(above <= 12, "{above}");
    }

    #[test]
    fn identical_mechanisms_prove_nothing() {
        for seed in 0..20 {
            let (a, b) = (normals(0.0, 2000, 90 + seed), normals(0.0, 2000, 190 + seed));
            let finding = test(Scores { without: &a, with: &b }, 1e-5, 0.95);
            assert!(finding.epsilon_lower_bound < 0.2, "{finding:?}");
        }
    }
}
