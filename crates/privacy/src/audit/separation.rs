//! A lower bound on mu, for scores that are Gaussian.
//!
//! Where Gaussian noise is added as claimed, the log-likelihood ratio of a release is Gaussian,
//! with one variance under both data sets and means that are mu standard deviations apart. A test
//! between two such distributions has the trade-off of `mu`-Gaussian privacy, and what an attacker
//! makes of releases cannot be easier to tell apart than the releases: so a lower bound on the
//! separation is one on mu. Thresholds throw most of that away: they need rare events to speak, the
//! means do not.

use super::Scores;
use crate::gaussian;
use std::f64::consts::FRAC_1_SQRT_2;

/// What scores prove about mu, **if** they are Gaussian with one variance under both data sets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Separation {
    /// With the given confidence, the mechanism is not mu-Gaussian private for any mu below this.
    pub mu_lower_bound: f64,
    /// The epsilon that goes with it at the given delta.
    pub epsilon_lower_bound: f64,
}

/// The one-sided bound on mu from the means of all scores, by the noncentral t distribution: exact
/// for Gaussian scores of one unknown variance.
///
/// ```
/// use dzoa_privacy::audit::{Scores, separation};
/// // Means one apart, standard deviation one: the bound is below 1.
/// let around = |mean: f64| (0..100).map(|i| mean + f64::from(i % 2) * 2.0 - 1.0).collect();
/// let (without, with): (Vec<f64>, Vec<f64>) = (around(0.0), around(1.0));
/// let found = separation(Scores { without: &without, with: &with }, 1e-5, 0.95);
/// assert!(found.mu_lower_bound > 0.7 && found.mu_lower_bound < 1.0);
/// ```
pub fn separation(scores: Scores<'_>, delta: f64, confidence: f64) -> Separation {
    let mu_lower_bound = mu_lower_bound(scores, 1.0 - confidence);
    let epsilon = gaussian::epsilon(delta, mu_lower_bound);
    // That epsilon is rounded up; as a lower bound it goes down.
    Separation { mu_lower_bound, epsilon_lower_bound: epsilon * (1.0 - 64.0 * f64::EPSILON) }
}

fn mu_lower_bound(Scores { without, with }: Scores<'_>, error: f64) -> f64 {
    if without.len() < 2 || with.len() < 2 {
        return 0.0;
    }
    let (n0, n1) = (without.len() as f64, with.len() as f64);
    let mean = |scores: &[f64], n: f64| scores.iter().sum::<f64>() / n;
    let (m0, m1) = (mean(without, n0), mean(with, n1));
    let squares = |scores: &[f64], m: f64| scores.iter().map(|s| (s - m).powi(2)).sum::<f64>();
    let freedom = n0 + n1 - 2.0;
    let deviation = ((squares(without, m0) + squares(with, m1)) / freedom).sqrt();
    let unit = (1.0 / n0 + 1.0 / n1).sqrt();
    let t = (m1 - m0) / (deviation * unit);
    if t.is_nan() || t <= 0.0 {
        return 0.0;
    }
    if t.is_infinite() {
        return f64::INFINITY;
    }
    // P[T <= t] falls with the noncentrality: the bound is where it equals the confidence.
    let too_low = |noncentrality: f64| t_probability(t, freedom, noncentrality) > 1.0 - error;
    if !too_low(0.0) {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, t + 1.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        *(if too_low(middle) { &mut low } else { &mut high }) = middle;
    }
    low * unit
}

/// `P[T <= t]` of the noncentral t distribution: `E Phi(t w - noncentrality)` over the scaled chi
/// distribution of `w`, by Simpson's rule.
fn t_probability(t: f64, freedom: f64, noncentrality: f64) -> f64 {
    const INTERVALS: usize = 4000;
    // Beyond twelve standard deviations nothing is left in double precision.
    let reach = 12.0 / (2.0 * freedom).sqrt();
    let (from, to) = ((1.0 - reach).max(0.0), 1.0 + reach);
    let width = (to - from) / INTERVALS as f64;
    let (mut sum, mut total) = (0.0, 0.0);
    for i in 0..=INTERVALS {
        let w = from + width * i as f64;
        let ends = i == 0 || i == INTERVALS;
        let rule = if ends { 1.0 } else { 2.0 + 2.0 * (i % 2) as f64 };
        // Relative to its value at w = 1, so that no gamma function is needed.
        let log_density = (freedom - 1.0) * w.ln() - 0.5 * freedom * (w - 1.0) * (w + 1.0);
        let density = rule * log_density.exp();
        total += density;
        sum += density * 0.5 * libm::erfc(FRAC_1_SQRT_2 * (noncentrality - t * w));
    }
    sum / total
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::tests::normals;

    #[test]
    fn the_noncentral_t_distribution_agrees_with_mpmath() {
        // mpmath 1.3, 30 digits: the same expectation over the chi-squared density, by its
        // quadrature.
        for (t, freedom, noncentrality, expected) in [
            (2.5, 10.0, 1.0, 0.896_545_604_397_644),
            (30.0, 1000.0, 29.0, 0.795_044_727_339_116_7),
            (1.0, 4.0, 0.5, 0.660_760_514_025_681_9),
            (5.0, 198.0, 3.0, 0.973_443_142_194_522),
            (-1.0, 50.0, 0.2, 0.117_196_471_028_302_9),
        ] {
            let ours = t_probability(t, freedom, noncentrality);
            assert!((ours - expected).abs() < 1e-11, "{t} {freedom}: {ours} against {expected}");
        }
    }

    /// Scores with these means and a pooled standard deviation of exactly one.
    fn scores(mu: f64, n0: usize, n1: usize) -> (Vec<f64>, Vec<f64>) {
        let spread = ((n0 + n1 - 2) as f64 / (n0 + n1) as f64).sqrt();
        let around = |mean: f64, n: usize| {
            (0..n).map(|i| mean + if i % 2 == 0 { spread } else { -spread }).collect()
        };
        (around(0.0, n0), around(mu, n1))
    }

    #[test]
    fn the_bound_on_mu_agrees_with_mpmath() {
        // mpmath: the noncentrality at which P[T <= t] is the confidence, over sqrt(1/n0 + 1/n1).
        for (mu, n0, n1, confidence, expected) in [
            (1.0, 50, 50, 0.95, 0.648_346_009_918_586_1),
            (0.3, 300, 300, 0.95, 0.164_818_136_612_884_77),
            (3.0, 20, 30, 0.99, 2.019_333_060_148_134),
        ] {
            let (without, with) = scores(mu, n0, n1);
            let found = separation(Scores { without: &without, with: &with }, 1e-5, confidence);
            assert!((found.mu_lower_bound - expected).abs() < 1e-9, "{found:?}");
            let epsilon = gaussian::epsilon(1e-5, expected);
            assert!((found.epsilon_lower_bound - epsilon).abs() < 1e-8, "{found:?}");
        }
    }

    #[test]
    fn the_bound_on_mu_is_rarely_above_the_truth_and_near_it() {
        let (mu, delta) = (1.0, 1e-5);
        let mut above = 0;
        for seed in 0..60 {
            let without = normals(0.0, 4000, 500 + 2 * seed);
            let with = normals(mu, 4000, 501 + 2 * seed);
            let found = separation(Scores { without: &without, with: &with }, delta, 0.95);
            above += usize::from(found.mu_lower_bound > mu);
            // The standard error is 0.024: five of them and the quantile.
            assert!(found.mu_lower_bound > mu - 0.16, "{found:?}");
        }
        // At a true error of 5 %, more than 16 of 60 have probability below 1e-7.
        assert!(above <= 16, "{above}");
    }

    #[test]
    fn nothing_is_proven_by_equal_or_by_few_or_by_reversed_scores() {
        let same = normals(0.0, 2000, 7);
        let bound = |without: &[f64], with: &[f64]| {
            separation(Scores { without, with }, 1e-5, 0.95).mu_lower_bound
        };
        assert_eq!(bound(&same, &same), 0.0);
        assert_eq!(bound(&[0.0], &[5.0]), 0.0);
        assert_eq!(bound(&normals(1.0, 2000, 8), &same), 0.0);
        assert_eq!(bound(&[0.0; 9], &[1.0; 9]), f64::INFINITY, "no noise at all");
    }
}
