//! The exact trade-off of the Gaussian mechanism, in log space.
//!
//! A release with noise `sigma` and sensitivity `Delta` is `mu`-Gaussian-DP with `mu =
//! Delta/sigma`; adaptively composed releases have `mu = sqrt(sum mu_i^2)`, and
//!
//! ```text
//! delta(epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)      (exact)
//! ```
//!
//! Written with `a = mu/2 - epsilon/mu`, `b = -mu/2 - epsilon/mu` and the scaled complementary
//! error function, the huge `e^epsilon` disappears, because `a^2 - b^2 = -2 epsilon`:
//!
//! ```text
//! delta = 1/2 exp(-a^2/2) [ erfcx(-a/sqrt 2) - erfcx(-b/sqrt 2) ]
//! ```
//!
//! which is right for `delta` down to 1e-300 and `epsilon` up to 1e4. Rounding errors are bounded
//! and added, so that every function here errs on the safe side. What is no number is no bound:
//! such arguments give an infinite epsilon and a `mu` of zero.

use std::f64::consts::{FRAC_1_SQRT_2, LN_2};

const EPS: f64 = f64::EPSILON;

/// `ln delta(epsilon)` of a `mu`-Gaussian-DP mechanism, rounded up.
///
/// ```
/// let ln_delta = dzoa_privacy::gaussian::ln_delta(1.0, 1.0);
/// // Dong, Roth, Su (2022): delta(1) at mu = 1.
/// assert!((ln_delta.exp() - 0.126936737507).abs() < 1e-11);
/// ```
pub fn ln_delta(epsilon: f64, mu: f64) -> f64 {
    if mu <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if mu.is_infinite() {
        return 0.0;
    }
    if epsilon.is_infinite() {
        return f64::NEG_INFINITY;
    }
    let (half, shift) = (0.5 * mu, epsilon / mu);
    let (a, b) = (half - shift, -half - shift);
    // `a` is a difference: its error, times |a|, is the error of the exponent.
    let exponent_error = 4.0 * EPS * (half + shift) * (1.0 + a.abs());
    let ln = if a < 1.0 {
        let (near, far) = (erfcx(-a * FRAC_1_SQRT_2), erfcx(-b * FRAC_1_SQRT_2));
        let difference = near - far + 16.0 * EPS * near;
        -0.5 * a * a + difference.ln() - LN_2 + exponent_error + 4.0 * EPS * 0.5 * a * a
    } else {
        // delta is near one: subtract its complement.
        let complement =
            0.5 * (-0.5 * a * a).exp() * (erfcx(a * FRAC_1_SQRT_2) + erfcx(-b * FRAC_1_SQRT_2));
        (-complement * (1.0 - 16.0 * EPS - exponent_error)).ln_1p()
    };
    ln.min(0.0)
}

/// The smallest epsilon such that a `mu`-Gaussian-DP mechanism is `(epsilon, delta)`-DP, rounded
/// up.
///
/// Returns 0 for `mu = 0` and infinity where `delta` leaves no finite answer.
#[doc(alias = "exact Gaussian composition")]
pub fn epsilon(delta: f64, mu: f64) -> f64 {
    if mu.is_nan() || delta.is_nan() {
        return f64::INFINITY;
    }
    if mu <= 0.0 || delta >= 1.0 {
        return 0.0;
    }
    if mu.is_infinite() || delta <= 0.0 {
        return f64::INFINITY;
    }
    let target = delta.ln();
    if ln_delta(0.0, mu) <= target {
        return 0.0;
    }
    // The zCDP conversion is a valid upper end: the truth lies below it.
    let (mut low, mut high) = (0.0, zcdp_epsilon(0.5 * mu * mu, delta));
    while high - low > 2.0 * EPS * high {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if ln_delta(middle, mu) <= target {
            high = middle;
        } else {
            low = middle;
        }
    }
    crate::round_up(high)
}

/// The largest `mu` that is `(epsilon, delta)`-DP, rounded down: noise calibrated with it never
/// overshoots the target.
pub fn mu(epsilon: f64, delta: f64) -> f64 {
    let target = delta.ln();
    if epsilon.is_nan() || target.is_nan() {
        return 0.0;
    }
    // zCDP solved for mu: sqrt(z) = sqrt(epsilon + ln 1/delta) - sqrt(ln 1/delta), without
    // cancelling.
    let root = epsilon / ((epsilon - target).sqrt() + (-target).sqrt());
    let mut low = root * std::f64::consts::SQRT_2 * (1.0 - 8.0 * EPS);
    let mut high = low.max(f64::MIN_POSITIVE);
    while ln_delta(epsilon, high) <= target {
        low = high;
        high *= 2.0;
    }
    while high - low > 2.0 * EPS * high {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if ln_delta(epsilon, middle) <= target {
            low = middle;
        } else {
            high = middle;
        }
    }
    low * (1.0 - 4.0 * EPS)
}

/// The smallest `mu` such that every pure epsilon-DP mechanism is `mu`-Gaussian-DP, rounded up:
/// `2 Phi^-1(e^epsilon/(1 + e^epsilon))` (Dong, Roth, Su 2022).
///
/// The trade-off curve of a pure mechanism lies above the two lines from `(0, 1)` and `(1, 0)` to
/// `(x, x)` with `x = 1/(1 + e^epsilon)`. The Gaussian curve with `Phi(-mu/2) = x` meets these
/// three points and is convex, so it lies below both lines.
///
/// ```
/// let mu = dzoa_privacy::gaussian::mu_of_pure(1.0);
/// assert!((mu - 1.232_035_385_344_9).abs() < 1e-12); // mpmath
/// ```
pub fn mu_of_pure(epsilon: f64) -> f64 {
    if epsilon.is_nan() {
        return f64::INFINITY;
    }
    if epsilon <= 0.0 {
        return 0.0;
    }
    // 1/(1 + e^epsilon), in log space: exact for any epsilon.
    let tail = -epsilon - (-epsilon).exp().ln_1p();
    // `1 - Phi(x) <= exp(-x^2/2)/2` makes this an upper end, and nothing below is needed beyond
    // 1e15.
    let end = (2.0 * (-tail - LN_2)).max(0.0).sqrt();
    if epsilon > 1e15 {
        return 2.0 * crate::round_up(end);
    }
    // Small: erf(x/sqrt 2) = tanh(epsilon/2) keeps its digits. Large: the logarithm of the tail
    // does.
    let within = |x: f64| {
        if epsilon < 1.0 {
            libm::erf(x * FRAC_1_SQRT_2) >= (0.5 * epsilon).tanh()
        } else {
            -0.5 * x * x + (0.5 * erfcx(x * FRAC_1_SQRT_2)).ln() <= tail
        }
    };
    // erf(x/sqrt 2) >= 0.68 x on [0, 1], so that x = epsilon is an upper end below one.
    let (mut low, mut high) = (0.0, if epsilon < 1.0 { epsilon } else { end * (1.0 + 8.0 * EPS) });
    while high - low > 2.0 * EPS * high {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if within(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    // A few units in the last place of erf, tanh or the logarithm move x by fewer than these.
    2.0 * high * (1.0 + 32.0 * EPS)
}

/// What a grid of `step` times sigma, at most one half, costs in `mu^2`: discrete Gaussian noise is
/// Gaussian DP with `mu^2 (1 + step^2/11)`.
///
/// The noise on the grid has probabilities `p_k` proportional to `exp(-(k step)^2/2)`. Cut the
/// line at the quantiles `u_k = Phi^-1(P[noise < k])`, so that `[u_k, u_(k+1)]` has the Gaussian
/// mass `p_k`. A shift by `n` steps is Gaussian DP with the longest sum of `n` neighbouring
/// lengths, so with `n D`, where `D` is the longest length. At that one, both neighbours are at
/// most `D` long: with `G(w)` the Gaussian mass of `[w, w + D]`, `e^(step^2) = p_k^2/(p_(k-1)
/// p_(k+1)) >= G(u)^2/(G(u-D) G(u+D))`. But `-(ln G)''` is one minus the variance of a Gaussian
/// cut to an interval of length `D`, which is at most `D^2/12`: the logarithm of the right side is
/// at least `D^2 (1 - D^2/12)`. So `D^2 (1 - D^2/12) <= step^2`, and for steps up to one half `D^2
/// <= step^2 (1 + step^2/11)`. Coordinates add up in `mu^2`. docs/privacy.md has every step.
pub(crate) fn grid(step: f64) -> f64 {
    1.0 + step * step / 11.0
}

/// `(epsilon, delta)` of `zcdp_rho`-zero-concentrated DP (Bun and Steinke 2016), rounded up.
pub fn zcdp_epsilon(zcdp_rho: f64, delta: f64) -> f64 {
    if zcdp_rho.is_nan() || delta.is_nan() {
        return f64::INFINITY;
    }
    if zcdp_rho <= 0.0 || delta >= 1.0 {
        return 0.0;
    }
    if delta <= 0.0 {
        return f64::INFINITY;
    }
    crate::round_up(zcdp_rho + 2.0 * (zcdp_rho * -delta.ln()).sqrt())
}

/// `exp(x^2) erfc(x)`, to a few units in the last place for `x >= -1`.
fn erfcx(x: f64) -> f64 {
    const SQRT_PI: f64 = 1.772_453_850_905_516;
    if x >= 10.0 {
        // Asymptotic series; at x = 10 its 13th term is below 1e-16 of the first.
        let (mut term, mut sum) = (1.0, 1.0);
        let inverse = 0.5 / (x * x);
        for n in 1..=13 {
            term *= -f64::from(2 * n - 1) * inverse;
            sum += term;
        }
        return sum / (x * SQRT_PI);
    }
    // x^2 in two pieces: the rounding of the square would be amplified by the exponential.
    let square = x * x;
    let rest = x.mul_add(x, -square);
    square.exp() * libm::erfc(x) * (1.0 + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn erfcx_agrees_with_tabulated_values() {
        // mpmath, 30 digits: exp(x^2) erfc(x)
        for (x, expected) in [
            (-1.0, 5.008_980_080_762_283),
            (0.0, 1.0),
            (0.5, 0.615_690_344_192_925_9),
            (3.0, 0.179_001_151_181_389_95),
            (9.99, 0.056_196_640_706_858_82),
            (10.0, 0.056_140_992_743_822_59),
            (30.0, 0.018_795_888_861_416_75),
        ] {
            assert!((erfcx(x) / expected - 1.0).abs() < 2e-15, "erfcx({x})");
        }
    }

    #[test]
    fn calibration_and_conversion_are_inverse_and_never_overshoot() {
        for delta in [1e-300, 1e-12, 1e-6, 1e-3, 0.2] {
            for target in [1e-3, 0.1, 1.0, 30.0, 1e4] {
                let mu = mu(target, delta);
                let back = epsilon(delta, mu);
                assert!(back <= target * (1.0 + 1e-12), "overshoots at {target} {delta}");
                assert!(back >= target * (1.0 - 1e-6), "wastes at {target} {delta}: {back}");
            }
        }
    }

    /// mpmath, 80 digits: epsilon and `2 Phi^-1(e^epsilon/(1 + e^epsilon))`.
    const PURE: [(f64, f64); 16] = [
        (1e-300, 1.253_314_137_315_500_2e-300),
        (1e-12, 1.253_314_137_315_500_2e-12),
        (1e-6, 1.253_314_137_315_477_7e-6),
        (0.01, 0.012_533_118_959_649_838),
        (0.1, 0.125_309_012_211_607_6),
        (0.5, 0.623_892_592_098_508_1),
        (0.999_999_9, 1.232_035_266_184_388_5),
        (1.0, 1.232_035_385_344_900_9),
        (1.5, 1.812_320_467_732_465),
        (3.0, 3.340_683_712_240_600_7),
        (10.0, 7.827_914_393_621_866_5),
        (40.0, 17.185_351_436_947_544),
        (700.0, 74.590_159_265_294_83),
        (1e3, 89.231_495_463_938_8),
        (1e5, 894.395_787_357_050_1),
        (1e9, 89_442.718_580_009_85),
    ];

    #[test]
    fn a_pure_mechanism_is_gaussian_at_the_quantile_and_never_below() {
        for (epsilon, expected) in PURE {
            let mu = mu_of_pure(epsilon);
            assert!(mu >= expected, "mu({epsilon}) = {mu} is below {expected}");
            assert!(mu <= expected * (1.0 + 3e-14), "mu({epsilon}) = {mu} is not {expected}");
        }
        assert_eq!(mu_of_pure(0.0), 0.0);
        assert_eq!(mu_of_pure(f64::INFINITY), f64::INFINITY);
        assert!(mu_of_pure(1e300).is_finite());
        // Falling or rising by a hair anywhere would let a split of one event cost less.
        let grid: Vec<f64> = (0..4000).map(|k| mu_of_pure(1e-9 * 1.01f64.powi(k))).collect();
        assert!(grid.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn discrete_noise_is_gaussian_dp_with_the_factor_of_its_grid() {
        for step in [0.5, 0.4, 0.25, 0.1, 0.03] {
            // P[noise >= k] by sums from the far end, as a quantile: the mu of a pure mechanism
            // whose 1/(1 + e^epsilon) it is, halved.
            let weight = |k: i32| (-0.5 * (f64::from(k) * step).powi(2)).exp();
            let last = (36.0 / step) as i32;
            let total = 1.0 + 2.0 * (1..=last).rev().map(weight).sum::<f64>();
            let (mut tail, mut quantiles) = (0.0, Vec::new());
            for k in (1..=last).rev() {
                tail += weight(k) / total;
                if f64::from(k) * step < 35.0 {
                    quantiles.push(0.5 * mu_of_pure((-tail).ln_1p() - tail.ln()));
                }
            }
            // From below the middle upwards; the first length reaches from -u_1 to u_1.
            quantiles.push(-quantiles[quantiles.len() - 1]);
            let lengths = quantiles.windows(2).map(|pair| pair[0] - pair[1]);
            let longest = lengths.fold(0.0, f64::max);
            assert!(longest <= step * grid(step).sqrt() * (1.0 + 1e-11), "{step}: {longest}");
            assert!(longest >= step * (1.0 + 0.03 * step * step), "{step}: the factor is needed");
        }
    }

    #[test]
    fn what_is_no_number_is_no_bound() {
        let nan = f64::NAN;
        assert_eq!(epsilon(nan, 1.0), f64::INFINITY);
        assert_eq!(epsilon(1e-5, nan), f64::INFINITY);
        assert_eq!(zcdp_epsilon(nan, 1e-5), f64::INFINITY);
        assert_eq!(zcdp_epsilon(1.0, nan), f64::INFINITY);
        assert_eq!(mu_of_pure(nan), f64::INFINITY);
        assert_eq!((mu(nan, 1e-5), mu(1.0, nan), mu(1.0, -1.0)), (0.0, 0.0, 0.0));
    }

    #[test]
    fn extreme_arguments_stay_finite_and_ordered() {
        for mu in [1e-9, 1e-4, 1.0, 100.0, 1e3] {
            let mut last = f64::INFINITY;
            for delta in [1e-300, 1e-100, 1e-12, 1e-3, 0.5] {
                let epsilon = epsilon(delta, mu);
                assert!(epsilon.is_finite() && epsilon >= 0.0 && epsilon <= last);
                last = epsilon;
            }
        }
    }
}
