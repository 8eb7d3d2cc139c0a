//! What rows answer to a question.
//!
//! A row's answer depends on that row and on public values only, to the last bit: sums over other
//! rows would make one replaced row move them all.

use super::ask::{Ask, Question};
use crate::problem::{BlackBox, EmpiricalRisk, Failure, Objective, PerSample, Scratch, TILE};
use std::ops::Range;

/// Rows, or a black box with one value per sample.
pub trait Answers: Send + Sync {
    /// `N_k`
    fn rows(&self) -> usize;

    /// How many rows are asked together: sums of plain floats are formed piece by piece, so that
    /// the number of threads changes no bit.
    fn piece(&self) -> usize;

    /// Calls `visit` with the answer of every row of one piece, in order.
    fn answer(
        &self,
        ask: &Ask,
        rows: Range<usize>,
        visit: &mut dyn FnMut(&[f64]),
    ) -> Result<(), Failure>;
}

impl Answers for EmpiricalRisk {
    fn rows(&self) -> usize {
        self.samples.count()
    }

    fn piece(&self) -> usize {
        // Large enough to be worth a thread.
        16 * TILE
    }

    fn answer(
        &self,
        ask: &Ask,
        rows: Range<usize>,
        visit: &mut dyn FnMut(&[f64]),
    ) -> Result<(), Failure> {
        match &ask.question {
            Question::Gradient => gradients(self, &ask.point, rows, visit),
            Question::Majoriser => {
                let largest = self.loss.smoothness().unwrap_or(0.0);
                squares(self, rows, |_| largest, visit);
            }
            Question::Hessian => {
                // A loss without a second derivative is refused by the plan.
                let (loss, samples) = (&self.loss, &self.samples);
                let curvature = |row: usize| {
                    let z = samples.rows.dot(row, &ask.point);
                    loss.curvature(z, samples.targets[row]).unwrap_or(0.0)
                };
                squares(self, rows, curvature, visit);
            }
            Question::Points(points) => values(self, points, rows, visit),
            Question::Values(frame) => {
                let mut scratch = Scratch::default();
                self.sample_quotients(&frame.probe(&ask.point), rows, &mut scratch, visit);
            }
        }
        Ok(())
    }
}

/// The loss of every row at each of these points.
fn values(risk: &EmpiricalRisk, points: &[f64], rows: Range<usize>, visit: &mut dyn FnMut(&[f64])) {
    let columns = risk.samples.rows.width().max(1);
    for row in rows {
        let target = risk.samples.targets[row];
        let value = |w: &[f64]| risk.loss.value(risk.samples.rows.dot(row, w), target);
        visit(&points.chunks_exact(columns).map(value).collect::<Vec<f64>>());
    }
}

/// `loss'(x'w) x` of every row.
fn gradients(risk: &EmpiricalRisk, w: &[f64], rows: Range<usize>, visit: &mut dyn FnMut(&[f64])) {
    let mut answer = vec![0.0; w.len()];
    each_fitted(risk, w, rows, |row, z| {
        let slope = risk.loss.slope(z, risk.samples.targets[row]);
        answer.fill(0.0);
        risk.samples.rows.visit(row, |column, value| answer[column] = slope * value);
        visit(&answer);
    });
}

/// `curvature x x'` of every row: the upper triangle line by line, with what stands twice in the
/// matrix times the root of two.
fn squares(
    risk: &EmpiricalRisk,
    rows: Range<usize>,
    curvature: impl Fn(usize) -> f64,
    visit: &mut dyn FnMut(&[f64]),
) {
    let columns = risk.samples.rows.width();
    let mut answer = vec![0.0; Question::Hessian.coordinates(columns)];
    let mut dense = vec![0.0; columns];
    for row in rows {
        let curvature = curvature(row);
        dense.fill(0.0);
        risk.samples.rows.visit(row, |column, value| dense[column] = value);
        let mut at = 0;
        for p in 0..columns {
            let scaled = curvature * dense[p];
            answer[at] = scaled * dense[p];
            for q in p + 1..columns {
                answer[at + q - p] = std::f64::consts::SQRT_2 * scaled * dense[q];
            }
            at += columns - p;
        }
        visit(&answer);
    }
}

/// `x'w` of every row, tile by tile.
fn each_fitted(
    risk: &EmpiricalRisk,
    w: &[f64],
    rows: Range<usize>,
    mut visit: impl FnMut(usize, f64),
) {
    let mut fitted = [0.0; TILE];
    for first in rows.clone().step_by(TILE) {
        let fitted = &mut fitted[..TILE.min(rows.end - first)];
        risk.samples.rows.times(first, w, fitted);
        fitted.iter().enumerate().for_each(|(i, z)| visit(first + i, *z));
    }
}

impl Answers for BlackBox {
    fn rows(&self) -> usize {
        self.samples()
    }

    fn piece(&self) -> usize {
        // One question to the box for all of them.
        self.samples().max(1)
    }

    fn answer(
        &self,
        ask: &Ask,
        rows: Range<usize>,
        visit: &mut dyn FnMut(&[f64]),
    ) -> Result<(), Failure> {
        // A box gives values only: the plan asks for nothing else.
        match &ask.question {
            Question::Points(points) => {
                let values = self.values(points)?;
                let width = self.samples();
                for row in rows {
                    visit(&values[row..].iter().step_by(width).copied().collect::<Vec<f64>>());
                }
            }
            Question::Values(frame) => {
                let mut scratch = Scratch::default();
                self.sample_quotients(&frame.probe(&ask.point), rows, &mut scratch, visit);
            }
            Question::Gradient | Question::Majoriser | Question::Hessian => {}
        }
        self.failure().map_or(Ok(()), Err)
    }
}
