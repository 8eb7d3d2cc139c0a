//! Progress on stderr: a bar on a terminal, plain lines elsewhere.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Lines that a long run writes where there is no terminal.
const LINES: u64 = 10;

/// Counts rounds over all trials.
pub struct Progress {
    bar: Option<ProgressBar>,
    total: u64,
    done: AtomicU64,
}

impl Progress {
    /// Starts with what is being done.
    pub fn new(total: u64, what: &str) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
            let style = "{msg:24} {bar:40} {pos}/{len} rounds, {eta} left";
            bar.set_style(ProgressStyle::with_template(style).expect("the template is valid"));
            bar.enable_steady_tick(Duration::from_millis(200));
            bar.set_message(what.to_string());
            bar
        });
        if bar.is_none() {
            eprintln!("{what}");
        }
        Self { bar, total, done: AtomicU64::new(0) }
    }

    /// Shows nothing: for what is repeated behind the scenes.
    pub fn hidden() -> Self {
        Self { bar: Some(ProgressBar::hidden()), total: 0, done: AtomicU64::new(0) }
    }

    /// Says what is being done now.
    pub fn say(&self, what: &str) {
        match &self.bar {
            Some(bar) => bar.set_message(what.to_string()),
            None => eprintln!("{what}"),
        }
    }

    /// A line that stays, above the bar.
    pub fn note(&self, what: &str) {
        match &self.bar {
            Some(bar) => bar.println(what),
            None => eprintln!("{what}"),
        }
    }

    /// One more round.
    pub fn tick(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        match &self.bar {
            Some(bar) => bar.set_position(done),
            None => {
                let step = self.total.div_ceil(LINES).max(1);
                if done.is_multiple_of(step) || done == self.total {
                    eprintln!("{done}/{} rounds", self.total);
                }
            }
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
