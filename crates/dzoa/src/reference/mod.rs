//! The centralised optimum `beta^c`, with a certificate.
//!
//! Few rows become a conic program for Clarabel, which knows every built-in loss and regulariser. A
//! few Newton steps on the support then polish the smooth cases to full precision. Many rows are
//! solved by proximal Newton steps ([`crate::newton`]) where the loss is smooth, and by an
//! interior-point method of our own where it has kinks: their systems have one unknown per column.
//! The certificate is computed here from the point that was found: a duality gap, not the solver's
//! word.

mod conic;

use crate::newton::{self, Expansion, KinkObjective, NewtonLimits};
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
    /// Iterations of the solver.
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
    /// Nobody wants it.
    #[error("it was not asked for")]
    NotAsked,
    /// It is left out by default, since it would take long.
    #[error(
        "it would take about {seconds:.0} s, and at most {most} s are spent unasked; \
         run.reference = \"always\" computes it"
    )]
    TakesLong {
        /// What it would take, roughly.
        seconds: f64,
        /// What is spent by default.
        most: f64,
    },
}

/// Whether the optimum is computed beside a run, which does not need it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReferenceWish {
    /// Where it takes less than about [`MOST_SECONDS`].
    #[default]
    Auto,
    /// However long it takes.
    Always,
    /// Not at all.
    Never,
}

/// What the optimum may take where nobody asked for it, by a rough count of operations.
pub const MOST_SECONDS: f64 = 60.0;

/// The optimum, as far as it is wished for.
pub fn wished_optimum(problem: &Problem, wish: ReferenceWish) -> Result<Optimum, ReferenceError> {
    let (own, independent) = rough_seconds(problem);
    let seconds = own.unwrap_or(independent);
    match wish {
        ReferenceWish::Never => Err(ReferenceError::NotAsked),
        ReferenceWish::Auto if seconds > MOST_SECONDS => {
            Err(ReferenceError::TakesLong { seconds, most: MOST_SECONDS })
        }
        // Our own solver is quick, and Clarabel would not be.
        ReferenceWish::Auto if independent > MOST_SECONDS => own_optimum(problem)
            .ok_or(ReferenceError::TakesLong { seconds: independent, most: MOST_SECONDS }),
        ReferenceWish::Auto | ReferenceWish::Always => optimum(problem),
    }
}

/// What our own solver and Clarabel would take, roughly, on one core of a plain machine.
fn rough_seconds(problem: &Problem) -> (Option<f64>, f64) {
    let entries: usize = problem.agents.iter().map(|samples| samples.rows.stored()).sum();
    let gram = entries as f64 * problem.dim() as f64;
    let smooth = problem.loss.smoothness().is_some();
    let own = problem.regularizer.separable().is_some() && problem.dim() <= newton::MOST_COLUMNS;
    (own.then_some(gram * if smooth { 4e-9 } else { 2e-8 }), entries as f64 * 5e-5)
}

/// Entries of all rows up to which Clarabel solves: it takes a blink there, and is not ours.
const FEW_ENTRIES: usize = 10_000;
/// A larger violation of stationarity, and Clarabel is asked after all.
const STATIONARY: f64 = 1e-7;

/// Minimises eq. (1).
#[doc(alias = "beta^c")]
pub fn optimum(problem: &Problem) -> Result<Optimum, ReferenceError> {
    let entries: usize = problem.agents.iter().map(|samples| samples.rows.stored()).sum();
    match entries <= FEW_ENTRIES {
        true => independent_optimum(problem),
        false => own_optimum(problem).map_or_else(|| independent_optimum(problem), Ok),
    }
}

/// Minimises eq. (1) by Clarabel, however many rows there are: the independent check.
pub fn independent_optimum(problem: &Problem) -> Result<Optimum, ReferenceError> {
    let Solution { mut b, line_duals, iterations } = conic::solve(problem)?;
    polish(problem, &mut b);
    let certificate = certify(problem, &b, line_duals.as_deref(), iterations);
    Ok(Optimum { objective: problem.value(&b), coefficients: b, certificate })
}

/// Minimises eq. (1) by our own solvers, where they can and come near enough.
fn own_optimum(problem: &Problem) -> Option<Optimum> {
    let limits = NewtonLimits::default();
    let found = by_sums(problem, limits).filter(|found| found.converged)?;
    let iterations = found.sums as u32;
    let certificate = certify(problem, &found.b, found.slopes.as_deref(), iterations);
    let near = certificate.stationarity <= STATIONARY;
    let objective = problem.value(&found.b);
    near.then_some(Optimum { objective, coefficients: found.b, certificate })
}

/// The minimiser of eq. (1) from nothing but sums over all rows at points that everybody knows.
#[derive(Clone, Debug, PartialEq)]
pub struct BySums {
    /// The minimiser.
    pub b: Vec<f64>,
    /// How often everybody's sums were asked for.
    pub sums: usize,
    /// Whether the last step was as short as it should be.
    pub converged: bool,
    /// For a loss with kinks: the slope that the multipliers choose, per sample.
    slopes: Option<Vec<f64>>,
}

/// Minimises eq. (1) from sums of derivatives, which agents can flood over any network: value,
/// gradient and Hessian of their data terms where the loss is smooth; where it has a kink, the sums
/// of an interior-point method. `None` where loss or penalty allow neither.
pub fn by_sums(problem: &Problem, limits: NewtonLimits) -> Option<BySums> {
    if problem.dim() > newton::MOST_COLUMNS {
        return None;
    }
    let risks: Vec<_> = (0..problem.agents.len()).map(|k| problem.risk(k)).collect();
    let (penalty, start) = (problem.penalty(problem.eta), vec![0.0; problem.dim()]);
    if problem.loss.smoothness().is_none() {
        let (risks, penalty, linear) = (&risks, &penalty, &start);
        let objective = KinkObjective { risks, penalty, linear, quadratic: 0.0 };
        let end = newton::minimise_kinks(&objective, limits.sums)?;
        let slopes = Some(end.slopes);
        return Some(BySums { b: end.b, sums: end.iterations, converged: end.converged, slopes });
    }
    let mut expand = |b: &[f64], with_hessian: bool| {
        let mut sum = Expansion::zero(b.len(), with_hessian);
        risks.iter().for_each(|risk| sum.add(&Expansion::of(risk, b, with_hessian)));
        sum
    };
    let end = newton::minimise(&mut expand, &penalty, &start, Vec::new(), limits)?;
    Some(BySums { b: end.b, sums: end.sums, converged: end.converged, slopes: None })
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
