//! `dzoa run`: the path of the data, top to bottom.
//!
//! config -> rows -> agents -> rounds -> trace -> summary, model, report.

use crate::args::RunArgs;
use crate::config::{Config, Source};
use crate::external;
use crate::files::{output_directory, write_files};
use crate::interrupt;
use crate::ledger_file::{self, LedgerFile, affordable};
use crate::outcome::outcome;
use crate::progress::Progress;
use crate::summarise::summarise;
use crate::terminal;
use crate::trial::{Books, Stage, Trial, planned, planned_in_full};
use dzoa::plan::{Charges, Data, Plan};
use dzoa::prelude::*;
use dzoa::privacy::{Budget, EarlierRuns, Ledger};
use dzoa_report::describe;
use dzoa_table::{Error, Instances, Result, shown};
use rayon::prelude::*;
use std::path::Path;

/// Simulates all agents and writes the files of the run.
pub fn run(args: &RunArgs) -> Result<()> {
    let source = Source::load(args.common.config.as_deref(), &args.common.sets)?;
    if let Some(programs) = source.external()? {
        return external::run(args, &programs);
    }
    let config = source.config()?;
    let out = output_directory(args.common.out.as_deref(), &config.name)?;
    let streams = config.streams()?;
    let pool = config.thread_pool()?;
    let instances = Instances::prepare(&config.instances(), &streams)?;
    if args.dry_run {
        let plan = planned_in_full(&config.spec, &instances, &streams.trial(0))?;
        return terminal::print_plan(&config.name, &plan, args.common.json);
    }
    let plan = planned(&config.spec, &instances, &streams.trial(0))?;
    let ledgers = open_ledgers(args, &config, &plan, &streams.trial(0))?;
    interrupt::listen();

    let total = config.run.trials as u64 * plan.rounds();
    let progress = Progress::new(total, &format!("{}: solving", config.name));
    // Ledgers go with a single trial.
    let mut ledgers = vec![ledgers];
    ledgers.resize_with(config.run.trials, Vec::new);
    let stage = Stage::new(&config, &instances, &plan, &progress, &out);
    drop(plan);
    let trials: Vec<Trial> = pool.install(|| {
        ledgers
            .into_par_iter()
            .enumerate()
            .map(|(trial, ledgers)| {
                let streams = streams.trial(trial as u64);
                let books = Books::of(ledgers);
                Trial::run(&stage, books, &streams, trial, |fleet, watch| Ok(fleet.run(watch)))
            })
            .collect::<Result<_>>()
    })?;
    progress.finish();

    let earlier_runs = match args.ledger {
        Some(_) => EarlierRuns::Counted,
        None => EarlierRuns::NotCounted,
    };
    let summary = summarise(&config, &instances, &trials, earlier_runs);
    write_files(&out, &config, &trials, &summary)?;
    if args.common.json {
        terminal::print_json(&summary)?;
    } else {
        terminal::print(&describe(&summary, &out))?;
    }
    outcome(&trials, &out)
}

/// The ledgers of `--ledger`, one per agent, opened before anything is computed.
fn open_ledgers(
    args: &RunArgs,
    config: &Config,
    plan: &Plan,
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
    let planned = plan.claimed().budget();
    let budget = planned
        .map(|planned| Budget { epsilon: args.budget.unwrap_or(planned.epsilon), ..planned });
    let Data::Rows(problem) = plan.data() else { return Ok(Vec::new()) };
    let names = plan.graph().names();
    if let Some(name) =
        names.iter().find(|name| name.contains(['/', '\\']) || name.starts_with('.'))
    {
        return Err(Error::input(format!("--ledger: agent {} cannot name a file", shown(name)))
            .hint("give the agent a name of letters and digits"));
    }
    let lasts = |ledger: &Ledger, charges: &Charges, path: &Path| match args.spend_what_is_left {
        true => Ok(()),
        false => affordable(ledger, charges.charged(plan.rounds()))
            .map_err(|error| error.at(&path.display().to_string())),
    };
    let mut ledgers = Vec::new();
    for (name, agent) in names.iter().zip(plan.agents()) {
        let charges = &agent.charges;
        let path = dir.join(format!("{name}.ledger"));
        if args.new_ledger {
            // Before there is a file: a refusal writes nothing.
            lasts(&LedgerFile::unwritten(name, budget)?, charges, &path)?;
            ledgers.push(LedgerFile::create(&path, name, budget)?);
        } else {
            let file = LedgerFile::open(&path, Some(name))?;
            lasts(&file.ledger, charges, &path)?;
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
