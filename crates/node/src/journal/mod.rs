//! What an agent must not forget, on disk before anything leaves.
//!
//! An append-only log of records, each with its length and a CRC-32. The first one names the
//! network, the agent and its rows, and says where the root of the agent's randomness is; every
//! further one holds what a round took in and what was charged and released on the strength of it.
//! One `fdatasync` a round makes both durable.
//!
//! **Why nothing is released twice with different values.** A vector is sent only as a [`Durable`],
//! which only [`Journal::commit`] makes. So whatever was sent is in the journal, and after a
//! restart the persisted bytes go out again: no noise is drawn. Should the disk have lost the last
//! record in spite of `fdatasync`, the agent computes that round again. From the same inputs (its
//! neighbours repeat them) it gets the same bits, because the noise follows from the key, which was
//! durable before the first round, and from the charge, which is in the ledger. From other inputs
//! it is another charge with fresh noise. A journal that lacks more than that one round, an old
//! backup, is refused: by the ledger, and by the neighbours. A record that is damaged anywhere but
//! at the very end of the file is refused, too.
//!
//! The journal of an agent that exchanges vectors holds private values (the root, duals of the
//! solver): it is readable by its owner only. That of one that takes joint sums holds what was sent
//! and received; its root lies in a [`RootFile`], which is erased when the run is over.

mod medium;
mod reading;
mod record;
mod root;
mod trail;

pub use medium::{JournalFile, Medium, Memory};
pub use reading::JournalRecords;
pub use record::{
    FORMAT, JournalRecord, PersistedInputs, PersistedPart, PersistedPast, RootPlace, Start,
};
pub use root::RootFile;
pub use trail::{Trail, TrailRound};

use dzoa::agent::Envelope;
use dzoa::joint::{Notice, Saying};
use reading::look_through;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;
use std::path::Path;
use thiserror::Error;

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
    /// A release was to be sent on the strength of a record that does not hold it.
    #[error("the release of round {round} is not in the record that is to be written for it")]
    NotRecorded {
        /// The round.
        round: u64,
    },
    /// The journal of something else.
    #[error("the journal belongs to another {what}: it says {recorded}, this is {now}")]
    Other {
        /// Network, agent or rows.
        what: &'static str,
        /// What the journal says.
        recorded: String,
        /// What was given.
        now: String,
    },
}

impl JournalError {
    /// What its owner can do.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::InUse => "is the agent running already? one process has one state directory",
            Self::Other { .. } | Self::OtherFormat { .. } => {
                "start a new run in a new state directory; its releases are charged anew"
            }
            Self::Io(_) => "nothing is sent before it is kept: make room, or mend the disk",
            Self::Damaged { .. } | Self::Unreadable { .. } | Self::NotRecorded { .. } => {
                "restore it from a backup; or start anew in a new state directory, with the same \
                 ledger"
            }
        }
    }
}

/// A vector of this agent that is on disk: a release, or an average of releases. Made by
/// [`Journal::commit`] alone, and the only thing that [`crate::wire::Outgoing`] is made from.
///
/// ```compile_fail
/// use dzoa::agent::Envelope;
/// fn forge(envelope: Envelope) -> dzoa_node::journal::Durable {
///     dzoa_node::journal::Durable(envelope)
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Durable(Envelope);

impl Deref for Durable {
    type Target = Envelope;

    fn deref(&self) -> &Envelope {
        &self.0
    }
}

/// What this agent says to all others: its part of a sum once that is on disk, or something that
/// does not depend on its rows. The only thing that [`crate::post::Post::own`] signs.
///
/// ```compile_fail
/// use dzoa::joint::Notice;
/// fn forge(notice: Notice) -> dzoa_node::journal::DurableNotice {
///     dzoa_node::journal::DurableNotice(notice)
/// }
/// ```
#[derive(Clone, Debug)]
pub struct DurableNotice(Notice);

impl Deref for DurableNotice {
    type Target = Notice;

    fn deref(&self) -> &Notice {
        &self.0
    }
}

impl DurableNotice {
    /// What says nothing about rows but their number; `None` for a part of a sum.
    pub fn public(notice: Notice) -> Option<Self> {
        match notice.saying {
            Saying::Hello { .. } | Saying::Ready { .. } => Some(Self(notice)),
            Saying::Part(_) | Saying::Leave { .. } => None,
        }
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
    /// Returns the journal, its first record, the rounds after it, and how many bytes of an
    /// unfinished last record were cut off.
    pub fn open(
        mut medium: Box<dyn Medium>,
        start: impl FnOnce() -> io::Result<Start>,
    ) -> Result<Opened, JournalError> {
        let mut counted = Counted { source: medium.read()?, bytes: 0 };
        let whole = look_through(&mut counted)?;
        let cut = (counted.bytes - whole.bytes) as usize;
        if cut > 0 {
            medium.truncate(whole.bytes)?;
        }
        let mut records = JournalRecords::new(medium.read()?, &whole);
        let mut journal = Self { medium, bytes: whole.bytes, buffer: Vec::new() };
        let first = match records.next().transpose()? {
            Some(JournalRecord::Start(first)) => first,
            Some(_) => return Err(JournalError::Unreadable { index: 1 }),
            None => {
                let first = start()?;
                journal.persist(&JournalRecord::Start(first.clone()))?;
                first
            }
        };
        Ok(Opened { journal, first, records, cut })
    }

    /// Makes the record of a round durable, and with it the right to send the vector of that round.
    ///
    /// A release must be in the record, bit for bit. An average follows from what the record took
    /// in.
    pub fn commit(
        &mut self,
        record: &JournalRecord,
        vector: Envelope,
    ) -> Result<Durable, JournalError> {
        if !record.covers(&vector.message) {
            return Err(JournalError::NotRecorded { round: vector.round });
        }
        self.persist(record)?;
        Ok(Durable(vector))
    }

    /// Makes the record of a stage durable, and with it the right to send what this agent says in
    /// it: its part, or that it gives up.
    pub fn commit_part(
        &mut self,
        record: &JournalRecord,
        notice: Notice,
    ) -> Result<DurableNotice, JournalError> {
        if !record.holds(&notice) {
            return Err(JournalError::NotRecorded { round: notice.stage });
        }
        self.persist(record)?;
        Ok(DurableNotice(notice))
    }

    /// Vouches for a notice that follows from what was read back: it was durable all along.
    pub(crate) fn recalled_notice(&self, notice: Notice) -> DurableNotice {
        DurableNotice(notice)
    }

    /// Makes a record durable that no vector rests on.
    pub fn persist(&mut self, record: &JournalRecord) -> Result<(), JournalError> {
        record.encode(&mut self.buffer);
        self.medium.append(&self.buffer)?;
        self.bytes += self.buffer.len() as u64;
        Ok(())
    }

    /// Vouches for a vector that follows from what was read back: it was durable all along.
    pub(crate) fn recalled(&self, vector: Envelope) -> Durable {
        Durable(vector)
    }

    /// Its size.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Counts what is read.
struct Counted {
    source: Box<dyn Read + Send>,
    bytes: u64,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.bytes += count as u64;
        Ok(count)
    }
}

/// What is in a journal, for whoever reads it afterwards.
pub fn read(path: &Path) -> Result<Vec<JournalRecord>, JournalError> {
    records(path)?.collect()
}

/// The same, record by record.
pub fn records(path: &Path) -> Result<JournalRecords, JournalError> {
    let whole = look_through(&mut File::open(path)?)?;
    Ok(JournalRecords::new(Box::new(File::open(path)?), &whole))
}

/// What a journal begins with, if there is one.
pub fn beginning(path: &Path) -> Result<Option<Start>, JournalError> {
    match reading::first(&mut File::open(path)?)? {
        Some(JournalRecord::Start(first)) => Ok(Some(first)),
        Some(_) => Err(JournalError::Unreadable { index: 1 }),
        None => Ok(None),
    }
}

/// The root of the agent whose journal it is, where that holds it: a secret.
pub fn root(records: &[JournalRecord]) -> Option<[u8; 32]> {
    match records.first() {
        Some(JournalRecord::Start(start)) => start.root(),
        _ => None,
    }
}

/// A journal with its content.
pub struct Opened {
    /// The journal, ready for more.
    pub journal: Journal,
    /// Its first record.
    pub first: Start,
    /// What came after it.
    pub records: JournalRecords,
    /// Bytes of an unfinished last record that were cut off.
    pub cut: usize,
}
