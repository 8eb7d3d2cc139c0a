//! Where models do not hold and values are exact: smoothing by a cloud of points.
//!
//! ```text
//! ask      points of a normal cloud around the mean
//! mean     to the weighted mean of the better half
//! cloud    its shape follows the steps that were good, its size how long the path of means is
//! ```
//!
//! Evolution with a covariance that adapts (Hansen 2016), with public random numbers.

use super::interpolation::{Seen, length};
use super::random::Public;
use super::search::View;
use crate::joint::quadratic::eigen;
use std::ops::Range;

/// A cloud between two questions.
#[derive(Clone, Debug)]
pub(super) struct Cloud {
    mean: Vec<f64>,
    size: f64,
    /// Line by line.
    covariance: Vec<f64>,
    /// Its square root and the inverse of that, line by line.
    root: Vec<f64>,
    unroot: Vec<f64>,
    /// Path of the means, in the cloud's own units and as it is.
    path: Vec<f64>,
    shape_path: Vec<f64>,
    generations: i32,
    rng: Public,
}

/// Everything that follows from P.
struct Rates {
    points: usize,
    weights: Vec<f64>,
    /// What the weighted points are worth.
    worth: f64,
    path: f64,
    damping: f64,
    shape_path: f64,
    one: f64,
    many: f64,
    /// The mean length of a normal vector.
    usual: f64,
}

impl Rates {
    fn new(n: usize) -> Self {
        let p = n as f64;
        let points = 4 + (3.0 * libm::log(p)) as usize;
        let half = points / 2;
        let raw: Vec<f64> =
            (0..half).map(|i| libm::log(half as f64 + 0.5) - libm::log(i as f64 + 1.0)).collect();
        let total: f64 = raw.iter().sum();
        let weights: Vec<f64> = raw.into_iter().map(|w| w / total).collect();
        let worth = 1.0 / weights.iter().map(|w| w * w).sum::<f64>();
        let path = (worth + 2.0) / (p + worth + 5.0);
        let beyond = (((worth - 1.0) / (p + 1.0)).sqrt() - 1.0).max(0.0);
        let one = 2.0 / ((p + 1.3) * (p + 1.3) + worth);
        let many = 2.0 * (worth - 2.0 + 1.0 / worth) / ((p + 2.0) * (p + 2.0) + worth);
        Self {
            points,
            weights,
            worth,
            path,
            damping: 1.0 + 2.0 * beyond + path,
            shape_path: (4.0 + worth / p) / (p + 4.0 + 2.0 * worth / p),
            one,
            many: many.min(1.0 - one),
            usual: p.sqrt() * (1.0 - 1.0 / (4.0 * p) + 1.0 / (21.0 * p * p)),
        }
    }
}

fn unit(n: usize) -> Vec<f64> {
    (0..n * n).map(|at| f64::from(u8::from(at % (n + 1) == 0))).collect()
}

/// `matrix vector`
fn times(matrix: &[f64], vector: &[f64]) -> Vec<f64> {
    let lines = matrix.chunks_exact(vector.len());
    lines.map(|line| line.iter().zip(vector).map(|(m, v)| m * v).sum()).collect()
}

impl Cloud {
    /// Around a point.
    pub fn new(mean: Vec<f64>, size: f64) -> Self {
        let n = mean.len();
        Self {
            mean,
            size,
            covariance: unit(n),
            root: unit(n),
            unroot: unit(n),
            path: vec![0.0; n],
            shape_path: vec![0.0; n],
            generations: 0,
            rng: Public::new("dzoa 2026 cloud"),
        }
    }

    /// How far its points are from its mean.
    pub fn size(&self) -> f64 {
        self.size
    }

    /// The next points.
    pub fn next(&mut self, view: View<'_>) -> Vec<Vec<f64>> {
        let n = self.mean.len();
        (0..Rates::new(n).points)
            .map(|_| {
                let normal: Vec<f64> = (0..n).map(|_| self.rng.normal()).collect();
                let shaped = times(&self.root, &normal);
                let along = self.mean.iter().zip(shaped);
                let mut point: Vec<f64> = along.map(|(m, s)| m + self.size * s).collect();
                view.variables.settle(&mut point);
                point
            })
            .collect()
    }

    /// Goes on with their values.
    pub fn learn(&mut self, asked: Range<usize>, seen: &Seen) {
        let n = self.mean.len();
        let rates = Rates::new(n);
        if asked.len() < rates.weights.len() {
            return;
        }
        let mut order: Vec<usize> = asked.collect();
        order.sort_by(|&a, &b| seen.values[a].total_cmp(&seen.values[b]));
        let from = |at: &usize| -> Vec<f64> {
            let away = seen.points[*at].iter().zip(&self.mean);
            away.map(|(x, m)| (x - m) / self.size).collect()
        };
        let steps: Vec<Vec<f64>> = order[..rates.weights.len()].iter().map(from).collect();
        let mut step = vec![0.0; n];
        for (weight, way) in rates.weights.iter().zip(&steps) {
            step.iter_mut().zip(way).for_each(|(s, y)| *s += weight * y);
        }
        self.mean.iter_mut().zip(&step).for_each(|(m, s)| *m += self.size * s);
        self.generations += 1;
        let keep = |rate: f64| (rate * (2.0 - rate) * rates.worth).sqrt();
        let white = times(&self.unroot, &step);
        for (path, w) in self.path.iter_mut().zip(white) {
            *path = (1.0 - rates.path) * *path + keep(rates.path) * w;
        }
        let long = length(&self.path);
        let faded = 1.0 - (0..2 * self.generations).fold(1.0, |f, _| f * (1.0 - rates.path));
        let steady = long / faded.sqrt() < (1.4 + 2.0 / (n as f64 + 1.0)) * rates.usual;
        for (path, s) in self.shape_path.iter_mut().zip(&step) {
            let moved = if steady { keep(rates.shape_path) * s } else { 0.0 };
            *path = (1.0 - rates.shape_path) * *path + moved;
        }
        let Rates { one, many, shape_path, .. } = rates;
        let lost = if steady { 0.0 } else { shape_path * (2.0 - shape_path) };
        for p in 0..n {
            for q in 0..n {
                let spread: f64 =
                    rates.weights.iter().zip(&steps).map(|(w, y)| w * (y[p] * y[q])).sum();
                let c = &mut self.covariance[p * n + q];
                *c = (1.0 - one - many + one * lost) * *c
                    + one * (self.shape_path[p] * self.shape_path[q])
                    + many * spread;
            }
        }
        let growth = rates.path / rates.damping * (long / rates.usual - 1.0);
        self.size *= libm::exp(growth.min(1.0));
        self.reshape();
    }

    /// The square root of the covariance, and its inverse.
    fn reshape(&mut self) {
        let n = self.mean.len();
        let (values, vectors) = eigen(&self.covariance, n);
        let (mut root, mut unroot) = (vec![0.0; n * n], vec![0.0; n * n]);
        for (value, vector) in values.iter().zip(vectors.chunks_exact(n)) {
            let scale = value.max(1e-20).sqrt();
            for p in 0..n {
                for q in 0..n {
                    let product = vector[p] * vector[q];
                    root[p * n + q] += scale * product;
                    unroot[p * n + q] += product / scale;
                }
            }
        }
        (self.root, self.unroot) = (root, unroot);
    }
}
