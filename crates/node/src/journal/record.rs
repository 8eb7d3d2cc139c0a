//! The records of a journal, and how they lie in the file.

use super::JournalError;
use crate::letter::Letter;
use dzoa::agent::{Counters, Inputs, Message, Past};
use dzoa::joint::{Notice, PastPart, Saying, SealedPart};
use dzoa::privacy::packed::{Packed, pack};
use dzoa::privacy::{Charge, RunId, Sealed, Seen};
use serde::{Deserialize, Serialize};

/// The format of journals.
pub const FORMAT: u32 = 4;
/// Length and checksum in front of a record.
pub(super) const HEAD: usize = 8;

/// What a journal begins with.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// [`FORMAT`].
    pub journal: u32,
    /// Digest of the network file.
    pub network: [u8; 32],
    /// The agent.
    pub agent: String,
    /// Digest of its rows, keyed with its root.
    pub rows: String,
    /// Where the root of its randomness is.
    pub root: RootPlace,
    /// The ledger that it charges.
    pub ledger: RunId,
}

/// Where the root of an agent's randomness is: a secret.
#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum RootPlace {
    /// In the journal itself.
    Here([u8; 32]),
    /// In a [`RootFile`](super::RootFile), as long as the run is not over. What the journal keeps
    /// of it is no secret.
    Apart {
        /// The run that follows from it.
        run: RunId,
        /// The public mask key that follows from it.
        public: [u8; 32],
    },
}

impl RootPlace {
    /// The same place, of another run.
    pub fn of_run(self, run: RunId) -> Self {
        match self {
            Self::Apart { public, .. } => Self::Apart { run, public },
            here => here,
        }
    }
}

impl Start {
    /// Refuses the journal of something else than what is here now.
    pub fn compare(&self, now: &Self) -> Result<(), JournalError> {
        let hex = |digest: [u8; 32]| blake3::Hash::from(digest).to_hex().to_string();
        let run = |start: &Self| start.run().unwrap_or_default().to_string();
        let pairs = [
            ("network file", hex(self.network), hex(now.network)),
            ("agent", self.agent.clone(), now.agent.clone()),
            ("root key", run(self), run(now)),
            ("data set", self.rows.clone(), now.rows.clone()),
            ("ledger", self.ledger.to_string(), now.ledger.to_string()),
        ];
        let short = |text: String| text.chars().take(16).collect::<String>();
        match pairs.into_iter().find(|(_, kept, now)| kept != now) {
            None => Ok(()),
            Some((what, kept, now)) => {
                Err(JournalError::Other { what, recorded: short(kept), now: short(now) })
            }
        }
    }

    /// The run, where the root lies apart.
    pub fn run(&self) -> Option<RunId> {
        match self.root {
            RootPlace::Here(_) => None,
            RootPlace::Apart { run, .. } => Some(run),
        }
    }

    /// The root, where it is in the journal.
    pub fn root(&self) -> Option<[u8; 32]> {
        match self.root {
            RootPlace::Here(root) => Some(root),
            RootPlace::Apart { .. } => None,
        }
    }
}

/// One record.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub enum JournalRecord {
    /// The first.
    Start(Start),
    /// What was taken in, and what was then charged and released, if anything was.
    Round {
        /// Rounds that were completed since the last record.
        inputs: Vec<PersistedInputs>,
        /// The release that follows.
        past: Option<PersistedPast>,
        /// How far the neighbours' ledgers were seen, where that is news.
        seen: Vec<(usize, Seen)>,
    },
    /// A neighbour was left behind.
    Left {
        /// Its position in the graph.
        neighbour: usize,
        /// Our round.
        round: u64,
    },
    /// A stage in which everybody was heard, and what was then charged and said.
    Stage {
        /// What the others said, each signed by its writer.
        letters: Vec<Letter>,
        /// The part that follows, if one does.
        past: Option<PersistedPart>,
        /// How far the neighbours' ledgers were seen, where that is news.
        seen: Vec<(usize, Seen)>,
    },
    /// This agent gave up an attempt at a sum: bindingly.
    Leaving {
        /// Without whom it is to begin anew, by position among the members.
        gone: Vec<usize>,
    },
    /// All that are left gave it up alike, and begin it anew.
    Redone {
        /// What the others said, each signed by its writer.
        letters: Vec<Letter>,
    },
}

/// [`PastPart`] at rest: what was sent, never what it hides.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct PersistedPart {
    /// As JSON, the ledger's own form.
    charge: String,
    part: SealedPart,
}

impl From<PastPart> for PersistedPart {
    fn from(PastPart { charge, part }: PastPart) -> Self {
        Self { charge: serde_json::to_string(&charge).expect("a charge is plain data"), part }
    }
}

impl PersistedPart {
    /// What an agent resumes from; `None` where the charge cannot be read.
    pub fn past(self) -> Option<PastPart> {
        let charge = serde_json::from_str(&self.charge).ok()?;
        Some(PastPart { charge, part: self.part })
    }
}

/// [`Inputs`] at rest.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct PersistedInputs {
    round: u64,
    vectors: Vec<(usize, u64, Packed)>,
}

/// [`Past`] at rest.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct PersistedPast {
    /// As JSON, the ledger's own form.
    charge: String,
    release: Sealed,
    memory: Packed,
    oracle_calls: u64,
    step_raised: bool,
    finished_exactly: u64,
    clipped: u64,
}

impl From<Inputs> for PersistedInputs {
    fn from(inputs: Inputs) -> Self {
        let vectors =
            inputs.vectors.into_iter().map(|(from, round, beta)| (from, round, Packed(beta)));
        Self { round: inputs.round, vectors: vectors.collect() }
    }
}

impl From<PersistedInputs> for Inputs {
    fn from(persisted: PersistedInputs) -> Self {
        let vectors =
            persisted.vectors.into_iter().map(|(from, round, beta)| (from, round, beta.0));
        Self { round: persisted.round, vectors: vectors.collect() }
    }
}

impl From<Past> for PersistedPast {
    fn from(past: Past) -> Self {
        let Counters { oracle_calls, step_raised, finished_exactly, clipped } = past.counters;
        Self {
            charge: serde_json::to_string(&past.charge).expect("a charge is plain data"),
            release: past.release,
            memory: Packed(past.memory.into()),
            oracle_calls,
            step_raised,
            finished_exactly,
            clipped,
        }
    }
}

impl PersistedPast {
    /// What an agent resumes from; `None` where the charge cannot be read.
    pub fn past(self) -> Option<Past> {
        let Self { charge, release, memory, oracle_calls, step_raised, finished_exactly, clipped } =
            self;
        let charge: Charge = serde_json::from_str(&charge).ok()?;
        let counters = Counters { oracle_calls, step_raised, finished_exactly, clipped };
        Some(Past { charge, release, memory: memory.to_vec(), counters })
    }
}

impl PersistedInputs {
    /// What the round took in.
    pub fn inputs(self) -> Inputs {
        self.into()
    }
}

impl JournalRecord {
    /// Whether a message may leave once this record is durable: a release that it holds, bit for
    /// bit, or an average, which is computed again from what the records took in.
    pub(super) fn covers(&self, message: &Message) -> bool {
        match (self, message) {
            (Self::Round { past: Some(past), .. }, Message::Release(release)) => {
                pack(past.release.values()) == pack(release)
            }
            (Self::Round { .. }, Message::Average(_)) => true,
            _ => false,
        }
    }

    /// Whether a part may leave once this record is durable: one that it holds, bit for bit.
    pub(super) fn holds(&self, notice: &Notice) -> bool {
        match (self, &notice.saying) {
            (Self::Stage { past: Some(past), .. }, Saying::Part(part)) => past.part.part() == *part,
            (Self::Leaving { gone: kept }, Saying::Leave { gone }) => kept == gone,
            _ => false,
        }
    }

    /// The bytes of it, in place of what is in the buffer.
    pub(super) fn encode(&self, buffer: &mut Vec<u8>) {
        let mut bytes = std::mem::take(buffer);
        bytes.clear();
        bytes.extend_from_slice(&[0; HEAD]);
        let mut bytes = postcard::to_extend(self, bytes).expect("a record is plain data");
        let (head, content) = bytes.split_at_mut(HEAD);
        head[..4].copy_from_slice(&(content.len() as u32).to_le_bytes());
        head[4..].copy_from_slice(&checksum(content).to_le_bytes());
        *buffer = bytes;
    }
}

/// The length is part of it, so that a run of zeros is no record.
pub(super) fn checksum(content: &[u8]) -> u32 {
    let mut hasher = begun(content.len() as u32);
    hasher.update(content);
    hasher.finalize()
}

/// The checksum of a record of this length, before its content.
pub(super) fn begun(length: u32) -> crc32fast::Hasher {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(b"dzoa journal");
    hasher.update(&length.to_le_bytes());
    hasher
}
