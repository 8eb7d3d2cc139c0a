//! Data on stdout, and how much is said beside it.

use console::Term;
use dzoa::plan::Outline;
use dzoa_report::{describe_plan, wrapped};
use dzoa_table::{Error, Findings, Result};
use std::io::{ErrorKind, Write};
use std::sync::OnceLock;

/// How much is said beside results and errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Voice {
    Quiet,
    Usual,
    Verbose,
}

static VOICE: OnceLock<Voice> = OnceLock::new();

/// Sets the voice of the whole program, once.
pub fn speak(voice: Voice) {
    let _ = VOICE.set(voice);
}

/// How much may be said.
pub fn voice() -> Voice {
    VOICE.get().copied().unwrap_or(Voice::Usual)
}

/// A line on stderr for whoever holds the rows. A warning is said however quiet it should be.
pub fn note(what: &str) {
    if voice() != Voice::Quiet || what.starts_with("warning") {
        eprintln!("{what}");
    }
}

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

/// Prints words and tables on stdout: no wider than the terminal, where it is one.
pub fn print_words(text: &str) -> Result<()> {
    print(&fitted(text, &Term::stdout()))
}

/// A text for a terminal; unchanged for anything else.
pub fn fitted(text: &str, term: &Term) -> String {
    match term.size_checked() {
        Some((_, width)) => wrapped(text, usize::from(width).max(40)),
        None => text.into(),
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
    if json { print_json(outline) } else { print_words(&describe_plan(name, outline)) }
}

/// Prints what a check found, and which command could start if nothing is wrong.
pub fn print_findings(found: Findings, start: &str) -> Result<()> {
    print_words(found.text())?;
    found.conclude()?;
    print_words(&format!("\nready: {start} can start\n"))
}
