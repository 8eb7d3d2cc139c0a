//! Why an objective gave no value.

use thiserror::Error;

/// Why a black box gave no value.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum Failure {
    /// NaN or an infinity.
    #[error("the objective is {value} at {}{}", shown(point), of_sample(*sample))]
    NotFinite {
        /// Where.
        point: Vec<f64>,
        /// What it gave.
        value: f64,
        /// For which sample, counted from 0, if it knows its samples.
        sample: Option<usize>,
    },
    /// A panic, an exception, a program that ended.
    #[error("the objective failed at {}: {message}", shown(point))]
    Failed {
        /// Where, or the first point of the batch.
        point: Vec<f64>,
        /// What happened.
        message: String,
    },
    /// The next points would be more than were allowed.
    #[error("the objective's budget of {budget} evaluations is used up ({asked} were made)")]
    OutOfEvaluations {
        /// Points allowed.
        budget: u64,
        /// Points asked for so far.
        asked: u64,
    },
}

/// A point, short enough for a message.
fn shown(point: &[f64]) -> String {
    const MOST: usize = 8;
    let coordinates: Vec<String> = point.iter().take(MOST).map(f64::to_string).collect();
    let rest =
        if point.len() > MOST { format!(", ... ({} in all)", point.len()) } else { "".into() };
    format!("[{}{rest}]", coordinates.join(", "))
}

/// For error messages.
fn of_sample(sample: Option<usize>) -> String {
    sample.map_or(String::new(), |i| format!(" for sample {i}"))
}
