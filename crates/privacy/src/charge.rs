//! What a charge says: which run, which round, made from what, within which budget.

use crate::{Digest, Event, RunId};
use serde::{Deserialize, Serialize};

/// A query that is about to be answered, and what it will be answered from.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// The run.
    pub run: RunId,
    /// The round, counted from 1.
    pub round: u64,
    /// A keyed digest of everything that goes into the round.
    pub inputs: Digest,
    /// Version and instruction set of the program that answers: another one may round differently.
    pub program: String,
    /// How the answer is protected.
    pub event: Event,
}

/// One release, as the ledger holds it. Equal charges pay for equal bytes: the noise follows from
/// the charge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Charge {
    /// The run.
    pub run: RunId,
    /// The round, counted from 1.
    pub round: u64,
    /// How many other charges of this run and round there were before.
    pub attempt: u32,
    /// A keyed digest of everything that went into the round: rows, settings, state, vectors taken
    /// in.
    pub inputs: Digest,
    /// Version and instruction set of the program.
    pub program: String,
    /// What was charged.
    pub event: Event,
}

impl Charge {
    /// What tells this charge from every other.
    pub fn id(&self) -> Digest {
        Digest::from(blake3::derive_key("dzoa 2026 charge", &json(self)))
    }

    /// Whether this charge pays for that query.
    pub fn answers(&self, query: &Query) -> bool {
        let Query { run, round, inputs, program, event } = query;
        self.run == *run
            && self.round == *round
            && self.inputs == *inputs
            && self.program == *program
            && self.event == *event
    }
}

/// Plain data as the text that digests are taken of: what a file of the ledger holds.
pub(crate) fn json(data: &impl Serialize) -> Vec<u8> {
    // An entry fits: growing would copy what is there several times.
    let mut text = Vec::with_capacity(1024);
    serde_json::to_writer(&mut text, data).expect("plain data can be written to memory");
    text
}

/// How much may ever be spent on a data set, or how much a run may spend.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Total epsilon.
    pub epsilon: f64,
    /// At this delta.
    pub delta: f64,
}

/// The beginning of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Begin {
    /// The run.
    pub run: RunId,
    /// A digest of the rows, keyed with the key of the data set, which is not in the ledger.
    pub rows: Digest,
    /// What the whole run may cost, where that is known: the guarantee, whenever the run ends.
    pub planned: Option<Budget>,
    /// What for, in the owner's words.
    pub note: String,
}

/// Another agent's ledger, as far as it was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seen {
    /// Which ledger.
    pub ledger: RunId,
    /// Its entries.
    pub entries: u64,
    /// The digest over them.
    pub head: Digest,
}

impl Seen {
    /// Whether a ledger that was once like this cannot have become `later`: it is shorter, or of
    /// the same length and another one.
    pub fn contradicts(&self, later: &Seen) -> bool {
        let same = self.ledger == later.ledger;
        same && (later.entries < self.entries
            || (later.entries == self.entries && later.head != self.head))
    }
}

impl Event {
    /// The query of a round outside any run: for attackers, who answer it themselves, and for
    /// examples.
    pub fn query(self, round: u64) -> Query {
        let (run, inputs) = (RunId::default(), Digest::default());
        Query { run, round, inputs, program: String::new(), event: self }
    }
}
