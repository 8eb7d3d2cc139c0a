//! Long work away from Python: without the GIL, on threads of its own, stopped by Ctrl-C.

use dzoa::run::{Observer, RoundView};
use dzoa::streams::Streams;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How often Ctrl-C is looked for.
const LISTEN: Duration = Duration::from_millis(50);
/// A Python callable may need more than the usual stack of a thread.
const STACK: usize = 16 << 20;

/// Whether the work should end.
pub type Stop = Arc<AtomicBool>;

/// Runs `work` on `threads` threads (0: all cores) that are made for it: a pool that outlives the
/// call would not survive a fork. A panic becomes a Python exception, a signal the exception of its
/// handler.
pub fn interruptible<T: Send>(
    py: Python<'_>,
    threads: usize,
    stop: &Stop,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let (result, signal) = py.detach(|| {
        std::thread::scope(|scope| {
            let (done, finished) = channel();
            let worker = scope.spawn(move || {
                let result = rayon::ThreadPoolBuilder::new()
                    .num_threads(threads)
                    .stack_size(STACK)
                    // A thread that Python knows attaches in a tenth of a microsecond, another one
                    // in ten.
                    .build_scoped(
                        |thread| Python::attach(|py| py.detach(|| thread.run())),
                        |pool| pool.install(work),
                    );
                // Nobody listens any more only if this thread was given up, which never happens.
                let _ = done.send(());
                result
            });
            let mut signal = None;
            while let Err(RecvTimeoutError::Timeout) = finished.recv_timeout(LISTEN) {
                if signal.is_none()
                    && let Err(raised) = Python::attach(|py| py.check_signals())
                {
                    stop.store(true, Ordering::Relaxed);
                    signal = Some(raised);
                }
            }
            (worker.join(), signal)
        })
    });
    match (result, signal) {
        (_, Some(signal)) => Err(signal),
        (Ok(Ok(result)), None) => Ok(result),
        (Ok(Err(error)), None) => {
            Err(PyRuntimeError::new_err(format!("cannot start threads: {error}")))
        }
        (Err(_), None) => Err(PyRuntimeError::new_err(
            "internal error: the computation panicked; its message is on stderr",
        )),
    }
}

/// The streams of a run: those of the first trial of `dzoa run` with this seed, so that both give
/// the same bits. The second is the root, from which partitions and random networks are drawn.
pub fn streams(seed: Option<u64>) -> PyResult<(Streams, Streams)> {
    let root = match seed {
        Some(seed) => Streams::from_seed(seed),
        None => Streams::from_os().map_err(|error| {
            PyRuntimeError::new_err(format!("the operating system has no entropy: {error}"))
        })?,
    };
    Ok((root.trial(0), root))
}

/// Ends a run after the round in which it was asked to.
pub struct Listener(pub Stop);

impl Observer for Listener {
    fn round(&mut self, _view: &RoundView<'_>) -> ControlFlow<()> {
        match self.0.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}
