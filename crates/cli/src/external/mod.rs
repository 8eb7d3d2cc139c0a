//! `dzoa run` with `loss = "external"`: programs -> agents -> rounds -> trace -> summary, model, report.

mod program;

use crate::args::RunArgs;
use crate::commands;
use crate::commands::run::way_out;
use crate::config::{External, Mechanism};
use crate::error::{Error, Result};
use crate::files::{
    csv_field, csv_number, describe, json, output_directory, write_file, write_private,
};
use crate::model::{Coefficient, MODEL_FORMAT, Model};
use crate::progress::Progress;
use crate::report::Trace;
use crate::summary::{NOT_TO_BE_SHARED, PrivacyEntry, Summary};
use crate::{instance, interrupt, report, trace_file};
use dzoa::agent::{Agent, Average};
use dzoa::black_boxes::{GOSSIP_FRACTION, PrepareError, Prepared, Protection, prepare};
use dzoa::prelude::*;
use dzoa::privacy::{Accountant, EarlierRuns, Event, ExactGaussian, Facts, Statement, calibrate};
use dzoa::problem::regularizer::Penalty;
use dzoa::trace::{EarlyStop, ValueRecord, ValueRecorder, mean};
use program::Program;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Runs the programs of a config, and writes the files of the run.
pub fn run(args: &RunArgs, config: &External) -> Result<()> {
    if args.ledger.is_some() {
        return Err(Error::input(
            "--ledger: has no rows to keep a ledger for: a program holds them",
        )
        .hint("keep the privacy statement of summary.json with the program's data"));
    }
    let out = output_directory(args.common.out.as_deref(), &config.name)?;
    // As the first trial of other runs.
    let root = crate::config::root_streams(config.run.seed)?;
    let streams = root.trial(0);
    let names = config.programs.iter().map(|program| program.name.clone()).collect();
    let graph = instance::graph(&config.network, names, &root)?;
    interrupt::listen();
    let boxes: Vec<Arc<BlackBox>> =
        config.programs.iter().map(|spec| black_box(config, spec)).collect();
    let mut settings = config.settings.clone();
    if config.network_average {
        let gossip = graph.gossip_rounds(GOSSIP_FRACTION);
        settings.average = Some(Average::Network { gossip });
    }
    let protection = protection(config);
    let pool = crate::config::thread_pool(config.run.threads)?;
    let mut prepared =
        prepare(&boxes, &graph, &settings, &protection, &streams).map_err(refused)?;
    let rounds = prepared.admm.rounds;
    let progress = Progress::new(rounds, &format!("{}: running", config.name));
    let every = match config.run.record_every {
        0 => (rounds / 50).max(1),
        every => every,
    };
    let penalty = Penalty {
        regularizer: settings.regularizer.clone(),
        weight: settings.eta,
        penalized: config.columns.len(),
    };
    let mut recorder = ValueRecorder::new(boxes.clone(), penalty, every, rounds);
    let started = Instant::now();
    let status = pool.install(|| {
        let mut early = EarlyStop::new(config.run.stop_tolerance);
        let mut ticks = |_: &RoundView<'_>| {
            progress.tick();
            match interrupt::asked() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        };
        let mut observers: Vec<&mut dyn Observer> = vec![&mut recorder, &mut ticks];
        if config.run.stop_tolerance > 0.0 {
            observers.push(&mut early);
        }
        simulate(&mut prepared.agents, &mut observers)
    });
    let seconds = started.elapsed().as_secs_f64();
    progress.finish();
    let done =
        Outcome { config, graph: &graph, prepared: &prepared, boxes: &boxes, seconds, status };
    let value = recorder.objective(&mean(&done.estimates())).ok();
    let summary = done.summary(value, &recorder.records);
    done.write(&out, &summary, &recorder.records)?;
    match args.common.json {
        true => commands::print_json(&summary)?,
        false => commands::print(&describe(&summary, &out))?,
    }
    match done.status {
        Status::Finished => Ok(()),
        Status::Stopped { .. } if !interrupt::asked() => Ok(()),
        status if interrupt::asked() => Err(Error::run(format!(
            "stopped by Ctrl-C ({status}); what is done is in {}",
            out.display()
        ))),
        status => Err(Error::run(status.to_string()).hint(way_out(&status))),
    }
}

fn black_box(config: &External, spec: &crate::config::ProgramSpec) -> Arc<BlackBox> {
    let features = config.columns.len();
    let samples = spec.samples.filter(|_| config.per_sample);
    let program = Program::new(
        spec.clone(),
        features,
        config.per_sample,
        config.handling,
        config.root.clone(),
    );
    let known = BlackBox::from_oracle(features, samples, Box::new(program));
    Arc::new(known.with_limits(config.limits))
}

fn protection(config: &External) -> Protection {
    match &config.mechanism {
        Mechanism::Scalar { target, clip } => {
            Protection::Scalar { target: *target, clip: *clip, curvature: config.curvature }
        }
        Mechanism::Intrinsic { epsilon, delta, .. } => Protection::Intrinsic {
            epsilon: *epsilon,
            delta: *delta,
            c1: 1.0,
            samples: config.programs.iter().map(|program| program.samples.unwrap_or(1)).collect(),
        },
        // The config was refused with `output`.
        Mechanism::None | Mechanism::Output { .. } => Protection::None,
    }
}

fn refused(error: PrepareError) -> Error {
    match &error {
        PrepareError::Failed { .. } => Error::run(error.to_string())
            .hint("try the program by hand: docs/black-box.md shows what it is sent"),
        PrepareError::NoGuarantee(_) => Error::input(error.to_string())
            .hint("raise privacy.total_epsilon, or take fewer rounds and inner steps"),
        _ => {
            Error::input(error.to_string()).hint("every agent needs a program and a neighbourhood")
        }
    }
}

/// A run that is over.
struct Outcome<'a> {
    config: &'a External,
    graph: &'a Graph,
    prepared: &'a Prepared,
    boxes: &'a [Arc<BlackBox>],
    seconds: f64,
    status: Status,
}

impl Outcome<'_> {
    fn estimates(&self) -> Vec<Vec<f64>> {
        self.prepared.agents.iter().map(Agent::estimate).collect()
    }

    fn rounds_done(&self) -> u64 {
        self.prepared.agents.iter().map(Agent::rounds_done).min().unwrap_or(0)
    }

    fn summary(&self, objective: Option<f64>, records: &[ValueRecord]) -> Summary {
        let Self { config, graph, prepared, .. } = self;
        let agents = &prepared.agents;
        let messages: u64 = agents.iter().map(Agent::sent).sum();
        let apart =
            records.last().map(|last| last.consensus.iter().fold(0.0, |a: f64, b| a.max(*b)));
        Summary {
            sharing: NOT_TO_BE_SHARED.into(),
            name: config.name.clone(),
            status: self.status.word().into(),
            algorithm: "d-zoa".into(),
            mechanism: config.mechanism.name().into(),
            loss: "external".into(),
            agent_names: graph.names().to_vec(),
            agents: graph.len(),
            edges: graph.edges().collect(),
            features: config.columns.len(),
            rounds: prepared.admm.rounds,
            rounds_done: self.rounds_done(),
            trials: 1,
            seed: config.run.seed,
            seeded: config.run.seed.is_some(),
            error_rounds: Vec::new(),
            error: Vec::new(),
            error_low: Vec::new(),
            error_high: Vec::new(),
            final_error: None,
            final_errors: Vec::new(),
            accuracies: Vec::new(),
            objective: objective.filter(|value| value.is_finite()),
            optimum: None,
            optimum_gap: None,
            optimum_stationarity: None,
            consensus: apart.filter(|value| value.is_finite()),
            coefficients: self.estimates(),
            columns: config.columns.clone(),
            oracle_calls: self.boxes.iter().map(|known| known.evaluations()).sum(),
            messages,
            bytes: 8 * config.columns.len() as u64 * messages,
            step_raised: agents.iter().any(Agent::step_raised),
            moved_inside: 0,
            seconds: self.seconds,
            privacy: (0..agents.len()).map(|k| self.entry(k)).collect(),
            config: config.given.clone(),
        }
    }

    /// What may be said about agent k, however the run ended.
    fn entry(&self, k: usize) -> PrivacyEntry {
        let Self { config, prepared, .. } = self;
        let Some(delta) = config.mechanism.delta() else { return Statement::none().into() };
        let events = &prepared.events[k];
        let exact = config.mechanism.target().is_some();
        let rounds = prepared.admm.rounds as usize;
        let last = events.last().into_iter().cycle();
        let planned: Vec<Event> = events.iter().chain(last).take(rounds).copied().collect();
        let texts = |given: bool, text: &str| Vec::from_iter(given.then(|| text.to_string()));
        let statement = Statement::new(&Facts {
            ledger: prepared.agents[k].ledger(),
            run: prepared.agents[k].run(),
            planned: &planned,
            delta,
            earlier_runs: EarlierRuns::NotCounted,
            void: texts(config.run.seed.is_some(), Statement::SEEDED),
            rests_on: texts(exact, Statement::OWN_SAMPLE),
        });
        PrivacyEntry {
            sigma_assumed: events.iter().find_map(|event| match event {
                Event::DiscreteGaussian { sigma, .. } => Some(*sigma),
                _ => None,
            }),
            sensitivity: Some(prepared.sensitivity[k]),
            c1: (!exact).then_some(1.0),
            c1_holds: (!exact).then_some(false),
            ..statement.into()
        }
    }

    /// What agent k was charged until after so many rounds.
    fn spent(&self, k: usize, rounds: u64, delta: f64) -> Option<f64> {
        let mut account = ExactGaussian::default();
        let charges = self.prepared.agents[k].ledger().charges();
        charges
            .filter(|charge| charge.round <= rounds)
            .try_for_each(|charge| account.compose(&charge.event))
            .ok()?;
        Some(account.epsilon(delta))
    }

    fn write(&self, out: &Path, summary: &Summary, records: &[ValueRecord]) -> Result<()> {
        let trace = self.trace_csv(records);
        write_private(out, "trace.csv", &trace)?;
        let names = summary.columns.iter().zip(mean(&summary.coefficients));
        let model = Model {
            model: MODEL_FORMAT,
            sharing: "may be shared: a function of what was exchanged".into(),
            name: summary.name.clone(),
            loss: summary.loss.clone(),
            huber_delta: None,
            quantile: None,
            intercept: false,
            coefficients: names
                .map(|(name, value)| Coefficient { name: name.clone(), value })
                .collect(),
            schema: None,
            privacy: summary.privacy_statement(),
        };
        write_file(out, "model.json", &json(&model)?)?;
        let trace = Trace::parse(trace.as_bytes(), "trace.csv", &summary.agent_names)?;
        write_private(out, "report.html", &report::html(summary, &trace, &[])?)?;
        // Last, so that a directory with a summary is a whole run.
        write_private(out, "summary.json", &json(summary)?)
    }

    /// trace.csv as of other runs, and the objective at the mean of the agents.
    fn trace_csv(&self, records: &[ValueRecord]) -> String {
        let mut csv = trace_file::header(",objective,evaluations");
        for record in records {
            for (k, name) in self.graph.names().iter().enumerate() {
                let spent = match &self.config.mechanism {
                    Mechanism::Intrinsic { epsilon, delta, .. } => {
                        Some(calibrate::theorem2_epsilon(*epsilon, *delta, record.round))
                    }
                    Mechanism::Scalar { target, .. } => self.spent(k, record.round, target.delta),
                    _ => None,
                };
                let _ = writeln!(
                    csv,
                    "1,{},{},,,{},{},{},{}",
                    record.round,
                    csv_field(name),
                    csv_number(Some(record.consensus[k])),
                    csv_number(spent),
                    csv_number(record.objective),
                    record.evaluations[k]
                );
            }
        }
        csv
    }
}
