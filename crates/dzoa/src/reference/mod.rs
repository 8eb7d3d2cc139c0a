//! The centralised optimum `beta^c`, by an interior-point solver, with a certificate.
//!
//! Every built-in loss and regulariser becomes a conic program for Clarabel. A few Newton steps on
//! the support then polish the smooth cases to full precision. The certificate is computed here
//! from the polished point: a duality gap, not the solver's word.

mod conic;

use crate::problem::Problem;
use conic::Solution;
use faer::Side;
use faer::linalg::solvers::Solve;
use faer::{Mat, MatRef};
use thiserror::Error;

/// The optimum and how well it is known.
#[derive(Clone, Debug)]
pub struct Optimum {
    /// `beta^c`
    pub coefficients: Vec<f64>,
    /// The centralised objective there.
    pub objective: f64,
    /// What is proven about it.
    pub certificate: Certificate,
}

/// What is proven about an [`Optimum`].
#[derive(Clone, Copy, Debug)]
pub struct Certificate {
    /// Objective minus a dual bound: the objective is within this of the minimum. `None` where no
    /// dual-feasible point can be scaled from the slopes (no regulariser, or a free intercept).
    pub duality_gap: Option<f64>,
    /// Largest violation of stationarity in any coordinate.
    pub stationarity: f64,
    /// Iterations of the interior-point solver.
    pub iterations: u32,
}

/// There is no reference.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ReferenceError {
    /// The loss has no conic form.
    #[error("the loss `{0}` has no conic form, so there is no reference optimum")]
    NoConicForm(&'static str),
    /// The solver ended otherwise.
    #[error("the reference solver ended with status {0}")]
    Solver(String),
}

/// Minimises eq. (1).
#[doc(alias = "beta^c")]
pub fn optimum(problem: &Problem) -> Result<Optimum, ReferenceError> {
    let Solution { mut b, line_duals, iterations } = conic::solve(problem)?;
    polish(problem, &mut b);
    let certificate = certify(problem, &b, line_duals.as_deref(), iterations);
    Ok(Optimum { objective: problem.value(&b), coefficients: b, certificate })
}

/// The slopes of all samples at `b`, the gradient of the data term, and, where the loss is smooth
/// everywhere, its Hessian.
fn derivatives(problem: &Problem, b: &[f64]) -> (Vec<f64>, Option<Vec<f64>>) {
    let p = problem.dim();
    let mut gradient = vec![0.0; p];
    let mut hessian = Some(vec![0.0; p * p]);
    for (k, samples) in problem.agents.iter().enumerate() {
        let weight = problem.sample_weight(k);
        for i in 0..samples.count() {
            let (z, y) = (samples.rows.dot(i, b), samples.targets[i]);
            let slope = weight * problem.loss.slope(z, y);
            samples.rows.visit(i, |column, value| gradient[column] += slope * value);
            match (&mut hessian, problem.loss.curvature(z, y)) {
                (Some(hessian), Some(curvature)) => samples.rows.visit(i, |a, va| {
                    samples
                        .rows
                        .visit(i, |c, vc| hessian[a * p + c] += weight * curvature * va * vc);
                }),
                _ => hessian = None,
            }
        }
    }
    (gradient, hessian)
}

/// Newton steps on the coordinates that the solver left away from zero. A step is kept only if it
/// lowers the objective or leaves it equal, so polishing can do no harm.
fn polish(problem: &Problem, b: &mut Vec<f64>) {
    let penalty = problem.penalty(problem.eta);
    let p = problem.dim();
    let largest = b.iter().fold(0.0, |max: f64, b| max.max(b.abs()));
    let mut trial = b.clone();
    // Which coordinates are zero at the optimum: those where one proximal step says so.
    let (gradient, hessian) = derivatives(problem, b);
    let Some(hessian) = hessian else { return };
    let step = 1.0 / (0..p).map(|i| hessian[i * p + i]).fold(1e-12, f64::max);
    trial.iter_mut().zip(&gradient).for_each(|(b, g)| *b -= step * g);
    penalty.prox(&mut trial, step);
    let support: Vec<usize> = (0..p)
        .filter(|&i| i >= penalty.penalized || (trial[i] != 0.0 && b[i].abs() > 1e-7 * largest))
        .collect();
    trial.clone_from(b);
    (0..p).filter(|i| !support.contains(i)).for_each(|i| trial[i] = 0.0);
    for _ in 0..20 {
        let (mut gradient, hessian) = derivatives(problem, &trial);
        let Some(mut hessian) = hessian else { return };
        penalty.add_smooth_part(&trial, &mut gradient, &mut hessian);
        let n = support.len();
        let small: Vec<f64> = support
            .iter()
            .flat_map(|&a| support.iter().map(move |&c| (a, c)))
            .map(|(a, c)| hessian[a * p + c])
            .collect();
        let right = Mat::from_fn(n, 1, |i, _| gradient[support[i]]);
        let Ok(factor) = MatRef::from_row_major_slice(&small, n, n).llt(Side::Lower) else {
            return;
        };
        let step = factor.solve(&right);
        let mut moved: f64 = 0.0;
        for (i, &a) in support.iter().enumerate() {
            trial[a] -= step[(i, 0)];
            moved = moved.max(step[(i, 0)].abs());
        }
        if !trial.iter().all(|b| b.is_finite()) {
            return;
        }
        if moved <= 1e-15 * largest.max(1.0) {
            break;
        }
    }
    let kept = violation(problem, &trial) <= violation(problem, b);
    if kept && problem.value(&trial) <= problem.value(b) * (1.0 + 4.0 * f64::EPSILON) {
        *b = trial;
    }
}

/// Largest coordinate of `b - prox(b - gradient)`: zero exactly at an optimum of a smooth loss.
fn violation(problem: &Problem, b: &[f64]) -> f64 {
    let (gradient, _) = derivatives(problem, b);
    let mut moved: Vec<f64> = b.iter().zip(&gradient).map(|(b, g)| b - g).collect();
    problem.penalty(problem.eta).prox(&mut moved, 1.0);
    moved.iter().zip(b).fold(0.0, |max: f64, (moved, b)| max.max((moved - b).abs()))
}

/// A duality gap from slopes: of the loss at `b`, or, where it has kinks, those that the solver's
/// multipliers choose.
fn certify(problem: &Problem, b: &[f64], lines: Option<&[f64]>, iterations: u32) -> Certificate {
    let penalty = problem.penalty(problem.eta);
    let mut slopes = Vec::new();
    let mut g = vec![0.0; problem.dim()];
    for (k, samples) in problem.agents.iter().enumerate() {
        for i in 0..samples.count() {
            let slope = match lines {
                Some(lines) => lines[slopes.len()],
                None => problem.loss.slope(samples.rows.dot(i, b), samples.targets[i]),
            };
            let weighted = problem.sample_weight(k) * slope;
            samples.rows.visit(i, |column, value| g[column] += weighted * value);
            slopes.push(slope);
        }
    }
    let mut moved: Vec<f64> = b.iter().zip(&g).map(|(b, g)| b - g).collect();
    penalty.prox(&mut moved, 1.0);
    let stationarity = moved.iter().zip(b).fold(0.0, |max: f64, (m, b)| max.max((m - b).abs()));
    // A free coordinate bounds nothing unless its dual vanishes exactly.
    let bounded = penalty.penalized == problem.dim() && penalty.weight > 0.0;
    let scale = if bounded { penalty.dual_scale(&g) } else { 0.0 };
    let duality_gap = (scale > 0.0).then(|| {
        g.iter_mut().for_each(|g| *g *= scale);
        let mut gap = penalty.fenchel_gap(b, &g);
        let mut slopes = slopes.iter();
        for (k, samples) in problem.agents.iter().enumerate() {
            let weight = problem.sample_weight(k);
            for i in 0..samples.count() {
                let a = scale * slopes.next().expect("one slope per sample");
                let z = samples.rows.dot(i, b);
                gap += weight * problem.loss.fenchel_gap(z, a, samples.targets[i]);
            }
        }
        gap
    });
    Certificate { duality_gap, stationarity, iterations }
}
