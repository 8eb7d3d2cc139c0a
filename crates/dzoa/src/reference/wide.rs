//! More columns than a dense system can have.
//!
//! Where a penalty sets most coefficients to zero, the problem on some columns is solved, and
//! columns whose slope the penalty does not balance are added until there are none. Otherwise the
//! minimiser is a sum of rows, and the problem has one unknown per row.

use super::certificate::Dual;
use super::narrow::{free_columns, narrowed};
use super::solve::{self, Proven, proven};
use super::{BySums, MOST_COLUMNS, Optimum, ReferenceError};
use crate::newton::Positive;
use crate::problem::regularizer::Form;
use crate::problem::{Problem, Rows, Samples};
use std::sync::Arc;

/// Columns that are added at once, at least.
const SOME: usize = 300;
/// Slopes beyond the penalty's weight by this share are not balanced.
const UNBALANCED: f64 = 1e-10;
/// Pivots of rows below this share are those of sums of other rows.
const DEPENDENT: f64 = 1e-13;

/// The optimum of many columns.
pub(super) fn optimum(problem: &Problem) -> Result<Optimum, ReferenceError> {
    let has_kinks = match problem.regularizer.form() {
        Form::Separable { l1, .. } => l1 * problem.eta > 0.0,
        Form::Grouped(_) => problem.eta > 0.0,
    };
    if has_kinks { by_columns(problem) } else { by_rows(problem) }
}

/// Columns that are zero together, and the weight of their norm.
struct Together {
    columns: Vec<usize>,
    weight: f64,
}

fn together(problem: &Problem) -> Vec<Together> {
    let penalty = problem.penalty(problem.eta);
    match problem.regularizer.form() {
        Form::Separable { l1, .. } => {
            let one = |p| Together { columns: vec![p], weight: l1 * problem.eta };
            (0..penalty.penalized).map(one).collect()
        }
        Form::Grouped(groups) => {
            let group = |columns: &Vec<usize>| {
                let weight = problem.eta * (columns.len() as f64).sqrt();
                Together { columns: columns.clone(), weight }
            };
            groups.iter().map(group).collect()
        }
    }
}

/// Column by column: those that are needed.
fn by_columns(problem: &Problem) -> Result<Optimum, ReferenceError> {
    let all = together(problem);
    let mut taken = vec![false; problem.dim()];
    free_columns(problem).into_iter().for_each(|p| taken[p] = true);
    let (mut b, mut sums, mut chosen) = (vec![0.0; problem.dim()], 0, None);
    loop {
        let columns: Vec<usize> = (0..problem.dim()).filter(|&p| taken[p]).collect();
        if columns.len() > MOST_COLUMNS {
            let columns = columns.len();
            return Err(ReferenceError::TooManyColumns { columns, most: MOST_COLUMNS });
        }
        if !columns.is_empty() {
            let part = solve::optimum(&narrowed(problem, &columns))?;
            b.fill(0.0);
            columns.iter().zip(&part.optimum.coefficients).for_each(|(&p, found)| b[p] = *found);
            sums += part.optimum.certificate.iterations as usize;
            chosen = Some(part.dual.slopes);
        }
        let dual = Dual::at(problem, &b, chosen.as_deref());
        let excess = |unit: &Together| {
            let square = |&p: &usize| dual.gradient[p] * dual.gradient[p];
            unit.columns.iter().map(square).sum::<f64>().sqrt() / unit.weight
        };
        let left = all.iter().filter(|unit| unit.columns.iter().any(|&p| !taken[p]));
        let mut needed: Vec<(f64, &Together)> = left
            .map(|unit| (excess(unit), unit))
            .filter(|(excess, _)| *excess > 1.0 + UNBALANCED)
            .collect();
        if needed.is_empty() {
            let smooth = problem.loss.smoothness().is_some();
            let slopes = chosen.filter(|_| !smooth);
            return Ok(proven(problem, BySums { b, sums, converged: true, slopes })?.optimum);
        }
        needed.sort_by(|one, other| other.0.total_cmp(&one.0));
        let room = SOME.max(columns.len() / 2);
        needed.iter().take(room).flat_map(|(_, unit)| &unit.columns).for_each(|&p| taken[p] = true);
    }
}

/// One unknown per row: with the penalised columns `X = L Q` and orthonormal rows of Q, `X b = L u`
/// for `u = Q b`, and `||b|| = ||u||` at the minimum.
fn by_rows(problem: &Problem) -> Result<Optimum, ReferenceError> {
    let n: usize = problem.agents.iter().map(|samples| samples.count()).sum();
    if n > MOST_COLUMNS {
        let columns = problem.dim();
        return Err(ReferenceError::TooManyColumns { columns, most: MOST_COLUMNS });
    }
    let factor = Positive::independent(products(problem), n, DEPENDENT);
    let factor = factor.ok_or(ReferenceError::NotSolved)?;
    let lower = factor.lower().ok_or(ReferenceError::NotSolved)?;
    let kept: Vec<usize> = (0..n).filter(|&i| !factor.left_out(i)).collect();
    let Proven { optimum: part, dual } = solve::optimum(&of_rows(problem, &lower, &kept))?;
    let mut u = vec![0.0; n];
    kept.iter().zip(&part.coefficients).for_each(|(&i, found)| u[i] = *found);
    let (shares, mut b, mut first) = (factor.solve_upper(&u), vec![0.0; problem.dim()], 0);
    for samples in &problem.agents {
        samples.rows.add_transposed(&shares[first..first + samples.count()], &mut b);
        first += samples.count();
    }
    if problem.intercept {
        b[problem.dim() - 1] = part.coefficients[kept.len()];
    }
    let sums = part.certificate.iterations as usize;
    let slopes = problem.loss.smoothness().is_none().then_some(dual.slopes);
    Ok(proven(problem, BySums { b, sums, converged: true, slopes })?.optimum)
}

/// `x_i'x_j` over the penalised columns, of all pairs of rows.
fn products(problem: &Problem) -> Vec<f64> {
    let (penalized, mut all) = (problem.penalty(1.0).penalized, Vec::new());
    for samples in &problem.agents {
        for i in 0..samples.count() {
            let mut row = vec![0.0; problem.dim()];
            samples.rows.visit(i, |p, value| row[p] += value);
            row[penalized..].fill(0.0);
            for other in &problem.agents {
                let first = all.len();
                all.resize(first + other.count(), 0.0);
                other.rows.times(0, &row, &mut all[first..]);
            }
        }
    }
    all
}

/// The problem of u: rows of L, and the constant where there is one.
fn of_rows(problem: &Problem, lower: &[f64], kept: &[usize]) -> Problem {
    let n: usize = problem.agents.iter().map(|samples| samples.count()).sum();
    let mut lines = lower.chunks_exact(n);
    let agent = |samples: &Arc<Samples>| {
        let mut values = Vec::new();
        for (i, line) in (0..samples.count()).zip(&mut lines) {
            values.extend(kept.iter().map(|&j| line[j]));
            if problem.intercept {
                let mut constant = 0.0;
                samples.rows.visit(i, |p, x| {
                    if p + 1 == problem.dim() {
                        constant = x;
                    }
                });
                values.push(constant);
            }
        }
        let width = kept.len() + usize::from(problem.intercept);
        let rows = Rows::dense(width, values).expect("finite numbers, row by row");
        Arc::new(Samples { rows, targets: samples.targets.clone() })
    };
    let agents = problem.agents.iter().map(agent).collect();
    let (loss, regularizer) = (problem.loss.clone(), problem.regularizer.clone());
    Problem { loss, regularizer, agents, ..*problem }
}
