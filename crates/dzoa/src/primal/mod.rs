//! How one agent minimises its `F_k`: by two-point descent, exactly, or with noise on every query.

mod certified;
mod exact;
mod lagrangian;
pub(crate) mod scalar;
mod two_point;

pub use certified::Certified;
pub(crate) use exact::rounding;
pub use exact::{Exact, SampleWeights, least_distance, least_smooth_distance};
pub use lagrangian::Lagrangian;
pub use scalar::{Scalar, ScalarPrediction};
pub use two_point::{Descent, Workspace, ZerothOrder, gradient, measure_noise};

use crate::problem::{Directions, Failure};
use crate::status::Status;
use crate::streams::{Purpose, Streams};
use dzoa_privacy::{Private, Receipt, Release, WrongEvent};

/// Who computes, and when: what randomness is keyed by.
#[derive(Clone, Copy, Debug)]
pub struct RoundContext<'a> {
    /// The agent's name.
    pub agent: &'a str,
    /// m, counted from 1.
    pub round: u64,
    /// The root of randomness.
    pub streams: &'a Streams,
}

impl RoundContext<'_> {
    /// Draws the directions of any step, for a round and a purpose.
    pub fn directions(&self, purpose: Purpose, round: u64) -> impl Fn(usize, &mut Directions) {
        let normals = self.streams.normals(purpose, self.agent, round);
        move |step, directions| normals.fill(step as u64, directions.values_mut())
    }

    /// Releases a vector in the way it was charged.
    pub fn release(&self, b: Vec<f64>, receipt: Receipt) -> Result<Release, WrongEvent> {
        Private::new(b).release(receipt, &self.streams.noise_key(self.agent))
    }
}

/// The result of a primal step.
#[derive(Debug)]
pub struct Primal {
    /// What leaves of the new primal variable.
    pub release: Release,
    /// Values of the objective that were asked for.
    pub oracle_calls: u64,
    /// Whether `u_2` was raised to what the objective can resolve.
    pub step_raised: bool,
    /// Whether an exact solver had to finish. Depends on the data: a local value.
    pub finished_exactly: bool,
    /// Difference quotients that were clipped: a local value, too.
    pub clipped: u64,
}

impl Primal {
    /// This result with its release moved into the ball of a public radius.
    pub fn within(self, radius: f64) -> Self {
        Self { release: self.release.within(radius), ..self }
    }
}

/// A primal step that has no result.
#[derive(Clone, Debug, PartialEq)]
pub enum InnerFailure {
    /// An iterate was not finite.
    NonFinite {
        /// The inner step.
        step: usize,
    },
    /// The objective gave no value.
    Objective {
        /// The inner step.
        step: usize,
        /// Where, and why.
        failure: Failure,
    },
    /// An exact solve could not be certified.
    NotCertified {
        /// The distance to the minimiser that could be certified.
        distance: f64,
    },
    /// The step does not release in the way that was charged.
    WrongEvent(WrongEvent),
}

impl InnerFailure {
    /// How it ends the run, at this agent in this round.
    pub fn status(self, agent: &str, round: u64) -> Status {
        let agent = agent.to_string();
        match self {
            Self::NonFinite { step } => Status::NonFinite { agent, round, step },
            Self::Objective { step, failure } => {
                Status::ObjectiveFailed { agent, round, step, failure }
            }
            Self::NotCertified { distance } => Status::NotCertified { agent, round, distance },
            Self::WrongEvent(error) => {
                Status::BudgetExhausted { agent, rounds: round - 1, reason: error.to_string() }
            }
        }
    }
}

impl From<WrongEvent> for InnerFailure {
    fn from(error: WrongEvent) -> Self {
        InnerFailure::WrongEvent(error)
    }
}

/// What a primal step works on in one round.
pub struct PrimalTask<'a> {
    /// `F_k`.
    pub lagrangian: &'a Lagrangian<'a>,
    /// Where an iterative step begins.
    pub start: &'a [f64],
    /// What pays for the release.
    pub receipt: Receipt,
    /// Who computes, and when.
    pub context: RoundContext<'a>,
}

/// A way to minimise `F_k`, exactly or not.
pub trait PrimalStep: Send + Sync {
    /// One primal update, paid for by the receipt of its task.
    fn update(
        &mut self,
        task: PrimalTask<'_>,
        work: &mut Workspace,
    ) -> Result<Primal, InnerFailure>;

    /// The radius of the ball that releases are moved into, and that neighbours' vectors must lie
    /// in: public, and the same at both ends of an edge. Infinite for a step without a guarantee.
    fn radius(&self) -> f64 {
        f64::INFINITY
    }

    /// What the next update takes over from this one beyond its task. It depends on private rows
    /// and stays with the agent, which persists it so that after a restart it computes the same
    /// bits.
    fn memory(&self) -> &[f64] {
        &[]
    }

    /// Takes up the memory of an earlier process.
    fn recall(&mut self, _memory: Vec<f64>) {}
}
