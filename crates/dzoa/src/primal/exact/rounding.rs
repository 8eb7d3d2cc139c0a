//! How far rounding can take a certificate from the truth: the lemma of docs/privacy.md, as code.
//!
//! With the computed point `b`, duals `a` and `H(c) = penalty(c) + q ||c - v||^2`,
//! `v = -(linear + weight X'a)/2q`,
//!
//! ```text
//! q ||b - b*||^2 <= F_k(b) - F_k(b*) <= weight sum_i gap_i(x_i'b) + H(b) - min H
//! ```
//!
//! holds for the numbers `b` and `a` as they are. Rounding enters twice: `x_i'b` is computed to
//! within [`Scales::prediction`], and `b` is the exact prox of a point within [`Scales::point`] of
//! `v`, so that `H(b) - min H` is at most q times the square of that.

use crate::problem::EmpiricalRisk;
use dzoa_privacy::ball;

/// Half a unit in the last place of 1.
pub(super) const U: f64 = f64::EPSILON / 2.0;
/// The relative error of computed gaps of one sample, with exponentials and logarithms to within
/// two units in the last place; where those cancel, what is left is in [`Scales::prediction`].
const GAP: f64 = 1.0 / (1u64 << 36) as f64;

/// Rows that are added up by themselves before their sum is added to that of others: a sum of ten
/// million rows has as many roundings a term as one of seventeen thousand.
pub(super) const BLOCK: usize = 1 << 14;

/// Blocks of so many rows.
pub(super) fn blocks(samples: usize) -> usize {
    samples.div_ceil(BLOCK)
}

/// Roundings of a term in a sum over so many rows, block by block.
fn roundings(samples: usize) -> usize {
    samples.min(BLOCK) + blocks(samples)
}

/// `gamma_n = n u/(1 - n u)`: the error of a sum of products with n roundings a term, relative to
/// the sum of the terms' absolute values (Higham 2002, section 3.1).
pub(crate) fn gamma(n: usize) -> f64 {
    let roundings = n as f64 * U;
    roundings / (1.0 - roundings)
}

/// The sizes of what goes into a certificate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scales {
    samples: usize,
    features: usize,
    /// The longest row and the largest target.
    row: f64,
    target: f64,
    weight: f64,
}

impl Scales {
    pub(super) fn new(risk: &EmpiricalRisk, norms_squared: &[f64]) -> Self {
        let largest = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
        Self {
            samples: risk.samples.count(),
            features: risk.samples.rows.width(),
            row: largest(&mut norms_squared.iter().copied()).sqrt() * (1.0 + 1e-9),
            target: largest(&mut risk.samples.targets.iter().map(|y| y.abs())),
            weight: risk.weight,
        }
    }

    /// The weight of all samples together.
    pub(super) fn total_weight(&self) -> f64 {
        self.weight * self.samples as f64
    }

    /// How far a computed `x_i'b`, or what a loss computes from it, can be off, as an error of
    /// `x_i'b`.
    pub(super) fn prediction(&self, norm: f64) -> f64 {
        let fitted = self.row * norm;
        gamma(self.features + 4) * fitted + 16.0 * U * (1.0 + fitted + self.target)
    }

    /// How far a computed `x_i'b` can be off where twice the digits were added up; the rounding of
    /// the result is not in it.
    pub(super) fn careful_prediction(&self, norm: f64) -> f64 {
        8.0 * (self.features + 4) as f64 * U * U * self.row * norm
    }

    /// How far from `v` a point lies whose prox is the computed one. `size` is `||linear||`,
    /// `duals` is `sum |a_i|`.
    pub(super) fn point(&self, size: f64, duals: f64, quadratic: f64) -> f64 {
        gamma(roundings(self.samples) + self.features + 32) * self.reach(size, duals, quadratic)
    }

    /// How far from `v` a point lies whose prox was computed with twice the digits; the weights of
    /// groups have one half of them.
    pub(super) fn careful_point(&self, size: f64, duals: f64, quadratic: f64, slope: f64) -> f64 {
        let roundings = (64 * (self.samples + self.features + 32)) as f64;
        let grouped = gamma(2 * self.features + 32) * 0.5 * slope / quadratic;
        roundings * U * U * self.reach(size, duals, quadratic) + grouped
    }

    /// A bound on `||v||` and on what is added up to it.
    fn reach(&self, size: f64, duals: f64, quadratic: f64) -> f64 {
        0.5 * (size + self.weight * self.row * duals) / quadratic
    }

    /// A computed sum of gaps, with everything that rounding of its terms and of the sum can have
    /// hidden.
    pub(super) fn rounded_up(&self, gap: f64) -> f64 {
        gap * (1.0 + gamma(self.samples + 16) + GAP)
    }
}

/// The Euclidean norm, a hair too large rather than too small.
pub(crate) fn length(values: &[f64]) -> f64 {
    ball::norm(values) * (1.0 + 1e-9)
}
