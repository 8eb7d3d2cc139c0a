//! The exact primal step: `argmin F_k`, with a proof of how near it came.
//!
//! `F_k = weight sum_i loss_i(x_i'b) + G(b)` with `G` the penalty plus the Lagrangian's linear and
//! quadratic part, which is `2q`-strongly convex for `q = rho |N_k|`. The dual
//!
//! ```text
//! max_a  -weight sum_i loss_i*(a_i) - G*(-weight X'a)
//! ```
//!
//! is climbed one coordinate at a time (Shalev-Shwartz and Zhang 2014). The primal point is
//! `b(a) = argmax -weight (X'a)'b - G(b)`, a prox, so that the duality gap is
//! `weight sum_i [loss_i(z_i) + loss_i*(a_i) - a_i z_i]`: a sum of small non-negative terms without
//! cancellation. Strong convexity turns it into a distance: `||b - b*|| <= sqrt(gap/q)`.
//! It works the same for smooth losses and for losses with kinks.
//!
//! Where a smooth loss has many rows, Newton steps come first (`leap.rs`): they find duals that the
//! same certificate judges, and the ascent goes on from there if it is not content.
//!
//! Under a guarantee the distance must be true of the numbers that leave, so that bounds on
//! rounding are part of it (`rounding.rs`), and a solve that plain numbers cannot certify goes on
//! with twice the digits (`careful.rs`).

mod careful;
mod double;
mod leap;
pub(crate) mod rounding;

use crate::primal::{InnerFailure, Lagrangian, Primal, PrimalStep, PrimalTask, Workspace};
use crate::problem::EmpiricalRisk;
use crate::streams::FastRng;
use rand::{RngExt, SeedableRng};
use rounding::{Scales, U, gamma, length};

/// Passes over the rows between two checks of the certificate.
const PASSES_PER_CHECK: usize = 4;
/// Passes after which a solve is given up.
const MOST_PASSES: usize = 40_000;

/// A bound that is larger than the computed distance by more than this factor has rounding in it, a
/// quarter of the gap or more: the ascent has no digits left to go on with.
const DIGITS_LEFT: f64 = 1.118;
/// Passes after which the ascent is asked whether it still makes progress; then after twice as
/// many, and so on. A gap that falls only as one over the passes shrinks the distance to 0.71 in
/// that time.
const FIRST_QUESTION: usize = 256;
const PROGRESS: f64 = 0.9;

/// What samples weigh in an objective.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampleWeights {
    /// One of them.
    pub sample: f64,
    /// All of them.
    pub total: f64,
}

/// The smallest distance that can be certified on every data set: what rounding leaves at the kinks
/// of a loss, four times over, and in a point of norm up to `reach`. All of it is public: rows are
/// of norm at most 1, and targets of size at most 1.
pub fn least_distance(c1: f64, weights: SampleWeights, quadratic: f64, reach: f64) -> f64 {
    let SampleWeights { sample, total } = weights;
    let bend = 1.0 + c1 + c1 * sample / quadratic;
    (256.0 * U * c1 * total * bend / quadratic).sqrt() + 16.0 * U * reach
}

/// The same for a loss without kinks, whose second derivative is at most c3. An error e of a
/// prediction then costs `c3 e^2/2` of the gap, which is `e sqrt(c3 total/2q)` of the distance, and
/// not its square root. With twice the digits e is the rounding of the prediction itself,
/// `8 U (1 + |z| + |y|)`, and is taken eight times over.
pub fn least_smooth_distance(c3: f64, total: f64, quadratic: f64, reach: f64) -> f64 {
    let prediction = 64.0 * U * (2.0 + reach);
    prediction * (0.5 * c3 * total / quadratic).sqrt() + 16.0 * U * reach
}

/// A point that belongs to duals, and how near the minimiser it is.
struct Near {
    b: Vec<f64>,
    /// As computed.
    distance: f64,
    /// With rounding.
    bound: f64,
}

/// Solves an agent's primal problem to within `tolerance` of its minimiser.
pub struct Exact {
    risk: EmpiricalRisk,
    tolerance: f64,
    most_passes: usize,
    /// Whether distances count rounding.
    guaranteed: bool,
    scales: Scales,
    norms_squared: Vec<f64>,
    /// The duals of the last solve: the next problem is close to it.
    duals: Vec<f64>,
    order: Vec<usize>,
}

impl Exact {
    /// A solver for one agent. Without a tolerance: 1e-10, or 1e-7 for a loss with kinks, whose gap
    /// cannot be resolved further in double precision.
    pub fn new(risk: EmpiricalRisk, tolerance: Option<f64>) -> Self {
        let rows = &risk.samples.rows;
        let smooth = risk.loss.curvature(0.0, 1.0).is_some();
        let norms_squared: Vec<f64> = (0..rows.count()).map(|i| rows.norm_squared(i)).collect();
        Self {
            tolerance: tolerance.unwrap_or(if smooth { 1e-10 } else { 1e-7 }),
            most_passes: MOST_PASSES,
            guaranteed: false,
            scales: Scales::new(&risk, &norms_squared),
            norms_squared,
            duals: vec![0.0; rows.count()],
            order: (0..rows.count()).collect(),
            risk,
        }
    }

    /// Never gives up, and counts rounding: under a guarantee an abort would be a release, since it
    /// depends on the data, and the distance to the minimiser is part of the guarantee. A
    /// tolerance of at least [`least_distance`] is reached on every data set.
    pub fn until_certified(mut self) -> Self {
        self.most_passes = usize::MAX;
        self.guaranteed = true;
        self
    }

    /// A bound on the distance of any point `b` to the minimiser, with rounding.
    ///
    /// With the losses' slopes at `b` as duals only the gap of `G` is left: with `c = b(a)` it is
    /// `q ||b - c||^2` plus the penalty's Bregman distance from `c` to `b`.
    pub fn distance_at(&self, lagrangian: &Lagrangian<'_>, b: &[f64]) -> f64 {
        let EmpiricalRisk { samples, loss, weight } = &self.risk;
        let error = self.scales.prediction(length(b));
        let smooth = loss.smoothness();
        let mut kinks = 0.0;
        let slopes: Vec<f64> = (0..samples.count())
            .map(|i| {
                let (z, y) = (samples.rows.dot(i, b), samples.targets[i]);
                let slope = loss.slope(z, y);
                if smooth.is_none() {
                    kinks += self.largest_gap(z, error, slope, y);
                }
                slope
            })
            .collect();
        // Of a smooth loss only the square of the error is left.
        let bends = samples.count() as f64 * 0.5 * smooth.unwrap_or(0.0) * error * error;
        let mut sums = vec![0.0; b.len()];
        samples.rows.add_transposed(&slopes, &mut sums);
        let mut c = sums.clone();
        self.primal_point(lagrangian, &mut c);
        let q = lagrangian.quadratic;
        let penalty = &lagrangian.objective.penalty;
        let (here, there) = (penalty.value(b), penalty.value(&c));
        let (mut gap, mut size, mut moved) = (here - there, here + there, 0.0);
        for p in 0..b.len() {
            // The penalty's subgradient at c, from the optimality of c.
            let subgradient = -(lagrangian.linear[p] + weight * sums[p]) - 2.0 * q * c[p];
            let step = b[p] - c[p];
            gap += step * (q * step - subgradient);
            size += step.abs() * (q * step.abs() + subgradient.abs());
            moved += step * step;
        }
        let slopes: f64 = slopes.iter().map(|slope| slope.abs()).sum();
        let point = self.scales.point(length(&lagrangian.linear), slopes, q);
        let rounding =
            gamma(b.len() + 8) * size + q * point * (2.0 * moved.sqrt() + point) * (1.0 + 1e-9);
        let risk = weight * (self.scales.rounded_up(kinks) + bends);
        // Rounding may leave a tiny negative gap; it proves nothing smaller than this.
        let distance = ((gap.max(0.0) + rounding + risk) / q).sqrt();
        if distance.is_nan() { f64::INFINITY } else { distance }
    }

    /// The minimiser to within another tolerance than the solver's own.
    pub fn solve_to(
        &mut self,
        tolerance: f64,
        lagrangian: &Lagrangian<'_>,
    ) -> Result<Vec<f64>, InnerFailure> {
        let usual = std::mem::replace(&mut self.tolerance, tolerance);
        let solved = self.solve(lagrangian);
        self.tolerance = usual;
        solved.map(|(b, _)| b)
    }

    /// The minimiser and a certified bound on the distance to it.
    pub fn solve(&mut self, lagrangian: &Lagrangian<'_>) -> Result<(Vec<f64>, f64), InnerFailure> {
        let (mut best, mut before, mut question) = (f64::INFINITY, f64::INFINITY, FIRST_QUESTION);
        let mut careful = false;
        // The order of the coordinates is no secret and needs no seed. Every solve starts it anew,
        // so that the duals are all that an agent must remember over a restart.
        let mut shuffle = FastRng::seed_from_u64(0);
        self.order.iter_mut().enumerate().for_each(|(i, slot)| *slot = i);
        self.leap(lagrangian);
        for pass in 0..self.most_passes {
            if pass % PASSES_PER_CHECK == 0 {
                let Near { b, distance, bound } = match careful {
                    false => self.certify(lagrangian),
                    true => self.certify_carefully(lagrangian),
                };
                if bound <= self.tolerance {
                    return Ok((b, bound));
                }
                if bound.is_nan() {
                    return Err(InnerFailure::NonFinite { step: pass });
                }
                best = best.min(bound);
                careful |= bound > DIGITS_LEFT * distance;
                if pass == question {
                    careful |= self.guaranteed && best > PROGRESS * before;
                    (before, question) = (best, 2 * question);
                }
            }
            match careful {
                false => self.pass(lagrangian, &mut shuffle),
                true => self.pass_carefully(lagrangian, &mut shuffle),
            }
        }
        Err(InnerFailure::NotCertified { distance: best })
    }

    /// `b(a)`, and the bound `sqrt(gap/q)`, from the duals alone.
    fn certify(&self, lagrangian: &Lagrangian<'_>) -> Near {
        let EmpiricalRisk { samples, loss, weight } = &self.risk;
        let mut b = self.sums();
        self.primal_point(lagrangian, &mut b);
        let gap: f64 = self.in_blocks(|block| {
            let gap = |i: usize| {
                loss.fenchel_gap(samples.rows.dot(i, &b), self.duals[i], samples.targets[i])
            };
            block.map(gap).sum()
        });
        let distance = (weight * gap / lagrangian.quadratic).sqrt();
        let bound = match self.guaranteed {
            true => self.with_rounding(lagrangian, &b, gap),
            false => distance,
        };
        Near { b, distance, bound }
    }

    /// The distance that a computed gap proves of a computed point.
    fn with_rounding(&self, lagrangian: &Lagrangian<'_>, b: &[f64], gap: f64) -> f64 {
        let EmpiricalRisk { samples, loss, weight } = &self.risk;
        let q = lagrangian.quadratic;
        let (error, total) = (self.scales.prediction(length(b)), self.scales.total_weight());
        let duals: f64 = self.duals.iter().map(|a| a.abs()).sum();
        let point = self.scales.point(length(&lagrangian.linear), duals, q);
        let proven = |gap: f64| (weight * self.scales.rounded_up(gap) / q + point * point).sqrt();
        if let Some(c3) = loss.smoothness() {
            // Roots of gaps change by at most sqrt(c3/2) times the error of the prediction, and
            // norms add up.
            return proven(gap) + error * (0.5 * total * c3 / q).sqrt();
        }
        // Every row might lie at a kink, where the gap changes with a slope of at most 2 c1.
        let count = samples.count() as f64;
        let at_once =
            loss.lipschitz().map_or(f64::INFINITY, |c1| proven(gap + count * 2.0 * c1 * error));
        let distance = (weight * gap / q).sqrt();
        if at_once <= self.tolerance
            || (distance > self.tolerance && at_once <= DIGITS_LEFT * distance)
        {
            return at_once;
        }
        // Few of them do. A gap is convex in the prediction: it is largest at an end of what that
        // may be.
        let rows = self.duals.iter().zip(&samples.targets).enumerate();
        proven(
            rows.map(|(i, (&a, &y))| self.largest_gap(samples.rows.dot(i, b), error, a, y)).sum(),
        )
    }

    /// The largest gap of a sample whose prediction is known to within an error.
    fn largest_gap(&self, z: f64, error: f64, a: f64, y: f64) -> f64 {
        let [low, high] = [z - error, z + error].map(|z| self.risk.loss.fenchel_gap(z, a, y));
        low.max(high)
    }

    /// Turns `X'a` into `b(a) = prox(-(linear + weight X'a)/2q)`.
    fn primal_point(&self, lagrangian: &Lagrangian<'_>, v: &mut [f64]) {
        let shrink = 0.5 / lagrangian.quadratic;
        for (v, linear) in v.iter_mut().zip(&lagrangian.linear) {
            *v = -(linear + self.risk.weight * *v) * shrink;
        }
        lagrangian.objective.penalty.prox(v, shrink);
    }

    /// A new order of the rows.
    fn shuffle(&mut self, shuffle: &mut FastRng) {
        for i in (1..self.order.len()).rev() {
            self.order.swap(i, shuffle.random_range(0..=i));
        }
    }

    /// One pass of dual coordinate ascent over all rows in random order.
    fn pass(&mut self, lagrangian: &Lagrangian<'_>, shuffle: &mut FastRng) {
        self.shuffle(shuffle);
        let mut sums = self.sums();
        let mut b = sums.clone();
        self.primal_point(lagrangian, &mut b);
        let EmpiricalRisk { samples, loss, weight } = &self.risk;
        let penalty = &lagrangian.objective.penalty;
        let shrink = 0.5 / lagrangian.quadratic;
        for &i in &self.order {
            let y = samples.targets[i];
            let kappa = weight * self.norms_squared[i] * shrink;
            let z = samples.rows.dot(i, &b);
            let dual = if kappa > 0.0 {
                loss.next_dual(z, self.duals[i], kappa, y)
            } else {
                loss.slope(z, y)
            };
            let change = dual - self.duals[i];
            if change == 0.0 {
                continue;
            }
            self.duals[i] = dual;
            let mut grouped = false;
            samples.rows.visit(i, |p, x| {
                sums[p] += change * x;
                let v = -(lagrangian.linear[p] + weight * sums[p]) * shrink;
                match penalty.prox_coordinate(p, v, shrink) {
                    Some(value) => b[p] = value,
                    None => grouped = true,
                }
            });
            if grouped {
                b.copy_from_slice(&sums);
                for (v, linear) in b.iter_mut().zip(&lagrangian.linear) {
                    *v = -(linear + weight * *v) * shrink;
                }
                penalty.prox(&mut b, shrink);
            }
        }
    }
}

impl PrimalStep for Exact {
    fn update(
        &mut self,
        task: PrimalTask<'_>,
        _work: &mut Workspace,
    ) -> Result<Primal, InnerFailure> {
        let PrimalTask { lagrangian, receipt, context, .. } = task;
        let (b, _) = self.solve(lagrangian)?;
        Ok(Primal {
            release: context.release(b, receipt)?,
            oracle_calls: 0,
            step_raised: false,
            finished_exactly: true,
            clipped: 0,
        })
    }

    fn memory(&self) -> &[f64] {
        &self.duals
    }

    fn recall(&mut self, memory: Vec<f64>) {
        // Another number of duals belongs to other rows; a start from zero is always right.
        if memory.len() == self.duals.len() {
            self.duals = memory;
        }
    }
}
