//! One agent as a deterministic state machine without input or output.
//!
//! A driver asks [`Agent::poll`] what to do next and does it: compute, persist, send, or stop. It
//! hands in what neighbours sent with [`Agent::handle`]. The same agent runs in a simulation and
//! over a network; with the same seed both give the same bits.

mod averaged;
mod input;
mod link;
mod messages;
mod report;
mod restart;

pub use averaged::Averaged;
pub use input::{Input, ProtocolError};
pub use messages::{CannotResume, Counters, Envelope, Inputs, LARGEST_NORM, Message, Output, Past};
pub use restart::{CannotLeave, Replan, Terms};

use crate::admm::{Admm, Exchanged, LocalState, Round};
use crate::kernels::program;
use crate::primal::{InnerFailure, PrimalStep, RoundContext, Workspace};
use crate::problem::LocalObjective;
use crate::status::Status;
use crate::streams::Streams;
use averaged::ReleaseMean;
use dzoa_privacy::ball::norm;
use dzoa_privacy::packed::pack;
use dzoa_privacy::{Charge, ChargeRefused, Digest, Event, Ledger, Query, Receipt, Release};
use link::{Link, Received};
use std::collections::VecDeque;
use std::sync::Arc;

/// A release this near the edge of its ball, relatively, was moved there.
const EDGE: f64 = 1e-12;

/// Which estimate an agent reports; all are functions of its releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Average {
    /// The last release.
    None,
    /// The mean of the releases of the second half of the rounds.
    LastHalf,
    /// That, averaged over the network by this many rounds of gossip.
    Network {
        /// Rounds of gossip.
        gossip: u64,
    },
}

impl Average {
    /// Whether what is reported takes in this round of so many.
    pub(crate) fn takes(self, round: u64, rounds: u64) -> bool {
        self != Self::None && round > rounds / 2
    }
}

/// Everything that makes an agent.
pub struct Setup {
    /// Its position in the graph.
    pub index: usize,
    /// Its name.
    pub name: String,
    /// The neighbours' positions, in the fixed order of every sum over them.
    pub neighbours: Vec<usize>,
    /// Outer loop.
    pub settings: Admm,
    /// `f_k`.
    pub objective: LocalObjective,
    /// Inner loop.
    pub step: Box<dyn PrimalStep>,
    /// How the release of each round is charged; the last one repeats.
    pub events: Arc<[Event]>,
    /// What was spent on the data before, and how much may be.
    pub ledger: Ledger,
    /// A digest of the rows and of what is asked of them: [`crate::problem::Problem::fingerprint`].
    pub rows: Digest,
    /// The weights of the neighbours' vectors in the final averaging, at most 1 together.
    pub gossip_weights: Vec<f64>,
    /// Which estimate it reports.
    pub average: Average,
    /// The root of its randomness.
    pub streams: Streams,
}

/// One agent. See the [module](self).
pub struct Agent {
    setup: Setup,
    state: LocalState,
    ledger: Ledger,
    round: u64,
    rounds_done: u64,
    phase: Phase,
    /// The charge of the current round, once made.
    charge: Option<Charge>,
    /// The release of the current round, once computed.
    released: Option<Release>,
    /// One per neighbour, in the same order.
    links: Vec<Link>,
    /// How many rounds a neighbour may be behind; 0: none, every round waits for all.
    lag: u64,
    /// Vectors of a larger norm are neither sent nor taken in.
    largest_norm: f64,
    /// Releases that lie at the edge of the step's ball.
    moved_inside: u64,
    replan: Option<Replan>,
    outbox: VecDeque<Output>,
    /// The releases of the second half of the rounds.
    late: ReleaseMean,
    /// The average in progress, once the last round is done.
    gossip: Option<Averaged>,
    sent: u64,
    counters: Counters,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Ready,
    Waiting,
    Over,
}

impl Agent {
    /// An agent before its first round.
    pub fn new(mut setup: Setup) -> Self {
        let (dim, degree) = (setup.objective.data.dim(), setup.neighbours.len());
        Self {
            state: LocalState::zero(dim, degree),
            ledger: std::mem::take(&mut setup.ledger),
            round: 1,
            rounds_done: 0,
            phase: if setup.settings.rounds == 0 { Phase::Over } else { Phase::Ready },
            charge: None,
            released: None,
            links: vec![Link::default(); degree],
            lag: 0,
            largest_norm: setup.step.radius(),
            moved_inside: 0,
            replan: None,
            outbox: VecDeque::new(),
            late: ReleaseMean::new(dim),
            gossip: None,
            sent: 0,
            counters: Counters::default(),
            setup,
        }
    }

    /// What to do next; `None` while waiting for neighbours. Never blocks.
    pub fn poll(&mut self) -> Option<Output> {
        self.outbox.pop_front().or((self.phase == Phase::Ready).then_some(Output::Compute))
    }

    /// The current round up to its release: charge, primal update, sharing.
    pub fn compute(&mut self, work: &mut Workspace) {
        if self.phase != Phase::Ready {
            return;
        }
        // Charge before any noise is drawn: what is not written down cannot leave.
        let receipt = match self.charge() {
            Ok(receipt) => receipt,
            Err(refused) => {
                let (agent, rounds) = (self.setup.name.clone(), self.round - 1);
                let reason = refused.to_string();
                return self.finish(Status::BudgetExhausted { agent, rounds, reason });
            }
        };
        match self.algorithm().primal(receipt, work) {
            Err(failure) => self.fail(failure),
            // Neighbours would refuse it; whoever made it says so.
            Ok(primal) if norm(&primal.release) > self.largest_norm => {
                let (agent, round) = (self.setup.name.clone(), self.round);
                let norm = norm(&primal.release);
                self.finish(Status::Diverged { agent, round, norm });
            }
            Ok(primal) => {
                self.counters.add(&primal);
                self.release(primal.release);
                self.advance();
            }
        }
    }

    /// This round of Algorithm 1.
    fn algorithm(&mut self) -> Round<'_> {
        let Setup { settings, objective, step, name, streams, .. } = &mut self.setup;
        let context = RoundContext { agent: name, round: self.round, streams };
        Round { admm: settings, objective, step: &mut **step, state: &mut self.state, context }
    }

    /// Charges this round. The entry is persisted even if the step fails: its failure may say
    /// something, too.
    fn charge(&mut self) -> Result<Receipt, ChargeRefused> {
        let query = self.query();
        let written = self.ledger.entries().len();
        let receipt = self.ledger.charge(query.clone())?;
        self.charge = self.ledger.charge_for(&query).cloned();
        self.outbox.extend(self.ledger.entries().get(written).cloned().map(Output::Persist));
        Ok(receipt)
    }

    /// What this round asks of the rows.
    fn query(&self) -> Query {
        let events = &self.setup.events;
        Query {
            run: self.run(),
            round: self.round,
            inputs: self.inputs(),
            program: program(),
            event: events[(self.round as usize - 1).min(events.len() - 1)],
        }
    }

    /// A digest of everything that goes into this round: rows, settings, state, what the neighbours
    /// sent, and what the solver remembers. The noise follows from it, so that other inputs never
    /// meet the same noise.
    fn inputs(&self) -> Digest {
        let Setup { settings, rows, name, neighbours, streams, step, .. } = &self.setup;
        let Admm { rho, rounds, self_loop, warm_start } = settings;
        let mut hasher = streams.digest("inputs of a round");
        hasher.update(&rows.0).update(&self.round.to_le_bytes());
        hasher.update(&rho.to_le_bytes()).update(&rounds.to_le_bytes());
        hasher.update(&[u8::from(*self_loop), u8::from(*warm_start), neighbours.len() as u8]);
        let mut vector = |tag: u64, values: &[f64]| {
            hasher.update(&tag.to_le_bytes()).update(&(values.len() as u64).to_le_bytes());
            hasher.update(&pack(values));
        };
        vector(u64::MAX, &self.state.beta);
        for (&neighbour, edge) in neighbours.iter().zip(&self.state.edges) {
            vector(neighbour as u64, &edge.beta);
            vector(neighbour as u64, &edge.gamma);
        }
        vector(u64::MAX, step.memory());
        Digest::from(*hasher.update(name.as_bytes()).finalize().as_bytes())
    }

    /// The rows that it queries, by their digest.
    pub(crate) fn bind(&mut self, rows: Digest) {
        self.setup.rows = rows;
    }

    /// Sends what was released and waits for the neighbours.
    fn release(&mut self, release: Release) {
        // Seen from the release itself, so that a restart counts the same.
        let edge = self.setup.step.radius() * (1.0 - EDGE);
        self.moved_inside += u64::from(edge.is_finite() && norm(&release) >= edge);
        self.send(Message::Release(release.clone()));
        for link in &mut self.links {
            link.ours.insert(self.round, release.values().clone());
        }
        self.released = Some(release);
        self.phase = Phase::Waiting;
    }

    fn send(&mut self, message: Message) {
        let (from, round) = (self.setup.index, self.round);
        self.sent += self.setup.neighbours.len() as u64;
        self.outbox.push_back(Output::Send(Envelope { from, round, message }));
    }

    /// Takes in what a neighbour sent. Repetitions and old rounds are ignored.
    pub fn handle(&mut self, input: Input) -> Result<(), ProtocolError> {
        self.accept(input)?;
        self.advance();
        Ok(())
    }

    fn accept(&mut self, input: Input) -> Result<(), ProtocolError> {
        let Input::Received { from, round, .. } = input;
        let position = self.position(from).ok_or(ProtocolError::NotANeighbour { from })?;
        let beta = Received::checked(input, self.state.beta.len(), self.largest_norm)?;
        let ours = self.round;
        // A neighbour that may leave us `lag` rounds behind has then released one more.
        if round > ours + self.lag + 1 {
            return Err(ProtocolError::TooFarAhead { from, round, ours });
        }
        let link = &mut self.links[position];
        if round < ours && !link.ours.contains_key(&round) {
            return Ok(());
        }
        match link.theirs.get(&round) {
            Some(known) if *known != beta => {
                return Err(ProtocolError::Equivocation { from, round });
            }
            Some(_) => {}
            None => {
                link.theirs.insert(round, beta);
                link.fresh.push(round);
            }
        }
        Ok(())
    }

    /// Goes on with what is here, where the neighbours that are missing may be behind. Returns
    /// whether the round is over.
    pub fn go_on(&mut self) -> bool {
        let may = self.phase == Phase::Waiting
            && self.released.is_some()
            && self.lag > 0
            && self.links.iter().all(|link| link.is_near(self.round, self.lag));
        if may {
            self.complete();
            self.advance();
        }
        may
    }

    /// Once every neighbour's vector of this round is here: the dual update (or the next step of
    /// the final averaging), and the next round.
    fn advance(&mut self) {
        while self.phase == Phase::Waiting
            && self.links.iter().all(|link| {
                link.theirs.contains_key(&self.round) && link.is_near(self.round, self.lag)
            })
        {
            self.complete();
        }
    }

    fn complete(&mut self) {
        let vectors =
            self.setup.neighbours.iter().zip(&mut self.links).flat_map(|(&from, link)| {
                let taken = link.take_fresh(self.round, self.lag > 0);
                taken.into_iter().map(move |(round, beta)| (from, round, beta))
            });
        let inputs = Inputs { round: self.round, vectors: vectors.collect() };
        self.outbox.push_back(Output::Completed(inputs));
        match self.released.take() {
            Some(release) => self.end_round(release),
            None => self.end_gossip(),
        }
    }

    fn end_round(&mut self, release: Release) {
        let rounds = self.setup.settings.rounds;
        let late = self.lag > 0;
        let exchanged: Vec<Exchanged> =
            self.links.iter_mut().map(|link| link.exchanged(late)).collect();
        self.algorithm().dual(&release, exchanged);
        self.rounds_done = self.round;
        if self.round > rounds / 2 {
            self.late.add(&release);
        }
        if self.round < rounds {
            self.round += 1;
            self.phase = Phase::Ready;
            return;
        }
        let alone = self.setup.neighbours.is_empty();
        match (self.setup.average, self.late.mean()) {
            (Average::Network { gossip }, Some(own)) if gossip > 0 && !alone => {
                let own = own.within(self.setup.step.radius());
                self.round += 1;
                // The averaging waits for everybody; what is still missing of the rounds before it
                // has no use any more.
                self.links.iter_mut().for_each(|link| link.forget(self.round));
                self.send(Message::Average(own.clone()));
                self.gossip = Some(own);
            }
            _ => self.finish(Status::Finished),
        }
    }

    fn end_gossip(&mut self) {
        let Some(own) = self.gossip.take() else { return };
        let theirs: Vec<Received> =
            self.links.iter_mut().filter_map(|link| link.theirs.remove(&self.round)).collect();
        let mixed = own.mixed(&self.setup.gossip_weights, &theirs);
        let mixed = mixed.within(self.setup.step.radius());
        self.gossip = Some(mixed.clone());
        if self.round < self.last_round() {
            self.round += 1;
            self.send(Message::Average(mixed));
        } else {
            self.finish(Status::Finished);
        }
    }

    fn fail(&mut self, failure: InnerFailure) {
        self.finish(failure.status(&self.setup.name, self.round));
    }

    fn finish(&mut self, status: Status) {
        self.phase = Phase::Over;
        self.outbox.push_back(Output::Done(status));
    }

    fn position(&self, from: usize) -> Option<usize> {
        self.setup.neighbours.iter().position(|&neighbour| neighbour == from)
    }
}
