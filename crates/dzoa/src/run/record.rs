//! Observers that record every round.

use super::evaluate::{NormalisedError, distance, mean};
use super::{Observer, RoundView};
use crate::problem::regularizer::Penalty;
use crate::problem::{BlackBox, Failure, Problem};
use crate::reference::Optimum;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use std::sync::Arc;

/// One agent in one recorded round.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentRecord {
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
    pub records: Vec<AgentRecord>,
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

    /// The paper's metric per recorded round: the agents' summands, added up.
    pub fn errors(records: &[AgentRecord]) -> Vec<(u64, f64)> {
        let mut errors: Vec<(u64, f64)> = Vec::new();
        for AgentRecord { round, error, .. } in records {
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
            (0..view.simulation.len()).map(|k| view.simulation.estimate(k)).collect();
        let mean = mean(&estimates);
        let (round, problem, optimum) = (view.round, self.problem, self.optimum);
        let error = optimum.and_then(|optimum| NormalisedError::new(&optimum.coefficients));
        let records: Vec<AgentRecord> = estimates
            .par_iter()
            .enumerate()
            .map(|(agent, beta)| {
                let objective = problem.value(beta);
                AgentRecord {
                    round,
                    agent,
                    error: error.map(|error| error.of_agent(beta)),
                    objective,
                    objective_gap: optimum.map(|optimum| objective - optimum.objective),
                    consensus: distance(beta, &mean),
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

/// Watches black boxes. Every recorded round, and the start, ask each box for one
/// value more, counted apart. Like
/// [`Recorder`] it is for whoever holds all the boxes.
pub struct ValueRecorder {
    boxes: Vec<Arc<BlackBox>>,
    penalty: Penalty,
    /// AgentRecord objective values every so many rounds; 0 never asks for one.
    every: u64,
    rounds: u64,
    last: Vec<Vec<f64>>,
    /// What was recorded, one entry per round.
    pub records: Vec<ValueRecord>,
    /// The value at zero, where a run begins.
    start: Option<f64>,
    /// What the agents told each other about their last estimate.
    told: Option<f64>,
    best: Option<BestSeen>,
}

/// The point with the least value that was seen. Where values are noisy, its value is the luckiest
/// of those that were asked for, and asking again may give a larger one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BestSeen {
    /// m; 0 is the start, and the end has the number of its last round.
    pub round: u64,
    /// `sum_k f_k` there.
    pub objective: f64,
    /// The mean of what the agents reported.
    pub point: Vec<f64>,
}

impl ValueRecorder {
    /// A recorder for a run of `rounds` rounds; `penalty` is the whole regulariser, `eta R`.
    pub fn new(boxes: Vec<Arc<BlackBox>>, penalty: Penalty, every: u64, rounds: u64) -> Self {
        let (last, records) = (Vec::new(), Vec::new());
        Self { boxes, penalty, every, rounds, last, records, start: None, told: None, best: None }
    }

    /// The best of all points whose value was asked for; nothing where none was.
    pub fn best(&self) -> Option<&BestSeen> {
        self.best.as_ref()
    }

    /// The value of the result, which may be the best of all. Nothing where no values are recorded.
    pub fn conclude(&mut self, b: &[f64]) -> Option<f64> {
        // What the agents told each other need not be asked again.
        if let Some(told) = self.told {
            return Some(told);
        }
        let asked = (self.every > 0).then(|| self.objective(b).ok()).flatten();
        let round = self.records.last().map_or(self.rounds, |record| record.round);
        self.see(round, asked, b);
        asked
    }

    /// What to say about a run whose result is worse than its start.
    pub fn divergence(&self, value: f64) -> Option<String> {
        let (start, best) = (self.start?, self.best.as_ref()?);
        let plain = |value: f64| match value.abs() {
            size if (1e-4..1e6).contains(&size) => format!("{value:.4}"),
            _ => format!("{value:.3e}"),
        };
        (value > start).then(|| {
            let [value, start, least] = [value, start, best.objective].map(plain);
            format!(
                "diverged: the result has the objective {value}, more than the start's {start}; \
                 the best point seen has {least}, in round {}",
                best.round
            )
        })
    }

    fn see(&mut self, round: u64, objective: Option<f64>, point: &[f64]) {
        let Some(objective) = objective.filter(|value| value.is_finite()) else { return };
        if self.best.as_ref().is_none_or(|best| objective < best.objective) {
            self.best = Some(BestSeen { round, objective, point: point.to_vec() });
        }
    }

    /// `sum_k f_k(b)`.
    pub fn objective(&self, b: &[f64]) -> Result<f64, Failure> {
        let sum = self.boxes.iter().try_fold(0.0, |sum, known| Ok(sum + known.watch(b)?));
        Ok(sum? + self.penalty.value(b))
    }
}

impl Observer for ValueRecorder {
    fn round(&mut self, view: &RoundView<'_>) -> ControlFlow<()> {
        let now: Vec<Vec<f64>> =
            (0..view.simulation.len()).map(|k| view.simulation.estimate(k)).collect();
        let centre = mean(&now);
        let round = view.round;
        let due = self.every > 0
            && (round == 1 || round.is_multiple_of(self.every) || round == self.rounds);
        let told = view.simulation.told();
        if self.last.is_empty() && self.every > 0 {
            let zero = vec![0.0; centre.len()];
            self.start = match told {
                Some(told) => Some(told.start),
                None => self.objective(&zero).ok(),
            };
            self.see(0, self.start, &zero);
        }
        let objective = match told {
            Some(told) => Some(told.estimate),
            None => due.then(|| self.objective(&centre).ok()).flatten(),
        };
        self.told = told.map(|told| told.estimate);
        if told.is_some() {
            // The agents know which point is best: of noisy values it is not the luckiest.
            self.best = None;
        }
        // What all report alike is not rounded by a mean.
        let alike = now.first().filter(|_| told.is_some()).unwrap_or(&centre);
        self.see(round, objective, alike);
        let moved = now.iter().zip(&self.last).flat_map(|(now, last)| now.iter().zip(last));
        let change = match self.last.is_empty() {
            true => now.iter().flatten().fold(0.0, |most: f64, b| most.max(b.abs())),
            false => moved.fold(0.0, |most: f64, (a, b)| most.max((a - b).abs())),
        };
        self.records.push(ValueRecord {
            round,
            objective,
            consensus: now.iter().map(|beta| distance(beta, &centre)).collect(),
            change,
            evaluations: self.boxes.iter().map(|known| known.evaluations()).collect(),
        });
        self.last = now;
        ControlFlow::Continue(())
    }
}
