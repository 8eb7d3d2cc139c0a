//! The sums that a Newton step needs: one pass over the rows.

use crate::problem::{EmpiricalRisk, TILE};
use rayon::prelude::*;

/// Rows whose sums one thread forms; the number of threads changes no bit.
const SHARE: usize = 64 * TILE;
/// Shares that are kept at once: each may hold a Hessian.
const AT_ONCE: usize = 16;

/// A sum of smooth functions around a point: value, gradient and, where it was asked for, Hessian
/// (row by row). What agents have to tell each other for a joint Newton step, and no more.
///
/// ```
/// use dzoa::newton::Expansion;
/// # use dzoa::prelude::*;
/// # use std::sync::Arc;
/// let samples = Samples::new(Rows::dense(1, vec![1.0, 2.0])?, vec![0.0, 1.0])?;
/// let (samples, loss) = (Arc::new(samples), Arc::new(Squared));
/// let risk = dzoa::problem::EmpiricalRisk { samples, loss, weight: 0.5 };
/// // (b^2 + (2 b - 1)^2)/2
/// let there = Expansion::of(&risk, &[1.0], true);
/// assert_eq!((there.value, there.gradient[0], there.hessian[0]), (1.0, 3.0, 5.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expansion {
    /// The sum.
    pub value: f64,
    /// Its first derivatives.
    pub gradient: Vec<f64>,
    /// Its second derivatives, or nothing.
    pub hessian: Vec<f64>,
}

impl Expansion {
    /// Of nothing, with room for a Hessian or without.
    pub fn zero(dim: usize, with_hessian: bool) -> Self {
        let room = if with_hessian { dim * dim } else { 0 };
        Self { value: 0.0, gradient: vec![0.0; dim], hessian: vec![0.0; room] }
    }

    /// Of the data term of one agent, whose loss must be smooth.
    pub fn of(risk: &EmpiricalRisk, b: &[f64], with_hessian: bool) -> Self {
        let shares = risk.samples.count().div_ceil(SHARE);
        let share = |share: usize| share_of(risk, b, with_hessian, share * SHARE);
        let mut sum = Self::zero(b.len(), with_hessian);
        for first in (0..shares).step_by(AT_ONCE) {
            let some = first..shares.min(first + AT_ONCE);
            let parts: Vec<Self> = match some.len() {
                1 => some.map(share).collect(),
                _ => some.into_par_iter().map(share).collect(),
            };
            parts.iter().for_each(|part| sum.add(part));
        }
        sum.value *= risk.weight;
        sum.gradient.iter_mut().for_each(|sum| *sum *= risk.weight);
        sum.hessian.iter_mut().for_each(|sum| *sum *= risk.weight);
        sum
    }

    /// Adds another around the same point.
    pub fn add(&mut self, other: &Self) {
        self.value += other.value;
        self.gradient.iter_mut().zip(&other.gradient).for_each(|(sum, part)| *sum += part);
        self.hessian.iter_mut().zip(&other.hessian).for_each(|(sum, part)| *sum += part);
    }
}

/// The unweighted sums over the rows from `first` on, tile by tile.
fn share_of(risk: &EmpiricalRisk, b: &[f64], with_hessian: bool, first: usize) -> Expansion {
    let EmpiricalRisk { samples, loss, .. } = risk;
    let mut sum = Expansion::zero(b.len(), with_hessian);
    let mut fitted = [0.0; TILE];
    let mut scratch = Vec::new();
    let last = samples.count().min(first + SHARE);
    for first in (first..last).step_by(TILE) {
        let targets = &samples.targets[first..last.min(first + TILE)];
        let fitted = &mut fitted[..targets.len()];
        samples.rows.times(first, b, fitted);
        sum.value += loss.sum(fitted, targets);
        if with_hessian {
            let curvature = |(z, y): (&f64, &f64)| loss.curvature(*z, *y).unwrap_or(0.0);
            let weights: Vec<f64> = fitted.iter().zip(targets).map(curvature).collect();
            samples.rows.add_gram(first, &weights, &mut scratch, &mut sum.hessian);
        }
        fitted.iter_mut().zip(targets).for_each(|(z, y)| *z = loss.slope(*z, *y));
        samples.rows.add_transposed_from(first, fitted, &mut sum.gradient);
    }
    sum
}
