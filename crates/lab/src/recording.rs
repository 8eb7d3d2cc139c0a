//! What is recorded of a run while it goes, and what it comes to.

use dzoa::plan::Data;
use dzoa::prelude::*;
use dzoa::reference::Optimum;
use dzoa::run::evaluate::{consensus, mean};
use dzoa::run::{BestSeen, Recorder, ValueRecorder};
use dzoa_report::TraceFile;
use dzoa_table::Result;
use std::path::PathBuf;

/// The rounds of a run over rows or black boxes, on their way to trace.csv.
pub struct Recording<'a> {
    file: TraceFile<'a>,
    by: By<'a>,
}

enum By<'a> {
    Rows { recorder: Recorder<'a>, problem: &'a Problem },
    Boxes { recorder: ValueRecorder, consensus: Option<f64> },
}

/// A recorded run.
pub struct Recorded {
    /// trace.csv
    pub trace: PathBuf,
    /// The paper's metric in every recorded round over rows.
    pub errors: Vec<(u64, f64)>,
    /// The sum of the objectives at the mean model; nothing where a box gave no value.
    pub objective: Option<f64>,
    /// The largest distance of an agent from the mean model; over boxes that of the last round.
    pub consensus: Option<f64>,
    /// Over boxes: the best point whose value was seen, and what to say if the result is worse than
    /// the start.
    pub best: Option<BestSeen>,
    /// See `best`.
    pub divergence: Option<String>,
}

impl<'a> Recording<'a> {
    /// Of every n-th of so many rounds.
    pub fn new(
        file: TraceFile<'a>,
        data: &'a Data,
        optimum: Option<&'a Optimum>,
        every: u64,
        rounds: u64,
    ) -> Self {
        let by = match data {
            Data::Rows(problem) => {
                By::Rows { recorder: Recorder::new(problem, optimum, every, rounds), problem }
            }
            Data::Boxes(known) => {
                let penalty = known.penalty(known.eta);
                let recorder = ValueRecorder::new(known.boxes.clone(), penalty, every, rounds);
                By::Boxes { recorder, consensus: None }
            }
        };
        Self { file, by }
    }

    /// Writes a round if it is due, or the last.
    pub fn round(&mut self, view: &RoundView<'_>, last: bool) -> Result<()> {
        match &mut self.by {
            By::Rows { recorder, .. } => {
                let _ = recorder.round(view);
                if last && recorder.records.is_empty() {
                    recorder.record(view);
                }
                self.file.append(&recorder.records)?;
                recorder.records.clear();
            }
            By::Boxes { recorder, consensus } => {
                let _ = recorder.round(view);
                self.file.append_values(&recorder.records)?;
                // What is on its way to the disk is not kept.
                let last = recorder.records.drain(..).next_back();
                *consensus =
                    last.map(|record| record.consensus.iter().copied().fold(0.0, f64::max));
            }
        }
        Ok(())
    }

    /// Measures what the agents report in the end.
    pub fn finish(self, estimates: &[Vec<f64>]) -> Result<Recorded> {
        let (trace, errors) = self.file.finish()?;
        let model = mean(estimates);
        let mut recorded = Recorded {
            trace,
            errors,
            objective: None,
            consensus: None,
            best: None,
            divergence: None,
        };
        match self.by {
            By::Rows { problem, .. } => {
                recorded.objective = Some(problem.value(&model));
                recorded.consensus = Some(consensus(estimates));
            }
            By::Boxes { mut recorder, consensus } => {
                recorded.objective = recorder.conclude(&model);
                recorded.consensus = consensus;
                recorded.divergence = recorded.objective.and_then(|v| recorder.divergence(v));
                recorded.best = recorder.best().cloned();
            }
        }
        recorded.consensus = recorded.consensus.filter(|value| value.is_finite());
        Ok(recorded)
    }
}
