//! The ledger: what was charged before it was released, for the whole life of a data set.
//!
//! Entries form a hash chain, so that a changed byte is found, and replay to the same spent budget.
//! The ledger itself touches no files: it hands out every entry to be made durable *before* the
//! release that it pays for.
//!
//! Every charge names its run, its round and a digest of what went into it ([`Charge`]). The same
//! query of the same run is found again and not charged twice: its noise follows from the charge,
//! so that the same bytes leave. Anything else is another charge.
//!
//! A joint sum is protected by other agents' noise, too. So there are two totals: one that holds on
//! the conditions of all runs ([`Ledger::conditions`]), which budgets are about, and one that holds
//! whatever other agents do. And a masked sum is answered once: masks are one-time words, so that
//! two values under one context would show their difference with this agent's noise alone.

mod format1;

pub use format1::{OldEntry, OldHeader, migrate};

use crate::accountant::{Accountant, Unsupported};
use crate::charge::json;
use crate::{
    Begin, Budget, Charge, Claim, Condition, Digest, Event, ExactGaussian, Query, RunId, Seen,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// The format of ledgers.
pub const LEDGER_FORMAT: u32 = 2;
/// The version of an entry's content.
pub const ENTRY_VERSION: u32 = 1;

/// The first line of a ledger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// [`LEDGER_FORMAT`].
    pub ledger: u32,
    /// Which ledger this is: random, and no secret.
    pub id: RunId,
    /// The data set, as its owner calls it.
    pub dataset: String,
    /// The lifetime budget.
    pub budget: Option<Budget>,
}

/// One entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Counted from 1.
    pub index: u64,
    /// The version of the record.
    pub version: u32,
    /// What happened.
    pub record: LedgerRecord,
    /// Digest of this entry and everything before it.
    pub hash: Digest,
}

/// What a ledger remembers. Append-only: a record has the same meaning for ever.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum LedgerRecord {
    /// A run began.
    Begin(Begin),
    /// Something was charged.
    Charge(Charge),
    /// Another agent's ledger was seen.
    Witness {
        /// The agent.
        agent: String,
        /// Its ledger.
        seen: Seen,
    },
    /// The entries after this one, up to so many, were carried over from an older format.
    Migrated {
        /// That format.
        from: u32,
        /// The digest of the rows there. Its key stays behind.
        rows: String,
        /// The digest of the old ledger.
        head: String,
        /// Charges carried over.
        entries: u64,
    },
}

/// A charge that the ledger does not allow. Nothing was written, no noise may be drawn.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ChargeRefused {
    /// The budget would be exceeded.
    #[error("the budget of epsilon {} at delta {} would be exceeded: {spent:.6} is spent, this \
        release would make it {would:.6}", budget.epsilon, budget.delta)]
    Budget {
        /// The budget.
        budget: Budget,
        /// Spent before.
        spent: f64,
        /// Spent with this release.
        would: f64,
    },
    /// The whole run would exceed the budget.
    #[error("the budget of epsilon {} at delta {} does not last: {spent:.6} is spent, and the \
        whole run would make it {would:.6}", budget.epsilon, budget.delta)]
    Run {
        /// The budget.
        budget: Budget,
        /// Spent before.
        spent: f64,
        /// Spent with all of the run.
        would: f64,
    },
    /// A masked sum was answered before, from other rows or by another program.
    #[error(
        "this sum was answered before with another value (round {round}, context {context}): \
        a second one under the same masks would show the difference of the two"
    )]
    Answered {
        /// Its round.
        round: u64,
        /// Its context.
        context: Digest,
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
/// use dzoa_privacy::{Event, Ledger, NoiseKey, Private};
/// let mut ledger = Ledger::default();
/// let receipt = ledger.charge(Event::Unprotected.query(1))?;
/// let release = Private::new(vec![1.0, 2.0]).release(receipt, &NoiseKey::new([0; 32])).unwrap();
/// assert_eq!(&release[..], &[1.0, 2.0]);
/// // The same query again is the same release, and no second charge.
/// ledger.charge(Event::Unprotected.query(1))?;
/// assert_eq!(ledger.entries().len(), 1);
/// # Ok::<(), dzoa_privacy::ChargeRefused>(())
/// ```
///
/// A receipt cannot be made elsewhere:
///
/// ```compile_fail
/// use dzoa_privacy::{Event, Receipt};
/// let forged = Receipt { event: Event::Unprotected, id: [0; 32].into() };
/// ```
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    header: Option<Header>,
    entries: Vec<Entry>,
    /// Where the charges of a run's round are.
    rounds: BTreeMap<(RunId, u64), Vec<usize>>,
    /// On the conditions of joint sums.
    spent: ExactGaussian,
    /// Whatever other agents do.
    unconditional: ExactGaussian,
    conditions: BTreeSet<Condition>,
    /// The masked sums that were answered.
    contexts: BTreeSet<Digest>,
    claim: Option<Claim>,
    /// Whether something was charged that `spent` has no theory for.
    unpriced: bool,
    head: Digest,
}

/// Proof that a release was charged. Used up by the release.
#[derive(Debug)]
pub struct Receipt {
    pub(crate) event: Event,
    /// [`Charge::id`]
    pub(crate) id: Digest,
}

impl Ledger {
    /// An empty ledger for one data set.
    pub fn new(header: Header) -> Self {
        let head = Digest::from(*blake3::hash(&json(&header)).as_bytes());
        Self { head, header: Some(header), ..Self::default() }
    }

    /// Writes a query down and hands out the receipt for its release; refuses before anything
    /// changes.
    ///
    /// A query that was charged before, made from the same inputs by the same program, is not
    /// charged again: it is the same release, to the last bit. Anything else is a charge of its
    /// own, also for a round that has one.
    pub fn charge(&mut self, query: Query) -> Result<Receipt, ChargeRefused> {
        if let Some(same) = self.charge_for(&query) {
            return Ok(Receipt { event: same.event, id: same.id() });
        }
        if let Some(context) = context_of(&query.event).filter(|id| self.contexts.contains(id)) {
            return Err(ChargeRefused::Answered { round: query.round, context });
        }
        let attempt = self.charges_of(query.run, query.round).count() as u32;
        let Query { run, round, inputs, program, event } = query;
        if let Some(budget) = self.budget() {
            let mut spent = self.spent.clone();
            // A nominal release has no price. Where there is a budget, it is refused.
            spent.compose(&event)?;
            let would = spent.epsilon(budget.delta);
            // Not `would > budget`: what is not a number is refused, too.
            let within = would <= budget.epsilon;
            if !within {
                let spent = self.spent.epsilon(budget.delta);
                return Err(ChargeRefused::Budget { budget, spent, would });
            }
        }
        let charge = Charge { run, round, attempt, inputs, program, event };
        let id = charge.id();
        self.append(LedgerRecord::Charge(charge));
        Ok(Receipt { event, id })
    }

    /// The receipt for a charge that a journal holds. Where a crash came between the two, the
    /// ledger takes it in.
    pub fn recover(&mut self, charge: Charge) -> Receipt {
        let receipt = Receipt { event: charge.event, id: charge.id() };
        if !self.charges_of(charge.run, charge.round).any(|known| *known == charge) {
            self.append(LedgerRecord::Charge(charge));
        }
        receipt
    }

    /// Whether everything that a run may still charge fits into the budget.
    pub fn affords<'a>(
        &self,
        events: impl IntoIterator<Item = &'a Event>,
    ) -> Result<(), ChargeRefused> {
        let Some(budget) = self.budget() else { return Ok(()) };
        let mut all = self.spent.clone();
        events.into_iter().try_for_each(|event| all.compose(event))?;
        let would = all.epsilon(budget.delta);
        if would <= budget.epsilon {
            return Ok(());
        }
        Err(ChargeRefused::Run { budget, spent: self.spent.epsilon(budget.delta), would })
    }

    /// Writes down that a run begins, once.
    pub fn begin(&mut self, begin: Begin) {
        if self.begun(begin.run).is_none() {
            self.append(LedgerRecord::Begin(begin));
        }
    }

    /// How a run began.
    pub fn begun(&self, run: RunId) -> Option<&Begin> {
        self.entries.iter().find_map(|entry| match &entry.record {
            LedgerRecord::Begin(begin) if begin.run == run => Some(begin),
            _ => None,
        })
    }

    /// Writes down how far another agent's ledger was seen. Returns whether that was news.
    pub fn witness(&mut self, agent: &str, seen: Seen) -> bool {
        let news = self.witnessed(agent, seen.ledger) != Some(seen);
        if news {
            self.append(LedgerRecord::Witness { agent: agent.into(), seen });
        }
        news
    }

    /// How far an agent's ledger was last seen.
    pub fn witnessed(&self, agent: &str, ledger: RunId) -> Option<Seen> {
        self.entries.iter().rev().find_map(|entry| match &entry.record {
            LedgerRecord::Witness { agent: known, seen }
                if known == agent && seen.ledger == ledger =>
            {
                Some(*seen)
            }
            _ => None,
        })
    }

    fn append(&mut self, record: LedgerRecord) {
        let index = self.entries.len() as u64 + 1;
        let hash = link(self.head, index, ENTRY_VERSION, &record);
        self.take(Entry { index, version: ENTRY_VERSION, record, hash });
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

    /// Takes in an entry that was made elsewhere, on top of this ledger.
    pub fn follow(&mut self, entry: Entry) -> Result<(), Tampered> {
        let index = self.entries.len() as u64 + 1;
        let fits = entry.index == index
            && entry.version == ENTRY_VERSION
            && entry.hash == link(self.head, index, entry.version, &entry.record);
        if !fits {
            return Err(Tampered { index });
        }
        self.take(entry);
        Ok(())
    }

    /// What was charged stays charged, even if today's rules would refuse it.
    fn take(&mut self, entry: Entry) {
        if let LedgerRecord::Charge(charge) = &entry.record {
            let position = self.entries.len();
            self.rounds.entry((charge.run, charge.round)).or_default().push(position);
            self.unpriced |= self.spent.compose(&charge.event).is_err();
            let alone = charge.event.unconditional();
            self.unpriced |= self.unconditional.compose(&alone).is_err();
            self.conditions.extend(charge.event.condition());
            self.contexts.extend(context_of(&charge.event));
            let claim = charge.event.claim();
            self.claim = Some(self.claim.map_or(claim, |weakest| weakest.min(claim)));
        }
        self.head = entry.hash;
        self.entries.push(entry);
    }

    /// Total epsilon spent at this delta, exactly, on all [`Ledger::conditions`]; infinite once
    /// something was not protected.
    pub fn epsilon(&self, delta: f64) -> f64 {
        self.total(&self.spent, delta)
    }

    /// Total epsilon spent at this delta, whatever other agents do: what every agent's own noise
    /// is worth.
    pub fn epsilon_unconditional(&self, delta: f64) -> f64 {
        self.total(&self.unconditional, delta)
    }

    /// What the total rests on: one condition for every kind of joint sum, sorted.
    pub fn conditions(&self) -> impl Iterator<Item = Condition> + '_ {
        self.conditions.iter().copied()
    }

    fn total(&self, spent: &ExactGaussian, delta: f64) -> f64 {
        match self.claim {
            None => 0.0,
            Some(Claim::Exact) if !self.unpriced => spent.epsilon(delta),
            Some(_) => f64::INFINITY,
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

    /// Everything written down so far.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Everything charged so far.
    pub fn charges(&self) -> impl Iterator<Item = &Charge> + Clone {
        self.entries.iter().filter_map(charge_in)
    }

    /// What a run charged for one round: one charge, unless the round was made anew from other
    /// inputs.
    pub fn charges_of(&self, run: RunId, round: u64) -> impl Iterator<Item = &Charge> + Clone {
        let positions = self.rounds.get(&(run, round)).map_or(&[][..], Vec::as_slice);
        positions.iter().filter_map(|position| charge_in(&self.entries[*position]))
    }

    /// The charge that pays for this query, once it is made.
    pub fn charge_for(&self, query: &Query) -> Option<&Charge> {
        self.charges_of(query.run, query.round).find(|charge| charge.answers(query))
    }

    /// What a run charged for, in all rounds.
    pub fn events_of(&self, run: RunId) -> impl Iterator<Item = &Event> + Clone {
        self.charges().filter(move |charge| charge.run == run).map(|charge| &charge.event)
    }

    /// The last round that a run charged for; 0 before the first.
    pub fn last_round(&self, run: RunId) -> u64 {
        let rounds = self.rounds.range((run, 0)..=(run, u64::MAX));
        rounds.last().map_or(0, |((_, round), _)| *round)
    }

    /// The digest over everything: written elsewhere, it shows whether the end was cut off.
    pub fn head(&self) -> String {
        self.head.to_string()
    }

    /// What others may know of it: how long it is, and a digest that only it has.
    pub fn seen(&self) -> Seen {
        let ledger = self.header.as_ref().map(|header| header.id).unwrap_or_default();
        Seen { ledger, entries: self.entries.len() as u64, head: self.head }
    }

    /// The weakest claim among the releases: one unprotected release spoils all others.
    pub fn claim(&self) -> Claim {
        self.claim.unwrap_or(Claim::None)
    }
}

fn charge_in(entry: &Entry) -> Option<&Charge> {
    match &entry.record {
        LedgerRecord::Charge(charge) => Some(charge),
        _ => None,
    }
}

/// The context of a masked sum; none in a plan. Without masks a second value is a second release
/// like any other, with noise of its own.
fn context_of(event: &Event) -> Option<Digest> {
    match event {
        Event::JointSum { context, .. } if event.condition().is_some() => {
            Some(*context).filter(|id| *id != Digest::default())
        }
        _ => None,
    }
}

/// The digest of an entry on top of the digest before it.
fn link(before: Digest, index: u64, version: u32, record: &LedgerRecord) -> Digest {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&before.0).update(&index.to_le_bytes()).update(&version.to_le_bytes());
    Digest::from(*hasher.update(&json(record)).finalize().as_bytes())
}
