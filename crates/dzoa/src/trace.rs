//! What can be watched from outside the algorithm: status, observers, metrics.

use crate::problem::regularizer::Penalty;
use crate::problem::{BlackBox, Failure, Problem};
use crate::reference::Optimum;
use crate::simulate::Fleet;
use dzoa_privacy::Entry;
use rayon::prelude::*;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

/// How a run ended. Not converging is a status, not an error.
#[derive(Clone, Debug, PartialEq)]
pub enum Status {
    /// All rounds were done.
    Finished,
    /// An observer stopped the run after this round.
    Stopped {
        /// Rounds done.
        round: u64,
    },
    /// An iterate was not a finite number.
    NonFinite {
        /// The agent.
        agent: String,
        /// The round.
        round: u64,
        /// The inner step.
        step: usize,
    },
    /// A release was finite, but too large to be used.
    Diverged {
        /// The agent.
        agent: String,
        /// The round.
        round: u64,
        /// The norm of the release.
        norm: f64,
    },
    /// A black box gave no value.
    ObjectiveFailed {
        /// The agent.
        agent: String,
        /// The round.
        round: u64,
        /// The inner step.
        step: usize,
        /// Where, and why.
        failure: Failure,
    },
    /// The ledger refused the next release.
    BudgetExhausted {
        /// The agent.
        agent: String,
        /// Rounds done.
        rounds: u64,
        /// What the ledger said.
        reason: String,
    },
    /// An exact inner solve could not be certified.
    NotCertified {
        /// The agent.
        agent: String,
        /// The round.
        round: u64,
        /// The distance to the minimiser that could be certified.
        distance: f64,
    },
}

impl Status {
    /// One word for files and tables.
    pub fn word(&self) -> &'static str {
        match self {
            Status::Finished => "finished",
            Status::Stopped { .. } => "stopped",
            Status::NonFinite { .. } => "non-finite",
            Status::Diverged { .. } => "diverged",
            Status::ObjectiveFailed { failure: Failure::OutOfEvaluations { .. }, .. } => {
                "out-of-evaluations"
            }
            Status::ObjectiveFailed { .. } => "objective-failed",
            Status::BudgetExhausted { .. } => "budget-exhausted",
            Status::NotCertified { .. } => "not-certified",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Status::Finished => write!(f, "all rounds were done"),
            Status::Stopped { round } => write!(f, "stopped after round {round}"),
            Status::NonFinite { agent, round, step } => write!(
                f,
                "status NonFinite: agent {agent} left the finite numbers in round {round}, inner step {step}"
            ),
            Status::Diverged { agent, round, norm } => write!(
                f,
                "status Diverged: the release of agent {agent} in round {round} has norm {norm:.1e}"
            ),
            Status::ObjectiveFailed { agent, round, step, failure } => {
                write!(f, "agent {agent}, round {round}, inner step {step}: {failure}")
            }
            Status::BudgetExhausted { agent, rounds, reason } => write!(
                f,
                "status BudgetExhausted: agent {agent} stopped after {rounds} rounds: {reason}"
            ),
            Status::NotCertified { agent, round, distance } => write!(
                f,
                "status NotCertified: the exact solver of agent {agent} came within {distance:.1e} of its minimiser in round {round}, not within the tolerance"
            ),
        }
    }
}

/// All agents after a round.
pub struct RoundView<'a> {
    /// m, counted from 1.
    pub round: u64,
    /// The agents, in the order of the graph.
    pub fleet: &'a dyn Fleet,
}

/// Watches a run, and may end it.
pub trait Observer {
    /// Called after every round.
    fn round(&mut self, view: &RoundView<'_>) -> ControlFlow<()>;

    /// Called with every charge of an agent's ledger, before the release that it pays for is sent. An
    /// observer that keeps the ledger makes the entry durable here, or ends the run.
    fn persist(&mut self, _agent: usize, _entry: &Entry) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Watches nothing.
impl Observer for () {
    fn round(&mut self, _view: &RoundView<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Several observers; the run ends when one of them says so, after all have seen the round.
impl Observer for Vec<&mut dyn Observer> {
    fn round(&mut self, view: &RoundView<'_>) -> ControlFlow<()> {
        let mut flow = ControlFlow::Continue(());
        for observer in self {
            if observer.round(view).is_break() {
                flow = ControlFlow::Break(());
            }
        }
        flow
    }
}

/// A closure is an observer.
impl<F: FnMut(&RoundView<'_>) -> ControlFlow<()>> Observer for F {
    fn round(&mut self, view: &RoundView<'_>) -> ControlFlow<()> {
        self(view)
    }
}

/// Ends a run once no release moves any more and all agents agree, to within a tolerance. It looks
/// at releases only: a stopping rule that saw private values would be a release itself.
#[derive(Debug)]
pub struct EarlyStop {
    tolerance: f64,
    last: Vec<Vec<f64>>,
}

impl EarlyStop {
    /// Stops when changes and disagreement are at most `tolerance` in every coordinate.
    pub fn new(tolerance: f64) -> Self {
        Self { tolerance, last: Vec::new() }
    }
}

impl Observer for EarlyStop {
    fn round(&mut self, view: &RoundView<'_>) -> ControlFlow<()> {
        let fleet = view.fleet;
        let now: Vec<Vec<f64>> = (0..fleet.len()).map(|k| fleet.release(k).to_vec()).collect();
        let near =
            |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() <= self.tolerance);
        let still = self.last.len() == now.len()
            && self.last.iter().zip(&now).all(|(last, now)| near(last, now))
            && now.iter().all(|beta| near(beta, &now[0]));
        self.last = now;
        if still { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// One agent in one recorded round.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// m.
    pub round: u64,
    /// Position of the agent.
    pub agent: usize,
    /// `||beta_k - beta^c||^2/||beta^c||^2`; the paper's metric is the sum over the agents. `None`
    /// without a reference, or where the optimum is zero.
    pub error: Option<f64>,
    /// The centralised objective at `beta_k`.
    pub objective: f64,
    /// `f(beta_k) - f(beta^c)`.
    pub objective_gap: Option<f64>,
    /// `||beta_k - mean_l beta_l||`
    pub consensus: f64,
}

/// Measures every `every`-th round, the first and the last against the centralised optimum. It
/// needs all agents' data: for simulations only.
pub struct Recorder<'a> {
    problem: &'a Problem,
    optimum: Option<&'a Optimum>,
    every: u64,
    rounds: u64,
    /// What was recorded, round by round, agent by agent.
    pub records: Vec<Record>,
}

impl<'a> Recorder<'a> {
    /// A recorder for a run of `rounds` rounds.
    pub fn new(
        problem: &'a Problem,
        optimum: Option<&'a Optimum>,
        every: u64,
        rounds: u64,
    ) -> Self {
        Self { problem, optimum, every: every.max(1), rounds, records: Vec::new() }
    }

    /// The paper's metric `sum_k ||beta_k - beta^c||^2/||beta^c||^2` per recorded round.
    #[doc(alias = "normalized error")]
    pub fn errors(records: &[Record]) -> Vec<(u64, f64)> {
        let mut errors: Vec<(u64, f64)> = Vec::new();
        for Record { round, error, .. } in records {
            let error = error.unwrap_or(f64::NAN);
            match errors.last_mut() {
                Some((last, sum)) if last == round => *sum += error,
                _ => errors.push((*round, error)),
            }
        }
        errors
    }

    /// Measures one round now, whatever the thinning says.
    pub fn record(&mut self, view: &RoundView<'_>) {
        let estimates: Vec<Vec<f64>> =
            (0..view.fleet.len()).map(|k| view.fleet.estimate(k)).collect();
        let mean = mean(&estimates);
        let optimum = self.optimum.map(|optimum| {
            let scale: f64 = optimum.coefficients.iter().map(|b| b * b).sum();
            (optimum, scale)
        });
        let (round, problem) = (view.round, self.problem);
        let records: Vec<Record> = estimates
            .par_iter()
            .enumerate()
            .map(|(agent, beta)| {
                let objective = problem.value(beta);
                Record {
                    round,
                    agent,
                    error: optimum
                        .filter(|(_, scale)| *scale > 0.0)
                        .map(|(known, scale)| distance_squared(beta, &known.coefficients) / scale),
                    objective,
                    objective_gap: optimum.map(|(known, _)| objective - known.objective),
                    consensus: distance_squared(beta, &mean).sqrt(),
                }
            })
            .collect();
        self.records.extend(records);
    }
}

impl Observer for Recorder<'_> {
    fn round(&mut self, view: &RoundView<'_>) -> ControlFlow<()> {
        if view.round == 1 || view.round.is_multiple_of(self.every) || view.round == self.rounds {
            self.record(view);
        }
        ControlFlow::Continue(())
    }
}

/// One recorded round of black boxes.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueRecord {
    /// m.
    pub round: u64,
    /// `sum_k f_k` at the mean of what the agents report; `None` where a box gave no value.
    pub objective: Option<f64>,
    /// `||beta_k - mean_l beta_l||` for every agent.
    pub consensus: Vec<f64>,
    /// The largest change of a coordinate since the round before.
    pub change: f64,
    /// Points asked of every box so far, without those asked for this record.
    pub evaluations: Vec<u64>,
}

/// Watches black boxes. Every recorded round asks each box for one value more, counted apart. Like
/// [`Recorder`] it is for whoever holds all the boxes.
pub struct ValueRecorder {
    boxes: Vec<Arc<BlackBox>>,
    penalty: Penalty,
    /// Record objective values every so many rounds; 0 never asks for one.
    every: u64,
    rounds: u64,
    last: Vec<Vec<f64>>,
    /// What was recorded, one entry per round.
    pub records: Vec<ValueRecord>,
}

impl ValueRecorder {
    /// A recorder for a run of `rounds` rounds; `penalty` is the whole regulariser, `eta R`.
    pub fn new(boxes: Vec<Arc<BlackBox>>, penalty: Penalty, every: u64, rounds: u64) -> Self {
        Self { boxes, penalty, every, rounds, last: Vec::new(), records: Vec::new() }
    }

    /// `sum_k f_k(b)`.
    pub fn objective(&self, b: &[f64]) -> Result<f64, Failure> {
        let sum = self.boxes.iter().try_fold(0.0, |sum, known| Ok(sum + known.watch(b)?));
        Ok(sum? + self.penalty.value(b))
    }
}

impl Observer for ValueRecorder {
    fn round(&mut self, view: &RoundView<'_>) -> ControlFlow<()> {
        let now: Vec<Vec<f64>> = (0..view.fleet.len()).map(|k| view.fleet.estimate(k)).collect();
        let centre = mean(&now);
        let round = view.round;
        let due = self.every > 0
            && (round == 1 || round.is_multiple_of(self.every) || round == self.rounds);
        let moved = now.iter().zip(&self.last).flat_map(|(now, last)| now.iter().zip(last));
        let change = match self.last.is_empty() {
            true => now.iter().flatten().fold(0.0, |most: f64, b| most.max(b.abs())),
            false => moved.fold(0.0, |most: f64, (a, b)| most.max((a - b).abs())),
        };
        self.records.push(ValueRecord {
            round,
            objective: due.then(|| self.objective(&centre).ok()).flatten(),
            consensus: now.iter().map(|beta| distance_squared(beta, &centre).sqrt()).collect(),
            change,
            evaluations: self.boxes.iter().map(|known| known.evaluations()).collect(),
        });
        self.last = now;
        ControlFlow::Continue(())
    }
}

/// The mean of several vectors.
pub fn mean(vectors: &[Vec<f64>]) -> Vec<f64> {
    let mut sum = vec![0.0; vectors.first().map_or(0, Vec::len)];
    for vector in vectors {
        sum.iter_mut().zip(vector).for_each(|(sum, value)| *sum += value);
    }
    sum.iter_mut().for_each(|sum| *sum /= vectors.len() as f64);
    sum
}

fn distance_squared(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}
