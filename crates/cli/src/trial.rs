//! One repetition of a simulated run: agents, rounds, and what is measured.

use crate::config::Config;
use crate::interrupt;
use crate::ledger_file::LedgerFile;
use crate::progress::Progress;
use dzoa::baselines::Needs;
use dzoa::plan::{Data, Noise, Plan, RunSpec, Spending};
use dzoa::prelude::*;
use dzoa::privacy::{Entry, Ledger, RunId};
use dzoa::reference::Optimum;
use dzoa::run::evaluate::{NormalisedError, accuracy, mean};
use dzoa::run::{Costs, EarlyStop, Recorder, Simulation};
use dzoa_report::TraceFile;
use dzoa_report::refused;
use dzoa_table::{Error, Instances, Result};
use rayon::prelude::*;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// One repetition.
pub struct Trial {
    /// How it ended.
    pub status: Status,
    /// Rounds that all agents finished.
    pub rounds_done: u64,
    /// The paper's metric in every recorded round.
    pub errors: Vec<(u64, f64)>,
    /// The file with all that was recorded.
    pub trace: PathBuf,
    /// The centralised optimum, where there is one.
    pub optimum: Option<Optimum>,
    /// The centralised objective at the mean model.
    pub objective: f64,
    /// What every agent reports.
    pub estimates: Vec<Vec<f64>>,
    /// Values asked for, and vectors exchanged.
    pub costs: Costs,
    /// Whether u_2 was raised.
    pub step_raised: bool,
    /// Releases that were moved into the public ball.
    pub moved_inside: u64,
    /// The rounds alone.
    pub elapsed: Duration,
    /// Rows that the mean model classifies as they are labelled, for classifiers.
    pub accuracy: Option<f64>,
    /// The paper's metric of what the agents report in the end.
    pub final_error: Option<f64>,
    /// Per agent, of the first trial if it finished.
    pub noise: Vec<Noise>,
    /// Per agent: values that depend on its rows and stay with it.
    pub local: Vec<Local>,
    /// What was decided, in the first trial: others differ in rows only.
    pub plan: Option<Plan>,
    /// Per agent.
    pub ledgers: Vec<Ledger>,
    /// Per agent: what its charges are made for.
    pub runs: Vec<RunId>,
    /// What the algorithm takes.
    pub needs: Needs,
}

/// What all trials of a run share.
pub struct Stage<'a> {
    /// The config.
    pub config: &'a Config,
    /// Rows and network.
    pub instances: &'a Instances,
    /// Where to show progress.
    pub progress: &'a Progress,
    /// Where its files go.
    out: &'a Path,
    /// Every n-th round is recorded.
    every: u64,
    /// What is spent round by round: the same in every trial.
    spending: Spending,
}

/// The plan of a first trial without its optimum, which charges do not depend on.
pub fn planned(spec: &RunSpec, instances: &Instances, streams: &Streams) -> Result<Plan> {
    let mechanism = spec.mechanism.with_optimum(&[]);
    let spec = RunSpec { mechanism, ..spec.clone() };
    let data = Data::Rows(instances.problem(streams));
    Plan::new(&spec, &data, &instances.graph).map_err(refused)
}

impl<'a> Stage<'a> {
    /// For trials that leave their traces in a directory, which is made when the first of them
    /// begins.
    pub fn new(
        config: &'a Config,
        instances: &'a Instances,
        plan: &Plan,
        progress: &'a Progress,
        out: &'a Path,
    ) -> Self {
        let (every, spending) = (record_every(config, plan), plan.spending());
        Self { config, instances, progress, out, every, spending }
    }
}

/// The ledgers of all agents.
pub struct Books {
    /// What was spent before.
    pub spent: Vec<Ledger>,
    /// Where charges are written; empty where they end with the run.
    pub files: Vec<LedgerFile>,
}

impl Books {
    /// Those of open files.
    pub fn of(files: Vec<LedgerFile>) -> Self {
        Self { spent: files.iter().map(|file| file.ledger.clone()).collect(), files }
    }
}

impl Trial {
    /// Builds the agents, lets `drive` run them to the end, and measures.
    pub fn run(
        stage: &Stage<'_>,
        books: Books,
        streams: &Streams,
        trial: usize,
        drive: impl FnOnce(&mut dyn Simulation, &mut dyn Observer) -> Result<Status>,
    ) -> Result<Self> {
        let Stage { config, instances, progress, out, every, ref spending } = *stage;
        let problem = instances.problem(streams);
        let optimum = optimum_of(&problem, progress);
        let graph = &instances.graph;
        let plan = plan_with(&config.spec, &problem, graph, optimum.as_ref())?;
        let mut simulation = plan.simulation(books.spent, streams).map_err(refused)?;

        if trial == 0 {
            progress.say(&format!("{}: running", config.name));
        }
        let mut watch = Watch {
            config,
            progress,
            trace: TraceFile::create(out, trial, graph.names(), spending)?,
            recorder: Recorder::new(&problem, optimum.as_ref(), every, plan.rounds()),
            early: EarlyStop::new(config.run.stop_tolerance),
            ledgers: books.files,
            failure: None,
            rounds_done: 0,
            watching: Duration::ZERO,
        };
        let started = Instant::now();
        let status = drive(&mut *simulation, &mut watch)?;
        let Watch { trace, failure, rounds_done, watching, .. } = watch;
        if let Some(failure) = failure {
            return Err(failure);
        }
        let (trace, errors) = trace.finish()?;
        let elapsed = started.elapsed().saturating_sub(watching);

        let estimates: Vec<Vec<f64>> =
            (0..simulation.len()).map(|k| simulation.estimate(k)).collect();
        let noise = match (trial, status == Status::Finished) {
            (0, true) => measured_noise(&plan, simulation.agents(), streams),
            _ => Vec::new(),
        };
        let known = optimum.as_ref().and_then(|known| NormalisedError::new(&known.coefficients));
        Ok(Self {
            status,
            rounds_done,
            errors,
            trace,
            objective: problem.value(&mean(&estimates)),
            costs: simulation.costs(),
            step_raised: simulation.agents().iter().any(Agent::step_raised),
            moved_inside: simulation.agents().iter().map(Agent::moved_inside).sum(),
            elapsed,
            accuracy: accuracy(&problem, &mean(&estimates)),
            final_error: known.map(|error| error.by_coordinate(&estimates)),
            local: local_values(simulation.agents(), &problem.agents),
            noise,
            plan: (trial == 0).then_some(plan),
            ledgers: (0..simulation.len()).map(|k| simulation.ledger(k).clone()).collect(),
            runs: (0..simulation.len()).map(|k| simulation.run_id(k)).collect(),
            needs: simulation.lockstep().map(|lockstep| lockstep.needs()).unwrap_or_default(),
            optimum,
            estimates,
        })
    }
}

/// The plan of a first trial with all its numbers: what `--dry-run` shows. Only a claim that takes
/// the optimum's norm, as the paper does, is worth the search for it.
pub fn planned_in_full(spec: &RunSpec, instances: &Instances, streams: &Streams) -> Result<Plan> {
    if !spec.mechanism.needs_optimum() {
        return planned(spec, instances, streams);
    }
    let problem = instances.problem(streams);
    let optimum = reference::optimum(&problem).ok();
    plan_with(spec, &problem, &instances.graph, optimum.as_ref())
}

/// The plan of a trial whose optimum is known, where there is one.
fn plan_with(
    spec: &RunSpec,
    problem: &Problem,
    graph: &Graph,
    optimum: Option<&Optimum>,
) -> Result<Plan> {
    let mechanism = match optimum {
        Some(optimum) => spec.mechanism.with_optimum(&optimum.coefficients),
        None => spec.mechanism.clone(),
    };
    let spec = RunSpec { mechanism, ..spec.clone() };
    Plan::new(&spec, &Data::Rows(problem.clone()), graph).map_err(refused)
}

/// The noise of every agent; nothing where no noise is claimed.
fn measured_noise(plan: &Plan, agents: &[Agent], streams: &Streams) -> Vec<Noise> {
    let each = agents.par_iter().enumerate();
    each.filter_map(|(k, agent)| plan.measured_noise(k, agent, streams)).collect()
}

fn optimum_of(problem: &Problem, progress: &Progress) -> Option<Optimum> {
    reference::optimum(problem)
        .inspect_err(|error| progress.say(&format!("no reference optimum: {error}")))
        .ok()
}

/// What an agent may look at itself, and must not share.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Local {
    agent: String,
    rows: usize,
    /// Rounds in which the exact solver had to finish after the zeroth-order loop.
    finished_exactly: u64,
    /// Share of the per-sample difference quotients that `scalar` clipped.
    clipped_fraction: f64,
}

fn local_values(agents: &[Agent], samples: &[Arc<Samples>]) -> Vec<Local> {
    let each = agents.iter().zip(samples).map(|(agent, samples)| {
        // Half of the values asked for are differences; each is taken for every sample.
        let quotients = agent.oracle_calls() / 2 * samples.count() as u64;
        Local {
            agent: agent.name().into(),
            rows: samples.count(),
            finished_exactly: agent.finished_exactly(),
            clipped_fraction: agent.clipped() as f64 / quotients.max(1) as f64,
        }
    });
    each.collect()
}

/// Records, shows progress, keeps the ledgers and listens for Ctrl-C, outside the algorithm.
struct Watch<'a> {
    config: &'a Config,
    progress: &'a Progress,
    recorder: Recorder<'a>,
    trace: TraceFile<'a>,
    early: EarlyStop,
    ledgers: Vec<LedgerFile>,
    failure: Option<Error>,
    rounds_done: u64,
    /// Time spent watching, which is not the algorithm's.
    watching: Duration,
}

impl Observer for Watch<'_> {
    fn round(&mut self, view: &RoundView<'_>) -> ControlFlow<()> {
        let started = Instant::now();
        self.rounds_done = view.round;
        let mut flow = self.recorder.round(view);
        let recorded = !self.recorder.records.is_empty();
        if self.config.run.stop_tolerance > 0.0 && self.early.round(view).is_break() {
            flow = ControlFlow::Break(());
        }
        if interrupt::asked() {
            flow = ControlFlow::Break(());
        }
        // The last round of a run that stops early is recorded, too.
        if flow.is_break() && !recorded {
            self.recorder.record(view);
        }
        // What is on its way to the disk is not kept.
        if let Err(error) = self.trace.append(&self.recorder.records) {
            self.failure = Some(error);
            flow = ControlFlow::Break(());
        }
        self.recorder.records.clear();
        self.progress.tick();
        self.watching += started.elapsed();
        flow
    }

    fn persist(&mut self, agent: usize, entry: &Entry) -> ControlFlow<()> {
        match self.ledgers.get_mut(agent).map(|file| file.keep(entry)) {
            Some(Err(error)) => {
                self.failure = Some(error);
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Every n-th round is recorded: all of them, unless that would be a quarter of a million records,
/// or more work than the rounds themselves. To record a round is to look at everybody's rows once
/// for every agent.
fn record_every(config: &Config, plan: &Plan) -> u64 {
    const MOST_RECORDS: u64 = 250_000;
    /// Passes over its own rows that an agent may be thought to take in a round, where they are
    /// not counted.
    const USUAL_PASSES: u64 = 100;
    let inner = plan.agents().first().and_then(|agent| agent.inner);
    let passes = inner.map_or(USUAL_PASSES, |inner| inner.oracle_calls(inner.inner_steps));
    let agents = plan.agents().len() as u64;
    match config.run.record_every {
        0 => {
            let records = config.run.trials as u64 * plan.rounds() * agents;
            records.div_ceil(MOST_RECORDS).max(agents.div_ceil(passes)).max(1)
        }
        every => every,
    }
}
