//! Whether probabilities are what they say.

use super::quantile;
use crate::problem::loss::Loss;
use serde::{Deserialize, Serialize};

/// Groups that rows are sorted into by their probability.
const GROUPS: usize = 10;

/// Steps of Newton's method for two numbers; it needs about seven.
const STEPS: usize = 60;

/// Calibration in deciles of the predicted probability, and by a line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// The expected calibration error: the distance of predicted and observed share in a group,
    /// averaged over the rows.
    pub error: f64,
    /// `a` of `logit P(+1) = a + logit(probability)`, fitted: 0 where probabilities are right on
    /// average, above 0 where they are too low.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intercept: Option<f64>,
    /// `b` of `logit P(+1) = a + b logit(probability)`, fitted: 1 where it is right, below 1 where
    /// probabilities are too far from one half.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slope: Option<f64>,
    /// At most ten groups with equally many rows, but for equal probabilities, which stay together.
    pub groups: Vec<CalibrationGroup>,
}

/// Rows with similar probabilities.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CalibrationGroup {
    /// How many.
    pub rows: usize,
    /// Their mean probability.
    pub predicted: f64,
    /// The share of +1 among them.
    pub observed: f64,
}

impl Calibration {
    /// Of one score and one target for each row; `None` where the loss models no probability.
    pub fn new(loss: &dyn Loss, scores: &[f64], targets: &[f64]) -> Option<Self> {
        let probabilities: Option<Vec<f64>> = scores.iter().map(|z| loss.probability(*z)).collect();
        let probabilities = probabilities.filter(|all| !all.is_empty())?;
        let groups = groups(&probabilities, targets);
        let rows = scores.len() as f64;
        let miss = |group: &CalibrationGroup| {
            group.rows as f64 * (group.predicted - group.observed).abs() / rows
        };
        // A probability that rounds to 0 or 1 has the last logit that doubles can tell.
        let inside = |p: &f64| p.clamp(f64::EPSILON, 1.0 - f64::EPSILON);
        let logits: Vec<f64> =
            probabilities.iter().map(inside).map(|p| p.ln() - (-p).ln_1p()).collect();
        Some(Self {
            error: groups.iter().map(miss).sum(),
            intercept: line(&logits, targets, false).map(|(a, _)| a),
            slope: line(&logits, targets, true).map(|(_, b)| b),
            groups,
        })
    }
}

/// Groups between the deciles of the probabilities. A value at an edge belongs to the lower one.
fn groups(probabilities: &[f64], targets: &[f64]) -> Vec<CalibrationGroup> {
    let edges: Vec<f64> =
        (1..GROUPS).map(|i| quantile(probabilities, i as f64 / GROUPS as f64)).collect();
    let mut sums = [(0_usize, 0.0, 0.0); GROUPS];
    for (p, y) in probabilities.iter().zip(targets) {
        let group = &mut sums[edges.partition_point(|edge| edge < p)];
        *group = (group.0 + 1, group.1 + p, group.2 + f64::from(*y > 0.0));
    }
    let filled = sums.into_iter().filter(|(rows, ..)| *rows > 0);
    filled
        .map(|(rows, predicted, observed)| CalibrationGroup {
            rows,
            predicted: predicted / rows as f64,
            observed: observed / rows as f64,
        })
        .collect()
}

/// `a` and `b` of the logistic regression of the targets on the logits, by Newton's method with
/// halved steps; b is 1 where it is not free. `None` where nothing finite fits best: a single
/// class, or classes that the logits separate.
fn line(logits: &[f64], targets: &[f64], free: bool) -> Option<(f64, f64)> {
    let value = |a: f64, b: f64| -> f64 {
        let margin = |(z, y): (&f64, &f64)| if *y > 0.0 { a + b * z } else { -a - b * z };
        logits
            .iter()
            .zip(targets)
            .map(margin)
            .map(|m| (-m).max(0.0) + (-m.abs()).exp().ln_1p())
            .sum()
    };
    if if free { are_separate(logits, targets) } else { are_alike(targets) } {
        return None;
    }
    let (mut a, mut b) = (0.0, 1.0);
    let mut now = value(a, b);
    for _ in 0..STEPS {
        let (mut slope, mut bend) = ([0.0; 2], [0.0; 3]);
        for (z, y) in logits.iter().zip(targets) {
            let p = 1.0 / (1.0 + (-(a + b * z)).exp());
            let (miss, weight) = (p - f64::from(*y > 0.0), p * (1.0 - p));
            slope = [slope[0] + miss, slope[1] + miss * z];
            bend = [bend[0] + weight, bend[1] + weight * z, bend[2] + weight * z * z];
        }
        let (da, db) = match free {
            false => (slope[0] / bend[0], 0.0),
            true => {
                let area = bend[0] * bend[2] - bend[1] * bend[1];
                let da = (bend[2] * slope[0] - bend[1] * slope[1]) / area;
                (da, (bend[0] * slope[1] - bend[1] * slope[0]) / area)
            }
        };
        if !(da.is_finite() && db.is_finite()) {
            return None;
        }
        if da.abs() <= 1e-12 * (1.0 + a.abs()) && db.abs() <= 1e-12 * (1.0 + b.abs()) {
            return Some((a, b));
        }
        let mut share = 1.0;
        let mut next = value(a - da, b - db);
        while next > now && share > 1e-12 {
            share /= 2.0;
            next = value(a - share * da, b - share * db);
        }
        // No step goes down any further: this is the least that doubles can tell.
        if share <= 1e-12 {
            return Some((a, b));
        }
        (a, b, now) = (a - share * da, b - share * db, next);
    }
    None
}

/// Whether all targets are of one class.
fn are_alike(targets: &[f64]) -> bool {
    targets.iter().all(|y| *y > 0.0) || targets.iter().all(|y| *y <= 0.0)
}

/// Whether some threshold has all of one class on each side: steeper lines then fit ever better.
fn are_separate(logits: &[f64], targets: &[f64]) -> bool {
    let range = |positive: bool| {
        let of = logits.iter().zip(targets).filter(move |(_, y)| (**y > 0.0) == positive);
        of.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (z, _)| {
            (low.min(*z), high.max(*z))
        })
    };
    let (yes, no) = (range(true), range(false));
    yes.0 >= no.1 || no.0 >= yes.1
}
