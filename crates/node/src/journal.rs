//! What an agent must not forget, on disk before anything leaves.
//!
//! An append-only log of records, each with its length and a CRC-32. The first one names the network, the
//! agent and its rows, and holds the key of the agent's randomness; every further one holds what a round took
//! in and what was charged and released on the strength of it. One `fdatasync` a round makes both durable.
//!
//! **Why nothing is released twice with different values.** A vector is sent only as a [`Durable`], which
//! only [`Journal::commit`] makes. So whatever was sent is in the journal, and after a restart the persisted bytes
//! go out again: no noise is drawn. Should the disk have lost the last record in spite of `fdatasync`, the
//! agent computes that round again. From the same inputs (its neighbours repeat them) it gets the same bits, because
//! the noise follows from the key, which was durable before the first round, and from the charge, which is in the
//! ledger. From other inputs it is another charge with fresh noise. A journal that lacks more than that one round,
//! an old backup, is refused: by the ledger, and by the neighbours. A record that is damaged anywhere but at the very
//! end of the file is refused, too.
//!
//! The journal holds private values (the key, duals of the solver): it is readable by its owner only.

mod record;

pub use record::{FORMAT, Kept, KeptInputs, Record, Start};

use record::{Parsed, parse};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::ops::Deref;
use std::path::Path;
use std::sync::{Arc, Mutex};
use thiserror::Error;

/// Where records go. Appending is durable when it returns.
pub trait Medium: Send {
    /// Appends, durably.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Everything that was appended.
    fn read(&mut self) -> io::Result<Vec<u8>>;
    /// Cuts off a record that was never finished.
    fn truncate(&mut self, length: u64) -> io::Result<()>;
}

/// A journal that cannot be used.
#[derive(Debug, Error)]
pub enum JournalError {
    /// The disk.
    #[error("the journal cannot be kept: {0}")]
    Io(#[from] io::Error),
    /// Two agents with one state.
    #[error("another process uses this journal")]
    InUse,
    /// Damage that a crash cannot explain.
    #[error(
        "the journal is damaged at byte {offset}, with {after} bytes of other records behind it"
    )]
    Damaged {
        /// Where.
        offset: usize,
        /// Bytes behind the damage.
        after: usize,
    },
    /// A journal of another version.
    #[error("the journal is of format {found}, and this version reads format {FORMAT}")]
    OtherFormat {
        /// Its format.
        found: u32,
    },
    /// A record that is whole, and makes no sense.
    #[error("record {index} of the journal cannot be read by this version")]
    Unreadable {
        /// Counted from 1.
        index: usize,
    },
    /// The journal of something else.
    #[error("the journal belongs to another {what}: it says {kept}, this is {now}")]
    Other {
        /// Network, agent or rows.
        what: &'static str,
        /// What the journal says.
        kept: String,
        /// What was given.
        now: String,
    },
}

/// Proof that something is on disk. Made by [`Journal::commit`] alone.
///
/// ```compile_fail
/// let forged = dzoa_node::journal::Durable(1.0);
/// ```
#[derive(Clone, Debug)]
pub struct Durable<T>(T);

impl<T> Deref for Durable<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// An open journal.
pub struct Journal {
    medium: Box<dyn Medium>,
    bytes: u64,
    /// The last record: its memory is used again.
    buffer: Vec<u8>,
}

impl Journal {
    /// Opens a journal and reads what is in it; an empty one is given its first record by `start`.
    ///
    /// Returns the journal, its first record, the rounds after it, and how many bytes of an unfinished last
    /// record were cut off.
    pub fn open(
        mut medium: Box<dyn Medium>,
        start: impl FnOnce() -> io::Result<Start>,
    ) -> Result<Opened, JournalError> {
        let bytes = medium.read()?;
        let Parsed { mut records, whole } = parse(&bytes)?;
        let cut = bytes.len() - whole;
        if cut > 0 {
            medium.truncate(whole as u64)?;
        }
        let mut journal = Self { medium, bytes: whole as u64, buffer: Vec::new() };
        let first = if records.is_empty() {
            let first = start()?;
            journal.append(&Record::Start(first.clone()))?;
            first
        } else {
            match records.remove(0) {
                Record::Start(first) => first,
                _ => return Err(JournalError::Unreadable { index: 1 }),
            }
        };
        Ok(Opened { journal, first, records, cut })
    }

    /// Makes a record durable, and with it the right to send what it is about.
    pub fn commit<T>(&mut self, record: &Record, about: T) -> Result<Durable<T>, JournalError> {
        self.append(record)?;
        Ok(Durable(about))
    }

    /// Vouches for what was read back from the journal: it was durable all along.
    pub(crate) fn kept<T>(&self, about: T) -> Durable<T> {
        Durable(about)
    }

    /// Its size.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    fn append(&mut self, record: &Record) -> Result<(), JournalError> {
        record.encode(&mut self.buffer);
        self.medium.append(&self.buffer)?;
        self.bytes += self.buffer.len() as u64;
        Ok(())
    }
}

/// What is in a journal, for whoever looks at it afterwards.
pub fn read(path: &Path) -> Result<Vec<Record>, JournalError> {
    Ok(parse(&std::fs::read(path)?)?.records)
}

/// The key of the agent whose journal it is: a secret.
pub fn key(records: &[Record]) -> [u8; 32] {
    match records.first() {
        Some(Record::Start(start)) => start.key,
        _ => [0; 32],
    }
}

/// A journal with its content.
pub struct Opened {
    /// The journal, ready for more.
    pub journal: Journal,
    /// Its first record.
    pub first: Start,
    /// What came after it.
    pub records: Vec<Record>,
    /// Bytes of an unfinished last record that were cut off.
    pub cut: usize,
}

/// A file, locked while it is open.
pub struct JournalFile(File);

impl JournalFile {
    /// Opens or makes the file, readable by its owner only.
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path)?;
        file.try_lock().map_err(|_| JournalError::InUse)?;
        // The name must survive a power failure, too.
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        File::open(parent.unwrap_or(Path::new(".")))?.sync_all()?;
        Ok(Self(file))
    }
}

impl Medium for JournalFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)?;
        self.0.sync_data()
    }

    fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        (&self.0).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.0.set_len(length)?;
        self.0.sync_data()
    }
}

/// Memory that outlives the agent: for tests and trials.
#[derive(Clone, Debug, Default)]
pub struct Memory(pub Arc<Mutex<Vec<u8>>>);

impl Medium for Memory {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.lock().expect("no holder panics").extend_from_slice(bytes);
        Ok(())
    }

    fn read(&mut self) -> io::Result<Vec<u8>> {
        Ok(self.0.lock().expect("no holder panics").clone())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.0.lock().expect("no holder panics").truncate(length as usize);
        Ok(())
    }
}
