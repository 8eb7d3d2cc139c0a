//! How well a model fits rows, in words and tables.

use crate::summary::Summary;
use crate::units::readable;
use dzoa::run::evaluate::{Fit, deviation};

/// Label and value of every measure that there is.
pub fn fit_facts(fit: &Fit) -> Vec<(&'static str, String)> {
    let share = |value: f64| format!("{value:.4}");
    let mut facts = vec![("rows", fit.rows.to_string())];
    let mut push = |label, value: Option<String>| facts.extend(value.map(|value| (label, value)));
    push("accuracy", fit.accuracy.map(share));
    push("base rate", fit.base_rate.map(|rate| format!("{rate:.4} (share of positives)")));
    push("AUC", fit.auc.map(share));
    if let Some(confusion) = fit.confusion {
        let of = |part: usize, rest: usize| format!("{part} of {}", part + rest);
        let (hits, missed) = (confusion.true_positives, confusion.false_negatives);
        push("positives found", Some(of(hits, missed) + &in_brackets(confusion.sensitivity())));
        let (right, wrong) = (confusion.true_negatives, confusion.false_positives);
        push("negatives found", Some(of(right, wrong) + &in_brackets(confusion.specificity())));
    }
    if let Some(calibration) = &fit.calibration {
        let error = format!("{:.4} (expected, in deciles)", calibration.error);
        push("calibration error", Some(error));
        push("calibration intercept", calibration.intercept.map(|a| readable(a) + " (0 is right)"));
        push("calibration slope", calibration.slope.map(|b| readable(b) + " (1 is right)"));
    }
    push("R2", fit.r2.map(share));
    push("mean absolute error", fit.mean_absolute_error.map(readable));
    push("mean loss", Some(readable(fit.loss)));
    facts
}

fn in_brackets(share: Option<f64>) -> String {
    share.map_or(String::new(), |share| format!(" ({share:.4})"))
}

/// The measures of a run. Accuracy is over all trials, the rest is of the first.
pub(crate) fn summary_facts(summary: &Summary) -> Vec<(&'static str, String)> {
    let Some(fit) = &summary.fit else { return Vec::new() };
    let mut facts = fit_facts(fit);
    if let (true, Some(accuracy)) =
        (summary.accuracies.len() > 1, facts.iter_mut().find(|(label, _)| *label == "accuracy"))
    {
        let (mean, deviation) = deviation(&summary.accuracies);
        accuracy.1 = format!("{mean:.4} \u{b1} {deviation:.4} over trials");
    }
    facts
}

/// On which rows a run was measured.
pub(crate) fn measured_on(summary: &Summary) -> &'static str {
    match (summary.is_of_one_site(), summary.trials > 1) {
        (true, _) => "on this site's rows, which it was fitted to",
        (false, true) => "on the rows it was fitted to, first trial",
        (false, false) => "on the rows it was fitted to",
    }
}

/// `dzoa evaluate` on a terminal.
pub fn describe_fit(fit: &Fit) -> String {
    let line = |(label, value): (&str, String)| format!("{label:<23}{value}\n");
    fit_facts(fit).into_iter().map(line).collect()
}
