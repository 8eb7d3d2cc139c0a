//! Tuning and running one contender.

use super::contender::{Contender, Sizes};
use crate::agents;
use crate::config::{Config, Source};
use crate::error::{Error, Result};
use crate::inner::inner_loops;
use crate::instance::Instances;
use crate::interrupt;
use crate::progress::Progress;
use dzoa::baselines::Needs;
use dzoa::prelude::*;
use dzoa::privacy::{EarlierRuns, Facts, Statement};
use dzoa::problem::loss::Targets;
use dzoa::reference::Optimum;
use dzoa::simulate::Costs;
use dzoa::trace::mean;
use rayon::prelude::*;
use std::ops::ControlFlow;
use std::time::Instant;

/// One data set, its optimum, and the randomness of the runs on it.
pub struct Draw {
    pub problem: Problem,
    pub optimum: Option<Optimum>,
    pub streams: Streams,
}

impl Draw {
    /// Several; rows from files are the same in all of them, and solved once.
    pub fn several(
        instances: &Instances,
        streams: &Streams,
        trials: std::ops::Range<u64>,
    ) -> Vec<Self> {
        let known = instances.is_fixed().then(|| {
            let problem = instances.problem(streams);
            let optimum = reference::optimum(&problem).ok();
            (problem, optimum)
        });
        trials
            .into_par_iter()
            .map(|trial| {
                let streams = streams.trial(trial);
                let (problem, optimum) = known.clone().unwrap_or_else(|| {
                    let problem = instances.problem(&streams);
                    let optimum = reference::optimum(&problem).ok();
                    (problem, optimum)
                });
                Self { problem, optimum, streams }
            })
            .collect()
    }
}

/// What one run came to.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// The paper's metric; infinite where the run left the finite numbers.
    pub error: f64,
    /// `f - f*` of the mean model.
    pub gap: f64,
    /// Rows on the right side, for classifiers.
    pub accuracy: Option<f64>,
    pub costs: Costs,
    pub seconds: f64,
}

/// A contender at one epsilon, tuned and run.
pub struct Entry {
    pub contender: Contender,
    pub epsilon: f64,
    /// Why it could not take part.
    pub refused: Option<String>,
    /// The chosen settings.
    pub settings: Vec<String>,
    /// Every setting tried, with its median error over the tuning draws.
    pub tuning: Vec<(Vec<String>, Option<f64>)>,
    pub rounds: u64,
    pub needs: Needs,
    pub outcomes: Vec<Outcome>,
    /// The largest exact epsilon that a run spent, over the agents.
    pub spent: Option<f64>,
}

/// Everything that the contenders share.
pub struct Contest<'a> {
    pub source: &'a Source,
    pub instances: &'a Instances,
    pub delta: f64,
    pub tuning: &'a [Draw],
    pub reported: &'a [Draw],
    pub sizes: Sizes,
    pub progress: &'a Progress,
}

impl Contest<'_> {
    /// Runs that one contender takes at one epsilon.
    pub fn runs(tuning: usize, reported: usize) -> u64 {
        (12 * tuning + reported) as u64
    }

    /// The config of a contender with some settings.
    fn config(&self, contender: &Contender, epsilon: f64, settings: &[String]) -> Result<Config> {
        let mut edits = vec![
            format!("algorithm.name={}", contender.algorithm),
            "algorithm.options={}".into(),
            format!("privacy.mechanism={}", contender.mechanism),
        ];
        if contender.is_private() {
            edits.push(format!("privacy.total_epsilon={epsilon}"));
            edits.push(format!("privacy.delta={}", self.delta));
        }
        edits.extend(settings.iter().cloned());
        // What another mechanism was told does not bind this one.
        let keep = ["rows_per_person"];
        self.source.variant(
            ("privacy", &keep[..usize::from(contender.is_private())]),
            &["algorithm.step"],
            &edits,
        )
    }

    /// Tunes on one set of draws, then runs on the other.
    pub fn enter(&self, contender: &Contender, epsilon: f64) -> Result<Entry> {
        let mut entry = Entry {
            contender: contender.clone(),
            epsilon,
            refused: None,
            settings: Vec::new(),
            tuning: Vec::new(),
            rounds: 0,
            needs: contender.own_needs(),
            outcomes: Vec::new(),
            spent: None,
        };
        let grid = contender.grid(&self.sizes, epsilon);
        let mut refusal = None;
        let tried: Vec<Result<Option<f64>>> = grid
            .par_iter()
            .map(|settings| {
                let mut settings = settings.clone();
                if (contender.algorithm, contender.mechanism) == ("d-zoa", "output") {
                    // Either way the release lies within tau of the same point: tune with the short way.
                    settings.extend(
                        ["algorithm.inner_steps=1", "algorithm.directions=1"].map(String::from),
                    );
                }
                let config = self.config(contender, epsilon, &settings)?;
                let errors: Vec<f64> = self
                    .tuning
                    .par_iter()
                    .map(|draw| self.run(&config, draw).map(|(outcome, ..)| outcome.error))
                    .collect::<Result<_>>()?;
                Ok(Some(quantile(&errors, 0.5)))
            })
            .collect();
        for (settings, error) in grid.iter().zip(tried) {
            let error = match error {
                Ok(error) => error,
                Err(error) if interrupt::asked() => return Err(error),
                Err(error) => {
                    refusal.get_or_insert(error.message().to_string());
                    None
                }
            };
            entry.tuning.push((settings.clone(), error));
        }
        let best = entry
            .tuning
            .iter()
            .filter_map(|(settings, error)| Some((settings, (*error)?)))
            .min_by(|a, b| a.1.total_cmp(&b.1));
        let Some((settings, _)) = best else {
            entry.refused = refusal;
            (0..self.reported.len()).for_each(|_| self.progress.tick());
            return Ok(entry);
        };
        entry.settings = settings.clone();
        let config = self.config(contender, epsilon, &entry.settings)?;
        entry.rounds = config.algorithm.admm.rounds;
        // One after the other, so that seconds are those of a run that has the machine to itself.
        for draw in self.reported {
            let (outcome, needs, spent) = self.run(&config, draw)?;
            entry.needs = needs.unwrap_or(entry.needs);
            entry.spent = match (entry.spent, spent) {
                (Some(a), Some(b)) => Some(a.max(b)),
                (a, b) => a.or(b),
            };
            entry.outcomes.push(outcome);
        }
        Ok(entry)
    }

    fn run(&self, config: &Config, draw: &Draw) -> Result<(Outcome, Option<Needs>, Option<f64>)> {
        let graph = &self.instances.graph;
        let Draw { problem, optimum, streams } = draw;
        let inner = inner_loops(config, problem, graph, optimum.as_ref())?;
        let promises = agents::promises(config, problem, graph)?;
        let mut fleet =
            agents::build(config, problem, graph, &inner, (&promises, Vec::new()), streams)?;
        let needs = fleet.lockstep().map(|lockstep| lockstep.needs());
        let started = Instant::now();
        let status = fleet.run(&mut |_: &RoundView<'_>| match interrupt::asked() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        });
        let seconds = started.elapsed().as_secs_f64();
        if interrupt::asked() {
            return Err(Error::run("stopped by Ctrl-C; an unfinished comparison compares nothing"));
        }
        self.progress.tick();
        let estimates: Vec<Vec<f64>> = (0..fleet.len()).map(|k| fleet.estimate(k)).collect();
        let finished = status == Status::Finished;
        let model = mean(&estimates);
        let gap = optimum.as_ref().map(|optimum| problem.value(&model) - optimum.objective);
        let error = optimum.as_ref().and_then(|optimum| normalised_error(&estimates, optimum));
        let spent = config.privacy.mechanism.target().and_then(|target| {
            let stated = |k: usize| {
                let planned = promises[k].planned(config.algorithm.admm.rounds);
                let facts = Facts {
                    ledger: fleet.ledger(k),
                    run: fleet.run_id(k),
                    planned: &planned,
                    delta: target.delta,
                    earlier_runs: EarlierRuns::NotCounted,
                    void: Vec::new(),
                    rests_on: Vec::new(),
                };
                Statement::new(&facts).epsilon_exact
            };
            (0..fleet.len()).filter_map(stated).reduce(f64::max)
        });
        let known = |value: Option<f64>| {
            value.filter(|v| finished && v.is_finite()).unwrap_or(f64::INFINITY)
        };
        let outcome = Outcome {
            // Where the optimum is zero or unknown the gap must do.
            error: known(error.or(gap)),
            gap: known(gap),
            accuracy: accuracy(problem, &model),
            costs: fleet.costs(),
            seconds,
        };
        Ok((outcome, needs, spent))
    }
}

/// `sum_k ||estimate_k - beta^c||^2/||beta^c||^2`
pub fn normalised_error(estimates: &[Vec<f64>], optimum: &Optimum) -> Option<f64> {
    let known = &optimum.coefficients;
    let scale: f64 = known.iter().map(|b| b * b).sum();
    let sum: f64 = estimates
        .iter()
        .flat_map(|estimate| estimate.iter().zip(known).map(|(a, b)| (a - b) * (a - b)))
        .sum();
    (scale > 0.0).then_some(sum / scale)
}

/// The share of all agents' rows on the right side, for classifiers. A row of zeros, as the loader
/// keeps for one without a target, has no side.
pub fn accuracy(problem: &Problem, b: &[f64]) -> Option<f64> {
    if problem.loss.targets() != Targets::Signs {
        return None;
    }
    let (mut right, mut rows) = (0, 0);
    for samples in &problem.agents {
        for i in (0..samples.count()).filter(|&i| samples.rows.norm_squared(i) > 0.0) {
            rows += 1;
            right += usize::from((samples.rows.dot(i, b) > 0.0) == (samples.targets[i] > 0.0));
        }
    }
    (rows > 0).then(|| right as f64 / rows as f64)
}

/// A quantile of a sample, interpolated; infinite values come last.
pub fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = share * last as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    if low == high { low } else { low + (high - low) * (place - place.floor()) }
}
