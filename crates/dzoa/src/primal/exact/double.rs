//! Numbers of twice the digits: unevaluated sums of two (Joldes, Muller, Popescu 2017, whose
//! relative errors are given with each operation; u = 2^-53).

use std::ops::{Add, Div, Neg};

/// `high + low`, with `low` at most half a unit in the last place of `high`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Double {
    pub(super) high: f64,
    pub(super) low: f64,
}

impl Double {
    /// `a + b`, exactly.
    pub(super) fn sum(a: f64, b: f64) -> Self {
        let high = a + b;
        let kept = high - a;
        Self { high, low: (a - (high - kept)) + (b - kept) }
    }

    /// `a b`, exactly.
    pub(super) fn product(a: f64, b: f64) -> Self {
        let high = a * b;
        Self { high, low: a.mul_add(b, -high) }
    }

    /// `a + b` where a is the larger one, exactly.
    fn quick_sum(a: f64, b: f64) -> Self {
        let high = a + b;
        Self { high, low: b - (high - a) }
    }

    /// To within 2 u^2.
    pub(super) fn times(self, factor: f64) -> Self {
        let product = Self::product(self.high, factor);
        Self::quick_sum(product.high, self.low.mul_add(factor, product.low))
    }
}

impl From<f64> for Double {
    fn from(high: f64) -> Self {
        Self { high, low: 0.0 }
    }
}

/// To within 3 u^2 (1 + 5 u).
impl Add for Double {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let (high, low) = (Self::sum(self.high, other.high), Self::sum(self.low, other.low));
        let sum = Self::quick_sum(high.high, high.low + low.high);
        Self::quick_sum(sum.high, low.low + sum.low)
    }
}

/// To within 15 u^2 and higher powers.
impl Div for Double {
    type Output = Self;

    fn div(self, divisor: Self) -> Self {
        let quotient = self.high / divisor.high;
        let back = divisor.times(quotient);
        let rest = (self.high - back.high) + (self.low - back.low);
        Self::quick_sum(quotient, rest / divisor.high)
    }
}

impl Neg for Double {
    type Output = Self;

    fn neg(self) -> Self {
        Self { high: -self.high, low: -self.low }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whole numbers of up to 40 bits, so that 128 bits hold everything exactly.
    fn whole(seed: u64) -> i128 {
        let bits = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24;
        if seed.is_multiple_of(2) { i128::from(bits) } else { -i128::from(bits) }
    }

    fn exact(number: Double) -> i128 {
        number.high as i128 + number.low as i128
    }

    #[test]
    fn sums_of_products_that_cancel_have_all_their_digits() {
        // 80 bits a product, where plain numbers keep 53; the oracle is 128-bit whole numbers.
        let (mut sum, mut truth) = (Double::default(), 0);
        for seed in 1..1000 {
            let (a, b) = (whole(seed), whole(seed + 5000));
            sum = sum + Double::product(a as f64, b as f64);
            truth += a * b;
        }
        let last = whole(5000 + 1000);
        sum = sum + Double::from(last as f64).times(-(1i128 << 40) as f64);
        truth -= last << 40;
        assert_eq!(exact(sum), truth);
    }

    #[test]
    fn a_quotient_times_its_divisor_is_the_dividend() {
        for seed in 1..1000 {
            let dividend = Double::sum(whole(seed) as f64, 1.0 / whole(seed + 7) as f64);
            let divisor = Double::sum(whole(seed + 3) as f64, 1.0 / whole(seed + 9) as f64);
            let quotient = dividend / divisor;
            let back = divisor.times(quotient.high) + divisor.times(quotient.low);
            let off = back + -dividend;
            let most = 32.0 * (f64::EPSILON / 2.0).powi(2) * dividend.high.abs();
            assert!(off.high.abs() <= most, "{seed}: {off:?}");
        }
    }
}
