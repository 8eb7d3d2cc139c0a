//! From entries to rows, files and the verdict.

use super::contest::{ContestEntry, Outcome};
use dzoa::privacy::{Claim, Colluders};
use dzoa::run::evaluate::{Fit, quantile};
use dzoa_report::{Comparison, ComparisonRow, FitMedians, ParetoPoint, csv_field};
use std::fmt::Write as _;

/// The row of one entry; costs are those of the first trial.
pub fn row(entry: &ContestEntry) -> ComparisonRow {
    let pick = |get: fn(&Outcome) -> f64, share: f64| {
        let values: Vec<f64> = entry.outcomes.iter().map(get).collect();
        Some(quantile(&values, share)).filter(|value| value.is_finite())
    };
    let fits: Vec<&Fit> = entry.outcomes.iter().filter_map(|o| o.fit.as_ref()).collect();
    let accuracies: Vec<f64> = fits.iter().filter_map(|fit| fit.accuracy).collect();
    let costs = entry.outcomes.first().map(|outcome| outcome.costs).unwrap_or_default();
    let private = entry.contender.is_private();
    ComparisonRow {
        algorithm: entry.contender.label.clone(),
        epsilon: private.then_some(entry.epsilon),
        epsilon_exact: entry.spent,
        claim: if private { Claim::Exact } else { Claim::None },
        refused: entry.refused.clone(),
        error_median: pick(|o| o.error, 0.5),
        error_low: pick(|o| o.error, 0.1),
        error_high: pick(|o| o.error, 0.9),
        objective_gap: pick(|o| o.gap, 0.5),
        accuracy: Some(quantile(&accuracies, 0.5)).filter(|value| value.is_finite()),
        fit: FitMedians::new(&fits),
        rounds: entry.rounds,
        messages: costs.messages,
        bytes: costs.bytes,
        oracle_calls: costs.oracle_calls,
        seconds: pick(|o| o.seconds, 0.5).unwrap_or(0.0),
        needs: taken(entry),
        settings: entry.settings.iter().map(|setting| plain(setting)).collect(),
        note: String::new(),
    }
}

/// How a condition on the others ends.
const COLLUDING: &str = "colluding";

/// What it takes, the condition of its guarantee among it.
fn taken(entry: &ContestEntry) -> Vec<String> {
    let condition = match entry.contender.colluders {
        Some(Colluders::AtMost(count)) => Some(format!("at most {count} {COLLUDING}")),
        Some(Colluders::All) | None => None,
    };
    entry.needs.words().into_iter().map(String::from).chain(condition).collect()
}

/// `algorithm.options.step=0.3` as `step=0.300`: what a table has room for; tuning.csv has the
/// whole.
fn plain(setting: &str) -> String {
    let (path, value) = setting.split_once('=').unwrap_or((setting, ""));
    let key = path.rsplit('.').next().unwrap_or(path);
    match value.parse::<f64>() {
        Ok(number) if number.fract() != 0.0 => format!("{key}={}", short(number)),
        _ => format!("{key}={value}"),
    }
}

/// The curves of those that are private and have a result.
pub fn pareto(rows: &[ComparisonRow]) -> Vec<ParetoPoint> {
    let point = |row: &ComparisonRow| {
        Some(ParetoPoint {
            algorithm: row.algorithm.clone(),
            epsilon: row.epsilon?,
            error_median: row.error_median?,
            error_low: row.error_low?,
            error_high: row.error_high?,
        })
    };
    rows.iter().filter_map(point).collect()
}

/// Private, and with a result.
fn competes(row: &ComparisonRow) -> bool {
    row.claim == Claim::Exact && row.error_median.is_some()
}

/// By epsilon (those without one last), then by error (those without one last).
pub fn sort(rows: &mut [ComparisonRow]) {
    let key = |value: Option<f64>| value.unwrap_or(f64::INFINITY);
    rows.sort_by(|a, b| {
        key(a.epsilon)
            .total_cmp(&key(b.epsilon))
            .then(key(a.error_median).total_cmp(&key(b.error_median)))
            .then(a.algorithm.cmp(&b.algorithm))
    });
}

/// Who wins where, computed from sorted rows.
pub fn verdict(rows: &[ComparisonRow], agents: usize) -> String {
    let mut epsilons: Vec<f64> = rows.iter().filter_map(|row| row.epsilon).collect();
    epsilons.dedup();
    let sentence = |epsilon: f64| {
        let here: Vec<&ComparisonRow> =
            rows.iter().filter(|row| row.epsilon == Some(epsilon) && competes(row)).collect();
        let Some(best) = here.first() else {
            return format!("At epsilon {epsilon} nobody has a result.");
        };
        let whoever: Vec<&ComparisonRow> =
            here.iter().copied().filter(|row| condition(row).is_none()).collect();
        match condition(best) {
            // A guarantee with a condition is no rival of one without.
            Some(condition) => {
                let first = format!("At epsilon {epsilon} {} errs least", best.algorithm);
                let first = format!("{first} ({}), with {condition}", short(error(best)));
                match whoever.is_empty() {
                    true => first + ".",
                    false => format!("{first}; whoever colludes, {}.", standing(&whoever, agents)),
                }
            }
            None => format!("At epsilon {epsilon} {}.", standing(&whoever, agents)),
        }
    };
    epsilons.into_iter().map(sentence).collect::<Vec<_>>().join(" ")
}

fn error(row: &ComparisonRow) -> f64 {
    row.error_median.unwrap_or(f64::INFINITY)
}

/// What must be true of the others for its guarantee to hold, among what it needs.
fn condition(row: &ComparisonRow) -> Option<&str> {
    row.needs.iter().map(String::as_str).find(|need| need.ends_with(COLLUDING))
}

/// Who errs least, by how much, and who does so without anybody in the middle. `here` is sorted and
/// not empty.
fn standing(here: &[&ComparisonRow], agents: usize) -> String {
    let best = here[0];
    let mut sentence = format!("{} errs least ({})", best.algorithm, short(error(best)));
    // The zero model's error is the number of agents.
    if error(best) >= agents as f64 {
        let _ = write!(sentence, ", no better than the zero model, whose error is {agents}");
    }
    let own = match here.iter().any(|row| row.algorithm.starts_with("joint-")) {
        true => "joint-",
        false => "d-zoa",
    };
    let is_own = |row: &&&ComparisonRow| row.algorithm.starts_with(own);
    match (here.iter().find(is_own), here.iter().find(|row| !is_own(row))) {
        (Some(ours), Some(second)) if ours.algorithm == best.algorithm => {
            let times = error(second) / error(best);
            let _ = write!(sentence, ", {times:.2} times less than {}", second.algorithm);
            sentence.push_str(within(best, second));
        }
        (Some(ours), Some(_)) => {
            let times = error(ours) / error(best);
            let _ = write!(sentence, "; {} errs {times:.2} times as much", ours.algorithm);
            sentence.push_str(within(best, ours));
        }
        _ => {}
    }
    let middle = |need: &String| ["coordinator", "trusted solver"].contains(&need.as_str());
    let free = here.iter().find(|row| !row.needs.iter().any(middle));
    if let Some(free) = free.filter(|free| free.algorithm != best.algorithm) {
        let _ = write!(
            sentence,
            "; of those that trust nobody in the middle {} errs least ({})",
            free.algorithm,
            short(error(free))
        );
    }
    sentence
}

/// Whether the bands of two rows touch.
fn within(better: &ComparisonRow, worse: &ComparisonRow) -> &'static str {
    match (better.error_high, worse.error_low) {
        (Some(high), Some(low)) if low <= high => " (their spreads overlap)",
        _ => "",
    }
}

/// The table on a terminal of 80 columns; the files hold the rest.
pub fn text(comparison: &Comparison) -> String {
    let mut text = format!("{}: {}\n", comparison.title, comparison.setting);
    let classes = comparison.rows.iter().any(|row| row.accuracy.is_some());
    let names = if classes { ["accuracy", "AUC"] } else { ["R2", "abs err"] };
    let mut last = Some(f64::NAN);
    for row in &comparison.rows {
        if row.epsilon != last {
            last = row.epsilon;
            let _ = match row.epsilon {
                Some(epsilon) => writeln!(text, "\n  epsilon {epsilon}"),
                None => writeln!(text, "\n  not private"),
            };
            let [first, second] = names;
            let _ = writeln!(
                text,
                "  {:<22} {:>8} {:>20} {first:>8} {second:>7} {:>6}",
                "algorithm", "error", "10 % to 90 %", "rounds"
            );
        }
        if let Some(reason) = &row.refused {
            let _ = writeln!(text, "  {:<22} refused: {reason}", row.algorithm);
            continue;
        }
        let number = |value: Option<f64>| value.map_or("diverged".into(), short);
        let band = format!("{} to {}", number(row.error_low), number(row.error_high));
        let fit = match classes {
            true => [row.accuracy, row.fit.auc].map(|value| value.map(|v| format!("{v:.3}"))),
            false => [row.fit.r2, row.fit.mean_absolute_error].map(|value| value.map(short)),
        };
        let [first, second] = fit.map(|value| value.unwrap_or("-".into()));
        let _ = writeln!(
            text,
            "  {:<22} {:>8} {band:>20} {first:>8} {second:>7} {:>6}",
            row.algorithm,
            number(row.error_median),
            row.rounds,
        );
    }
    needs(&comparison.rows, &mut text);
    let _ = writeln!(text, "\n  {}", comparison.verdict);
    for note in &comparison.notes {
        let _ = writeln!(text, "  {note}");
    }
    text
}

/// What each algorithm takes: a line for all that take the same.
fn needs(rows: &[ComparisonRow], text: &mut String) {
    let mut groups: Vec<(&[String], Vec<&str>)> = Vec::new();
    for row in rows.iter().filter(|row| row.refused.is_none()) {
        let name = row.algorithm.as_str();
        match groups.iter_mut().find(|(needs, _)| *needs == row.needs) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => groups.push((&row.needs, vec![name])),
        }
    }
    text.push('\n');
    for (needs, names) in groups {
        let needs = if needs.is_empty() { "values only".into() } else { needs.join(", ") };
        let _ = writeln!(text, "  needs {needs}: {}", names.join(", "));
    }
    text.push_str("  messages, bytes, calls, seconds and settings: comparison.csv\n");
}

/// Three digits that a reader takes in at a glance.
fn short(value: f64) -> String {
    match value.abs() {
        size if !(0.01..10_000.0).contains(&size) => format!("{value:.2e}"),
        size if size < 1.0 => format!("{value:.3}"),
        size if size < 100.0 => format!("{value:.2}"),
        _ => format!("{value:.0}"),
    }
}

fn claim_word(claim: Claim) -> &'static str {
    match claim {
        Claim::Exact => "exact",
        Claim::Nominal => "nominal",
        Claim::None => "none",
    }
}

/// The same as Markdown, for documents.
pub fn markdown(comparison: &Comparison) -> String {
    let Comparison { setting, verdict, rows, .. } = comparison;
    let mut text = format!("{setting}.\n\n{verdict}\n\n");
    text.push_str(
        "| epsilon | algorithm | error, median (10 % to 90 %) | accuracy | AUC | R2 | \
         absolute error | rounds | messages | bytes | oracle calls | seconds | needs |\n| ---: | \
         --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n",
    );
    let number = |value: Option<f64>| value.map_or("diverged".into(), short);
    for row in rows {
        let epsilon = row.epsilon.map_or("not private".into(), |epsilon| epsilon.to_string());
        if let Some(reason) = &row.refused {
            let _ = writeln!(
                text,
                "| {epsilon} | {} | refused: {reason} | | | | | | | | | | |",
                row.algorithm
            );
            continue;
        }
        let FitMedians { auc, r2, mean_absolute_error, .. } = row.fit;
        let measures = [row.accuracy, auc, r2, mean_absolute_error]
            .map(|value| value.map_or("-".into(), short));
        let _ = writeln!(
            text,
            "| {epsilon} | {} | {} ({} to {}) | {} | {} | {} | {} | {} | {:.3} | {} |",
            row.algorithm,
            number(row.error_median),
            number(row.error_low),
            number(row.error_high),
            measures.join(" | "),
            row.rounds,
            row.messages,
            row.bytes,
            row.oracle_calls,
            row.seconds,
            if row.needs.is_empty() { "values only".into() } else { row.needs.join(", ") },
        );
    }
    text
}

/// The same as CSV.
pub fn csv(rows: &[ComparisonRow]) -> String {
    let mut csv = String::from(
        "epsilon,algorithm,claim,error_median,error_low,error_high,objective_gap,accuracy,rounds,\
         messages,bytes,oracle_calls,seconds,needs,settings,refused",
    );
    FitMedians::default().named().iter().for_each(|(name, _)| csv.extend([",", name]));
    csv.push('\n');
    let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    for row in rows {
        let fields = [
            number(row.epsilon),
            row.algorithm.clone(),
            claim_word(row.claim).into(),
            number(row.error_median),
            number(row.error_low),
            number(row.error_high),
            number(row.objective_gap),
            number(row.accuracy),
            row.rounds.to_string(),
            row.messages.to_string(),
            row.bytes.to_string(),
            row.oracle_calls.to_string(),
            row.seconds.to_string(),
            row.needs.join("; "),
            row.settings.join("; "),
            row.refused.clone().unwrap_or_default(),
        ];
        let fits = row.fit.named().map(|(_, value)| number(value));
        let fields: Vec<String> =
            fields.iter().chain(&fits).map(|field| csv_field(field)).collect();
        csv.push_str(&fields.join(","));
        csv.push('\n');
    }
    csv
}
