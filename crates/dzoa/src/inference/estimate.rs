//! One number with its standard error, its test and its interval.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};
use statrs::function::erf::{erfc, erfc_inv};
use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

/// An estimate and its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// What was estimated.
    pub value: f64,
    /// Its standard error.
    pub error: f64,
}

/// An estimate with the test of whether it is zero, and its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// What was estimated.
    pub estimate: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// The estimate in standard errors.
    pub statistic: f64,
    /// How likely a statistic as large as this is, were it zero in truth: of both signs together.
    pub p_value: f64,
    /// Where the interval begins.
    pub low: f64,
    /// Where it ends.
    pub high: f64,
}

impl Estimate {
    /// With Student's t where it has degrees of freedom, and the normal distribution otherwise.
    ///
    /// ```
    /// use dzoa::inference::Estimate;
    /// let found = Estimate { value: 1.0, error: 0.5 }.judged(None, 0.95);
    /// assert!((found.p_value - 0.0455002639).abs() < 1e-9);
    /// assert!((found.low - 0.0200180077).abs() < 1e-9);
    /// // A sample of four: t with three degrees of freedom.
    /// let found = Estimate { value: 1.0, error: 0.5 }.judged(Some(3.0), 0.95);
    /// assert!((found.p_value - 0.1393259686).abs() < 1e-9);
    /// assert!((found.high - 2.5912231526).abs() < 1e-9);
    /// ```
    pub fn judged(self, freedom: Option<f64>, confidence: f64) -> Judged {
        let Self { value, error } = self;
        let statistic = value / error;
        let reach = error * quantile(freedom, confidence);
        Judged {
            estimate: value,
            standard_error: error,
            statistic,
            p_value: beyond(freedom, statistic.abs()),
            low: value - reach,
            high: value + reach,
        }
    }
}

/// Student's t, where there are degrees of freedom for it.
fn student(freedom: Option<f64>) -> Option<StudentsT> {
    StudentsT::new(0.0, 1.0, freedom?).ok()
}

/// The share of a distribution that is farther from zero.
fn beyond(freedom: Option<f64>, distance: f64) -> f64 {
    if !distance.is_finite() {
        return if distance.is_nan() { f64::NAN } else { 0.0 };
    }
    match student(freedom) {
        Some(student) => (2.0 * student.sf(distance)).min(1.0),
        None => erfc(distance * FRAC_1_SQRT_2),
    }
}

/// How far from zero a share of the distribution goes.
fn quantile(freedom: Option<f64>, confidence: f64) -> f64 {
    match student(freedom) {
        Some(student) => student.inverse_cdf(0.5 + 0.5 * confidence),
        None => SQRT_2 * erfc_inv(1.0 - confidence),
    }
}
