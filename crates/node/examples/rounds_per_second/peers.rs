//! The communication of our agents in other programs, where they are installed: see benches/peers.

use std::path::Path;
use std::process::Command;

/// Rounds a second of Flower's simulation: five clients and a server.
pub fn flower() -> Result<f64, String> {
    let python = installed("target/venv/flower/bin/python", "flwr[simulation]")?;
    last_number(Command::new(python).arg("benches/peers/flower_rounds.py"))
}

/// Rounds a second of disropt: five processes over MPI on the paper's graph, by one of its scripts
/// here.
pub fn disropt(script: &str) -> Result<f64, String> {
    let python = installed("target/venv/disropt/bin/python", "disropt")?;
    let mut command = Command::new("mpirun");
    // Open MPI refuses root unless told twice; other users do not care.
    command
        .envs(["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"].map(|key| (key, "1")));
    command.args(["--oversubscribe", "-np", "5"]).arg(python);
    last_number(command.arg(format!("benches/peers/{script}")))
}

fn installed<'a>(python: &'a str, package: &str) -> Result<&'a str, String> {
    let there = Path::new(python).exists();
    there.then_some(python).ok_or(format!("not installed: no {python} with {package}"))
}

fn last_number(command: &mut Command) -> Result<f64, String> {
    let output = command.output().map_err(|error| format!("cannot be started: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let number = said.lines().rev().find_map(|line| line.trim().parse().ok());
    number.ok_or_else(|| {
        let trouble = String::from_utf8_lossy(&output.stderr);
        format!("failed: {}", trouble.lines().last().unwrap_or("without a word"))
    })
}
