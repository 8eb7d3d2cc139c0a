//! The attack behind `dzoa audit`.
//!
//! The attacker knows everything but one bit: which of two neighbouring data sets the agent holds. In
//! every round it computes what the agent's noiseless update would be under either, from the vectors
//! exchanged before, and scores the release by how much nearer it lies to the one than to the other:
//! for Gaussian noise the log-likelihood ratio, the best score there is.

use crate::agents::{self, Promise};
use crate::config::{Config, Mechanism};
use crate::error::{Error, Result};
use crate::interrupt;
use crate::progress::Progress;
use dzoa::admm::{PrimalStep, RoundContext};
use dzoa::agent::Output;
use dzoa::baselines::Holder;
use dzoa::lagrangian::Lagrangian;
use dzoa::prelude::*;
use dzoa::privacy::{Event, Ledger};
use dzoa::problem::LocalObjective;
use dzoa::problem::loss::Targets;
use dzoa::scalar::Scalar;
use dzoa::simulate::Fleet;
use dzoa::zeroth_order::Workspace;
use rayon::prelude::*;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Two neighbouring data sets.
pub struct Pair {
    /// With one row of the attacked agent replaced.
    pub problem: Problem,
    /// Which, and by what.
    pub description: String,
}

/// The neighbouring data set, among replaced and extreme rows, that moves the first exact update most.
pub fn worst_pair(config: &Config, problem: &Problem, graph: &Graph, k: usize) -> Result<Pair> {
    const ROWS: usize = 16;
    let samples = &problem.agents[k];
    let width = problem.dim();
    let quadratic =
        config.algorithm.admm.rho * graph.neighbourhood(k, config.network.self_loop) as f64;
    let update = |problem: &Problem| {
        let objective = problem.local(k);
        let lagrangian = Lagrangian { objective: &objective, linear: vec![0.0; width], quadratic };
        Exact::new(problem.risk(k), Some(1e-6)).solve(&lagrangian).ok().map(|(b, _)| b)
    };
    let base = update(problem).ok_or_else(|| Error::run("the exact update cannot be computed"))?;
    let step = samples.count().div_ceil(ROWS);
    let mut candidates: Vec<(usize, String, Vec<f64>, f64)> = Vec::new();
    for row in (0..samples.count()).step_by(step) {
        let mut x = vec![0.0; width];
        samples.rows.visit(row, |column, value| x[column] = value);
        let y = samples.targets[row];
        let extreme = match problem.loss.targets() {
            Targets::Signs => -y,
            // Targets are bounded by 1 through the schema; generated ones are not, so mirror them.
            Targets::Real if config.schema.is_some() => -y.signum(),
            Targets::Real => -y,
        };
        candidates.push((row, "its label exchanged".into(), x.clone(), extreme));
        for p in 0..width.min(8) {
            for sign in [-1.0, 1.0] {
                let mut unit = vec![0.0; width];
                unit[p] = sign;
                candidates.push((row, format!("a unit row in column {}", p + 1), unit, extreme));
            }
        }
    }
    let replaced = |row: usize, x: &[f64], y: f64| {
        let mut rows: Vec<Vec<(usize, f64)>> = Vec::new();
        for i in 0..samples.count() {
            let mut entries = Vec::new();
            if i == row {
                entries.extend(x.iter().copied().enumerate());
            } else {
                samples.rows.visit(i, |column, value| entries.push((column, value)));
            }
            rows.push(entries);
        }
        let mut targets = samples.targets.clone();
        targets[row] = y;
        let rows = Rows::sparse(width, rows).expect("the entries come from valid rows");
        let rows = if samples.rows.is_sparse() { rows } else { rows.to_dense() };
        let mut other = problem.clone();
        other.agents[k] = Arc::new(Samples { rows, targets });
        other
    };
    let best = candidates
        .into_par_iter()
        .filter_map(|(row, how, x, y)| {
            let problem = replaced(row, &x, y);
            let moved = update(&problem)?;
            let distance: f64 = moved.iter().zip(&base).map(|(a, b)| (a - b) * (a - b)).sum();
            Some((distance, row, how, problem))
        })
        .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    let (distance, row, how, problem) =
        best.ok_or_else(|| Error::run("no neighbouring data set could be made"))?;
    let description = format!(
        "row {} replaced by {how}; it moves the first exact update by {:.3e}",
        row + 1,
        distance.sqrt()
    );
    Ok(Pair { problem, description })
}

/// Many runs against one agent.
pub struct Attack<'a> {
    /// With as many rounds as the attacker sees.
    pub config: &'a Config,
    /// The network.
    pub graph: &'a Graph,
    /// Every agent's inner loop.
    pub inner: &'a [ZerothOrder],
    /// The attacked agent.
    pub k: usize,
    /// Runs under each data set.
    pub trials: usize,
    /// Counts runs.
    pub progress: &'a Progress,
}

impl Attack<'_> {
    /// Scores of many runs under D and under D'.
    pub fn scores(
        &self,
        problems: [&Problem; 2],
        promises: &[Promise],
        streams: &Streams,
    ) -> Result<[Vec<f64>; 2]> {
        let under = |bit: usize| {
            self.scores_under(problems[bit], problems, promises, &streams.trial(1 + bit as u64))
        };
        Ok([under(0)?, under(1)?])
    }

    /// Scores of many runs on one data set; the score tells the two given ones apart.
    pub fn scores_under(
        &self,
        held: &Problem,
        problems: [&Problem; 2],
        promises: &[Promise],
        streams: &Streams,
    ) -> Result<Vec<f64>> {
        (0..self.trials as u64)
            .into_par_iter()
            .map_init(Workspace::default, |work, trial| {
                if interrupt::asked() {
                    return Err(Error::run(
                        "stopped by Ctrl-C; an unfinished audit proves nothing",
                    ));
                }
                let score = self.score(held, problems, promises, &streams.trial(trial), work);
                self.progress.tick();
                score
            })
            .collect()
    }

    /// One run.
    fn score(
        &self,
        held: &Problem,
        problems: [&Problem; 2],
        promises: &[Promise],
        streams: &Streams,
        work: &mut Workspace,
    ) -> Result<f64> {
        let Attack { config, graph, inner, k, .. } = *self;
        let charged = (promises, Vec::new());
        let mut fleet = agents::build(config, held, graph, inner, charged, streams)?;
        if fleet.lockstep().is_some() {
            return Ok(self.score_baseline(&mut *fleet, problems));
        }
        let objectives = problems.map(|problem| problem.local(k));
        let shadows = [0, 1].map(|bit| self.shadow(problems[bit], streams));
        let events = &promises[k].events;
        let work_of_shadows = Workspace::default();
        let mut attacker =
            Attacker { objectives, shadows, predicted: None, score: 0.0, work: work_of_shadows };
        attacker.predict(&fleet.agents()[k], 1);
        if config.algorithm.admm.rounds == 1
            && let Some(agent) = fleet.agents_mut().get_mut(k)
        {
            // One round of one agent: nobody else need compute.
            agent.compute(work);
            while let Some(output) = agent.poll() {
                match output {
                    Output::Send(envelope) => attacker.see(envelope.message.values(), &events[0]),
                    Output::Compute | Output::Done(_) => break,
                    Output::Persist(_) | Output::Completed(_) => {}
                }
            }
            return Ok(attacker.score);
        }
        fleet.run(&mut |view: &RoundView<'_>| {
            let agent = &view.fleet.agents()[k];
            let event = &events[(view.round as usize - 1).min(events.len() - 1)];
            attacker.see(agent.beta(), event);
            attacker.predict(agent, view.round + 1);
            ControlFlow::Continue(())
        });
        Ok(attacker.score)
    }

    /// One run of an algorithm whose state between rounds is public: the attacker computes the look of
    /// either data set from it.
    fn score_baseline(&self, fleet: &mut dyn Fleet, problems: [&Problem; 2]) -> f64 {
        let k = self.k;
        let mut holders = problems.map(|problem| Holder::new(problem, k));
        let mut score = 0.0;
        let mut predict = |round: u64, fleet: &dyn Fleet| {
            let lockstep = fleet.lockstep()?;
            let [without, with] = &mut holders;
            Some([lockstep.noiseless(round, without)?, lockstep.noiseless(round, with)?])
        };
        let mut predicted = predict(1, fleet);
        fleet.run(&mut |view: &RoundView<'_>| {
            let event = view.fleet.lockstep().and_then(|lockstep| lockstep.last_event(k));
            if let (Some(predicted), Some(event)) = (&predicted, event) {
                score += log_likelihood_ratio(predicted, view.fleet.release(k), event);
            }
            predicted = predict(view.round + 1, view.fleet);
            ControlFlow::Continue(())
        });
        score
    }

    /// What computes the noiseless update under one data set.
    fn shadow(&self, problem: &Problem, streams: &Streams) -> Shadow {
        let k = self.k;
        match self.config.privacy.mechanism {
            Mechanism::Scalar { clip, .. } => Shadow::Scalar {
                step: Scalar {
                    inner: self.inner[k],
                    clip: agents::clip_of(clip),
                    samples: Arc::new(problem.risk(k)),
                },
                // The directions are public.
                streams: streams.clone(),
                warm: self.config.algorithm.admm.warm_start,
            },
            _ => Shadow::Exact(Box::new(Exact::new(problem.risk(k), Some(1e-7)))),
        }
    }
}

enum Shadow {
    Exact(Box<Exact>),
    Scalar { step: Scalar, streams: Streams, warm: bool },
}

struct Attacker {
    objectives: [LocalObjective; 2],
    shadows: [Shadow; 2],
    /// The updates of the round in progress, as either data set would give them.
    predicted: Option<[Vec<f64>; 2]>,
    score: f64,
    work: Workspace,
}

impl Attacker {
    /// What the agent's next noiseless update would be under either data set, given everything
    /// exchanged so far.
    fn predict(&mut self, agent: &Agent, round: u64) {
        let known = agent.frozen_lagrangian();
        let mut predictions = [Vec::new(), Vec::new()];
        for bit in 0..2 {
            let lagrangian = Lagrangian {
                objective: &self.objectives[bit],
                linear: known.linear.clone(),
                quadratic: known.quadratic,
            };
            predictions[bit] = match &mut self.shadows[bit] {
                Shadow::Exact(exact) => {
                    exact.solve(&lagrangian).map(|(b, _)| b).unwrap_or_default()
                }
                Shadow::Scalar { step, streams, warm } => {
                    let context = RoundContext { agent: agent.name(), round, streams };
                    let zero = vec![0.0; known.linear.len()];
                    let start = if *warm { agent.beta() } else { &zero };
                    // Noise too small to matter: the loop only accepts charged looks.
                    let (j, t) = (step.inner.directions, step.inner.inner_steps);
                    let event = Event::discrete_gaussian(1.0, 1e-9, j, t);
                    let receipt = Ledger::default().charge(event.query(round)).ok();
                    receipt
                        .and_then(|receipt| {
                            step.update(&lagrangian, start, receipt, &context, &mut self.work).ok()
                        })
                        .map(|primal| primal.release.to_vec())
                        .unwrap_or_default()
                }
            };
        }
        self.predicted = Some(predictions);
    }

    /// Scores a release.
    fn see(&mut self, release: &[f64], event: &Event) {
        if let Some(predicted) = self.predicted.take() {
            self.score += log_likelihood_ratio(&predicted, release, event);
        }
    }
}

/// The log-likelihood ratio of Gaussian noise around the two predictions. For other noise it is not the
/// best score, but any score proves what it finds.
fn log_likelihood_ratio([without, with]: &[Vec<f64>; 2], release: &[f64], event: &Event) -> f64 {
    if without.len() != release.len() || with.len() != release.len() {
        return 0.0;
    }
    let variance = match event {
        Event::DiscreteGaussian { sigma, .. } => sigma * sigma,
        Event::Laplace { scale, .. } => 2.0 * scale * scale,
        Event::SphericalLaplace { scale, coordinates, .. } => {
            scale * scale * (*coordinates as f64 + 1.0)
        }
        _ => 1.0,
    };
    (0..release.len())
        .map(|p| {
            let middle = 0.5 * (without[p] + with[p]);
            (release[p] - middle) * (with[p] - without[p]) / variance
        })
        .sum()
}
