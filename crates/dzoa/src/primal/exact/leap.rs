//! Many rows: sums in blocks, and Newton steps before the ascent.

use super::Exact;
use super::rounding::{BLOCK, blocks};
use crate::newton::{self, Expansion, KinkObjective, MOST_COLUMNS, NewtonLimits};
use crate::primal::Lagrangian;
use crate::problem::EmpiricalRisk;
use rayon::prelude::*;
use std::ops::Range;

/// Entries of an agent's rows from which Newton steps pay. The ascent alone decides about fewer:
/// its bits are what they were.
const MANY_ENTRIES: usize = 200_000;
/// Sums that the steps may take before the ascent takes over.
const MOST_SUMS: usize = 60;

impl Exact {
    /// `X'a`, block by block.
    pub(super) fn sums(&self) -> Vec<f64> {
        let rows = &self.risk.samples.rows;
        let mut sums = vec![0.0; rows.width()];
        if rows.count() <= BLOCK {
            rows.add_transposed(&self.duals, &mut sums);
            return sums;
        }
        let part = |block: usize| {
            let mut part = vec![0.0; rows.width()];
            let duals = &self.duals[range(block, rows.count())];
            rows.add_transposed_from(block * BLOCK, duals, &mut part);
            part
        };
        let parts: Vec<Vec<f64>> = (0..blocks(rows.count())).into_par_iter().map(part).collect();
        for part in parts {
            sums.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
        }
        sums
    }

    /// A sum over all rows, block by block.
    pub(super) fn in_blocks(&self, block: impl Fn(Range<usize>) -> f64 + Sync) -> f64 {
        let count = self.duals.len();
        if count <= BLOCK {
            return block(0..count);
        }
        let part = |number: usize| block(range(number, count));
        let parts: Vec<f64> = (0..blocks(count)).into_par_iter().map(part).collect();
        parts.iter().sum()
    }

    /// Newton steps from where the duals are, where loss and penalty allow them: the losses' slopes
    /// at their end are the new duals. Whatever they are, the certificate judges them. It depends
    /// on the duals alone, which are all that is remembered over a restart.
    pub(super) fn leap(&mut self, lagrangian: &Lagrangian<'_>) {
        let EmpiricalRisk { samples, loss, .. } = &self.risk;
        let penalty = &lagrangian.objective.penalty;
        let few = samples.rows.stored() < MANY_ENTRIES || samples.rows.width() > MOST_COLUMNS;
        if few || penalty.regularizer.separable().is_none() {
            return;
        }
        if loss.smoothness().is_none() {
            return self.leap_over_kinks(lagrangian);
        }
        let mut start = self.sums();
        self.primal_point(lagrangian, &mut start);
        let mut expand = |b: &[f64], with_hessian: bool| {
            let mut sum = Expansion::of(&self.risk, b, with_hessian);
            add_forces(lagrangian, b, &mut sum);
            sum
        };
        let limits = NewtonLimits { sums: MOST_SUMS, ..NewtonLimits::default() };
        let Some(end) = newton::minimise(&mut expand, penalty, &start, Vec::new(), limits) else {
            return;
        };
        let slope = |i: usize| loss.slope(samples.rows.dot(i, &end.b), samples.targets[i]);
        self.duals = (0..samples.count()).into_par_iter().map(slope).collect();
    }
}

impl Exact {
    /// The same for losses of one kink, where the ascent alone takes time as the square of the
    /// rows: unless its duals of the last round are good enough already.
    fn leap_over_kinks(&mut self, lagrangian: &Lagrangian<'_>) {
        if self.certify(lagrangian).bound <= self.tolerance {
            return;
        }
        let objective = KinkObjective {
            risks: std::slice::from_ref(&self.risk),
            penalty: &lagrangian.objective.penalty,
            linear: &lagrangian.linear,
            quadratic: lagrangian.quadratic,
        };
        let end = newton::minimise_kinks(&objective, MOST_SUMS).filter(|end| end.converged);
        if let Some(end) = end {
            self.duals = end.slopes;
        }
    }
}

/// The rows of a block.
fn range(block: usize, count: usize) -> Range<usize> {
    block * BLOCK..count.min((block + 1) * BLOCK)
}

/// Adds `linear'b + q ||b||^2`.
fn add_forces(lagrangian: &Lagrangian<'_>, b: &[f64], sum: &mut Expansion) {
    let q = lagrangian.quadratic;
    for (p, (b, linear)) in b.iter().zip(&lagrangian.linear).enumerate() {
        sum.value += b * (linear + q * b);
        sum.gradient[p] += linear + 2.0 * q * b;
        if let Some(bend) = sum.hessian.get_mut(p * lagrangian.linear.len() + p) {
            *bend += 2.0 * q;
        }
    }
}
