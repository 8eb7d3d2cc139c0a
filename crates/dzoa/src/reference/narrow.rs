//! The same problem on some of its columns.

use crate::problem::regularizer::{Form, Regularizer};
use crate::problem::{Problem, Rows, Samples};
use std::sync::Arc;

/// The problem in which all other coefficients are zero. Groups of columns must be there as a whole
/// or not at all; the columns are in order.
pub(crate) fn narrowed(problem: &Problem, columns: &[usize]) -> Problem {
    let last = problem.dim() - 1;
    let mut place = vec![None; problem.dim()];
    columns.iter().enumerate().for_each(|(at, &p)| place[p] = Some(at));
    let regularizer = match problem.regularizer.form() {
        Form::Separable { .. } => problem.regularizer.clone(),
        Form::Grouped(groups) => {
            let moved = |group: &Vec<usize>| group.iter().map(|&p| place[p]).collect();
            Regularizer::GroupL1 { groups: groups.iter().filter_map(moved).collect() }
        }
    };
    let agent = |samples: &Arc<Samples>| {
        let rows = rows(&samples.rows, &place, columns.len());
        Arc::new(Samples { rows, targets: samples.targets.clone() })
    };
    Problem {
        loss: problem.loss.clone(),
        regularizer,
        intercept: problem.intercept && columns.last() == Some(&last),
        agents: problem.agents.iter().map(agent).collect(),
        ..*problem
    }
}

fn rows(all: &Rows, place: &[Option<usize>], width: usize) -> Rows {
    let entries = |row: usize| {
        let mut entries = Vec::new();
        all.visit(row, |p, value| entries.extend(place[p].map(|at| (at, value))));
        entries
    };
    let narrow = match all.is_sparse() {
        true => Rows::sparse(width, (0..all.count()).map(entries)),
        false => {
            let values = (0..all.count()).flat_map(entries).map(|(_, value)| value);
            Rows::dense(width, values.collect())
        }
    };
    narrow.expect("the entries come from valid rows")
}

/// Columns that nothing penalises.
pub(super) fn free_columns(problem: &Problem) -> Vec<usize> {
    let dim = problem.dim();
    let mut free = vec![true; dim];
    match problem.regularizer.form() {
        _ if problem.eta <= 0.0 => {}
        Form::Separable { l1, l2 } if l1 + l2 > 0.0 => {
            free[..problem.penalty(1.0).penalized].fill(false);
        }
        Form::Separable { .. } => {}
        Form::Grouped(groups) => groups.iter().flatten().for_each(|&p| free[p] = false),
    }
    (0..dim).filter(|&p| free[p]).collect()
}
