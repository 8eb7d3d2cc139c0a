//! One agent as a deterministic state machine without input or output.
//!
//! A driver asks [`Agent::poll`] what to do next and does it: compute, send, or stop. It hands in
//! what neighbours sent with [`Agent::handle`]. The same agent runs in a simulation and over a
//! network; with the same seed both give the same bits.

use crate::admm::{Admm, InnerFailure, LocalState, PrimalStep, RoundContext};
use crate::lagrangian::Lagrangian;
use crate::problem::LocalObjective;
use crate::streams::Streams;
use crate::trace::Status;
use crate::zeroth_order::Workspace;
use dzoa_privacy::{Entry, Event, Ledger, Release};
use std::collections::VecDeque;
use std::sync::Arc;
use thiserror::Error;

/// What a driver tells an agent.
#[derive(Clone, Debug)]
pub enum Input {
    /// A neighbour's release arrived. Not a [`Release`] of ours: another type, on purpose.
    Received {
        /// The neighbour's position in the graph.
        from: usize,
        /// Its round.
        round: u64,
        /// Its vector.
        beta: Arc<[f64]>,
    },
}

/// What an agent asks of its driver.
#[derive(Debug)]
pub enum Output {
    /// Call [`Agent::compute`]. Asked again until it is done.
    Compute,
    /// Make this entry of the ledger durable, before anything that comes after it is sent.
    Persist(Entry),
    /// Send this to every neighbour.
    Send(Envelope),
    /// The run is over.
    Done(Status),
}

/// A vector on its way to the neighbours.
#[derive(Clone, Debug)]
#[doc(alias = "Algorithm 1, line 3: sharing")]
pub struct Envelope {
    /// The sender's position in the graph.
    pub from: usize,
    /// m; the rounds of the final averaging follow on those of the algorithm.
    pub round: u64,
    /// What is sent.
    pub message: Message,
}

/// What may be sent.
#[derive(Clone, Debug)]
pub enum Message {
    /// A fresh look at the data, charged and released.
    Release(Release),
    /// A mean of releases, own and received, with public weights: post-processing, free.
    Average(Arc<[f64]>),
}

impl Message {
    /// The values on the wire.
    pub fn values(&self) -> &Arc<[f64]> {
        match self {
            Message::Release(release) => release.values(),
            Message::Average(values) => values,
        }
    }
}

/// A message that an honest neighbour would not have sent.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ProtocolError {
    /// Not a neighbour.
    #[error("agent {from} is not a neighbour")]
    NotANeighbour {
        /// Who.
        from: usize,
    },
    /// A vector of another length.
    #[error("agent {from} sent {got} values in round {round}, expected {expected}")]
    WrongDimension {
        /// Who.
        from: usize,
        /// Its round.
        round: u64,
        /// Values sent.
        got: usize,
        /// Values expected.
        expected: usize,
    },
    /// NaN or infinity.
    #[error("agent {from} sent a value that is not finite in round {round}")]
    NonFinite {
        /// Who.
        from: usize,
        /// Its round.
        round: u64,
    },
    /// Further ahead than an honest neighbour can be.
    #[error("agent {from} sent round {round} while this agent is in round {ours}")]
    TooFarAhead {
        /// Who.
        from: usize,
        /// Its round.
        round: u64,
        /// Our round.
        ours: u64,
    },
    /// Two different vectors for one round.
    #[error("agent {from} sent two different vectors for round {round}")]
    Equivocation {
        /// Who.
        from: usize,
        /// The round.
        round: u64,
    },
}

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
    /// The release of the current round, once computed.
    released: Option<Release>,
    /// Per neighbour: its release of the current round, and of the next.
    received: Vec<[Option<Arc<[f64]>>; 2]>,
    outbox: VecDeque<Output>,
    late_sum: Vec<f64>,
    /// The average in progress, once the last round is done.
    gossip: Option<Arc<[f64]>>,
    sent: u64,
    oracle_calls: u64,
    step_raised: bool,
    finished_exactly: u64,
    clipped: u64,
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
            released: None,
            received: vec![[None, None]; degree],
            outbox: VecDeque::new(),
            late_sum: vec![0.0; dim],
            gossip: None,
            sent: 0,
            oracle_calls: 0,
            step_raised: false,
            finished_exactly: 0,
            clipped: 0,
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
        let Setup { settings, objective, step, name, streams, events, .. } = &mut self.setup;
        // Charge before any noise is drawn: what is not written down cannot leave.
        let event = events[(self.round as usize - 1).min(events.len() - 1)];
        let receipt = match self.ledger.charge(event, &format!("round {}", self.round)) {
            Ok(receipt) => receipt,
            Err(refused) => {
                let (agent, rounds) = (name.clone(), self.round - 1);
                let reason = refused.to_string();
                return self.finish(Status::BudgetExhausted { agent, rounds, reason });
            }
        };
        // What was charged is kept even if the step fails: its failure may say something, too.
        self.outbox.extend(self.ledger.entries().last().cloned().map(Output::Persist));
        let lagrangian = self.state.lagrangian(settings, objective);
        let zero;
        let start = if settings.warm_start {
            &*self.state.beta
        } else {
            zero = vec![0.0; self.state.beta.len()];
            &zero
        };
        let context = RoundContext { agent: name, round: self.round, streams };
        match step.update(&lagrangian, start, receipt, &context, work) {
            Err(failure) => self.fail(failure),
            Ok(primal) => {
                self.oracle_calls += primal.oracle_calls;
                self.step_raised |= primal.step_raised;
                self.finished_exactly += u64::from(primal.finished_exactly);
                self.clipped += primal.clipped;
                self.send(Message::Release(primal.release.clone()));
                self.released = Some(primal.release);
                self.phase = Phase::Waiting;
                self.advance();
            }
        }
    }

    fn send(&mut self, message: Message) {
        let (from, round) = (self.setup.index, self.round);
        self.sent += self.setup.neighbours.len() as u64;
        self.outbox.push_back(Output::Send(Envelope { from, round, message }));
    }

    /// Takes in what a neighbour sent. Repetitions and old rounds are ignored.
    pub fn handle(&mut self, input: Input) -> Result<(), ProtocolError> {
        let Input::Received { from, round, beta } = input;
        let position = self
            .setup
            .neighbours
            .iter()
            .position(|&neighbour| neighbour == from)
            .ok_or(ProtocolError::NotANeighbour { from })?;
        let expected = self.state.beta.len();
        if beta.len() != expected {
            let got = beta.len();
            return Err(ProtocolError::WrongDimension { from, round, got, expected });
        }
        if !beta.iter().all(|value| value.is_finite()) {
            return Err(ProtocolError::NonFinite { from, round });
        }
        if round < self.round {
            return Ok(());
        }
        let ahead = (round - self.round) as usize;
        let ours = self.round;
        let slot = self.received[position].get_mut(ahead).ok_or(ProtocolError::TooFarAhead {
            from,
            round,
            ours,
        })?;
        match slot {
            Some(known) if **known != *beta => {
                return Err(ProtocolError::Equivocation { from, round });
            }
            Some(_) => {}
            None => *slot = Some(beta),
        }
        self.advance();
        Ok(())
    }

    /// Once every neighbour's vector of this round is here: the dual update (or the next step of the
    /// final averaging), and the next round.
    #[doc(alias = "Algorithm 1, lines 3 and 4: sharing and the dual update")]
    fn advance(&mut self) {
        while self.phase == Phase::Waiting
            && self.received.iter().all(|[current, _]| current.is_some())
        {
            let theirs: Vec<Arc<[f64]>> = self
                .received
                .iter_mut()
                .filter_map(|slots| {
                    let current = slots[0].take();
                    slots[0] = slots[1].take();
                    current
                })
                .collect();
            match self.released.take() {
                Some(release) => self.end_round(release, theirs),
                None => self.end_gossip(&theirs),
            }
        }
    }

    fn end_round(&mut self, release: Release, theirs: Vec<Arc<[f64]>>) {
        let Admm { rho, rounds, .. } = self.setup.settings;
        self.state.dual_update(rho, release.values().clone(), theirs.into_iter());
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
                let own: Arc<[f64]> = self.estimate().into();
                self.round += 1;
                self.send(Message::Average(own.clone()));
                self.gossip = Some(own);
            }
            _ => self.finish(Status::Finished),
        }
    }

    fn end_gossip(&mut self, theirs: &[Arc<[f64]>]) {
        let Some(own) = self.gossip.take() else { return };
        let kept = 1.0 - self.setup.gossip_weights.iter().sum::<f64>();
        let mixed: Arc<[f64]> = (0..own.len())
            .map(|p| {
                let received: f64 =
                    self.setup.gossip_weights.iter().zip(theirs).map(|(w, x)| w * x[p]).sum();
                kept * own[p] + received
            })
            .collect();
        self.gossip = Some(mixed.clone());
        let last = match self.setup.average {
            Average::Network { gossip } => self.setup.settings.rounds + gossip,
            _ => self.round,
        };
        if self.round < last {
            self.round += 1;
            self.send(Message::Average(mixed));
        } else {
            self.finish(Status::Finished);
        }
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

    /// Difference quotients that were clipped: a local value.
    pub fn clipped(&self) -> u64 {
        self.clipped
    }

    /// Rounds in which an exact solver had to finish: a local value.
    pub fn finished_exactly(&self) -> u64 {
        self.finished_exactly
    }

    /// `gamma_k`.
    pub fn gamma(&self) -> Vec<f64> {
        self.state.gamma()
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
        self.oracle_calls
    }

    /// Whether `u_2` was ever raised to what the objective can resolve.
    pub fn step_raised(&self) -> bool {
        self.step_raised
    }

    /// `F_k` as the next round would minimise it: what a measurement of the inner noise freezes.
    pub fn frozen_lagrangian(&self) -> Lagrangian<'_> {
        self.state.lagrangian(&self.setup.settings, &self.setup.objective)
    }
}
