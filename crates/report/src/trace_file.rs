//! trace.csv of a simulation, written while the rounds go: for the owner of all the data.

use crate::private_file::replace_private;
use crate::summary::NOT_TO_BE_SHARED;
use crate::write::{csv_field, csv_number};
use dzoa::plan::Spending;
use dzoa::run::{AgentRecord, Recorder, ValueRecord};
use dzoa_table::{Error, Result};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The rows of one trial, on their way to the disk.
pub struct TraceFile<'a> {
    path: PathBuf,
    file: BufWriter<File>,
    trial: usize,
    names: Vec<String>,
    spending: &'a Spending,
    /// The paper's metric in every recorded round: all that is kept in memory.
    pub errors: Vec<(u64, f64)>,
}

/// The columns of the trace.csv of a run. Errors and gaps need everybody's rows, and are not
/// protected.
const HEADER: &str = "trial,round,agent,error,objective_gap,consensus,epsilon_spent";

/// What a trace has to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceOf {
    /// Rows under a known loss.
    Rows,
    /// Black boxes: also the objective at the mean of the agents, and what was asked of each.
    Boxes,
}

impl TraceOf {
    /// The first lines of the file.
    fn header(self) -> String {
        let more = match self {
            Self::Rows => "",
            Self::Boxes => ",objective,evaluations",
        };
        format!("# {NOT_TO_BE_SHARED}\n{HEADER}{more}\n")
    }
}

/// The first lines of the trace.csv of an agent.
pub const SHARED_TRACE_HEADER: &str =
    "# may be shared: functions of what was exchanged\nround,agent,consensus,epsilon_spent";

impl<'a> TraceFile<'a> {
    /// Begins a file in the directory of the run: trace.csv for the first trial, one of its own for
    /// every other until they are joined.
    pub fn create(
        out: &Path,
        trial: usize,
        of: TraceOf,
        names: &[String],
        spending: &'a Spending,
    ) -> Result<Self> {
        let path = match trial {
            0 => out.join("trace.csv"),
            _ => out.join(format!("trace-{}.csv", trial + 1)),
        };
        let first = if trial == 0 { of.header() } else { String::new() };
        let file = std::fs::create_dir_all(out)
            .and_then(|()| replace_private(&path, first.as_bytes()))
            .and_then(|()| OpenOptions::new().append(true).open(&path))
            .map(BufWriter::new)
            .map_err(|error| unwritten(&path, &error))?;
        let names = names.iter().map(|name| csv_field(name)).collect();
        Ok(Self { path, file, trial, names, spending, errors: Vec::new() })
    }

    /// Writes the records of a round.
    pub fn append(&mut self, records: &[AgentRecord]) -> Result<()> {
        self.errors.extend(Recorder::errors(records));
        records
            .iter()
            .try_for_each(|record| self.row(record))
            .map_err(|error| unwritten(&self.path, &error))
    }

    /// Writes recorded rounds of black boxes.
    pub fn append_values(&mut self, records: &[ValueRecord]) -> Result<()> {
        let agents = self.names.len();
        records
            .iter()
            .try_for_each(|record| (0..agents).try_for_each(|k| self.value_row(record, k)))
            .map_err(|error| unwritten(&self.path, &error))
    }

    fn row(&mut self, record: &AgentRecord) -> io::Result<()> {
        writeln!(
            self.file,
            "{},{},{},{},{},{},{}",
            self.trial + 1,
            record.round,
            self.names[record.agent],
            csv_number(record.error),
            csv_number(record.objective_gap),
            csv_number(Some(record.consensus)),
            csv_number(self.spending.after(record.agent, record.round))
        )
    }

    fn value_row(&mut self, record: &ValueRecord, k: usize) -> io::Result<()> {
        writeln!(
            self.file,
            "{},{},{},,,{},{},{},{}",
            self.trial + 1,
            record.round,
            self.names[k],
            csv_number(Some(record.consensus[k])),
            csv_number(self.spending.after(k, record.round)),
            csv_number(record.objective),
            record.evaluations[k]
        )
    }

    /// Hands over the finished file and the errors.
    pub fn finish(mut self) -> Result<(PathBuf, Vec<(u64, f64)>)> {
        self.file.flush().map_err(|error| unwritten(&self.path, &error))?;
        Ok((self.path, self.errors))
    }
}

/// Puts the files of further trials behind that of the first.
pub fn join_traces(first: &Path, others: &[&Path]) -> Result<()> {
    let append = |part: &Path| {
        let mut all = OpenOptions::new().append(true).open(first)?;
        io::copy(&mut File::open(part)?, &mut all)?;
        std::fs::remove_file(part)
    };
    others.iter().try_for_each(|part| append(part)).map_err(|error| unwritten(first, &error))
}

fn unwritten(path: &Path, error: &io::Error) -> Error {
    Error::run(format!("{}: cannot be written: {error}", path.display()))
}
