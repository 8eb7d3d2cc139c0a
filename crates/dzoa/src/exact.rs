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

use crate::admm::{InnerFailure, Primal, PrimalStep, RoundContext};
use crate::lagrangian::Lagrangian;
use crate::problem::{EmpiricalRisk, Objective};
use crate::streams::FastRng;
use crate::zeroth_order::Workspace;
use dzoa_privacy::Receipt;
use rand::{RngExt, SeedableRng};

/// Passes over the rows between two looks at the certificate.
const PASSES_PER_CHECK: usize = 4;
/// Passes after which a solve is given up.
const MOST_PASSES: usize = 40_000;

/// Solves an agent's primal problem to within `tolerance` of its minimiser.
pub struct Exact {
    risk: EmpiricalRisk,
    tolerance: f64,
    most_passes: usize,
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
        Self {
            tolerance: tolerance.unwrap_or(if smooth { 1e-10 } else { 1e-7 }),
            most_passes: MOST_PASSES,
            norms_squared: (0..rows.count()).map(|i| rows.norm_squared(i)).collect(),
            duals: vec![0.0; rows.count()],
            order: (0..rows.count()).collect(),
            risk,
        }
    }

    /// Never gives up: under a guarantee an abort would be a release, since it depends on the data.
    pub fn until_certified(mut self) -> Self {
        self.most_passes = usize::MAX;
        self
    }

    /// A bound on the distance of any point `b` to the minimiser.
    ///
    /// With the losses' slopes at `b` as duals only the gap of `G` is left: with `c = b(a)` it is
    /// `q ||b - c||^2` plus the penalty's Bregman distance from `c` to `b`.
    pub fn distance_at(&self, lagrangian: &Lagrangian<'_>, b: &[f64]) -> f64 {
        let EmpiricalRisk { samples, loss, weight } = &self.risk;
        let slopes: Vec<f64> = (0..samples.count())
            .map(|i| loss.slope(samples.rows.dot(i, b), samples.targets[i]))
            .collect();
        let mut sums = vec![0.0; b.len()];
        samples.rows.add_transposed(&slopes, &mut sums);
        let mut c = sums.clone();
        self.primal_point(lagrangian, &mut c);
        let q = lagrangian.quadratic;
        let penalty = &lagrangian.objective.penalty;
        let mut gap = penalty.value(b) - penalty.value(&c);
        for p in 0..b.len() {
            // The penalty's subgradient at c, from the optimality of c.
            let subgradient = -(lagrangian.linear[p] + weight * sums[p]) - 2.0 * q * c[p];
            let step = b[p] - c[p];
            gap += step * (q * step - subgradient);
        }
        // Rounding may leave a tiny negative gap; it proves nothing smaller than this.
        let rounding = 1e-15 * (1.0 + lagrangian.value(b).abs());
        let distance = (gap.max(0.0) + rounding).sqrt() / q.sqrt();
        if gap.is_nan() { f64::INFINITY } else { distance }
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
        let mut best = f64::INFINITY;
        // The order of the coordinates is no secret and needs no seed. Every solve starts it anew, so that
        // the duals are all that an agent must remember over a restart.
        let mut shuffle = FastRng::seed_from_u64(0);
        self.order.iter_mut().enumerate().for_each(|(i, slot)| *slot = i);
        for pass in 0..self.most_passes {
            if pass % PASSES_PER_CHECK == 0 {
                let (b, distance) = self.certify(lagrangian);
                if distance <= self.tolerance {
                    return Ok((b, distance));
                }
                if distance.is_nan() {
                    return Err(InnerFailure::NonFinite { step: pass });
                }
                best = best.min(distance);
            }
            self.pass(lagrangian, &mut shuffle);
        }
        Err(InnerFailure::NotCertified { distance: best })
    }

    /// `b(a)`, and the bound `sqrt(gap/q)`, from the duals alone.
    fn certify(&self, lagrangian: &Lagrangian<'_>) -> (Vec<f64>, f64) {
        let EmpiricalRisk { samples, loss, weight } = &self.risk;
        let mut b = vec![0.0; lagrangian.linear.len()];
        samples.rows.add_transposed(&self.duals, &mut b);
        self.primal_point(lagrangian, &mut b);
        let gap: f64 = (0..samples.count())
            .map(|i| loss.fenchel_gap(samples.rows.dot(i, &b), self.duals[i], samples.targets[i]))
            .sum();
        (b, (weight * gap / lagrangian.quadratic).sqrt())
    }

    /// Turns `X'a` into `b(a) = prox(-(linear + weight X'a)/2q)`.
    fn primal_point(&self, lagrangian: &Lagrangian<'_>, v: &mut [f64]) {
        let shrink = 0.5 / lagrangian.quadratic;
        for (v, linear) in v.iter_mut().zip(&lagrangian.linear) {
            *v = -(linear + self.risk.weight * *v) * shrink;
        }
        lagrangian.objective.penalty.prox(v, shrink);
    }

    /// One pass of dual coordinate ascent over all rows in random order.
    fn pass(&mut self, lagrangian: &Lagrangian<'_>, shuffle: &mut FastRng) {
        for i in (1..self.order.len()).rev() {
            self.order.swap(i, shuffle.random_range(0..=i));
        }
        let mut sums = vec![0.0; lagrangian.linear.len()];
        self.risk.samples.rows.add_transposed(&self.duals, &mut sums);
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
        lagrangian: &Lagrangian<'_>,
        _start: &[f64],
        receipt: Receipt,
        context: &RoundContext<'_>,
        _work: &mut Workspace,
    ) -> Result<Primal, InnerFailure> {
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
