//! An agent that speaks to everybody, with its journal and neighbours, without sockets or clock.
//!
//! What an agent says to all others floods over the network: every agent checks the signature of
//! its writer, takes it in, and passes it on to its own neighbours, once. In every stage everybody
//! says one thing, so there is one place for it, by writer: a second one that says the same is
//! dropped, and one that says something else ends the run. Nobody is more than one stage ahead of a
//! neighbour, so that this stage and the one before are all that is kept. Frames say whom their
//! sender has heard in its stage, and what a neighbour misses is repeated until it says that it has
//! it.
//!
//! The order is that of [`crate::node::Node`]: a charge is in the ledger and a part in the journal
//! before its first byte is sent, and nothing is charged before every neighbour has spoken to this
//! process.
//!
//! With `on_loss = "continue"` agents that are gone for good are left behind (`leaving.rs`).

mod leaving;
mod receive;
mod restart;
mod sending;
mod view;

use crate::certs::{CertError, CertFiles};
use crate::journal::{DurableNotice, Journal, JournalRecord, Opened};
use crate::letter::{Letter, Occasion};
use crate::node::circle::Circle;
use crate::node::{End, FAREWELL, NodeError, NodeSettings, Peer, PersistEntry};
use crate::post::Post;
use crate::signing::{Signer, Verifier};
use crate::wire::{Body, Heard};
use dzoa::Status;
use dzoa::joint::{JointAgent, PastPart};
use dzoa::network::Graph;
use leaving::Losses;
use std::collections::BTreeMap;
use std::time::Duration;

/// What an agent signs with, and knows the others' signatures by.
pub struct Credentials {
    signer: Signer,
    verifier: Verifier,
}

impl Credentials {
    /// From the files of one agent.
    pub fn new(certs: &CertFiles) -> Result<Self, CertError> {
        Ok(Self { signer: Signer::new(certs)?, verifier: Verifier::new(certs)? })
    }
}

/// Where an agent sits.
pub struct JointPlace {
    /// The network.
    pub graph: Graph,
    /// Where the agent stands in it.
    pub k: usize,
    /// What all agents have in common, and how patient this one is.
    pub settings: NodeSettings,
    /// The longest frame that a neighbour may send.
    pub longest_frame: usize,
    /// What it signs with.
    pub credentials: Credentials,
}

/// An agent that speaks to everybody, among its neighbours: about joint sums, or its releases.
pub struct JointNode {
    agent: JointAgent,
    circle: Circle,
    journal: Journal,
    credentials: Credentials,
    longest_frame: usize,
    /// What everybody said in this stage, by position among the members.
    post: Vec<Option<Post>>,
    /// What everybody said in the stage before.
    before: Vec<Post>,
    /// What came for the next turn: from which neighbour, whose, and whether it gives up.
    ahead: BTreeMap<(usize, usize, bool), Letter>,
    /// Letters of the stage before that the journal does not hold yet.
    unwritten: bool,
    /// Whom each neighbour has heard in its turn.
    held: Vec<Heard>,
    /// What is on its way to each neighbour in the next frame.
    bundles: Vec<Vec<Post>>,
    /// Who is gone, and what was said about it.
    losses: Losses,
    /// The last round whose part is in the journal.
    released: u64,
    end: Option<End>,
    stage_since: Duration,
    over_since: Option<Duration>,
    /// Since when everybody is known to have everything.
    complete_since: Option<Duration>,
}

impl JointNode {
    /// An agent with its journal: everything in the journal happens again, and nothing else.
    pub fn new(
        agent: JointAgent,
        opened: Opened,
        place: JointPlace,
        persist_entry: PersistEntry,
        now: Duration,
    ) -> Result<Self, NodeError> {
        let JointPlace { graph, k, settings, longest_frame, credentials } = place;
        let neighbours = graph.neighbours(k);
        let circle = Circle::new(agent.name(), neighbours, settings, persist_entry, now);
        let mut node = Self {
            post: vec![None; agent.members().len()],
            held: vec![Heard::default(); neighbours.len()],
            bundles: vec![Vec::new(); neighbours.len()],
            losses: Losses::new(&graph, agent.members(), neighbours.len()),
            agent,
            circle,
            journal: opened.journal,
            credentials,
            longest_frame,
            before: Vec::new(),
            ahead: BTreeMap::new(),
            unwritten: false,
            released: 0,
            end: None,
            stage_since: now,
            over_since: None,
            complete_since: None,
        };
        node.circle.durable = node.agent.ledger().seen();
        node.take_up(opened.records, now)?;
        if node.agent.is_past() && !node.agent.is_over() {
            return Err(NodeError::NoRoot);
        }
        Ok(node)
    }

    /// Does what can be done, in order, until it waits or is over.
    pub fn work(&mut self, now: impl Fn() -> Duration) -> Result<(), NodeError> {
        while self.end.is_none() && self.over_since.is_none() {
            let own = self.agent.position();
            if let Some(status) = self.agent.status().cloned() {
                self.over(status, now())?;
            } else if self.agent.has_left() {
                // Bindingly: what arrives of this attempt is not taken in.
                if !self.agent.has_agreed() {
                    break;
                }
                self.redo(now())?;
            } else if let Some(gone) = self.gave_up_before() {
                self.give_up(gone, now())?;
            } else if self.agent.owes() {
                // Nothing new is released before every neighbour has said to this process what it
                // knows of us.
                if !self.is_greeted() {
                    break;
                }
                self.contribute(now())?;
            } else if self.post[own].is_none() {
                self.announce(now())?;
            } else if self.agent.is_complete() {
                self.advance(now());
            } else {
                break;
            }
        }
        self.circle.persist_ledger(self.agent.ledger())?;
        self.tick(now())
    }

    /// Charge, persist, answer, persist, send.
    fn contribute(&mut self, now: Duration) -> Result<(), NodeError> {
        let charged = match self.agent.charge() {
            Ok(charged) => charged,
            Err(status) => return self.over(status, now),
        };
        charged.entry.into_iter().for_each(|entry| self.circle.ledger_writer.begin(entry));
        self.circle.persist_ledger(self.agent.ledger())?;
        let Some(charge) = charged.charge else { return Err(NodeError::Order(self.round())) };
        let contribution = match self.agent.contribute(charged.receipt) {
            Ok(contribution) => contribution,
            Err(status) => return self.over(status, now),
        };
        let round = charge.round;
        let part = contribution.seal(&charge);
        let record = self.record(Some(PastPart { charge, part }));
        let notice = self.agent.say(&contribution);
        let durable = self.journal.commit_part(&record, notice)?;
        (self.unwritten, self.released) = (false, round);
        self.send(&durable, now)
    }

    /// Says what does not depend on rows: who this is, and what was heard.
    fn announce(&mut self, now: Duration) -> Result<(), NodeError> {
        self.persist_stage()?;
        let order = NodeError::Order(self.agent.stage());
        let notice = self.agent.heard(self.agent.position()).cloned().ok_or(order)?;
        let order = NodeError::Order(self.agent.stage());
        let durable = DurableNotice::public(notice).ok_or(order)?;
        self.send(&durable, now)
    }

    /// Signs what this agent says, and sends it to everybody. What was heard of it already must be
    /// the same.
    fn send(&mut self, durable: &DurableNotice, now: Duration) -> Result<(), NodeError> {
        let post = self.sign(durable)?;
        let own = self.agent.position();
        let differs = |letter: &&Letter| {
            letter.place() == (durable.stage, durable.attempt)
                && !letter.says_the_same(post.letter())
        };
        let earlier =
            self.ahead.iter().filter(|((_, origin, leave), _)| (*origin, *leave) == (own, false));
        let others: Vec<Letter> =
            earlier.map(|(_, letter)| letter).filter(differs).cloned().collect();
        // What a neighbour made up proves nothing.
        if others.iter().any(|letter| self.verified(letter).is_ok()) {
            let what = "another process speaks under this agent's name, or did before".into();
            self.stop(End::Disagreed { what });
            return Ok(());
        }
        self.post[own] = Some(post.clone());
        self.stage_since = now;
        self.pass_on(&post, None, now);
        Ok(())
    }

    fn sign(&self, durable: &DurableNotice) -> Result<Post, NodeError> {
        let occasion = self.occasion(self.agent.name());
        Post::own(durable, &occasion, &self.credentials.signer).ok_or(NodeError::Signature)
    }

    fn occasion<'a>(&self, name: &'a str) -> Occasion<'a> {
        let roster = self.agent.roster().map(|roster| roster.digest().0).unwrap_or_default();
        Occasion { network: self.circle.settings.network, roster, name }
    }

    /// What the stage before heard, if the journal does not hold it, and the part that follows.
    fn record(&mut self, past: Option<PastPart>) -> JournalRecord {
        let own = self.agent.position();
        let others = self.before.iter().filter(|post| post.letter().origin() != own);
        let letters = match self.unwritten {
            true => others.map(|post| post.letter().clone()).collect(),
            false => Vec::new(),
        };
        JournalRecord::Stage { letters, past: past.map(Into::into), seen: self.circle.news() }
    }

    /// Everybody was heard: on to the next stage, for which something may be here.
    fn advance(&mut self, now: Duration) {
        self.next_stage();
        if self.agent.status().is_some() {
            return;
        }
        self.take_ahead(now);
    }

    /// What came for this turn before it began.
    fn take_ahead(&mut self, now: Duration) {
        let ahead = std::mem::take(&mut self.ahead);
        for ((neighbour, origin, leave), letter) in ahead {
            if letter.place() == self.place() && self.end.is_none() {
                if origin == self.agent.position() && !leave {
                    self.ahead.insert((neighbour, origin, leave), letter);
                } else {
                    self.take_in(neighbour, letter, now);
                }
            }
        }
    }

    fn next_stage(&mut self) {
        let members = self.post.len();
        let post = std::mem::replace(&mut self.post, vec![None; members]);
        self.before = post.into_iter().flatten().collect();
        self.losses.next_turn(Vec::new());
        self.agent.advance();
        self.unwritten = true;
    }

    fn over(&mut self, status: Status, now: Duration) -> Result<(), NodeError> {
        self.persist_stage()?;
        self.over_since = Some(now);
        if status != Status::Finished {
            self.stop(End::Agent(status));
            return Ok(());
        }
        for position in 0..self.circle.peers.len() {
            self.witness(position);
        }
        self.circle.persist_ledger(self.agent.ledger())?;
        self.tell_all(&self.note());
        self.circle.peers.iter_mut().for_each(|peer| peer.progress(now));
        Ok(())
    }

    /// Repeats what neighbours may have missed, loses patience, and notices the end.
    fn tick(&mut self, now: Duration) -> Result<(), NodeError> {
        if self.end.is_some() {
            return Ok(());
        }
        if let Some(since) = self.over_since {
            let turn = self.agent.turn();
            let has_all = |peer: &Peer| peer.left.is_some() || peer.round >= turn;
            if self.complete_since.is_none() && self.circle.peers.iter().all(has_all) {
                self.complete_since = Some(now);
            }
            let all = self.complete_since.is_some_and(|complete| now >= complete + FAREWELL);
            if all || self.circle.has_stayed(since, now) {
                self.tell_all(&self.note());
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
        if self.over_since.is_none() && self.goes_on_without() {
            return self.look_for_losses(now);
        }
        let patience = self.circle.settings.patience;
        // Who was never here is waited for.
        let silent = |peer: &&Peer| peer.has_met() && now.saturating_sub(peer.heard) > patience;
        if let (None, Some(peer)) = (self.over_since, self.circle.peers.iter().find(silent)) {
            let (name, silent) = (peer.name.clone(), now.saturating_sub(peer.heard));
            self.stop(End::NeighbourLost { name, silent, round: self.round() });
        }
        Ok(())
    }

    /// Ends this agent's part, and says so.
    fn stop(&mut self, end: End) {
        self.tell_all(&Body::bye(&format!("{end:?}")));
        self.end = Some(end);
    }

    /// The stage, and how often it was begun before.
    fn place(&self) -> (u64, u64) {
        (self.agent.stage(), self.agent.attempt())
    }

    fn round(&self) -> u64 {
        self.agent.rounds_done() + 1
    }
}
