//! The model of one step under norms of groups: a quadratic and `sum_g weight_g ||v_g||`.

use super::positive::Positive;

/// Turns of descent along coordinates and on the support.
pub(super) const MOST_TURNS: usize = 30;
/// Sweeps of a turn, which end when the same coordinates stay zero.
pub(super) const MOST_SWEEPS: usize = 20;
/// Violations of optimality below this share of the slopes' size are rounding.
pub(super) const ROUNDING: f64 = 1e-13;
/// Newton steps on the groups that are not zero.
const MOST_STEPS: usize = 50;
/// The shortest share of such a step.
const SHORTEST: f64 = 1e-4;

/// Groups of columns and what their norms weigh.
pub(super) struct Groups<'a> {
    pub(super) columns: &'a [Vec<usize>],
    pub(super) weights: Vec<f64>,
}

/// `gradient'(v - b) + 1/2 (v - b)'hessian(v - b) + sum_g weight_g ||v_g||` as a function of v.
pub(super) struct GroupModel<'a> {
    hessian: &'a [f64],
    /// The slope of the quadratic at v.
    slope: Vec<f64>,
    v: Vec<f64>,
    groups: Groups<'a>,
    /// Columns of no group.
    free: Vec<usize>,
}

impl<'a> GroupModel<'a> {
    /// Around b.
    pub(super) fn new(gradient: &[f64], hessian: &'a [f64], b: &[f64], groups: Groups<'a>) -> Self {
        let mut grouped = vec![false; b.len()];
        groups.columns.iter().flatten().for_each(|&p| grouped[p] = true);
        let free = (0..b.len()).filter(|&p| !grouped[p]).collect();
        Self { hessian, slope: gradient.to_vec(), v: b.to_vec(), groups, free }
    }

    /// Its minimiser: descent along groups finds who is zero, and Newton steps on the others the
    /// rest. Nothing where that does not end soon, `None` where there is no step.
    pub(super) fn minimise(mut self) -> Option<Option<Vec<f64>>> {
        let dim = self.v.len();
        for _ in 0..MOST_TURNS {
            for _ in 0..MOST_SWEEPS {
                if !self.sweep() {
                    break;
                }
            }
            self.descend_on_support()?;
            let size = |p: usize| self.slope[p].abs() + self.hessian[p * dim + p] * self.v[p].abs();
            let heaviest = self.groups.weights.iter().copied().fold(0.0, f64::max);
            let largest = (0..dim).map(size).fold(heaviest, f64::max);
            if self.violation() <= ROUNDING * largest {
                return Some(Some(self.v));
            }
        }
        Some(None)
    }

    /// One step along each group and free column; whether a group came to zero or left it.
    fn sweep(&mut self) -> bool {
        let mut changed = false;
        for g in 0..self.groups.columns.len() {
            let (columns, weight) = (&self.groups.columns[g], self.groups.weights[g]);
            let bend = self.bend(columns);
            let was_zero = columns.iter().all(|&p| self.v[p] == 0.0);
            let aim = |&p: &usize| match bend > 0.0 {
                true => self.v[p] - self.slope[p] / bend,
                false => 0.0,
            };
            let aims: Vec<f64> = columns.iter().map(aim).collect();
            let (length, threshold) = (norm(&aims), weight / bend);
            let factor = if length > threshold { 1.0 - threshold / length } else { 0.0 };
            for (&p, aim) in columns.iter().zip(aims) {
                self.shift(p, factor * aim - self.v[p]);
                self.v[p] = factor * aim;
            }
            changed |= was_zero != (factor == 0.0);
        }
        for &p in &self.free.clone() {
            let bend = self.hessian[p * self.v.len() + p];
            if bend > 0.0 {
                let step = -self.slope[p] / bend;
                self.shift(p, step);
                self.v[p] += step;
            }
        }
        changed
    }

    /// A bound on the curvature among these columns.
    fn bend(&self, columns: &[usize]) -> f64 {
        let dim = self.v.len();
        let line = |&p: &usize| columns.iter().map(|q| self.hessian[p * dim + q].abs()).sum();
        columns.iter().map(line).fold(0.0, f64::max)
    }

    /// Keeps the slope up with a move along one coordinate.
    fn shift(&mut self, p: usize, by: f64) {
        if by != 0.0 {
            let line = &self.hessian[p * self.v.len()..][..self.v.len()];
            self.slope.iter_mut().zip(line).for_each(|(slope, h)| *slope += by * h);
        }
    }

    /// Groups that are not zero: number, norm.
    fn active(&self) -> Vec<(usize, f64)> {
        let length = |columns: &Vec<usize>| norm_at(columns, &self.v);
        let all = self.groups.columns.iter().map(length).enumerate();
        all.filter(|(_, length)| *length > 0.0).collect()
    }

    /// Newton steps on the groups that are not zero and the free columns, as long as they are good.
    fn descend_on_support(&mut self) -> Option<()> {
        for _ in 0..MOST_STEPS {
            let step = self.support_step()?;
            let moved = step.iter().fold(0.0, |most: f64, step| most.max(step.abs()));
            let size = self.v.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
            let Some(share) = self.share(&step) else { break };
            for p in 0..step.len() {
                self.shift(p, share * step[p]);
                self.v[p] += share * step[p];
            }
            if moved <= 1e-15 * size {
                break;
            }
        }
        Some(())
    }

    /// The Newton step there, zero elsewhere.
    fn support_step(&self) -> Option<Vec<f64>> {
        let dim = self.v.len();
        let active = self.active();
        let (mut slope, mut bend) = (self.slope.clone(), self.hessian.to_vec());
        let mut support = self.free.clone();
        for &(g, length) in &active {
            let (columns, weight) = (&self.groups.columns[g], self.groups.weights[g]);
            for &p in columns {
                slope[p] += weight * self.v[p] / length;
                bend[p * dim + p] += weight / length;
                for &q in columns {
                    bend[p * dim + q] -=
                        weight * (self.v[p] / length) * (self.v[q] / length) / length;
                }
            }
            support.extend(columns);
        }
        let pairs = support.iter().flat_map(|&p| support.iter().map(move |&q| p * dim + q));
        let small: Vec<f64> = pairs.map(|at| bend[at]).collect();
        let right: Vec<f64> = support.iter().map(|&p| -slope[p]).collect();
        let found = Positive::of(small, support.len())?.solve(&right);
        let mut step = vec![0.0; dim];
        support.iter().zip(found).for_each(|(&p, found)| step[p] = found);
        step.iter().all(|value| value.is_finite()).then_some(step)
    }

    /// How much of a step makes the model smaller as it should; `None` if hardly any of it.
    fn share(&self, step: &[f64]) -> Option<f64> {
        let dim = self.v.len();
        let line: f64 = self.slope.iter().zip(step).map(|(slope, step)| slope * step).sum();
        let bent = |(p, by): (usize, &f64)| {
            let products = self.hessian[p * dim..][..dim].iter().zip(step);
            by * products.map(|(h, step)| h * step).sum::<f64>()
        };
        let bend: f64 = step.iter().enumerate().filter(|(_, by)| **by != 0.0).map(bent).sum();
        // Norms, and how the steps lie to them: ||v + t s|| - ||v|| without cancellation.
        let parts = self.active().into_iter().map(|(g, length)| {
            let columns = &self.groups.columns[g];
            let along: f64 = columns.iter().map(|&p| self.v[p] * step[p]).sum();
            let square: f64 = columns.iter().map(|&p| step[p] * step[p]).sum();
            (self.groups.weights[g], length, along, square)
        });
        let parts: Vec<(f64, f64, f64, f64)> = parts.collect();
        let descent =
            line + parts.iter().map(|(w, length, along, _)| w * along / length).sum::<f64>();
        let mut share = 1.0;
        while share > SHORTEST {
            let rise = |&(w, length, along, square): &(f64, f64, f64, f64)| {
                let change = share * (2.0 * along + share * square);
                w * change / ((length * length + change).max(0.0).sqrt() + length)
            };
            let change = share * (line + 0.5 * share * bend) + parts.iter().map(rise).sum::<f64>();
            if change <= 1e-4 * share * descent {
                return Some(share);
            }
            share *= 0.5;
        }
        None
    }

    /// How far the slope of any group or free column is from one that is balanced.
    fn violation(&self) -> f64 {
        let of_group = |(columns, weight): (&Vec<usize>, &f64)| match norm_at(columns, &self.v) {
            0.0 => (norm_at(columns, &self.slope) - weight).max(0.0),
            length => {
                let off = |&p: &usize| self.slope[p] + weight * self.v[p] / length;
                norm(&columns.iter().map(off).collect::<Vec<f64>>())
            }
        };
        let groups = self.groups.columns.iter().zip(&self.groups.weights).map(of_group);
        groups.chain(self.free.iter().map(|&p| self.slope[p].abs())).fold(0.0, f64::max)
    }
}

fn norm(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum::<f64>().sqrt()
}

fn norm_at(columns: &[usize], values: &[f64]) -> f64 {
    columns.iter().map(|&p| values[p] * values[p]).sum::<f64>().sqrt()
}
