//! How a run ends.

use crate::problem::Failure;
use std::fmt;

/// How a run ended. Not converging is a status, not an error.
#[derive(Clone, Debug, PartialEq)]
pub enum Status {
    /// All rounds were done.
    Finished,
    /// An observer stopped the run after this round.
    Stopped {
        /// Rounds done.
        round: u64,
    },
    /// An iterate was not a finite number.
    NonFinite {
        /// The agent.
        agent: String,
        /// The round.
        round: u64,
        /// The inner step.
        step: usize,
    },
    /// A release was finite, but too large to be used.
    Diverged {
        /// The agent.
        agent: String,
        /// The round.
        round: u64,
        /// The norm of the release.
        norm: f64,
    },
    /// A black box gave no value.
    ObjectiveFailed {
        /// The agent.
        agent: String,
        /// The round.
        round: u64,
        /// The inner step.
        step: usize,
        /// Where, and why.
        failure: Failure,
    },
    /// The ledger refused the next release.
    BudgetExhausted {
        /// The agent.
        agent: String,
        /// Rounds done.
        rounds: u64,
        /// What the ledger said.
        reason: String,
    },
    /// An exact inner solve could not be certified.
    NotCertified {
        /// The agent.
        agent: String,
        /// The round.
        round: u64,
        /// The distance to the minimiser that could be certified.
        distance: f64,
    },
    /// A sum over all agents that cannot be taken.
    NoSum {
        /// The round.
        round: u64,
        /// Why.
        reason: String,
    },
}

impl Status {
    /// One word for files and tables.
    pub fn word(&self) -> &'static str {
        match self {
            Status::Finished => "finished",
            Status::Stopped { .. } => "stopped",
            Status::NonFinite { .. } => "non-finite",
            Status::Diverged { .. } => "diverged",
            Status::ObjectiveFailed { failure: Failure::OutOfEvaluations { .. }, .. } => {
                "out-of-evaluations"
            }
            Status::ObjectiveFailed { .. } => "objective-failed",
            Status::BudgetExhausted { .. } => "budget-exhausted",
            Status::NotCertified { .. } => "not-certified",
            Status::NoSum { .. } => "no-sum",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Status::Finished => write!(f, "all rounds were done"),
            Status::Stopped { round } => write!(f, "stopped after round {round}"),
            Status::NonFinite { agent, round, step } => write!(
                f,
                "status NonFinite: agent {agent} left the finite numbers in round {round}, inner \
                 step {step}"
            ),
            Status::Diverged { agent, round, norm } => write!(
                f,
                "status Diverged: the release of agent {agent} in round {round} has norm {norm:.1e}"
            ),
            Status::ObjectiveFailed { agent, round, step, failure } => {
                write!(f, "agent {agent}, round {round}, inner step {step}: {failure}")
            }
            Status::BudgetExhausted { agent, rounds, reason } => write!(
                f,
                "status BudgetExhausted: agent {agent} stopped after {rounds} rounds: {reason}"
            ),
            Status::NoSum { round, reason } => {
                write!(f, "status NoSum: the sum of round {round} cannot be taken: {reason}")
            }
            Status::NotCertified { agent, round, distance } => write!(
                f,
                "status NotCertified: the exact solver of agent {agent} came within {distance:.1e} \
                 of \
                 its minimiser in round {round}, not within the tolerance"
            ),
        }
    }
}
