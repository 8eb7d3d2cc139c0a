//! One file per command.

pub mod agent;
pub mod audit;
pub mod certs;
pub mod compare;
pub mod init;
pub mod launch;
pub mod ledger;
pub mod predict;
pub mod privacy;
pub mod report;
pub mod reproduce;
pub mod run;
pub mod schema;
mod summarise;

use crate::error::{Error, Result};
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
