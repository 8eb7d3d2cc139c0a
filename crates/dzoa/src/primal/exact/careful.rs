//! Ascent and certificate with twice the digits, for where those of plain numbers are used up: far
//! from the origin, or on data whose kinks meet at small angles.

use super::double::Double;
use super::rounding::{U, length};
use super::{Exact, Near};
use crate::primal::Lagrangian;
use crate::problem::EmpiricalRisk;
use crate::problem::regularizer::{Form, Penalty};
use crate::streams::FastRng;

impl Exact {
    /// As `certify`, with every gap at its largest within the rounding of its prediction.
    pub(super) fn certify_carefully(&self, lagrangian: &Lagrangian<'_>) -> Near {
        let EmpiricalRisk { samples, loss, weight } = &self.risk;
        let prox = Prox::new(lagrangian, *weight);
        let point = prox.all(&self.careful_sums());
        let b: Vec<f64> = point.iter().map(|b| b.high).collect();
        let rest: Vec<f64> = point.iter().map(|b| b.low).collect();
        let added = self.scales.careful_prediction(length(&b));
        let (mut gap, mut largest) = (0.0, 0.0);
        for (i, (&a, &y)) in self.duals.iter().zip(&samples.targets).enumerate() {
            let z = self.careful_dot(i, &point);
            let error = added + 8.0 * U * (1.0 + z.abs() + y.abs());
            let ends = [z - error, z + error].map(|z| loss.fenchel_gap(z, a, y));
            gap += loss.fenchel_gap(z, a, y);
            largest += ends[0].max(ends[1]);
        }
        let q = lagrangian.quadratic;
        let duals: f64 = self.duals.iter().map(|a| a.abs()).sum();
        let point = self.scales.careful_point(length(&lagrangian.linear), duals, q, prox.slope());
        let largest = weight * self.scales.rounded_up(largest) / q;
        Near {
            distance: (weight * gap / q).sqrt(),
            bound: (largest + point * point).sqrt() + length(&rest),
            b,
        }
    }

    /// As `pass`.
    pub(super) fn pass_carefully(&mut self, lagrangian: &Lagrangian<'_>, shuffle: &mut FastRng) {
        self.shuffle(shuffle);
        let mut sums = self.careful_sums();
        let EmpiricalRisk { samples, loss, weight } = &self.risk;
        let prox = Prox::new(lagrangian, *weight);
        let mut point = prox.all(&sums);
        for &i in &self.order {
            let y = samples.targets[i];
            let kappa = weight * self.norms_squared[i] * 0.5 / lagrangian.quadratic;
            let z = self.careful_dot(i, &point);
            let dual = if kappa > 0.0 {
                loss.next_dual(z, self.duals[i], kappa, y)
            } else {
                loss.slope(z, y)
            };
            let change = Double::sum(dual, -self.duals[i]);
            if change == Double::default() {
                continue;
            }
            self.duals[i] = dual;
            samples.rows.visit(i, |p, x| sums[p] = sums[p] + change.times(x));
            match prox.separable {
                Some(_) => samples.rows.visit(i, |p, _| point[p] = prox.coordinate(p, sums[p])),
                None => point = prox.all(&sums),
            }
        }
    }

    /// `X'a`.
    fn careful_sums(&self) -> Vec<Double> {
        let rows = &self.risk.samples.rows;
        let mut sums = vec![Double::default(); rows.width()];
        for (i, &a) in self.duals.iter().enumerate() {
            rows.visit(i, |p, x| sums[p] = sums[p] + Double::product(a, x));
        }
        sums
    }

    /// `x_i'b`, rounded once.
    fn careful_dot(&self, i: usize, point: &[Double]) -> f64 {
        let mut sum = Double::default();
        self.risk.samples.rows.visit(i, |p, x| sum = sum + point[p].times(x));
        sum.high
    }
}

/// From `X'a` to `b(a)`: `argmin penalty(b) + q ||b||^2 + (linear + weight X'a)'b`.
struct Prox<'a> {
    linear: &'a [f64],
    weight: f64,
    penalty: &'a Penalty,
    /// Thresholds and divisor of penalised coordinates, where the penalty is separable.
    separable: Option<(Double, Double)>,
    /// `2q`
    twice: f64,
}

impl<'a> Prox<'a> {
    fn new(lagrangian: &'a Lagrangian<'_>, weight: f64) -> Self {
        let penalty = &lagrangian.objective.penalty;
        let twice = 2.0 * lagrangian.quadratic;
        let separable = penalty.regularizer.separable().map(|(l1, l2)| {
            let bend = Double::product(penalty.weight, l2);
            (Double::product(penalty.weight, l1), Double::from(twice) + bend)
        });
        Self { linear: &lagrangian.linear, weight, penalty, separable, twice }
    }

    /// `-(linear + weight X'a)` at p.
    fn pull(&self, p: usize, sum: Double) -> Double {
        -(sum.times(self.weight) + Double::from(self.linear[p]))
    }

    /// One coordinate, for a separable penalty or one that it leaves alone.
    fn coordinate(&self, p: usize, sum: Double) -> Double {
        let pull = self.pull(p, sum);
        match self.separable {
            Some((threshold, divisor)) if p < self.penalty.penalized => {
                let (up, down) = (pull + -threshold, pull + threshold);
                if up.high > 0.0 {
                    up / divisor
                } else if down.high < 0.0 {
                    down / divisor
                } else {
                    Double::default()
                }
            }
            _ => pull / Double::from(self.twice),
        }
    }

    /// All coordinates.
    fn all(&self, sums: &[Double]) -> Vec<Double> {
        let mut point: Vec<Double> =
            sums.iter().enumerate().map(|(p, &sum)| self.coordinate(p, sum)).collect();
        if let Form::Grouped(groups) = self.penalty.regularizer.form() {
            for group in groups {
                let pulls: Vec<f64> = group.iter().map(|&p| self.pull(p, sums[p]).high).collect();
                let threshold = self.penalty.weight * (group.len() as f64).sqrt();
                let share = (threshold / dzoa_privacy::ball::norm(&pulls)).min(1.0);
                for &p in group {
                    let kept = Double::sum(1.0, -share);
                    let (high, low) = (point[p].times(kept.high), point[p].times(kept.low));
                    point[p] = high + low;
                }
            }
        }
        point
    }

    /// A bound on the norm of the penalty's subgradients that are not proportional to b.
    fn slope(&self) -> f64 {
        self.penalty.weight * (self.penalty.penalized as f64).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::LocalObjective;
    use crate::problem::data::{Rows, Samples};
    use crate::problem::loss::{LOSSES, Loss};
    use crate::problem::regularizer::REGULARIZERS;
    use rand::SeedableRng;
    use std::sync::Arc;

    fn risk(loss: Arc<dyn Loss>) -> EmpiricalRisk {
        let rows: Vec<f64> = (0..36).map(|i| (f64::from(i) * 0.7).sin() * 0.5).collect();
        let targets = (0..12).map(|i| if i % 3 == 0 { -1.0 } else { 1.0 }).collect();
        let samples = Samples::new(Rows::dense(3, rows).unwrap(), targets).unwrap();
        EmpiricalRisk { samples: Arc::new(samples), loss, weight: 1.0 / 12.0 }
    }

    #[test]
    fn with_twice_the_digits_the_same_ascent_comes_to_the_same_point() {
        let losses = LOSSES.iter().map(|entry| entry.from_numbers(|_| None).unwrap());
        // Certificates of this kind are for guarantees, and those need a bound on the slope.
        let bounded: Vec<_> = losses.filter(|loss| loss.lipschitz().is_some()).collect();
        let regularizers = REGULARIZERS
            .iter()
            .map(|entry| entry.from_numbers(|_| Some(0.4)).unwrap().with_groups(vec![vec![0, 1]]));
        for (loss, regularizer) in
            regularizers.flat_map(|r| bounded.iter().map(move |loss| (loss, r.clone())))
        {
            let risk = risk(loss.clone());
            let penalty = Penalty { regularizer: regularizer.clone(), weight: 0.05, penalized: 2 };
            let objective = LocalObjective { data: Arc::new(risk.clone()), penalty };
            let linear = vec![-0.3, 0.2, 0.1];
            let lagrangian = Lagrangian { objective: &objective, linear, quadratic: 0.2 };
            let mut plain = Exact::new(risk, Some(1e-6)).until_certified();
            let mut careful = Exact::new(plain.risk.clone(), Some(1e-6)).until_certified();
            let rng = || FastRng::seed_from_u64(0);
            let (mut one, mut other) = (rng(), rng());
            for _ in 0..6 {
                plain.pass(&lagrangian, &mut one);
                careful.pass_carefully(&lagrangian, &mut other);
            }
            let (b, c) = (plain.certify(&lagrangian), careful.certify_carefully(&lagrangian));
            let name = format!("{} {regularizer:?}", loss.name());
            for p in 0..3 {
                assert!((b.b[p] - c.b[p]).abs() <= 1e-13, "{name}: {:?} {:?}", b.b, c.b);
            }
            assert!((b.distance - c.distance).abs() <= 1e-7 * (1.0 + b.distance), "{name}");
            assert!(c.bound >= c.distance && c.bound <= c.distance + 1e-6, "{name}");
        }
    }
}
