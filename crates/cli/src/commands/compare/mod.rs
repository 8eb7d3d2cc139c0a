//! `dzoa compare`: every algorithm at the same exact total epsilon, tuned at equal effort.

mod contender;
mod contest;
mod pareto;
mod table;

use crate::args::CompareArgs;
use crate::config::Config;
use crate::progress::Progress;
use crate::terminal;
use crate::{files, interrupt};
use contender::Contender;
use contest::{Contest, Draw};
use dzoa::plan::Claimed;
use dzoa_report::{Comparison, comparison_html, csv_field, described, png, to_json, write_file};
use dzoa_table::{Error, Instances, Result};
use std::fmt::Write as _;

/// Tuning draws are numbered from here: never those that are reported.
const FIRST_TUNING_TRIAL: u64 = 1 << 32;
/// Where neither the command nor the config has one.
const DEFAULT_DELTA: f64 = 1e-5;
/// Settings that everybody is tuned over.
const SETTINGS: usize = 12;

/// Tunes, runs and compares.
pub fn compare(args: &CompareArgs) -> Result<()> {
    let base = Config::load(args.common.config.as_deref(), &args.common.sets)?;
    let contenders = Contender::parse_list(&args.algorithms)?;
    let mut epsilons = args.epsilon.clone();
    epsilons.sort_by(f64::total_cmp);
    epsilons.dedup();
    let delta = args.delta.or(base.spec.mechanism.claimed().delta()).unwrap_or(DEFAULT_DELTA);
    let name = format!("{}-compare", base.name);
    let out = files::output_directory(args.common.out.as_deref(), &name)?;
    if out.join("comparison.json").exists() {
        return Err(Error::input(format!("--out {}: holds another comparison", out.display()))
            .hint("choose another directory; nothing is overwritten"));
    }
    // A comparison is repeatable; it guarantees nothing about the rows it runs on.
    let seed = base.run.seed.unwrap_or(1);
    let streams = dzoa::streams::Streams::from_seed(seed);
    let pool = base.thread_pool()?;
    let instances = Instances::prepare(&base.instances(), &streams)?;
    interrupt::listen();

    let trials = args.trials;
    let tuning = FIRST_TUNING_TRIAL..FIRST_TUNING_TRIAL + args.tuning_trials as u64;
    let private = contenders.iter().filter(|contender| contender.is_private()).count();
    let entries = private * epsilons.len() + (contenders.len() - private);
    let total = entries as u64 * Contest::runs(args.tuning_trials, trials);
    let progress = Progress::of_runs(total, &format!("{}: solving", base.name));
    let (tuning, reported) = pool.install(|| {
        (
            Draw::several(&instances, &streams, tuning),
            Draw::several(&instances, &streams, 0..trials as u64),
        )
    });
    if reported.iter().any(|draw| draw.optimum.is_none()) {
        progress.finish();
        return Err(Error::run("the problem has no reference optimum to measure errors against")
            .hint("choose a loss and a regulariser that the reference solver knows"));
    }
    let contest = Contest {
        base: &base.spec,
        rows_per_person: match base.spec.mechanism.claimed() {
            Claimed::Exact { rows_per_person, .. } => rows_per_person,
            Claimed::Nothing | Claimed::Nominal { .. } => 1,
        },
        instances: &instances,
        delta,
        tuning: &tuning,
        reported: &reported,
        progress: &progress,
    };
    let mut rows = Vec::new();
    let mut tuned = String::from("epsilon,algorithm,settings,error_median\n");
    for contender in &contenders {
        // Those without a promise have no epsilon: one run of each.
        let epsilons = if contender.is_private() { &epsilons[..] } else { &epsilons[..1] };
        for &epsilon in epsilons {
            progress.say(&format!("{}: {} at {epsilon}", base.name, contender.label));
            let entry = pool.install(|| contest.enter(contender, epsilon))?;
            for (settings, error) in &entry.tuning {
                let error = error.map_or("refused".into(), |error| error.to_string());
                let settings = csv_field(&settings.to_string());
                let _ = writeln!(tuned, "{epsilon},{},{settings},{error}", contender.label);
            }
            rows.push(table::row(&entry));
        }
    }
    progress.finish();
    table::sort(&mut rows);
    let comparison = Comparison {
        title: base.name.clone(),
        setting: format!(
            "{} loss, {} agents, {} columns, exact (epsilon, {delta:e})-DP over whole runs, {trials} trials, \
             each algorithm tuned over {SETTINGS} settings on {} other draw(s)",
            base.problem.loss.name(),
            instances.graph.len(),
            instances.columns.len(),
            args.tuning_trials,
        ),
        notes: notes(&instances, seed),
        verdict: table::verdict(&rows, instances.graph.len()),
        pareto: table::pareto(&rows),
        rows,
        config: base.given.clone(),
    };
    let write = |name: &str, text: &str| write_file(&out, name, text);
    write("comparison.csv", &table::csv(&comparison.rows))?;
    write("comparison.md", &table::markdown(&comparison))?;
    write("tuning.csv", &tuned)?;
    if let Some(svg) = pareto::svg(&comparison.pareto) {
        let svg = described(&svg, &comparison.verdict);
        write("pareto.svg", &svg)?;
        write_file(&out, "pareto.png", png(&svg)?)?;
    }
    write("report.html", &comparison_html(&comparison)?)?;
    // Last, so that a directory with it is a whole comparison.
    write("comparison.json", &to_json(&comparison)?)?;
    if args.common.json {
        terminal::print_json(&comparison)
    } else {
        terminal::print(&format!(
            "{}\n  files in {}: report.html, comparison.json, comparison.csv, comparison.md, pareto.svg, pareto.png, tuning.csv\n",
            table::text(&comparison),
            out.display()
        ))
    }
}

fn notes(instances: &Instances, seed: u64) -> Vec<String> {
    let mut notes = vec![
        "Every algorithm was tuned over twelve declared settings (tuning.csv) on draws that are not \
         reported here."
            .to_string(),
        format!(
            "Epsilon is over the whole run, exact, replace-one on one agent's rows. The comparison itself is \
             seeded ({seed}) and guarantees nothing."
        ),
    ];
    if instances.is_fixed() {
        notes.push(
            "Tuning ran on the same rows and is not charged: settings for private use must come from public \
             data or rules."
                .into(),
        );
    }
    notes
}
