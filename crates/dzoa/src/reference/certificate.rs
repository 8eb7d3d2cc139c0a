//! What is proven about a point: a duality gap from the slopes of the losses there.

use super::narrow::{free_columns, narrowed};
use crate::newton::Positive;
use crate::problem::Problem;
use crate::problem::loss::{Epigraph, Loss};
use crate::problem::regularizer::Penalty;

/// Projections of the slopes: each leaves what the rounding of the last one left.
const PROJECTIONS: usize = 3;
/// What may be left of the slope of a free column, as a share of the terms that cancel in it.
const CANCELLED: f64 = 1e-12;
/// A gap below this share of the objective at zero is rounding.
const LOWEST: f64 = 1e-13;
/// A gap below this share of the objective needs no more work.
const GOOD: f64 = 1e-11;
/// Rows whose products are formed at once.
const TILE: usize = 512;

/// What is proven about an [`Optimum`](super::Optimum).
#[derive(Clone, Copy, Debug)]
pub struct Certificate {
    /// Objective minus a dual bound: the objective is within this of the minimum, up to rounding.
    /// Columns that nothing penalises (an intercept, or all without a regulariser) need slopes
    /// that cancel: the losses' slopes are projected there, and what rounding leaves of them is
    /// multiplied by the coefficients and added. `None` where that leaves too much, or the loss
    /// has no finite gap at its own slopes: then [`stationarity`](Self::stationarity) is all that
    /// is known.
    pub duality_gap: Option<f64>,
    /// Largest violation of stationarity in any coordinate: how far a proximal step of length 1
    /// moves it.
    pub stationarity: f64,
    /// Iterations of the solver.
    pub iterations: u32,
}

/// The slopes of all samples, and what they pull at the coefficients.
pub(super) struct Dual {
    /// `x_i'b`, agent by agent.
    fitted: Vec<f64>,
    pub(super) slopes: Vec<f64>,
    /// The gradient of the data term.
    pub(super) gradient: Vec<f64>,
    /// The sizes of the terms in it.
    pub(super) sizes: Vec<f64>,
}

impl Dual {
    /// At `b`, with the losses' slopes there or, where they have kinks, those that a solver's
    /// multipliers chose.
    pub(super) fn at(problem: &Problem, b: &[f64], chosen: Option<&[f64]>) -> Self {
        let mut fitted = Vec::new();
        for samples in &problem.agents {
            let first = fitted.len();
            fitted.resize(first + samples.count(), 0.0);
            samples.rows.times(0, b, &mut fitted[first..]);
        }
        let targets = problem.agents.iter().flat_map(|samples| &samples.targets);
        let at = |(z, y): (&f64, &f64)| problem.loss.slope(*z, *y);
        let slopes = match chosen {
            Some(chosen) => chosen.to_vec(),
            None => fitted.iter().zip(targets).map(at).collect(),
        };
        let mut dual = Self { fitted, slopes, gradient: Vec::new(), sizes: Vec::new() };
        dual.add_up(problem);
        dual
    }

    fn add_up(&mut self, problem: &Problem) {
        self.gradient = vec![0.0; problem.dim()];
        self.sizes = vec![0.0; problem.dim()];
        let mut slopes = self.slopes.iter();
        for (k, samples) in problem.agents.iter().enumerate() {
            let weight = problem.sample_weight(k);
            for (i, slope) in (0..samples.count()).zip(&mut slopes) {
                samples.rows.visit(i, |p, x| {
                    self.gradient[p] += weight * slope * x;
                    self.sizes[p] += (weight * slope * x).abs();
                });
            }
        }
    }

    /// Largest coordinate of `b - prox(b - gradient)`.
    pub(super) fn stationarity(&self, penalty: &Penalty, b: &[f64]) -> f64 {
        let mut moved: Vec<f64> = b.iter().zip(&self.gradient).map(|(b, g)| b - g).collect();
        penalty.prox(&mut moved, 1.0);
        moved.iter().zip(b).fold(0.0, |most: f64, (moved, b)| most.max((moved - b).abs()))
    }

    /// Moves the slopes as little as it takes that they pull at these columns as they should: those
    /// most that are free to move.
    fn project(&mut self, problem: &Problem, columns: &[usize], pulls: &[f64]) {
        if columns.is_empty() {
            return;
        }
        let part = narrowed(problem, columns);
        let room: Vec<f64> = self.rooms(problem);
        let Some(factor) = Positive::of(gram(&part, &room), columns.len()) else { return };
        for _ in 0..PROJECTIONS {
            let before = (self.slopes.clone(), self.off(columns, pulls));
            let right: Vec<f64> = columns.iter().map(|&p| self.gradient[p] - pulls[p]).collect();
            let shift = factor.solve(&right);
            let mut first = 0;
            for samples in &part.agents {
                let mut along = vec![0.0; samples.count()];
                samples.rows.times(0, &shift, &mut along);
                for (i, along) in along.iter().enumerate() {
                    let (at, y) = (first + i, samples.targets[i]);
                    let moved = self.slopes[at] - room[at] * along;
                    self.slopes[at] = within(&*problem.loss, y, moved);
                }
                first += samples.count();
            }
            self.add_up(problem);
            let is_nearer = self.off(columns, pulls) < before.1;
            if !is_nearer {
                self.slopes = before.0;
                return self.add_up(problem);
            }
        }
    }

    /// How far they are from it at most, as a share of the terms that cancel.
    fn off(&self, columns: &[usize], pulls: &[f64]) -> f64 {
        let share = |&p: &usize| match (self.gradient[p] - pulls[p]).abs() {
            0.0 => 0.0,
            off => off / self.sizes[p],
        };
        columns.iter().map(share).fold(0.0, f64::max)
    }

    /// How far each slope may move: as it does with the prediction or, at a kink, as far as it is
    /// from the slopes of the lines.
    fn rooms(&self, problem: &Problem) -> Vec<f64> {
        let targets = problem.agents.iter().flat_map(|samples| &samples.targets);
        let room = |((z, a), y): ((&f64, &f64), &f64)| match range(&*problem.loss, *y) {
            Some((low, high)) => (a - low) * (high - a),
            None => problem.loss.curvature(*z, *y).unwrap_or(0.0),
        };
        self.fitted.iter().zip(&self.slopes).zip(targets).map(room).collect()
    }
}

/// The lowest and the highest slope of a loss of lines.
fn range(loss: &dyn Loss, y: f64) -> Option<(f64, f64)> {
    let Some(Epigraph::Lines(lines)) = loss.epigraph(y) else { return None };
    let slopes = || lines.iter().map(|line| line.slope);
    Some((slopes().fold(f64::INFINITY, f64::min), slopes().fold(f64::NEG_INFINITY, f64::max)))
}

fn within(loss: &dyn Loss, y: f64, slope: f64) -> f64 {
    range(loss, y).map_or(slope, |(low, high)| slope.clamp(low, high))
}

/// `sum_i weight_i room_i x_i x_i'`
pub(crate) fn gram(problem: &Problem, room: &[f64]) -> Vec<f64> {
    let dim = problem.dim();
    let (mut sum, mut scratch, mut rest) = (vec![0.0; dim * dim], Vec::new(), room);
    for (k, samples) in problem.agents.iter().enumerate() {
        let (own, others) = rest.split_at(samples.count());
        let weight = problem.sample_weight(k);
        for (tile, room) in own.chunks(TILE).enumerate() {
            let weights: Vec<f64> = room.iter().map(|room| weight * room).collect();
            samples.rows.add_gram(tile * TILE, &weights, &mut scratch, &mut sum);
        }
        rest = others;
    }
    sum
}

/// What is proven about `b`, with slopes as for [`Dual::at`].
pub(super) fn certify(problem: &Problem, b: &[f64], chosen: Option<&[f64]>) -> (Certificate, Dual) {
    let penalty = problem.penalty(problem.eta);
    let mut dual = Dual::at(problem, b, chosen);
    let stationarity = dual.stationarity(&penalty, b);
    let free = free_columns(problem);
    // Slopes of zero cancel anywhere: they are a proof where every loss is at its lowest.
    let at_most = LOWEST * problem.value(&vec![0.0; b.len()]);
    let lowest = gap(problem, b, &dual, Scaled { scale: 0.0, free: &free });
    let mut duality_gap = Some(lowest).filter(|gap| *gap <= at_most);
    if duality_gap.is_none() {
        dual.project(problem, &free, &vec![0.0; b.len()]);
        duality_gap = proven_gap(problem, b, &dual, &free);
    }
    // What the penalty holds back must be held back to the last digit where it is light.
    let good = GOOD * problem.value(b);
    if duality_gap.is_none_or(|gap| gap > good) && free.len() < b.len() {
        let mut pulls = vec![0.0; b.len()];
        penalty.add_subgradient(b, &mut pulls);
        pulls.iter_mut().for_each(|pull| *pull = -*pull);
        let moving: Vec<usize> =
            (0..b.len()).filter(|&p| b[p] != 0.0 || free.binary_search(&p).is_ok()).collect();
        dual.project(problem, &moving, &pulls);
        let other = proven_gap(problem, b, &dual, &free);
        duality_gap = [duality_gap, other].into_iter().flatten().reduce(f64::min);
    }
    (Certificate { duality_gap, stationarity, iterations: 0 }, dual)
}

/// The gap, where the slopes cancel in the free columns.
fn proven_gap(problem: &Problem, b: &[f64], dual: &Dual, free: &[usize]) -> Option<f64> {
    let all_free = free.len() == problem.dim();
    let scale = match all_free {
        true => 1.0,
        false => problem.penalty(problem.eta).dual_scale(&dual.gradient),
    };
    let cancelled = dual.off(free, &vec![0.0; problem.dim()]) <= CANCELLED;
    let gap = cancelled.then(|| gap(problem, b, dual, Scaled { scale, free }));
    gap.filter(|gap| gap.is_finite()).map(|gap| gap.max(0.0))
}

/// A factor of all slopes, with which the penalty balances them, and the free columns.
struct Scaled<'a> {
    scale: f64,
    free: &'a [usize],
}

/// The gap, for slopes that cancel in the free columns.
fn gap(problem: &Problem, b: &[f64], dual: &Dual, Scaled { scale, free }: Scaled<'_>) -> f64 {
    let penalty = problem.penalty(problem.eta);
    let held = free.len() < problem.dim();
    let g: Vec<f64> = dual.gradient.iter().map(|g| scale * g).collect();
    let mut gap: f64 = free.iter().map(|&p| (g[p] * b[p]).abs()).sum();
    if held {
        gap += penalty.fenchel_gap(b, &g);
    }
    let mut each = dual.fitted.iter().zip(&dual.slopes);
    for (k, samples) in problem.agents.iter().enumerate() {
        let weight = problem.sample_weight(k);
        for (y, (z, a)) in samples.targets.iter().zip(&mut each) {
            gap += weight * problem.loss.fenchel_gap(*z, scale * a, *y);
        }
    }
    gap
}
