//! A quadratic model through points, whose matrix changes as little as it can (Powell 2004).
//!
//! ```text
//! minimise |H - H_before|^2 (Frobenius)   where the model meets the values of all points:
//! [ A  1  Y ] [lambda]   [values less those of the last model]
//! [ 1' 0  0 ] [  c   ] = [ 0 ]          A_ij = 1/2 (y_i'y_j)^2
//! [ Y' 0  0 ] [  g   ]   [ 0 ]          H = H_before + sum_i lambda_i y_i y_i'
//! ```
//!
//! Additions, products and divisions of plain doubles: every processor finds the same bits.

use super::region::{Quadratic, Within, best_step};

/// What was asked so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pub points: Vec<Vec<f64>>,
    pub values: Vec<f64>,
}

impl Seen {
    /// The point with the least value.
    pub fn best(&self) -> usize {
        let less = |best: usize, at: usize| {
            if self.values[at] < self.values[best] { at } else { best }
        };
        (0..self.values.len()).fold(0, less)
    }

    /// Where this very point was asked, if it was.
    pub fn position(&self, point: &[f64]) -> Option<usize> {
        self.points.iter().position(|known| known == point)
    }
}

/// A model through some of the points, around the best of them.
#[derive(Clone, Debug)]
pub(super) struct Interpolation {
    /// The points, by their places among those that were asked.
    pub members: Vec<usize>,
    /// The best one.
    pub centre: usize,
    /// At the centre.
    pub gradient: Vec<f64>,
    /// Line by line.
    pub hessian: Vec<f64>,
    /// Members from the centre, in units of the farthest of them.
    scaled: Vec<f64>,
    unit: f64,
    /// Of the matrix above.
    inverse: Vec<f64>,
}

impl Interpolation {
    /// A model through these points, as flat as it can be.
    pub fn new(members: Vec<usize>, seen: &Seen) -> Self {
        let n = seen.points[0].len();
        let mut model = Self {
            centre: members[0],
            members,
            gradient: vec![0.0; n],
            hessian: vec![0.0; n * n],
            scaled: Vec::new(),
            unit: 1.0,
            inverse: Vec::new(),
        };
        model.refit(seen);
        model
    }

    /// P.
    fn columns(&self) -> usize {
        self.gradient.len()
    }

    /// The model as it stands.
    pub fn quadratic(&self) -> Quadratic<'_> {
        Quadratic { gradient: &self.gradient, hessian: &self.hessian }
    }

    /// How far a member is from the centre.
    pub fn distance(&self, member: usize) -> f64 {
        let n = self.columns();
        length(&self.scaled[member * n..][..n]) * self.unit
    }

    /// The member farthest from the centre.
    pub fn farthest(&self) -> usize {
        let farther = |far: usize, at: usize| {
            if self.distance(at) > self.distance(far) { at } else { far }
        };
        (0..self.members.len()).fold(0, farther)
    }

    /// Keeps those nearest to the centre.
    pub fn keep_nearest(&mut self, count: usize, seen: &Seen) {
        let mut order: Vec<usize> = (0..self.members.len()).collect();
        order.sort_by(|&a, &b| self.distance(a).total_cmp(&self.distance(b)));
        order.truncate(count);
        self.members = order.into_iter().map(|at| self.members[at]).collect();
        self.refit(seen);
    }

    /// Meets the values of all members, around the best of them.
    pub fn refit(&mut self, seen: &Seen) {
        let (n, m) = (self.columns(), self.members.len());
        let better = |best: usize, at: &usize| {
            if seen.values[*at] < seen.values[best] { *at } else { best }
        };
        self.centre = self.members.iter().fold(self.members[0], better);
        let centre = &seen.points[self.centre];
        let from = |&at: &usize| seen.points[at].iter().zip(centre).map(|(x, c)| x - c);
        let mut scaled: Vec<f64> = self.members.iter().flat_map(from).collect();
        let far = scaled.chunks_exact(n).map(length).fold(0.0, f64::max);
        self.unit = if far > 0.0 { far } else { 1.0 };
        scaled.iter_mut().for_each(|y| *y /= self.unit);
        self.scaled = scaled;
        let total = m + n + 1;
        self.inverse = inverse(&self.matrix(0.0), total)
            // Points that lie badly: the model need not quite meet them.
            .or_else(|| inverse(&self.matrix(1e-9), total))
            .or_else(|| inverse(&self.matrix(1e-3), total))
            .unwrap_or_else(|| vec![0.0; total * total]);
        let square = self.unit * self.unit;
        self.hessian.iter_mut().for_each(|h| *h *= square);
        let zero = vec![0.0; n];
        let before = Quadratic { gradient: &zero, hessian: &self.hessian };
        let least = seen.values[self.centre];
        let missing: Vec<f64> = (0..m)
            .map(|i| seen.values[self.members[i]] - least - before.change(self.member(i)))
            .collect();
        let solved: Vec<f64> = self
            .inverse
            .chunks_exact(total)
            .map(|line| line.iter().zip(&missing).map(|(w, d)| w * d).sum())
            .collect();
        let mut hessian = std::mem::take(&mut self.hessian);
        self.bend(&mut hessian, &solved[..m]);
        hessian.iter_mut().for_each(|h| *h /= square);
        self.hessian = hessian;
        self.gradient = solved[m + 1..].iter().map(|g| g / self.unit).collect();
    }

    fn member(&self, i: usize) -> &[f64] {
        let n = self.columns();
        &self.scaled[i * n..][..n]
    }

    /// Adds `sum_i lambda_i y_i y_i'`, symmetric to the last bit.
    fn bend(&self, matrix: &mut [f64], lambda: &[f64]) {
        let n = self.columns();
        for (i, lambda) in lambda.iter().enumerate() {
            let y = self.member(i);
            for p in 0..n {
                for q in 0..n {
                    matrix[p * n + q] += lambda * (y[p] * y[q]);
                }
            }
        }
    }

    fn matrix(&self, loose: f64) -> Vec<f64> {
        let (n, m) = (self.columns(), self.members.len());
        let total = m + n + 1;
        let mut w = vec![0.0; total * total];
        for i in 0..m {
            for j in 0..m {
                let product = dot(self.member(i), self.member(j));
                w[i * total + j] = 0.5 * product * product;
            }
            w[i * total + i] += loose;
            (w[i * total + m], w[m * total + i]) = (1.0, 1.0);
            for p in 0..n {
                let y = self.scaled[i * n + p];
                (w[i * total + m + 1 + p], w[(m + 1 + p) * total + i]) = (y, y);
            }
        }
        // Where all points lie in a plane, as whole numbers may, nothing is said across it.
        (m + 1..total).for_each(|p| w[p * total + p] = -loose);
        w
    }

    /// Lagrange's functions at a point: how much each member's value weighs there.
    pub fn weights(&self, point: &[f64], seen: &Seen) -> Vec<f64> {
        let (n, m) = (self.columns(), self.members.len());
        let total = m + n + 1;
        let centre = &seen.points[self.centre];
        let y: Vec<f64> = point.iter().zip(centre).map(|(x, c)| (x - c) / self.unit).collect();
        let mut column: Vec<f64> = (0..m)
            .map(|i| {
                let product = dot(self.member(i), &y);
                0.5 * product * product
            })
            .collect();
        column.push(1.0);
        column.extend(&y);
        let line = |i: usize| dot(&self.inverse[i * total..][..total], &column);
        (0..m).map(line).collect()
    }

    /// The point within so far of the centre where the value of this member weighs most: asking
    /// there instead makes the members lie best. Room as in [`Within`].
    pub fn mending(&self, member: usize, radius: f64, room: &[[f64; 2]]) -> Vec<f64> {
        let (n, m) = (self.columns(), self.members.len());
        let total = m + n + 1;
        let column: Vec<f64> = (0..total).map(|i| self.inverse[i * total + member]).collect();
        let mut hessian = vec![0.0; n * n];
        self.bend(&mut hessian, &column[..m]);
        let room: Vec<[f64; 2]> = room.iter().map(|room| room.map(|r| r / self.unit)).collect();
        let within = Within { radius: radius / self.unit, room: &room };
        let gradient = &column[m + 1..];
        let up = Quadratic { gradient, hessian: &hessian };
        let (minus, bent): (Vec<f64>, Vec<f64>) =
            (gradient.iter().map(|g| -g).collect(), hessian.iter().map(|h| -h).collect());
        let down = Quadratic { gradient: &minus, hessian: &bent };
        let candidates = [best_step(up, within), best_step(down, within)];
        let [first, second] = candidates;
        let larger = up.change(&first).abs() >= up.change(&second).abs();
        let step = if larger { first } else { second };
        step.into_iter().map(|s| s * self.unit).collect()
    }

    /// Takes in a point that was asked, in place of the member `instead`, or of the one that is
    /// missed least.
    pub fn take(&mut self, new: usize, instead: Option<usize>, reach: f64, seen: &Seen) {
        if self.members.contains(&new) {
            return;
        }
        let leaving = instead.unwrap_or_else(|| {
            let weights = self.weights(&seen.points[new], seen);
            let better = seen.values[new] < seen.values[self.centre];
            let around = &seen.points[if better { new } else { self.centre }];
            let score = |i: usize| {
                let member = self.members[i];
                let far = apart(&seen.points[member], around) / reach;
                let far = far.max(1.0);
                let stays = !better && member == self.centre;
                if stays { -1.0 } else { weights[i].abs() * far * far * far }
            };
            let most = |best: usize, at: usize| if score(at) > score(best) { at } else { best };
            (0..self.members.len()).fold(0, most)
        });
        self.members[leaving] = new;
        self.refit(seen);
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub(super) fn length(vector: &[f64]) -> f64 {
    dot(vector, vector).sqrt()
}

pub(super) fn apart(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

/// The inverse by Gauss and Jordan, with the largest pivot of every column; `None` where there is
/// none to speak of.
pub(super) fn inverse(matrix: &[f64], n: usize) -> Option<Vec<f64>> {
    const LEAST_PIVOT: f64 = 1e-14;
    let wide = 2 * n;
    let mut work = vec![0.0; n * wide];
    for (i, line) in work.chunks_exact_mut(wide).enumerate() {
        line[..n].copy_from_slice(&matrix[i * n..][..n]);
        line[n + i] = 1.0;
    }
    for column in 0..n {
        let larger = |best: usize, at: usize| {
            let size = |i: usize| work[i * wide + column].abs();
            if size(at) > size(best) { at } else { best }
        };
        let pivot = (column..n).fold(column, larger);
        let size = work[pivot * wide + column];
        if size.is_nan() || size.abs() < LEAST_PIVOT {
            return None;
        }
        for p in 0..wide {
            work.swap(column * wide + p, pivot * wide + p);
        }
        let line: Vec<f64> = work[column * wide..][..wide].iter().map(|v| v / size).collect();
        work[column * wide..][..wide].copy_from_slice(&line);
        for (i, other) in work.chunks_exact_mut(wide).enumerate() {
            let factor = other[column];
            if i != column && factor != 0.0 {
                other[column..].iter_mut().zip(&line[column..]).for_each(|(v, l)| *v -= factor * l);
            }
        }
    }
    Some(work.chunks_exact(wide).flat_map(|line| line[n..].iter().copied()).collect())
}
