//! A figure's raw values on disk, beside the settings they belong to.

use super::raw::Raw;
use super::{Columns, Figure};
use crate::Interrupt;
use crate::workers::Stop;
use dzoa_report::{to_json, write_file};
use dzoa_table::{Error, Result};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Everything that the raw values depend on besides the number of the trial.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The figure's name.
    pub figure: String,
    /// Of the program.
    pub version: String,
    /// The root of all randomness.
    pub seed: u64,
    /// Of the whole figure, over all shards.
    pub trials: u64,
    /// What was tuned, on other draws.
    pub tuned: serde_json::Value,
}

impl Settings {
    /// A fingerprint, for messages.
    pub fn digest(&self) -> String {
        let text = serde_json::to_string(self).unwrap_or_default();
        blake3::hash(text.as_bytes()).to_hex()[..12].to_string()
    }
}

/// Settings and raw values of one figure.
pub struct Store {
    /// What the values depend on.
    pub settings: Settings,
    /// The values.
    pub raw: Raw,
    columns: Columns,
    is_new: bool,
}

impl Store {
    /// Goes on from what is in a directory; refuses what was computed with other settings.
    pub fn open(out: &Path, figure: &dyn Figure, seed: u64, trials: u64) -> Result<Self> {
        let name = figure.name();
        let settings = Settings {
            figure: name.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            seed,
            trials,
            tuned: serde_json::Value::Null,
        };
        if out.is_file() {
            return Err(Error::input(format!("--out {}: is a file", out.display()))
                .hint("name a directory"));
        }
        let columns = figure.columns();
        if !out.join(format!("{name}.settings.json")).exists() {
            return Ok(Self { settings, raw: Raw::default(), columns, is_new: true });
        }
        let found = Self::read(out, figure)?;
        // A trial does not depend on how many others there are: more of them may join.
        let tuned = found.settings.tuned.clone();
        let comparable = Settings { trials: found.settings.trials, tuned, ..settings.clone() };
        if found.settings != comparable || found.settings.trials > trials {
            let Settings { seed, trials, version, .. } = &found.settings;
            return Err(Error::input(format!(
                "--out {}: holds {name} with seed {seed} and {trials} trials of version {version}",
                out.display()
            ))
            .hint(
                "choose another directory; with the same seed and at least as many trials it \
            would go on",
            ));
        }
        let settings = Settings { trials, ..found.settings };
        Ok(Self { settings, ..found })
    }

    /// What is in a directory.
    pub fn read(dir: &Path, figure: &dyn Figure) -> Result<Self> {
        let name = figure.name();
        let path = dir.join(format!("{name}.settings.json"));
        let settings: Settings = std::fs::read_to_string(&path)
            .map_err(|error| error.to_string())
            .and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string()))
            .map_err(|error| {
                Error::input(format!("{}: cannot be read: {error}", path.display()))
                    .hint("compute the shard again")
            })?;
        let raw = Raw::from_csv(&dir.join(format!("{name}.trials.csv")))?;
        if let Some(trial) = raw.trials().find(|trial| *trial >= settings.trials) {
            return Err(Error::input(format!(
                "{}: has trial {trial}, but the figure has {} trials",
                dir.join(format!("{name}.trials.csv")).display(),
                settings.trials
            ))
            .hint("compute the shard again"));
        }
        Ok(Self { settings, raw, columns: figure.columns(), is_new: false })
    }

    /// Whether nothing was computed yet.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// Tunes what is to be tuned, and remembers it.
    pub fn prepare(&mut self, figure: &mut dyn Figure, interrupt: Interrupt) -> Result<(), Stop> {
        figure.prepare(self.settings.seed, interrupt)?;
        self.settings.tuned = figure.tuned();
        Ok(())
    }

    /// Hands the figure what was tuned.
    pub fn restore(&self, figure: &mut dyn Figure) -> Result<()> {
        figure.restore(&self.settings.tuned).map_err(|error| {
            Error::input(format!("{}.settings.json: `tuned`: {error}", figure.name()))
                .hint("compute the shard again")
        })
    }

    /// How many of the wanted trials are not there.
    pub fn missing(&self, wanted: impl Fn(u64) -> bool) -> f64 {
        (0..self.settings.trials).filter(|&t| wanted(t) && !self.raw.has(t)).count() as f64
    }

    /// Writes both files, the settings last.
    pub fn write(&self, out: &Path) -> Result<()> {
        let name = &self.settings.figure;
        write_file(out, &format!("{name}.trials.csv"), self.raw.to_csv(self.columns))?;
        write_file(out, &format!("{name}.settings.json"), &to_json(&self.settings)?)
    }
}
