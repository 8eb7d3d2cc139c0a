//! The model of one step: a quadratic and a separable penalty, minimised exactly.

use crate::problem::regularizer::Penalty;
use faer::linalg::solvers::Solve;
use faer::{Mat, MatRef, Side};

/// Turns of descent along coordinates and on the support.
const MOST_TURNS: usize = 200;
/// Violations of optimality below this share of the slopes' size are rounding.
const ROUNDING: f64 = 1e-13;
/// What is added to a Hessian that is not positive definite, as a share of its diagonal; a hundred
/// times as much until it is.
const FIRST_RIDGE: f64 = 1e-14;

/// `gradient'(v - b) + 1/2 (v - b)'hessian(v - b) + penalty(v)` as a function of v.
pub(super) struct Model {
    hessian: Vec<f64>,
    /// The slope of the quadratic at v.
    slope: Vec<f64>,
    v: Vec<f64>,
    /// Weight of |v| at each coordinate.
    l1: Vec<f64>,
}

impl Model {
    /// Around b; `None` if the penalty is not separable.
    pub(super) fn new(
        gradient: &[f64],
        hessian: &[f64],
        b: &[f64],
        penalty: &Penalty,
    ) -> Option<Self> {
        let (l1, l2) = penalty.regularizer.separable()?;
        let (mut slope, mut hessian) = (gradient.to_vec(), hessian.to_vec());
        for p in 0..penalty.penalized {
            slope[p] += penalty.weight * l2 * b[p];
            hessian[p * b.len() + p] += penalty.weight * l2;
        }
        let l1 = |p: usize| if p < penalty.penalized { l1 * penalty.weight } else { 0.0 };
        Some(Self { hessian, slope, v: b.to_vec(), l1: (0..b.len()).map(l1).collect() })
    }

    /// Its minimiser. Without kinks it is one system of equations. With kinks, descent along
    /// coordinates finds who is zero, and a system on the others the rest.
    pub(super) fn minimise(mut self) -> Option<Vec<f64>> {
        let dim = self.v.len();
        if self.l1.iter().all(|l1| *l1 == 0.0) {
            let all: Vec<usize> = (0..dim).collect();
            self.solve_on(&all)?;
            return Some(self.v);
        }
        for _ in 0..MOST_TURNS {
            (0..dim).for_each(|p| self.descend(p));
            self.descend_on_support()?;
            let size = self.slope.iter().zip(&self.l1).map(|(s, l1)| s.abs() + l1);
            let largest = size.fold(0.0, f64::max);
            if (0..dim).all(|p| self.violation(p) <= ROUNDING * largest) {
                break;
            }
        }
        Some(self.v)
    }

    /// How far the slope at one coordinate is from one that the kink there balances.
    fn violation(&self, p: usize) -> f64 {
        let (slope, l1) = (self.slope[p], self.l1[p]);
        match self.v[p] {
            0.0 => (slope.abs() - l1).max(0.0),
            v => (slope + l1 * v.signum()).abs(),
        }
    }

    /// The minimum along one coordinate.
    fn descend(&mut self, p: usize) {
        let (dim, before) = (self.v.len(), self.v[p]);
        let curvature = self.hessian[p * dim + p];
        if curvature <= 0.0 || curvature.is_nan() {
            return;
        }
        let middle = before - self.slope[p] / curvature;
        let threshold = self.l1[p] / curvature;
        let after = middle.signum() * (middle.abs() - threshold).max(0.0);
        self.shift(p, after - before);
        self.v[p] = after;
    }

    /// Keeps the slope up with a move along one coordinate.
    fn shift(&mut self, p: usize, by: f64) {
        if by != 0.0 {
            let dim = self.v.len();
            let line = &self.hessian[p * dim..][..dim];
            self.slope.iter_mut().zip(line).for_each(|(slope, h)| *slope += by * h);
        }
    }

    /// The minimum over the coordinates that are not zero, as far as no sign changes; who comes to
    /// zero stays there.
    fn descend_on_support(&mut self) -> Option<()> {
        let dim = self.v.len();
        for _ in 0..dim {
            let support: Vec<usize> =
                (0..dim).filter(|&p| self.v[p] != 0.0 || self.l1[p] == 0.0).collect();
            if support.is_empty() || self.solve_on(&support)? {
                break;
            }
        }
        Some(())
    }

    /// Moves to the minimum over these coordinates with their signs as they are, or to where the
    /// first of them would change. Whether it came to the minimum.
    fn solve_on(&mut self, support: &[usize]) -> Option<bool> {
        let dim = self.v.len();
        let small: Vec<f64> = support
            .iter()
            .flat_map(|&a| support.iter().map(move |&c| (a, c)))
            .map(|(a, c)| self.hessian[a * dim + c])
            .collect();
        let sign = |p: usize| if self.v[p] == 0.0 { 0.0 } else { self.v[p].signum() };
        let right: Vec<f64> =
            support.iter().map(|&p| -(self.slope[p] + self.l1[p] * sign(p))).collect();
        let step = solve(small, &right)?;
        let (mut share, mut first) = (1.0, None);
        for (&p, step) in support.iter().zip(&step) {
            let (v, l1) = (self.v[p], self.l1[p]);
            if l1 > 0.0 && (v + step) * v.signum() <= 0.0 && -v / step < share {
                (share, first) = (-v / step, Some(p));
            }
        }
        for (&p, step) in support.iter().zip(&step) {
            self.shift(p, share * step);
            self.v[p] += share * step;
        }
        if let Some(p) = first {
            self.v[p] = 0.0;
        }
        Some(first.is_none())
    }
}

/// The solution of a positive definite system, or of one near it that is.
fn solve(mut matrix: Vec<f64>, right: &[f64]) -> Option<Vec<f64>> {
    let n = right.len();
    let largest = (0..n).map(|i| matrix[i * n + i]).fold(0.0, f64::max);
    let mut ridge = FIRST_RIDGE * largest;
    if !(largest > 0.0 && largest.is_finite()) {
        return None;
    }
    loop {
        if let Ok(factor) = MatRef::from_row_major_slice(&matrix, n, n).llt(Side::Lower) {
            let found = factor.solve(&Mat::from_fn(n, 1, |i, _| right[i]));
            let found: Vec<f64> = (0..n).map(|i| found[(i, 0)]).collect();
            if found.iter().all(|value| value.is_finite()) {
                return Some(found);
            }
        }
        if ridge > largest {
            return None;
        }
        (0..n).for_each(|i| matrix[i * n + i] += ridge);
        ridge *= 100.0;
    }
}
