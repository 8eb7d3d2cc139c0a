//! Elementary functions without branches, so that a loop over them becomes a loop over vectors.
//!
//! Each is within a few units in the last place of the true value on the range that its comment
//! gives.

use std::f64::consts::{LN_2, LOG2_E};

/// ln 2 in two parts, the first with so few digits that its multiples are exact.
const LN2_HIGH: f64 = 0.693_147_180_369_123_8;
const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// Adding it rounds to a whole number, which then stands in the last bits.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// `c_0 + c_1 x + c_2 x^2 + ...`, even and odd powers side by side: one chain would wait for
/// itself.
#[inline(always)]
pub(crate) fn polynomial<const N: usize>(x: f64, coefficients: [f64; N]) -> f64 {
    let square = x * x;
    let (mut even, mut odd) = (0.0, 0.0);
    // By index: an iterator over the array would keep the compiler from making vectors of the loop
    // around this.
    for i in (0..N).rev() {
        let chain = if i % 2 == 0 { &mut even } else { &mut odd };
        let first = i + 2 >= N;
        *chain = if first { coefficients[i] } else { chain.mul_add(square, coefficients[i]) };
    }
    if N > 1 { odd.mul_add(x, even) } else { even }
}

#[inline(always)]
fn at_most(a: f64, most: f64) -> f64 {
    if a > most { most } else { a }
}

#[inline(always)]
fn at_least(a: f64, least: f64) -> f64 {
    if a < least { least } else { a }
}

/// `exp(x) = 2^k (1 + m)` with `m = exp(r) - 1` for a short r: k as a power of two, and m.
#[inline(always)]
fn exponential(x: f64) -> (f64, f64) {
    let rounded = x.mul_add(LOG2_E, ROUND);
    let k = rounded - ROUND;
    let power = f64::from_bits(rounded.to_bits().wrapping_add(1023) << 52);
    let r = k.mul_add(-LN2_LOW, k.mul_add(-LN2_HIGH, x));
    (power, short_exp_m1(r))
}

/// `exp(r) - 1` for `|r| <= 0.3467`.
#[inline(always)]
fn short_exp_m1(r: f64) -> f64 {
    // Interpolates (exp(r) - 1 - r)/r^2, to 2e-17.
    let tail = polynomial(
        r,
        [
            0.5,
            0.166_666_666_666_666_69,
            0.041_666_666_666_624_04,
            0.008_333_333_333_330_055,
            0.001_388_888_891_725_875_9,
            0.000_198_412_698_630_882_55,
            2.480_152_122_598_643_2e-5,
            2.755_726_840_619_079_5e-6,
            2.762_012_171_738_193_3e-7,
            2.510_041_108_201_49e-8,
        ],
    );
    (r * r).mul_add(tail, r)
}

/// `exp(x)`; infinite above 709.8, and 1e-308 below -708.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    let (power, m) = exponential(at_least(at_most(x, 709.9), -708.0));
    m.mul_add(power, power)
}

/// `exp(x)` for an x between -708 and 709 that was rounded: as far from the truth as a third of
/// that rounding takes it, and a few units in the last place.
#[inline(always)]
pub fn exp_rounded(x: f64) -> f64 {
    let rounded = x.mul_add(LOG2_E, ROUND);
    let power = f64::from_bits(rounded.to_bits().wrapping_add(1023) << 52);
    let m = short_exp_m1((rounded - ROUND).mul_add(-LN_2, x));
    m.mul_add(power, power)
}

/// `exp(x) - 1`, accurate near zero; infinite above 709.8.
#[inline(always)]
pub fn exp_m1(x: f64) -> f64 {
    let (power, m) = exponential(at_least(at_most(x, 709.9), -60.0));
    m.mul_add(power, power - 1.0)
}

/// `ln(1 + x)` for `x > -1`, accurate near zero; infinite where x is.
#[inline(always)]
pub fn ln_1p(x: f64) -> f64 {
    const SQRT_HALF: u64 = 0x3FE6_A09E_667F_3BCD;
    let u = 1.0 + x;
    let bits = u.to_bits();
    // 1 + x = 2^k (1 + f) with 1 + f between sqrt(1/2) and sqrt(2). The offset keeps the shifted
    // number positive.
    let shifted = bits.wrapping_sub(SQRT_HALF).wrapping_add(1023 << 52) >> 52;
    let k = f64::from_bits(shifted | 0x4330_0000_0000_0000) - (4_503_599_627_370_496.0 + 1023.0);
    let scale = f64::from_bits((2046 - shifted) << 52);
    // What 1 + x lost to rounding: with k = 0, f is x itself.
    let lost = x - (u - 1.0);
    let f = lost.mul_add(scale, u * scale - 1.0);
    let s = f / (2.0 + f);
    let z = s * s;
    // Interpolates (ln((1 + s)/(1 - s)) - 2 s)/s^3, to 3e-16.
    let tail = polynomial(
        z,
        [
            0.666_666_666_666_667,
            0.399_999_999_998_981_9,
            0.285_714_286_265_702_06,
            0.222_222_110_378_165_9,
            0.181_828_961_834_830_85,
            0.153_314_872_358_657_34,
            0.146_193_434_535_126_15,
        ],
    );
    let ln = k.mul_add(LN2_HIGH, s.mul_add(z * tail, k.mul_add(LN2_LOW, 2.0 * s)));
    if x < f64::INFINITY { ln } else { x }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Distance in units of the last place of the true value.
    fn ulps(value: f64, truth: f64) -> f64 {
        (value - truth).abs() / (truth.abs().max(f64::MIN_POSITIVE) * f64::EPSILON)
    }

    /// Points of either sign from 1e-300 up to `most`.
    fn points(most: f64) -> impl Iterator<Item = f64> {
        let magnitudes =
            (0..20_000).map(move |i| most * 10f64.powf(-300.0 * (f64::from(i) / 2e4).powi(4)));
        magnitudes.flat_map(|x| [x, -x])
    }

    #[test]
    fn functions_agree_with_the_standard_library() {
        let worst = |pairs: &mut dyn Iterator<Item = (f64, f64)>| {
            pairs.map(|(value, truth)| ulps(value, truth)).fold(0.0, f64::max)
        };
        assert!(worst(&mut points(700.0).map(|x| (exp(x), x.exp()))) < 3.0);
        assert!(worst(&mut points(700.0).map(|x| (exp_m1(x), x.exp_m1()))) < 3.0);
        assert!(worst(&mut points(0.3466).map(|x| (short_exp_m1(x), x.exp_m1()))) < 2.0);
        // Half a unit of x is |x| units of exp(x), at most.
        let beyond = |x: f64| ulps(exp_rounded(x), x.exp()) - x.abs() / 3.0;
        assert!(points(700.0).map(beyond).fold(0.0, f64::max) < 3.0);
        let above = |x: &f64| *x > -1.0 + 1e-12;
        assert!(worst(&mut points(1e300).filter(above).map(|x| (ln_1p(x), x.ln_1p()))) < 3.0);
        assert!(worst(&mut points(0.999_999).map(|x| (ln_1p(x), x.ln_1p()))) < 3.0);
    }

    #[test]
    fn the_ends_are_what_a_caller_can_recognise() {
        assert_eq!((exp(800.0), exp_m1(800.0)), (f64::INFINITY, f64::INFINITY));
        assert_eq!(exp_m1(-800.0), -1.0);
        assert!(exp(-800.0) < 1e-307);
        assert_eq!(ln_1p(f64::INFINITY), f64::INFINITY);
        assert!(ln_1p(f64::NAN).is_nan());
        assert_eq!((ln_1p(0.0), exp_m1(0.0), exp(0.0)), (0.0, 0.0, 1.0));
    }
}
