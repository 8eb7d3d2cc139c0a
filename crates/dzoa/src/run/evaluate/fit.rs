//! How well scores fit targets, in the numbers that people use.

use super::calibration::Calibration;
use crate::problem::Problem;
use crate::problem::loss::{Loss, Targets};
use serde::{Deserialize, Serialize};

/// How well scores `x'b` fit the targets. Nothing here is protected: it is computed from rows.
///
/// ```
/// use dzoa::prelude::*;
/// use dzoa::run::evaluate::Fit;
/// let fit = Fit::new(&Logistic, &[2.0, -1.0, 0.5, -3.0], &[1.0, -1.0, -1.0, -1.0], 1.0);
/// assert_eq!((fit.accuracy, fit.base_rate, fit.auc), (Some(0.75), Some(0.25), Some(1.0)));
/// // Targets that were divided by 100: the error is in their own unit.
/// let fit = Fit::new(&Squared, &[1.5, 2.0], &[1.0, 2.0], 100.0);
/// assert_eq!((fit.mean_absolute_error, fit.loss), (Some(25.0), 1250.0));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    /// Rows that were scored.
    pub rows: usize,
    /// The mean loss, in the target's own unit.
    pub loss: f64,
    /// The share of rows on the right side, for classifiers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<f64>,
    /// The share of rows whose target is +1, for classifiers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_rate: Option<f64>,
    /// How often a row of +1 has the larger score of two, the other being one of -1; equal scores
    /// count half. Absent where all rows are of one class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[doc(alias = "area under the ROC curve")]
    pub auc: Option<f64>,
    /// Predicted against true classes, for classifiers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confusion: Option<Confusion>,
    /// Whether probabilities are what they say, where the loss models any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
    /// The share of the targets' variance that is explained, for other losses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r2: Option<f64>,
    /// In the target's own unit, for other losses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_absolute_error: Option<f64>,
}

/// Rows by predicted and true class; a score of zero predicts -1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confusion {
    /// +1, predicted as +1.
    pub true_positives: usize,
    /// -1, predicted as +1.
    pub false_positives: usize,
    /// -1, predicted as -1.
    pub true_negatives: usize,
    /// +1, predicted as -1.
    pub false_negatives: usize,
}

impl Fit {
    /// Of one score and one target for each row. `unit` is what the targets of a regression were
    /// divided by; classifiers do not read it.
    pub fn new(loss: &dyn Loss, scores: &[f64], targets: &[f64], unit: f64) -> Self {
        let rows = scores.len();
        let blank = Self {
            rows,
            loss: 0.0,
            accuracy: None,
            base_rate: None,
            auc: None,
            confusion: None,
            calibration: None,
            r2: None,
            mean_absolute_error: None,
        };
        match loss.targets() {
            Targets::Signs => Self {
                loss: average(scores, targets, |z, y| loss.value(z, y)),
                ..blank.of_classes(loss, scores, targets)
            },
            Targets::Real => {
                let centre = targets.iter().sum::<f64>() / rows as f64;
                let total: f64 = targets.iter().map(|y| (y - centre).powi(2)).sum();
                let rest = average(scores, targets, |z, y| (z - y).powi(2)) * rows as f64;
                Self {
                    loss: average(scores, targets, |z, y| loss.value_in_unit(z, y, unit)),
                    r2: (total > 0.0).then(|| 1.0 - rest / total).filter(|r2| r2.is_finite()),
                    mean_absolute_error: Some(
                        unit * average(scores, targets, |z, y| (z - y).abs()),
                    ),
                    ..blank
                }
            }
        }
    }

    /// Of a model on the rows of all agents. A row of zeros, as a loader keeps for one without a
    /// target, is left out. `None` of no row, and where a
    /// model is so large that its loss is not finite.
    pub fn of_problem(problem: &Problem, b: &[f64], unit: f64) -> Option<Self> {
        let scored = problem.agents.iter().flat_map(|samples| {
            let seen = (0..samples.count()).filter(|&i| samples.rows.norm_squared(i) > 0.0);
            seen.map(|i| (samples.rows.dot(i, b), samples.targets[i]))
        });
        let (scores, targets): (Vec<f64>, Vec<f64>) = scored.unzip();
        let fit = Self::new(&*problem.loss, &scores, &targets, unit);
        Some(fit).filter(|fit| fit.rows > 0 && fit.loss.is_finite())
    }

    fn of_classes(self, loss: &dyn Loss, scores: &[f64], targets: &[f64]) -> Self {
        let confusion = Confusion::new(scores, targets);
        let share = |rows: usize| (self.rows > 0).then(|| rows as f64 / self.rows as f64);
        Self {
            accuracy: share(confusion.true_positives + confusion.true_negatives),
            base_rate: share(confusion.true_positives + confusion.false_negatives),
            auc: auc(scores, targets),
            confusion: Some(confusion),
            calibration: Calibration::new(loss, scores, targets),
            ..self
        }
    }
}

impl Confusion {
    fn new(scores: &[f64], targets: &[f64]) -> Self {
        let mut found = Self::default();
        for (score, target) in scores.iter().zip(targets) {
            *match (*score > 0.0, *target > 0.0) {
                (true, true) => &mut found.true_positives,
                (true, false) => &mut found.false_positives,
                (false, false) => &mut found.true_negatives,
                (false, true) => &mut found.false_negatives,
            } += 1;
        }
        found
    }

    /// The share of +1 that is predicted as such, also called recall.
    pub fn sensitivity(&self) -> Option<f64> {
        part(self.true_positives, self.false_negatives)
    }

    /// The share of -1 that is predicted as such.
    pub fn specificity(&self) -> Option<f64> {
        part(self.true_negatives, self.false_positives)
    }
}

fn part(these: usize, others: usize) -> Option<f64> {
    (these + others > 0).then(|| these as f64 / (these + others) as f64)
}

fn average(scores: &[f64], targets: &[f64], of: impl Fn(f64, f64) -> f64) -> f64 {
    scores.iter().zip(targets).map(|(z, y)| of(*z, *y)).sum::<f64>() / scores.len() as f64
}

/// The Mann-Whitney statistic over its largest value: from the mean ranks of equal scores.
fn auc(scores: &[f64], targets: &[f64]) -> Option<f64> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]));
    let (mut ranks, mut positives, mut before) = (0.0, 0, 0);
    for equal in order.chunk_by(|&a, &b| scores[a] == scores[b]) {
        let found = equal.iter().filter(|&&i| targets[i] > 0.0).count();
        ranks += found as f64 * (before as f64 + (equal.len() as f64 + 1.0) / 2.0);
        positives += found;
        before += equal.len();
    }
    let (yes, no) = (positives as f64, (scores.len() - positives) as f64);
    (yes > 0.0 && no > 0.0).then(|| (ranks - yes * (yes + 1.0) / 2.0) / (yes * no))
}
