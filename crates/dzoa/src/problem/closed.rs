//! The part of an agent's function that holds no data, and the one pass over the directions that it
//! takes.

use super::loss::absolute_difference;
use super::probe::Probe;
use super::regularizer::Penalty;
use crate::kernels::{LANES, Summands, add_terms, lanes, vectorized};

/// `h(b) = penalty(b) + linear'b + quadratic ||b||^2`: known in closed form, so that its
/// differences never subtract two large numbers.
#[derive(Clone, Copy, Debug)]
pub struct Closed<'a> {
    /// `(eta/K) R(b)`.
    pub penalty: &'a Penalty,
    /// The linear part.
    pub linear: &'a [f64],
    /// The quadratic part.
    pub quadratic: f64,
}

/// What a quadratic form of the data adds in one feature: its slope at b, and this line of its
/// matrix times the directions.
pub(super) trait Form {
    fn slope(&self, p: usize) -> f64;
    fn lanes<const W: usize>(&self, p: usize, j: usize) -> [f64; W];
}

/// No data.
struct Nothing;

impl Form for Nothing {
    #[inline(always)]
    fn slope(&self, _p: usize) -> f64 {
        0.0
    }

    #[inline(always)]
    fn lanes<const W: usize>(&self, _p: usize, _j: usize) -> [f64; W] {
        [0.0; W]
    }
}

impl Closed<'_> {
    /// `out[j] += [h(b + u1 nu1_j + u2 nu2_j) - h(b + u1 nu1_j)]/u2`.
    pub fn add_quotients(&self, probe: &Probe<'_>, out: &mut [f64]) {
        vectorized(
            #[inline(always)]
            || self.add_quotients_with(&Nothing, probe, out),
        );
        self.penalty.add_group_quotients(probe, out);
    }

    /// Adds the quotients of h and of a quadratic form, in one pass; without what a grouped penalty
    /// adds.
    #[inline(always)]
    pub(super) fn add_quotients_with(&self, form: &impl Form, probe: &Probe<'_>, out: &mut [f64]) {
        let Self { penalty, linear, quadratic } = *self;
        let (l1, l2) = penalty.regularizer.separable().unwrap_or((0.0, 0.0));
        let kinked = l1 * penalty.weight / probe.u2;
        // The squared part of R is one more quadratic.
        let curved = quadratic + 0.5 * l2 * penalty.weight;
        let (penalized, free) = (0..penalty.penalized, penalty.penalized..probe.point.len());
        let (block, count) = (probe.directions.block(), out.len());
        let pass = Pass { form, probe, block, count, linear, quadratic: curved, kinked };
        if kinked > 0.0 {
            add_terms::<{ 2 * LANES }>(out, penalized, &Quotients::<_, true>(&pass));
        } else {
            add_terms::<{ 2 * LANES }>(out, penalized, &Quotients::<_, false>(&pass));
        }
        if !free.is_empty() {
            let pass = Pass { quadratic, ..pass };
            add_terms::<{ 2 * LANES }>(out, free, &Quotients::<_, false>(&pass));
        }
    }
}

/// One pass over features that are treated alike.
struct Pass<'a, F> {
    form: &'a F,
    probe: &'a Probe<'a>,
    /// The directions.
    block: &'a [f64],
    count: usize,
    linear: &'a [f64],
    quadratic: f64,
    kinked: f64,
}

/// The terms of a pass, with or without a kink.
struct Quotients<'a, F, const KINK: bool>(&'a Pass<'a, F>);

impl<F: Form, const KINK: bool> Summands for Quotients<'_, F, KINK> {
    /// `slope nu2 + (2 u1 nu1 + u2 nu2)(product + quadratic nu2)`, and where there is a kink,
    /// `kinked (|b + u1 nu1 + u2 nu2| - |b + u1 nu1|)`.
    #[inline(always)]
    fn add<const W: usize>(&self, p: usize, j: usize, sums: &mut [f64; W]) {
        let Pass { form, probe, block, count, linear, quadratic, kinked } = *self.0;
        let Probe { point, u1, u2, .. } = *probe;
        let b = point[p];
        let slope = form.slope(p) + linear[p] + 2.0 * quadratic * b;
        let (nu1, nu2) = block[p * 2 * count..][..2 * count].split_at(count);
        let (nu1, nu2): ([f64; W], [f64; W]) = (lanes(nu1, j), lanes(nu2, j));
        let product: [f64; W] = form.lanes(p, j);
        for l in 0..W {
            let (step, across) = (u2 * nu2[l], (2.0 * u1).mul_add(nu1[l], u2 * nu2[l]));
            let smooth = across.mul_add(quadratic.mul_add(nu2[l], product[l]), slope * nu2[l]);
            sums[l] += if KINK {
                kinked.mul_add(absolute_difference(u1.mul_add(nu1[l], b), step), smooth)
            } else {
                smooth
            };
        }
    }
}
