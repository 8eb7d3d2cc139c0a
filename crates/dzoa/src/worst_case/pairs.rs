//! Neighbouring data sets that push an update as far apart as it will go.

use crate::problem::Problem;
use crate::problem::data::{Rows, Samples};
use crate::problem::loss::Targets;
use std::sync::Arc;

/// Which rows are one person's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Person {
    pub(super) first: usize,
    pub(super) rows: usize,
}

impl Person {
    fn has(&self, row: usize) -> bool {
        (self.first..self.first + self.rows).contains(&row)
    }
}

/// One row and its target.
#[derive(Clone, Debug)]
struct LabelledRow {
    row: Vec<f64>,
    target: f64,
}

/// One person's row in two neighbouring data sets.
#[derive(Clone, Debug)]
pub(super) struct RowPair {
    one: LabelledRow,
    other: LabelledRow,
    how: &'static str,
    length: f64,
}

/// Pairs of opposite rows around the point where slopes are taken.
///
/// Rows `r (h e + c t)` and `r (h e - c t)` with `e` along the point and `t` at a right angle: both
/// slopes are saturated once the point is far out along `e`, and their gradients point against each
/// other but for `h`. Exchanged targets and mirrored rows do the same to losses that saturate
/// without help.
pub(super) fn pairs(problem: &Problem, k: usize, point: &[f64]) -> Vec<RowPair> {
    /// How far rows lean towards the point.
    const LEANS: [f64; 3] = [0.0, 0.05, 0.5];
    let (along, across) = frame(point);
    // As long as rows may be; where nothing limits them, longer than any clip lets through.
    let lengths = match problem.agents[k].rows.norm_bound() {
        Some(bound) => vec![bound],
        None => vec![1.0, 30.0, 1e4],
    };
    let targets: &[f64] = match problem.loss.targets() {
        Targets::Signs => &[1.0],
        Targets::Real => &[1.0, 1e6],
    };
    let mut found = Vec::new();
    for &length in &lengths {
        let scaled = |v: &[f64]| v.iter().map(|v| length * v).collect::<Vec<f64>>();
        // For Hessians: rows whose slope is saturated have no curvature, one across them has all of
        // it.
        for target in [1.0, -1.0] {
            let one = LabelledRow { row: scaled(&along), target };
            let other = LabelledRow { row: scaled(&across), target };
            found.push(RowPair { one, other, how: "a row at a right angle", length });
        }
        for lean in LEANS {
            let row = |side: f64| -> Vec<f64> {
                let rest = side * (1.0 - lean * lean).sqrt();
                along.iter().zip(&across).map(|(e, t)| length * (lean * e + rest * t)).collect()
            };
            let mirrored = || row(1.0).iter().map(|x| -x).collect();
            for target in targets.iter().flat_map(|&y| [y, -y]) {
                let one = LabelledRow { row: row(1.0), target };
                for (row, target, how) in [
                    (row(-1.0), target, "the row on the other side"),
                    (row(1.0), -target, "the same row with the opposite target"),
                    (mirrored(), target, "the opposite row"),
                ] {
                    let other = LabelledRow { row, target };
                    found.push(RowPair { one: one.clone(), other, how, length });
                }
            }
        }
    }
    found
}

/// Unit vectors along the point and at a right angle to it; in one dimension both are the same.
fn frame(point: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let unit = |v: Vec<f64>| {
        let norm = v.iter().map(|v| v * v).sum::<f64>().sqrt();
        (norm > 1e-9).then(|| v.iter().map(|v| v / norm).collect::<Vec<f64>>())
    };
    let along = unit(point.to_vec())
        .or_else(|| unit(vec![1.0; point.len()]))
        .unwrap_or_else(|| point.to_vec());
    let off = |v: Vec<f64>| {
        let dot: f64 = v.iter().zip(&along).map(|(v, e)| v * e).sum();
        unit(v.iter().zip(&along).map(|(v, e)| v - dot * e).collect())
    };
    // Alternating signs, for penalties that push coordinate by coordinate; the first axis where
    // they fail.
    let signs = (0..point.len()).map(|p| if p % 2 == 0 { 1.0 } else { -1.0 }).collect();
    let axis = (0..point.len()).map(|p| if p == 0 { 1.0 } else { 0.0 }).collect();
    let across = off(signs).or_else(|| off(axis)).unwrap_or_else(|| along.clone());
    (along, across)
}

impl RowPair {
    /// In words.
    pub(super) fn description(&self) -> String {
        format!("{} of norm {}", self.how, self.length)
    }

    /// Both data sets: the person's rows are the pair's, all others the pair's first row.
    pub(super) fn alone(&self, samples: &Samples, person: Person) -> Option<[Arc<Samples>; 2]> {
        let base = |_| self.one.clone();
        self.both(samples, person, base)
    }

    /// Both data sets: the person's rows are the pair's, all others the agent's own.
    pub(super) fn among(&self, samples: &Samples, person: Person) -> Option<[Arc<Samples>; 2]> {
        let own = |i| {
            let mut row = vec![0.0; samples.rows.width()];
            samples.rows.visit(i, |p, x| row[p] += x);
            LabelledRow { row, target: samples.targets[i] }
        };
        self.both(samples, person, own)
    }

    fn both(
        &self,
        samples: &Samples,
        person: Person,
        base: impl Fn(usize) -> LabelledRow,
    ) -> Option<[Arc<Samples>; 2]> {
        let with = |replaced: &LabelledRow| {
            let (mut values, mut targets) = (Vec::new(), Vec::new());
            for i in 0..samples.count() {
                let theirs = person.has(i);
                let sample = if theirs { replaced.clone() } else { base(i) };
                values.extend(sample.row);
                targets.push(sample.target);
            }
            let rows = Rows::dense(samples.rows.width(), values).ok()?;
            // No longer than the agent's own rows may be, not by a rounding.
            let rows = match samples.rows.norm_bound() {
                Some(bound) => rows.within(bound),
                None => rows,
            };
            Samples::new(rows, targets).ok().map(Arc::new)
        };
        Some([with(&self.one)?, with(&self.other)?])
    }
}
