//! Every algorithm at the same exact total epsilon, tuned at equal effort.

mod contender;
mod contest;
mod pareto;
mod table;

pub use contender::Contender;

use crate::{Interrupt, Watcher};
use contest::{ComparisonDraw, Contest, ContestEntry};
use dzoa::plan::{Claimed, RunSpec};
use dzoa::streams::Streams;
use dzoa_report::{Comparison, csv_field, described};
use dzoa_table::{Error, Instances, Result};
use std::fmt::Write as _;

/// Tuning draws are numbered from here: never those that are reported.
const FIRST_TUNING_TRIAL: u64 = 1 << 32;
/// Where nobody names one.
const DEFAULT_DELTA: f64 = 1e-5;
/// Settings that everybody is tuned over.
const SETTINGS: usize = 12;

/// Who is compared on what.
pub struct CompareSpec<'a> {
    /// Names the comparison.
    pub name: &'a str,
    /// What the config asks for; algorithm, mechanism and what is tuned are replaced.
    pub base: &'a RunSpec,
    /// Rows and network.
    pub instances: &'a Instances,
    /// In the order of the table's ties.
    pub contenders: &'a [Contender],
    /// Totals of whole runs.
    pub epsilons: &'a [f64],
    /// Of whole runs; `None` for the config's, or 1e-5.
    pub delta: Option<f64>,
    /// Trials that are reported.
    pub trials: usize,
    /// Draws that every setting is tuned on.
    pub tuning_trials: usize,
    /// The root of all randomness: a comparison is repeatable, and guarantees nothing.
    pub seed: u64,
    /// The config as given, for the record.
    pub given: serde_json::Value,
}

/// What came out.
pub struct Compared {
    /// comparison.json
    pub comparison: Comparison,
    /// comparison.csv
    pub csv: String,
    /// comparison.md
    pub markdown: String,
    /// For a terminal.
    pub text: String,
    /// tuning.csv: every setting that was tried.
    pub tuning: String,
    /// Error against epsilon; none where nobody has a result.
    pub pareto: Option<String>,
}

/// Tunes, runs and compares.
pub fn compare(
    spec: &CompareSpec<'_>,
    watcher: &dyn Watcher,
    interrupt: Interrupt,
) -> Result<Compared> {
    let mut epsilons = spec.epsilons.to_vec();
    epsilons.sort_by(f64::total_cmp);
    epsilons.dedup();
    let claimed = spec.base.mechanism.claimed();
    let delta = spec.delta.or(claimed.delta()).unwrap_or(DEFAULT_DELTA);
    // Those without a guarantee have no epsilon: one entry of each.
    let entries: Vec<(&Contender, f64)> = spec
        .contenders
        .iter()
        .flat_map(|contender| {
            let at = if contender.is_private() { &epsilons[..] } else { &epsilons[..1] };
            at.iter().map(move |&epsilon| (contender, epsilon))
        })
        .collect();
    let runs = entries.len() as u64 * Contest::runs(spec.tuning_trials, spec.trials);
    watcher.begin_runs(runs, &format!("{}: solving", spec.name));
    let (tuning, reported) = draws(spec)?;
    let contest = Contest {
        base: spec.base,
        rows_per_person: match claimed {
            Claimed::Exact { rows_per_person, .. } => rows_per_person,
            Claimed::Nothing | Claimed::Nominal { .. } => 1,
        },
        instances: spec.instances,
        delta,
        tuning: &tuning,
        reported: &reported,
        watcher,
        interrupt,
    };
    let mut found = Vec::new();
    for (contender, epsilon) in entries {
        watcher.say(&format!("{}: {} at {epsilon}", spec.name, contender.label));
        found.push(contest.enter(contender, epsilon)?);
    }
    watcher.finish();
    Ok(compared(spec, delta, &found))
}

/// Draws to tune on, and other draws to report.
fn draws(spec: &CompareSpec<'_>) -> Result<(Vec<ComparisonDraw>, Vec<ComparisonDraw>)> {
    let streams = Streams::from_seed(spec.seed);
    let tuning = FIRST_TUNING_TRIAL..FIRST_TUNING_TRIAL + spec.tuning_trials as u64;
    let tuning = ComparisonDraw::several(spec.instances, &streams, tuning);
    let reported = ComparisonDraw::several(spec.instances, &streams, 0..spec.trials as u64);
    if reported.iter().any(|draw| draw.optimum.is_none()) {
        return Err(Error::run("the problem has no reference optimum to measure errors against")
            .hint("choose a loss and a regulariser that the reference solver knows"));
    }
    Ok((tuning, reported))
}

/// Rows, files and the verdict.
fn compared(spec: &CompareSpec<'_>, delta: f64, entries: &[ContestEntry]) -> Compared {
    let mut rows: Vec<_> = entries.iter().map(table::row).collect();
    table::sort(&mut rows);
    let instances = spec.instances;
    let comparison = Comparison {
        title: spec.name.into(),
        setting: format!(
            "{} loss, {} agents, {} columns, exact (epsilon, {delta:e})-DP over whole runs, \
             {} trials, each algorithm tuned over {SETTINGS} settings on {} other draw(s)",
            instances.loss().name(),
            instances.graph.len(),
            instances.columns.len(),
            spec.trials,
            spec.tuning_trials,
        ),
        notes: notes(instances, spec.seed),
        verdict: table::verdict(&rows, instances.graph.len()),
        pareto: table::pareto(&rows),
        rows,
        config: spec.given.clone(),
    };
    Compared {
        csv: table::csv(&comparison.rows),
        markdown: table::markdown(&comparison),
        text: table::text(&comparison),
        tuning: tuning_csv(entries),
        pareto: pareto::svg(&comparison.pareto).map(|svg| described(&svg, &comparison.verdict)),
        comparison,
    }
}

fn tuning_csv(entries: &[ContestEntry]) -> String {
    let mut csv = String::from("epsilon,algorithm,settings,error_median\n");
    for ContestEntry { contender, epsilon, tuning, .. } in entries {
        for (settings, error) in tuning {
            let error = error.map_or("refused".into(), |error| error.to_string());
            let settings = csv_field(&settings.to_string());
            let _ = writeln!(csv, "{epsilon},{},{settings},{error}", contender.label);
        }
    }
    csv
}

fn notes(instances: &Instances, seed: u64) -> Vec<String> {
    let mut notes = vec![
        "Every algorithm was tuned over twelve declared settings (tuning.csv) on draws that are \
         not \
         reported here."
            .to_string(),
        format!(
            "Epsilon is over the whole run, exact, replace-one on one agent's rows. The comparison \
             itself is \
             seeded ({seed}) and guarantees nothing."
        ),
    ];
    if instances.is_fixed() {
        notes.push(
            "Errors, accuracy and other measures are taken on the rows as they are: unprotected, \
             do not share."
                .into(),
        );
        notes.push(
            "Tuning ran on the same rows and is not charged: settings for private use must come \
             from public \
             data or rules."
                .into(),
        );
    }
    notes
}
