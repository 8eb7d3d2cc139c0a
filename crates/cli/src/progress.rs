//! Progress on stderr: a bar on a terminal, plain lines elsewhere.

use crate::terminal::{Voice, note, voice};
use dzoa_lab::Watcher;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Lines that a long run writes where there is no terminal.
const LINES: u64 = 10;

/// Steps that a second of estimated work counts as.
const STEPS_PER_SECOND: f64 = 1000.0;

/// Counts rounds over all trials, whole runs, or estimated work where the steps are of different
/// length.
pub struct Progress {
    bar: Option<ProgressBar>,
    total: AtomicU64,
    done: AtomicU64,
    started: Instant,
    /// What is counted, if it is not work.
    unit: Option<&'static str>,
}

impl Progress {
    /// Counts rounds, and starts with what is being done.
    pub fn new(total: u64, what: &str) -> Self {
        Self::counting("rounds", total, what)
    }

    /// Counts whole runs.
    pub fn of_runs(total: u64, what: &str) -> Self {
        Self::counting("runs", total, what)
    }

    fn counting(unit: &'static str, total: u64, what: &str) -> Self {
        // On a line of its own, what is done may be as long as the terminal is wide.
        let style = format!("{{wide_msg}}\n{{wide_bar}} {{pos}}/{{len}} {unit}, {{eta}} left");
        Self::with_style(total, what, &style, Some(unit))
    }

    /// Counts work, given as seconds that one core would need: only their proportions matter.
    pub fn of_work(seconds: f64, what: &str) -> Self {
        let total = (seconds * STEPS_PER_SECOND) as u64;
        Self::with_style(total, what, "{wide_msg}\n{wide_bar} {percent} %, {eta} left", None)
    }

    fn with_style(total: u64, what: &str, style: &str, unit: Option<&'static str>) -> Self {
        if voice() == Voice::Quiet {
            return Self::hidden();
        }
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
            bar.set_style(ProgressStyle::with_template(style).expect("the template is valid"));
            bar.enable_steady_tick(Duration::from_millis(200));
            bar.set_message(what.to_string());
            bar
        });
        if bar.is_none() {
            eprintln!("{what}");
        }
        let (total, done) = (AtomicU64::new(total), AtomicU64::new(0));
        Self { bar, total, done, started: Instant::now(), unit }
    }

    /// Shows nothing: for what is repeated behind the scenes.
    pub fn hidden() -> Self {
        let bar = Some(ProgressBar::hidden());
        let started = Instant::now();
        Self { bar, total: AtomicU64::new(0), done: AtomicU64::new(0), started, unit: None }
    }

    /// There is so much to do, as it turns out.
    pub fn expect(&self, total: u64) {
        self.total.store(total, Ordering::Relaxed);
        self.bar.iter().for_each(|bar| bar.set_length(total));
    }

    /// Whether it is a bar on a terminal, and not plain lines.
    pub fn is_bar(&self) -> bool {
        self.bar.is_some()
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

    /// One more round, or run.
    pub fn tick(&self) {
        self.advance(1);
    }

    /// So much more work.
    pub fn work(&self, seconds: f64) {
        self.advance((seconds * STEPS_PER_SECOND) as u64);
    }

    fn advance(&self, steps: u64) {
        let before = self.done.fetch_add(steps, Ordering::Relaxed);
        let done = before + steps;
        match &self.bar {
            Some(bar) => bar.set_position(done),
            None => {
                let total = self.total.load(Ordering::Relaxed);
                let line = total.div_ceil(LINES).max(1);
                if done / line > before / line || done == total {
                    eprintln!("{}", self.line(done));
                }
            }
        }
    }

    fn line(&self, done: u64) -> String {
        let total = self.total.load(Ordering::Relaxed);
        if let Some(unit) = self.unit {
            return format!("{done}/{total} {unit}");
        }
        let share = done as f64 / total.max(1) as f64;
        let left = self.started.elapsed().mul_f64((1.0 - share).max(0.0) / share.max(1e-9));
        format!("{:.0} %, about {} left", 100.0 * share, minutes(left))
    }

    /// Removes the bar; dropping does, too, so that no error stands behind half a bar.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}

/// For a measurement, which says itself how much there is to do.
#[derive(Default)]
pub struct Waiting(OnceLock<Progress>);

impl Watcher for Waiting {
    fn begin_runs(&self, total: u64, what: &str) {
        self.0.get_or_init(|| Progress::of_runs(total, what));
    }

    fn begin_work(&self, seconds: f64, what: &str) {
        self.0.get_or_init(|| Progress::of_work(seconds, what));
    }

    fn say(&self, what: &str) {
        self.0.get().inspect(|progress| progress.say(what));
    }

    fn note(&self, what: &str) {
        match self.0.get() {
            Some(progress) => progress.note(what),
            None => note(what),
        }
    }

    fn run_done(&self) {
        self.0.get().inspect(|progress| progress.tick());
    }

    fn work_done(&self, seconds: f64) {
        self.0.get().inspect(|progress| progress.work(seconds));
    }

    fn finish(&self) {
        self.0.get().inspect(|progress| progress.finish());
    }
}

fn minutes(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..=99 => format!("{seconds} s"),
        seconds => format!("{} min", (seconds + 30) / 60),
    }
}
