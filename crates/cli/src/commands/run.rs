//! `dzoa run`: the path of the data, top to bottom.
//!
//! config -> rows -> agents -> rounds -> trace -> summary, model, report.

use super::compare::{accuracy, normalised_error};
use super::summarise::summarise;
use crate::agents::{self, Promise};
use crate::args::RunArgs;
use crate::config::{Config, Mechanism, Solver, Source};
use crate::error::{Error, Result};
use crate::external;
use crate::files::{describe, output_directory, write_files};
use crate::inner::{Noise, inner_loops, measured_noise};
use crate::instance::Instances;
use crate::interrupt;
use crate::ledger_file::{self, LedgerFile};
use crate::progress::Progress;
use crate::trace_file::{Spending, TraceFile};
use dzoa::baselines::Needs;
use dzoa::prelude::*;
use dzoa::privacy::{Budget, EarlierRuns, Entry, Event, Ledger, RunId};
use dzoa::problem::Failure;
use dzoa::reference::Optimum;
use dzoa::simulate::{Costs, Fleet};
use dzoa::trace::{EarlyStop, Recorder, mean};
use rayon::prelude::*;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Simulates all agents and writes the files of the run.
pub fn run(args: &RunArgs) -> Result<()> {
    let source = Source::load(args.common.config.as_deref(), &args.common.sets)?;
    if let Some(programs) = source.external()? {
        return external::run(args, &programs);
    }
    let mut config = source.config()?;
    let out = output_directory(args.common.out.as_deref(), &config.name)?;
    let streams = config.streams()?;
    let pool = config.thread_pool()?;
    let instances = Instances::prepare(&config, &streams)?;
    agents::apply_public_rule(&mut config, &instances);
    check_agents(&config, &instances)?;
    let ledgers = open_ledgers(args, &config, &instances, &streams.trial(0))?;
    interrupt::listen();

    let total = config.run.trials as u64 * config.algorithm.admm.rounds;
    let progress = Progress::new(total, &format!("{}: solving", config.name));
    // Ledgers go with a single trial.
    let mut ledgers = vec![ledgers];
    ledgers.resize_with(config.run.trials, Vec::new);
    let stage = Stage::new(&config, &instances, &progress, &out);
    let trials: Vec<Trial> = pool.install(|| {
        ledgers
            .into_par_iter()
            .enumerate()
            .map(|(trial, ledgers)| {
                let streams = streams.trial(trial as u64);
                let spent = ledgers.iter().map(|file| file.ledger.clone()).collect();
                Trial::run(&stage, (spent, ledgers), &streams, trial, |fleet, watch| {
                    Ok(fleet.run(watch))
                })
            })
            .collect::<Result<_>>()
    })?;
    progress.finish();

    let earlier_runs = match args.ledger {
        Some(_) => EarlierRuns::Counted,
        None => EarlierRuns::NotCounted,
    };
    let summary = summarise(&config, &instances, &trials, earlier_runs);
    write_files(&out, &config, &instances, &trials, &summary)?;
    if args.common.json {
        super::print_json(&summary)?;
    } else {
        super::print(&describe(&summary, &out))?;
    }
    outcome(&trials, &out)
}

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
    /// Per agent.
    pub promises: Vec<Promise>,
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
    /// The same in every trial.
    spending: OnceLock<Spending>,
}

impl<'a> Stage<'a> {
    /// For trials that leave their traces in a directory, which is made when the first of them begins.
    pub fn new(
        config: &'a Config,
        instances: &'a Instances,
        progress: &'a Progress,
        out: &'a Path,
    ) -> Self {
        Self { config, instances, progress, out, spending: OnceLock::new() }
    }
}

impl Trial {
    /// Builds the agents, lets `drive` run them to the end, and measures.
    pub fn run(
        stage: &Stage<'_>,
        (spent, ledgers): (Vec<Ledger>, Vec<LedgerFile>),
        streams: &Streams,
        trial: usize,
        drive: impl FnOnce(&mut dyn Fleet, &mut dyn Observer) -> Result<Status>,
    ) -> Result<Self> {
        let Stage { config, instances, progress, out, ref spending } = *stage;
        let problem = instances.problem(streams);
        let optimum = match reference::optimum(&problem) {
            Ok(optimum) => Some(optimum),
            Err(error) => {
                progress.say(&format!("no reference optimum: {error}"));
                None
            }
        };
        let graph = &instances.graph;
        let inner = inner_loops(config, &problem, graph, optimum.as_ref())?;
        let promises = agents::promises(config, &problem, graph)?;
        let charged = (promises.as_slice(), spent);
        let mut fleet = agents::build(config, &problem, graph, &inner, charged, streams)?;

        if trial == 0 {
            progress.say(&format!("{}: running", config.name));
        }
        let rounds = config.algorithm.admm.rounds;
        let every = record_every(config, graph.len());
        let spending = spending.get_or_init(|| Spending::new(config, &promises));
        let mut watch = Watch {
            config,
            progress,
            trace: TraceFile::create(out, trial, graph.names(), spending)?,
            recorder: Recorder::new(&problem, optimum.as_ref(), every, rounds),
            early: EarlyStop::new(config.run.stop_tolerance),
            ledgers,
            failure: None,
            rounds_done: 0,
            watching: Duration::ZERO,
        };
        let started = Instant::now();
        let status = drive(&mut *fleet, &mut watch)?;
        let Watch { trace, failure, rounds_done, watching, .. } = watch;
        if let Some(failure) = failure {
            return Err(failure);
        }
        let (trace, errors) = trace.finish()?;
        let elapsed = started.elapsed().saturating_sub(watching);

        let estimates: Vec<Vec<f64>> = (0..fleet.len()).map(|k| fleet.estimate(k)).collect();
        let noise = match (trial, status == Status::Finished) {
            (0, true) => measured_noise(config, &problem, graph, &*fleet, &inner, streams),
            _ => Vec::new(),
        };
        Ok(Self {
            status,
            rounds_done,
            errors,
            trace,
            objective: problem.value(&mean(&estimates)),
            costs: fleet.costs(),
            step_raised: fleet.agents().iter().any(Agent::step_raised),
            moved_inside: fleet.agents().iter().map(Agent::moved_inside).sum(),
            elapsed,
            accuracy: accuracy(&problem, &mean(&estimates)),
            final_error: optimum.as_ref().and_then(|optimum| normalised_error(&estimates, optimum)),
            local: fleet.agents().iter().zip(&problem.agents).map(local_values).collect(),
            noise,
            promises,
            ledgers: (0..fleet.len()).map(|k| fleet.ledger(k).clone()).collect(),
            runs: (0..fleet.len()).map(|k| fleet.run_id(k)).collect(),
            needs: fleet.lockstep().map(|lockstep| lockstep.needs()).unwrap_or_default(),
            optimum,
            estimates,
        })
    }
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

fn local_values((agent, samples): (&Agent, &Arc<Samples>)) -> Local {
    // Half of the values asked for are differences; each is taken for every sample.
    let quotients = agent.oracle_calls() / 2 * samples.count() as u64;
    Local {
        agent: agent.name().into(),
        rows: samples.count(),
        finished_exactly: agent.finished_exactly(),
        clipped_fraction: agent.clipped() as f64 / quotients.max(1) as f64,
    }
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

/// The ledgers of `--ledger`, one per agent, opened before anything is computed.
fn open_ledgers(
    args: &RunArgs,
    config: &Config,
    instances: &Instances,
    streams: &Streams,
) -> Result<Vec<LedgerFile>> {
    let Some(dir) = &args.ledger else { return Ok(Vec::new()) };
    if config.run.seed.is_some() {
        return Err(Error::input("--ledger: a seeded run has no guarantee that could be charged")
            .hint("remove run.seed: whoever knows it can subtract the noise"));
    }
    if config.run.trials > 1 {
        return Err(Error::input(format!(
            "--ledger: {} trials would release everything that often",
            config.run.trials
        ))
        .hint("set run.trials = 1"));
    }
    let planned = config.privacy.mechanism.planned();
    let budget = planned
        .map(|planned| Budget { epsilon: args.budget.unwrap_or(planned.epsilon), ..planned });
    let problem = instances.problem(streams);
    let promises = agents::promises(config, &problem, &instances.graph)?;
    let names = instances.graph.names();
    if let Some(name) =
        names.iter().find(|name| name.contains(['/', '\\']) || name.starts_with('.'))
    {
        return Err(Error::input(format!(
            "--ledger: agent {} cannot name a file",
            crate::error::shown(name)
        ))
        .hint("give the agent a name of letters and digits"));
    }
    let lasts = |ledger: &Ledger, promise: &Promise, path: &Path| match args.spend_what_is_left {
        true => Ok(()),
        false => affordable(ledger, promise.charged(config.algorithm.admm.rounds))
            .map_err(|error| error.at(&path.display().to_string())),
    };
    let mut ledgers = Vec::new();
    for (name, promise) in names.iter().zip(&promises) {
        let path = dir.join(format!("{name}.ledger"));
        if args.new_ledger {
            // Before there is a file: a refusal writes nothing.
            lasts(&LedgerFile::unwritten(name, budget)?, promise, &path)?;
            ledgers.push(LedgerFile::create(&path, name, budget)?);
        } else {
            let file = LedgerFile::open(&path, Some(name))?;
            lasts(&file.ledger, promise, &path)?;
            ledgers.push(file);
        }
    }
    // Only now, when all of them are known to last, does the run begin in any of them.
    for (file, samples) in ledgers.iter_mut().zip(&problem.agents) {
        let run = ledger_file::Run { id: streams.run_id(), samples, planned, note: &config.name };
        if let Some(word) = file.begin(&run)? {
            eprintln!("note: {word}");
        }
    }
    Ok(ledgers)
}

/// Refuses a run that the budget does not last for: half of one is charged all the same, and gives a model that nobody
/// asked for.
pub fn affordable<'a>(ledger: &Ledger, charges: impl IntoIterator<Item = &'a Event>) -> Result<()> {
    ledger.affords(charges).map_err(|refused| {
        Error::input(refused.to_string()).hint(
            "lower privacy.total_epsilon or algorithm.rounds; --spend-what-is-left runs until the budget ends",
        )
    })
}

/// Every n-th round is recorded: all of them, unless that would be a quarter of a million records, or more work than the
/// rounds themselves. To record a round is to look at everybody's rows once for every agent.
fn record_every(config: &Config, agents: usize) -> u64 {
    const MOST_RECORDS: u64 = 250_000;
    /// Looks at its own rows that an agent may be thought to take in a round, where they are not counted.
    const USUAL_LOOKS: u64 = 100;
    let looks = match &config.algorithm.solver {
        Solver::ZerothOrder { inner, .. } => inner.oracle_calls(inner.inner_steps),
        Solver::Exact { .. } | Solver::Baseline(_) => USUAL_LOOKS,
    };
    match config.run.record_every {
        0 => {
            let records = config.run.trials as u64 * config.algorithm.admm.rounds * agents as u64;
            records.div_ceil(MOST_RECORDS).max((agents as u64).div_ceil(looks)).max(1)
        }
        every => every,
    }
}

/// Arrays with one number per agent must fit the agents.
pub fn check_agents(config: &Config, instances: &Instances) -> Result<()> {
    let agents = instances.graph.len();
    if let Solver::ZerothOrder { step, lipschitz, .. } = &config.algorithm.solver {
        lipschitz.check("algorithm.lipschitz", agents)?;
        if let Some(step) = step {
            step.check("algorithm.step", agents)?;
        }
    }
    if let Mechanism::Intrinsic { c, .. } = &config.privacy.mechanism {
        c.check("privacy.c", agents)?;
    }
    Ok(())
}

/// Whether the run counts as done.
pub fn outcome(trials: &[Trial], out: &Path) -> Result<()> {
    let bad = trials.iter().enumerate().find(|(_, trial)| trial.status != Status::Finished);
    let Some((index, trial)) = bad else { return Ok(()) };
    let which = if trials.len() > 1 { format!(" (trial {})", index + 1) } else { String::new() };
    match &trial.status {
        Status::Finished => Ok(()),
        // An early stop by the stopping rule is a success; only Ctrl-C is not.
        Status::Stopped { .. } if !interrupt::asked() => Ok(()),
        Status::Stopped { round } => Err(Error::run(format!(
            "stopped by Ctrl-C after round {round}{which}; what is done is in {}",
            out.display()
        ))),
        status => Err(Error::run(format!("{status}{which}")).hint(way_out(status))),
    }
}

/// What to do about a run that failed.
pub fn way_out(status: &Status) -> &'static str {
    match status {
        Status::Finished | Status::Stopped { .. } => "start it again",
        Status::NonFinite { .. } => {
            "the steps are too long: raise algorithm.lipschitz (L), or lower algorithm.step where it is given"
        }
        Status::Diverged { .. } => {
            "the steps are too long: raise algorithm.lipschitz (L), or lower algorithm.step where it is given"
        }
        Status::ObjectiveFailed { failure: Failure::OutOfEvaluations { .. }, .. } => {
            "raise the budget of evaluations, or take fewer rounds, inner steps or directions"
        }
        Status::ObjectiveFailed { .. } => {
            "the objective must give a finite value at every point it is asked for"
        }
        Status::BudgetExhausted { .. } => {
            "what was released stays released; a larger budget needs a new decision of the data's owner"
        }
        Status::NotCertified { .. } => "raise algorithm.options.tolerance, or algorithm.rho",
    }
}
