//! The solvers behind the reference: Newton steps where the loss is smooth, the interior-point
//! method where it is made of lines.

use super::certificate::{Certificate, Dual, certify, gram};
use super::narrow::{free_columns, narrowed};
use super::{BySums, Optimum, ReferenceError};
use crate::newton::{self, Expansion, KinkObjective, NewtonLimits, Positive};
use crate::problem::Problem;
use crate::problem::loss::Epigraph;

/// Iterations of the interior-point method.
const MOST_ITERATIONS: usize = 200;
/// Sums of Newton's method. Where there is no minimiser it goes on for ever, a step of about 1 in
/// the predictions each time: their exponentials are still numbers here.
const MOST_SUMS: usize = 200;
/// The largest gap that is called an optimum, as a share of the objective, and as one of the
/// objective at zero: what rounding may leave of it.
const GAP: f64 = 1e-7;
const ROUNDING: f64 = 1e-13;
/// The same for stationarity, as a share of the terms of the gradient.
const STATIONARY: f64 = 1e-9;
/// Curvatures below this share of the largest possible vanish.
const VANISHES: f64 = 1e-10;

/// An optimum, and the slopes that prove it.
pub(super) struct Proven {
    pub(super) optimum: Optimum,
    pub(super) dual: Dual,
}

/// The optimum from one dense system per step.
pub(super) fn optimum(problem: &Problem) -> Result<Proven, ReferenceError> {
    let smooth = problem.loss.smoothness().is_some();
    if !smooth && !has_lines(problem) {
        return Err(ReferenceError::NoSolver(problem.loss.name()));
    }
    if problem.value(&vec![0.0; problem.dim()]) == 0.0 {
        let slopes = Some(vec![0.0; problem.agents.iter().map(|agent| agent.count()).sum()]);
        let at_zero = BySums { b: vec![0.0; problem.dim()], sums: 0, converged: true, slopes };
        if let Ok(found) = proven(problem, at_zero) {
            return Ok(found);
        }
    }
    if smooth {
        match newton_optimum(problem, &vec![0.0; problem.dim()]) {
            Err(ReferenceError::NotSolved | ReferenceError::Uncertified { .. })
                if has_lines(problem) => {}
            end => return end,
        }
    }
    let end = by_interior(problem, MOST_ITERATIONS).ok_or(ReferenceError::NotSolved)?;
    let found = proven(problem, end.clone());
    match smooth {
        // From there the pieces of the loss are known, and a few steps have all digits.
        true => newton_optimum(problem, &end.b).or(found),
        false => found,
    }
}

fn newton_optimum(problem: &Problem, start: &[f64]) -> Result<Proven, ReferenceError> {
    let limits = NewtonLimits { sums: MOST_SUMS, ..NewtonLimits::default() };
    let end = by_newton(problem, start, limits).ok_or(ReferenceError::NotSolved)?;
    if recedes(problem, &end.b) {
        return Err(ReferenceError::NoMinimiser);
    }
    proven(problem, end)
}

/// The end of a solver, if it is an optimum.
pub(super) fn proven(problem: &Problem, end: BySums) -> Result<Proven, ReferenceError> {
    let (certificate, dual) = certify(problem, &end.b, end.slopes.as_deref());
    let certificate = Certificate { iterations: end.sums as u32, ..certificate };
    let objective = problem.value(&end.b);
    let stationarity = certificate.stationarity;
    let (gap, most) = match certificate.duality_gap {
        Some(gap) => {
            let at_zero = problem.value(&vec![0.0; problem.dim()]);
            (gap, (GAP * objective.abs()).max(ROUNDING * at_zero.abs()))
        }
        None => {
            let size = dual.sizes.iter().copied().fold(1.0, f64::max);
            (stationarity, STATIONARY * size)
        }
    };
    // Not a number is no proof.
    if gap <= most {
        let optimum = Optimum { coefficients: end.b, objective, certificate };
        return Ok(Proven { optimum, dual });
    }
    let duality_gap = certificate.duality_gap;
    Err(ReferenceError::Uncertified { objective, duality_gap, stationarity })
}

/// Newton steps from a point; `None` where the loss is not smooth or they do not end.
pub(super) fn by_newton(problem: &Problem, start: &[f64], limits: NewtonLimits) -> Option<BySums> {
    problem.loss.smoothness()?;
    let risks: Vec<_> = (0..problem.agents.len()).map(|k| problem.risk(k)).collect();
    let penalty = problem.penalty(problem.eta);
    let mut expand = |b: &[f64], with_hessian: bool| {
        let mut sum = Expansion::zero(b.len(), with_hessian);
        risks.iter().for_each(|risk| sum.add(&Expansion::of(risk, b, with_hessian)));
        sum
    };
    let end = newton::minimise(&mut expand, &penalty, start, Vec::new(), limits)?;
    Some(BySums { b: end.b, sums: end.sums, converged: end.converged, slopes: None })
}

/// The interior-point method; `None` where the loss is not made of lines or it does not end.
pub(super) fn by_interior(problem: &Problem, most: usize) -> Option<BySums> {
    let risks: Vec<_> = (0..problem.agents.len()).map(|k| problem.risk(k)).collect();
    let (penalty, linear) = (problem.penalty(problem.eta), vec![0.0; problem.dim()]);
    let (risks, penalty, linear) = (&risks, &penalty, &linear);
    let objective = KinkObjective { risks, penalty, linear, quadratic: 0.0 };
    let end = newton::minimise_kinks(&objective, most)?;
    let slopes = Some(end.slopes);
    Some(BySums { b: end.b, sums: end.iterations, converged: end.converged, slopes })
}

/// Whether the loss is made of lines, rounded off or not.
fn has_lines(problem: &Problem) -> bool {
    let first = problem.agents.iter().flat_map(|samples| &samples.targets).next();
    let epigraph = first.and_then(|&y| problem.loss.epigraph(y));
    matches!(epigraph, Some(Epigraph::Lines(_) | Epigraph::Rounded { .. }))
}

/// Whether the curvature has vanished in a direction that nothing penalises, as it does on the way
/// to infinity, though the rows do not lie in a plane there.
fn recedes(problem: &Problem, b: &[f64]) -> bool {
    let free = free_columns(problem);
    let Some(most) = problem.loss.smoothness() else { return false };
    let mut curvatures = Vec::new();
    for samples in &problem.agents {
        let at = |(i, y): (usize, &f64)| {
            problem.loss.curvature(samples.rows.dot(i, b), *y).unwrap_or(0.0)
        };
        curvatures.extend(samples.targets.iter().enumerate().map(at));
    }
    // A loss that is a line somewhere has no curvature there, and no way to infinity.
    let vanishing = |bend: &f64| *bend > 0.0 && *bend < VANISHES * most;
    if free.is_empty() || !curvatures.iter().any(vanishing) {
        return false;
    }
    let part = narrowed(problem, &free);
    let (n, flat) = (free.len(), vec![most; curvatures.len()]);
    let (bend, most_bent) = (gram(&part, &curvatures), gram(&part, &flat));
    let Some(whole) = Positive::of(most_bent.clone(), n) else { return false };
    let kept: Vec<usize> = (0..n).filter(|&i| !whole.left_out(i)).collect();
    let pairs = kept.iter().flat_map(|&i| kept.iter().map(move |&j| i * n + j));
    let rest: Vec<f64> = pairs.map(|at| bend[at] - VANISHES * most_bent[at]).collect();
    Positive::of(rest, kept.len()).is_none_or(|rest| rest.rank() < kept.len())
}
