//! trace.csv of a simulation, written while the rounds go: for the holder of all the data.

use crate::agents::Promise;
use crate::config::{Config, Mechanism};
use crate::error::{Error, Result};
use crate::files::{csv_field, csv_number};
use crate::private_file;
use crate::summary::NOT_TO_BE_SHARED;
use dzoa::privacy::{Accountant, ExactGaussian, calibrate};
use dzoa::trace::{Record, Recorder};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The privacy spent by each agent after each round. It is the same in every trial.
pub enum Spending {
    /// No promise.
    None,
    /// The paper's, by Theorem 2.
    Nominal {
        /// Per round.
        epsilon: f64,
        /// Of the whole run.
        delta: f64,
    },
    /// Of a mechanism that holds: for every agent the rounds that one look at its rows serves, and the exact epsilon after
    /// each look.
    Exact(Vec<(u64, Vec<f64>)>),
}

impl Spending {
    /// What the agents of a run spend.
    pub fn new(config: &Config, promises: &[Promise]) -> Self {
        match (&config.privacy.mechanism, config.privacy.mechanism.target()) {
            (_, Some(target)) => {
                let after_each_look = |promise: &Promise| {
                    let mut total = ExactGaussian::default();
                    let charged = promise.events.iter().map(|event| match total.compose(event) {
                        Ok(()) => total.epsilon(target.delta),
                        Err(_) => f64::INFINITY,
                    });
                    (promise.rounds_per_look, charged.collect())
                };
                Self::Exact(promises.iter().map(after_each_look).collect())
            }
            (&Mechanism::Intrinsic { epsilon, delta, .. }, None) => {
                Self::Nominal { epsilon, delta }
            }
            _ => Self::None,
        }
    }

    fn after(&self, agent: usize, round: u64) -> Option<f64> {
        match self {
            Self::None => None,
            Self::Nominal { epsilon, delta } => {
                Some(calibrate::theorem2_epsilon(*epsilon, *delta, round))
            }
            Self::Exact(agents) => {
                let (rounds_per_look, spent) = &agents[agent];
                let looks = round.div_ceil(*rounds_per_look) as usize;
                looks.min(spent.len()).checked_sub(1).map(|last| spent[last])
            }
        }
    }
}

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
pub const HEADER: &str = "trial,round,agent,error,objective_gap,consensus,epsilon_spent";

/// The first lines of the trace.csv of an agent.
pub const SHARED_HEADER: &str =
    "# may be shared: functions of what was exchanged\nround,agent,consensus,epsilon_spent";

/// The first lines of the trace.csv of a run, with more columns behind the usual ones.
pub fn header(more: &str) -> String {
    format!("# {NOT_TO_BE_SHARED}\n{HEADER}{more}\n")
}

impl<'a> TraceFile<'a> {
    /// Begins a file in the directory of the run: trace.csv for the first trial, one of its own for every other until
    /// they are joined.
    pub fn create(
        out: &Path,
        trial: usize,
        names: &[String],
        spending: &'a Spending,
    ) -> Result<Self> {
        let path = match trial {
            0 => out.join("trace.csv"),
            _ => out.join(format!("trace-{}.csv", trial + 1)),
        };
        let first = if trial == 0 { header("") } else { String::new() };
        let file = std::fs::create_dir_all(out)
            .and_then(|()| private_file::write(&path, first.as_bytes()))
            .and_then(|()| OpenOptions::new().append(true).open(&path))
            .map(BufWriter::new)
            .map_err(|error| unwritten(&path, &error))?;
        let names = names.iter().map(|name| csv_field(name)).collect();
        Ok(Self { path, file, trial, names, spending, errors: Vec::new() })
    }

    /// Writes the records of a round.
    pub fn append(&mut self, records: &[Record]) -> Result<()> {
        self.errors.extend(Recorder::errors(records));
        records
            .iter()
            .try_for_each(|record| self.row(record))
            .map_err(|error| unwritten(&self.path, &error))
    }

    fn row(&mut self, record: &Record) -> io::Result<()> {
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

    /// Hands over the finished file and the errors.
    pub fn finish(mut self) -> Result<(PathBuf, Vec<(u64, f64)>)> {
        self.file.flush().map_err(|error| unwritten(&self.path, &error))?;
        Ok((self.path, self.errors))
    }
}

/// Puts the files of further trials behind that of the first.
pub fn join(first: &Path, others: &[&Path]) -> Result<()> {
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
