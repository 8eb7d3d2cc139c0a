//! One agent as a deterministic state machine without input or output.
//!
//! A driver asks [`Agent::poll`] what to do next and does it: compute, keep, send, or stop. It hands in
//! what neighbours sent with [`Agent::handle`]. The same agent runs in a simulation and over a
//! network; with the same seed both give the same bits.

mod link;
mod messages;
mod restart;

pub use messages::{
    CannotResume, Counters, Envelope, Input, Inputs, LARGEST_NORM, Message, Output, Past,
    ProtocolError,
};
pub use restart::{CannotLeave, Replan, Terms};

use crate::admm::{Admm, InnerFailure, LocalState, PrimalStep, RoundContext};
use crate::kernels::level;
use crate::lagrangian::Lagrangian;
use crate::problem::LocalObjective;
use crate::streams::Streams;
use crate::trace::Status;
use crate::zeroth_order::Workspace;
use dzoa_privacy::ball::{norm, project};
use dzoa_privacy::packed::pack;
use dzoa_privacy::{Charge, Digest, Event, Ledger, Query, Release, RunId};
use link::Link;
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
    late_sum: Vec<f64>,
    /// The average in progress, once the last round is done.
    gossip: Option<Arc<[f64]>>,
    sent: u64,
    counters: Counters,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Ready,
    Waiting,
    Over,
}

/// What computes: another version, or another instruction set, may round differently.
pub(crate) fn program() -> String {
    format!("{} {}", env!("CARGO_PKG_VERSION"), level().name())
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
            late_sum: vec![0.0; dim],
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

    /// The primal step of the current round, its charge and its release.
    #[doc(alias = "fourthprivacyb")]
    #[doc(alias = "firstprivacy")]
    #[doc(alias = "Algorithm 1, line 11: the primal update")]
    #[doc(alias = "Algorithm 1, line 5: the start of the inner loop")]
    pub fn compute(&mut self, work: &mut Workspace) {
        if self.phase != Phase::Ready {
            return;
        }
        let query = self.query();
        let written = self.ledger.entries().len();
        let Setup { settings, objective, step, name, streams, .. } = &mut self.setup;
        // Charge before any noise is drawn: what is not written down cannot leave.
        let receipt = match self.ledger.charge(query.clone()) {
            Ok(receipt) => receipt,
            Err(refused) => {
                let (agent, rounds) = (name.clone(), self.round - 1);
                let reason = refused.to_string();
                return self.finish(Status::BudgetExhausted { agent, rounds, reason });
            }
        };
        self.charge = self.ledger.charge_for(&query).cloned();
        // What was charged is kept even if the step fails: its failure may say something, too.
        self.outbox.extend(self.ledger.entries().get(written).cloned().map(Output::Persist));
        let lagrangian = self.state.lagrangian(settings, objective);
        let zero;
        let start = if settings.warm_start {
            &*self.state.beta
        } else {
            zero = vec![0.0; self.state.beta.len()];
            &zero
        };
        let context = RoundContext { agent: name, round: self.round, streams };
        let radius = step.radius();
        let primal = step.update(&lagrangian, start, receipt, &context, work);
        match primal.map(|primal| primal.within(radius)) {
            Err(failure) => self.fail(failure),
            // Neighbours would refuse it; whoever made it says so.
            Ok(primal) if norm(&primal.release) > self.largest_norm => {
                let (agent, round) = (name.clone(), self.round);
                let norm = norm(&primal.release);
                self.finish(Status::Diverged { agent, round, norm });
            }
            Ok(primal) => {
                self.counters.oracle_calls += primal.oracle_calls;
                self.counters.step_raised |= primal.step_raised;
                self.counters.finished_exactly += u64::from(primal.finished_exactly);
                self.counters.clipped += primal.clipped;
                self.release(primal.release);
                self.advance();
            }
        }
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

    /// A digest of everything that goes into this round: rows, settings, state, what the neighbours sent, and what
    /// the solver remembers. The noise follows from it, so that other inputs never meet the same noise.
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

    /// The rows that it looks at, by their digest.
    pub(crate) fn bind(&mut self, rows: Digest) {
        self.setup.rows = rows;
    }

    /// The run it takes part in.
    pub fn run(&self) -> RunId {
        self.setup.streams.run_id()
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
        let Input::Received { from, round, beta } = input;
        let position = self.position(from).ok_or(ProtocolError::NotANeighbour { from })?;
        let expected = self.state.beta.len();
        if beta.len() != expected {
            let got = beta.len();
            return Err(ProtocolError::WrongDimension { from, round, got, expected });
        }
        let norm = norm(&beta);
        // A finite norm has finite entries only: no second look is needed.
        if !norm.is_finite() && !beta.iter().all(|value| value.is_finite()) {
            return Err(ProtocolError::NonFinite { from, round });
        }
        if norm > self.largest_norm {
            let limit = self.largest_norm;
            return Err(ProtocolError::HugeNorm { from, round, norm, limit });
        }
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
            Some(known) if **known != *beta => {
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

    /// Goes on with what is here, where the neighbours that are missing may be behind. Returns whether
    /// the round is over.
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

    /// Once every neighbour's vector of this round is here: the dual update (or the next step of the
    /// final averaging), and the next round.
    #[doc(alias = "Algorithm 1, lines 3 and 4: sharing and the dual update")]
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
        let Admm { rho, rounds, .. } = self.setup.settings;
        for (link, edge) in self.links.iter_mut().zip(&mut self.state.edges) {
            link.pair(edge, rho, self.lag > 0);
        }
        self.state.beta = release.values().clone();
        self.rounds_done = self.round;
        if self.round > rounds / 2 {
            self.late_sum.iter_mut().zip(&*self.state.beta).for_each(|(sum, beta)| *sum += beta);
        }
        if self.round < rounds {
            self.round += 1;
            self.phase = Phase::Ready;
            return;
        }
        match self.setup.average {
            Average::Network { gossip } if gossip > 0 && !self.setup.neighbours.is_empty() => {
                let own = self.inside(self.estimate().into());
                self.round += 1;
                // The averaging waits for everybody; what is still missing of the rounds before it has
                // no use any more.
                self.links.iter_mut().for_each(|link| link.forget(self.round));
                self.send(Message::Average(own.clone()));
                self.gossip = Some(own);
            }
            _ => self.finish(Status::Finished),
        }
    }

    fn end_gossip(&mut self) {
        let Some(own) = self.gossip.take() else { return };
        let theirs: Vec<Arc<[f64]>> =
            self.links.iter_mut().filter_map(|link| link.theirs.remove(&self.round)).collect();
        let kept = 1.0 - self.setup.gossip_weights.iter().sum::<f64>();
        let mixed: Arc<[f64]> = (0..own.len())
            .map(|p| {
                let received: f64 =
                    self.setup.gossip_weights.iter().zip(&theirs).map(|(w, x)| w * x[p]).sum();
                kept * own[p] + received
            })
            .collect();
        let mixed = self.inside(mixed);
        self.gossip = Some(mixed.clone());
        if self.round < self.last_round() {
            self.round += 1;
            self.send(Message::Average(mixed));
        } else {
            self.finish(Status::Finished);
        }
    }

    /// A mean of vectors in the ball lies in it, but for rounding.
    fn inside(&self, average: Arc<[f64]>) -> Arc<[f64]> {
        project(average, self.setup.step.radius())
    }

    fn fail(&mut self, failure: InnerFailure) {
        let (agent, round) = (self.setup.name.clone(), self.round);
        self.finish(match failure {
            InnerFailure::NonFinite { step } => Status::NonFinite { agent, round, step },
            InnerFailure::Objective { step, failure } => {
                Status::ObjectiveFailed { agent, round, step, failure }
            }
            InnerFailure::NotCertified { distance } => {
                Status::NotCertified { agent, round, distance }
            }
            InnerFailure::WrongEvent(error) => {
                Status::BudgetExhausted { agent, rounds: round - 1, reason: error.to_string() }
            }
        });
    }

    fn finish(&mut self, status: Status) {
        self.phase = Phase::Over;
        self.outbox.push_back(Output::Done(status));
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.setup.name
    }

    /// The last release, `beta_k`.
    pub fn beta(&self) -> &[f64] {
        &self.state.beta
    }

    /// The estimate it reports: the last release, or a mean of the later ones.
    pub fn estimate(&self) -> Vec<f64> {
        if let Some(average) = &self.gossip {
            return average.to_vec();
        }
        let half = self.setup.settings.rounds / 2;
        let late = self.rounds_done().saturating_sub(half);
        match self.setup.average {
            Average::LastHalf | Average::Network { .. } if late > 0 => {
                self.late_sum.iter().map(|sum| sum / late as f64).collect()
            }
            _ => self.state.beta.to_vec(),
        }
    }

    /// Rounds whose dual update is done.
    pub fn rounds_done(&self) -> u64 {
        self.rounds_done
    }

    /// The round it is in, those of the final averaging included.
    pub fn round(&self) -> u64 {
        self.round
    }

    /// The last round that sends anything.
    pub fn last_round(&self) -> u64 {
        let Admm { rounds, .. } = self.setup.settings;
        match self.setup.average {
            Average::Network { gossip } => rounds + gossip,
            _ => rounds,
        }
    }

    /// The first round of a neighbour that is still missing here.
    pub fn needs(&self, from: usize) -> Option<u64> {
        let link = &self.links[self.position(from)?];
        let over = u64::from(self.phase == Phase::Over);
        Some(link.first_missing(self.round + over))
    }

    /// Difference quotients that were clipped: a local value.
    pub fn clipped(&self) -> u64 {
        self.counters.clipped
    }

    /// Rounds in which an exact solver had to finish: a local value.
    pub fn finished_exactly(&self) -> u64 {
        self.counters.finished_exactly
    }

    /// Releases that had to be moved into the ball of the step's radius: a function of releases, so
    /// public.
    pub fn moved_inside(&self) -> u64 {
        self.moved_inside
    }

    /// `gamma_k`.
    pub fn gamma(&self) -> Vec<f64> {
        self.state.gamma()
    }

    fn position(&self, from: usize) -> Option<usize> {
        self.setup.neighbours.iter().position(|&neighbour| neighbour == from)
    }

    /// The neighbours' positions.
    pub fn neighbours(&self) -> &[usize] {
        &self.setup.neighbours
    }

    /// What was charged.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Vectors sent so far, one per neighbour and round.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Values of the objective asked for so far.
    pub fn oracle_calls(&self) -> u64 {
        self.counters.oracle_calls
    }

    /// Whether `u_2` was ever raised to what the objective can resolve.
    pub fn step_raised(&self) -> bool {
        self.counters.step_raised
    }

    /// `F_k` as the next round would minimise it: what a measurement of the inner noise freezes.
    pub fn frozen_lagrangian(&self) -> Lagrangian<'_> {
        self.state.lagrangian(&self.setup.settings, &self.setup.objective)
    }
}
