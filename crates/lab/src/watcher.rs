//! Who waits for a measurement, and how they end it.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whoever waits for a measurement: is told what is being done, and how much of it is done.
pub trait Watcher: Sync {
    /// So many runs are to come.
    fn begin_runs(&self, total: u64, what: &str);

    /// So much work is to come, as seconds that one core would need: only proportions matter.
    fn begin_work(&self, seconds: f64, what: &str);

    /// Says what is being done now.
    fn say(&self, what: &str);

    /// A line that stays.
    fn note(&self, what: &str);

    /// One more run.
    fn run_done(&self);

    /// So much more work.
    fn work_done(&self, seconds: f64);

    /// Everything is done, or given up.
    fn finish(&self);
}

/// Nobody waits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Watcher for Unwatched {
    fn begin_runs(&self, _total: u64, _what: &str) {}
    fn begin_work(&self, _seconds: f64, _what: &str) {}
    fn say(&self, _what: &str) {}
    fn note(&self, _what: &str) {}
    fn run_done(&self) {}
    fn work_done(&self, _seconds: f64) {}
    fn finish(&self) {}
}

/// Asks for the end of a measurement. It outlives all of them, as the handler of Ctrl-C does.
#[derive(Clone, Copy, Debug)]
pub struct Interrupt(&'static AtomicBool);

impl Interrupt {
    /// Asked for once this is set.
    pub fn when(flag: &'static AtomicBool) -> Self {
        Self(flag)
    }

    /// Whether the end was asked for.
    pub fn asked(self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

impl Default for Interrupt {
    /// Never asked for.
    fn default() -> Self {
        static NEVER: AtomicBool = AtomicBool::new(false);
        Self(&NEVER)
    }
}
