//! Losses of lines by an interior-point method whose systems have one unknown per column, not one
//! per row.
//!
//! A loss of two lines is `lower z + offset + rise max(0, z - kink)`, and so is `|b_p|`; one of
//! more lines has more kinks. With `u >= z - kink`, `u >= 0`, the multipliers a in (0, cost) of the
//! first and `cost - a` of the second, and `p = u - z + kink`, the conditions are
//!
//! ```text
//! linear + Q b + X'a = 0,   a p = mu,   (cost - a) u = mu
//! ```
//!
//! A kink that is rounded off lies at `kink + rounding a`. Norms of groups are cones
//! (`cones.rs`). A Newton step eliminates everything but b (Mehrotra 1992: predictor, then
//! corrector).

use super::cones::{ConeCorrection, ConePoint, ConeScaling};
use super::positive::Positive;
use super::program::{KinkObjective, KinkProgram, PerKink, SlopeRange};

/// Coordinates below this share of the largest are zero where the penalty has a kink there.
const ZERO: f64 = 1e-8;
/// The complementarity at which it ends, as a share of the objective's size: without cones, and
/// with them, whose edge has fewer digits.
const GAP: f64 = 1e-13;
const CONE_GAP: f64 = 1e-12;
/// How far towards the edge a step goes.
const SHORT_OF_EDGE: f64 = 0.995;

/// Where the iterates ended.
#[derive(Clone, Debug, PartialEq)]
pub struct KinkEnd {
    /// The point.
    pub b: Vec<f64>,
    /// Per row, in the order of the agents: the slope that its multipliers choose.
    pub slopes: Vec<f64>,
    /// Iterations, each with a few sums over all rows.
    pub iterations: usize,
    /// Whether they came to their end.
    pub converged: bool,
}

/// An iterate, or a step.
#[derive(Clone)]
struct Interior {
    b: Vec<f64>,
    a: PerKink,
    u: PerKink,
    p: PerKink,
    cones: Vec<ConePoint>,
}

/// The minimiser and, per row, the slope that the multipliers choose. `None` where a loss is not
/// made of lines, or the iterates stand still too early.
pub fn minimise_kinks(objective: &KinkObjective<'_>, most: usize) -> Option<KinkEnd> {
    KinkProgram::new(objective)?.minimise(most)
}

impl KinkProgram<'_> {
    /// Where the iterates end; `None` where they stand still too early.
    pub(super) fn minimise(&self, most: usize) -> Option<KinkEnd> {
        let mut at = self.start();
        let first = self.gap(&at);
        let goal = if self.cones.is_empty() { GAP } else { CONE_GAP };
        for iterations in 0..most {
            let (gap, size) = (self.gap(&at), self.size(&at));
            if gap <= goal * size + 1e-16 * first {
                return Some(self.solution(at, iterations, true));
            }
            match self.step(&at) {
                Some((step, share)) if share > 1e-8 => at.advance(&step, share),
                // No digits are left: the certificate judges.
                _ if gap <= 1e-7 * size + 1e-12 * first => {
                    return Some(self.solution(at, iterations, true));
                }
                _ => return None,
            }
        }
        Some(self.solution(at, most, false))
    }

    /// Zero, well inside.
    fn start(&self) -> Interior {
        let unit = self.unit;
        let a: PerKink = self.cost.iter().map(|cost| 0.5 * cost).collect();
        let ahead = |i: usize| -self.kink[i] - self.rounding[i] * a[i];
        let cones = self.cones.iter();
        let cones = cones.map(|cone| ConePoint { t: unit, s: vec![0.0; cone.columns.len()] });
        Interior {
            b: vec![0.0; self.linear.len()],
            u: (0..a.len()).map(|i| ahead(i).max(0.0) + unit).collect(),
            p: (0..a.len()).map(|i| (-ahead(i)).max(0.0) + unit).collect(),
            cones: cones.collect(),
            a,
        }
    }

    fn gap(&self, at: &Interior) -> f64 {
        let of_kink = |i: usize| at.a[i] * at.p[i] + (self.cost[i] - at.a[i]) * at.u[i];
        let cones = self.cones.iter().zip(&at.cones).map(|(cone, point)| cone.gap(point, &at.b));
        (0..self.cost.len()).map(of_kink).sum::<f64>() + cones.sum::<f64>()
    }

    /// What the objective is made of, all of it positive.
    fn size(&self, at: &Interior) -> f64 {
        let kinks = self.cost.iter().zip(&at.u).map(|(cost, u)| cost * u);
        let cones = self.cones.iter().zip(&at.cones).map(|(cone, point)| cone.weight * point.t);
        let bent = self.quadratic.iter().zip(&at.b).map(|(bend, b)| 0.5 * bend * b * b);
        kinks.sum::<f64>() + cones.sum::<f64>() + bent.sum::<f64>()
    }

    /// Predictor and corrector, and how much of it stays inside.
    fn step(&self, at: &Interior) -> Option<(Interior, f64)> {
        let count = self.cost.len();
        let pair = |i: usize| at.p[i] / at.a[i] + at.u[i] / (self.cost[i] - at.a[i]);
        let d: PerKink = (0..count).map(|i| 1.0 / (pair(i) + self.rounding[i])).collect();
        let cones = self.cones.iter().zip(&at.cones);
        let scalings: Vec<ConeScaling> =
            cones.map(|(cone, point)| cone.scaling(point, &at.b)).collect();
        let factor = self.factor(&d, &scalings)?;
        let fitted = self.times(&at.b);
        let direction = Direction { program: self, at, d, scalings, factor, fitted };
        let affine = direction.towards(None);
        let (gap, share) = (self.gap(at), self.inside(at, &affine));
        let mut tried = at.clone();
        tried.advance(&affine, share);
        let parts = (2 * count + self.cones.len()) as f64;
        let mu = gap / parts * (self.gap(&tried) / gap).powi(3);
        let step = direction.towards(Some(Correction { affine: &affine, mu }));
        let share = self.inside(at, &step);
        share.is_finite().then_some((step, share))
    }

    /// The longest share of a step that leaves everything positive.
    fn inside(&self, at: &Interior, step: &Interior) -> f64 {
        let mut share = f64::INFINITY;
        let mut keep = |value: f64, change: f64| {
            if change < 0.0 {
                share = share.min(-value / change);
            }
        };
        for i in 0..self.cost.len() {
            keep(at.p[i], step.p[i]);
            keep(at.u[i], step.u[i]);
            keep(at.a[i], step.a[i]);
            keep(self.cost[i] - at.a[i], -step.a[i]);
        }
        for (k, cone) in self.cones.iter().enumerate() {
            share = share.min(cone.inside(&at.cones[k], &step.cones[k], &at.b, &step.b));
        }
        (SHORT_OF_EDGE * share).min(1.0)
    }

    fn solution(&self, at: Interior, iterations: usize, converged: bool) -> KinkEnd {
        // Rounding must not carry a slope out of its range: its conjugate would be infinite.
        let slope = |(range, a): (&SlopeRange, &f64)| {
            (range.low + a / range.weight).clamp(range.low, range.high)
        };
        let slopes = self.slopes.iter().zip(&*self.by_row(&at.a)).map(slope).collect();
        let mut b = at.b;
        let largest = b.iter().fold(0.0, |largest: f64, b| largest.max(b.abs()));
        let mut none_if_short = |columns: &[usize]| {
            if columns.iter().all(|&p| b[p].abs() <= ZERO * largest) {
                columns.iter().for_each(|&p| b[p] = 0.0);
            }
        };
        if converged {
            (0..self.kinked).for_each(|p| none_if_short(&[p]));
            self.cones.iter().for_each(|cone| none_if_short(&cone.columns));
        }
        KinkEnd { b, slopes, iterations, converged }
    }
}

/// What the corrector knows.
struct Correction<'a> {
    affine: &'a Interior,
    mu: f64,
}

/// What both steps of an iteration share.
struct Direction<'a> {
    program: &'a KinkProgram<'a>,
    at: &'a Interior,
    d: PerKink,
    scalings: Vec<ConeScaling>,
    factor: Positive,
    /// `X b`
    fitted: PerKink,
}

impl Direction<'_> {
    /// The Newton step of the predictor, or of the corrector after it.
    fn towards(&self, given: Option<Correction<'_>>) -> Interior {
        let Self { program, at, d, .. } = self;
        let count = program.cost.len();
        let change = |i: usize| {
            let (over, under) = (at.a[i] * at.p[i], (program.cost[i] - at.a[i]) * at.u[i]);
            given.as_ref().map_or((-over, -under), |Correction { affine, mu }| {
                let (da, dp, du) = (affine.a[i], affine.p[i], affine.u[i]);
                (mu - over - da * dp, mu - under + da * du)
            })
        };
        let changes: Vec<(f64, f64)> = (0..count).map(change).collect();
        let rest = |i: usize| {
            let (over, under) = changes[i];
            let kink = program.kink[i] + program.rounding[i] * at.a[i];
            let primal = at.p[i] - at.u[i] + self.fitted[i] - kink;
            primal + over / at.a[i] - under / (program.cost[i] - at.a[i])
        };
        let rests: PerKink = (0..count).map(rest).collect();
        let pulls: PerKink = (0..count).map(|i| at.a[i] + d[i] * rests[i]).collect();
        let (pull, bent) = (program.transposed(&pulls), program.bent(&at.b));
        let mut right: Vec<f64> =
            (0..program.linear.len()).map(|p| -(program.linear[p] + bent[p] + pull[p])).collect();
        let aims = self.cone_aims(given.as_ref(), &mut right);
        let b = self.factor.solve(&right);
        let moved = program.times(&b);
        let a: PerKink = (0..count).map(|i| d[i] * (moved[i] + rests[i])).collect();
        let p = (0..count).map(|i| (changes[i].0 - at.p[i] * a[i]) / at.a[i]).collect();
        let under = |i: usize| (changes[i].1 + at.u[i] * a[i]) / (program.cost[i] - at.a[i]);
        let u = (0..count).map(under).collect();
        let cones = program.cones.iter().zip(&self.scalings).zip(&aims);
        let cones = cones.map(|((cone, scaling), aim)| cone.step(scaling, aim, &b)).collect();
        Interior { b, a, u, p, cones }
    }

    /// What every cone aims at, and its part of the right side.
    fn cone_aims(&self, given: Option<&Correction<'_>>, right: &mut [f64]) -> Vec<Vec<f64>> {
        let mut aims = Vec::new();
        for (k, cone) in self.program.cones.iter().enumerate() {
            let correction = given.map(|Correction { affine, mu }| ConeCorrection {
                mu: *mu,
                dx: cone.with_first(affine.cones[k].t, &affine.b),
                ds: affine.cones[k].s.clone(),
            });
            let aim = cone.aim(&self.scalings[k], correction.as_ref());
            let pull = cone.pull(&self.scalings[k], &aim);
            let s = &self.at.cones[k].s;
            cone.columns.iter().zip(pull.iter().zip(s)).for_each(|(&p, (pull, s))| {
                right[p] += pull + s;
            });
            aims.push(aim);
        }
        aims
    }
}

impl Interior {
    fn advance(&mut self, step: &Self, share: f64) {
        let add = |to: &mut Vec<f64>, step: &Vec<f64>| {
            to.iter_mut().zip(step).for_each(|(to, step)| *to += share * step);
        };
        add(&mut self.b, &step.b);
        add(&mut self.a, &step.a);
        add(&mut self.u, &step.u);
        add(&mut self.p, &step.p);
        for (to, step) in self.cones.iter_mut().zip(&step.cones) {
            to.t += share * step.t;
            add(&mut to.s, &step.s);
        }
    }
}
