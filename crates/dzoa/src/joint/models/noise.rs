//! Where the same point gives different values: regression over all points of a wide region.
//!
//! ```text
//! weight   1 within the radius, (radius/distance)^3 beyond: what a quadratic leaves out there
//! model    weighted least squares through all values
//! centre   to where the model is least, no farther than the radius
//! ask      pairs of opposite random points on the sphere around it
//! ```
//!
//! The residual says how large the noise is. Where it no longer falls with the radius, a smaller
//! radius would only make the noise larger beside what is to be seen.

use super::interpolation::{Seen, apart, inverse, length};
use super::random::Public;
use super::region::{Quadratic, Within, best_step};
use super::search::View;

/// A regression between two questions.
#[derive(Clone, Debug)]
pub(super) struct Spread {
    centre: Vec<f64>,
    radius: f64,
    /// The residual at every radius so far.
    residuals: Vec<[f64; 2]>,
    model: Option<Fitted>,
    rng: Public,
}

/// A model by regression, in units of the radius.
#[derive(Clone, Debug)]
struct Fitted {
    value: f64,
    gradient: Vec<f64>,
    hessian: Vec<f64>,
    residual: f64,
    /// What so many points are worth.
    effective: f64,
}

/// The region never grows beyond so many first steps.
const WIDEST: f64 = 16.0;
/// How much a region grows where steps end at its edge, and shrinks where the noise allows it.
const GROWS: f64 = 1.5;
const SHRINKS: f64 = 0.8;
/// A ridge that keeps a matrix in its place where few values speak of it, beside their weight.
const RIDGE: f64 = 1e-4;

impl Spread {
    /// Around a point.
    pub fn new(centre: Vec<f64>, radius: f64) -> Self {
        let rng = Public::new("dzoa 2026 spread points");
        Self { centre, radius: radius.min(WIDEST), residuals: Vec::new(), model: None, rng }
    }

    /// Where the model is least.
    pub fn centre(&self) -> &[f64] {
        &self.centre
    }

    /// What the model says there.
    pub fn value(&self) -> Option<f64> {
        self.model.as_ref().map(|model| model.value)
    }

    /// The size of the noise in one value of the sum.
    pub fn noise(&self) -> Option<f64> {
        self.model.as_ref().map(|model| model.residual)
    }

    /// Fits all values, goes to where the model is least, and says what to ask there.
    pub fn next(&mut self, view: View<'_>) -> Vec<Vec<f64>> {
        let n = self.centre.len();
        if let Some(model) = self.fit(view.seen) {
            let room: Vec<[f64; 2]> = (0..n)
                .map(|p| {
                    let [low, high] = view.variables.bounds(p);
                    let here = self.centre[p];
                    [(low - here).min(0.0), (high - here).max(0.0)].map(|room| room / self.radius)
                })
                .collect();
            let quadratic = Quadratic { gradient: &model.gradient, hessian: &model.hessian };
            let step = best_step(quadratic, Within { radius: 1.0, room: &room });
            let value = model.value + quadratic.change(&step);
            for (c, s) in self.centre.iter_mut().zip(&step) {
                *c += self.radius * s;
            }
            view.variables.settle(&mut self.centre);
            self.resize(length(&step), &model);
            self.model = Some(Fitted { value, ..model });
        }
        let half = n.div_ceil(2).max(1);
        let mut points = Vec::with_capacity(2 * half);
        for _ in 0..half {
            let direction = self.rng.direction(n);
            for sign in [1.0, -1.0] {
                let along = self.centre.iter().zip(&direction);
                let mut point: Vec<f64> = along.map(|(c, d)| c + sign * self.radius * d).collect();
                view.variables.settle(&mut point);
                points.push(point);
            }
        }
        points
    }

    fn resize(&mut self, step: f64, model: &Fitted) {
        let few = model.effective < 6.0 * self.centre.len() as f64;
        if step > 0.8 {
            self.radius = (GROWS * self.radius).min(WIDEST);
        } else if step < 0.5 && !few {
            let wider = |known: &&[f64; 2]| known[0] > 3.0 * self.radius;
            let last = self.residuals.iter().rev().find(wider).map(|known| known[1]);
            self.residuals.push([self.radius, model.residual]);
            if last.is_none_or(|last| model.residual < 0.7 * last) {
                self.radius *= SHRINKS;
            }
        }
    }

    /// Weighted least squares; `None` where values say too little.
    fn fit(&self, seen: &Seen) -> Option<Fitted> {
        let n = self.centre.len();
        let count = 1 + n + n * (n + 1) / 2;
        let least = seen.values.iter().fold(f64::INFINITY, |least: f64, v| least.min(*v));
        let (mut normal, mut right) = (vec![0.0; count * count], vec![0.0; count]);
        let mut lines = Vec::with_capacity(seen.points.len());
        for (point, value) in seen.points.iter().zip(&seen.values) {
            let far = (apart(point, &self.centre) / self.radius).max(1.0);
            let weight = 1.0 / (far * far * far);
            let y: Vec<f64> =
                point.iter().zip(&self.centre).map(|(x, c)| (x - c) / self.radius).collect();
            let line: Vec<f64> = terms(&y).into_iter().map(|term| weight * term).collect();
            let target = weight * (value - least);
            for (i, a) in line.iter().enumerate() {
                right[i] += a * target;
                let row = &mut normal[i * count..][..count];
                row.iter_mut().zip(&line).for_each(|(sum, b)| *sum += a * b);
            }
            lines.push((line, target, weight));
        }
        (n + 1..count).for_each(|i| normal[i * count + i] += RIDGE);
        let solved: Vec<f64> = inverse(&normal, count)?
            .chunks_exact(count)
            .map(|line| line.iter().zip(&right).map(|(a, b)| a * b).sum())
            .collect();
        let (mut squares, mut effective) = (0.0, 0.0);
        for (line, target, weight) in &lines {
            let fitted: f64 = line.iter().zip(&solved).map(|(a, b)| a * b).sum();
            squares += (target - fitted) * (target - fitted);
            effective += weight * weight;
        }
        let free = (effective - count as f64).max(0.2 * effective);
        let mut hessian = vec![0.0; n * n];
        let mut at = n + 1;
        for p in 0..n {
            for q in p..n {
                (hessian[p * n + q], hessian[q * n + p]) = (solved[at], solved[at]);
                at += 1;
            }
        }
        let residual = (squares / free).sqrt();
        let gradient = solved[1..=n].to_vec();
        Some(Fitted { value: solved[0] + least, gradient, hessian, residual, effective })
    }
}

/// One, the coordinates, and their products: half of the squares.
fn terms(y: &[f64]) -> Vec<f64> {
    let mut terms = vec![1.0];
    terms.extend(y);
    for (p, a) in y.iter().enumerate() {
        for (q, b) in y.iter().enumerate().skip(p) {
            terms.push(if p == q { 0.5 * a * b } else { a * b });
        }
    }
    terms
}
