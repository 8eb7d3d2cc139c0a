//! One agent of a baseline: its rows, its ledger, its secrets. A simulation has all of them beside
//! one public state, an agent over a network has one of each.

use super::{Baseline, Party};
use crate::agent::CannotResume;
use crate::joint::{Charged, Contribution, PastPart, Resumed, SealedPart};
use crate::kernels::program;
use crate::status::Status;
use crate::streams::Streams;
use dzoa_privacy::packed::pack;
use dzoa_privacy::{
    ChargeRefused, Digest, Entry, Event, Ledger, Query, Receipt, Release, RunId, Seen,
};
use std::sync::Arc;

/// Everything that makes an agent.
pub struct BaselineAgentSetup {
    /// Its name.
    pub name: String,
    /// Its rows.
    pub party: Party,
    /// A digest of them, and of what is asked of them.
    pub rows: Digest,
    /// How each query is charged; the last one repeats.
    pub events: Arc<[Event]>,
    /// What was spent on the rows before, and how much may be.
    pub ledger: Ledger,
    /// The run that it is charged for.
    pub run: RunId,
    /// What everything random is drawn from. Without it an agent takes up what it released before,
    /// and nothing else.
    pub streams: Option<Streams>,
}

/// One agent between two queries.
pub struct BaselineAgent {
    name: String,
    party: Party,
    events: Arc<[Event]>,
    ledger: Ledger,
    run: RunId,
    streams: Option<Streams>,
    /// Queries so far.
    queries: usize,
    /// Digest of everything that goes into the next query.
    inputs: Digest,
}

impl BaselineAgent {
    /// Before its first query.
    pub fn new(setup: BaselineAgentSetup) -> Self {
        let BaselineAgentSetup { name, party, rows, events, ledger, run, streams } = setup;
        Self { name, party, events, ledger, run, streams, queries: 0, inputs: rows }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its position.
    pub fn position(&self) -> usize {
        self.party.k
    }

    /// What was charged to its rows.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The run that it is charged for.
    pub fn run(&self) -> RunId {
        self.run
    }

    /// The charge of its last query.
    pub fn last_event(&self) -> Option<&Event> {
        let query = self.queries.checked_sub(1)?;
        self.events.get(query.min(self.events.len() - 1))
    }

    /// Writes down how far another agent's ledger was seen. The entry is to be made durable.
    pub fn witness(&mut self, other: &str, seen: Seen) -> Option<Entry> {
        let news = self.ledger.witness(other, seen);
        self.ledger.entries().last().filter(|_| news).cloned()
    }

    /// Its next query.
    fn query(&mut self, round: u64) -> Query {
        let event = self.events[self.queries.min(self.events.len() - 1)];
        self.queries += 1;
        Query { run: self.run, round, inputs: self.inputs, program: program(), event }
    }

    /// Charges its query of this round. Nothing is drawn before the entry is durable.
    pub fn charge(&mut self, round: u64) -> Result<Charged, ChargeRefused> {
        let query = self.query(round);
        let written = self.ledger.entries().len();
        let receipt = self.ledger.charge(query.clone())?;
        let entry = self.ledger.entries().get(written).cloned();
        let charge = self.ledger.charge_for(&query).cloned();
        Ok(Charged { receipt, entry, charge })
    }

    /// Its answer, released in the way it was charged.
    pub fn release(
        &mut self,
        baseline: &dyn Baseline,
        round: u64,
        receipt: Receipt,
    ) -> Result<Release, Status> {
        let erased = || Status::NoSum { round, reason: "the root of the run is erased".into() };
        let noise = self.streams.as_ref().ok_or_else(erased)?.noise_key(&self.name);
        let release = baseline
            .query(round, &mut self.party, receipt, &noise)
            .map_err(|failure| failure.status(&self.name, round))?;
        match release.iter().all(|value| value.is_finite()) {
            true => Ok(release),
            false => Err(Status::NonFinite { agent: self.name.clone(), round, step: 0 }),
        }
    }

    /// Takes up a release that was charged and sealed before: the same entry, the same bytes. No
    /// row is queried and no noise is drawn. The entry is new where the ledger did not have it.
    pub fn resume(&mut self, round: u64, past: PastPart) -> Result<Resumed, CannotResume> {
        if self.streams.is_none() {
            return self.recall(round, past);
        }
        // Whoever computed it, on whichever machine: nothing is computed again.
        let query = Query { program: past.charge.program.clone(), ..self.query(round) };
        self.recover(query, past)
    }

    /// Takes up a release of a run whose root is elsewhere: for whoever replays journals. What it
    /// was made from is not compared, for only the root's owner can.
    pub(crate) fn recall(&mut self, round: u64, past: PastPart) -> Result<Resumed, CannotResume> {
        let (inputs, program) = (past.charge.inputs, past.charge.program.clone());
        self.run = past.charge.run;
        let query = Query { inputs, program, ..self.query(round) };
        self.recover(query, past)
    }

    fn recover(&mut self, query: Query, past: PastPart) -> Result<Resumed, CannotResume> {
        let PastPart { charge, part } = past;
        if !charge.answers(&query) {
            let (persisted, now) = (charge.inputs.to_string(), query.inputs.to_string());
            return Err(CannotResume::OtherInputs { round: query.round, persisted, now });
        }
        let SealedPart::Plain(sealed) = part else { return Err(CannotResume::NotReady) };
        let written = self.ledger.entries().len();
        let release = sealed.reopen(self.ledger.recover(charge))?;
        let entry = self.ledger.entries().get(written).cloned();
        Ok(Resumed { contribution: Contribution::Plain(release), entry })
    }

    /// A digest of what a round released, keyed as the inputs of its queries are; `None` without
    /// its root.
    pub fn digest(&self, released: &[Arc<[f64]>]) -> Option<Digest> {
        let mut hasher = self.streams.as_ref()?.digest("releases of a round");
        released.iter().for_each(|values| {
            hasher.update(&pack(values));
        });
        Some(Digest::from(*hasher.finalize().as_bytes()))
    }

    /// What the next query is made from: the rows, and everything that was released before it.
    pub fn follow(&mut self, released: &Digest) {
        let Some(streams) = &self.streams else { return };
        let mut hasher = streams.digest("inputs of a round");
        hasher.update(&self.inputs.0).update(&released.0);
        self.inputs = Digest::from(*hasher.finalize().as_bytes());
    }
}
