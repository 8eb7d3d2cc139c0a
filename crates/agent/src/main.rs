//! The program `dzoa-agent`: all that `dzoa` does, and real agents.

mod agent;
mod certs;
mod check;
mod launch;
mod network_file;
mod study;

use dzoa_cli::args::NetworkCommand;
use dzoa_table::Result;
use std::process::ExitCode;

fn main() -> ExitCode {
    dzoa_cli::enter(network)
}

fn network(command: NetworkCommand) -> Result<()> {
    match command {
        NetworkCommand::Check(args, file) => check::check(&args, &file),
        NetworkCommand::Key(args) => certs::key(&args),
        NetworkCommand::Certs(args) => certs::certs(&args),
        NetworkCommand::Study(action) => study::study(&action),
        NetworkCommand::Agent(args) => agent::agent(&args),
        NetworkCommand::Launch(args) => launch::launch(&args),
    }
}
