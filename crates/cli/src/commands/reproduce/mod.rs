//! `dzoa reproduce` and `dzoa merge`: the paper's figures, and those it should have had.
//!
//! A figure is measured trial by trial; what a trial gives depends on the seed and on the trial's number only. So
//! any machine may compute any trials, and mean and spread come from the raw values in the order of the trials:
//! merged shards give the bytes of a single run.

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

use crate::args::{FigureName, ReproduceArgs};
use crate::interrupt;
use crate::progress::Progress;
use crate::terminal;
use dzoa_report::{described, png, write_file};
use dzoa_table::{Error, Result};
use raw::{Measurement, Point};
use std::path::{Path, PathBuf};
use store::{Settings, Store};
use trials::{Stop, Trial};

/// One figure: what a trial measures, and how the trials are shown.
pub trait Figure: Sync {
    /// Names its files.
    fn name(&self) -> &'static str;

    /// What the x and the value of a measurement are called in its CSV files.
    fn columns(&self) -> (&'static str, &'static str);

    /// Trials to compute where the user asked for so many, of this figure alone or of all.
    fn trials(&self, asked: u64, _all: bool) -> u64 {
        asked
    }

    /// About how many seconds one core needs for a trial: for the time left, and nothing else.
    fn cost(&self) -> f64;

    /// The same for what it does before its first trial.
    fn cost_of_tuning(&self) -> f64 {
        0.0
    }

    /// Chooses what is tuned, on other draws than those shown; everything it chose goes into the settings.
    fn prepare(&mut self, _seed: u64) -> Result<(), Stop> {
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
    fn measure(&self, trial: &mut Trial) -> Result<Vec<Measurement>, Stop>;

    /// The picture, its caption, and further files.
    fn draw(&self, points: &[Point], trials: u64) -> Result<Drawing>;
}

/// What a figure becomes.
pub struct Drawing {
    /// The picture.
    pub svg: String,
    /// Markdown; every number in it computed.
    pub caption: String,
    /// Name and content.
    pub further: Vec<(String, String)>,
}

/// The figures behind a name.
fn figures(name: FigureName) -> Vec<Box<dyn Figure>> {
    use FigureName as Name;
    match name {
        Name::Fig1 => vec![Box::new(fig1::Fig1)],
        Name::Fig2 => vec![Box::new(fig2::Fig2::default())],
        Name::Fig3 => vec![Box::new(fig3::Fig3::default())],
        Name::Fig3Honest => vec![Box::new(honest::Honest::default())],
        Name::Noise => vec![Box::new(noise::Noise)],
        Name::Rate => vec![Box::new(rate::Rate)],
        Name::All => {
            let each =
                [Name::Fig1, Name::Fig2, Name::Fig3, Name::Noise, Name::Rate, Name::Fig3Honest];
            each.into_iter().flat_map(figures).collect()
        }
    }
}

/// Computes the trials that are not there yet, and draws what is complete.
pub fn reproduce(args: &ReproduceArgs) -> Result<()> {
    let mut figures = figures(args.figure);
    let out = match (&args.out, &args.shard) {
        (Some(out), _) => out.clone(),
        (None, None) => PathBuf::from("figures"),
        (None, Some(shard)) => {
            PathBuf::from(format!("figures-shard-{}-of-{}", shard.index, shard.count))
        }
    };
    // Refuse what is there and different before anything is computed.
    let all = matches!(args.figure, FigureName::All);
    let mut stores: Vec<Store> = figures
        .iter()
        .map(|figure| Store::open(&out, &**figure, args.seed, figure.trials(args.trials, all)))
        .collect::<Result<_>>()?;
    interrupt::listen();
    let wanted = |trial: u64| args.shard.is_none_or(|shard| shard.has(trial));
    let work: f64 = figures
        .iter()
        .zip(&stores)
        .map(|(figure, store)| {
            let tuning = if store.is_new() { figure.cost_of_tuning() } else { 0.0 };
            tuning + figure.cost() * store.missing(wanted)
        })
        .sum();
    let progress = Progress::of_work(work, "preparing");
    for (figure, store) in figures.iter_mut().zip(&mut stores) {
        if !store.is_new() || figure.cost_of_tuning() == 0.0 {
            store.restore(&mut **figure)?;
            continue;
        }
        progress.say(&format!("{}: tuning", figure.name()));
        match store.prepare(&mut **figure) {
            Err(Stop::Interrupted) => {
                progress.finish();
                return Err(Error::run("stopped by Ctrl-C before the first trial"));
            }
            Err(Stop::Failed(error)) => return Err(error),
            Ok(()) => progress.work(figure.cost_of_tuning()),
        }
    }
    progress.say("computing trials");
    let outcome = trials::run(&figures, &mut stores, args.seed, wanted, &progress);
    progress.finish();
    let mut text = String::new();
    for (figure, store) in figures.iter().zip(&stores) {
        store.write(&out)?;
        let complete = args.shard.is_none() && store.missing(|_| true) == 0.0;
        text.push_str(&match complete {
            true => publish(&out, &**figure, store)?,
            false => format!(
                "{}: {} of {} trials in {}\n",
                figure.name(),
                store.raw.len(),
                store.settings.trials,
                out.display()
            ),
        });
    }
    terminal::print(&text)?;
    match outcome {
        Ok(()) => Ok(()),
        Err(Stop::Failed(error)) => Err(error),
        Err(Stop::Interrupted) => Err(Error::run(format!(
            "stopped by Ctrl-C; the trials that were done are in {}",
            out.display()
        ))
        .hint("the same command goes on from there")),
    }
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
    write_file(out, &format!("{name}.png"), png(&svg)?)?;
    write_file(out, &format!("{name}.md"), format!("{}\n", drawing.caption))?;
    write_file(out, &format!("{name}.svg"), &svg)?;
    let files = format!("{name}.svg, {name}.png, {name}.csv, {name}.md");
    Ok(format!("{name}: {files} in {}\n", out.display()))
}
