//! Standard errors, intervals and tests of coefficients, from sums over all rows.
//!
//! ```text
//! b       the minimiser of the sum of all rows' losses: every row alike, and no penalty, which
//!         would move it
//! H       the sum of their second derivatives there
//! cov b   H^-1                                  where a loss is minus a log-likelihood
//!         2 s^2 H^-1, s^2 = sum of losses/(N - P)    where it is the square of a residual
//! ```
//!
//! Intervals are those of Wald: of the normal distribution, or of Student's t with N - P degrees of
//! freedom where the variance was estimated. A column that is a sum of others has no coefficient of
//! its own: it is left out, as R does, and named.

mod estimate;

pub use estimate::{Estimate, Judged};

use crate::newton::{Expansion, MOST_COLUMNS, Positive};
use crate::problem::loss::{Likelihood, Targets};
use crate::problem::regularizer::Regularizer;
use crate::problem::{Problem, Samples, Scale};
use crate::reference::{self, ReferenceError};
use std::sync::Arc;
use thiserror::Error;

/// What all rows together say about every coefficient, and how surely.
#[derive(Clone, Debug, PartialEq)]
pub struct Inference {
    /// N, over all agents.
    pub rows: usize,
    /// Degrees of freedom of Student's t; `None` where intervals are those of the normal
    /// distribution.
    pub freedom: Option<f64>,
    /// Columns, the constant among them.
    columns: usize,
    /// Columns that have a coefficient, in order.
    kept: Vec<usize>,
    /// Columns that have none, since all rows with their level are of one class.
    one_sided: Vec<usize>,
    /// The estimates of those that have one.
    estimates: Vec<f64>,
    /// Their covariances, line by line.
    covariance: Vec<f64>,
}

/// Why there are no intervals.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum NoInference {
    /// The loss is no likelihood.
    #[error("the loss `{0}` says nothing about how targets scatter, so there are no intervals")]
    NoLikelihood(&'static str),
    /// Too many columns for a matrix of second derivatives.
    #[error("intervals need second derivatives, and {0} columns are too many for these")]
    TooManyColumns(usize),
    /// Nothing is left to estimate a variance from.
    #[error("{columns} coefficients from {rows} rows leave no rows to tell how sure they are")]
    FewRows {
        /// N.
        rows: usize,
        /// P, without columns that depend on others.
        columns: usize,
    },
    /// The rows alone determine nothing finite.
    #[error("without a penalty there are no coefficients: {0}")]
    NoEstimate(#[from] ReferenceError),
    /// The matrix of second derivatives is not one of finite numbers, or is singular.
    #[error("the second derivatives at the estimate determine no standard errors")]
    Singular,
}

impl Inference {
    /// From all rows of all agents, as they are.
    pub fn new(problem: &Problem) -> Result<Self, NoInference> {
        let (loss, columns) = (&problem.loss, problem.dim());
        let likelihood = loss.likelihood().ok_or_else(|| NoInference::NoLikelihood(loss.name()))?;
        if columns > MOST_COLUMNS {
            return Err(NoInference::TooManyColumns(columns));
        }
        let alike = Problem {
            regularizer: Regularizer::None,
            eta: 0.0,
            scale: Scale::Sum,
            ..problem.clone()
        };
        let Fitted { alike, kept, estimates, one_sided } = fitted(alike)?;
        let rows = telling_rows(&alike, likelihood);
        if rows <= kept.len() {
            return Err(NoInference::FewRows { rows, columns: kept.len() });
        }
        let there = expansion(&alike, &estimates);
        let left = (rows - kept.len()) as f64;
        let (dispersion, freedom) = match likelihood {
            Likelihood::Whole => (1.0, None),
            Likelihood::SquaredResidual => (2.0 * there.value / left, Some(left)),
        };
        let mut covariance = inverse(there.hessian, kept.len()).ok_or(NoInference::Singular)?;
        covariance.iter_mut().for_each(|entry| *entry *= dispersion);
        Ok(Self { rows, freedom, columns, kept, one_sided, estimates, covariance })
    }

    /// Columns whose coefficients grow for ever: all rows with their level are of one class. Those
    /// rows fit however large it is, and say nothing about the others.
    pub fn one_sided(&self) -> &[usize] {
        &self.one_sided
    }

    /// The coefficient of a column; `None` where that is a sum of others, or grows for ever.
    pub fn coefficient(&self, column: usize) -> Option<Estimate> {
        self.kept.binary_search(&column).ok()?;
        let mut line = vec![0.0; self.columns];
        line[column] = 1.0;
        Some(self.combination(&line))
    }

    /// All estimates and their covariances, line by line, for whoever sums them up by themselves:
    /// zero for columns that were left out.
    pub fn dense(&self) -> (Vec<f64>, Vec<f64>) {
        let (all, few) = (self.columns, self.kept.len());
        let (mut estimates, mut covariance) = (vec![0.0; all], vec![0.0; all * all]);
        for (i, &p) in self.kept.iter().enumerate() {
            estimates[p] = self.estimates[i];
            for (j, &q) in self.kept.iter().enumerate() {
                covariance[p * all + q] = self.covariance[i * few + j];
            }
        }
        (estimates, covariance)
    }

    /// A sum of coefficients, each times a number; those of columns that were left out are zero.
    pub fn combination(&self, line: &[f64]) -> Estimate {
        let line: Vec<f64> = self.kept.iter().map(|&column| line[column]).collect();
        let times = |other: &[f64]| line.iter().zip(other).map(|(a, b)| a * b).sum::<f64>();
        let spread: Vec<f64> = self.covariance.chunks_exact(line.len()).map(times).collect();
        Estimate { value: times(&self.estimates), error: times(&spread).max(0.0).sqrt() }
    }

    /// An estimate with its test and its interval of so much confidence.
    pub fn judged(&self, estimate: Estimate, confidence: f64) -> Judged {
        estimate.judged(self.freedom, confidence)
    }
}

/// The fit without a penalty, and what it is of.
struct Fitted {
    /// The rows that say something about its columns.
    alike: Problem,
    kept: Vec<usize>,
    estimates: Vec<f64>,
    one_sided: Vec<usize>,
}

/// Fits all columns that are no sum of others. Where there is no fit, a level all of whose rows are
/// of one class is the usual reason: at its limit they fit exactly, and the others are fitted
/// without them.
fn fitted(mut all: Problem) -> Result<Fitted, NoInference> {
    let mut one_sided = Vec::new();
    loop {
        let kept = independent_columns(&all).ok_or(NoInference::Singular)?;
        let alike = match kept.len() == all.dim() {
            true => all.clone(),
            false => reference::narrowed(&all, &kept),
        };
        let error = match reference::optimum(&alike) {
            Ok(optimum) => {
                let estimates = optimum.coefficients;
                return Ok(Fitted { alike, kept, estimates, one_sided });
            }
            Err(error) => error,
        };
        let lone = one_sided_levels(&alike);
        if lone.is_empty() {
            return Err(error.into());
        }
        one_sided.extend(lone.iter().map(|(column, _)| kept[*column]));
        let before = all.agents.iter().map(|samples| samples.count()).sum::<usize>();
        let left = |(samples, few): (&Arc<Samples>, &Arc<Samples>)| {
            // The same rows, with the columns that were kept.
            let rows: Vec<usize> = (0..few.count()).filter(|&i| !has_any(few, i, &lone)).collect();
            (!rows.is_empty()).then(|| Arc::new(samples.select(&rows)))
        };
        all.agents = all.agents.iter().zip(&alike.agents).filter_map(left).collect();
        let rows: usize = all.agents.iter().map(|samples| samples.count()).sum();
        if rows == 0 || rows == before {
            return Err(error.into());
        }
    }
}

/// Whether a row has one of these levels.
fn has_any(samples: &Samples, row: usize, levels: &[(usize, f64)]) -> bool {
    let mut has = false;
    samples.rows.visit(row, |column, value| has |= levels.contains(&(column, value)));
    has
}

/// Columns of two values all of whose rows with the larger one are of one class, and that value.
fn one_sided_levels(problem: &Problem) -> Vec<(usize, f64)> {
    let constant = problem.dim() - usize::from(problem.intercept);
    if problem.loss.targets() != Targets::Signs {
        return Vec::new();
    }
    let mut levels = vec![TwoLevels::default(); constant];
    let mut values = vec![0.0; problem.dim()];
    for samples in &problem.agents {
        let targets = samples.targets.iter().enumerate();
        // Rows without a target are of no class.
        for (row, target) in targets.filter(|(row, _)| samples.rows.norm_squared(*row) > 0.0) {
            values.fill(0.0);
            samples.rows.visit(row, |column, value| values[column] = value);
            levels.iter_mut().zip(&values).for_each(|(level, value)| level.note(*value, *target));
        }
    }
    let found = levels.iter().enumerate();
    found.filter_map(|(column, levels)| Some((column, levels.one_sided()?))).collect()
}

/// The classes at each of a column's two values, as long as it has no more.
#[derive(Clone, Debug, Default)]
struct TwoLevels {
    /// A value, and whether rows of either class have it.
    seen: Vec<(f64, [bool; 2])>,
}

impl TwoLevels {
    fn note(&mut self, value: f64, target: f64) {
        let class = usize::from(target > 0.0);
        let known = self.seen.iter().position(|(known, _)| *known == value);
        match known {
            Some(at) => self.seen[at].1[class] = true,
            None if self.seen.len() <= 2 => self.seen.push((value, [class == 0, class == 1])),
            None => {}
        }
    }

    /// The larger value, if it is one of two and its rows are of one class.
    fn one_sided(&self) -> Option<f64> {
        let [(a, classes), (b, others)] = self.seen.as_slice() else { return None };
        let (level, [no, yes]) = if a > b { (*a, classes) } else { (*b, others) };
        (no != yes).then_some(level)
    }
}

/// Rows that say something: those without a target stand among the others as rows of zeros, without
/// even a constant, and with a target of zero where that is a number.
fn telling_rows(problem: &Problem, likelihood: Likelihood) -> usize {
    let numbers = likelihood == Likelihood::SquaredResidual;
    let tells = |samples: &Samples, i: usize| {
        samples.rows.norm_squared(i) > 0.0 || (numbers && samples.targets[i] != 0.0)
    };
    let of_one =
        |samples: &Arc<Samples>| (0..samples.count()).filter(|&i| tells(samples, i)).count();
    problem.agents.iter().map(of_one).sum()
}

/// Columns that are no sum of others. The constant comes first, and then the columns in order: of
/// columns that depend on each other the later ones are left out.
fn independent_columns(problem: &Problem) -> Option<Vec<usize>> {
    let n = problem.dim();
    let flat = vec![1.0; problem.agents.iter().map(|samples| samples.count()).sum()];
    let gram = reference::gram(problem, &flat);
    let last = n.checked_sub(1)?;
    let order: Vec<usize> = match problem.intercept {
        true => std::iter::once(last).chain(0..last).collect(),
        false => (0..n).collect(),
    };
    let entry = |at: usize| gram[order[at / n] * n + order[at % n]];
    let factor = Positive::of((0..n * n).map(entry).collect(), n)?;
    let found = order.iter().enumerate().filter(|(at, _)| !factor.left_out(*at));
    let mut kept: Vec<usize> = found.map(|(_, &column)| column).collect();
    kept.sort_unstable();
    Some(kept)
}

/// All agents' sums together.
fn expansion(problem: &Problem, b: &[f64]) -> Expansion {
    let mut sum = Expansion::zero(b.len(), true);
    (0..problem.agents.len()).for_each(|k| sum.add(&Expansion::of(&problem.risk(k), b, true)));
    sum
}

/// The inverse of a positive definite matrix, line by line.
fn inverse(matrix: Vec<f64>, n: usize) -> Option<Vec<f64>> {
    let factor = Positive::of(matrix, n).filter(|factor| factor.rank() == n)?;
    let line = |i: usize| factor.solve(&(0..n).map(|j| f64::from(i == j)).collect::<Vec<f64>>());
    let inverse: Vec<f64> = (0..n).flat_map(line).collect();
    inverse.iter().all(|entry| entry.is_finite()).then_some(inverse)
}
