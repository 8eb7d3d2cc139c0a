//! One agent with its journal and its neighbours, without sockets or clock: frames and times come
//! in, frames go out.
//!
//! The outputs of the agent are performed in order: a charge is in the ledger and a release in the
//! journal before the first byte of it is sent. Everything is repeated until the other side says
//! that it has it, so that loss, duplication, reordering and restarts change nothing but the time
//! it takes.

mod background;
pub(crate) mod circle;
pub(crate) mod greeting;
mod leaving;
mod outcome;
pub(crate) mod peer;
mod receive;
mod restart;
mod running;
mod sending;
mod settings;
mod view;

pub use dzoa::network::OnLoss;
pub use outcome::{End, NodeError, Refusal, Stats};
pub use peer::Peer;
pub use running::{Gained, Running};
pub use settings::NodeSettings;

use crate::journal::{Journal, JournalRecord, Opened};
use crate::wire::{Body, Outgoing};
use circle::Circle;
use dzoa::Status;
use dzoa::agent::{Agent, Inputs, LARGEST_NORM, Message, Output, Past};
use dzoa::primal::Workspace;
use dzoa::privacy::Entry;
use std::collections::VecDeque;
use std::time::Duration;

/// Makes an entry of the ledger durable. Told of the same entry twice, it writes it once.
pub type PersistEntry = Box<dyn FnMut(&Entry) -> Result<(), String> + Send>;

/// An agent among its neighbours.
pub struct Node {
    agent: Agent,
    circle: Circle,
    end: Option<End>,
    /// The last round whose release is in the journal.
    released: u64,
    journal: Journal,
    work: Workspace,
    taken: Vec<Inputs>,
    /// The vectors that a neighbour may still miss.
    recent: VecDeque<Outgoing>,
    round_since: Duration,
    /// When the round goes on without those that are late.
    limit_at: Duration,
    over_since: Option<Duration>,
    /// Since when everybody is known to have everything.
    complete_since: Option<Duration>,
}

/// How long to stay after that, and to say so again: a neighbour that missed the last word would
/// wait for it.
pub(crate) const FAREWELL: Duration = Duration::from_secs(1);

impl Node {
    /// An agent with its journal: everything in the journal happens again, and nothing else.
    pub fn new(
        mut agent: Agent,
        opened: Opened,
        settings: NodeSettings,
        persist_entry: PersistEntry,
        now: Duration,
    ) -> Result<Self, NodeError> {
        agent.allow_lag(if settings.round_limit.is_some() { settings.lag } else { 0 });
        agent.limit_norm(LARGEST_NORM);
        let circle = Circle::new(agent.name(), agent.neighbours(), settings, persist_entry, now);
        let mut node = Self {
            circle,
            released: 0,
            agent,
            end: None,
            journal: opened.journal,
            work: Workspace::default(),
            taken: Vec::new(),
            recent: VecDeque::new(),
            round_since: now,
            limit_at: now,
            over_since: None,
            complete_since: None,
        };
        node.circle.durable = node.agent.ledger().seen();
        let mut unwritten = Vec::new();
        for record in opened.records {
            node.replay(record?, &mut unwritten, now)?;
        }
        let (ledger, run) = (node.agent.ledger(), node.agent.run());
        node.circle.agree_with_ledger(node.released, ledger, run, unwritten)?;
        node.agent.resumed();
        Ok(node)
    }

    /// Returns once the ledger is durable.
    fn persist_ledger(&mut self) -> Result<(), NodeError> {
        self.circle.persist_ledger(self.agent.ledger())
    }

    /// Does what the agent asks for, in order, until it waits or is over.
    pub fn work(&mut self, now: impl Fn() -> Duration) -> Result<(), NodeError> {
        while self.end.is_none() {
            let Some(output) = self.agent.poll() else { break };
            match output {
                // Nothing new is released before every neighbour has said to this process what it
                // knows of us.
                Output::Compute if !self.circle.is_greeted() => break,
                Output::Compute => {
                    // With late neighbours a round depends on who was late: that is persisted
                    // before it is computed, so that no crash can lead to another release of the
                    // same round.
                    if self.circle.settings.round_limit.is_some() && !self.taken.is_empty() {
                        self.persist_inputs()?;
                    }
                    self.agent.compute(&mut self.work);
                }
                Output::Persist(entry) => self.circle.ledger_writer.begin(entry),
                Output::Completed(inputs) => {
                    self.taken.push(inputs);
                }
                Output::Send(envelope) => {
                    let past = match &envelope.message {
                        Message::Release(release) => self.agent.past(release),
                        Message::Average(_) => None,
                    };
                    self.released = past.as_ref().map_or(self.released, |past| past.charge.round);
                    let record = self.record(past);
                    let vector = Outgoing::from(&self.journal.commit(&record, envelope)?);
                    self.persist_ledger()?;
                    self.round_since = now();
                    self.limit_at =
                        self.round_since + self.circle.settings.round_limit.unwrap_or_default();
                    self.remember(vector);
                    self.send_newest(self.round_since);
                }
                Output::Done(status) => {
                    // What was charged is persisted even where nothing came of it.
                    self.persist_ledger()?;
                    if !self.taken.is_empty() {
                        self.persist_inputs()?;
                    }
                    self.over(status, now());
                }
            }
        }
        // What neighbours' ledgers were seen to be waits for nothing, but is not forgotten.
        self.persist_ledger()?;
        self.tick(now())
    }

    /// What was taken in since the last record, and the release that follows from it, if there is
    /// one.
    fn record(&mut self, past: Option<Past>) -> JournalRecord {
        let inputs = self.taken.drain(..).map(Into::into).collect();
        let seen = self.circle.news();
        JournalRecord::Round { inputs, past: past.map(Into::into), seen }
    }

    fn persist_inputs(&mut self) -> Result<(), NodeError> {
        let record = self.record(None);
        Ok(self.journal.persist(&record)?)
    }

    /// The last round of which something was sent, the final averaging included.
    fn newest_round(&self) -> u64 {
        self.recent.back().map_or(0, Outgoing::round)
    }

    fn remember(&mut self, vector: Outgoing) {
        self.recent.push_back(vector);
        // A neighbour is at most one round behind. In partial mode it may be `lag` rounds behind
        // us, and miss what we sent `lag` rounds before that.
        let lag =
            if self.circle.settings.round_limit.is_some() { self.circle.settings.lag } else { 0 };
        let most = 2 * lag + 3;
        while self.recent.len() as u64 > most {
            self.recent.pop_front();
        }
    }

    fn over(&mut self, status: Status, now: Duration) {
        self.over_since = Some(now);
        if status != Status::Finished {
            self.tell_all(&Body::bye(&format!("{status:?}")));
            self.end = Some(End::Agent(status));
        } else {
            self.bear_witness();
            // The last word of a round that is durable.
            self.tell_all(&Body::note());
            self.circle.peers.iter_mut().for_each(|peer| peer.progress(now));
        }
    }

    /// Repeats what neighbours may have missed, loses patience, and notices the end.
    fn tick(&mut self, now: Duration) -> Result<(), NodeError> {
        if self.end.is_some() {
            return Ok(());
        }
        if let Some(since) = self.over_since {
            let has_all = |peer: &Peer| peer.left.is_some() || peer.round > self.agent.last_round();
            if self.complete_since.is_none() && self.circle.peers.iter().all(has_all) {
                self.complete_since = Some(now);
            }
            let all = self.complete_since.is_some_and(|complete| now >= complete + FAREWELL);
            if all || self.circle.has_stayed(since, now) {
                self.tell_all(&Body::note());
                self.end = Some(End::Agent(Status::Finished));
                return Ok(());
            }
        }
        for position in 0..self.circle.peers.len() {
            let peer = &self.circle.peers[position];
            if peer.left.is_none() && peer.is_due(now) {
                self.repeat(position, now);
            }
        }
        if self.over_since.is_none() {
            self.lose_patience(now)?;
        }
        if let Some(limit) = self.circle.settings.round_limit
            && self.over_since.is_none()
            && now >= self.limit_at
        {
            self.limit_at = now + limit;
            if self.agent.go_on() {
                return self.work(|| now);
            }
        }
        Ok(())
    }
}
