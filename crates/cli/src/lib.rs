//! What the programs `dzoa` and `dzoa-agent` are made of: arguments in, one command, one place
//! where errors are printed. No interface for others, and free to change.
//!
//! `dzoa` does all that one machine does by itself. Whatever opens a network belongs to
//! `dzoa-agent`, which does everything: whoever wants a first result builds no network stack.

#[doc(hidden)]
pub mod args;
mod commands;
#[doc(hidden)]
pub mod config;
mod external;
#[doc(hidden)]
pub mod files;
mod handover;
#[doc(hidden)]
pub mod interrupt;
#[doc(hidden)]
pub mod objectives;
#[doc(hidden)]
pub mod outcome;
#[doc(hidden)]
pub mod progress;
#[doc(hidden)]
pub mod summarise;
#[doc(hidden)]
pub mod terminal;
#[doc(hidden)]
pub mod trial;

use args::{Cli, Command, NetworkCommand, SchemaAction};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser};
use console::Term;
use dzoa::kernels::Level;
use dzoa_table::{
    Error, FIRST_STEPS, Result, explain_exits, explain_keys, infer_schema, json_schema, shown,
    suggestion,
};
use std::process::ExitCode;
use terminal::Voice;

/// `dzoa` alone, or a command that needs one more word.
const MISSING: ErrorKind = ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;

/// The program `dzoa`.
pub fn dzoa() -> ExitCode {
    enter(|_| handover::to_agent())
}

/// A program whose commands for real agents are these.
pub fn enter(network: fn(NetworkCommand) -> Result<()>) -> ExitCode {
    match command(network) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}", terminal::fitted(&format!("error: {error}"), &Term::stderr()));
            ExitCode::from(error.status())
        }
    }
}

fn command(network: fn(NetworkCommand) -> Result<()>) -> Result<()> {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if error.kind() == MISSING => {
            match std::env::args_os().len() {
                0 | 1 => eprint!("{FIRST_STEPS}"),
                _ => eprint!("{error}"),
            }
            std::process::exit(2);
        }
        Err(error) if error.use_stderr() => return Err(usage_error(&error)),
        // Help and version are answers, not errors.
        Err(answer) => answer.exit(),
    };
    known_kernels()?;
    terminal::speak(match (cli.quiet, cli.verbose) {
        (true, _) => Voice::Quiet,
        (_, true) => Voice::Verbose,
        _ => Voice::Usual,
    });
    perform(cli.command, network)
}

fn perform(command: Command, network: fn(NetworkCommand) -> Result<()>) -> Result<()> {
    match command {
        Command::Demo { dir } => commands::demo::demo(&dir, |words| {
            let cli = Cli::try_parse_from(words).map_err(|error| usage_error(&error))?;
            perform(cli.command, network)
        }),
        Command::Run(args) => commands::run::run(&args),
        Command::Check(args) => match args.network.clone() {
            Some(file) => network(NetworkCommand::Check(args, file)),
            None => commands::check::check(&args),
        },
        Command::Audit(args) => commands::audit::audit(&args),
        Command::Compare(args) => commands::compare::compare(&args),
        Command::Reproduce(args) => commands::reproduce::reproduce(&args),
        Command::Merge(args) => commands::reproduce::merge(&args),
        Command::Key(args) => network(NetworkCommand::Key(args)),
        Command::Certs(args) => network(NetworkCommand::Certs(args)),
        Command::Study { action } => network(NetworkCommand::Study(action)),
        Command::Agent(args) => network(NetworkCommand::Agent(args)),
        Command::Launch(args) => network(NetworkCommand::Launch(args)),
        Command::Init { dir, from, target } if !from.is_empty() => {
            commands::init::init_from(&dir, &from, target.as_deref())
        }
        Command::Init { dir, .. } => commands::init::init(&dir),
        Command::Privacy { calculator } => commands::privacy::calculate(&calculator),
        Command::Predict(args) => commands::predict::predict(&args),
        Command::Evaluate { model, json } => commands::predict::evaluate(&model, json),
        Command::Schema { action: SchemaAction::Infer { files, target } } => {
            infer_schema(&files, target.as_deref()).and_then(|draft| terminal::print(&draft))
        }
        Command::Schema { action: SchemaAction::Json } => terminal::print(&json_schema()),
        Command::Ledger { action } => commands::ledger::ledger(&action),
        Command::Report { dir } => commands::report::report(&dir),
        Command::Help { topic } => help(&topic),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "dzoa", &mut script);
            terminal::print(&String::from_utf8_lossy(&script))
        }
        Command::Man { dir } => std::fs::create_dir_all(&dir)
            .and_then(|()| clap_mangen::generate_to(Cli::command(), &dir))
            .map_err(|error| Error::run(format!("{}: {error}", dir.display()))),
    }
}

/// `dzoa help`: a command, or the keys of a config.
fn help(topic: &[String]) -> Result<()> {
    match topic {
        [first, rest @ ..] if first == "config" => {
            return terminal::print_words(&explain_keys(rest.first().map(String::as_str))?);
        }
        [only] if only == "exit-codes" => return terminal::print_words(&explain_exits()),
        _ => {}
    }
    let mut all = Cli::command();
    all.build();
    let mut found = &mut all;
    for word in topic {
        let known: Vec<String> = found.get_subcommands().map(|c| c.get_name().into()).collect();
        let known: Vec<&str> =
            known.iter().map(String::as_str).chain(["config", "exit-codes"]).collect();
        found = found.find_subcommand_mut(word).ok_or_else(|| {
            Error::input(format!("no command is called {}", shown(word)))
                .hint(suggestion(word, &known))
        })?;
    }
    terminal::print(&found.render_long_help().to_string())
}

/// The library takes its best for a name that it does not know; whoever typed one should hear of
/// it.
fn known_kernels() -> Result<()> {
    let asked = std::env::var_os("DZOA_KERNELS").map(|name| name.to_string_lossy().into_owned());
    match asked.filter(|name| Level::named(name).is_none()) {
        Some(name) => {
            let message = format!("DZOA_KERNELS: no instruction set is called {}", shown(&name));
            Err(Error::input(message)
                .hint("portable, avx2 or avx512; without it, the best of this machine"))
        }
        None => Ok(()),
    }
}

/// A wrong flag in the shape of every other error: one line, then the way out.
fn usage_error(error: &clap::Error) -> Error {
    let text = error.to_string();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default().trim_start_matches("error: ").to_string();
    let rest: Vec<&str> = lines.collect();
    // A missing argument is named on a line of its own.
    let missing: Vec<&str> =
        rest.iter().copied().take_while(|line| line.starts_with(['-', '<'])).collect();
    let message = if missing.is_empty() { first } else { format!("{first} {}", missing.join(" ")) };
    let tip = rest.iter().find_map(|line| line.strip_prefix("tip: ")).map(String::from);
    let way_out = "`--help` behind the command lists its flags";
    Error::input(message)
        .hint(nearest_command(error).or(tip).unwrap_or_else(|| way_out.to_string()))
}

/// For a command that is not known, the one that was meant.
fn nearest_command(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let known = Cli::command();
    let names: Vec<&str> = known.get_subcommands().map(clap::Command::get_name).collect();
    let said = suggestion(word, &names);
    Some(said).filter(|said| said.starts_with("did you mean"))
}
