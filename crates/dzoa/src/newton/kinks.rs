//! Losses of one kink by an interior-point method whose systems have one unknown per column, not
//! one per row.
//!
//! A loss of two lines is `lower z + offset + rise max(0, z - kink)`, and so is `|b_p|`. With
//! `u >= z - kink`, `u >= 0`, the multipliers a in (0, cost) of the first and `cost - a` of the
//! second, and `p = u - z + kink`, the conditions are
//!
//! ```text
//! linear + Q b + X'a = 0,   a p = mu,   (cost - a) u = mu
//! ```
//!
//! A Newton step on them eliminates everything but b (Mehrotra 1992: predictor, then corrector).

use crate::problem::EmpiricalRisk;
use crate::problem::loss::{Epigraph, Line};
use crate::problem::regularizer::Penalty;
use faer::linalg::solvers::{Llt, Solve};
use faer::{Mat, MatRef, Side};

/// Coordinates below this share of the largest are zero where the penalty has a kink there.
const ZERO: f64 = 1e-8;
/// The complementarity at which it ends, as a share of the objective's size.
const GAP: f64 = 1e-13;
/// How far towards the edge a step goes.
const SHORT_OF_EDGE: f64 = 0.995;

/// One number per kink: those of the agents' rows in their order, then the penalised columns.
type PerKink = Vec<f64>;

/// What is minimised: losses of one kink over the rows of some agents, a penalty, and
/// `linear'b + quadratic ||b||^2`.
#[derive(Clone, Copy, Debug)]
pub struct KinkObjective<'a> {
    /// The data terms.
    pub risks: &'a [EmpiricalRisk],
    /// The penalty, which must be separable.
    pub penalty: &'a Penalty,
    /// One number per column.
    pub linear: &'a [f64],
    /// At least 0.
    pub quadratic: f64,
}

/// Where the iterates ended.
#[derive(Clone, Debug, PartialEq)]
pub struct KinkEnd {
    /// The point.
    pub b: Vec<f64>,
    /// Per row, in the order of the agents: the slope that its multiplier chooses.
    pub slopes: Vec<f64>,
    /// Iterations, each with a few sums over all rows.
    pub iterations: usize,
    /// Whether they came to their end.
    pub converged: bool,
}

/// The program.
struct KinkProgram<'a> {
    risks: &'a [EmpiricalRisk],
    cost: PerKink,
    kink: PerKink,
    /// Of every row.
    slopes: Vec<SlopeRange>,
    linear: Vec<f64>,
    /// The diagonal of Q.
    quadratic: Vec<f64>,
    /// Columns with a kink at zero.
    kinked: usize,
}

/// The slopes of a row's two lines, and its weight.
#[derive(Clone, Copy)]
struct SlopeRange {
    low: f64,
    high: f64,
    weight: f64,
}

/// An iterate.
#[derive(Clone)]
struct Interior {
    b: Vec<f64>,
    a: PerKink,
    u: PerKink,
    p: PerKink,
}

/// The minimiser and, per row, the slope that the multipliers choose. `None` where the losses have
/// more than one kink, the penalty is not separable, or the iterates stand still too early.
pub fn minimise_kinks(objective: &KinkObjective<'_>, most: usize) -> Option<KinkEnd> {
    let program = KinkProgram::new(objective)?;
    let mut at = program.start();
    for iterations in 0..most {
        let gap = program.gap(&at);
        let size = program.cost.iter().zip(&at.u).map(|(c, u)| c * u).sum::<f64>();
        if gap <= GAP * (1.0 + size) {
            return Some(program.solution(at, iterations, true));
        }
        let step = program.step(&at);
        match step {
            Some((step, share)) if share > 1e-8 => at.advance(&step, share),
            // No digits are left: the certificate judges.
            _ if gap <= 1e-7 * (1.0 + size) => return Some(program.solution(at, iterations, true)),
            _ => return None,
        }
    }
    Some(program.solution(at, most, false))
}

impl<'a> KinkProgram<'a> {
    fn new(objective: &KinkObjective<'a>) -> Option<Self> {
        let &KinkObjective { risks, penalty, linear, quadratic } = objective;
        let (l1, l2) = penalty.regularizer.separable()?;
        let (l1, l2) = (l1 * penalty.weight, l2 * penalty.weight);
        let kinked = if l1 > 0.0 { penalty.penalized } else { 0 };
        let mut linear = linear.to_vec();
        let (mut cost, mut kink, mut slopes) = (Vec::new(), Vec::new(), Vec::new());
        for EmpiricalRisk { samples, loss, weight } in risks {
            let weight = *weight;
            for (i, &y) in samples.targets.iter().enumerate() {
                let Some(Epigraph::Lines(lines)) = loss.epigraph(y) else { return None };
                let [one, other]: [Line; 2] = lines.try_into().ok()?;
                let (low, high) = if one.slope < other.slope { (one, other) } else { (other, one) };
                let rise = high.slope - low.slope;
                if rise <= 0.0 {
                    return None;
                }
                samples.rows.visit(i, |p, x| linear[p] += weight * low.slope * x);
                cost.push(weight * rise);
                kink.push((low.offset - high.offset) / rise);
                slopes.push(SlopeRange { low: low.slope, high: high.slope, weight });
            }
        }
        linear[..kinked].iter_mut().for_each(|linear| *linear -= l1);
        cost.extend(vec![2.0 * l1; kinked]);
        kink.extend(vec![0.0; kinked]);
        let bend = |p: usize| 2.0 * quadratic + if p < penalty.penalized { l2 } else { 0.0 };
        let quadratic = (0..linear.len()).map(bend).collect();
        Some(Self { risks, cost, kink, slopes, linear, quadratic, kinked })
    }

    /// Zero, well inside.
    fn start(&self) -> Interior {
        Interior {
            b: vec![0.0; self.linear.len()],
            a: self.cost.iter().map(|cost| 0.5 * cost).collect(),
            u: self.kink.iter().map(|kink| (-kink).max(0.0) + 1.0).collect(),
            p: self.kink.iter().map(|kink| kink.max(0.0) + 1.0).collect(),
        }
    }

    /// `X b`, and below it the kinked columns themselves.
    fn times(&self, b: &[f64]) -> PerKink {
        let mut out = vec![0.0; self.cost.len()];
        let mut first = 0;
        for EmpiricalRisk { samples, .. } in self.risks {
            samples.rows.times(0, b, &mut out[first..first + samples.count()]);
            first += samples.count();
        }
        out[first..].copy_from_slice(&b[..self.kinked]);
        out
    }

    /// The transpose of that.
    fn transposed(&self, weights: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.linear.len()];
        let mut first = 0;
        for EmpiricalRisk { samples, .. } in self.risks {
            let weights = &weights[first..first + samples.count()];
            samples.rows.add_transposed_from(0, weights, &mut out);
            first += samples.count();
        }
        out.iter_mut().zip(&weights[first..]).for_each(|(out, weight)| *out += weight);
        out
    }

    /// The factors of `Q + X'DX`.
    fn factor(&self, d: &[f64]) -> Option<Llt<f64>> {
        const TILE: usize = 512;
        let dim = self.linear.len();
        let (mut matrix, mut scratch, mut first) = (vec![0.0; dim * dim], Vec::new(), 0);
        for EmpiricalRisk { samples, .. } in self.risks {
            for start in (0..samples.count()).step_by(TILE) {
                let count = TILE.min(samples.count() - start);
                let d = &d[first + start..][..count];
                samples.rows.add_gram(start, d, &mut scratch, &mut matrix);
            }
            first += samples.count();
        }
        let mut largest: f64 = 0.0;
        for p in 0..dim {
            matrix[p * dim + p] += self.quadratic[p] + d.get(first + p).copied().unwrap_or(0.0);
            largest = largest.max(matrix[p * dim + p]);
        }
        // A column of zeros would leave it singular.
        (0..dim).for_each(|p| matrix[p * dim + p] += 1e-15 * largest);
        MatRef::from_row_major_slice(&matrix, dim, dim).llt(Side::Lower).ok()
    }

    fn gap(&self, at: &Interior) -> f64 {
        (0..self.cost.len()).map(|i| at.a[i] * at.p[i] + (self.cost[i] - at.a[i]) * at.u[i]).sum()
    }

    /// Predictor and corrector, and how much of it stays inside.
    fn step(&self, at: &Interior) -> Option<(Interior, f64)> {
        let count = self.cost.len();
        let pair = |i: usize| (at.p[i] / at.a[i], at.u[i] / (self.cost[i] - at.a[i]));
        let d: PerKink = (0..count).map(|i| 1.0 / (pair(i).0 + pair(i).1)).collect();
        let factor = self.factor(&d)?;
        let fitted = self.times(&at.b);
        let direction = Direction { program: self, at, d: &d, factor: &factor, fitted: &fitted };
        let affine =
            direction.towards(|i| (-at.a[i] * at.p[i], -(self.cost[i] - at.a[i]) * at.u[i]));
        let (gap, share) = (self.gap(at), self.inside(at, &affine));
        let mut tried = at.clone();
        tried.advance(&affine, share);
        let mu = gap / (2 * count) as f64 * (self.gap(&tried) / gap).powi(3);
        let step = direction.towards(|i| {
            let (da, dp, du) = (affine.a[i], affine.p[i], affine.u[i]);
            (mu - at.a[i] * at.p[i] - da * dp, mu - (self.cost[i] - at.a[i]) * at.u[i] + da * du)
        });
        let share = self.inside(at, &step);
        Some((step, share))
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
        (SHORT_OF_EDGE * share).min(1.0)
    }

    fn solution(&self, at: Interior, iterations: usize, converged: bool) -> KinkEnd {
        // Rounding must not carry a slope out of its range: its conjugate would be infinite.
        let slope = |(range, a): (&SlopeRange, &f64)| {
            (range.low + a / range.weight).clamp(range.low, range.high)
        };
        let slopes = self.slopes.iter().zip(&at.a).map(slope).collect();
        let largest = at.b.iter().fold(0.0, |largest: f64, b| largest.max(b.abs()));
        let zero = |(p, b): (usize, f64)| match converged && p < self.kinked {
            true if b.abs() <= ZERO * largest => 0.0,
            _ => b,
        };
        let b = at.b.into_iter().enumerate().map(zero).collect();
        KinkEnd { b, slopes, iterations, converged }
    }
}

/// What both steps of an iteration share.
struct Direction<'a> {
    program: &'a KinkProgram<'a>,
    at: &'a Interior,
    d: &'a [f64],
    factor: &'a Llt<f64>,
    /// `X b`
    fitted: &'a [f64],
}

impl Direction<'_> {
    /// The Newton step whose complementarities change by these.
    fn towards(&self, change: impl Fn(usize) -> (f64, f64)) -> Interior {
        let Self { program, at, d, .. } = self;
        let count = program.cost.len();
        let rest = |i: usize| {
            let (over, under) = change(i);
            let primal = at.p[i] - at.u[i] + self.fitted[i] - program.kink[i];
            primal + over / at.a[i] - under / (program.cost[i] - at.a[i])
        };
        let rests: PerKink = (0..count).map(rest).collect();
        let pulls: PerKink = (0..count).map(|i| at.a[i] + d[i] * rests[i]).collect();
        let pull = program.transposed(&pulls);
        let dim = program.linear.len();
        let right = Mat::from_fn(dim, 1, |p, _| {
            -(program.linear[p] + program.quadratic[p] * at.b[p] + pull[p])
        });
        let found = self.factor.solve(&right);
        let b: Vec<f64> = (0..dim).map(|p| found[(p, 0)]).collect();
        let moved = program.times(&b);
        let a: PerKink = (0..count).map(|i| d[i] * (moved[i] + rests[i])).collect();
        let p = (0..count).map(|i| (change(i).0 - at.p[i] * a[i]) / at.a[i]).collect();
        let under = |i: usize| (change(i).1 + at.u[i] * a[i]) / (program.cost[i] - at.a[i]);
        let u = (0..count).map(under).collect();
        Interior { b, a, u, p }
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
    }
}
