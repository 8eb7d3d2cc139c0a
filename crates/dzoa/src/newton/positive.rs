//! Systems of positive semidefinite matrices: the one place of this room with a factorisation.

use crate::kernels::vectorized;
use faer::linalg::solvers::{Llt, Solve};
use faer::{Mat, MatRef, Side};

/// Pivots below this times the width, as a share of the diagonal, are rounding: their column is a
/// sum of those before it.
const DEPENDENT: f64 = 4.0 * f64::EPSILON;
/// What [`Positive::with_ridge`] adds, as a share of the diagonal.
const RIDGE: f64 = 1e-11;

/// The factors of a positive semidefinite matrix. Columns that depend on others are left out:
/// solutions are zero there.
pub(crate) struct Positive {
    /// `1/sqrt(diagonal)`, or zero.
    scale: Vec<f64>,
    factor: Factor,
}

enum Factor {
    Whole(Llt<f64>),
    /// Row by row; the diagonal is one where a column was left out.
    Independent {
        lower: Vec<f64>,
        kept: Vec<bool>,
    },
}

impl Positive {
    /// Of a symmetric matrix, row by row; `None` if it is not one of finite numbers.
    pub(crate) fn of(matrix: Vec<f64>, n: usize) -> Option<Self> {
        let (scaled, scale) = scaled(matrix, n)?;
        let edge = DEPENDENT * n as f64;
        let factor = match whole(&scaled, n, edge) {
            Some(factor) => Factor::Whole(factor),
            None => independent(scaled, n, edge),
        };
        Some(Self { scale, factor })
    }

    /// Of the matrix with a little more on its diagonal: where it is singular, solutions go far
    /// along what it does not see.
    pub(crate) fn with_ridge(mut matrix: Vec<f64>, n: usize) -> Option<Self> {
        (0..n).for_each(|i| matrix[i * n + i] *= 1.0 + RIDGE);
        Self::of(matrix, n)
    }

    /// Of a matrix whose entries differ by all the digits that there are, as at the end of an
    /// interior-point method: no column is left out, and where there is no factor otherwise, a
    /// little is added to the diagonal.
    pub(crate) fn of_interior(matrix: Vec<f64>, n: usize) -> Option<Self> {
        let (mut scaled, scale) = scaled(matrix, n)?;
        (0..n).filter(|&i| scale[i] == 0.0).for_each(|i| scaled[i * n + i] = 1.0);
        let mut ridge = f64::EPSILON;
        while ridge < 1e-6 {
            if let Some(factor) = whole(&scaled, n, 0.0) {
                return Some(Self { scale, factor: Factor::Whole(factor) });
            }
            (0..n).for_each(|i| scaled[i * n + i] += ridge);
            ridge *= 16.0;
        }
        None
    }

    /// As [`Positive::of`], always as a lower factor, which [`Positive::lower`] shows.
    pub(crate) fn independent(matrix: Vec<f64>, n: usize, edge: f64) -> Option<Self> {
        let (scaled, scale) = scaled(matrix, n)?;
        Some(Self { scale, factor: independent(scaled, n, edge) })
    }

    /// Whether a column was left out.
    pub(crate) fn left_out(&self, i: usize) -> bool {
        match &self.factor {
            Factor::Whole(_) => false,
            Factor::Independent { kept, .. } => !kept[i],
        }
    }

    /// How many columns were kept.
    pub(crate) fn rank(&self) -> usize {
        (0..self.scale.len()).filter(|&i| !self.left_out(i)).count()
    }

    /// The solution for this right side.
    pub(crate) fn solve(&self, right: &[f64]) -> Vec<f64> {
        let n = self.scale.len();
        let mut x: Vec<f64> = right.iter().zip(&self.scale).map(|(r, s)| r * s).collect();
        match &self.factor {
            Factor::Whole(factor) => {
                let found = factor.solve(&Mat::from_fn(n, 1, |i, _| x[i]));
                x.iter_mut().enumerate().for_each(|(i, x)| *x = found[(i, 0)]);
            }
            Factor::Independent { lower, kept } => {
                for i in 0..n {
                    let line = &lower[i * n..][..n];
                    let rest = x[i] - dot(&line[..i], &x[..i]);
                    x[i] = if kept[i] { rest / line[i] } else { 0.0 };
                }
                back(lower, &mut x);
            }
        }
        x.iter_mut().zip(&self.scale).for_each(|(x, s)| *x *= s);
        x
    }

    /// L of `matrix = L L'`, row by row, where it was asked for by [`Positive::independent`].
    pub(crate) fn lower(&self) -> Option<Vec<f64>> {
        let n = self.scale.len();
        let Factor::Independent { lower, kept } = &self.factor else { return None };
        let entry = |i: usize, j: usize| match kept[j] && j <= i && self.scale[i] > 0.0 {
            true => lower[i * n + j] / self.scale[i],
            false => 0.0,
        };
        Some((0..n * n).map(|at| entry(at / n, at % n)).collect())
    }

    /// The x of `L'x = u`, for the same L; zero where columns were left out.
    pub(crate) fn solve_upper(&self, u: &[f64]) -> Vec<f64> {
        let mut x = u.to_vec();
        if let Factor::Independent { lower, kept } = &self.factor {
            x.iter_mut().zip(kept).filter(|(_, kept)| !**kept).for_each(|(x, _)| *x = 0.0);
            back(lower, &mut x);
        }
        x.iter_mut().zip(&self.scale).for_each(|(x, s)| *x *= s);
        x
    }
}

/// `L'x = right`, in place.
fn back(lower: &[f64], x: &mut [f64]) {
    let n = x.len();
    for i in (0..n).rev() {
        let line = &lower[i * n..][..n];
        x[i] /= line[i];
        let by = x[i];
        x[..i].iter_mut().zip(line).for_each(|(x, l)| *x -= by * l);
    }
}

/// The matrix with a diagonal of ones, and what its columns were multiplied by.
fn scaled(mut matrix: Vec<f64>, n: usize) -> Option<(Vec<f64>, Vec<f64>)> {
    let inverse = |i: usize| match matrix[i * n + i] {
        diagonal if diagonal > 0.0 => 1.0 / diagonal.sqrt(),
        _ => 0.0,
    };
    let scale: Vec<f64> = (0..n).map(inverse).collect();
    for (line, s) in matrix.chunks_exact_mut(n.max(1)).zip(&scale) {
        line.iter_mut().zip(&scale).for_each(|(value, t)| *value *= s * t);
    }
    matrix.iter().all(|value| value.is_finite()).then_some((matrix, scale))
}

/// The whole factor, if no column depends on others.
fn whole(matrix: &[f64], n: usize, edge: f64) -> Option<Llt<f64>> {
    let factor = MatRef::from_row_major_slice(matrix, n, n).llt(Side::Lower).ok()?;
    let lower = factor.L();
    (0..n).all(|i| lower[(i, i)] * lower[(i, i)] > edge).then_some(factor)
}

/// The factor of those columns that depend on none before them.
fn independent(mut matrix: Vec<f64>, n: usize, edge: f64) -> Factor {
    let mut kept = vec![true; n];
    for i in 0..n {
        let (above, line) = matrix.split_at_mut(i * n);
        let line = &mut line[..n];
        for j in 0..i {
            let other = &above[j * n..][..n];
            line[j] = match kept[j] {
                true => (line[j] - dot(&line[..j], &other[..j])) / other[j],
                false => 0.0,
            };
        }
        let pivot = line[i] - dot(&line[..i], &line[..i]);
        kept[i] = pivot > edge;
        // One that is left out keeps what it is made of, and solutions are zero there.
        line[i] = if kept[i] { pivot.sqrt() } else { 1.0 };
    }
    Factor::Independent { lower: matrix, kept }
}

/// The product of two vectors, in eight sums.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    vectorized(
        #[inline(always)]
        || {
            let (mut sums, (a, b)) = ([0.0; 8], (a.chunks_exact(8), b.chunks_exact(8)));
            let rest: f64 = a.remainder().iter().zip(b.remainder()).map(|(a, b)| a * b).sum();
            for (a, b) in a.zip(b) {
                (0..8).for_each(|lane| sums[lane] += a[lane] * b[lane]);
            }
            sums.iter().sum::<f64>() + rest
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_that_is_a_sum_of_others_is_left_out_and_the_system_solved_all_the_same() {
        // Columns (1, 0), (1, 1) and (2, 1): the third is the sum of the first two.
        let gram = vec![1.0, 1.0, 2.0, 1.0, 2.0, 3.0, 2.0, 3.0, 5.0];
        let factor = Positive::of(gram.clone(), 3).unwrap();
        assert_eq!((factor.rank(), factor.left_out(2)), (2, true));
        let right = [3.0, 4.0, 7.0];
        let x = factor.solve(&right);
        for (line, right) in gram.chunks(3).zip(right) {
            assert!((dot(line, &x) - right).abs() < 1e-13, "{x:?}");
        }
        let lower = Positive::independent(gram.clone(), 3, 1e-12).unwrap().lower().unwrap();
        for at in 0..9 {
            let product = dot(&lower[at / 3 * 3..][..3], &lower[at % 3 * 3..][..3]);
            assert!((product - gram[at]).abs() < 1e-14, "{lower:?}");
        }
    }
}
