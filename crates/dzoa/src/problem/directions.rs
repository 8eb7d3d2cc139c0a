//! The directions of an inner step, and two ways to make fewer of them do.

use crate::kernels::{Aligned, dot, vectorized};
use std::ops::Range;

/// A batch of directions `nu1_j, nu2_j`, feature by feature: the J values of `nu1` for feature p,
/// then the J values of `nu2`, next to each other.
#[derive(Clone, Debug, Default)]
pub struct Directions {
    count: usize,
    values: Aligned,
}

impl Directions {
    /// Makes room for J directions in P dimensions.
    pub fn resize(&mut self, features: usize, count: usize) {
        self.count = count;
        self.values.resize(features * 2 * count);
    }

    /// J.
    pub fn count(&self) -> usize {
        self.count
    }

    /// All values, to be filled.
    pub fn values_mut(&mut self) -> &mut [f64] {
        self.values.slice_mut()
    }

    /// All values as a block of 2 J columns.
    #[inline(always)]
    pub fn block(&self) -> &[f64] {
        self.values.slice()
    }

    /// `(nu1_j[p])_j` and `(nu2_j[p])_j`.
    #[inline(always)]
    pub fn feature(&self, p: usize) -> (&[f64], &[f64]) {
        self.block()[p * 2 * self.count..][..2 * self.count].split_at(self.count)
    }

    /// Antithetic pairs: the second half of the directions becomes the first half with the other
    /// sign. Of an odd number the one in the middle stays alone.
    pub fn mirror(&mut self) {
        let half = self.count.div_ceil(2);
        let count = self.count;
        for line in self.values_mut().chunks_exact_mut(count) {
            let (first, second) = line.split_at_mut(half);
            second.iter_mut().zip(first).for_each(|(mirrored, nu)| *mirrored = -*nu);
        }
    }

    /// Makes the first `distinct` of the nu2 orthogonal to each other, in frames of at most P, each
    /// of length sqrt(P): uniform over all such frames, so that the mean of `nu2 nu2'` is still the
    /// identity.
    ///
    /// Gram and Schmidt's way, twice, along contiguous memory; `work` is a buffer.
    pub fn orthogonalize(&mut self, distinct: usize, work: &mut Vec<f64>) {
        let count = self.count;
        let values = self.values_mut();
        let features = values.len() / (2 * count);
        work.clear();
        work.resize(features, 0.0);
        vectorized(
            #[inline(always)]
            || {
                for frame in (0..distinct).step_by(features) {
                    for i in frame..distinct.min(frame + features) {
                        for _ in 0..2 {
                            subtract_projections(values, count, frame..i, &mut work[..i - frame]);
                        }
                        let column = || (count + i..features * 2 * count).step_by(2 * count);
                        let square: f64 = column().map(|at| values[at].powi(2)).sum();
                        // The frame keeps unit length until it is complete.
                        let scale = 1.0 / square.sqrt().max(f64::MIN_POSITIVE);
                        column().for_each(|at| values[at] *= scale);
                    }
                }
            },
        );
        let length = (features as f64).sqrt();
        for line in values.chunks_exact_mut(2 * count) {
            line[count..count + distinct].iter_mut().for_each(|nu| *nu *= length);
        }
    }
}

/// Takes from column `frame.end` of the nu2 its part along the orthonormal columns of the frame.
#[inline(always)]
fn subtract_projections(values: &mut [f64], count: usize, frame: Range<usize>, dots: &mut [f64]) {
    dots.fill(0.0);
    for line in values.chunks_exact(2 * count) {
        let (known, new) = (&line[count + frame.start..], line[count + frame.end]);
        dots.iter_mut().zip(known).for_each(|(dot, known)| *dot += known * new);
    }
    for line in values.chunks_exact_mut(2 * count) {
        let along = dot(dots, &line[count + frame.start..count + frame.end]);
        line[count + frame.end] -= along;
    }
}
