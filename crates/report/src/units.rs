//! A model in the data's own units, with everything that is needed to score a row by hand.

use dzoa::problem::loss::{Loss, Targets};
use dzoa_table::{Feature, INTERCEPT, Schema};
use serde::{Deserialize, Serialize};

/// Coefficients in the units of the file, and the formula that they belong to.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct OwnUnits {
    /// What is predicted where all numbers are 0 and all levels are the reference.
    pub intercept: f64,
    /// How much one unit of a number, or a level instead of the reference, adds to the score of a
    /// classifier, or to the prediction in the target's own unit.
    pub coefficients: Vec<OwnCoefficient>,
    /// What all rows were divided by; absent where every row is divided by its own length.
    pub row_norm: Option<f64>,
    /// Whether every row is divided by its own length: coefficients then hold for short rows only.
    pub rows_to_unit_ball: bool,
    /// Python, but for what `reading` explains.
    pub formula: String,
    /// What the words of the formula mean.
    #[serde(default)]
    pub reading: String,
}

/// One coefficient in the units of the file.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct OwnCoefficient {
    /// The column.
    pub name: String,
    /// Per unit.
    pub value: f64,
    /// By what the odds are multiplied per unit, where the loss models a probability.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub odds_ratio: Option<f64>,
}

/// What the words of a formula mean.
const READING: &str = "\
    Python, line by line. x is the row, as texts or numbers by column. between(v, low, high) is v, \
    low where v is below it and high where v is above; where v is missing, (low + high) / 2. \
    missing(v) is 1 where v is missing and 0 elsewhere. sqrt and exp are those of the module math. \
    A text that is not among the schema's levels has no prediction.";

/// More columns than this make no formula that anybody reads.
const MOST_TERMS: usize = 2000;

impl OwnUnits {
    /// The model of these weights, one per feature and then that of the constant.
    pub fn new(schema: &Schema, loss: &dyn Loss, intercept: bool, weights: &[f64]) -> Option<Self> {
        let features = schema.features();
        if features.len() > MOST_TERMS || weights.len() != features.len() + usize::from(intercept) {
            return None;
        }
        let row_norm = schema.row_norm(intercept);
        let scale = unit(schema, loss, intercept);
        let constant = if intercept { weights[features.len()] * scale } else { 0.0 };
        let slope = |(feature, weight): (&Feature, &f64)| weight * scale / feature.half();
        let slopes: Vec<f64> = features.iter().zip(weights).map(slope).collect();
        let moved: f64 = features.iter().zip(&slopes).map(|(f, slope)| slope * f.middle()).sum();
        let is_model_of_odds = loss.probability(0.0).is_some();
        let coefficients = features.iter().zip(&slopes).map(|(feature, &value)| OwnCoefficient {
            name: feature.name(),
            value,
            odds_ratio: is_model_of_odds.then(|| value.exp()).filter(|odds| odds.is_finite()),
        });
        let parts = Parts { features: &features, slopes: &slopes, constant, moved };
        Some(Self {
            intercept: constant - moved,
            coefficients: coefficients.collect(),
            row_norm,
            rows_to_unit_ball: schema.rows_in_unit_ball(),
            formula: parts.formula(schema, loss, intercept),
            reading: READING.into(),
        })
    }

    /// The coefficients that are not zero, as lines of text.
    pub fn lines(&self) -> Vec<String> {
        let found: Vec<&OwnCoefficient> =
            self.coefficients.iter().filter(|own| own.value != 0.0).collect();
        let width =
            found.iter().map(|own| own.name.chars().count()).max().unwrap_or(0).clamp(11, 40);
        let line = |name: &str, value: f64, odds: Option<f64>| {
            let odds = odds.map_or(String::new(), |odds| format!("  odds x {}", readable(odds)));
            format!("{name:<width$}  {:>10}{odds}", readable(value))
        };
        let mut lines = vec![line("(intercept)", self.intercept, None)];
        lines.extend(found.iter().map(|own| line(&own.name, own.value, own.odds_ratio)));
        lines
    }
}

/// One coefficient in the units of the file, as a sum of those of the rows' columns.
pub(crate) struct OwnLine {
    pub name: String,
    /// The column; none for the constant.
    pub column: Option<usize>,
    /// What each of the rows' coefficients is multiplied by.
    pub line: Vec<f64>,
    /// Half of a number's public range; 1 for a level.
    pub half_range: f64,
}

/// The constant and all columns of a schema; `None` where rows are divided by their own length, so
/// that coefficients have no unit.
pub(crate) fn own_lines(schema: &Schema, loss: &dyn Loss, intercept: bool) -> Option<Vec<OwnLine>> {
    if schema.rows_in_unit_ball() {
        return None;
    }
    let features = schema.features();
    let width = features.len() + usize::from(intercept);
    let scale = unit(schema, loss, intercept);
    let slope = |p: usize| scale / features[p].half();
    let mut constant: Vec<f64> =
        features.iter().enumerate().map(|(p, feature)| -slope(p) * feature.middle()).collect();
    constant.resize(width, scale);
    // Where ranges have a middle, the units of the file have a constant, too.
    let has_constant = constant.iter().any(|value| *value != 0.0);
    let of_constant =
        OwnLine { name: INTERCEPT.into(), column: None, line: constant, half_range: 1.0 };
    let of_column = |(p, feature): (usize, &Feature)| OwnLine {
        name: feature.name(),
        column: Some(p),
        line: (0..width).map(|q| if q == p { slope(p) } else { 0.0 }).collect(),
        half_range: feature.half(),
    };
    let columns = features.iter().enumerate().map(of_column);
    Some(has_constant.then_some(of_constant).into_iter().chain(columns).collect())
}

/// What a coefficient of the rows is in units of the target, or of the score.
fn unit(schema: &Schema, loss: &dyn Loss, intercept: bool) -> f64 {
    let target = match loss.targets() {
        Targets::Real => schema.target_scale(),
        Targets::Signs => 1.0,
    };
    target / schema.row_norm(intercept).unwrap_or(1.0)
}

/// A number as people write it: four digits, and an exponent only where it is far from 1.
pub fn readable(value: f64) -> String {
    readable_to(value, 4)
}

/// A number as people write it, with so many digits.
pub fn readable_to(value: f64, digits: usize) -> String {
    match value.abs() {
        0.0 => "0".into(),
        size if !(1e-4..1e6).contains(&size) => format!("{value:.*e}", digits.saturating_sub(1)),
        size => {
            let places = digits as i32 - 1 - size.log10().floor() as i32;
            format!("{value:.*}", places.max(0) as usize)
        }
    }
}

/// What a formula is made of.
struct Parts<'a> {
    features: &'a [Feature],
    slopes: &'a [f64],
    constant: f64,
    /// What the middles of the ranges add up to.
    moved: f64,
}

impl Parts<'_> {
    fn formula(&self, schema: &Schema, loss: &dyn Loss, intercept: bool) -> String {
        let terms: Vec<String> = self
            .features
            .iter()
            .zip(self.slopes)
            .filter(|(_, slope)| **slope != 0.0)
            .map(|(feature, slope)| format!("{slope} * {}", value(feature)))
            .collect();
        let inside = [vec![format!("{}", -self.moved)], terms].concat().join(" + ");
        let row_norm = schema.row_norm(intercept);
        let (shrink, score) = match row_norm {
            Some(norm) if self.longest() <= norm => (None, format!("{} + {inside}", self.constant)),
            Some(norm) => {
                let shrink = format!("1 / max(1, sqrt({}) / {norm})", self.squares());
                (Some(shrink), format!("{} + k * ({inside})", self.constant))
            }
            None if schema.rows_in_unit_ball() => {
                let one = if intercept { " + 1" } else { "" };
                let shrink = format!("1 / max(1, sqrt({}{one}))", self.squares());
                (Some(shrink), format!("k * ({} + {inside})", self.constant))
            }
            None => (None, format!("{} + {inside}", self.constant)),
        };
        let mut lines = Vec::new();
        lines.extend(shrink.map(|shrink| format!("k = {shrink}")));
        if loss.targets() == Targets::Real {
            lines.push(format!("prediction = {score}"));
            return lines.join("\n");
        }
        lines.push(format!("z = {score}"));
        if loss.probability(0.0).is_some() {
            lines.push("probability = 1 / (1 + exp(-z))".into());
        }
        let [negative, positive] = schema.labels();
        lines.push(format!("prediction = {positive:?} if z > 0 else {negative:?}"));
        lines.join("\n")
    }

    /// The longest that a row can be: every column adds at most 1.
    fn longest(&self) -> f64 {
        let mut columns: Vec<&str> = self.features.iter().map(Feature::column).collect();
        columns.dedup();
        (columns.len() as f64).sqrt()
    }

    /// The sum of squares of a row's features.
    fn squares(&self) -> String {
        let square = |feature: &Feature| match feature {
            Feature::Number { .. } => {
                let value = value(feature);
                format!("(({value} - {}) / {}) ** 2", feature.middle(), feature.half())
            }
            _ => value(feature),
        };
        self.features.iter().map(square).collect::<Vec<_>>().join(" + ")
    }
}

/// A feature in the units of the file.
fn value(feature: &Feature) -> String {
    match feature {
        Feature::Number { column, low, high } => format!("between(x[{column:?}], {low}, {high})"),
        Feature::Level { column, level } => format!("(x[{column:?}] == {level:?})"),
        Feature::Missing { column } => format!("missing(x[{column:?}])"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_people_write_them() {
        for (value, expected) in [
            (1.612, "1.612"),
            (0.0, "0"),
            (-0.012_344, "-0.01234"),
            (151.0, "151.0"),
            (12_345.6, "12346"),
            (1e-9, "1.000e-9"),
            (2.5e7, "2.500e7"),
        ] {
            assert_eq!(readable(value), expected);
        }
        assert_eq!(readable_to(1.612_345_6, 6), "1.61235");
    }
}
