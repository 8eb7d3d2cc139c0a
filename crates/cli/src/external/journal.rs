//! The journal of a run of programs, on disk: a file for each agent, and the seed.

use dzoa::problem::{Answered, Append, Journaled, Oracle};
use dzoa_table::{Error, Result};
use rand::Rng;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Where an agent's journal is.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// The directory of the run.
    pub directory: &'a Path,
    /// The agent.
    pub agent: &'a str,
}

fn failed(path: &Path, error: &io::Error) -> Error {
    Error::run(format!("journal: {}: {error}", path.display()))
}

/// The seed that the run goes on with: the journal's own, the one that was given, or a new one.
pub fn seed(directory: &Path, given: Option<u64>) -> Result<u64> {
    fs::create_dir_all(directory).map_err(|error| failed(directory, &error))?;
    let path = directory.join("seed");
    if let Ok(text) = fs::read_to_string(&path)
        && text.ends_with('\n')
    {
        let none = || Error::input(format!("journal: {} holds no seed", path.display()));
        let known: u64 = text.trim().parse().map_err(|_| none())?;
        return match given {
            Some(given) if given != known => {
                let problem = format!("run.seed is {given}, but the journal has {known}");
                Err(Error::input(problem).hint("leave run.seed out, or name another journal"))
            }
            _ => Ok(known),
        };
    }
    let new = given.unwrap_or_else(|| rand::rng().next_u64());
    let write = || {
        let mut file = File::create(&path)?;
        file.write_all(format!("{new}\n").as_bytes())?;
        file.sync_all()
    };
    write().map_err(|error| failed(&path, &error))?;
    Ok(new)
}

/// An oracle that goes on from what an agent was asked before; `shape` is how many numbers a point
/// has and how many values it gets, and so many points are asked at once.
pub fn journaled(
    place: Place<'_>,
    shape: [usize; 2],
    piece: usize,
    inner: Box<dyn Oracle>,
) -> Result<Box<dyn Oracle>> {
    let Place { directory, agent } = place;
    if agent.contains(['/', '\\']) || agent.starts_with('.') {
        return Err(Error::input(format!("journal: agent `{agent}` cannot name a file")));
    }
    let path = directory.join(format!("{agent}.values"));
    let opened = || -> io::Result<(File, String)> {
        fs::create_dir_all(directory)?;
        let file = OpenOptions::new().create(true).append(true).open(&path)?;
        Ok((file, fs::read_to_string(&path)?))
    };
    let (mut file, text) = opened().map_err(|error| failed(&path, &error))?;
    file.try_lock().map_err(|_| {
        Error::input(format!("journal: {} is in use by another run", path.display()))
    })?;
    let [numbers, values] = shape;
    let answered = Answered::read(&text, numbers, values)
        .map_err(|bad| Error::input(format!("journal: {}: {bad}", path.display())))?;
    // What the end of a run tore is cut off.
    file.set_len(answered.whole as u64).map_err(|error| failed(&path, &error))?;
    let append: Append = Box::new(move |line| {
        file.write_all(line.as_bytes())?;
        file.sync_data()
    });
    Ok(Box::new(Journaled::new(inner, answered, piece, append)))
}
