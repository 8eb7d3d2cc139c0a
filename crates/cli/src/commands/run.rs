//! `dzoa run`: the path of the data, top to bottom.
//!
//! spec -> data -> plan -> run -> evaluate -> files.

use crate::args::RunArgs;
use crate::config::{Config, DataSpec};
use crate::files::{model, output_directory, write_files};
use crate::interrupt;
use crate::objectives::Objectives;
use crate::outcome::{ended, outcome};
use crate::progress::Progress;
use crate::summarise::summarise;
use crate::terminal::{self, Voice};
use crate::trial::{Books, Stage, Trial};
use dzoa::plan::{Charges, Data, Forecast};
use dzoa::prelude::*;
use dzoa::privacy::{EarlierRuns, Ledger};
use dzoa_report::ledger_file::{self, LedgerFile, affordable, lifetime};
use dzoa_report::{describe, describe_plan};
use dzoa_table::{Error, Result, shown};
use rayon::prelude::*;
use std::path::Path;

/// Simulates all agents and writes the files of the run.
pub fn run(args: &RunArgs) -> Result<()> {
    // Spec.
    let (config, data) = as_private_as_asked(args)?;
    let out = output_directory(args.common.out.as_deref(), &config.name)?;
    let streams = config.streams()?;
    let pool = config.thread_pool()?;

    // Data.
    let objectives = Objectives::new(&config, &data, &streams)?;

    // Plan: every trial makes its own, from what is foreseen here.
    if args.dry_run {
        let outline = objectives.outline(&config.spec, &streams.trial(0))?;
        return terminal::print_plan(&config.name, &outline, args.common.json);
    }
    if terminal::voice() == Voice::Verbose {
        let outline = objectives.outline(&config.spec, &streams.trial(0))?;
        eprintln!("{}", describe_plan(&config.name, &outline));
    }
    let forecast = objectives.forecast(&config.spec, &streams.trial(0))?;
    let ledgers = open_ledgers(args, &config, &forecast, &streams.trial(0))?;

    // Run.
    interrupt::listen();
    let total = config.run.trials as u64 * forecast.rounds();
    let progress = Progress::new(total, &format!("{}: {}", config.name, objectives.begins_by()));
    // Ledgers go with a single trial.
    let mut ledgers = vec![ledgers];
    ledgers.resize_with(config.run.trials, Vec::new);
    let stage = Stage::new(&config, &objectives, &forecast, &progress, &out);
    drop(forecast);
    let trials: Vec<Option<Trial>> = pool.install(|| {
        ledgers
            .into_par_iter()
            .enumerate()
            .map(|(trial, ledgers)| {
                // What has not begun when Ctrl-C comes is not begun.
                if trial > 0 && interrupt::asked() {
                    return Ok(None);
                }
                let streams = streams.trial(trial as u64);
                let books = Books::of(ledgers);
                Trial::run(&stage, books, &streams, trial, |simulation, watch| {
                    Ok(simulation.run(watch))
                })
                .map(Some)
            })
            .collect::<Result<_>>()
    })?;
    progress.finish();
    let trials = ended(trials)?;

    // Evaluate.
    let earlier_runs = match args.ledger {
        Some(_) => EarlierRuns::Counted,
        None => EarlierRuns::NotCounted,
    };
    let summary = summarise(&config, &objectives, &trials, earlier_runs);

    // Files.
    write_files(&out, &model(objectives.rows(), &summary), &trials, &summary)?;
    if args.common.json {
        terminal::print_json(&summary)?;
    } else {
        terminal::print_words(&describe(&summary, &out))?;
    }
    outcome(&trials, config.run.trials, &out)
}

/// What a journal holds is protected by nothing.
fn check_journal(config: &Config) -> Result<()> {
    if config.spec.mechanism.claimed().budget().is_some() {
        let mechanism = config.spec.mechanism.name();
        let problem = format!("a journal holds values that mechanism `{mechanism}` protects");
        return Err(Error::input(problem).hint("run without a journal, or without a mechanism"));
    }
    Ok(())
}

/// The config, with its mechanism or without.
fn as_private_as_asked(args: &RunArgs) -> Result<(Config, DataSpec)> {
    let mut sets = args.common.sets.clone();
    if args.not_private {
        sets.push("privacy={ mechanism = \"none\" }".into());
    }
    let (mut config, data) = Config::load(args.common.config.as_deref(), &sets)?;
    if let Some(directory) = &args.resume {
        if !matches!(data, DataSpec::Programs(_)) {
            return Err(Error::input("--resume keeps the values of programs, and there are none")
                .hint("loss = \"external\" has programs: docs/black-box.md"));
        }
        config.run.journal = Some(std::path::absolute(directory).unwrap_or(directory.clone()));
    }
    if config.run.journal.is_some() {
        check_journal(&config)?;
    }
    if args.dry_run {
        // Nothing is asked, and nothing written.
        config.run.journal = None;
    }
    if args.not_private {
        config.name += "-not-private";
    }
    if let Some(words) = config.unconfirmed(args.common.config.as_deref()) {
        (config.note)(&format!("warning: {words}"));
    }
    if args.private && config.spec.mechanism.claimed().budget().is_none() {
        let mechanism = shown(config.spec.mechanism.name());
        return Err(Error::input(format!(
            "--private: the config's mechanism {mechanism} has no guarantee"
        ))
        .hint(
            "give it a budget: privacy.mechanism = \"joint\", privacy.total_epsilon = 2.0, \
             privacy.delta = 1e-5",
        ));
    }
    Ok((config, data))
}

/// The ledgers of `--ledger`, one per agent, opened before anything is computed.
fn open_ledgers(
    args: &RunArgs,
    config: &Config,
    forecast: &Forecast,
    streams: &Streams,
) -> Result<Vec<LedgerFile>> {
    let Some(dir) = &args.ledger else { return Ok(Vec::new()) };
    let Data::Rows(problem) = forecast.data() else {
        return Err(Error::input(
            "--ledger: has no rows to keep a ledger for: a program holds them",
        )
        .hint("keep the privacy statement of summary.json with the program's data"));
    };
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
    let planned = forecast.claimed().budget();
    let budget = match args.new_ledger {
        true => lifetime(planned, args.budget)?,
        false => None,
    };
    let names = forecast.graph().names();
    if let Some(name) =
        names.iter().find(|name| name.contains(['/', '\\']) || name.starts_with('.'))
    {
        return Err(Error::input(format!("--ledger: agent {} cannot name a file", shown(name)))
            .hint("give the agent a name of letters and digits"));
    }
    let lasts = |ledger: &Ledger, charges: &Charges, path: &Path| match args.spend_what_is_left {
        true => Ok(()),
        false => affordable(ledger, charges.charged(forecast.rounds()))
            .map_err(|error| error.at(&path.display().to_string())),
    };
    let mut ledgers = Vec::new();
    for (name, charges) in names.iter().zip(forecast.charges()) {
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
        let run = ledger_file::Run {
            id: streams.run_id(),
            rows: &|hasher| samples.digest_into(hasher),
            planned,
            note: &config.name,
        };
        if let Some(word) = file.begin(&run)? {
            terminal::note(&format!("note: {word}"));
        }
    }
    Ok(ledgers)
}
