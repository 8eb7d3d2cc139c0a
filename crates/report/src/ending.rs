//! What a run that did not finish says to whoever started it.

use dzoa::Status;
use dzoa::problem::Failure;
use dzoa_table::{Error, Exit};

/// The error of a run that ended with this status; `which` follows its words, if there are several.
pub fn ended_badly(status: &Status, which: &str) -> Error {
    Error::ending(exit_of(status), format!("{status}{which}")).hint(way_out(status))
}

/// How the program ends where a run did not finish.
pub fn exit_of(status: &Status) -> Exit {
    match status {
        Status::BudgetExhausted { .. } => Exit::Budget,
        _ => Exit::Failed,
    }
}

/// What to do about a run that failed.
fn way_out(status: &Status) -> &'static str {
    match status {
        Status::Finished | Status::Stopped { .. } => "start it again",
        Status::NonFinite { .. } | Status::Diverged { .. } => {
            "the steps are too long: raise algorithm.lipschitz (L), \
             or lower algorithm.step where it is given"
        }
        Status::ObjectiveFailed { failure: Failure::OutOfEvaluations { .. }, .. } => {
            "raise the budget of evaluations, or take fewer rounds, inner steps or directions"
        }
        Status::ObjectiveFailed { .. } => {
            "the objective must give a finite value at every point it is asked for"
        }
        Status::BudgetExhausted { .. } => {
            "what was released stays released; \
             a larger budget needs a new decision of the data's owner"
        }
        Status::NoSum { .. } => "every agent must have the same network file, program and roster",
        Status::NotCertified { .. } => "raise algorithm.options.tolerance, or algorithm.rho",
    }
}
