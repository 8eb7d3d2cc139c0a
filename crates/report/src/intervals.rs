//! Coefficients with their standard errors and intervals: the table that a statistician publishes.

use crate::units::{OwnLine, own_lines, readable};
use dzoa::inference::{Inference, Judged, NoInference};
use dzoa::problem::loss::Loss;
use dzoa_table::Schema;
use serde::{Deserialize, Serialize};

/// The confidence of all intervals.
const CONFIDENCE: f64 = 0.95;

/// What all rows say about every coefficient.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Intervals {
    /// What they are of, in words.
    pub about: String,
    /// Why there are none, where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// Rows of all agents.
    pub rows: usize,
    /// How often an interval holds what it is of.
    pub confidence: f64,
    /// Of Student's t; absent where intervals are those of the normal distribution.
    pub degrees_of_freedom: Option<f64>,
    /// The constant first, then the columns in their order.
    pub coefficients: Vec<Interval>,
}

/// One coefficient with its interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The column.
    pub name: String,
    /// Why it has none, where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lacks: Option<String>,
    /// What was found.
    #[serde(flatten)]
    pub found: Option<Judged>,
    /// By what the odds are multiplied per unit, and its interval, where the loss models a
    /// probability.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub odds_ratio: Option<[f64; 3]>,
    /// Half of a number's public range, so that pictures can compare columns; 1 for a level.
    pub half_range: f64,
}

/// In which units coefficients are read.
pub struct Units<'a> {
    /// How files become rows; generated rows have their own units.
    pub schema: Option<&'a Schema>,
    /// The loss.
    pub loss: &'a dyn Loss,
    /// Whether there is a constant column, which is the last.
    pub intercept: bool,
    /// What columns are called.
    pub columns: &'a [String],
}

impl Intervals {
    /// The table, or the words that stand in its place.
    pub fn new(found: &Result<Inference, NoInference>, units: &Units<'_>) -> Self {
        let found = match found {
            Ok(found) => found,
            Err(error) => return Self { refused: Some(error.to_string()), ..Self::default() },
        };
        let odds = units.loss.probability(0.0).is_some();
        let coefficient = |line: OwnLine| {
            let judged = line.column.is_none_or(|column| found.coefficient(column).is_some());
            let judged = judged.then(|| found.judged(found.combination(&line.line), CONFIDENCE));
            // Per unit of a column of tiny numbers odds have no end.
            let ratio = |judged: &Judged| {
                let odds = [judged.estimate, judged.low, judged.high].map(f64::exp);
                odds.iter().all(|odds| odds.is_finite()).then_some(odds)
            };
            let lone = line.column.is_some_and(|column| found.one_sided().contains(&column));
            let why = if lone {
                "grows for ever: all its rows are of one class"
            } else {
                "depends on other columns"
            };
            Interval {
                lacks: judged.is_none().then(|| why.into()),
                name: line.name,
                odds_ratio: judged.as_ref().filter(|_| odds).and_then(ratio),
                found: judged,
                half_range: line.half_range,
            }
        };
        let of = if units.schema.is_some() { "per unit of the column" } else { "of every column" };
        Self {
            about: format!("{of}: every row counts alike, and no penalty moves the estimates"),
            refused: None,
            rows: found.rows,
            confidence: CONFIDENCE,
            degrees_of_freedom: found.freedom,
            coefficients: lines(units).into_iter().map(coefficient).collect(),
        }
    }

    /// The table as text, at most 80 columns wide.
    pub fn describe(&self) -> String {
        /// Lines on a screen.
        const MOST: usize = 24;
        if let Some(refused) = &self.refused {
            return format!("\n  no intervals: {refused}\n");
        }
        let names = self.coefficients.iter().map(|one| one.name.chars().count());
        let width = names.max().unwrap_or(0).clamp(11, 16);
        let odds = self.coefficients.iter().any(|one| one.odds_ratio.is_some());
        let (of, statistic) = match (odds, self.degrees_of_freedom) {
            (true, _) => ("odds ratio", "z"),
            (false, None) => ("", "z"),
            (false, Some(_)) => ("", "t"),
        };
        let percent = 100.0 * self.confidence;
        let mut text = format!(
            "\n  {percent} % intervals over {} rows, {}\n  {:<width$} {:>10} {:>10} {statistic:>7} \
             {:>6} {:>20}\n",
            self.rows,
            self.about,
            "",
            "estimate",
            "std. error",
            "p",
            format!("{of} {percent} %"),
        );
        for one in self.coefficients.iter().take(MOST) {
            text.push_str(&one.line(width));
        }
        if self.coefficients.len() > MOST {
            let more = self.coefficients.len() - MOST;
            text.push_str(&format!("  and {more} more in model.json\n"));
        }
        text
    }
}

impl Interval {
    fn line(&self, width: usize) -> String {
        let name: String = self.name.chars().take(width).collect();
        let Some(found) = self.found else {
            return format!("  {name:<width$} {}\n", self.lacks.as_deref().unwrap_or_default());
        };
        let [low, high] = match self.odds_ratio {
            Some([_, low, high]) => [low, high],
            None => [found.low, found.high],
        };
        format!(
            "  {name:<width$} {:>10} {:>10} {:>7} {:>6} {:>20}\n",
            readable(found.estimate),
            readable(found.standard_error),
            format!("{:.2}", found.statistic),
            probability(found.p_value),
            format!("{} to {}", readable(low), readable(high)),
        )
    }
}

/// A p-value as journals print it.
pub fn probability(p: f64) -> String {
    if p < 0.001 { "<0.001".into() } else { format!("{p:.3}") }
}

/// How the coefficients to be shown are made of those of the columns.
fn lines(units: &Units<'_>) -> Vec<OwnLine> {
    let Units { schema, loss, intercept, columns } = *units;
    let unit = |column: usize| (0..columns.len()).map(|p| f64::from(p == column)).collect();
    match schema.and_then(|schema| own_lines(schema, loss, intercept)) {
        Some(lines) => lines,
        None => {
            let line = |(column, name): (usize, &String)| OwnLine {
                name: name.clone(),
                column: Some(column),
                line: unit(column),
                half_range: 1.0,
            };
            let mut lines: Vec<OwnLine> = columns.iter().enumerate().map(line).collect();
            // The constant first, as it is in units of the file.
            if intercept {
                lines.rotate_right(1);
            }
            lines
        }
    }
}
