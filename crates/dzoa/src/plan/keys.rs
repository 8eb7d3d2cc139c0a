//! What users give about privacy, and what does not fit.

use super::claimed::Total;
use super::given::{Auto, PerAgent};
use dzoa_privacy::calibrate::Schedule;
use dzoa_privacy::{Budget, Colluders};
use thiserror::Error;

/// What users may give about privacy; each mechanism reads its own part.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Keys {
    /// Of one round.
    pub epsilon: Option<f64>,
    /// In total; with `epsilon`, of one round as well.
    pub delta: Option<f64>,
    /// Over the whole run.
    pub total_epsilon: Option<f64>,
    /// How the total is spread over the rounds.
    pub schedule: Option<Auto<Schedule>>,
    /// Rows that one person may have.
    pub rows_per_person: Option<usize>,
    /// tau.
    pub tolerance: Option<f64>,
    /// C.
    pub clip: Option<f64>,
    /// Whom joint sums protect against.
    pub colluders: Option<Colluders>,
    /// The constant of Lemma 2.
    pub c: Option<PerAgent>,
    /// The term of Corollary 1 that needs the optimum.
    pub optimum_norm: Option<OptimumNorm>,
}

impl Keys {
    /// The budget of a mechanism whose total holds.
    pub(super) fn total(&self) -> Result<Total, KeyError> {
        Ok(Total {
            budget: Budget {
                epsilon: self.total_epsilon.ok_or(KeyError::Missing("total_epsilon"))?,
                delta: self.delta.ok_or(KeyError::Missing("delta"))?,
            },
            schedule: self.schedule.unwrap_or(Auto::Given(Schedule::Constant)),
            rows_per_person: self.rows_per_person.unwrap_or(1),
        })
    }
}

/// `||beta^c||^2` in Corollary 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OptimumNorm {
    /// A public bound.
    Bound(f64),
    /// The true optimum, as the paper takes it.
    Replicate,
}

/// Keys that do not fit a mechanism.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum KeyError {
    /// No mechanism has this name.
    #[error("no mechanism is called `{0}`")]
    Unknown(String),
    /// A key that the mechanism cannot do without.
    #[error("`{0}` is missing")]
    Missing(&'static str),
    /// A key that the mechanism does not read.
    #[error("`{0}` has no effect with this mechanism")]
    NoEffect(&'static str),
}
