//! Data on stdout.

use dzoa::plan::Outline;
use dzoa_report::describe_plan;
use dzoa_table::{Error, Result};
use std::io::{ErrorKind, Write};

/// Prints data on stdout. A reader that has seen enough (`| head`) is no failure.
pub fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Error::run(format!("stdout: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints one JSON object on stdout.
pub fn print_json(value: &impl serde::Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Error::run(format!("the result cannot be written as JSON: {error}")))?;
    print(&format!("{text}\n"))
}

/// Prints what was decided, for `--dry-run`.
pub fn print_plan(name: &str, outline: &Outline, json: bool) -> Result<()> {
    if json { print_json(outline) } else { print(&describe_plan(name, outline)) }
}
