//! Every measure of a result, once.

mod calibration;
mod fit;

pub use calibration::{Calibration, CalibrationGroup};
pub use fit::{Confusion, Fit};

use crate::problem::loss::{Loss, Targets};

/// The paper's metric `sum_k ||b_k - beta^c||^2/||beta^c||^2`, for one agent or all.
///
/// ```
/// use dzoa::run::evaluate::NormalisedError;
/// let error = NormalisedError::new(&[3.0, 4.0]).unwrap();
/// assert_eq!(error.of_agent(&[3.0, 9.0]), 1.0);
/// assert_eq!(error.by_agent([[3.0, 9.0], [3.0, 4.0]]), 1.0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct NormalisedError<'a> {
    optimum: &'a [f64],
    /// `||beta^c||^2`
    scale: f64,
}

impl<'a> NormalisedError<'a> {
    /// Against this optimum; `None` where it is zero, which has no scale.
    pub fn new(optimum: &'a [f64]) -> Option<Self> {
        let scale = norm_squared(optimum);
        (scale > 0.0).then_some(Self { optimum, scale })
    }

    /// One agent's summand.
    pub fn of_agent(&self, b: &[f64]) -> f64 {
        self.over([distance_squared(b, self.optimum)])
    }

    /// All agents, each of them summed up first.
    #[doc(alias = "normalized error")]
    pub fn by_agent<B: AsRef<[f64]>>(&self, estimates: impl IntoIterator<Item = B>) -> f64 {
        let of = |b: B| distance_squared(b.as_ref(), self.optimum);
        self.over(estimates.into_iter().map(of))
    }

    /// All agents in one sum over their coordinates: what [`by_agent`](Self::by_agent) gives, but
    /// for rounding. Results that were written down in this order stay the same.
    pub fn by_coordinate(&self, estimates: &[Vec<f64>]) -> f64 {
        self.over(estimates.iter().flat_map(|b| squares(b, self.optimum)))
    }

    fn over(&self, squares: impl IntoIterator<Item = f64>) -> f64 {
        squares.into_iter().sum::<f64>() / self.scale
    }
}

/// The paper's metric over all agents; infinite where it has no finite value.
pub fn error_or_infinity<B: AsRef<[f64]>>(
    optimum: &[f64],
    estimates: impl IntoIterator<Item = B>,
) -> f64 {
    NormalisedError::new(optimum)
        .map(|error| error.by_agent(estimates))
        .filter(|error| error.is_finite())
        .unwrap_or(f64::INFINITY)
}

/// What a fitted model says about one row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// The target: a number, or -1 or +1.
    pub value: f64,
    /// For classifiers the score `x'b`, whose sign is the value; zero counts as -1.
    pub score: Option<f64>,
    /// The probability of +1, where the loss models one.
    pub probability: Option<f64>,
}

impl Prediction {
    /// For a row with this score under the loss that was fitted.
    ///
    /// ```
    /// use dzoa::prelude::*;
    /// use dzoa::run::evaluate::Prediction;
    /// let likely = Prediction::new(&Logistic, 2.0);
    /// assert_eq!((likely.value, likely.score), (1.0, Some(2.0)));
    /// assert!((likely.probability.unwrap() - 0.8808).abs() < 1e-4);
    /// assert_eq!(Prediction::new(&Squared, 2.0).score, None);
    /// ```
    pub fn new(loss: &dyn Loss, score: f64) -> Self {
        match loss.targets() {
            Targets::Real => Self { value: score, score: None, probability: None },
            Targets::Signs => Self {
                value: if score > 0.0 { 1.0 } else { -1.0 },
                score: Some(score),
                probability: loss.probability(score),
            },
        }
    }
}

/// The mean of several vectors.
pub fn mean(vectors: &[Vec<f64>]) -> Vec<f64> {
    let mut sum = vec![0.0; vectors.first().map_or(0, Vec::len)];
    for vector in vectors {
        sum.iter_mut().zip(vector).for_each(|(sum, value)| *sum += value);
    }
    sum.iter_mut().for_each(|sum| *sum /= vectors.len() as f64);
    sum
}

/// The mean of a sample and its standard deviation; both zero of nothing.
pub fn deviation(values: &[f64]) -> (f64, f64) {
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n;
    (mean, variance.sqrt())
}

/// The largest distance of a vector from the mean of all.
pub fn consensus(vectors: &[Vec<f64>]) -> f64 {
    let centre = mean(vectors);
    vectors.iter().map(|vector| distance(vector, &centre)).fold(0.0, f64::max)
}

/// A quantile of a sample, interpolated; infinite values come last.
///
/// ```
/// use dzoa::run::evaluate::quantile;
/// assert_eq!(quantile(&[3.0, 1.0, 2.0, 4.0], 0.5), 2.5);
/// // numpy.percentile([1, 2, 4, 8, 16], [10, 90])
/// assert!((quantile(&[16.0, 1.0, 2.0, 4.0, 8.0], 0.1) - 1.4).abs() < 1e-12);
/// assert!((quantile(&[16.0, 1.0, 2.0, 4.0, 8.0], 0.9) - 12.8).abs() < 1e-12);
/// ```
pub fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = share * last as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    if low == high { low } else { low + (high - low) * (place - place.floor()) }
}

/// `||a - b||`
pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    distance_squared(a, b).sqrt()
}

/// `||a - b||^2`
pub fn distance_squared(a: &[f64], b: &[f64]) -> f64 {
    squares(a, b).sum()
}

/// `||b||^2`
pub fn norm_squared(b: &[f64]) -> f64 {
    b.iter().map(|b| b * b).sum()
}

fn squares(a: &[f64], b: &[f64]) -> impl Iterator<Item = f64> {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b))
}
