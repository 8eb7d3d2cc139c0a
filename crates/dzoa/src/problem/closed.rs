//! The part of an agent's function that holds no data, and the one pass over the directions that it takes.

use super::Probe;
use super::loss::absolute_difference;
use super::regularizer::Penalty;
use crate::kernels::{LANES, add_terms, vectorized};
use std::ops::Range;

/// `h(b) = penalty(b) + linear'b + quadratic ||b||^2`: known in closed form, so that its differences never subtract two
/// large numbers.
#[derive(Clone, Copy, Debug)]
pub struct Closed<'a> {
    /// `(eta/K) R(b)`.
    pub penalty: &'a Penalty,
    /// The linear part.
    pub linear: &'a [f64],
    /// The quadratic part.
    pub quadratic: f64,
}

/// What a quadratic form of the data adds in one feature: its slope at b, and this line of its matrix times the
/// directions.
pub(super) trait Form {
    fn slope(&self, p: usize) -> f64;
    fn eight(&self, p: usize, j: usize) -> [f64; LANES];
    fn one(&self, p: usize, j: usize) -> f64;
}

/// No data.
struct Nothing;

impl Form for Nothing {
    #[inline(always)]
    fn slope(&self, _p: usize) -> f64 {
        0.0
    }

    #[inline(always)]
    fn eight(&self, _p: usize, _j: usize) -> [f64; LANES] {
        [0.0; LANES]
    }

    #[inline(always)]
    fn one(&self, _p: usize, _j: usize) -> f64 {
        0.0
    }
}

impl Closed<'_> {
    /// `out[j] += [h(b + u1 nu1_j + u2 nu2_j) - h(b + u1 nu1_j)]/u2`.
    pub fn add_quotients(&self, probe: &Probe<'_>, out: &mut [f64]) {
        self.add_quotients_with(&Nothing, probe, out);
    }

    /// The same for the sum of h and a quadratic form, in one pass.
    #[inline(always)]
    pub(super) fn add_quotients_with(&self, form: &impl Form, probe: &Probe<'_>, out: &mut [f64]) {
        let Self { penalty, linear, quadratic } = *self;
        let (l1, l2) = penalty.regularizer.separable().unwrap_or((0.0, 0.0));
        let kinked = l1 * penalty.weight / probe.u2;
        // The squared part of R is one more quadratic.
        let curved = Pass { form, probe, linear, quadratic: quadratic + 0.5 * l2 * penalty.weight };
        let free = Pass { quadratic, ..curved };
        let penalized = 0..penalty.penalized;
        vectorized(
            #[inline(always)]
            || {
                if kinked > 0.0 {
                    curved.add::<true>(penalized, kinked, out);
                } else {
                    curved.add::<false>(penalized, 0.0, out);
                }
                free.add::<false>(penalty.penalized..probe.point.len(), 0.0, out);
            },
        );
        penalty.add_group_quotients(probe, out);
    }
}

/// One pass over features that are treated alike.
struct Pass<'a, F> {
    form: &'a F,
    probe: &'a Probe<'a>,
    linear: &'a [f64],
    quadratic: f64,
}

impl<F: Form> Pass<'_, F> {
    /// Adds the terms of these features: `slope nu2 + (2 u1 nu1 + u2 nu2)(product + quadratic nu2)`, and where there is
    /// a kink, `kinked (|b + u1 nu1 + u2 nu2| - |b + u1 nu1|)`.
    #[inline(always)]
    fn add<const KINK: bool>(&self, features: Range<usize>, kinked: f64, out: &mut [f64]) {
        let Probe { point, u1, u2, directions } = *self.probe;
        let quadratic = self.quadratic;
        let slope = |p: usize| self.form.slope(p) + self.linear[p] + 2.0 * quadratic * point[p];
        let term = |b: f64, slope: f64, nu1: f64, nu2: f64, product: f64| {
            let (step, across) = (u2 * nu2, (2.0 * u1).mul_add(nu1, u2 * nu2));
            let smooth = across.mul_add(quadratic.mul_add(nu2, product), slope * nu2);
            if KINK {
                kinked.mul_add(absolute_difference(u1.mul_add(nu1, b), step), smooth)
            } else {
                smooth
            }
        };
        add_terms(
            out,
            features,
            #[inline(always)]
            |p, j, sums| {
                let (b, slope, product) = (point[p], slope(p), self.form.eight(p, j));
                let (nu1, nu2) = directions.eight(p, j);
                for l in 0..LANES {
                    sums[l] += term(b, slope, nu1[l], nu2[l], product[l]);
                }
            },
            #[inline(always)]
            |p, j| {
                let (nu1, nu2) = directions.feature(p);
                term(point[p], slope(p), nu1[j], nu2[j], self.form.one(p, j))
            },
        );
    }
}
