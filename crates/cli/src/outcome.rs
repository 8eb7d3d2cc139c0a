//! How a run ended, for whoever started it.

use crate::interrupt;
use crate::trial::Trial;
use dzoa::prelude::Status;
use dzoa::problem::Failure;
use dzoa_table::{Error, Result};
use std::path::Path;

/// Whether the run counts as done.
pub fn outcome(trials: &[Trial], out: &Path) -> Result<()> {
    let bad = trials.iter().enumerate().find(|(_, trial)| trial.status != Status::Finished);
    let Some((index, trial)) = bad else { return Ok(()) };
    let which = if trials.len() > 1 { format!(" (trial {})", index + 1) } else { String::new() };
    match &trial.status {
        Status::Finished => Ok(()),
        // An early stop by the stopping rule is a success; only Ctrl-C is not.
        Status::Stopped { .. } if !interrupt::asked() => Ok(()),
        Status::Stopped { round } => Err(Error::run(format!(
            "stopped by Ctrl-C after round {round}{which}; what is done is in {}",
            out.display()
        ))),
        // A program that was interrupted fails.
        status if interrupt::asked() => Err(Error::run(format!(
            "stopped by Ctrl-C ({status}){which}; what is done is in {}",
            out.display()
        ))),
        status => Err(Error::run(format!("{status}{which}")).hint(way_out(status))),
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
