//! How a run ended, for whoever started it.

use crate::interrupt;
use crate::trial::Trial;
use dzoa::prelude::Status;
use dzoa_report::ended_badly;
use dzoa_table::{Error, Result};
use std::path::Path;

/// Of many trials those that came to their end; a single one as far as it came.
pub fn ended(trials: Vec<Option<Trial>>) -> Result<Vec<Trial>> {
    let single = trials.len() == 1;
    let begun = trials.into_iter().flatten();
    let (cut, ended): (Vec<_>, Vec<_>) = begun.partition(|trial| trial.interrupted && !single);
    cut.iter().for_each(|trial| drop(std::fs::remove_file(&trial.trace)));
    // Without the first, the others have no plan to be summarised by.
    if ended.first().is_none_or(|first| first.plan.is_none()) {
        ended.iter().for_each(|trial| drop(std::fs::remove_file(&trial.trace)));
        // Only if nothing else is in it.
        let dir = cut.first().and_then(|trial| trial.trace.parent());
        let _ = dir.map(std::fs::remove_dir);
        return Err(Error::interrupted(
            "stopped by Ctrl-C before a trial ended; nothing is summarised",
        ));
    }
    Ok(ended)
}

/// Whether the run counts as done; `asked` is how many trials it should have had.
pub fn outcome(trials: &[Trial], asked: usize, out: &Path) -> Result<()> {
    if trials.len() < asked {
        let ended = trials.len();
        return Err(Error::interrupted(format!(
            "stopped by Ctrl-C: {ended} of {asked} trials ended, and they are in {}",
            out.display()
        )));
    }
    let bad = trials.iter().enumerate().find(|(_, trial)| trial.status != Status::Finished);
    let Some((index, trial)) = bad else { return Ok(()) };
    let which = if trials.len() > 1 { format!(" (trial {})", index + 1) } else { String::new() };
    match &trial.status {
        Status::Finished => Ok(()),
        // An early stop by the stopping rule is a success; only Ctrl-C is not.
        Status::Stopped { .. } if !interrupt::asked() => Ok(()),
        Status::Stopped { round } => Err(Error::interrupted(format!(
            "stopped by Ctrl-C after round {round}{which}; what is done is in {}",
            out.display()
        ))),
        // A program that was interrupted fails.
        status if interrupt::asked() => Err(Error::interrupted(format!(
            "stopped by Ctrl-C ({status}){which}; what is done is in {}",
            out.display()
        ))),
        status => Err(ended_badly(status, &which)),
    }
}
