//! The paper's figures, and those it should have had.
//!
//! A figure is measured trial by trial; what a trial gives depends on the seed and on the trial's
//! number only. So any machine may compute any trials, and mean and spread come from the raw values
//! in the order of the trials: merged shards give the bytes of a single run.

mod captions;
mod contest;
mod curves;
mod exact;
mod fig1;
mod fig2;
mod fig3;
mod honest;
mod merge;
mod noise;
mod paper;
mod rate;
mod raw;
mod store;
mod trials;
mod tuning;

pub use merge::merge;
pub use paper::PaperProblem;

use crate::workers::Stop;
use crate::{Interrupt, Watcher};
use dzoa_report::{described, write_file, write_png};
use dzoa_table::{Error, Result, suggestion};
use raw::{Measurement, Point};
use std::path::{Path, PathBuf};
use store::{Settings, Store};
use trials::FigureTrial;

/// One figure: what a trial measures, and how the trials are shown.
trait Figure: Sync {
    /// Names its files.
    fn name(&self) -> &'static str;

    /// What the x and the value of a measurement are called in its CSV files.
    fn columns(&self) -> Columns;

    /// Trials to compute where the user asked for so many, of this figure alone or of all.
    fn trials(&self, asked: u64, _all: bool) -> u64 {
        asked
    }

    /// About how many seconds one core needs for a trial: for the time left, and nothing else.
    fn cost(&self) -> f64;

    /// About how many seconds one core needs before the first trial.
    fn cost_of_tuning(&self) -> f64 {
        0.0
    }

    /// Chooses what is tuned, on other draws than those shown; everything it chose goes into the
    /// settings.
    fn prepare(&mut self, _seed: u64, _interrupt: Interrupt) -> Result<(), Stop> {
        Ok(())
    }

    /// What was tuned, as JSON.
    fn tuned(&self) -> serde_json::Value {
        serde_json::Value::Null
    }

    /// Takes over what was tuned elsewhere.
    fn restore(&mut self, _tuned: &serde_json::Value) -> Result<(), serde_json::Error> {
        Ok(())
    }

    /// The raw values of one trial, in an order that is the same for every trial.
    fn measure(&self, trial: &mut FigureTrial) -> Result<Vec<Measurement>, Stop>;

    /// The picture, its caption, and further files.
    fn draw(&self, points: &[Point], trials: u64) -> Result<Drawing>;
}

/// What the x and the value of a measurement are called in CSV files.
#[derive(Clone, Copy, Debug)]
struct Columns {
    x: &'static str,
    value: &'static str,
}

/// What a figure becomes.
struct Drawing {
    /// The picture.
    svg: String,
    /// Markdown; every number in it computed.
    caption: String,
    /// Name and content.
    further: Vec<(String, String)>,
}

/// Every figure that can be asked for, with a word about each.
pub const FIGURES: [(&str, &str); 7] = [
    ("fig1", "The network"),
    ("fig2", "Error against round, D-ZOA and tuned DP-ADMM (nominal)"),
    ("fig3", "Error against total epsilon and against delta (nominal)"),
    ("fig3-honest", "Figure 3 at equal exact total epsilon, with mechanisms that hold"),
    ("noise", "Assumed against measured noise of `intrinsic`"),
    ("rate", "Error against the number of rounds, beside Theorem 3"),
    (ALL, "All of them"),
];
const ALL: &str = "all";

/// The figures behind a name.
fn figures(name: &str) -> Result<Vec<Box<dyn Figure>>> {
    // The one whose trials take longest comes last.
    let every: [Box<dyn Figure>; 6] = [
        Box::new(fig1::Fig1),
        Box::new(fig2::Fig2::default()),
        Box::new(fig3::Fig3::default()),
        Box::new(noise::NoiseFigure),
        Box::new(rate::Rate),
        Box::new(honest::Honest::default()),
    ];
    let found: Vec<_> =
        every.into_iter().filter(|figure| name == ALL || figure.name() == name).collect();
    if found.is_empty() {
        let known = FIGURES.map(|(name, _)| name);
        return Err(
            Error::input(format!("no figure is called `{name}`")).hint(suggestion(name, &known))
        );
    }
    Ok(found)
}

/// One of several equal parts of the trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 1.
    pub index: u64,
    /// How many there are.
    pub count: u64,
}

impl Shard {
    /// Whether a trial, counted from 0, is in this part.
    pub fn has(self, trial: u64) -> bool {
        trial % self.count == self.index - 1
    }
}

/// What to compute.
pub struct ReproduceSpec<'a> {
    /// One of [`FIGURES`].
    pub figure: &'a str,
    /// Trials of every curve.
    pub trials: u64,
    /// Only these, and nothing is drawn.
    pub shard: Option<Shard>,
    /// The root of all randomness.
    pub seed: u64,
    /// Where raw values are kept, and pictures go.
    pub out: PathBuf,
}

/// Computes the trials that are not there yet, and draws what is complete. Returns a line about
/// each figure, and whether everything was done.
pub fn reproduce(
    spec: &ReproduceSpec<'_>,
    watcher: &dyn Watcher,
    interrupt: Interrupt,
) -> Result<(String, Result<()>)> {
    let mut figures = figures(spec.figure)?;
    let (out, all) = (&spec.out, spec.figure == ALL);
    // Refuse what is there and different before anything is computed.
    let mut stores: Vec<Store> = figures
        .iter()
        .map(|figure| Store::open(out, &**figure, spec.seed, figure.trials(spec.trials, all)))
        .collect::<Result<_>>()?;
    let wanted = |trial: u64| spec.shard.is_none_or(|shard| shard.has(trial));
    let work = figures.iter().zip(&stores).map(|(figure, store)| {
        let tuning = if store.is_new() { figure.cost_of_tuning() } else { 0.0 };
        tuning + figure.cost() * store.missing(wanted)
    });
    watcher.begin_work(work.sum(), "preparing");
    prepare(&mut figures, &mut stores, watcher, interrupt)?;
    watcher.say("computing trials");
    let wanted = trials::Wanted { seed: spec.seed, shard: spec.shard };
    let outcome = trials::run(&figures, &mut stores, wanted, watcher, interrupt);
    watcher.finish();
    let mut text = String::new();
    for (figure, store) in figures.iter().zip(&stores) {
        store.write(out)?;
        let complete = spec.shard.is_none() && store.missing(|_| true) == 0.0;
        text.push_str(&match complete {
            true => publish(out, &**figure, store)?,
            false => format!(
                "{}: {} of {} trials in {}\n",
                figure.name(),
                store.raw.len(),
                store.settings.trials,
                out.display()
            ),
        });
    }
    let outcome = outcome.map_err(|stop| match stop {
        Stop::Failed(error) => error,
        Stop::Interrupted => Error::interrupted(format!(
            "stopped by Ctrl-C; the trials that were done are in {}",
            out.display()
        ))
        .hint("the same command goes on from there"),
    });
    Ok((text, outcome))
}

/// Tunes what is to be tuned, or takes over what was tuned before.
fn prepare(
    figures: &mut [Box<dyn Figure>],
    stores: &mut [Store],
    watcher: &dyn Watcher,
    interrupt: Interrupt,
) -> Result<()> {
    for (figure, store) in figures.iter_mut().zip(stores) {
        if !store.is_new() || figure.cost_of_tuning() == 0.0 {
            store.restore(&mut **figure)?;
            continue;
        }
        watcher.say(&format!("{}: tuning", figure.name()));
        store.prepare(&mut **figure, interrupt).map_err(|stop| match stop {
            Stop::Failed(error) => error,
            Stop::Interrupted => Error::interrupted("stopped by Ctrl-C before the first trial"),
        })?;
        watcher.work_done(figure.cost_of_tuning());
    }
    Ok(())
}

/// Writes CSV, SVG, PNG and caption of a complete figure; returns a line for the terminal.
fn publish(out: &Path, figure: &dyn Figure, store: &Store) -> Result<String> {
    let Settings { trials, .. } = store.settings;
    let name = figure.name();
    let points = store.raw.points();
    let drawing = figure.draw(&points, trials)?;
    let svg = described(&drawing.svg, &drawing.caption.replace(['*', '`'], ""));
    if trials > 0 {
        write_file(out, &format!("{name}.csv"), raw::summary_csv(figure.columns(), &points))?;
    }
    for (further, content) in &drawing.further {
        write_file(out, further, content)?;
    }
    let drawn = write_png(out, &format!("{name}.png"), &svg)?;
    write_file(out, &format!("{name}.md"), format!("{}\n", drawing.caption))?;
    write_file(out, &format!("{name}.svg"), &svg)?;
    let png = if drawn { format!("{name}.png, ") } else { String::new() };
    let files = format!("{name}.svg, {png}{name}.csv, {name}.md");
    Ok(format!("{name}: {files} in {}\n", out.display()))
}
