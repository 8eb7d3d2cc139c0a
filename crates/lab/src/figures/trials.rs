//! Trials on all cores, until they are done or the user has had enough.

use super::exact::ExactDraw;
use super::paper::PaperDraw;
use super::store::Store;
use super::{Figure, Shard};
use crate::workers::{Stop, in_parallel};
use crate::{Interrupt, Watcher};
use dzoa::streams::Streams;
use dzoa_table::Result;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Tuning draws have numbers from here on: no trial that is shown has one of them.
const TUNING: u64 = 1 << 32;

/// One trial, shared by all figures: its draws and their optima are computed once.
pub struct FigureTrial {
    streams: Streams,
    interrupt: Interrupt,
    paper: Option<PaperDraw>,
    exact: HashMap<&'static str, ExactDraw>,
}

impl FigureTrial {
    /// A trial that is shown.
    pub fn new(seed: u64, number: u64, interrupt: Interrupt) -> Self {
        let streams = Streams::from_seed(seed).trial(number);
        Self { streams, interrupt, paper: None, exact: HashMap::new() }
    }

    /// A draw to tune on.
    pub fn for_tuning(seed: u64, number: u64, interrupt: Interrupt) -> Self {
        Self::new(seed, TUNING + number, interrupt)
    }

    /// The paper's example.
    pub fn paper(&mut self) -> Result<&mut PaperDraw> {
        if self.paper.is_none() {
            self.paper = Some(PaperDraw::new(&self.streams, self.interrupt)?);
        }
        Ok(self.paper.as_mut().expect("it was just filled"))
    }

    /// The classification problem of the figures with exact privacy.
    pub fn exact(&mut self, loss: &'static str) -> Result<&ExactDraw> {
        if !self.exact.contains_key(loss) {
            self.exact.insert(loss, ExactDraw::new(loss, &self.streams, self.interrupt)?);
        }
        Ok(&self.exact[loss])
    }
}

/// Which trials are wanted.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// The root of all randomness.
    pub seed: u64,
    /// Only these.
    pub shard: Option<Shard>,
}

/// Computes every trial that is wanted and not there. What was done before a Ctrl-C or a failure is
/// kept.
pub fn run(
    figures: &[Box<dyn Figure>],
    stores: &mut [Store],
    wanted: Wanted,
    watcher: &dyn Watcher,
    interrupt: Interrupt,
) -> Result<(), Stop> {
    let most = stores.iter().map(|store| store.settings.trials).max().unwrap_or(0);
    let todo: Vec<(u64, Vec<usize>)> = (0..most)
        .filter(|&trial| wanted.shard.is_none_or(|shard| shard.has(trial)))
        .map(|trial| {
            let lacking =
                |&f: &usize| trial < stores[f].settings.trials && !stores[f].raw.has(trial);
            (trial, (0..figures.len()).filter(lacking).collect())
        })
        .filter(|(_, lacking): &(u64, Vec<usize>)| !lacking.is_empty())
        .collect();
    let stores = Mutex::new(stores);
    let compute = |trial: u64, lacking: &[usize]| -> Result<(), Stop> {
        let mut draws = FigureTrial::new(wanted.seed, trial, interrupt);
        for &f in lacking {
            if interrupt.asked() {
                return Err(Stop::Interrupted);
            }
            let measurements = figures[f].measure(&mut draws)?;
            let mut stores = stores.lock().unwrap_or_else(PoisonError::into_inner);
            stores[f].raw.insert(trial, measurements);
            watcher.work_done(figures[f].cost());
        }
        Ok(())
    };
    in_parallel(&todo, |(trial, lacking)| compute(*trial, lacking)).map(drop)
}
