//! Tuning and running one contender.

use super::contender::Contender;
use crate::tuner::{Middle, least, tune};
use crate::{Interrupt, Watcher};
use dzoa::baselines::Needs;
use dzoa::plan::{Algorithm, Auto, Circumstances, Data, Plan, RunSpec, Total, rules};
use dzoa::prelude::*;
use dzoa::privacy::calibrate::Schedule;
use dzoa::privacy::{Budget, EarlierRuns};
use dzoa::reference::Optimum;
use dzoa::run::Costs;
use dzoa::run::evaluate::{Fit, NormalisedError, mean};
use dzoa::tuning::{Setting, Sizes};
use dzoa_report::refused;
use dzoa_table::{Error, Instances, Result};
use rayon::prelude::*;
use std::ops::ControlFlow;
use std::time::Instant;

/// One data set, its optimum, and the randomness of the runs on it.
pub struct ComparisonDraw {
    pub problem: Problem,
    pub optimum: Option<Optimum>,
    pub streams: Streams,
}

impl ComparisonDraw {
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
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The paper's metric; infinite where the run left the finite numbers.
    pub error: f64,
    /// `f - f*` of the mean model.
    pub gap: f64,
    /// How well the mean model fits all rows.
    pub fit: Option<Fit>,
    pub costs: Costs,
    pub seconds: f64,
}

/// One run and what was found out about it.
struct Ran {
    outcome: Outcome,
    needs: Needs,
    /// The largest exact epsilon over the agents.
    spent: Option<f64>,
    rounds: u64,
}

/// A contender at one epsilon, tuned and run.
pub struct ContestEntry {
    pub contender: Contender,
    pub epsilon: f64,
    /// Why it could not take part.
    pub refused: Option<String>,
    /// The chosen settings.
    pub settings: Vec<String>,
    /// Every setting tried, with its median error over the tuning draws.
    pub tuning: Vec<(Setting, Option<f64>)>,
    pub rounds: u64,
    pub needs: Needs,
    pub outcomes: Vec<Outcome>,
    /// The largest exact epsilon that a run spent, over the agents.
    pub spent: Option<f64>,
}

/// Counts a run when it is over, refused ones included.
struct Done<'a>(&'a dyn Watcher);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.run_done();
    }
}

/// Everything that the contenders share.
pub struct Contest<'a> {
    /// What the config asks for.
    pub base: &'a RunSpec,
    /// Rows that one person may have.
    pub rows_per_person: usize,
    pub instances: &'a Instances,
    pub delta: f64,
    pub tuning: &'a [ComparisonDraw],
    pub reported: &'a [ComparisonDraw],
    pub watcher: &'a dyn Watcher,
    pub interrupt: Interrupt,
}

impl Contest<'_> {
    /// Runs that one contender takes at one epsilon.
    pub fn runs(tuning: usize, reported: usize) -> u64 {
        (12 * tuning + reported) as u64
    }

    /// What the tuning grids are scaled by at a budget: public numbers of the first draw.
    fn sizes(&self, epsilon: f64) -> Sizes {
        let problem = &self.reported[0].problem;
        let samples = problem.fewest_samples();
        Sizes {
            agents: problem.agents.len(),
            features: problem.dim(),
            weight: match problem.scale {
                Scale::Mean | Scale::Pooled | Scale::PooledOver(_) => 1.0,
                Scale::Sum => samples as f64,
            },
            smoothness: problem.loss.smoothness().unwrap_or(1.0),
            bounded: problem.loss.lipschitz().is_some(),
            rho: rules::output_rule(samples, epsilon).rho,
            rounds: self.base.rounds.or(rules::PLAIN_ROUNDS),
        }
    }

    /// What is asked of a contender with some setting.
    fn spec(&self, contender: &Contender, total: &Total, setting: &Setting) -> Result<RunSpec> {
        let algorithm = Algorithm::named(contender.algorithm, setting)
            .ok_or_else(|| Error::run(format!("{} is not known", contender.algorithm)))?;
        let mechanism = contender.mechanism(total, setting)?;
        Ok(self.base.with_setting(algorithm, mechanism, setting))
    }

    /// Tunes on one set of draws, then runs on the other.
    pub fn enter(&self, contender: &Contender, epsilon: f64) -> Result<ContestEntry> {
        let total = Total {
            budget: Budget { epsilon, delta: self.delta },
            schedule: Auto::Given(Schedule::Constant),
            rows_per_person: self.rows_per_person,
        };
        let mut entry = ContestEntry {
            contender: contender.clone(),
            epsilon,
            refused: None,
            settings: Vec::new(),
            tuning: Vec::new(),
            rounds: 0,
            needs: Needs::default(),
            outcomes: Vec::new(),
            spent: None,
        };
        entry.refused = self.tune(&mut entry, &total)?;
        let Some(best) = least(entry.tuning.iter().map(|(_, error)| *error)) else {
            self.reported.iter().for_each(|_| self.watcher.run_done());
            return Ok(entry);
        };
        entry.refused = None;
        let setting = &entry.tuning[best].0;
        let spec = self.spec(contender, &total, setting)?;
        entry.settings = setting.parts();
        // One after the other, so that seconds are those of a run that has the machine to itself.
        for draw in self.reported {
            let _done = Done(self.watcher);
            let Ran { outcome, needs, spent, rounds } = self.run(&spec, draw)?;
            (entry.needs, entry.rounds) = (needs, rounds);
            entry.spent = match (entry.spent, spent) {
                (Some(a), Some(b)) => Some(a.max(b)),
                (a, b) => a.or(b),
            };
            entry.outcomes.push(outcome);
        }
        Ok(entry)
    }

    /// Tries every setting of the contender's grid, and returns why one of them was refused.
    fn tune(&self, entry: &mut ContestEntry, total: &Total) -> Result<Option<String>> {
        let contender = &entry.contender;
        let grid = contender.grid(&self.sizes(entry.epsilon), total)?;
        let tried = tune(&grid, self.tuning, Middle::Median, |setting, draw| {
            let _done = Done(self.watcher);
            let mut spec = self.spec(contender, total, setting)?;
            if spec.mechanism.certifies() {
                // Either way the release lies within tau of the same point: tune with the short
                // way.
                (spec.inner_steps, spec.directions) = (Auto::Given(1), Auto::Given(1));
            }
            Ok::<f64, Error>(self.run(&spec, draw)?.outcome.error)
        });
        // A grid of a single setting leaves the others undone.
        let left = Self::runs(self.tuning.len(), 0) - (grid.len() * self.tuning.len()) as u64;
        (0..left).for_each(|_| self.watcher.run_done());
        let mut refusal = None;
        for (setting, error) in grid.into_iter().zip(tried) {
            let error = match error {
                Ok(error) => Some(error),
                Err(error) if self.interrupt.asked() => return Err(error),
                Err(error) => {
                    refusal.get_or_insert(error.message().to_string());
                    None
                }
            };
            entry.tuning.push((setting, error));
        }
        Ok(refusal)
    }

    fn run(&self, spec: &RunSpec, draw: &ComparisonDraw) -> Result<Ran> {
        let graph = &self.instances.graph;
        let ComparisonDraw { problem, optimum, streams } = draw;
        let plan = Plan::new(spec, &Data::Rows(problem.clone()), graph).map_err(refused)?;
        let mut simulation = plan.simulation(Vec::new(), streams).map_err(refused)?;
        let needs = plan.needs().map_err(refused)?;
        let started = Instant::now();
        let status = simulation.run(&mut |_: &RoundView<'_>| match self.interrupt.asked() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        });
        let seconds = started.elapsed().as_secs_f64();
        if self.interrupt.asked() {
            return Err(Error::interrupted(
                "stopped by Ctrl-C; an unfinished comparison compares nothing",
            ));
        }
        let estimates: Vec<Vec<f64>> =
            (0..simulation.len()).map(|k| simulation.estimate(k)).collect();
        let finished = status == Status::Finished;
        let model = mean(&estimates);
        let gap = optimum.as_ref().map(|optimum| problem.value(&model) - optimum.objective);
        let known = optimum.as_ref().and_then(|known| NormalisedError::new(&known.coefficients));
        let error = known.map(|error| error.by_coordinate(&estimates));
        let stated = |k: usize| {
            let circumstances = Circumstances {
                ledger: simulation.ledger(k),
                run: simulation.run_id(k),
                earlier_runs: EarlierRuns::NotCounted,
                void: Vec::new(),
                rests_on: Vec::new(),
            };
            plan.statement(k, circumstances).epsilon_exact
        };
        let spent = (0..simulation.len()).filter_map(stated).reduce(f64::max);
        let known = |value: Option<f64>| {
            value.filter(|v| finished && v.is_finite()).unwrap_or(f64::INFINITY)
        };
        let outcome = Outcome {
            // Where the optimum is zero or unknown the gap must do.
            error: known(error.or(gap)),
            gap: known(gap),
            fit: Fit::of_problem(problem, &model, self.instances.target_unit),
            costs: simulation.costs(),
            seconds,
        };
        Ok(Ran { outcome, needs, spent, rounds: plan.rounds() })
    }
}
