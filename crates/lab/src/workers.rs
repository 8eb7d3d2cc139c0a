//! Work on all cores, until it is done or the user has had enough.

use dzoa_table::{Error, Result};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Why a piece of work has no result.
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

/// Does every piece of work, on as many threads as there are cores, and returns the results in the
/// order of the pieces; the first that stops ends all.
///
/// Each thread has a small pool of its own for what a piece does in parallel, so that no thread
/// that waits inside one piece begins another.
pub fn in_parallel<T: Sync, R: Send>(
    pieces: &[T],
    work: impl Fn(&T) -> Result<R, Stop> + Sync,
) -> Result<Vec<R>, Stop> {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let workers = cores.min(pieces.len()).max(1);
    let (next, stop, done) = (AtomicUsize::new(0), Mutex::new(None), Mutex::new(Vec::new()));
    let pools: Vec<rayon::ThreadPool> = (0..workers)
        .map(|_| rayon::ThreadPoolBuilder::new().num_threads(cores / workers).build())
        .collect::<Result<_, _>>()
        .map_err(|error| Error::run(format!("cannot start threads: {error}")))?;
    std::thread::scope(|scope| {
        for pool in &pools {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(piece) = pieces.get(i) else { return };
                    match pool.install(|| work(piece)) {
                        Ok(result) => {
                            done.lock().unwrap_or_else(PoisonError::into_inner).push((i, result));
                        }
                        Err(reason) => {
                            next.store(pieces.len(), Ordering::Relaxed);
                            let mut stop = stop.lock().unwrap_or_else(PoisonError::into_inner);
                            stop.get_or_insert(reason);
                        }
                    }
                }
            });
        }
    });
    if let Some(reason) = stop.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(reason);
    }
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    // Which thread was first must not matter to whoever adds the results up.
    done.sort_by_key(|(i, _)| *i);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}
