//! Algorithms side by side: a table, and error against epsilon.

use super::chart::{Look, PageChart, PageCurve, number};
use super::claim;
use dzoa::privacy::Claim;
use dzoa::run::evaluate::{Fit, quantile};
use maud::{Markup, html};
use serde::{Deserialize, Serialize};

/// comparison.json: what `dzoa compare` found, and all that its page needs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Comparison {
    /// The headline.
    pub title: String,
    /// What was compared, in a line.
    #[serde(default)]
    pub setting: String,
    /// What came out, in sentences computed from the rows.
    pub verdict: String,
    /// What a reader must know.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Sorted by epsilon, then by error.
    pub rows: Vec<ComparisonRow>,
    /// The curves.
    pub pareto: Vec<ParetoPoint>,
    /// The config as given.
    pub config: serde_json::Value,
}

/// One algorithm at one total epsilon.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ComparisonRow {
    /// As the user names it, with its mechanism.
    pub algorithm: String,
    /// The total budget; null for those that are not private.
    #[serde(default)]
    pub epsilon: Option<f64>,
    /// What the exact accountant says of the run.
    #[serde(default)]
    pub epsilon_exact: Option<f64>,
    /// Why it could not take part.
    #[serde(default)]
    pub refused: Option<String>,
    /// Median of the final error over trials.
    pub error_median: Option<f64>,
    /// Its 10th percentile.
    pub error_low: Option<f64>,
    /// Its 90th percentile.
    pub error_high: Option<f64>,
    /// Median distance of the mean model's objective to the optimum.
    #[serde(default)]
    pub objective_gap: Option<f64>,
    /// Median training accuracy, for classifiers.
    #[serde(default)]
    pub accuracy: Option<f64>,
    /// Medians of the other measures on the rows.
    #[serde(default, flatten)]
    pub fit: FitMedians,
    /// Rounds.
    pub rounds: u64,
    /// Vectors sent by all agents.
    pub messages: u64,
    /// Bytes sent by all agents.
    pub bytes: u64,
    /// Values of the objective, or gradients, that were asked for.
    pub oracle_calls: u64,
    /// Median time of the rounds.
    pub seconds: f64,
    /// What it needs: gradients, a smooth loss, flooding, a coordinator.
    pub needs: Vec<String>,
    /// What it promises, on private rows and without a seed.
    pub claim: Claim,
    /// The settings that tuning chose.
    #[serde(default)]
    pub settings: Vec<String>,
    /// Anything else.
    #[serde(default)]
    pub note: String,
}

/// Medians over trials of how well the mean model fits the rows it was fitted to. Not protected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FitMedians {
    /// The share of positives.
    pub base_rate: Option<f64>,
    /// The area under the ROC curve.
    pub auc: Option<f64>,
    /// The share of positives that is found.
    pub sensitivity: Option<f64>,
    /// The share of negatives that is found.
    pub specificity: Option<f64>,
    /// Expected, in deciles of the predicted probability.
    pub calibration_error: Option<f64>,
    /// The share of the variance that is explained.
    pub r2: Option<f64>,
    /// In the target's own unit.
    pub mean_absolute_error: Option<f64>,
}

impl FitMedians {
    /// Of one fit for each trial.
    pub fn new(fits: &[&Fit]) -> Self {
        let median = |get: fn(&Fit) -> Option<f64>| {
            let values: Vec<f64> = fits.iter().filter_map(|fit| get(fit)).collect();
            Some(quantile(&values, 0.5)).filter(|value| value.is_finite())
        };
        Self {
            base_rate: median(|fit| fit.base_rate),
            auc: median(|fit| fit.auc),
            sensitivity: median(|fit| fit.confusion?.sensitivity()),
            specificity: median(|fit| fit.confusion?.specificity()),
            calibration_error: median(|fit| Some(fit.calibration.as_ref()?.error)),
            r2: median(|fit| fit.r2),
            mean_absolute_error: median(|fit| fit.mean_absolute_error),
        }
    }

    /// Names and values, as files have them.
    pub fn named(&self) -> [(&'static str, Option<f64>); 7] {
        [
            ("base_rate", self.base_rate),
            ("auc", self.auc),
            ("sensitivity", self.sensitivity),
            ("specificity", self.specificity),
            ("calibration_error", self.calibration_error),
            ("r2", self.r2),
            ("mean_absolute_error", self.mean_absolute_error),
        ]
    }
}

/// The error of one algorithm at one total epsilon.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ParetoPoint {
    /// As in the table.
    pub algorithm: String,
    /// The total epsilon.
    pub epsilon: f64,
    /// Median of the final error over trials.
    pub error_median: f64,
    /// Its lower end.
    pub error_low: f64,
    /// Its upper end.
    pub error_high: f64,
}

/// The table, in the caller's order.
pub fn table(rows: &[ComparisonRow]) -> Markup {
    let value = |value: Option<f64>| value.map_or("–".into(), number);
    // Measures of the other kind of loss have no column.
    let known: Vec<usize> = (0..FitMedians::default().named().len())
        .filter(|&i| rows.iter().any(|row| row.fit.named()[i].1.is_some()))
        .collect();
    let names = FitMedians::default().named();
    let epsilon =
        |row: &ComparisonRow| row.epsilon.map_or("–".into(), |epsilon| epsilon.to_string());
    html! {
        div.scroll tabindex="0" {
            table.comparison {
                thead { tr {
                    th scope="col" { "algorithm" }
                    th scope="col" { "claim" }
                    th scope="col" { "total ε" }
                    th scope="col" { "median error" } th scope="col" { "10 % to 90 %" }
                    th scope="col" { "accuracy" }
                    @for &i in &known { th scope="col" { (names[i].0.replace('_', " ")) } }
                    th scope="col" { "rounds" }
                    th scope="col" { "messages" }
                    th scope="col" { "bytes" }
                    th scope="col" { "oracle calls" } th scope="col" { "seconds" }
                    th.text scope="col" { "needs" } th.text.wide scope="col" { "settings" }
                } }
                @for row in rows {
                    tr {
                        th scope="row" { (row.algorithm) }
                        @if let Some(reason) = &row.refused {
                            td { "–" }
                            td { (epsilon(row)) }
                            td.text colspan=(10 + known.len()) { "refused: " (reason) }
                        } @else {
                            td { (claim::badge(row.claim)) }
                            td { (epsilon(row)) }
                            td { (value(row.error_median)) }
                            td.low-high { (value(row.error_low)) " to " (value(row.error_high)) }
                            td { (value(row.accuracy)) }
                            @for &i in &known { td { (value(row.fit.named()[i].1)) } }
                            td { (row.rounds) }
                            td { (grouped(row.messages)) }
                            td { (grouped(row.bytes)) }
                            td { (grouped(row.oracle_calls)) }
                            td { (number(row.seconds)) }
                            td.text { (row.needs.join(", ")) }
                            td.text { (row.settings.join(", ")) " " (row.note) }
                        }
                    }
                }
            }
        }
    }
}

/// Error against epsilon, one curve per algorithm in the order of their first points. A curve whose
/// row has no exact claim says so in its name.
pub fn pareto(points: &[ParetoPoint], rows: &[ComparisonRow]) -> Option<PageChart> {
    let mut names: Vec<&str> = Vec::new();
    for point in points {
        if !names.contains(&point.algorithm.as_str()) {
            names.push(&point.algorithm);
        }
    }
    if names.is_empty() {
        return None;
    }
    let chart =
        PageChart::new("pareto", "Median error, with its spread", "total ε", "normalised error");
    let chart = names.iter().fold(chart, |chart, name| {
        let mut of: Vec<&ParetoPoint> =
            points.iter().filter(|point| point.algorithm == *name).collect();
        of.sort_by(|a, b| a.epsilon.total_cmp(&b.epsilon));
        of.dedup_by(|a, b| a.epsilon == b.epsilon);
        let pick = |value: fn(&ParetoPoint) -> f64| {
            of.iter().map(|point| (point.epsilon, value(point))).collect()
        };
        let claim = rows.iter().find(|row| row.algorithm == *name).map(|row| row.claim);
        let caution = claim.map_or("", Claim::caution);
        let curve = PageCurve::line(format!("{name}{caution}"), pick(|point| point.error_median))
            .look(Look::Bars);
        chart.with(curve.spread(
            "10 % to 90 %",
            pick(|point| point.error_low),
            pick(|point| point.error_high),
        ))
    });
    let words = "Down and to the left is better. Points are medians over trials, \
                 bars go from the 10th to the 90th percentile.";
    Some(chart.words(words).log_x().finish())
}

/// A count with thin spaces between thousands.
fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::comparison_html;
    use super::*;

    #[test]
    fn a_comparison_has_its_table_and_its_curves_and_nominal_rows_say_so() {
        let row = |algorithm: &str, claim| ComparisonRow {
            algorithm: algorithm.into(),
            epsilon: Some(1.0),
            epsilon_exact: None,
            refused: None,
            objective_gap: None,
            accuracy: None,
            fit: FitMedians { auc: Some(0.75), ..FitMedians::default() },
            settings: Vec::new(),
            error_median: Some(0.25),
            error_low: Some(0.125),
            error_high: None,
            rounds: 200,
            messages: 1_234_567,
            bytes: 0,
            oracle_calls: 12,
            seconds: 0.5,
            needs: vec!["gradients".into(), "a smooth loss".into()],
            claim,
            note: "<b>bold</b>".into(),
        };
        let rows = [row("d-zoa:output", Claim::Exact), row("d-zoa:intrinsic", Claim::Nominal)];
        let point = |epsilon: f64| ParetoPoint {
            algorithm: "d-zoa:output".into(),
            epsilon,
            error_median: 1.0 / epsilon,
            error_low: 0.5 / epsilon,
            error_high: 2.0 / epsilon,
        };
        let page = comparison_html(&Comparison {
            title: "Compared".into(),
            setting: "two algorithms".into(),
            verdict: "output wins".into(),
            notes: vec!["tuned".into()],
            rows: rows.to_vec(),
            pareto: vec![point(10.0), point(1.0)],
            config: serde_json::json!({ "name": "x" }),
        })
        .unwrap();
        assert!(page.contains("output wins") && page.contains("gradients, a smooth loss"));
        assert!(page.contains(">auc<") && !page.contains(">r2<"), "only what there is");
        assert!(page.contains("0.2500") && page.contains("1\u{202f}234\u{202f}567"));
        assert!(page.contains("badge exact") && page.contains("nominal: no guarantee"));
        assert!(!page.contains("<b>bold"));
        // Sorted by epsilon, with both axes logarithmic: 1 to 10, and 0.05 to 2.
        assert!(page.contains(r#""points":[[1.0,1.0],[10.0,0.1]]"#));
        assert!(!page.contains(r#""x_log":false"#));
        assert!(!page.contains("d-zoa:output, n"), "an exact curve needs no caution");
        let nominal = ParetoPoint { algorithm: "d-zoa:intrinsic".into(), ..point(1.0) };
        let chart = pareto(&[nominal], &rows).unwrap().figure().into_string();
        assert!(chart.contains("d-zoa:intrinsic, nominal: no guarantee"), "{chart}");
    }
}
