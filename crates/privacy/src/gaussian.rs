//! The exact trade-off of the Gaussian mechanism, in log space.
//!
//! A release with noise `sigma` and sensitivity `Delta` is `mu`-Gaussian-DP with `mu = Delta/sigma`;
//! adaptively composed releases have `mu = sqrt(sum mu_i^2)`, and
//!
//! ```text
//! delta(epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)      (exact)
//! ```
//!
//! Written with `a = mu/2 - epsilon/mu`, `b = -mu/2 - epsilon/mu` and the scaled complementary error
//! function, the huge `e^epsilon` disappears, because `a^2 - b^2 = -2 epsilon`:
//!
//! ```text
//! delta = 1/2 exp(-a^2/2) [ erfcx(-a/sqrt 2) - erfcx(-b/sqrt 2) ]
//! ```
//!
//! which is right for `delta` down to 1e-300 and `epsilon` up to 1e4. Rounding errors are bounded
//! and added, so that every function here errs on the safe side.

use std::f64::consts::{FRAC_1_SQRT_2, LN_2};

const EPS: f64 = f64::EPSILON;

/// `ln delta(epsilon)` of a `mu`-Gaussian-DP mechanism, rounded up.
///
/// ```
/// let ln_delta = dzoa_privacy::gaussian::ln_delta(1.0, 1.0);
/// assert!((ln_delta.exp() - 0.126936737507).abs() < 1e-11); // Dong, Roth, Su (2022): delta(1) at mu = 1
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

/// The smallest epsilon such that a `mu`-Gaussian-DP mechanism is `(epsilon, delta)`-DP, rounded up.
///
/// Returns 0 for `mu = 0` and infinity where `delta` leaves no finite answer.
#[doc(alias = "exact Gaussian composition")]
pub fn epsilon(delta: f64, mu: f64) -> f64 {
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
    // zCDP solved for mu: sqrt(z) = sqrt(epsilon + ln 1/delta) - sqrt(ln 1/delta), without cancelling.
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

/// `(epsilon, delta)` of `zcdp_rho`-zero-concentrated DP (Bun and Steinke 2016), rounded up.
pub fn zcdp_epsilon(zcdp_rho: f64, delta: f64) -> f64 {
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
