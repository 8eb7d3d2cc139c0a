//! The records of a journal, and how they lie in the file.

use super::JournalError;
use dzoa::agent::{Counters, Inputs, Past};
use dzoa::privacy::packed::Packed;
use dzoa::privacy::{Entry, Sealed};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The format of journals.
pub const FORMAT: u32 = 2;
/// Length and checksum in front of a record.
const HEAD: usize = 8;

/// What a journal begins with.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// [`FORMAT`].
    pub journal: u32,
    /// Digest of the network file.
    pub network: [u8; 32],
    /// The agent.
    pub agent: String,
    /// Digest of its rows, keyed with the key below.
    pub rows: String,
    /// The key of its randomness: a secret.
    pub key: [u8; 32],
    /// Entries that the ledger had before this run.
    pub ledger_entries: u64,
    /// Digest of the ledger at that point.
    pub ledger_head: String,
}

/// One record.
#[derive(Clone, PartialEq)]
pub enum Record {
    /// The first.
    Start(Start),
    /// What was taken in, and what was then charged and released, if anything was.
    Round {
        /// Rounds that were completed since the last record.
        inputs: Vec<Inputs>,
        /// The release that follows.
        past: Option<Kept>,
    },
    /// A neighbour was left behind.
    Left {
        /// Its position in the graph.
        neighbour: usize,
        /// Our round.
        round: u64,
    },
}

/// A record as it lies in the file, where a round names the vectors that it took in: they stand before it.
#[derive(Serialize, Deserialize)]
pub(super) enum Line {
    Start(Start),
    Round {
        inputs: Vec<Taken>,
        past: Option<Kept>,
    },
    Left {
        neighbour: usize,
        round: u64,
    },
    /// A vector that came in, written while the round still waits for others: it is durable with the next record of
    /// another kind.
    Heard {
        from: usize,
        round: u64,
        beta: Packed,
    },
}

/// [`Inputs`] by name: senders and their rounds.
#[derive(Serialize, Deserialize)]
pub(super) struct Taken {
    round: u64,
    vectors: Vec<(usize, u64)>,
}

/// [`Past`] at rest.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// As JSON, the ledger's own form.
    entry: String,
    release: Sealed,
    memory: Packed,
    oracle_calls: u64,
    step_raised: bool,
    finished_exactly: u64,
    clipped: u64,
}

impl From<Record> for Line {
    fn from(record: Record) -> Self {
        let named = |inputs: Inputs| {
            let vectors = inputs.vectors.into_iter().map(|(from, round, _)| (from, round));
            Taken { round: inputs.round, vectors: vectors.collect() }
        };
        match record {
            Record::Start(start) => Self::Start(start),
            Record::Round { inputs, past } => {
                Self::Round { inputs: inputs.into_iter().map(named).collect(), past }
            }
            Record::Left { neighbour, round } => Self::Left { neighbour, round },
        }
    }
}

/// Vectors that no round has taken in yet, by sender and round.
#[derive(Default)]
struct Mail(BTreeMap<(usize, u64), Arc<[f64]>>);

impl Mail {
    /// The record of a line, or nothing for one that is only about a vector; `None` where a vector is missing.
    fn record(&mut self, line: Line) -> Option<Option<Record>> {
        let mut inputs = |taken: Taken| {
            let vectors = taken.vectors.into_iter();
            let vectors =
                vectors.map(|(from, round)| Some((from, round, self.0.remove(&(from, round))?)));
            Some(Inputs { round: taken.round, vectors: vectors.collect::<Option<_>>()? })
        };
        Some(match line {
            Line::Start(start) => Some(Record::Start(start)),
            Line::Round { inputs: taken, past } => {
                let inputs = taken.into_iter().map(&mut inputs).collect::<Option<_>>()?;
                Some(Record::Round { inputs, past })
            }
            Line::Left { neighbour, round } => Some(Record::Left { neighbour, round }),
            Line::Heard { from, round, beta } => {
                // Repeated after a restart, the later one was taken in.
                self.0.insert((from, round), beta.0);
                None
            }
        })
    }
}

impl From<Past> for Kept {
    fn from(past: Past) -> Self {
        let Counters { oracle_calls, step_raised, finished_exactly, clipped } = past.counters;
        Self {
            entry: serde_json::to_string(&past.entry).expect("an entry is plain data"),
            release: past.release,
            memory: Packed(past.memory.into()),
            oracle_calls,
            step_raised,
            finished_exactly,
            clipped,
        }
    }
}

impl Kept {
    /// What an agent resumes from; `None` where the entry cannot be read.
    pub fn past(self) -> Option<Past> {
        let Self { entry, release, memory, oracle_calls, step_raised, finished_exactly, clipped } =
            self;
        let entry: Entry = serde_json::from_str(&entry).ok()?;
        let counters = Counters { oracle_calls, step_raised, finished_exactly, clipped };
        Some(Past { entry, release, memory: memory.to_vec(), counters })
    }
}

impl Line {
    /// Appends the bytes of it.
    pub(super) fn encode(&self, buffer: &mut Vec<u8>) {
        let start = buffer.len();
        buffer.extend_from_slice(&[0; HEAD]);
        let bytes = postcard::to_extend(self, std::mem::take(buffer));
        *buffer = bytes.expect("a record is plain data");
        let (head, content) = buffer[start..].split_at_mut(HEAD);
        head[..4].copy_from_slice(&(content.len() as u32).to_le_bytes());
        head[4..].copy_from_slice(&checksum(content).to_le_bytes());
    }
}

/// The length is part of it, so that a run of zeros is no record.
fn checksum(content: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(b"dzoa journal");
    hasher.update(&(content.len() as u32).to_le_bytes());
    hasher.update(content);
    hasher.finalize()
}

/// Whole records, and how many bytes they take.
pub(super) struct Parsed {
    pub(super) records: Vec<Record>,
    pub(super) whole: usize,
}

/// Reads records up to the first that is not whole. Behind it nothing may stand that was durable: a crash while
/// writing leaves no more than vectors behind it.
pub(super) fn parse(bytes: &[u8]) -> Result<Parsed, JournalError> {
    let mut parsed = Parsed { records: Vec::new(), whole: 0 };
    let mut mail = Mail::default();
    while let Some((content, end)) = next(bytes, parsed.whole) {
        let record = postcard::from_bytes(content).ok().and_then(|line| mail.record(line));
        let index = parsed.records.len() + 1;
        parsed.records.extend(record.ok_or(JournalError::Unreadable { index })?);
        parsed.whole = end;
    }
    let offset = parsed.whole;
    let durable = |start: &usize| {
        let content = next(bytes, *start).map(|(content, _)| content);
        let line = content.and_then(|content| postcard::from_bytes(content).ok());
        !matches!(line, None | Some(Line::Heard { .. }))
    };
    match (offset + 1..bytes.len()).find(durable) {
        Some(start) => Err(JournalError::Damaged { offset, after: bytes.len() - start }),
        None => Ok(parsed),
    }
}

/// The record that starts here, if it is whole, and where it ends.
fn next(bytes: &[u8], start: usize) -> Option<(&[u8], usize)> {
    let rest = bytes.get(start..)?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let (kept, rest) = rest.split_first_chunk::<4>()?;
    let length = u32::from_le_bytes(*length) as usize;
    let content = rest.get(..length).filter(|content| !content.is_empty())?;
    (checksum(content) == u32::from_le_bytes(*kept)).then_some((content, start + HEAD + length))
}
