//! One repetition of a simulated run: agents, rounds, and what is measured.

use crate::config::Config;
use crate::interrupt;
use crate::objectives::{Objectives, plan};
use crate::progress::Progress;
use dzoa::baselines::Needs;
use dzoa::inference::{Inference, NoInference};
use dzoa::plan::{Boxes, Data, Forecast, MeasuredNoise, Plan, Spending};
use dzoa::prelude::*;
use dzoa::privacy::{Entry, Ledger, RunId};
use dzoa::reference::{Optimum, ReferenceError, ReferenceWish};
use dzoa::run::evaluate::{Fit, NormalisedError, mean};
use dzoa::run::{BestSeen, Costs, EarlyStop, Simulation};
use dzoa_lab::{Recorded, Recording};
use dzoa_report::ledger_file::LedgerFile;
use dzoa_report::{TraceFile, TraceOf, refused};
use dzoa_table::{Error, Result};
use rayon::prelude::*;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// One repetition.
pub struct Trial {
    /// How it ended.
    pub status: Status,
    /// Whether Ctrl-C ended it.
    pub interrupted: bool,
    /// Rounds that all agents finished.
    pub rounds_done: u64,
    /// The paper's metric in every recorded round.
    pub errors: Vec<(u64, f64)>,
    /// The file with all that was recorded.
    pub trace: PathBuf,
    /// The sum of the objectives at the mean model; nothing where a program gave no value.
    pub objective: Option<f64>,
    /// The largest distance of an agent from the mean model.
    pub consensus: Option<f64>,
    /// Of programs: the best point seen.
    pub best: Option<BestSeen>,
    /// What to say about a result that is worse than the start.
    pub divergence: Option<String>,
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
    /// What was measured on the rows, where there are rows.
    pub on_rows: Option<OnRows>,
    /// What was decided, in the first trial: others differ in rows only.
    pub plan: Option<Plan>,
    /// Per agent.
    pub ledgers: Vec<Ledger>,
    /// Per agent: what its charges are made for.
    pub runs: Vec<RunId>,
    /// What the algorithm takes.
    pub needs: Needs,
}

/// What only somebody with everybody's rows can measure.
pub struct OnRows {
    /// The centralised optimum, where there is one.
    pub optimum: Option<Optimum>,
    /// How well the mean model fits all rows.
    pub fit: Option<Fit>,
    /// How sure every coefficient is, where that was asked for; of the first trial.
    pub inference: Option<std::result::Result<Inference, NoInference>>,
    /// The paper's metric of what the agents report in the end.
    pub final_error: Option<f64>,
    /// Per agent, of the first trial if it finished.
    pub noise: Vec<MeasuredNoise>,
    /// Per agent: values that depend on its rows and stay with it.
    pub local: Vec<Local>,
}

/// What all trials of a run share.
pub struct Stage<'a> {
    config: &'a Config,
    objectives: &'a Objectives<'a>,
    progress: &'a Progress,
    /// Where its files go.
    out: &'a Path,
    /// Every n-th round is recorded.
    every: u64,
    /// What is spent round by round: the same in every trial.
    spending: Spending,
    /// Trials that came to their end.
    ended: AtomicUsize,
}

impl<'a> Stage<'a> {
    /// For trials that leave their traces in a directory, which is made when the first of them
    /// begins.
    pub fn new(
        config: &'a Config,
        objectives: &'a Objectives<'a>,
        forecast: &Forecast,
        progress: &'a Progress,
        out: &'a Path,
    ) -> Self {
        let every = match config.run.record_every {
            0 => forecast.record_every(config.run.trials as u64),
            every => every,
        };
        let (spending, ended) = (forecast.spending(), AtomicUsize::new(0));
        Self { config, objectives, progress, out, every, spending, ended }
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
        let Stage { config, objectives, progress, out, every, ref spending, ref ended } = *stage;
        let data = objectives.data(&config.spec, streams)?;
        let optimum = data.problem().and_then(|problem| optimum_of(problem, config, progress));
        let graph = objectives.graph();
        let plan = plan(&config.spec, &data, graph, optimum.as_ref()).map_err(refused)?;
        let mut simulation = plan.simulation(books.spent, streams).map_err(refused)?;

        if trial == 0 && objectives.rows().is_some() {
            progress.say(&format!("{}: running", config.name));
        }
        let file = TraceFile::create(out, trial, trace_of(&data), graph.names(), spending)?;
        let rounds = plan.rounds();
        let recording = Recording::new(file, &data, optimum.as_ref(), every, rounds);
        // The first trial has what the summary of the others needs.
        let mut watch = Watch::new(stage, recording, rounds, (trial == 0).then_some(ended));
        watch.ledgers = books.files;
        let started = Instant::now();
        let status = drive(&mut *simulation, &mut watch)?;
        let Watch { recording, failure, rounds_done, watching, interrupted, .. } = watch;
        let elapsed = started.elapsed().saturating_sub(watching);
        if let Some(failure) = failure {
            return Err(failure);
        }
        ended.fetch_add(usize::from(!interrupted), Ordering::Relaxed);
        let agents = 0..simulation.len();
        let estimates: Vec<Vec<f64>> = agents.clone().map(|k| simulation.estimate(k)).collect();
        let Recorded { trace, errors, objective, consensus, best, divergence } =
            recording.finish(&estimates)?;
        let (estimates, best) = outside(&data, estimates, best);
        let on_rows = data.problem().map(|problem| {
            let noise = match (trial, &status) {
                (0, Status::Finished) => measured_noise(&plan, simulation.agents(), streams),
                _ => Vec::new(),
            };
            OnRows {
                noise,
                fit: Fit::of_problem(problem, &mean(&estimates), objectives.target_unit()),
                inference: (trial == 0).then(|| plan.inference()).flatten(),
                ..OnRows::new(problem, optimum, &estimates, simulation.agents())
            }
        });
        Ok(Self {
            status,
            interrupted,
            rounds_done,
            errors,
            trace,
            objective,
            consensus,
            best,
            divergence,
            costs: costs(&*simulation, &data),
            step_raised: simulation.agents().iter().any(Agent::step_raised),
            moved_inside: simulation.agents().iter().map(Agent::moved_inside).sum(),
            elapsed,
            on_rows,
            plan: (trial == 0).then_some(plan),
            ledgers: agents.clone().map(|k| simulation.ledger(k).clone()).collect(),
            runs: agents.map(|k| simulation.run_id(k)).collect(),
            needs: simulation.lockstep().map(|lockstep| lockstep.needs()).unwrap_or_default(),
            estimates,
        })
    }
}

impl Trial {
    /// The centralised optimum, where there is one.
    pub fn optimum(&self) -> Option<&Optimum> {
        self.on_rows.as_ref()?.optimum.as_ref()
    }
}

impl OnRows {
    /// Of what the agents report in the end; their noise and fit are measured apart.
    fn new(
        problem: &Problem,
        optimum: Option<Optimum>,
        estimates: &[Vec<f64>],
        agents: &[Agent],
    ) -> Self {
        let known = optimum.as_ref().and_then(|known| NormalisedError::new(&known.coefficients));
        Self {
            fit: None,
            inference: None,
            final_error: known.map(|error| error.by_coordinate(estimates)),
            noise: Vec::new(),
            local: local_values(agents, &problem.agents),
            optimum,
        }
    }
}

/// What agents report and the best point, as the programs take them.
fn outside(
    data: &Data,
    estimates: Vec<Vec<f64>>,
    best: Option<BestSeen>,
) -> (Vec<Vec<f64>>, Option<BestSeen>) {
    let Data::Boxes(Boxes { variables: Some(variables), .. }) = data else {
        return (estimates, best);
    };
    let best = best.map(|best| BestSeen { point: variables.outside(&best.point), ..best });
    (estimates.iter().map(|estimate| variables.outside(estimate)).collect(), best)
}

fn trace_of(data: &Data) -> TraceOf {
    match data {
        Data::Rows(_) => TraceOf::Rows,
        Data::Boxes(_) => TraceOf::Boxes,
    }
}

/// What it took. Boxes count themselves what was asked of them, before the first round, too.
fn costs(simulation: &dyn Simulation, data: &Data) -> Costs {
    let costs = simulation.costs();
    match data {
        Data::Rows(_) => costs,
        Data::Boxes(known) => {
            Costs { oracle_calls: known.boxes.iter().map(|b| b.evaluations()).sum(), ..costs }
        }
    }
}

/// The noise of every agent; nothing where no noise is claimed.
fn measured_noise(plan: &Plan, agents: &[Agent], streams: &Streams) -> Vec<MeasuredNoise> {
    let each = agents.par_iter().enumerate();
    each.filter_map(|(k, agent)| plan.measured_noise(k, agent, streams)).collect()
}

fn optimum_of(problem: &Problem, config: &Config, progress: &Progress) -> Option<Optimum> {
    let wish = match config.spec.mechanism.needs_optimum() {
        true => ReferenceWish::Always,
        false => config.run.reference,
    };
    reference::wished_optimum(problem, wish)
        .inspect_err(|error| match error {
            ReferenceError::NotAsked => {}
            error => progress.say(&format!("no reference optimum: {error}")),
        })
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
    progress: &'a Progress,
    recording: Recording<'a>,
    early: Option<EarlyStop>,
    ledgers: Vec<LedgerFile>,
    failure: Option<Error>,
    rounds_done: u64,
    /// Time spent watching, which is not the algorithm's.
    watching: Duration,
    /// Trials that ended, where they need this one to come to its end, too.
    needed_by: Option<&'a AtomicUsize>,
    rounds: u64,
    interrupted: bool,
}

impl<'a> Watch<'a> {
    fn new(
        stage: &Stage<'a>,
        recording: Recording<'a>,
        rounds: u64,
        needed_by: Option<&'a AtomicUsize>,
    ) -> Self {
        let tolerance = stage.config.run.stop_tolerance;
        Self {
            progress: stage.progress,
            recording,
            early: (tolerance > 0.0).then(|| EarlyStop::new(tolerance)),
            ledgers: Vec::new(),
            failure: None,
            rounds_done: 0,
            watching: Duration::ZERO,
            needed_by,
            rounds,
            interrupted: false,
        }
    }

    /// Ends the run if something could not be written.
    fn written(&mut self, written: Result<()>) -> ControlFlow<()> {
        match written {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.failure = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}

impl Observer for Watch<'_> {
    fn round(&mut self, view: &RoundView<'_>) -> ControlFlow<()> {
        let started = Instant::now();
        self.rounds_done = view.round;
        let still = self.early.as_mut().is_some_and(|early| early.round(view).is_break());
        let needed = self.needed_by.is_some_and(|ended| ended.load(Ordering::Relaxed) > 0);
        let over = still || view.round >= self.rounds;
        self.interrupted = interrupt::asked() && !over && !needed;
        let last = still || self.interrupted;
        let written = self.recording.round(view, last);
        let flow = self.written(written);
        self.progress.tick();
        self.watching += started.elapsed();
        if last { ControlFlow::Break(()) } else { flow }
    }

    fn persist(&mut self, agent: usize, entry: &Entry) -> ControlFlow<()> {
        let written = self.ledgers.get_mut(agent).map_or(Ok(()), |file| file.keep(entry));
        self.written(written)
    }
}
