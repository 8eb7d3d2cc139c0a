//! `dzoa run` with `loss = "external"`: programs -> agents -> rounds -> trace -> summary, model,
//! report.

mod program;

use crate::args::RunArgs;
use crate::config::External;
use crate::files::output_directory;
use crate::interrupt;
use crate::outcome::way_out;
use crate::progress::Progress;
use crate::terminal;
use dzoa::agent::Agent;
use dzoa::plan::{Boxes, Circumstances, Data, Plan};
use dzoa::prelude::*;
use dzoa::privacy::{EarlierRuns, Statement};
use dzoa::run::evaluate::mean;
use dzoa::run::{EarlyStop, Simulation, ValueRecord, ValueRecorder};
use dzoa_report::refused;
use dzoa_report::{
    Model, NOT_TO_BE_SHARED, PrivacyEntry, Summary, Trace, csv_field, csv_number, describe,
    run_html, to_json, trace_header, write_file, write_private,
};
use dzoa_table::{Error, Result};
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
    let graph = config.network.shape.graph(names, &root)?;
    interrupt::listen();
    let boxes: Vec<Arc<BlackBox>> =
        config.programs.iter().map(|spec| black_box(config, spec)).collect();
    let pool = crate::config::thread_pool(config.run.threads)?;
    let known = Boxes {
        regularizer: config.regularizer.clone(),
        eta: config.eta,
        samples: config.programs.iter().map(|program| program.samples).collect(),
        curvature: config.curvature,
        ..Boxes::new(boxes.clone())
    };
    let penalty = known.penalty(config.eta);
    let plan = known
        .measured(&config.spec, &graph, &streams)
        .and_then(|known| Plan::new(&config.spec, &Data::Boxes(known), &graph))
        .map_err(refused)?;
    if args.dry_run {
        return terminal::print_plan(&config.name, &plan, args.common.json);
    }
    let mut simulation = plan.simulation(Vec::new(), &streams).map_err(refused)?;
    let rounds = plan.rounds();
    let progress = Progress::new(rounds, &format!("{}: running", config.name));
    let every = match config.run.record_every {
        0 => (rounds / 50).max(1),
        every => every,
    };
    let mut recorder = ValueRecorder::new(boxes.clone(), penalty, every, rounds);
    let started = Instant::now();
    let tolerance = config.run.stop_tolerance;
    let status = pool.install(|| watched(&mut *simulation, &mut recorder, &progress, tolerance));
    let seconds = started.elapsed().as_secs_f64();
    progress.finish();
    let agents = simulation.agents();
    let done = Outcome { config, plan: &plan, agents, boxes: &boxes, seconds, status };
    let value = recorder.objective(&mean(&done.estimates())).ok();
    let summary = done.summary(value, &recorder.records);
    done.write(&out, &summary, &recorder.records)?;
    match args.common.json {
        true => terminal::print_json(&summary)?,
        false => terminal::print(&describe(&summary, &out))?,
    }
    verdict(&done.status, &out)
}

/// All rounds, recorded, until the agents agree or somebody asks to stop.
fn watched(
    simulation: &mut dyn Simulation,
    recorder: &mut ValueRecorder,
    progress: &Progress,
    tolerance: f64,
) -> Status {
    let mut early = EarlyStop::new(tolerance);
    let mut ticks = |_: &RoundView<'_>| {
        progress.tick();
        match interrupt::asked() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    let mut observers: Vec<&mut dyn Observer> = vec![recorder, &mut ticks];
    if tolerance > 0.0 {
        observers.push(&mut early);
    }
    simulation.run(&mut observers)
}

/// Whether the run counts as done.
fn verdict(status: &Status, out: &Path) -> Result<()> {
    match status {
        Status::Finished => Ok(()),
        Status::Stopped { .. } if !interrupt::asked() => Ok(()),
        status if interrupt::asked() => Err(Error::run(format!(
            "stopped by Ctrl-C ({status}); what is done is in {}",
            out.display()
        ))),
        status => Err(Error::run(status.to_string()).hint(way_out(status))),
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

/// A run that is over.
struct Outcome<'a> {
    config: &'a External,
    plan: &'a Plan,
    agents: &'a [Agent],
    boxes: &'a [Arc<BlackBox>],
    seconds: f64,
    status: Status,
}

impl Outcome<'_> {
    fn estimates(&self) -> Vec<Vec<f64>> {
        self.agents.iter().map(Agent::estimate).collect()
    }

    fn rounds_done(&self) -> u64 {
        self.agents.iter().map(Agent::rounds_done).min().unwrap_or(0)
    }

    fn summary(&self, objective: Option<f64>, records: &[ValueRecord]) -> Summary {
        let Self { config, plan, agents, .. } = self;
        let graph = plan.graph();
        let messages: u64 = agents.iter().map(Agent::sent).sum();
        let apart =
            records.last().map(|last| last.consensus.iter().fold(0.0, |a: f64, b| a.max(*b)));
        Summary {
            sharing: NOT_TO_BE_SHARED.into(),
            name: config.name.clone(),
            status: self.status.word().into(),
            algorithm: "d-zoa".into(),
            mechanism: config.spec.mechanism.name().into(),
            loss: "external".into(),
            agent_names: graph.names().to_vec(),
            agents: graph.len(),
            edges: graph.edges().collect(),
            features: config.columns.len(),
            rounds: plan.rounds(),
            rounds_done: self.rounds_done(),
            trials: 1,
            seed: config.run.seed,
            seeded: config.run.seed.is_some(),
            objective: objective.filter(|value| value.is_finite()),
            consensus: apart.filter(|value| value.is_finite()),
            coefficients: self.estimates(),
            columns: config.columns.clone(),
            oracle_calls: self.boxes.iter().map(|known| known.evaluations()).sum(),
            messages,
            bytes: 8 * config.columns.len() as u64 * messages,
            step_raised: agents.iter().any(Agent::step_raised),
            seconds: self.seconds,
            privacy: (0..agents.len()).map(|k| self.entry(k)).collect(),
            config: config.given.clone(),
            // There is no optimum to compare with.
            ..Summary::default()
        }
    }

    /// What may be said about agent k, however the run ended.
    fn entry(&self, k: usize) -> PrivacyEntry {
        let Self { config, plan, agents, .. } = self;
        if plan.claimed().delta().is_none() {
            return Statement::none().into();
        }
        let exact = plan.claimed().budget().is_some();
        let texts = |given: bool, text: &str| Vec::from_iter(given.then(|| text.to_string()));
        let statement = plan.statement(
            k,
            Circumstances {
                ledger: agents[k].ledger(),
                run: agents[k].run(),
                earlier_runs: EarlierRuns::NotCounted,
                void: texts(config.run.seed.is_some(), Statement::SEEDED),
                rests_on: texts(exact, Statement::OWN_SAMPLE),
            },
        );
        let charges = &plan.at(k).charges;
        PrivacyEntry {
            sigma_assumed: charges.sigma(),
            sensitivity: Some(charges.sensitivity),
            c1: (!exact).then_some(plan.data().assumed_c1()),
            c1_holds: (!exact).then_some(plan.data().knows_c1()),
            ..statement.into()
        }
    }

    fn write(&self, out: &Path, summary: &Summary, records: &[ValueRecord]) -> Result<()> {
        let trace = self.trace_csv(records);
        write_private(out, "trace.csv", &trace)?;
        write_file(out, "model.json", &to_json(&Model::new(summary))?)?;
        let trace = Trace::parse(trace.as_bytes(), "trace.csv", &summary.agent_names)?;
        write_private(out, "report.html", &run_html(summary, &trace, &[])?)?;
        // Last, so that a directory with a summary is a whole run.
        write_private(out, "summary.json", &to_json(summary)?)
    }

    /// trace.csv as of other runs, and the objective at the mean of the agents.
    fn trace_csv(&self, records: &[ValueRecord]) -> String {
        let mut csv = trace_header(",objective,evaluations");
        let spending = self.plan.spending();
        for record in records {
            for (k, name) in self.plan.graph().names().iter().enumerate() {
                let spent = spending.after(k, record.round);
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
