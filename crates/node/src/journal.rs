//! What an agent must not forget, on disk before anything leaves.
//!
//! An append-only log of records, each with its length and a CRC-32. The first one names the network, the
//! agent and its rows, and holds the key of the agent's randomness; every further one says what a round took
//! in and what was charged and released on the strength of it. Vectors are written as they come in, while the round
//! still waits for others; one `fdatasync` a round makes them durable together with what follows from them.
//!
//! **Why nothing can be released twice with different values.** A vector is sent only as a [`Durable`], which
//! only [`Journal::commit`] makes. So whatever was sent is in the journal, and after a restart the kept bytes
//! go out again: no noise is drawn. Should the disk have lost the last record in spite of `fdatasync`, the
//! agent computes that round again from the same inputs (its neighbours repeat them) with the same key, which
//! was durable before the first round, and so gets the same bits. A record that is damaged anywhere but at
//! the very end of the file is refused.
//!
//! The journal holds private values (the key, duals of the solver): it is readable by its owner only.

mod record;

pub use record::{FORMAT, Kept, Record, Start};

use dzoa::privacy::packed::Packed;
use record::{Line, Parsed, parse};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::ops::Deref;
use std::path::Path;
use std::sync::{Arc, Mutex};
use thiserror::Error;

/// Where records go.
pub trait Medium: Send {
    /// Appends, durably, and makes durable what was begun before.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Appends, and lets the disk begin with it.
    fn begin(&mut self, bytes: &[u8]) -> io::Result<()>;
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
    /// What is not written yet.
    buffer: Vec<u8>,
    /// Why a vector could not be written: then nothing can be kept any more.
    failed: Option<io::Error>,
}

/// The disk begins with vectors of this many bytes at once; fewer go along with the record that follows.
const WORTH_BEGINNING: usize = 1 << 15;

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
        let mut journal = Self { medium, bytes: whole as u64, buffer: Vec::new(), failed: None };
        let first = if records.is_empty() {
            let first = start()?;
            journal.append(Record::Start(first.clone()))?;
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
    pub fn commit<T>(&mut self, record: Record, about: T) -> Result<Durable<T>, JournalError> {
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

    /// Writes down a vector that came in. It is durable with the next record, which may say that a round took it in.
    pub fn heard(&mut self, from: usize, round: u64, beta: Arc<[f64]>) {
        Line::Heard { from, round, beta: Packed(beta) }.encode(&mut self.buffer);
        if self.buffer.len() >= WORTH_BEGINNING && self.failed.is_none() {
            self.failed = self.medium.begin(&self.buffer).err();
            self.written();
        }
    }

    fn append(&mut self, record: Record) -> Result<(), JournalError> {
        if let Some(failed) = &self.failed {
            return Err(io::Error::new(failed.kind(), failed.to_string()).into());
        }
        Line::from(record).encode(&mut self.buffer);
        self.medium.append(&self.buffer)?;
        self.written();
        Ok(())
    }

    fn written(&mut self) {
        self.bytes += self.buffer.len() as u64;
        self.buffer.clear();
    }
}

/// What is in a journal, for whoever looks at it afterwards.
pub fn read(path: &Path) -> Result<Vec<Record>, JournalError> {
    Ok(parse(&std::fs::read(path)?)?.records)
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
pub struct JournalFile {
    file: File,
    length: u64,
}

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
        let length = file.metadata()?.len();
        Ok(Self { file, length })
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.length += bytes.len() as u64;
        Ok(())
    }
}

impl Medium for JournalFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write(bytes)?;
        self.file.sync_data()
    }

    fn begin(&mut self, bytes: &[u8]) -> io::Result<()> {
        let _from = self.length;
        self.write(bytes)?;
        // Nobody reads it again soon: told so, Linux begins to write.
        #[cfg(target_os = "linux")]
        rustix::fs::fadvise(
            &self.file,
            _from,
            std::num::NonZeroU64::new(bytes.len() as u64),
            rustix::fs::Advice::DontNeed,
        )?;
        Ok(())
    }

    fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        (&self.file).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.file.set_len(length)?;
        self.length = length;
        self.file.sync_data()
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

    fn begin(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.append(bytes)
    }

    fn read(&mut self) -> io::Result<Vec<u8>> {
        Ok(self.0.lock().expect("no holder panics").clone())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.0.lock().expect("no holder panics").truncate(length as usize);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dzoa::agent::Inputs;

    fn start() -> io::Result<Start> {
        let (agent, rows, ledger_head) = ("a".into(), String::new(), String::new());
        Ok(Start {
            journal: FORMAT,
            network: [0; 32],
            agent,
            rows,
            key: [1; 32],
            ledger_entries: 0,
            ledger_head,
        })
    }

    fn vector(value: f64) -> Arc<[f64]> {
        vec![value; WORTH_BEGINNING / 8].into()
    }

    /// A round that took in the vectors of two neighbours.
    fn round() -> Record {
        let vectors = vec![(1, 1, vector(1.5)), (2, 1, vector(2.5))];
        Record::Round { inputs: vec![Inputs { round: 1, vectors }], past: None }
    }

    #[test]
    fn a_torn_vector_is_cut_off_unless_a_round_was_kept_behind_it() {
        let memory = Memory::default();
        let mut journal = Journal::open(Box::new(memory.clone()), start).unwrap().journal;
        let before = journal.bytes() as usize;
        journal.heard(1, 1, vector(1.5));
        journal.heard(2, 1, vector(2.5));
        let vectors = journal.bytes() as usize - before;
        assert!(vectors > 2 * WORTH_BEGINNING, "both are on their way to the disk");
        let tear = |memory: &Memory| memory.0.lock().unwrap()[before + 100] ^= 1;

        // Power fails while the first vector is half written and the second is whole.
        let torn = Memory(Arc::new(Mutex::new(memory.0.lock().unwrap().clone())));
        tear(&torn);
        let opened = Journal::open(Box::new(torn.clone()), start).unwrap();
        assert_eq!((opened.records.len(), opened.cut), (0, vectors));
        assert_eq!(torn.0.lock().unwrap().len(), before);

        journal.commit(round(), ()).unwrap();
        let opened = Journal::open(Box::new(memory.clone()), start).unwrap();
        assert!(opened.cut == 0 && opened.records == [round()]);
        tear(&memory);
        let error =
            Journal::open(Box::new(memory), start).err().expect("a durable round behind it");
        assert!(matches!(error, JournalError::Damaged { .. }), "{error}");
    }

    #[test]
    fn a_round_whose_vectors_are_not_in_the_journal_is_refused() {
        let memory = Memory::default();
        let mut journal = Journal::open(Box::new(memory.clone()), start).unwrap().journal;
        journal.heard(1, 1, vector(1.5));
        journal.commit(round(), ()).unwrap();
        let error = Journal::open(Box::new(memory), start).err().expect("one vector is missing");
        assert!(matches!(error, JournalError::Unreadable { .. }), "{error}");
    }

    struct Full;

    impl Medium for Full {
        fn append(&mut self, _bytes: &[u8]) -> io::Result<()> {
            Ok(())
        }

        fn begin(&mut self, _bytes: &[u8]) -> io::Result<()> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn read(&mut self) -> io::Result<Vec<u8>> {
            Ok(Vec::new())
        }

        fn truncate(&mut self, _length: u64) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn after_a_vector_could_not_be_written_nothing_is_durable_any_more() {
        let mut journal = Journal::open(Box::new(Full), start).unwrap().journal;
        journal.heard(1, 1, vector(1.5));
        for _ in 0..2 {
            assert!(journal.commit(round(), ()).is_err());
        }
    }
}
