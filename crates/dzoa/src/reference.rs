//! The centralised optimum `beta^c`, by an interior-point solver, with a certificate.
//!
//! Every built-in loss and regulariser becomes a conic program for Clarabel. A few Newton steps on
//! the support then polish the smooth cases to full precision. The certificate is computed here from
//! the polished point: a duality gap, not the solver's word.

use crate::problem::Problem;
use crate::problem::loss::Epigraph;
use crate::problem::regularizer::Regularizer;
use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SolverStatus, SupportedConeT};
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
    let Solution { mut b, line_duals, iterations } = interior_point(problem)?;
    polish(problem, &mut b);
    let certificate = certify(problem, &b, line_duals.as_deref(), iterations);
    Ok(Optimum { objective: problem.value(&b), coefficients: b, certificate })
}

struct Solution {
    b: Vec<f64>,
    /// For piecewise linear losses: the slope that the solver's multipliers choose, per sample.
    line_duals: Option<Vec<f64>>,
    iterations: u32,
}

/// Rows of `A x + s = b, s in cones`, collected cone by cone.
#[derive(Default)]
struct Rows {
    triplets: (Vec<usize>, Vec<usize>, Vec<f64>),
    right: Vec<f64>,
}

impl Rows {
    fn push(&mut self, entries: impl IntoIterator<Item = (usize, f64)>, right: f64) {
        for (column, value) in entries {
            self.triplets.0.push(self.right.len());
            self.triplets.1.push(column);
            self.triplets.2.push(value);
        }
        self.right.push(right);
    }
}

/// Builds and solves the conic program over `x = (b, auxiliaries)`.
fn interior_point(problem: &Problem) -> Result<Solution, ReferenceError> {
    let p = problem.dim();
    let mut columns = p;
    let mut linear = vec![0.0; p];
    let mut quadratic: (Vec<usize>, Vec<usize>, Vec<f64>) = Default::default();
    let mut gram = vec![0.0; p * p];
    let mut nonnegative = Rows::default();
    let mut exponential = Rows::default();
    let mut line_rows: Vec<(usize, f64)> = Vec::new();
    let mut samples_with_lines = 0;
    let mut fresh = |linear: &mut Vec<f64>, cost: f64| {
        linear.push(cost);
        columns += 1;
        columns - 1
    };
    for (k, samples) in problem.agents.iter().enumerate() {
        let weight = problem.sample_weight(k);
        for i in 0..samples.count() {
            let y = samples.targets[i];
            let mut x = Vec::new();
            samples.rows.visit(i, |column, value| x.push((column, value)));
            let scaled =
                |factor: f64| x.iter().map(move |&(column, value)| (column, factor * value));
            match problem.loss.epigraph(y) {
                None => return Err(ReferenceError::NoConicForm(problem.loss.name())),
                Some(Epigraph::Square) => {
                    // weight (x'b - y)^2, through the Gram matrix: no variable per sample.
                    for &(a, va) in &x {
                        linear[a] -= 2.0 * weight * y * va;
                        for &(c, vc) in &x {
                            if a <= c {
                                gram[a * p + c] += 2.0 * weight * va * vc;
                            }
                        }
                    }
                }
                Some(Epigraph::Lines(lines)) => {
                    let t = fresh(&mut linear, weight);
                    for (slope, offset) in lines {
                        line_rows.push((samples_with_lines, slope));
                        nonnegative.push(scaled(slope).chain([(t, -1.0)]), -offset);
                    }
                    samples_with_lines += 1;
                }
                Some(Epigraph::Huber(delta)) => {
                    // min over s of s^2/2 + delta |r - s|
                    let s = fresh(&mut linear, 0.0);
                    let t = fresh(&mut linear, weight * delta);
                    quadratic.0.push(s);
                    quadratic.1.push(s);
                    quadratic.2.push(weight);
                    nonnegative.push(scaled(1.0).chain([(s, -1.0), (t, -1.0)]), y);
                    nonnegative.push(scaled(-1.0).chain([(s, 1.0), (t, -1.0)]), -y);
                }
                Some(Epigraph::Logistic) => {
                    // t >= log(1 + e^-m): e^-t <= u, e^(-m-t) <= v, u + v <= 1
                    let t = fresh(&mut linear, weight);
                    let u = fresh(&mut linear, 0.0);
                    let v = fresh(&mut linear, 0.0);
                    nonnegative.push([(u, 1.0), (v, 1.0)], 1.0);
                    exponential.push([(t, 1.0)], 0.0);
                    exponential.push([], 1.0);
                    exponential.push([(u, -1.0)], 0.0);
                    exponential.push(scaled(y).chain([(t, 1.0)]), 0.0);
                    exponential.push([], 1.0);
                    exponential.push([(v, -1.0)], 0.0);
                }
            }
        }
    }
    let penalty = problem.penalty(problem.eta);
    let (l1, l2) = match problem.regularizer {
        Regularizer::L1 => (1.0, 0.0),
        Regularizer::L2 => (0.0, 1.0),
        Regularizer::ElasticNet { l1_ratio } => (l1_ratio, 1.0 - l1_ratio),
        Regularizer::GroupL1 { .. } | Regularizer::None => (0.0, 0.0),
    };
    let mut cones_of_order: Vec<usize> = Vec::new();
    let mut second_order = Rows::default();
    for i in 0..penalty.penalized {
        gram[i * p + i] += problem.eta * l2;
        if l1 * problem.eta > 0.0 {
            let t = fresh(&mut linear, l1 * problem.eta);
            nonnegative.push([(i, 1.0), (t, -1.0)], 0.0);
            nonnegative.push([(i, -1.0), (t, -1.0)], 0.0);
        }
    }
    if let Regularizer::GroupL1 { groups } = &problem.regularizer {
        for group in groups {
            let t = fresh(&mut linear, problem.eta * (group.len() as f64).sqrt());
            second_order.push([(t, -1.0)], 0.0);
            group.iter().for_each(|&i| second_order.push([(i, -1.0)], 0.0));
            cones_of_order.push(group.len() + 1);
        }
    }
    for a in 0..p {
        for c in a..p {
            if gram[a * p + c] != 0.0 {
                quadratic.0.push(a);
                quadratic.1.push(c);
                quadratic.2.push(gram[a * p + c]);
            }
        }
    }
    let exponential_cones = exponential.right.len() / 3;
    let mut cones = vec![SupportedConeT::NonnegativeConeT(nonnegative.right.len())];
    cones.extend(cones_of_order.into_iter().map(SupportedConeT::SecondOrderConeT));
    cones.extend((0..exponential_cones).map(|_| SupportedConeT::ExponentialConeT()));
    let mut all = nonnegative;
    for rows in [second_order, exponential] {
        let offset = all.right.len();
        all.triplets.0.extend(rows.triplets.0.into_iter().map(|row| row + offset));
        all.triplets.1.extend(rows.triplets.1);
        all.triplets.2.extend(rows.triplets.2);
        all.right.extend(rows.right);
    }
    let hessian =
        CscMatrix::new_from_triplets(columns, columns, quadratic.0, quadratic.1, quadratic.2);
    let matrix = CscMatrix::new_from_triplets(
        all.right.len(),
        columns,
        all.triplets.0,
        all.triplets.1,
        all.triplets.2,
    );
    let settings = DefaultSettings {
        verbose: false,
        max_iter: 500,
        // The default factorisation left small logistic problems at 5e-6.
        direct_solve_method: "faer".into(),
        tol_gap_abs: 1e-11,
        tol_gap_rel: 1e-11,
        tol_feas: 1e-11,
        ..DefaultSettings::default()
    };
    let mut solver = DefaultSolver::new(&hessian, &linear, &matrix, &all.right, &cones, settings)
        .map_err(|error| ReferenceError::Solver(error.to_string()))?;
    solver.solve();
    let solution = &solver.solution;
    match solution.status {
        // Tolerances this tight may end as "almost" or without progress; the certificate judges.
        SolverStatus::Solved | SolverStatus::AlmostSolved | SolverStatus::InsufficientProgress => {}
        status => return Err(ReferenceError::Solver(format!("{status:?}"))),
    }
    let line_duals = (samples_with_lines > 0).then(|| {
        let mut slopes = vec![(0.0, 0.0); samples_with_lines];
        // The rows of the lines come first in the first cone, in order.
        for (&(sample, slope), &multiplier) in line_rows.iter().zip(&solution.z) {
            let (sum, total) = &mut slopes[sample];
            *sum += slope * multiplier.max(0.0);
            *total += multiplier.max(0.0);
        }
        slopes.iter().map(|(sum, total)| if *total > 0.0 { sum / total } else { 0.0 }).collect()
    });
    Ok(Solution { b: solution.x[..p].to_vec(), line_duals, iterations: solution.iterations })
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
