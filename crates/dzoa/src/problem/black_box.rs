//! Objectives of which only values are known: a simulator, a scoring service, a function in another
//! language.

use super::failure::Failure;
use super::objective::ClippedSum;
use super::{Objective, PerSample, Probe, Scratch, Variables};
use crate::streams::{FastRng, fill_normal};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What stands behind a black box. It is asked for many points at once, because a call often costs
/// more than a value.
pub trait Oracle: Send + Sync {
    /// Fills `out`: one value per point, or, of an oracle that knows its samples, one value per
    /// sample of the first point, then of the second, and so on.
    fn ask(&self, points: Points<'_>, out: &mut [f64]) -> Result<(), OracleError>;
}

/// Points one after the other, each of the same dimension.
#[derive(Clone, Copy, Debug)]
pub struct Points<'a> {
    /// P.
    pub dim: usize,
    /// All coordinates.
    pub values: &'a [f64],
}

impl<'a> Points<'a> {
    /// How many points.
    pub fn count(&self) -> usize {
        self.values.len() / self.dim
    }

    /// Point by point.
    pub fn iter(&self) -> impl Iterator<Item = &'a [f64]> {
        self.values.chunks_exact(self.dim)
    }
}

/// An oracle that could not answer.
#[derive(Clone, Debug, PartialEq)]
pub struct OracleError {
    /// Which of the points it failed at, if it knows.
    pub point: Option<usize>,
    /// What happened.
    pub message: String,
}

/// How a black box may be used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// The shortest step whose difference means something, relative to the largest coordinate (at
    /// least 1). Values computed in double precision carry 1e-8; a coarse simulator needs more.
    pub shortest_step: f64,
    /// Points that may be asked for in all.
    pub budget: Option<u64>,
    /// Points whose values are kept for the next time. 0: none, as random points do not come back.
    pub cache: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { shortest_step: 1e-8, budget: None, cache: 0 }
    }
}

/// An objective of which only values are known.
///
/// ```
/// use dzoa::problem::{BlackBox, Objective};
/// let bowl = BlackBox::new(2, |b: &[f64]| b.iter().map(|b| (b - 1.0).powi(2)).sum());
/// assert_eq!(bowl.value(&[1.0, 3.0]), 4.0);
/// assert_eq!(bowl.evaluations(), 1);
/// ```
///
/// A value that is not a number, or a panic, makes the run end with a status that names the point:
///
/// ```
/// use dzoa::problem::{BlackBox, Objective};
/// let root = BlackBox::new(1, |b: &[f64]| b[0].sqrt());
/// assert!(root.value(&[-1.0]).is_nan());
/// assert_eq!(root.failure().unwrap().to_string(), "the objective is NaN at [-1]");
/// ```
pub struct BlackBox {
    /// P: of the coordinates, where the variables have any of their own.
    dim: usize,
    variables: Option<Arc<Variables>>,
    /// Values per point: None for one of the whole agent.
    samples: Option<usize>,
    limits: Limits,
    oracle: Box<dyn Oracle>,
    evaluations: AtomicU64,
    watched: AtomicU64,
    failure: Mutex<Option<Failure>>,
    cache: Mutex<HashMap<Vec<u64>, Vec<f64>>>,
}

impl BlackBox {
    /// A function of `dim` variables.
    pub fn new(dim: usize, function: impl Fn(&[f64]) -> f64 + Send + Sync + 'static) -> Self {
        Self::from_oracle(dim, None, Box::new(Whole(function)))
    }

    /// A function that fills in one value per sample. A sample's value may depend on the point and
    /// on that sample only: the guarantee of `scalar` rests on it.
    pub fn per_sample(
        dim: usize,
        samples: usize,
        function: impl Fn(&[f64], &mut [f64]) + Send + Sync + 'static,
    ) -> Self {
        Self::from_oracle(dim, Some(samples), Box::new(EachSample(function)))
    }

    /// Anything that answers batches; `samples` where it gives one value per sample.
    pub fn from_oracle(dim: usize, samples: Option<usize>, oracle: Box<dyn Oracle>) -> Self {
        Self {
            dim,
            variables: None,
            samples,
            limits: Limits::default(),
            oracle,
            evaluations: AtomicU64::new(0),
            watched: AtomicU64::new(0),
            failure: Mutex::new(None),
            cache: Mutex::new(HashMap::new()),
        }
    }

    /// With other limits.
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// With variables that have bounds, scales or a start of their own: whoever minimises it works
    /// in their coordinates, and no question leaves the bounds.
    pub fn with_variables(mut self, variables: Arc<Variables>) -> Self {
        self.dim = variables.free();
        self.variables = Some(variables);
        self
    }

    /// How it may be used.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Whether it gives one value per sample.
    pub fn is_per_sample(&self) -> bool {
        self.samples.is_some()
    }

    /// Points asked of the function; what the cache knew is not counted.
    pub fn evaluations(&self) -> u64 {
        self.evaluations.load(Ordering::Relaxed)
    }

    /// Points asked of the function by [`BlackBox::watch`].
    pub fn watched(&self) -> u64 {
        self.watched.load(Ordering::Relaxed)
    }

    /// A value for somebody who watches the run: counted apart, and not against the budget.
    pub fn watch(&self, b: &[f64]) -> Result<f64, Failure> {
        self.watched.fetch_add(1, Ordering::Relaxed);
        let mut values = vec![0.0; self.width()];
        self.answer(Points { dim: self.dim, values: b }, &mut values)?;
        self.check(b, &values)?;
        Ok(self.mean(&values))
    }

    /// An estimate of the largest curvature around `b`, from second differences along `directions`
    /// random directions of length about `u sqrt(P)`: for a step size where nobody knows a bound.
    /// It looks at the data: not for runs with a guarantee.
    pub fn measure_curvature(
        &self,
        b: &[f64],
        u: f64,
        directions: usize,
        rng: &mut FastRng,
    ) -> Result<f64, Failure> {
        let mut nu = vec![0.0; directions * self.dim];
        fill_normal(rng, &mut nu);
        let mut points = b.to_vec();
        for sign in [1.0, -1.0] {
            for nu in nu.chunks_exact(self.dim) {
                points.extend(b.iter().zip(nu).map(|(b, nu)| b + sign * u * nu));
            }
        }
        let values = self.means(&points)?;
        let along: Vec<f64> = (0..directions)
            .map(|j| {
                let length: f64 = nu[j * self.dim..][..self.dim].iter().map(|nu| nu * nu).sum();
                let second = values[1 + j] + values[1 + directions + j] - 2.0 * values[0];
                second.abs() / (u * u * length)
            })
            .collect();
        // Along a random direction the curvature is that of a mean over the axes. The largest one
        // is at most their sum, and seldom more than three times the largest of several directions.
        let largest = along.iter().fold(0.0, |largest: f64, h| largest.max(*h));
        let trace = self.dim as f64 * along.iter().sum::<f64>() / directions as f64;
        Ok(trace.min(3.0 * largest))
    }

    /// As the function takes it.
    fn outside<'a>(&self, points: Points<'a>) -> (usize, Cow<'a, [f64]>) {
        let Some(variables) = &self.variables else { return (points.dim, points.values.into()) };
        let mut all = Vec::with_capacity(points.count() * variables.count());
        points.iter().for_each(|point| variables.outside_into(point, &mut all));
        (variables.count(), all.into())
    }

    /// One point as the function takes it.
    fn point(&self, point: &[f64]) -> Vec<f64> {
        self.outside(Points { dim: self.dim, values: point }).1.into_owned()
    }

    /// Values of every point: one, or one for each sample.
    pub(crate) fn values(&self, points: &[f64]) -> Result<Vec<f64>, Failure> {
        let points = Points { dim: self.dim, values: points };
        let mut values = vec![0.0; points.count() * self.width()];
        self.ask(points, &mut values)?;
        let each = points.iter().zip(values.chunks_exact(self.width()));
        each.into_iter().try_for_each(|(point, values)| self.check(point, values))?;
        Ok(values)
    }

    /// Values per point.
    fn width(&self) -> usize {
        self.samples.unwrap_or(1)
    }

    fn mean(&self, values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    /// One finite value per point, or why not.
    fn means(&self, points: &[f64]) -> Result<Vec<f64>, Failure> {
        let values = self.values(points)?;
        Ok(values.chunks_exact(self.width()).map(|values| self.mean(values)).collect())
    }

    fn check(&self, point: &[f64], values: &[f64]) -> Result<(), Failure> {
        match values.iter().position(|value| !value.is_finite()) {
            None => Ok(()),
            Some(at) => Err(Failure::NotFinite {
                point: self.point(point),
                value: values[at],
                sample: self.samples.map(|_| at),
            }),
        }
    }

    /// Counted and budgeted, through the cache where there is one.
    fn ask(&self, points: Points<'_>, out: &mut [f64]) -> Result<(), Failure> {
        if self.limits.cache == 0 {
            self.count(points.count() as u64)?;
            return self.answer(points, out);
        }
        let width = self.width();
        let key = |point: &[f64]| -> Vec<u64> {
            self.point(point).into_iter().map(f64::to_bits).collect()
        };
        let mut unknown = Vec::new();
        {
            let cache = locked(&self.cache);
            for (i, point) in points.iter().enumerate() {
                match cache.get(&key(point)) {
                    Some(values) => out[i * width..][..width].copy_from_slice(values),
                    None => unknown.push(i),
                }
            }
        }
        if unknown.is_empty() {
            return Ok(());
        }
        self.count(unknown.len() as u64)?;
        let asked: Vec<f64> = unknown
            .iter()
            .flat_map(|&i| points.values[i * self.dim..][..self.dim].iter().copied())
            .collect();
        let asked = Points { dim: self.dim, values: &asked };
        let mut values = vec![0.0; unknown.len() * width];
        self.answer(asked, &mut values)?;
        let mut cache = locked(&self.cache);
        for ((&i, point), values) in unknown.iter().zip(asked.iter()).zip(values.chunks(width)) {
            out[i * width..][..width].copy_from_slice(values);
            if cache.len() < self.limits.cache {
                cache.insert(key(point), values.to_vec());
            }
        }
        Ok(())
    }

    /// Counts before asking: what would be too much is not asked.
    fn count(&self, points: u64) -> Result<(), Failure> {
        let asked = self.evaluations.load(Ordering::Relaxed);
        match self.limits.budget {
            Some(budget) if asked + points > budget => {
                Err(Failure::OutOfEvaluations { budget, asked })
            }
            _ => {
                self.evaluations.fetch_add(points, Ordering::Relaxed);
                Ok(())
            }
        }
    }

    /// Asks, and turns panics and errors into failures that name the point.
    fn answer(&self, points: Points<'_>, out: &mut [f64]) -> Result<(), Failure> {
        let (dim, values) = self.outside(points);
        let asked = Points { dim, values: &values };
        let answered = catch_unwind(AssertUnwindSafe(|| self.oracle.ask(asked, out)));
        let OracleError { point, message } = match answered {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => error,
            Err(panic) => OracleError { point: None, message: panic_message(&*panic) },
        };
        let point = point.filter(|&i| i < points.count()).unwrap_or(0);
        Err(Failure::Failed {
            point: self.point(&points.values[point * self.dim..][..self.dim]),
            message,
        })
    }

    /// Remembers the first failure until the loop asks for it.
    fn note(&self, failure: Failure) {
        locked(&self.failure).get_or_insert(failure);
    }

    /// All points of a probe: `b + u1 nu1_j` for every j, then the same plus `u2 nu2_j`.
    fn points(&self, probe: &Probe<'_>, points: &mut Vec<f64>) {
        let Probe { point, u1, u2, directions } = *probe;
        let count = directions.count();
        points.clear();
        points.resize(2 * count * self.dim, 0.0);
        for p in 0..self.dim {
            let (nu1, nu2) = directions.feature(p);
            for j in 0..count {
                let here = point[p] + u1 * nu1[j];
                points[j * self.dim + p] = here;
                points[(count + j) * self.dim + p] = here + u2 * nu2[j];
            }
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code that could panic runs under these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("it panicked: {}", text.unwrap_or("without a message"))
}

impl Objective for BlackBox {
    fn dim(&self) -> usize {
        self.dim
    }

    fn value(&self, b: &[f64]) -> f64 {
        match self.means(b) {
            Ok(values) => values[0],
            Err(failure) => {
                self.note(failure);
                f64::NAN
            }
        }
    }

    fn shortest_step(&self, b: &[f64]) -> f64 {
        self.limits.shortest_step * b.iter().fold(1.0, |largest: f64, b| largest.max(b.abs()))
    }

    fn quotients(&self, probe: &Probe<'_>, scratch: &mut Scratch, out: &mut [f64]) {
        self.points(probe, &mut scratch.products);
        match self.means(&scratch.products) {
            Ok(values) => {
                let (here, there) = values.split_at(out.len());
                for ((out, here), there) in out.iter_mut().zip(here).zip(there) {
                    *out = (there - here) / probe.u2;
                }
            }
            Err(failure) => {
                self.note(failure);
                out.fill(f64::NAN);
            }
        }
    }

    fn failure(&self) -> Option<Failure> {
        locked(&self.failure).take()
    }
}

impl PerSample for BlackBox {
    fn samples(&self) -> usize {
        self.width()
    }

    fn total_weight(&self) -> f64 {
        1.0
    }

    fn sample_quotients(
        &self,
        probe: &Probe<'_>,
        samples: Range<usize>,
        scratch: &mut Scratch,
        visit: &mut dyn FnMut(&[f64]),
    ) {
        let (width, count) = (self.width(), probe.directions.count());
        self.points(probe, &mut scratch.products);
        let mut values = vec![0.0; 2 * count * width];
        let points = Points { dim: self.dim, values: &scratch.products };
        if let Err(failure) = self.ask(points, &mut values) {
            return self.note(failure);
        }
        let (here, there) = values.split_at(count * width);
        scratch.here.resize(count, 0.0);
        for sample in samples {
            for (j, out) in scratch.here.iter_mut().enumerate() {
                let at = j * width + sample;
                *out = (there[at] - here[at]) / probe.u2;
            }
            visit(&scratch.here);
        }
    }

    /// A value that is not a number makes its difference count as 0 and ends nothing: under a
    /// guarantee the end of a run would be a release.
    fn clipped_means(
        &self,
        probe: &Probe<'_>,
        clip: f64,
        scratch: &mut Scratch,
        out: &mut [f64],
    ) -> u64 {
        let (width, count) = (self.width(), out.len());
        let Scratch { products, here, there: sample, .. } = scratch;
        self.points(probe, products);
        here.clear();
        here.resize(2 * count * width, 0.0);
        out.fill(0.0);
        if let Err(failure) = self.ask(Points { dim: self.dim, values: products }, here) {
            self.note(failure);
            return 0;
        }
        let mut sum = ClippedSum::new(clip, width, probe);
        let (here, there) = here.split_at(count * width);
        for i in 0..width {
            sample.clear();
            sample.extend((0..count).map(|j| there[j * width + i] - here[j * width + i]));
            sum.add(sample);
        }
        sum.finish(out)
    }
}

impl fmt::Debug for BlackBox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlackBox").field("dim", &self.dim).field("samples", &self.samples).finish()
    }
}

struct Whole<F>(F);

impl<F: Fn(&[f64]) -> f64 + Send + Sync> Oracle for Whole<F> {
    fn ask(&self, points: Points<'_>, out: &mut [f64]) -> Result<(), OracleError> {
        each(points, |i, point| out[i] = (self.0)(point))
    }
}

struct EachSample<F>(F);

impl<F: Fn(&[f64], &mut [f64]) + Send + Sync> Oracle for EachSample<F> {
    fn ask(&self, points: Points<'_>, out: &mut [f64]) -> Result<(), OracleError> {
        let width = out.len() / points.count().max(1);
        each(points, |i, point| (self.0)(point, &mut out[i * width..][..width]))
    }
}

/// Point by point, so that a panic names its own.
fn each(points: Points<'_>, mut ask: impl FnMut(usize, &[f64])) -> Result<(), OracleError> {
    for (i, point) in points.iter().enumerate() {
        catch_unwind(AssertUnwindSafe(|| ask(i, point)))
            .map_err(|panic| OracleError { point: Some(i), message: panic_message(&*panic) })?;
    }
    Ok(())
}
