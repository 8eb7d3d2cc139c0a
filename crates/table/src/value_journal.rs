//! The journal of a run of black boxes, on disk: a file for each agent, and the seed.

use crate::error::{Error, Result};
use dzoa::problem::{Answered, Append, Journaled, Oracle};
use rand::Rng;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// A directory with a journal of every agent's values.
#[derive(Clone, Copy, Debug)]
pub struct ValueJournal<'a>(pub &'a Path);

/// How an agent is asked.
#[derive(Clone, Copy, Debug)]
pub struct Asking {
    /// Numbers of a point.
    pub numbers: usize,
    /// Values that it gets.
    pub values: usize,
    /// Points that are asked at once.
    pub at_once: usize,
}

impl ValueJournal<'_> {
    /// The seed that the run goes on with: the journal's own, the one that was given, or a new one.
    pub fn seed(self, given: Option<u64>) -> Result<u64> {
        let directory = self.0;
        fs::create_dir_all(directory).map_err(|error| failed(directory, &error))?;
        let path = directory.join("seed");
        if let Ok(text) = fs::read_to_string(&path)
            && text.ends_with('\n')
        {
            let none = || Error::input(format!("journal: {} holds no seed", path.display()));
            let known: u64 = text.trim().parse().map_err(|_| none())?;
            return match given {
                Some(given) if given != known => {
                    let problem = format!("the seed is {given}, but the journal has {known}");
                    Err(Error::input(problem).hint("leave the seed out, or name another journal"))
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

    /// An oracle that goes on from what an agent of this name was asked before.
    pub fn oracle(
        self,
        agent: &str,
        asking: Asking,
        inner: Box<dyn Oracle>,
    ) -> Result<Box<dyn Oracle>> {
        let directory = self.0;
        let Asking { numbers, values, at_once } = asking;
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
        let answered = Answered::read(&text, numbers, values)
            .map_err(|bad| Error::input(format!("journal: {}: {bad}", path.display())))?;
        // What the end of a run tore is cut off.
        file.set_len(answered.whole as u64).map_err(|error| failed(&path, &error))?;
        let append: Append = Box::new(move |line| {
            file.write_all(line.as_bytes())?;
            file.sync_data()
        });
        Ok(Box::new(Journaled::new(inner, answered, at_once, append)))
    }
}

fn failed(path: &Path, error: &io::Error) -> Error {
    Error::run(format!("journal: {}: {error}", path.display()))
}
