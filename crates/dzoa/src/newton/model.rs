//! The model of one step: a quadratic and a separable penalty, minimised exactly.

use super::groups::{GroupModel, Groups, MOST_SWEEPS, MOST_TURNS, ROUNDING};
use super::positive::Positive;
use super::program::KinkProgram;
use crate::problem::regularizer::{Form, Penalty};

/// Iterations of the interior-point method.
const MOST_ITERATIONS: usize = 100;
/// Coordinates that one turn brings to zero on the support.
const MOST_CROSSINGS: usize = 20;
/// A share of the kinks' weight that no rounding makes.
const UNSOLVED: f64 = 1e-7;

/// The minimiser over v of `gradient'(v - b) + 1/2 (v - b)'hessian(v - b) + penalty(v)`.
pub(super) fn model_minimiser(
    gradient: &[f64],
    hessian: &[f64],
    b: &[f64],
    penalty: &Penalty,
) -> Option<Vec<f64>> {
    if let Some(found) = descended(gradient, hessian, b, penalty)? {
        return Some(found);
    }
    // Descent is slow where columns hardly differ and the penalty is light. An interior-point
    // method is not, and descent from its end finds the last digits.
    let product = |line: &[f64]| line.iter().zip(b).map(|(h, b)| h * b).sum::<f64>();
    let products = hessian.chunks_exact(b.len()).map(product);
    let linear: Vec<f64> = gradient.iter().zip(products).map(|(g, hb)| g - hb).collect();
    let reach = |p: usize| match hessian[p * b.len() + p] {
        bend if bend > 0.0 => (linear[p] / bend).abs(),
        _ => 0.0,
    };
    let unit = (0..b.len()).map(reach).fold(0.0, f64::max);
    let program = KinkProgram::of_quadratic(linear, hessian, penalty, unit);
    let v = program.minimise(MOST_ITERATIONS)?.b;
    let slope: Vec<f64> = {
        let moved: Vec<f64> = v.iter().zip(b).map(|(v, b)| v - b).collect();
        let product = |line: &[f64]| line.iter().zip(&moved).map(|(h, by)| h * by).sum::<f64>();
        gradient
            .iter()
            .zip(hessian.chunks_exact(b.len()).map(product))
            .map(|(g, h)| g + h)
            .collect()
    };
    Some(descended(&slope, hessian, &v, penalty)?.unwrap_or(v))
}

/// The same by descent, or nothing where that does not end soon. `None` where there is no step.
fn descended(
    gradient: &[f64],
    hessian: &[f64],
    b: &[f64],
    penalty: &Penalty,
) -> Option<Option<Vec<f64>>> {
    match penalty.regularizer.form() {
        Form::Separable { .. } => Model::new(gradient, hessian, b, penalty)?.minimise(),
        Form::Grouped(groups) => {
            let weighted = |group: &Vec<usize>| penalty.weight * (group.len() as f64).sqrt();
            let weights = groups.iter().map(weighted).collect();
            GroupModel::new(gradient, hessian, b, Groups { columns: groups, weights }).minimise()
        }
    }
}

/// That function of v, for a separable penalty.
struct Model {
    hessian: Vec<f64>,
    /// The slope of the quadratic at v.
    slope: Vec<f64>,
    v: Vec<f64>,
    /// Weight of |v| at each coordinate.
    l1: Vec<f64>,
}

impl Model {
    /// Around b; `None` if the penalty is not separable.
    fn new(gradient: &[f64], hessian: &[f64], b: &[f64], penalty: &Penalty) -> Option<Self> {
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
    /// coordinates finds who is zero, and a system on the others the rest. Nothing where that does
    /// not end soon, `None` where there is no step.
    fn minimise(mut self) -> Option<Option<Vec<f64>>> {
        let dim = self.v.len();
        if self.l1.iter().all(|l1| *l1 == 0.0) {
            let all: Vec<usize> = (0..dim).collect();
            self.solve_on(&all)?;
            return Some(Some(self.v));
        }
        for _ in 0..MOST_TURNS {
            for _ in 0..MOST_SWEEPS {
                if (0..dim).filter(|&p| self.descend(p)).count() == 0 {
                    break;
                }
            }
            self.descend_on_support()?;
            let size = |p: usize| {
                let pull = self.hessian[p * dim + p] * self.v[p].abs();
                self.slope[p].abs() + self.l1[p] + pull
            };
            let largest = (0..dim).map(size).fold(0.0, f64::max);
            if (0..dim).all(|p| self.violation(p) <= ROUNDING * largest) {
                return Some(Some(self.v));
            }
        }
        Some(None)
    }

    /// How far the slope at one coordinate is from one that the kink there balances.
    fn violation(&self, p: usize) -> f64 {
        let (slope, l1) = (self.slope[p], self.l1[p]);
        match self.v[p] {
            0.0 => (slope.abs() - l1).max(0.0),
            v => (slope + l1 * v.signum()).abs(),
        }
    }

    /// The minimum along one coordinate; whether it came to zero, left it or changed its sign.
    fn descend(&mut self, p: usize) -> bool {
        let (dim, before) = (self.v.len(), self.v[p]);
        let curvature = self.hessian[p * dim + p];
        if curvature <= 0.0 || curvature.is_nan() {
            return false;
        }
        let middle = before - self.slope[p] / curvature;
        let threshold = self.l1[p] / curvature;
        let after = middle.signum() * (middle.abs() - threshold).max(0.0);
        self.shift(p, after - before);
        self.v[p] = after;
        before * after <= 0.0 && before != after
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
        for _ in 0..MOST_CROSSINGS {
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
        let kinks = support.iter().map(|&p| self.l1[p]).fold(0.0, f64::max);
        let step = step_for(small, &right, kinks)?;
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

/// The solution of a positive semidefinite system. Where the kinks' weights leave it without one,
/// that of a system near it: it goes far in a direction in which the model is a line.
fn step_for(matrix: Vec<f64>, right: &[f64], kinks: f64) -> Option<Vec<f64>> {
    let n = right.len();
    let flat = |i: usize| matrix[i * n + i] <= 0.0 && right[i] != 0.0;
    if (0..n).any(flat) {
        return None;
    }
    let factor = Positive::of(matrix.clone(), n)?;
    let step = factor.solve(right);
    let finite = |step: Vec<f64>| step.iter().all(|value| value.is_finite()).then_some(step);
    let unsolved = |i: usize| {
        let terms = matrix[i * n..][..n].iter().zip(&step).map(|(h, step)| h * step);
        (right[i] - terms.sum::<f64>()).abs() > UNSOLVED * kinks
    };
    match kinks > 0.0 && (0..n).any(|i| factor.left_out(i) && unsolved(i)) {
        true => finite(Positive::with_ridge(matrix, n)?.solve(right)),
        false => finite(step),
    }
}
