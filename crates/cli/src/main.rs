//! The `dzoa` program: arguments in, one command, one place where errors are printed.

mod args;
mod commands;
mod config;
mod error;
mod files;
mod inner;
mod instance;
mod interrupt;
mod load;
mod model;
mod plot;
mod progress;
mod reader;
mod report;
mod schema;
mod summary;

use args::{Cli, Command, SchemaAction};
use clap::{CommandFactory, Parser};
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        Command::Run(args) => commands::run::run(&args),
        Command::Init { dir } => commands::init::init(&dir),
        Command::Privacy { calculator } => commands::privacy::calculate(&calculator),
        Command::Predict(args) => commands::predict::predict(&args),
        Command::Evaluate { model, json } => commands::predict::evaluate(&model, json),
        Command::Schema { action: SchemaAction::Infer { files } } => {
            commands::schema::infer(&files).and_then(|draft| commands::print(&draft))
        }
        Command::Report { dir } => commands::report::report(&dir),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "dzoa", &mut script);
            commands::print(&String::from_utf8_lossy(&script))
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(error.status())
        }
    }
}
