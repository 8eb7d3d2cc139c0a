//! The ledger: what was charged before it was released, for the whole life of a data set.
//!
//! Entries form a hash chain, so that a changed byte is found, and replay to the same spent budget.
//! The ledger itself touches no files: it hands out every entry to be made durable *before* the
//! release that it pays for.

use crate::accountant::{Accountant, Unsupported};
use crate::{Claim, Event, ExactGaussian};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// How much may ever be spent on a data set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Total epsilon.
    pub epsilon: f64,
    /// At this delta.
    pub delta: f64,
}

/// The first line of a ledger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Format; 1.
    pub ledger: u32,
    /// A keyed digest of the rows: recognises the data set without revealing it.
    pub data: String,
    /// The key of the digest.
    pub key: String,
    /// The lifetime budget.
    pub budget: Option<Budget>,
}

/// One charge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Counted from 1.
    pub index: u64,
    /// What for: the run, the round.
    pub note: String,
    /// What was charged.
    pub event: Event,
    /// Digest of this entry and everything before it.
    pub hash: String,
}

/// A charge that the ledger does not allow. Nothing was written, no noise may be drawn.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum Refused {
    /// The budget would be exceeded.
    #[error("the budget of epsilon {} at delta {} would be exceeded: {spent:.6} is spent, this release would make it {would:.6}", budget.epsilon, budget.delta)]
    Budget {
        /// The budget.
        budget: Budget,
        /// Spent before.
        spent: f64,
        /// Spent with this release.
        would: f64,
    },
    /// The event has no price.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
}

/// A ledger that is not what was written.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("entry {index} of the ledger was changed, or entries before it are missing")]
pub struct Tampered {
    /// The first entry that does not fit.
    pub index: u64,
}

/// Every release about one data set, in order.
///
/// ```
/// use dzoa_privacy::{Event, Ledger, Private};
/// use rand::SeedableRng;
/// let mut ledger = Ledger::default();
/// let receipt = ledger.charge(Event::Unprotected, "round 1")?;
/// let mut rng = rand::rngs::StdRng::seed_from_u64(0); // events without noise draw nothing
/// let release = Private::new(vec![1.0, 2.0]).release(receipt, &mut rng).unwrap();
/// assert_eq!(&release[..], &[1.0, 2.0]);
/// assert_eq!(ledger.entries().len(), 1);
/// # Ok::<(), dzoa_privacy::Refused>(())
/// ```
///
/// A receipt cannot be made elsewhere:
///
/// ```compile_fail
/// let forged = dzoa_privacy::Receipt { event: dzoa_privacy::Event::Unprotected, head: [0; 32] };
/// ```
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    header: Option<Header>,
    entries: Vec<Entry>,
    spent: ExactGaussian,
    /// Whether something was charged that `spent` has no theory for.
    unpriced: bool,
    head: [u8; 32],
}

/// Proof that a release was charged. Used up by the release.
#[derive(Debug)]
pub struct Receipt {
    pub(crate) event: Event,
    /// The digest of the entry that it was written down in.
    pub(crate) head: [u8; 32],
}

impl Ledger {
    /// An empty ledger for one data set.
    pub fn new(header: Header) -> Self {
        let text = serde_json::to_string(&header).expect("a header is plain data");
        Self {
            head: *blake3::hash(text.as_bytes()).as_bytes(),
            header: Some(header),
            ..Self::default()
        }
    }

    /// Writes the event down and hands out the one receipt for it; refuses before anything changes.
    pub fn charge(&mut self, event: Event, note: &str) -> Result<Receipt, Refused> {
        let (mut spent, mut unpriced) = (self.spent.clone(), self.unpriced);
        match (spent.compose(&event), self.budget()) {
            // A nominal release has no price. Where a budget must be kept, it is refused.
            (Err(_), None) => unpriced = true,
            (Err(unsupported), Some(_)) => return Err(unsupported.into()),
            (Ok(()), budget) => {
                if let Some(budget) = budget {
                    let would = spent.epsilon(budget.delta);
                    // Not `would > budget`: what is no number is never within a budget.
                    let within = would <= budget.epsilon;
                    if !within {
                        let spent = self.spent.epsilon(budget.delta);
                        return Err(Refused::Budget { budget, spent, would });
                    }
                }
            }
        }
        let index = self.entries.len() as u64 + 1;
        let mut entry = Entry { index, note: note.into(), event, hash: String::new() };
        self.head = link(self.head, &entry);
        entry.hash = hex(&self.head);
        (self.spent, self.unpriced) = (spent, unpriced);
        self.entries.push(entry);
        Ok(Receipt { event, head: self.head })
    }

    /// Reads a ledger back, entry by entry: the same hashes, the same spent budget.
    pub fn replay(
        header: Header,
        entries: impl IntoIterator<Item = Entry>,
    ) -> Result<Self, Tampered> {
        let mut ledger = Self::new(header);
        entries.into_iter().try_for_each(|entry| ledger.follow(entry))?;
        Ok(ledger)
    }

    /// Takes in an entry that was charged elsewhere, by an agent that started from this ledger.
    pub fn follow(&mut self, entry: Entry) -> Result<(), Tampered> {
        let index = self.entries.len() as u64 + 1;
        let head = link(self.head, &entry);
        if entry.index != index || entry.hash != hex(&head) {
            return Err(Tampered { index });
        }
        // What was charged stays charged, even if today's rules would refuse it.
        if self.spent.compose(&entry.event).is_err() {
            if self.budget().is_some() {
                return Err(Tampered { index });
            }
            self.unpriced = true;
        }
        self.head = head;
        self.entries.push(entry);
        Ok(())
    }

    /// Total epsilon spent at this delta, exactly; infinite once something was not protected.
    pub fn epsilon(&self, delta: f64) -> f64 {
        match self.claim() {
            _ if self.entries.is_empty() => 0.0,
            Claim::Exact if !self.unpriced => self.spent.epsilon(delta),
            _ => f64::INFINITY,
        }
    }

    /// The lifetime budget.
    pub fn budget(&self) -> Option<Budget> {
        self.header.as_ref().and_then(|header| header.budget)
    }

    /// The first line of its file.
    pub fn header(&self) -> Option<&Header> {
        self.header.as_ref()
    }

    /// Everything charged so far.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The digest over everything: written elsewhere, it shows whether the end was cut off.
    pub fn head(&self) -> String {
        hex(&self.head)
    }

    /// The weakest claim among the releases: one unprotected release spoils all others.
    pub fn claim(&self) -> Claim {
        self.entries.iter().map(|entry| entry.event.claim()).min().unwrap_or(Claim::None)
    }
}

/// The digest of an entry on top of the digest before it.
fn link(before: [u8; 32], entry: &Entry) -> [u8; 32] {
    let event = serde_json::to_string(&entry.event).expect("an event is plain data");
    let mut hasher = blake3::Hasher::new();
    hasher.update(&before).update(&entry.index.to_le_bytes());
    // The length keeps note and event apart.
    hasher.update(&(entry.note.len() as u64).to_le_bytes()).update(entry.note.as_bytes());
    *hasher.update(event.as_bytes()).finalize().as_bytes()
}

fn hex(digest: &[u8; 32]) -> String {
    blake3::Hash::from(*digest).to_hex().to_string()
}
