//! Ledgers of format 1 (up to version 0.2.3), and how they are carried over.
//!
//! Their entries named neither run nor inputs: two state directories could make equal entries, and
//! a second release of a round counted as already charged. So they are read for one purpose: to
//! begin a ledger of today's format with every charge that they hold.

use super::{Header, LEDGER_FORMAT, Ledger, LedgerRecord, Tampered};
use crate::{Budget, Charge, Digest, Event, RunId};
use serde::{Deserialize, Serialize};

/// The first line of an old ledger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OldHeader {
    /// Format; 1.
    pub ledger: u32,
    /// A digest of the rows.
    pub data: String,
    /// Its key.
    pub key: String,
    /// The lifetime budget.
    pub budget: Option<Budget>,
}

/// One charge of an old ledger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OldEntry {
    /// Counted from 1.
    pub index: u64,
    /// What for.
    pub note: String,
    /// What was charged.
    pub event: Event,
    /// Digest of this entry and everything before it.
    pub hash: String,
}

/// A ledger of today's format with every charge of an old one, whose chain is checked first.
///
/// The old entries do not say which run they belong to. They keep their order, and the run is named
/// after the old ledger's head, so that nothing that is charged from now on can be taken for one of
/// them.
pub fn migrate(
    header: &OldHeader,
    entries: &[OldEntry],
    dataset: &str,
    id: RunId,
) -> Result<Ledger, Tampered> {
    let text = serde_json::to_string(header).expect("a header is plain data");
    let mut head = *blake3::hash(text.as_bytes()).as_bytes();
    for (index, entry) in (1..).zip(entries) {
        head = old_link(head, entry);
        if entry.index != index || entry.hash != Digest::from(head).to_string() {
            return Err(Tampered { index });
        }
    }
    let mut ledger = Ledger::new(Header {
        ledger: LEDGER_FORMAT,
        id,
        dataset: dataset.into(),
        budget: header.budget,
    });
    let head = Digest::from(head);
    ledger.append(LedgerRecord::Migrated {
        from: header.ledger,
        rows: header.data.clone(),
        head: head.to_string(),
        entries: entries.len() as u64,
    });
    let run = RunId::try_from(&head.0[..16]).unwrap_or_default();
    for entry in entries {
        let inputs = entry.hash.parse().unwrap_or_default();
        ledger.append(LedgerRecord::Charge(Charge {
            run,
            round: entry.index,
            attempt: 0,
            inputs,
            program: format!("format 1: {}", entry.note),
            event: entry.event,
        }));
    }
    Ok(ledger)
}

fn old_link(before: [u8; 32], entry: &OldEntry) -> [u8; 32] {
    let event = serde_json::to_string(&entry.event).expect("an event is plain data");
    let mut hasher = blake3::Hasher::new();
    hasher.update(&before).update(&entry.index.to_le_bytes());
    hasher.update(&(entry.note.len() as u64).to_le_bytes()).update(entry.note.as_bytes());
    *hasher.update(event.as_bytes()).finalize().as_bytes()
}
