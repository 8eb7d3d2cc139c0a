//! One agent with its journal and its neighbours, without sockets or clock: frames and times come in,
//! frames go out.
//!
//! The outputs of the agent are performed in order: a charge is in the ledger and a release in the journal
//! before the first byte of it is sent. Everything is repeated until the other side says that it has it, so
//! that loss, duplication, reordering and restarts change nothing but the time it takes.

use crate::aside::Aside;
use crate::journal::{Durable, Journal, JournalError, Opened, Record};
use crate::peer::{Peer, SLOWEST_RESEND};
pub use crate::terms::{End, NodeError, OnLoss, Refusal, Settings, Stats};
use crate::wire::{self, Body, Frame};
use dzoa::agent::{Agent, Envelope, Input, Inputs, LARGEST_NORM, Message, Output, Past};
use dzoa::privacy::{Entry, Record as LedgerRecord, Seen};
use dzoa::trace::Status;
use dzoa::zeroth_order::Workspace;
use std::collections::VecDeque;
use std::time::Duration;

/// Makes an entry of the ledger durable. Told of the same entry twice, it keeps it once.
pub type KeepEntry = Box<dyn FnMut(&Entry) -> Result<(), String> + Send>;

/// An agent among its neighbours.
pub struct Node {
    pub(crate) agent: Agent,
    pub(crate) settings: Settings,
    pub(crate) peers: Vec<Peer>,
    pub(crate) end: Option<End>,
    pub(crate) refusals: Vec<Refusal>,
    pub(crate) stats: Stats,
    /// The last round whose release is in the journal.
    pub(crate) released: u64,
    /// The ledger as far as it is durable: what neighbours may be told.
    pub(crate) durable: Seen,
    journal: Journal,
    /// The ledger. A charge that is only there is found again by the round that is computed again, and one that
    /// is only in the journal is told to the ledger at the next start: so both wait for the disk at one time.
    keeper: Aside<Entry>,
    work: Workspace,
    taken: Vec<Inputs>,
    /// The vectors that a neighbour may still miss.
    recent: VecDeque<Durable<Envelope>>,
    outgoing: Vec<(usize, Vec<u8>)>,
    round_since: Duration,
    /// When the round goes on without those that are late.
    limit_at: Duration,
    pub(crate) over_since: Option<Duration>,
    /// Since when everybody is known to have everything.
    complete_since: Option<Duration>,
}

/// How long to stay after that, and to say so again: a neighbour that missed the last word would wait for it.
const FAREWELL: Duration = Duration::from_secs(1);

impl Node {
    /// An agent with its journal: everything in the journal happens again, and nothing else.
    pub fn new(
        mut agent: Agent,
        opened: Opened,
        settings: Settings,
        mut keep_entry: KeepEntry,
        now: Duration,
    ) -> Result<Self, NodeError> {
        agent.allow_lag(if settings.round_limit.is_some() { settings.lag } else { 0 });
        agent.limit_norm(LARGEST_NORM);
        let peers = agent.neighbours().iter().map(|&index| {
            let name = settings.names.get(index).cloned().unwrap_or_default();
            Peer::new(index, name, now)
        });
        let mut node = Self {
            peers: peers.collect(),
            released: 0,
            durable: agent.ledger().seen(),
            agent,
            settings,
            end: None,
            refusals: Vec::new(),
            stats: Stats::default(),
            journal: opened.journal,
            keeper: Aside::new(move |entry| keep_entry(&entry)),
            work: Workspace::default(),
            taken: Vec::new(),
            recent: VecDeque::new(),
            outgoing: Vec::new(),
            round_since: now,
            limit_at: now,
            over_since: None,
            complete_since: None,
        };
        let mut unwritten = Vec::new();
        for record in opened.records {
            node.replay(record, &mut unwritten, now)?;
        }
        node.agree_with_ledger(unwritten)?;
        node.agent.resumed();
        Ok(node)
    }

    /// Refuses a journal and a ledger of which one is older than the other. A crash explains one round that only one of
    /// the two has: they are written at the same time, and nothing is sent before both are done.
    fn agree_with_ledger(&mut self, unwritten: Vec<Entry>) -> Result<(), NodeError> {
        let journal = self.released;
        let ledger = self.agent.ledger().last_round(self.agent.run());
        if ledger > journal + 1 {
            return Err(NodeError::JournalBehind { journal, ledger });
        }
        let rounds = unwritten.iter().filter_map(|entry| match &entry.record {
            LedgerRecord::Charge(charge) => Some(charge.round),
            _ => None,
        });
        let rounds: Vec<u64> = rounds.collect();
        if rounds.len() > 1 || rounds.iter().any(|round| *round != journal) {
            return Err(NodeError::LedgerBehind { missing: rounds.len() });
        }
        unwritten.into_iter().for_each(|entry| self.keeper.begin(entry));
        self.keep_ledger()
    }

    /// Returns once the ledger is durable.
    fn keep_ledger(&mut self) -> Result<(), NodeError> {
        self.keeper.finish().map_err(NodeError::Ledger)?;
        self.durable = self.agent.ledger().seen();
        Ok(())
    }

    fn replay(
        &mut self,
        record: Record,
        unwritten: &mut Vec<Entry>,
        now: Duration,
    ) -> Result<(), NodeError> {
        match record {
            Record::Start(_) => return Err(JournalError::Unreadable { index: 2 }.into()),
            Record::Left { neighbour, .. } => self.forget(neighbour)?,
            Record::Round { inputs, past, seen } => {
                for (index, seen) in seen {
                    let peer = self.peers.iter_mut().find(|peer| peer.index == index);
                    peer.map(|peer| peer.recall(seen)).ok_or(NodeError::Order(0))?;
                }
                for inputs in inputs {
                    let inputs = inputs.inputs();
                    let round = inputs.round;
                    for (from, round, _) in &inputs.vectors {
                        let peer = self.peers.iter_mut().find(|peer| peer.index == *from);
                        peer.into_iter().for_each(|peer| peer.has = peer.has.max(*round));
                    }
                    if !self.agent.retake(inputs)? {
                        return Err(NodeError::Order(round));
                    }
                    self.recollect(unwritten, now);
                }
                if let Some(kept) = past {
                    let past = kept.past().ok_or(JournalError::Unreadable { index: 0 })?;
                    self.agent.resume(past)?;
                    self.released = self.agent.round();
                    self.recollect(unwritten, now);
                }
            }
        }
        Ok(())
    }

    /// Takes the agent's outputs of a replayed round for done: they were.
    fn recollect(&mut self, unwritten: &mut Vec<Entry>, now: Duration) {
        while let Some(output) = self.agent.poll() {
            match output {
                Output::Compute => break,
                Output::Send(envelope) => self.remember(self.journal.kept(envelope)),
                Output::Done(status) => self.over(status, now),
                Output::Persist(entry) => unwritten.push(entry),
                Output::Completed(_) => {}
            }
        }
    }

    /// Takes in bytes that the transport says are from this neighbour.
    pub fn receive(&mut self, from: usize, bytes: &[u8], now: Duration) {
        self.stats.received.0 += 1;
        self.stats.received.1 += bytes.len() as u64;
        let Some(position) = self.peers.iter().position(|peer| peer.index == from) else {
            let name = self.settings.names.get(from).cloned().unwrap_or_default();
            return self.refuse(name, "it is no neighbour".into(), bytes);
        };
        let name = self.peers[position].name.clone();
        let limit = wire::longest(self.agent.beta().len());
        let frame = match Frame::decode(bytes, limit) {
            Ok(frame) => frame,
            Err(error) => return self.refuse(name, error.to_string(), bytes),
        };
        if let Some(what) = self.difference(&frame, &name) {
            return self.refuse(name, what, bytes);
        }
        match self.greet(position, &frame, now) {
            Ok(true) if self.end.is_none() => {}
            Ok(_) => return,
            Err(what) => {
                self.peers[position].suspect = true;
                return self.refuse(name, what, bytes);
            }
        }
        let needed = self.agent.needs(from);
        let peer = &mut self.peers[position];
        if let Some(round) = peer.left {
            // It may have missed that we went on without it.
            if peer.may_answer(now) && !matches!(frame.body, Body::Left { .. }) {
                peer.spoke(now);
                self.say(position, Body::Left { round });
            }
            return;
        }
        peer.met = true;
        peer.round = frame.round;
        peer.needs = frame.needs;
        match frame.body {
            Body::Note => {}
            Body::Vector { round, values: beta } => {
                if let Err(error) = self.agent.handle(Input::Received { from, round, beta }) {
                    self.peers[position].suspect = true;
                    return self.refuse(name, error.to_string(), bytes);
                }
                let peer = &mut self.peers[position];
                peer.has = peer.has.max(round);
                if self.agent.needs(from) > needed {
                    let since = self.round_since;
                    let peer = &mut self.peers[position];
                    peer.suspect = false;
                    peer.waited += now.saturating_sub(since);
                    peer.progress(now);
                }
            }
            Body::Bye { reason } => return self.bye(position, reason, now),
            Body::Left { round } => return self.left_behind(position, round, now),
        }
        let peer = &mut self.peers[position];
        // Whoever sends only what is refused does not keep us waiting for ever.
        if !peer.suspect {
            peer.heard = now;
        }
        let last = self.newest_round();
        let peer = &mut self.peers[position];
        if peer.needs <= last && peer.may_answer(now) {
            self.repeat(position, now);
        }
    }

    /// What the neighbour has otherwise than we do.
    fn difference(&self, frame: &Frame, name: &str) -> Option<String> {
        let Settings { network, program, names, .. } = &self.settings;
        let hex = |digest: &[u8; 32]| blake3::Hash::from(*digest).to_hex()[..16].to_string();
        if frame.network != *network {
            return Some(format!(
                "its network file has the digest {}, ours {}",
                hex(&frame.network),
                hex(network)
            ));
        }
        if frame.program != *program {
            return Some(format!("it runs version {}, we {program}", frame.program));
        }
        let ours = self.agent.name();
        if frame.from != name || frame.to != ours || !names.contains(&frame.from) {
            return Some(format!(
                "it came over the link from {name} to {ours}, but says from {} to {}",
                frame.from, frame.to
            ));
        }
        None
    }

    fn refuse(&mut self, from: String, what: String, bytes: &[u8]) {
        /// Refusals that are kept until somebody fetches them, and bytes of each.
        const MOST: usize = 1000;
        const EVIDENCE: usize = 1 << 16;
        self.stats.refused += 1;
        if self.refusals.len() < MOST {
            let frame = bytes[..bytes.len().min(EVIDENCE)].to_vec();
            self.refusals.push(Refusal { from, what, frame });
        }
    }

    /// Does what the agent asks for, in order, until it waits or is over.
    pub fn work(&mut self, now: impl Fn() -> Duration) -> Result<(), NodeError> {
        while self.end.is_none() {
            let Some(output) = self.agent.poll() else { break };
            match output {
                // Nothing new is released before every neighbour has said to this process what it knows of us.
                Output::Compute if !self.is_greeted() => break,
                Output::Compute => {
                    // With late neighbours a round depends on who was late: that is kept before it is
                    // computed, so that no crash can lead to another release of the same round.
                    if self.settings.round_limit.is_some() && !self.taken.is_empty() {
                        self.commit(None, ())?;
                    }
                    self.agent.compute(&mut self.work);
                }
                Output::Persist(entry) => self.keeper.begin(entry),
                Output::Completed(inputs) => {
                    self.taken.push(inputs);
                }
                Output::Send(envelope) => {
                    let past = match &envelope.message {
                        Message::Release(release) => self.agent.past(release),
                        Message::Average(_) => None,
                    };
                    self.released = past.as_ref().map_or(self.released, |past| past.charge.round);
                    let durable = self.commit(past, envelope)?;
                    self.keep_ledger()?;
                    self.round_since = now();
                    self.limit_at =
                        self.round_since + self.settings.round_limit.unwrap_or_default();
                    self.remember(durable);
                    self.send_newest(self.round_since);
                }
                Output::Done(status) => {
                    // What was charged is kept even where nothing came of it.
                    self.keep_ledger()?;
                    if !self.taken.is_empty() {
                        self.commit(None, ())?;
                    }
                    self.over(status, now());
                }
            }
        }
        // What neighbours' ledgers were seen to be waits for nothing, but is not forgotten.
        self.keep_ledger()?;
        self.tick(now())
    }

    fn commit<T>(&mut self, past: Option<Past>, about: T) -> Result<Durable<T>, NodeError> {
        let inputs = self.taken.drain(..).map(Into::into).collect();
        let news = self.peers.iter_mut().filter_map(|peer| Some((peer.index, peer.news()?)));
        let seen = news.collect();
        let record = Record::Round { inputs, past: past.map(Into::into), seen };
        Ok(self.journal.commit(&record, about)?)
    }

    /// The last round of which something was sent, the final averaging included.
    pub(crate) fn newest_round(&self) -> u64 {
        self.recent.back().map_or(0, |envelope| envelope.round)
    }

    fn remember(&mut self, envelope: Durable<Envelope>) {
        self.recent.push_back(envelope);
        // A neighbour is at most one round behind. In partial mode it may be `lag` rounds behind us, and miss
        // what we sent `lag` rounds before that.
        let lag = if self.settings.round_limit.is_some() { self.settings.lag } else { 0 };
        let most = 2 * lag + 3;
        while self.recent.len() as u64 > most {
            self.recent.pop_front();
        }
    }

    fn over(&mut self, status: Status, now: Duration) {
        self.over_since = Some(now);
        if status != Status::Finished {
            self.tell_all(&Body::Bye { reason: wire::short(&format!("{status:?}")) });
            self.end = Some(End::Agent(status));
        } else {
            self.bear_witness();
            // The last word of a round that is safely kept.
            self.tell_all(&Body::Note);
            self.peers.iter_mut().for_each(|peer| peer.progress(now));
        }
    }

    /// Repeats what neighbours may have missed, loses patience, and notices the end.
    fn tick(&mut self, now: Duration) -> Result<(), NodeError> {
        if self.end.is_some() {
            return Ok(());
        }
        if let Some(since) = self.over_since {
            let has_all = |peer: &Peer| peer.left.is_some() || peer.round > self.agent.last_round();
            if self.complete_since.is_none() && self.peers.iter().all(has_all) {
                self.complete_since = Some(now);
            }
            let all = self.complete_since.is_some_and(|complete| now >= complete + FAREWELL);
            if all || now >= since + self.settings.linger {
                self.tell_all(&Body::Note);
                self.end = Some(End::Agent(Status::Finished));
                return Ok(());
            }
        }
        for position in 0..self.peers.len() {
            let peer = &self.peers[position];
            if peer.left.is_none() && peer.is_due(now) {
                self.repeat(position, now);
            }
        }
        if self.over_since.is_none() {
            self.lose_patience(now)?;
        }
        if let Some(limit) = self.settings.round_limit
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

    fn lose_patience(&mut self, now: Duration) -> Result<(), NodeError> {
        let silent = |peer: &Peer| now.saturating_sub(peer.heard);
        let missing = |peer: &&Peer| {
            peer.left.is_none()
                && self.agent.needs(peer.index).is_some_and(|needs| needs <= self.agent.round())
                && silent(peer) > self.settings.patience
        };
        let Some(peer) = self.peers.iter().find(missing) else { return Ok(()) };
        let (index, name, silent) = (peer.index, peer.name.clone(), silent(peer));
        let round = self.agent.round();
        match self.settings.on_loss {
            OnLoss::Continue if self.others(index) > 0 => self.leave(index),
            _ => {
                self.stop(End::NeighbourLost { name, silent, round });
                Ok(())
            }
        }
    }

    fn others(&self, index: usize) -> usize {
        self.peers.iter().filter(|peer| peer.left.is_none() && peer.index != index).count()
    }

    /// A neighbour says that it goes.
    fn bye(&mut self, position: usize, reason: String, now: Duration) {
        let Peer { index, name, .. } = self.peers[position].clone();
        let round = self.agent.round();
        // What it has sent before is enough for an agent that is over.
        if self.over_since.is_some() {
            self.peers[position].left = Some(round);
            return;
        }
        self.go_without(index, End::NeighbourLeft { name, reason, round }, now);
    }

    /// A neighbour says that it went on without us.
    fn left_behind(&mut self, position: usize, round: u64, now: Duration) {
        let Peer { index, name, .. } = self.peers[position].clone();
        self.go_without(index, End::LeftBehind { name, round }, now);
    }

    fn go_without(&mut self, index: usize, otherwise: End, now: Duration) {
        let may = self.settings.on_loss == OnLoss::Continue && self.others(index) > 0;
        if !may || self.leave(index).is_err() {
            self.stop(otherwise);
        } else {
            self.round_since = now;
        }
    }

    /// Ends this agent's part, and says so.
    pub(crate) fn stop(&mut self, end: End) {
        let reason = wire::short(&format!("{end:?}"));
        self.tell_all(&Body::Bye { reason });
        self.end = Some(end);
    }

    /// Goes on without a neighbour, from a round that is kept before anything is released again.
    fn leave(&mut self, index: usize) -> Result<(), NodeError> {
        let round = self.agent.round();
        if !self.taken.is_empty() {
            self.commit(None, ())?;
        }
        self.forget(index)?;
        // Nothing has left this process since: after a crash the edge is gone, too, or everything is as before.
        self.journal.commit(&Record::Left { neighbour: index, round }, ())?;
        Ok(())
    }

    fn forget(&mut self, index: usize) -> Result<(), NodeError> {
        let round = self.agent.round();
        let Some(position) = self.peers.iter().position(|peer| peer.index == index) else {
            return Err(NodeError::Order(round));
        };
        self.peers[position].left = Some(round);
        self.say(position, Body::Left { round });
        self.agent
            .leave(index)
            .map_err(|why| NodeError::Leave { name: self.peers[position].name.clone(), why })
    }

    /// Sends the newest vector to everybody.
    fn send_newest(&mut self, now: Duration) {
        for position in 0..self.peers.len() {
            if let (None, Some(newest)) = (self.peers[position].left, self.recent.back()) {
                self.say(position, Body::vector(newest));
                self.peers[position].spoke(now);
                self.peers[position].progress(now);
            }
        }
    }

    /// Sends again what a neighbour misses, or a sign of life.
    fn repeat(&mut self, position: usize, now: Duration) {
        let needs = self.peers[position].needs;
        let missed = self.recent.iter().filter(|envelope| envelope.round >= needs);
        let missed: Vec<Body> = missed.map(Body::vector).collect();
        if missed.is_empty() {
            self.say(position, Body::Note);
        }
        self.stats.repeated += missed.len() as u64;
        missed.into_iter().for_each(|body| self.say(position, body));
        self.peers[position].repeated(now);
    }

    fn tell_all(&mut self, body: &Body) {
        for position in 0..self.peers.len() {
            if self.peers[position].left.is_none() {
                self.say(position, body.clone());
            }
        }
    }

    pub(crate) fn say(&mut self, position: usize, body: Body) {
        let frame = self.frame(position, body);
        self.post(position, frame.encode());
    }

    fn frame(&self, position: usize, body: Body) -> Frame {
        let peer = &self.peers[position];
        Frame {
            network: self.settings.network,
            program: self.settings.program.clone(),
            from: self.agent.name().into(),
            to: peer.name.clone(),
            round: self.agent.round() + u64::from(self.over_since.is_some()),
            needs: self.agent.needs(peer.index).unwrap_or(0),
            has: peer.has,
            session: self.settings.session,
            number: self.stats.sent.0,
            echo: peer.session,
            ledger: self.durable,
            yours: peer.seen,
            body,
        }
    }

    fn post(&mut self, position: usize, bytes: Vec<u8>) {
        self.stats.sent.0 += 1;
        self.stats.sent.1 += bytes.len() as u64;
        self.outgoing.push((self.peers[position].index, bytes));
    }

    /// What is to be sent, in order.
    pub fn outgoing(&mut self) -> Vec<(usize, Vec<u8>)> {
        std::mem::take(&mut self.outgoing)
    }

    /// When [`Node::work`] has something to do again, if nothing arrives before.
    pub fn wake(&self) -> Duration {
        let repeats = self.peers.iter().filter(|peer| peer.left.is_none()).map(Peer::next_send);
        let limited = self.settings.round_limit.is_some() && self.over_since.is_none();
        let limit = limited.then_some(self.limit_at);
        let last = self.over_since.map(|since| since + self.settings.linger);
        let farewell = self.complete_since.map(|complete| complete + FAREWELL);
        let next = repeats.chain(limit).chain(last).chain(farewell).min();
        next.unwrap_or(self.round_since + SLOWEST_RESEND)
    }
}
