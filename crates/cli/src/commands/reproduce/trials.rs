//! Trials on all cores, until they are done or the user has had enough.

use super::Figure;
use super::exact::ExactDraw;
use super::paper::Draw;
use super::store::Store;
use crate::interrupt;
use crate::progress::Progress;
use dzoa::streams::Streams;
use dzoa_table::{Error, Result};
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Why a trial has no values.
#[derive(Debug)]
pub enum Stop {
    /// Ctrl-C.
    Interrupted,
    /// Something is wrong.
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Tuning draws have numbers from here on: no trial that is shown has one of them.
const TUNING: u64 = 1 << 32;

/// One trial, shared by all figures: its draws and their optima are computed once.
pub struct Trial {
    streams: Streams,
    paper: Option<Draw>,
    exact: HashMap<&'static str, ExactDraw>,
}

impl Trial {
    /// A trial that is shown.
    pub fn new(seed: u64, number: u64) -> Self {
        let streams = Streams::from_seed(seed).trial(number);
        Self { streams, paper: None, exact: HashMap::new() }
    }

    /// A draw to tune on.
    pub fn for_tuning(seed: u64, number: u64) -> Self {
        Self::new(seed, TUNING + number)
    }

    /// The paper's example.
    pub fn paper(&mut self) -> Result<&mut Draw> {
        if self.paper.is_none() {
            self.paper = Some(Draw::new(&self.streams)?);
        }
        Ok(self.paper.as_mut().expect("it was just filled"))
    }

    /// The classification problem of the figures with exact privacy.
    pub fn exact(&mut self, loss: &'static str) -> Result<&ExactDraw> {
        if !self.exact.contains_key(loss) {
            self.exact.insert(loss, ExactDraw::new(loss, &self.streams)?);
        }
        Ok(&self.exact[loss])
    }
}

/// Computes every trial that is wanted and not there. What was done before a Ctrl-C or a failure is kept.
pub fn run(
    figures: &[Box<dyn Figure>],
    stores: &mut [Store],
    seed: u64,
    wanted: impl Fn(u64) -> bool,
    progress: &Progress,
) -> Result<(), Stop> {
    let most = stores.iter().map(|store| store.settings.trials).max().unwrap_or(0);
    let todo: Vec<(u64, Vec<usize>)> = (0..most)
        .filter(|&trial| wanted(trial))
        .map(|trial| {
            let lacking =
                |&f: &usize| trial < stores[f].settings.trials && !stores[f].raw.has(trial);
            (trial, (0..figures.len()).filter(lacking).collect())
        })
        .filter(|(_, lacking): &(u64, Vec<usize>)| !lacking.is_empty())
        .collect();
    let stores = Mutex::new(stores);
    let compute = |trial: u64, lacking: &[usize]| -> Result<(), Stop> {
        let mut draws = Trial::new(seed, trial);
        for &f in lacking {
            if interrupt::asked() {
                return Err(Stop::Interrupted);
            }
            let measurements = figures[f].measure(&mut draws)?;
            let mut stores = stores.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            stores[f].raw.insert(trial, measurements);
            progress.work(figures[f].cost());
        }
        Ok(())
    };
    in_parallel(&todo, |(trial, lacking)| compute(*trial, lacking))
}

/// Does every piece of work, on as many threads as there are cores; the first that stops ends all.
///
/// Each thread has a small pool of its own for what a piece does in parallel, so that no thread that waits inside
/// one trial begins another.
pub fn in_parallel<T: Sync>(
    pieces: &[T],
    work: impl Fn(&T) -> Result<(), Stop> + Sync,
) -> Result<(), Stop> {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let workers = cores.min(pieces.len()).max(1);
    let (next, stop) = (AtomicUsize::new(0), Mutex::new(None));
    let pools: Vec<rayon::ThreadPool> = (0..workers)
        .map(|_| rayon::ThreadPoolBuilder::new().num_threads(cores / workers).build())
        .collect::<Result<_, _>>()
        .map_err(|error| Error::run(format!("cannot start threads: {error}")))?;
    std::thread::scope(|scope| {
        for pool in &pools {
            scope.spawn(|| {
                while let Some(piece) = pieces.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(reason) = pool.install(|| work(piece)) {
                        next.store(pieces.len(), Ordering::Relaxed);
                        let mut stop = stop.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                        stop.get_or_insert(reason);
                    }
                }
            });
        }
    });
    match stop.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()) {
        Some(reason) => Err(reason),
        None => Ok(()),
    }
}
