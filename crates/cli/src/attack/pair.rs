//! Which neighbouring data set the attacked agent may hold instead.

use crate::config::Config;
use crate::error::{Error, Result};
use dzoa::lagrangian::Lagrangian;
use dzoa::prelude::*;
use dzoa::problem::loss::Targets;
use rayon::prelude::*;
use std::sync::Arc;

/// Two neighbouring data sets.
pub struct Pair {
    /// With one row of the attacked agent replaced.
    pub problem: Problem,
    /// Which, and by what.
    pub description: String,
}

/// The neighbouring data set, among replaced and extreme rows, that moves the first exact update most.
pub fn worst_pair(config: &Config, problem: &Problem, graph: &Graph, k: usize) -> Result<Pair> {
    const ROWS: usize = 16;
    let samples = &problem.agents[k];
    let width = problem.dim();
    let quadratic =
        config.algorithm.admm.rho * graph.neighbourhood(k, config.network.self_loop) as f64;
    let update = |problem: &Problem| {
        let objective = problem.local(k);
        let lagrangian = Lagrangian { objective: &objective, linear: vec![0.0; width], quadratic };
        Exact::new(problem.risk(k), Some(1e-6)).solve(&lagrangian).ok().map(|(b, _)| b)
    };
    let base = update(problem).ok_or_else(|| Error::run("the exact update cannot be computed"))?;
    let step = samples.count().div_ceil(ROWS);
    let mut candidates: Vec<(usize, String, Vec<f64>, f64)> = Vec::new();
    for row in (0..samples.count()).step_by(step) {
        let mut x = vec![0.0; width];
        samples.rows.visit(row, |column, value| x[column] = value);
        let y = samples.targets[row];
        let extreme = match problem.loss.targets() {
            Targets::Signs => -y,
            // Targets are bounded by 1 through the schema; generated ones are not, so mirror them.
            Targets::Real if config.schema.is_some() => -y.signum(),
            Targets::Real => -y,
        };
        candidates.push((row, "its label exchanged".into(), x.clone(), extreme));
        for p in 0..width.min(8) {
            for sign in [-1.0, 1.0] {
                let mut unit = vec![0.0; width];
                unit[p] = sign;
                candidates.push((row, format!("a unit row in column {}", p + 1), unit, extreme));
            }
        }
    }
    let replaced = |row: usize, x: &[f64], y: f64| {
        let mut rows: Vec<Vec<(usize, f64)>> = Vec::new();
        for i in 0..samples.count() {
            let mut entries = Vec::new();
            if i == row {
                entries.extend(x.iter().copied().enumerate());
            } else {
                samples.rows.visit(i, |column, value| entries.push((column, value)));
            }
            rows.push(entries);
        }
        let mut targets = samples.targets.clone();
        targets[row] = y;
        let rows = Rows::sparse(width, rows).expect("the entries come from valid rows");
        let rows = if samples.rows.is_sparse() { rows } else { rows.to_dense() };
        // The other data set keeps what is public about rows.
        let cut = samples.rows.norm_bound() == Some(1.0);
        let rows = if cut { rows.into_unit_ball() } else { rows };
        let mut other = problem.clone();
        other.agents[k] = Arc::new(Samples { rows, targets });
        other
    };
    let best = candidates
        .into_par_iter()
        .filter_map(|(row, how, x, y)| {
            let problem = replaced(row, &x, y);
            let moved = update(&problem)?;
            let distance: f64 = moved.iter().zip(&base).map(|(a, b)| (a - b) * (a - b)).sum();
            Some((distance, row, how, problem))
        })
        .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    let (distance, row, how, problem) =
        best.ok_or_else(|| Error::run("no neighbouring data set could be made"))?;
    let description = format!(
        "row {} replaced by {how}; it moves the first exact update by {:.3e}",
        row + 1,
        distance.sqrt()
    );
    Ok(Pair { problem, description })
}
