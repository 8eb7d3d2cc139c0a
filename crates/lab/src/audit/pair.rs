//! Which neighbouring data set the attacked agent may hold instead.

use dzoa::plan::{Data, Plan};
use dzoa::prelude::*;
use dzoa::primal::Lagrangian;
use dzoa::problem::loss::Targets;
use dzoa::run::evaluate::distance_squared;
use dzoa_report::readable;
use dzoa_table::{Error, Result};
use rayon::prelude::*;
use std::sync::Arc;

/// Two neighbouring data sets.
pub struct Pair {
    /// With one row of the attacked agent replaced.
    pub problem: Problem,
    /// Which, and by what.
    pub description: String,
}

/// The neighbouring data set, among replaced and extreme rows, that moves the first exact update
/// most. Targets from files are bounded by 1.
pub fn worst_pair(plan: &Plan, k: usize, bounded: bool) -> Result<Pair> {
    let Data::Rows(problem) = plan.data() else {
        return Err(Error::run("a program has no rows that could be replaced"));
    };
    let quadratic = plan.admm().rho * plan.at(k).neighbourhood as f64;
    let update = |problem: &Problem| {
        let objective = problem.local(k);
        let linear = vec![0.0; problem.dim()];
        let lagrangian = Lagrangian { objective: &objective, linear, quadratic };
        Exact::new(problem.risk(k), Some(1e-6)).solve(&lagrangian).ok().map(|(b, _)| b)
    };
    let base = update(problem).ok_or_else(|| Error::run("the exact update cannot be computed"))?;
    let best = candidates(problem, k, bounded)
        .into_par_iter()
        .enumerate()
        .filter_map(|(number, candidate)| {
            let problem = candidate.replaces(problem, k);
            let moved = update(&problem)?;
            let distance = distance_squared(&moved, &base);
            Some((distance, number, candidate, problem))
        })
        // The first of equals, so that threads change nothing.
        .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    let (distance, _, Candidate { row, how, .. }, problem) =
        best.ok_or_else(|| Error::run("no neighbouring data set could be made"))?;
    let description = format!(
        "row {} replaced by {how}; it moves the first exact update by {}",
        row + 1,
        readable(distance.sqrt())
    );
    Ok(Pair { problem, description })
}

/// A row to be replaced, and what replaces it.
struct Candidate {
    row: usize,
    how: String,
    x: Vec<f64>,
    y: f64,
}

/// Some of agent k's rows, each with its label exchanged, and as a unit row.
fn candidates(problem: &Problem, k: usize, bounded: bool) -> Vec<Candidate> {
    const ROWS: usize = 16;
    let (samples, width) = (&problem.agents[k], problem.dim());
    let mut found = Vec::new();
    for row in (0..samples.count()).step_by(samples.count().div_ceil(ROWS)) {
        let mut x = vec![0.0; width];
        samples.rows.visit(row, |column, value| x[column] = value);
        let y = match (problem.loss.targets(), samples.targets[row]) {
            (Targets::Signs, y) => -y,
            // Targets are bounded by 1 through the schema; generated ones are not, so mirror them.
            (Targets::Real, y) if bounded => -y.signum(),
            (Targets::Real, y) => -y,
        };
        found.push(Candidate { row, how: "its label exchanged".into(), x, y });
        for p in 0..width.min(8) {
            for sign in [-1.0, 1.0] {
                let mut x = vec![0.0; width];
                x[p] = sign;
                let how = format!("a unit row in column {}", p + 1);
                found.push(Candidate { row, how, x, y });
            }
        }
    }
    found
}

impl Candidate {
    /// The problem with agent k's row replaced.
    fn replaces(&self, problem: &Problem, k: usize) -> Problem {
        let samples = &problem.agents[k];
        let entries = |i: usize| {
            let mut entries = Vec::new();
            match i == self.row {
                true => entries.extend(self.x.iter().copied().enumerate()),
                false => samples.rows.visit(i, |column, value| entries.push((column, value))),
            }
            entries
        };
        let rows = Rows::sparse(problem.dim(), (0..samples.count()).map(entries))
            .expect("the entries come from valid rows");
        let rows = if samples.rows.is_sparse() { rows } else { rows.to_dense() };
        // The other data set keeps what is public about rows.
        let rows = match samples.rows.norm_bound() {
            Some(bound) => rows.within(bound),
            None => rows,
        };
        let mut targets = samples.targets.clone();
        targets[self.row] = self.y;
        let mut other = problem.clone();
        other.agents[k] = Arc::new(Samples { rows, targets });
        other
    }
}
