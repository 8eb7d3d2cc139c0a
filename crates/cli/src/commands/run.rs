//! `dzoa run`: the path of the data, top to bottom.
//!
//! config -> rows -> agents -> rounds -> trace -> summary, model, report.

use crate::args::RunArgs;
use crate::config::{self, Config, Mechanism, OptimumNorm, Solver};
use crate::error::{Error, Result};
use crate::instance::Instances;
use crate::model::{Coefficient, Model};
use crate::progress::Progress;
use crate::summary::{PrivacyEntry, Summary};
use crate::{interrupt, plot, report};
use dzoa::admm::RoundContext;
use dzoa::agent::Average;
use dzoa::prelude::*;
use dzoa::privacy::{Claim, Event, calibrate, gaussian};
use dzoa::reference::Optimum;
use dzoa::simulate::Releases;
use dzoa::trace::{EarlyStop, Record, Recorder, mean};
use dzoa::zeroth_order::measure_noise;
use rayon::prelude::*;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Repetitions of an inner loop at frozen inputs when its noise is measured.
const REPLICATES: u64 = 64;

/// Simulates all agents and writes the files of the run.
pub fn run(args: &RunArgs) -> Result<()> {
    let config = Config::load(args.config.as_deref(), &args.sets)?;
    let out = output_directory(args.out.as_deref(), &config.name)?;
    let streams = match config.run.seed {
        Some(seed) => Streams::from_seed(seed),
        None => Streams::from_os()
            .map_err(|error| Error::run(format!("the operating system has no entropy: {error}")))?,
    };
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(config.run.threads)
        .build()
        .map_err(|error| Error::run(format!("cannot start threads: {error}")))?;
    let instances = Instances::prepare(&config, &streams)?;
    check_agents(&config, &instances)?;
    interrupt::listen();

    let total = config.run.trials as u64 * config.algorithm.admm.rounds;
    let progress = Progress::new(total, &format!("{}: solving", config.name));
    let trials: Vec<Trial> = pool.install(|| {
        (0..config.run.trials)
            .into_par_iter()
            .map(|trial| {
                let streams = streams.trial(trial as u64);
                Trial::run(&config, &instances, &streams, trial, &progress)
            })
            .collect::<Result<_>>()
    })?;
    progress.finish();

    let summary = summarise(&config, &instances, &trials);
    write_files(&out, &config, &instances, &trials, &summary)?;
    if args.json {
        super::print_json(&summary)?;
    } else {
        super::print(&describe(&summary, &out))?;
    }
    outcome(&trials, &out)
}

/// One repetition.
struct Trial {
    status: Status,
    rounds_done: u64,
    records: Vec<Record>,
    optimum: Option<Optimum>,
    objective: f64,
    estimates: Vec<Vec<f64>>,
    oracle_calls: u64,
    step_raised: bool,
    elapsed: Duration,
    /// Per agent, in the first trial: assumed and measured.
    noise: Vec<(f64, Option<f64>)>,
}

impl Trial {
    fn run(
        config: &Config,
        instances: &Instances,
        streams: &Streams,
        trial: usize,
        progress: &Progress,
    ) -> Result<Self> {
        let problem = instances.problem(streams);
        let optimum = match reference::optimum(&problem) {
            Ok(optimum) => Some(optimum),
            Err(error) => {
                progress.say(&format!("no reference optimum: {error}"));
                None
            }
        };
        let graph = &instances.graph;
        let admm = Admm { self_loop: config.network.self_loop, ..config.algorithm.admm };
        let inner = inner_loops(config, &problem, graph, optimum.as_ref())?;
        let releases = Releases { event: event(config), average: agent_average(config) };
        let built = match &config.algorithm.solver {
            Solver::ZerothOrder { .. } => {
                zeroth_order_agents(&problem, graph, admm, &inner, releases, streams)
            }
            Solver::Exact { tolerance } => exact_agents(&problem, graph, admm, *tolerance, streams),
        };
        let mut agents = built.map_err(|error| {
            Error::input(error.to_string()).hint("every agent needs rows and a neighbourhood")
        })?;

        if trial == 0 {
            progress.say(&format!("{}: running", config.name));
        }
        let rounds = admm.rounds;
        let every = record_every(config, graph.len());
        let mut recorder = Recorder::new(&problem, optimum.as_ref(), every, rounds);
        let mut early = EarlyStop::new(config.run.stop_tolerance);
        let mut watching = Duration::ZERO;
        let mut rounds_done = 0;
        let started = Instant::now();
        let status = simulate(&mut agents, &mut |view: &RoundView<'_>| {
            let watch = Instant::now();
            rounds_done = view.round;
            let mut flow = recorder.round(view);
            if config.run.stop_tolerance > 0.0 && early.round(view).is_break() {
                flow = ControlFlow::Break(());
            }
            if interrupt::asked() {
                flow = ControlFlow::Break(());
            }
            // The last round of a run that stops early is recorded, too.
            let recorded = recorder.records.last().map(|record| record.round);
            if flow.is_break() && recorded != Some(view.round) {
                recorder.record(view);
            }
            progress.tick();
            watching += watch.elapsed();
            flow
        });
        let elapsed = started.elapsed().saturating_sub(watching);

        let mut estimates: Vec<Vec<f64>> = agents.iter().map(Agent::estimate).collect();
        if config.algorithm.average == config::Average::Network {
            let average = mean(&estimates);
            estimates.fill(average);
        }
        let noise = match (trial, status == Status::Finished) {
            (0, true) => measured_noise(config, &problem, &agents, &inner, streams),
            _ => Vec::new(),
        };
        Ok(Self {
            status,
            rounds_done,
            records: recorder.records,
            objective: problem.value(&mean(&estimates)),
            optimum,
            estimates,
            oracle_calls: agents.iter().map(Agent::oracle_calls).sum(),
            step_raised: agents.iter().any(Agent::step_raised),
            elapsed,
            noise,
        })
    }
}

/// How every release of this mechanism is charged.
fn event(config: &Config) -> Event {
    match config.privacy.mechanism {
        Mechanism::Intrinsic { epsilon, delta, .. } => Event::Nominal { epsilon, delta },
        Mechanism::None => Event::Unprotected,
    }
}

fn agent_average(config: &Config) -> Average {
    match config.algorithm.average {
        config::Average::None => Average::None,
        config::Average::LastHalf | config::Average::Network => Average::LastHalf,
    }
}

/// Every n-th round is recorded: all of them, unless that would be a quarter of a million records.
fn record_every(config: &Config, agents: usize) -> u64 {
    const MOST_RECORDS: u64 = 250_000;
    match config.run.record_every {
        0 => {
            let records = config.run.trials as u64 * config.algorithm.admm.rounds * agents as u64;
            records.div_ceil(MOST_RECORDS).max(1)
        }
        every => every,
    }
}

/// c1 for Lemma 3, and whether it is true. The paper takes 1 for the squared loss, which has none.
fn c1(problem: &Problem) -> (f64, bool) {
    problem.loss.lipschitz().map_or((1.0, false), |c1| (c1, true))
}

fn sensitivity(config: &Config, problem: &Problem, instances_graph: &Graph, k: usize) -> f64 {
    let neighbourhood = instances_graph.neighbourhood(k, config.network.self_loop);
    let samples = problem.agents[k].count();
    calibrate::lemma3_sensitivity(c1(problem).0, config.algorithm.admm.rho, neighbourhood, samples)
}

/// The inner loop of every agent, its step size from Corollary 1 (`intrinsic`), from the config, or
/// from the stability rule of [`default_step`].
fn inner_loops(
    config: &Config,
    problem: &Problem,
    graph: &Graph,
    optimum: Option<&Optimum>,
) -> Result<Vec<ZerothOrder>> {
    let Solver::ZerothOrder { inner, step, lipschitz } = &config.algorithm.solver else {
        return Ok(Vec::new());
    };
    (0..graph.len())
        .map(|k| {
            let inner = ZerothOrder { lipschitz: lipschitz.at(k), ..*inner };
            let alpha0_times_r = match (&config.privacy.mechanism, step) {
                (Mechanism::Intrinsic { epsilon, delta, c, optimum_norm }, _) => {
                    let optimum_norm_squared = match (optimum_norm, optimum) {
                        (OptimumNorm::Bound(bound), _) => *bound,
                        (OptimumNorm::Replicate, Some(optimum)) => {
                            optimum.coefficients.iter().map(|b| b * b).sum()
                        }
                        (OptimumNorm::Replicate, None) => {
                            return Err(Error::input(
                                "`privacy.optimum_norm_squared` is \"replicate\", but the problem has no reference optimum",
                            )
                            .hint("give a public bound, or 0"));
                        }
                    };
                    calibrate::Corollary1 {
                        sensitivity: sensitivity(config, problem, graph, k),
                        delta: *delta,
                        features: problem.dim(),
                        directions: inner.directions,
                        inner_steps: inner.inner_steps,
                        c: c.at(k),
                        optimum_norm_squared,
                    }
                    .alpha0_times_r(*epsilon)
                }
                (Mechanism::None, Some(step)) => step.at(k),
                (Mechanism::None, None) => default_step(config, problem, graph, k, &inner),
            };
            Ok(ZerothOrder { alpha0_times_r, ..inner })
        })
        .collect()
}

/// The step size where nobody gave one: the first step is the longest that is stable.
///
/// For a quadratic of curvature h the two-point estimate with J directions in P dimensions contracts
/// for steps below `2/(h (1 + (P + 1)/J))`; half of that is taken. h is bounded without looking at the
/// data: `2 rho |N_k|` from the Lagrangian, and the loss's curvature for rows in the unit ball.
fn default_step(
    config: &Config,
    problem: &Problem,
    graph: &Graph,
    k: usize,
    inner: &ZerothOrder,
) -> f64 {
    let loss = match problem.loss.name() {
        "squared" => 2.0,
        "logistic" => 0.25,
        // Kinks are smoothed over the width u1: a slope change of at most 2 c1 over it.
        _ => 1.0_f64.max(problem.loss.lipschitz().unwrap_or(1.0) / inner.smoothing),
    };
    let weight = problem.sample_weight(k) * problem.agents[k].count() as f64;
    let neighbourhood = graph.neighbourhood(k, config.network.self_loop) as f64;
    let curvature = 2.0 * config.algorithm.admm.rho * neighbourhood + weight * loss;
    let p = problem.dim() as f64;
    let longest = 1.0 / (curvature * (1.0 + (p + 1.0) / inner.directions as f64));
    longest * inner.lipschitz * (p * (2.0 * p).ln()).sqrt()
}

/// Assumed and measured noise of every agent, after the last round.
fn measured_noise(
    config: &Config,
    problem: &Problem,
    agents: &[Agent],
    inner: &[ZerothOrder],
    streams: &Streams,
) -> Vec<(f64, Option<f64>)> {
    let Mechanism::Intrinsic { epsilon, delta, .. } = config.privacy.mechanism else {
        return Vec::new();
    };
    agents
        .par_iter()
        .zip(inner)
        .enumerate()
        .map(|(k, (agent, inner))| {
            let neighbourhood = agent.neighbours().len() + usize::from(config.network.self_loop);
            let samples = problem.agents[k].count();
            let sensitivity = calibrate::lemma3_sensitivity(
                c1(problem).0,
                config.algorithm.admm.rho,
                neighbourhood,
                samples,
            );
            let zero = vec![0.0; problem.dim()];
            let start = if config.algorithm.admm.warm_start { agent.beta() } else { &zero };
            let context = RoundContext { agent: agent.name(), round: 0, streams };
            let lagrangian = agent.frozen_lagrangian();
            (
                calibrate::theorem1_sigma(sensitivity, epsilon, delta),
                measure_noise(inner, &lagrangian, start, REPLICATES, &context),
            )
        })
        .collect()
}

/// Arrays with one number per agent must fit the agents.
fn check_agents(config: &Config, instances: &Instances) -> Result<()> {
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

fn summarise(config: &Config, instances: &Instances, trials: &[Trial]) -> Summary {
    let graph = &instances.graph;
    let first = &trials[0];
    let finite = |value: f64| value.is_finite().then_some(value);
    let average = |values: Vec<f64>| finite(values.iter().sum::<f64>() / values.len() as f64);
    // Rounds that every trial recorded.
    let errors: Vec<Vec<(u64, f64)>> =
        trials.iter().map(|trial| Recorder::errors(&trial.records)).collect();
    let shortest = errors.iter().map(Vec::len).min().unwrap_or(0);
    let column = |i: usize| errors.iter().map(move |errors| errors[i].1);
    let error: Vec<Option<f64>> = (0..shortest).map(|i| average(column(i).collect())).collect();
    let failed = trials.iter().find(|trial| trial.status != Status::Finished);
    let optima: Option<Vec<f64>> =
        trials.iter().map(|trial| Some(trial.optimum.as_ref()?.objective)).collect();
    let gaps: Option<Vec<f64>> =
        trials.iter().map(|trial| trial.optimum.as_ref()?.certificate.duality_gap).collect();
    let rounds_done = trials.iter().map(|trial| trial.rounds_done).min().unwrap_or(0);
    let centre = mean(&first.estimates);
    let consensus = first.estimates.iter().map(|estimate| {
        estimate.iter().zip(&centre).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
    });
    Summary {
        name: config.name.clone(),
        status: status_word(failed.map_or(&Status::Finished, |trial| &trial.status)).into(),
        algorithm: config.algorithm.name().into(),
        mechanism: config.privacy.mechanism.name().into(),
        loss: config.problem.loss.name().into(),
        agent_names: graph.names().to_vec(),
        agents: graph.len(),
        edges: graph.edges().collect(),
        features: instances.columns.len(),
        rounds: config.algorithm.admm.rounds,
        rounds_done,
        trials: trials.len(),
        seed: config.run.seed,
        seeded: config.run.seed.is_some(),
        error_rounds: errors[0].iter().take(shortest).map(|(round, _)| *round).collect(),
        final_error: error.last().copied().flatten(),
        error,
        error_low: (0..shortest).map(|i| finite(column(i).fold(f64::INFINITY, f64::min))).collect(),
        error_high: (0..shortest).map(|i| finite(column(i).fold(0.0, f64::max))).collect(),
        objective: average(trials.iter().map(|trial| trial.objective).collect()),
        optimum: optima.and_then(average),
        optimum_gap: gaps.and_then(|gaps| finite(gaps.into_iter().fold(0.0, f64::max))),
        consensus: consensus.fold(0.0, f64::max),
        coefficients: first.estimates.clone(),
        columns: instances.columns.clone(),
        oracle_calls: trials.iter().map(|trial| trial.oracle_calls).sum(),
        step_raised: trials.iter().any(|trial| trial.step_raised),
        seconds: trials.iter().map(|trial| trial.elapsed.as_secs_f64()).sum(),
        privacy: privacy_entries(config, instances, first, rounds_done),
        config: config.given.clone(),
    }
}

fn privacy_entries(
    config: &Config,
    instances: &Instances,
    first: &Trial,
    rounds: u64,
) -> Vec<PrivacyEntry> {
    let graph = &instances.graph;
    let none = PrivacyEntry {
        claim: Claim::None,
        epsilon_per_round: None,
        epsilon_theorem2: None,
        epsilon_zcdp: None,
        epsilon_exact: None,
        delta: None,
        sigma_assumed: None,
        sigma_measured: None,
        sigma_measured_how: None,
        epsilon_if_measured_noise_were_gaussian: None,
        sensitivity: None,
        c1: None,
        c1_holds: None,
        adjacency: "replace-one".into(),
    };
    let Mechanism::Intrinsic { epsilon, delta, .. } = config.privacy.mechanism else {
        return vec![none; graph.len()];
    };
    // What the claim would cost if the noise were there, as perfect as Theorem 1 wants it.
    let multiplier = calibrate::theorem1_noise_multiplier(epsilon, delta);
    let mu = (rounds as f64).sqrt() / multiplier;
    let (c1, c1_holds) = match config.problem.loss.lipschitz() {
        Some(c1) => (c1, true),
        None => (1.0, false),
    };
    (0..graph.len())
        .map(|k| {
            let (assumed, measured) = first.noise.get(k).copied().unwrap_or((f64::NAN, None));
            let assumed = assumed.is_finite().then_some(assumed);
            let sensitivity = assumed.map(|sigma| sigma / multiplier);
            PrivacyEntry {
                claim: Claim::Nominal,
                epsilon_per_round: Some(epsilon),
                epsilon_theorem2: Some(calibrate::theorem2_epsilon(epsilon, delta, rounds)),
                epsilon_zcdp: Some(gaussian::zcdp_epsilon(0.5 * mu * mu, delta)),
                epsilon_exact: Some(gaussian::epsilon(delta, mu)),
                delta: Some(delta),
                sigma_assumed: assumed,
                sigma_measured: measured,
                sigma_measured_how: measured.map(|_| {
                    format!("{REPLICATES} repetitions of the inner loop at the inputs after the last round of the first trial")
                }),
                epsilon_if_measured_noise_were_gaussian: sensitivity.zip(measured).map(
                    |(sensitivity, sigma)| {
                        gaussian::epsilon(delta, (rounds as f64).sqrt() * sensitivity / sigma)
                    },
                ),
                sensitivity,
                c1: Some(c1),
                c1_holds: Some(c1_holds),
                ..none.clone()
            }
        })
        .collect()
}

fn status_word(status: &Status) -> &'static str {
    match status {
        Status::Finished => "finished",
        Status::Stopped { .. } => "stopped",
        Status::NonFinite { .. } => "non-finite",
        Status::NotCertified { .. } => "not-certified",
    }
}

/// `--out`, or `runs/NAME` with a number behind it where that exists. Nothing is created yet.
fn output_directory(out: Option<&Path>, name: &str) -> Result<PathBuf> {
    match out {
        Some(dir) if dir.join("summary.json").exists() || dir.is_file() => {
            Err(Error::input(format!("--out {}: holds another run", dir.display()))
                .hint("choose another directory; a run is never overwritten"))
        }
        Some(dir) => Ok(dir.to_path_buf()),
        None => {
            let plain = Path::new("runs").join(name);
            let numbered = (2..).map(|n| Path::new("runs").join(format!("{name}-{n}")));
            Ok(std::iter::once(plain)
                .chain(numbered)
                .find(|dir| !dir.exists())
                .expect("one of endless names is free"))
        }
    }
}

fn write_files(
    out: &Path,
    config: &Config,
    instances: &Instances,
    trials: &[Trial],
    summary: &Summary,
) -> Result<()> {
    let failed = |path: &Path, error: &dyn std::fmt::Display| {
        Error::run(format!("{}: cannot be written: {error}", path.display()))
    };
    std::fs::create_dir_all(out).map_err(|error| failed(out, &error))?;
    let write = |name: &str, content: &str| {
        let path = out.join(name);
        std::fs::write(&path, content).map_err(|error| failed(&path, &error))
    };
    let json = |value: &dyn erased::Json| value.pretty();
    write("trace.csv", &trace_csv(config, instances, trials))?;
    let pinball = config.given.pointer("/problem/quantile").and_then(serde_json::Value::as_f64);
    let huber = config.given.pointer("/problem/huber_delta").and_then(serde_json::Value::as_f64);
    let model = Model {
        sharing: "may be shared: a function of what was exchanged".into(),
        name: config.name.clone(),
        loss: config.problem.loss.name().into(),
        huber_delta: huber,
        quantile: pinball,
        intercept: config.problem.intercept,
        coefficients: instances
            .columns
            .iter()
            .zip(mean(&summary.coefficients))
            .map(|(name, value)| Coefficient { name: name.clone(), value })
            .collect(),
        schema: config.schema.as_ref().map(crate::schema::Schema::to_json),
        privacy: summary.privacy_statement(),
    };
    write("model.json", &json(&model))?;
    if let Some(svg) = plot::convergence(summary) {
        write("convergence.svg", &svg)?;
    }
    write("report.html", &report::html(summary)?)?;
    // Last, so that a directory with a summary is a whole run.
    write("summary.json", &json(summary))
}

/// Serialisation of two file types by one closure.
mod erased {
    pub trait Json {
        fn pretty(&self) -> String;
    }

    impl<T: serde::Serialize> Json for T {
        fn pretty(&self) -> String {
            let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
            text.push('\n');
            text
        }
    }
}

fn trace_csv(config: &Config, instances: &Instances, trials: &[Trial]) -> String {
    let mut csv = String::from("trial,round,agent,error,objective_gap,consensus,epsilon_spent\n");
    let number = |value: Option<f64>| match value {
        Some(value) if value.is_finite() => format!("{value}"),
        _ => String::new(),
    };
    for (trial, result) in trials.iter().enumerate() {
        for record in &result.records {
            let spent = match config.privacy.mechanism {
                Mechanism::Intrinsic { epsilon, delta, .. } => {
                    Some(calibrate::theorem2_epsilon(epsilon, delta, record.round))
                }
                Mechanism::None => None,
            };
            let agent = csv_field(&instances.graph.names()[record.agent]);
            let _ = writeln!(
                csv,
                "{},{},{agent},{},{},{},{}",
                trial + 1,
                record.round,
                number(record.error),
                number(record.objective_gap),
                number(Some(record.consensus)),
                number(spent)
            );
        }
    }
    csv
}

/// A name as a CSV field.
fn csv_field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.into()
    }
}

/// The summary on the terminal.
fn describe(summary: &Summary, out: &Path) -> String {
    let mut text = String::new();
    let trials =
        if summary.trials == 1 { "1 trial".into() } else { format!("{} trials", summary.trials) };
    let seeded = if summary.seeded { ", seeded: for tests" } else { "" };
    let _ = writeln!(
        text,
        "{}: {} on {}, {} agents, {} columns, {} rounds, {trials}{seeded}\n",
        summary.name,
        summary.algorithm,
        summary.loss,
        summary.agents,
        summary.features,
        summary.rounds_done
    );
    for (label, value) in report::facts(summary) {
        let _ = writeln!(text, "  {label:<28}{value}");
    }
    let _ = writeln!(text, "\n  privacy: {}", summary.privacy_statement());
    if summary.privacy.first().is_some_and(|entry| entry.c1_holds == Some(false)) {
        let _ = writeln!(
            text,
            "  Lemma 3 is taken with c1 = 1, as in the paper; the {} loss has no such bound.",
            summary.loss
        );
    }
    if summary.step_raised {
        let _ = writeln!(text, "  u_2 was raised to what the objective's values can resolve.");
    }
    let _ = writeln!(
        text,
        "\n  files in {}: report.html, summary.json, trace.csv, model.json",
        out.display()
    );
    text
}

/// Whether the run counts as done.
fn outcome(trials: &[Trial], out: &Path) -> Result<()> {
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
        Status::NonFinite { agent, round, step } => Err(Error::run(format!(
            "status NonFinite: agent {agent} left the finite numbers in round {round}, inner step {step}{which}"
        ))
        .hint("the steps are too long: raise algorithm.lipschitz (L), or lower algorithm.step where it is given")),
        Status::NotCertified { agent, round, distance } => Err(Error::run(format!(
            "status NotCertified: the exact solver of agent {agent} came within {distance:.1e} of its minimiser in round {round}{which}, not within the tolerance"
        ))
        .hint("raise algorithm.options.tolerance, or algorithm.rho")),
    }
}
