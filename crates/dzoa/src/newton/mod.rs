//! Proximal Newton steps: a sum of smooth functions and a penalty, minimised from sums of
//! derivatives, whoever forms them.
//!
//! It needs few sums and no step size, however badly the columns are conditioned: the centralised
//! optimum of many rows, an agent's own minimiser, and agents that tell each other their sums.
//! A Hessian is kept as long as steps with it shrink. Losses of lines have an interior-point method
//! from sums of the same kind.

mod cones;
mod expansion;
mod groups;
mod kinks;
mod model;
mod positive;
mod program;

pub use expansion::Expansion;
pub use kinks::{KinkEnd, minimise_kinks};
pub use program::KinkObjective;

use crate::problem::regularizer::Penalty;
use model::model_minimiser;
pub(crate) use positive::Positive;

/// Beyond so many columns a Hessian is too large to be worth it.
pub const MOST_COLUMNS: usize = 2000;

/// A step that is not shorter than this share of the last asks for a new Hessian.
const SHRINKS: f64 = 0.1;
/// Halvings of one step.
const MOST_HALVINGS: usize = 60;
/// The share of the predicted decrease that a step must keep.
const DECREASE: f64 = 1e-4;
/// Decreases below this share of the value cannot be told from rounding.
const NO_DECREASE: f64 = 1e-13;

/// When the steps end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewtonLimits {
    /// Sums that are asked for at most.
    pub sums: usize,
    /// A step that moves no coordinate by more than this share of the largest is the last.
    pub step: f64,
}

impl Default for NewtonLimits {
    fn default() -> Self {
        Self { sums: 500, step: 1e-14 }
    }
}

/// Where the steps ended.
#[derive(Clone, Debug, PartialEq)]
pub struct NewtonEnd {
    /// The point.
    pub b: Vec<f64>,
    /// Sums that were asked for.
    pub sums: usize,
    /// The largest coordinate of the last step.
    pub last_step: f64,
    /// Whether the last step was as short as rounding or the limits allow.
    pub converged: bool,
    /// The last Hessian, for a problem nearby.
    pub hessian: Vec<f64>,
}

/// Minimises `sum(b) + penalty(b)` from `start`, where `expand(b, with_hessian)` forms the sum.
/// A Hessian of a problem nearby, or an empty one, begins. `None` where no step exists.
pub fn minimise(
    expand: &mut dyn FnMut(&[f64], bool) -> Expansion,
    penalty: &Penalty,
    start: &[f64],
    known: Vec<f64>,
    limits: NewtonLimits,
) -> Option<NewtonEnd> {
    let mut b = start.to_vec();
    let mut here = expand(&b, known.is_empty());
    let mut hessian = if known.is_empty() { std::mem::take(&mut here.hessian) } else { known };
    let (mut sums, mut last_step, mut fresh) = (1, f64::INFINITY, false);
    while sums < limits.sums {
        let aim = model_minimiser(&here.gradient, &hessian, &b, penalty)?;
        let step: Vec<f64> = aim.iter().zip(&b).map(|(aim, b)| aim - b).collect();
        let length = largest(&step);
        if !length.is_finite() {
            return None;
        }
        let shrinks = length <= SHRINKS * last_step;
        if length <= limits.step * (1.0 + largest(&b)) || (fresh && small(length, &b) && !shrinks) {
            let (b, last_step) = (aim, length);
            return Some(NewtonEnd { b, sums, last_step, converged: true, hessian });
        }
        if !shrinks && !fresh && last_step.is_finite() {
            // The Hessian is an old one, and no longer good enough.
            let there = expand(&b, true);
            (here, hessian, sums, fresh) = renewed(there, sums);
            continue;
        }
        let predicted = dot(&here.gradient, &step) + penalty.value(&aim) - penalty.value(&b);
        let mut along = Line { expand, penalty, from: &b, step: &step, value: here.value };
        let (next, there, asked) = along.search(predicted)?;
        sums += asked;
        (b, here, last_step, fresh) = (next, there, length, false);
    }
    Some(NewtonEnd { b, sums, last_step, converged: false, hessian })
}

/// A new Hessian, and the sums as they are with it.
fn renewed(mut there: Expansion, sums: usize) -> (Expansion, Vec<f64>, usize, bool) {
    let hessian = std::mem::take(&mut there.hessian);
    (there, hessian, sums + 1, true)
}

/// Whether a step is so short that only rounding keeps it from shrinking.
fn small(length: f64, b: &[f64]) -> bool {
    length <= 1e-9 * (1.0 + largest(b))
}

/// The way along one step.
struct Line<'a> {
    expand: &'a mut dyn FnMut(&[f64], bool) -> Expansion,
    penalty: &'a Penalty,
    from: &'a [f64],
    step: &'a [f64],
    /// The sum at its beginning.
    value: f64,
}

impl Line<'_> {
    /// Halves the step until it decreases the objective as it should: the point, the sums there,
    /// and how many were asked for.
    fn search(&mut self, predicted: f64) -> Option<(Vec<f64>, Expansion, usize)> {
        let before = self.value + self.penalty.value(self.from);
        let slack = NO_DECREASE * before.abs();
        let mut share = 1.0;
        for asked in 1..=MOST_HALVINGS {
            let move_to = |(b, step): (&f64, &f64)| b + share * step;
            let b: Vec<f64> = self.from.iter().zip(self.step).map(move_to).collect();
            let there = (self.expand)(&b, false);
            let value = there.value + self.penalty.value(&b);
            if value <= before + DECREASE * share * predicted + slack {
                return Some((b, there, asked));
            }
            share *= 0.5;
        }
        None
    }
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()))
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
