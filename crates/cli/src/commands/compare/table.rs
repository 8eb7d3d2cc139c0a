//! From entries to rows, files and the verdict.

use super::contest::{Entry, quantile};
use serde::Serialize;
use std::fmt::Write as _;

/// compare.json
#[derive(Debug, Serialize)]
pub struct Report {
    pub name: String,
    pub loss: String,
    pub agents: usize,
    pub features: usize,
    pub delta: f64,
    pub adjacency: &'static str,
    pub seed: u64,
    pub trials: usize,
    pub tuning_trials: usize,
    pub settings_per_algorithm: usize,
    /// What a reader must know.
    pub notes: Vec<String>,
    /// Sorted by epsilon, then by error.
    pub rows: Vec<Row>,
    /// Computed from the rows.
    pub verdict: String,
}

/// One contender at one epsilon.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub algorithm: String,
    /// The total budget; null for contenders that are not private.
    pub epsilon: Option<f64>,
    /// What the exact accountant says of the run.
    pub epsilon_exact: Option<f64>,
    /// `exact` or `none`: what the mechanism would claim on private rows, unseeded.
    pub claim: &'static str,
    /// Why it could not take part.
    pub refused: Option<String>,
    pub error_median: Option<f64>,
    /// 10th percentile over trials.
    pub error_low: Option<f64>,
    /// 90th percentile over trials.
    pub error_high: Option<f64>,
    pub objective_gap: Option<f64>,
    pub accuracy: Option<f64>,
    pub rounds: u64,
    pub messages: u64,
    pub bytes: u64,
    pub oracle_calls: u64,
    /// Median over trials, each with the machine to itself.
    pub seconds: Option<f64>,
    pub needs: Vec<&'static str>,
    pub settings: Vec<String>,
}

impl Row {
    /// Of one entry; costs are those of the first trial.
    pub fn of(entry: &Entry) -> Self {
        let pick = |get: fn(&super::contest::Outcome) -> f64, share: f64| {
            let values: Vec<f64> = entry.outcomes.iter().map(get).collect();
            Some(quantile(&values, share)).filter(|value| value.is_finite())
        };
        let accuracies: Vec<f64> = entry.outcomes.iter().filter_map(|o| o.accuracy).collect();
        let costs = entry.outcomes.first().map(|outcome| outcome.costs).unwrap_or_default();
        let private = entry.contender.is_private();
        Self {
            algorithm: entry.contender.label.clone(),
            epsilon: private.then_some(entry.epsilon),
            epsilon_exact: entry.spent,
            claim: if private { "exact" } else { "none" },
            refused: entry.refused.clone(),
            error_median: pick(|o| o.error, 0.5),
            error_low: pick(|o| o.error, 0.1),
            error_high: pick(|o| o.error, 0.9),
            objective_gap: pick(|o| o.gap, 0.5),
            accuracy: Some(quantile(&accuracies, 0.5)).filter(|value| value.is_finite()),
            rounds: entry.rounds,
            messages: costs.messages,
            bytes: costs.bytes,
            oracle_calls: costs.oracle_calls,
            seconds: pick(|o| o.seconds, 0.5),
            needs: entry.needs.words(),
            settings: entry.settings.clone(),
        }
    }

    /// Private, and with a result.
    fn competes(&self) -> bool {
        self.claim == "exact" && self.error_median.is_some()
    }

    fn needs_nobody(&self) -> bool {
        !self.needs.contains(&"coordinator")
    }
}

/// By epsilon (those without one last), then by error (those without one last).
pub fn sort(rows: &mut [Row]) {
    let key = |value: Option<f64>| value.unwrap_or(f64::INFINITY);
    rows.sort_by(|a, b| {
        key(a.epsilon)
            .total_cmp(&key(b.epsilon))
            .then(key(a.error_median).total_cmp(&key(b.error_median)))
            .then(a.algorithm.cmp(&b.algorithm))
    });
}

/// Who wins where, computed from sorted rows.
pub fn verdict(rows: &[Row], agents: usize) -> String {
    let mut sentences = Vec::new();
    let mut epsilons: Vec<f64> = rows.iter().filter_map(|row| row.epsilon).collect();
    epsilons.dedup();
    for epsilon in epsilons {
        let here: Vec<&Row> =
            rows.iter().filter(|row| row.epsilon == Some(epsilon) && row.competes()).collect();
        let Some(best) = here.first() else {
            sentences.push(format!("At epsilon {epsilon} nobody has a result."));
            continue;
        };
        let error = |row: &Row| row.error_median.unwrap_or(f64::INFINITY);
        let mut sentence =
            format!("At epsilon {epsilon} {} errs least ({:.2e})", best.algorithm, error(best));
        // The zero model's error is the number of agents.
        if error(best) >= agents as f64 {
            let _ = write!(sentence, ", no better than the zero model, whose error is {agents}");
        }
        let free = here.iter().find(|row| row.needs_nobody());
        let ours = here.iter().find(|row| row.algorithm.starts_with("d-zoa"));
        if let Some(ours) = ours {
            if ours.algorithm == best.algorithm {
                if let Some(second) = here.iter().find(|row| !row.algorithm.starts_with("d-zoa")) {
                    let _ = write!(
                        sentence,
                        ", {:.2} times less than {}",
                        error(second) / error(best),
                        second.algorithm
                    );
                    sentence.push_str(within(best, second));
                }
            } else {
                let _ = write!(
                    sentence,
                    "; the best of d-zoa, {}, errs {:.2} times as much",
                    ours.algorithm,
                    error(ours) / error(best)
                );
                sentence.push_str(within(best, ours));
            }
        }
        match free {
            Some(free) if free.algorithm != best.algorithm => {
                let _ = write!(
                    sentence,
                    "; of those that need no coordinator {} errs least ({:.2e})",
                    free.algorithm,
                    error(free)
                );
            }
            Some(_) => sentence.push_str(", and it needs no coordinator"),
            None => {}
        }
        sentences.push(sentence + ".");
    }
    sentences.join(" ")
}

/// Whether the bands of two rows touch.
fn within(better: &Row, worse: &Row) -> &'static str {
    match (better.error_high, worse.error_low) {
        (Some(high), Some(low)) if low <= high => " (their spreads overlap)",
        _ => "",
    }
}

/// The table on the terminal.
pub fn text(report: &Report) -> String {
    let mut text = format!(
        "{}: {} on {} agents, {} columns, exact (epsilon, {:e})-DP, {} trials, {} tuning draws x {} \
         settings each\n",
        report.name,
        report.loss,
        report.agents,
        report.features,
        report.delta,
        report.trials,
        report.tuning_trials,
        report.settings_per_algorithm
    );
    let mut last = Some(f64::NAN);
    for row in &report.rows {
        if row.epsilon != last {
            last = row.epsilon;
            let _ = match row.epsilon {
                Some(epsilon) => writeln!(text, "\n  epsilon {epsilon}"),
                None => writeln!(text, "\n  not private"),
            };
            let _ = writeln!(
                text,
                "  {:<23} {:>9} {:>20} {:>8} {:>6} {:>8} {:>10} {:>9} {:>8}  needs",
                "algorithm",
                "error",
                "10 % to 90 %",
                "accuracy",
                "rounds",
                "messages",
                "bytes",
                "calls",
                "seconds"
            );
        }
        if let Some(reason) = &row.refused {
            let _ = writeln!(text, "  {:<23} refused: {reason}", row.algorithm);
            continue;
        }
        let number = |value: Option<f64>| value.map_or("diverged".into(), |v| format!("{v:.2e}"));
        let band = format!("{} to {}", number(row.error_low), number(row.error_high));
        let needs = if row.needs.is_empty() { "values only".into() } else { row.needs.join(", ") };
        let _ = writeln!(
            text,
            "  {:<23} {:>9} {:>20} {:>8} {:>6} {:>8} {:>10} {:>9} {:>8}  {needs}",
            row.algorithm,
            number(row.error_median),
            band,
            row.accuracy.map_or("-".into(), |accuracy| format!("{accuracy:.3}")),
            row.rounds,
            row.messages,
            row.bytes,
            row.oracle_calls,
            row.seconds.map_or("-".into(), |seconds| format!("{seconds:.3}")),
        );
    }
    let _ = writeln!(text, "\n  {}", report.verdict);
    for note in &report.notes {
        let _ = writeln!(text, "  {note}");
    }
    text
}

/// The same as CSV.
pub fn csv(rows: &[Row]) -> String {
    let mut csv = String::from(
        "epsilon,algorithm,claim,error_median,error_low,error_high,objective_gap,accuracy,rounds,\
         messages,bytes,oracle_calls,seconds,needs,settings,refused\n",
    );
    let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    for row in rows {
        let fields = [
            number(row.epsilon),
            row.algorithm.clone(),
            row.claim.into(),
            number(row.error_median),
            number(row.error_low),
            number(row.error_high),
            number(row.objective_gap),
            number(row.accuracy),
            row.rounds.to_string(),
            row.messages.to_string(),
            row.bytes.to_string(),
            row.oracle_calls.to_string(),
            number(row.seconds),
            row.needs.join("; "),
            row.settings.join("; "),
            row.refused.clone().unwrap_or_default(),
        ];
        let fields: Vec<String> =
            fields.iter().map(|field| crate::files::csv_field(field)).collect();
        csv.push_str(&fields.join(","));
        csv.push('\n');
    }
    csv
}
