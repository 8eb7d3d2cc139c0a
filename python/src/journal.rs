//! The journal of a run of callables, on disk: a file for each agent, and the seed.

use dzoa::problem::{Answered, Append, Journaled, Oracle};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use rand::Rng;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;

/// How long points and answers are.
#[derive(Clone, Copy)]
pub struct Shape {
    pub numbers: usize,
    pub values: usize,
}

fn failed(path: &Path, error: std::io::Error) -> PyErr {
    PyOSError::new_err(format!("journal: {}: {error}", path.display()))
}

/// The seed that the run goes on with: the journal's own, the one that was given, or a new one.
pub fn seed(directory: &Path, given: Option<u64>) -> PyResult<u64> {
    fs::create_dir_all(directory).map_err(|error| failed(directory, error))?;
    let path = directory.join("seed");
    if let Ok(text) = fs::read_to_string(&path)
        && text.ends_with('\n')
    {
        let known: u64 = text.trim().parse().map_err(|_| {
            PyValueError::new_err(format!("journal: {} holds no seed", path.display()))
        })?;
        return match given {
            Some(given) if given != known => Err(PyValueError::new_err(format!(
                "seed: is {given}, but the journal goes on with {known}; hint: leave seed out, or \
                 name another journal"
            ))),
            _ => Ok(known),
        };
    }
    let new = given.unwrap_or_else(|| rand::rng().next_u64());
    let write = || {
        let mut file = File::create(&path)?;
        file.write_all(format!("{new}\n").as_bytes())?;
        file.sync_all()
    };
    write().map_err(|error| failed(&path, error))?;
    Ok(new)
}

/// An oracle that goes on from what one agent was asked before.
pub fn journaled(
    directory: &Path,
    agent: &str,
    shape: Shape,
    piece: usize,
    inner: Box<dyn Oracle>,
) -> PyResult<Box<dyn Oracle>> {
    if agent.contains(['/', '\\']) || agent.starts_with('.') {
        return Err(PyValueError::new_err(format!("journal: `{agent}` cannot name a file")));
    }
    let path = directory.join(format!("{agent}.values"));
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)
        .map_err(|error| failed(&path, error))?;
    file.try_lock().map_err(|_| {
        PyValueError::new_err(format!("journal: {} is in use by another run", path.display()))
    })?;
    let text = fs::read_to_string(&path).map_err(|error| failed(&path, error))?;
    let answered = Answered::read(&text, shape.numbers, shape.values)
        .map_err(|bad| PyValueError::new_err(format!("journal: {}: {bad}", path.display())))?;
    file.set_len(answered.whole as u64).map_err(|error| failed(&path, error))?;
    let append: Append = Box::new(move |line| {
        file.write_all(line.as_bytes())?;
        file.sync_data()
    });
    Ok(Box::new(Journaled::new(inner, answered, piece, append)))
}
