//! How far the gradients of two rows can lie apart at a public point: logistic loss.
//!
//! A row's gradient is `v s(v'w)` with `v = -y x`, `||v|| <= 1` and `s(z) = 1/(1 + e^-z)`. The
//! point `w` is public, so the diameter of the set of all these vectors is a public number that
//! depends on `r = ||w||` alone:
//!
//! ```text
//! D(r) = 2 max over 0 <= x <= 1 of s(r x) sqrt(1 - x^2)
//! ```
//!
//! **From below.** Two rows with `v'w = r x*` and opposite parts across `w` lie that far apart.
//!
//! **From above.** All gradients lie in one ball of radius `D(r)/2`. Let `x*` be where the maximum
//! is: the logarithm of `(1 - x^2) s(r x)^2` is concave and falls to minus infinity at one, so `x*`
//! is where its derivative vanishes, `r (1 - s*) = x*/(1 - x*^2)` with `s* = s(r x*)`. Take the
//! centre at `c = x* s*` along `w`, and `R^2 = (1 - x*^2) s*^2`. With `x = v'w/r` the squared
//! distance of a gradient from the centre is
//!
//! ```text
//! ||v||^2 s^2 - 2 c x s + c^2 <= g(x) + c^2,  g(x) = s(r x)^2 - 2 c x s(r x),  g(x*) = R^2 - c^2.
//! ```
//!
//! And `x*` maximises `g`. For `r = 0` it is constant. For `r > 0`, with `z = r x`, the derivative
//! `2 s (r s (1 - s) - c - c z (1 - s))` has the sign of `r/c - M(z)`, where
//!
//! ```text
//! M(z) = (1 + z (1 - s))/(s (1 - s)) = 2 + z + e^z + (1 + z) e^-z,   M'(z) = 1 + e^z - z e^-z > 0
//! ```
//!
//! because `z e^-z` is below one half. So the derivative changes its sign once, from plus to minus,
//! and it vanishes at `x*`: there `r (1 - s) = x (1 + r x (1 - s))` is the condition above. QED
//!
//! Only `+ - * /`, square roots and [`libm`] are used: every processor finds the same bits.

/// The ball around `centre w/||w||` that holds the gradient of every row of at most unit length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Enclosing {
    /// Where on the axis of the point the centre lies.
    pub centre: f64,
    /// Half of [`diameter`].
    pub radius: f64,
}

/// `D(r)`, rounded up: the largest distance of two rows' gradients at a point of norm `r`. It grows
/// with `r`, so a norm that was rounded up is safe.
///
/// Where `r` is no norm, the answer is 2: what no point exceeds.
///
/// ```
/// let diameter = dzoa_privacy::joint::diameter(3.0);
/// assert!((diameter - 1.419).abs() < 5e-4);
/// ```
pub fn diameter(r: f64) -> f64 {
    2.0 * enclosing(r).radius
}

/// The ball that holds all gradients at a point of norm `r`; the unit ball where `r` is no norm.
pub fn enclosing(r: f64) -> Enclosing {
    /// More than the errors of the bisection's comparison can move its end. At the root both sides
    /// of it are below one and known to 1500 units in the last place, since `r x*` is below 1500
    /// for every double `r`; and their difference has a slope of at least one.
    const SLACK: f64 = 1e-12;
    if !(r.is_finite() && r >= 0.0) {
        return Enclosing { centre: 0.0, radius: 1.0 };
    }
    // The left side falls in x, the right side grows: they are equal at x*.
    let beyond = |x: f64| r * (1.0 - x * x) / (1.0 + libm::exp(r * x)) <= x;
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..64 {
        let middle = 0.5 * (low + high);
        *if beyond(middle) { &mut high } else { &mut low } = middle;
    }
    // Each factor at the end where it is larger.
    let across = |x: f64| (1.0 - x * x).sqrt();
    let most = sigmoid(r * (high + SLACK)) * across((low - SLACK).max(0.0));
    // Nothing exceeds a row, which is at most one long.
    let radius = (most * (1.0 + 1e-12)).min(1.0);
    Enclosing { centre: high * sigmoid(r * high), radius }
}

fn sigmoid(z: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-z))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    const NORMS: [f64; 14] =
        [0.0, 1e-9, 0.05, 0.2, 0.5, 1.0, 1.3, 2.0, 3.0, 5.0, 10.0, 20.0, 80.0, 1e4];

    /// `D(r)` by brute force: the formula on a million points, each below the maximum.
    fn on_a_grid(r: f64) -> f64 {
        const POINTS: u32 = 1_000_000;
        let at = |i: u32| {
            let x = f64::from(i) / f64::from(POINTS);
            2.0 / (1.0 + (-r * x).exp()) * (1.0 - x * x).sqrt()
        };
        (0..=POINTS).map(at).fold(0.0, f64::max)
    }

    #[test]
    fn the_diameter_has_the_values_of_its_formula() {
        // The design's table, three digits; one at the origin, where s is one half everywhere.
        for (r, expected) in [(0.0, 1.0), (1.0, 1.099), (3.0, 1.419), (5.0, 1.617), (10.0, 1.821)] {
            assert!((diameter(r) - expected).abs() < 5e-4, "D({r}) = {}", diameter(r));
        }
        assert!((diameter(0.0) - 1.0).abs() < 3e-12);
        for r in NORMS {
            // Parabolas: a millionth of x next to the maximum costs at most r^2 1e-12.
            let (bound, grid) = (diameter(r), on_a_grid(r));
            assert!(bound >= grid, "{r}: {bound} is below {grid}");
            assert!(bound <= grid + 1e-11 + 1e-12 * r.min(1e3), "{r}: {bound} {grid}");
        }
    }

    #[test]
    fn the_diameter_grows_to_two_from_below() {
        let mut last = 0.0;
        for k in 0..4000 {
            // Up to 1e17: neighbours are a hundredth apart.
            let next = diameter(1e-2 * 1.011f64.powi(k) - 1e-2);
            assert!(next >= last, "{k}: {next} after {last}");
            assert!(next <= 2.0);
            last = next;
        }
        assert!(diameter(1e3) < 2.0 && diameter(1e3) > 1.999);
    }

    #[test]
    fn what_is_no_norm_is_answered_by_what_no_point_exceeds() {
        for r in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0] {
            assert_eq!((diameter(r), enclosing(r).centre), (2.0, 0.0));
        }
        for r in [1e100, 1e300, f64::MAX] {
            assert!(diameter(r) > 1.999_999 && diameter(r) <= 2.0 && enclosing(r).centre < 1e-15);
        }
        assert!((diameter(f64::MIN_POSITIVE) - 1.0).abs() < 3e-12);
    }

    fn gradient(v: &[f64], w: &[f64]) -> Vec<f64> {
        let z: f64 = v.iter().zip(w).map(|(v, w)| v * w).sum();
        v.iter().map(|v| v / (1.0 + (-z).exp())).collect()
    }

    fn distance(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    }

    #[test]
    fn no_pair_of_rows_lies_farther_apart_and_no_row_outside_the_ball() {
        let mut rng = StdRng::seed_from_u64(1);
        for dim in 2..=20 {
            for r in NORMS {
                let mut w = vec![0.0; dim];
                w[0] = r;
                let Enclosing { centre, radius } = enclosing(r);
                let mut middle = vec![0.0; dim];
                middle[0] = centre;
                let mut row = || {
                    // Near the sphere, where the set is widest, and with any angle to the axis.
                    let mut v: Vec<f64> = (0..dim).map(|_| rng.random_range(-1.0..1.0)).collect();
                    let x = rng.random_range(-1.0f64..1.0);
                    let across = v[1..].iter().map(|v| v * v).sum::<f64>().sqrt();
                    let length = rng.random_range(0.0f64..=1.0).powf(0.1);
                    let scale = length * (1.0 - x * x).sqrt() / across.max(1e-9);
                    v[1..].iter_mut().for_each(|v| *v *= scale);
                    v[0] = length * x;
                    gradient(&v, &w)
                };
                for _ in 0..200 {
                    let (a, b) = (row(), row());
                    assert!(distance(&a, &b) <= diameter(r), "{dim} {r}");
                    assert!(distance(&a, &middle) <= radius, "{dim} {r}: outside of the ball");
                }
            }
        }
    }

    #[test]
    fn the_symmetric_pair_attains_the_diameter() {
        for r in NORMS {
            // x* from the formula's own maximum: the best of a million, then of its neighbours.
            let (mut low, mut high) = (0.0f64, 1.0f64);
            for _ in 0..200 {
                let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
                let at = |x: f64| (1.0 - x * x).sqrt() / (1.0 + (-r * x).exp());
                if at(a) < at(b) { low = a } else { high = b }
            }
            let (x, w) = (0.5 * (low + high), [r, 0.0]);
            let across = (1.0 - x * x).sqrt();
            let apart = distance(&gradient(&[x, across], &w), &gradient(&[x, -across], &w));
            assert!(apart <= diameter(r) && apart >= diameter(r) * (1.0 - 1e-9), "{r}: {apart}");
        }
    }
}
