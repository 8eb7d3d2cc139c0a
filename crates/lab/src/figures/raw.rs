//! Raw values of trials, and what is computed from them.

use super::Columns;
use dzoa::run::evaluate::quantile;
use dzoa_report::csv_number;
use dzoa_table::{Error, Result};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// Where in a figure a value belongs.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// The panel, for example `fig2a`.
    pub figure: String,
    /// The curve.
    pub algorithm: String,
    /// Of a round, or in total where the figure's privacy is exact.
    pub epsilon: f64,
    /// delta.
    pub delta: f64,
    /// Round, total epsilon, or whatever lies along x.
    pub x: f64,
}

/// One value of one trial. A run that left the finite numbers gives infinity.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// Where it belongs.
    pub key: Key,
    /// What was measured.
    pub value: f64,
}

/// All trials at one place of a figure.
#[derive(Clone, Debug)]
pub struct Point {
    /// The place.
    pub key: Key,
    /// Mean over the trials; infinite where one of them was.
    pub mean: f64,
    /// The 10th percentile.
    pub low: f64,
    /// The 90th percentile.
    pub high: f64,
    /// Values that were not finite.
    pub lost: usize,
    /// Every value, in the order of the trials.
    pub values: Vec<f64>,
}

/// Why trials cannot be joined.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clash {
    /// The first trial that does not fit.
    pub trial: u64,
    /// Why.
    pub what: &'static str,
}

/// The measurements of each trial.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Raw(BTreeMap<u64, Vec<Measurement>>);

impl Raw {
    /// Trials that are there.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether a trial is there.
    pub fn has(&self, trial: u64) -> bool {
        self.0.contains_key(&trial)
    }

    /// Their numbers.
    pub fn trials(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.keys().copied()
    }

    /// Adds a trial; false if it was there.
    pub fn insert(&mut self, trial: u64, measurements: Vec<Measurement>) -> bool {
        self.0.insert(trial, measurements).is_none()
    }

    /// Adds another machine's trials; nothing is added if they do not fit.
    pub fn merge(&mut self, other: Raw) -> Result<(), Clash> {
        if let Some(trial) = other.trials().find(|trial| self.has(*trial)) {
            return Err(Clash { trial, what: "is" });
        }
        let mut both = Self(self.0.clone());
        let trial = other.trials().next().unwrap_or(0);
        both.0.extend(other.0);
        if !both.is_regular() {
            return Err(Clash { trial, what: "and those before it measured different things" });
        }
        *self = both;
        Ok(())
    }

    /// Mean and spread at every place, in the order of the first trial's measurements. Places are
    /// joined by their position in a trial, and several in one trial (one per agent) by their key.
    pub fn points(&self) -> Vec<Point> {
        let mut keys: Vec<&Key> = Vec::new();
        let mut places: Vec<usize> = Vec::new();
        let first = self.0.values().next().map_or(&[][..], Vec::as_slice);
        for Measurement { key, .. } in first {
            // Repeated keys stand next to each other.
            if keys.last() != Some(&key) {
                keys.push(key);
            }
            places.push(keys.len() - 1);
        }
        let mut values: Vec<Vec<f64>> = vec![Vec::new(); keys.len()];
        for measurements in self.0.values() {
            for (measurement, &place) in measurements.iter().zip(&places) {
                values[place].push(measurement.value);
            }
        }
        keys.into_iter().zip(values).map(|(key, values)| Point::new(key.clone(), values)).collect()
    }

    /// Whether every trial measured the same places.
    fn is_regular(&self) -> bool {
        let mut trials = self.0.values();
        let Some(first) = trials.next() else { return true };
        trials.all(|other| {
            other.len() == first.len() && other.iter().zip(first).all(|(a, b)| a.key == b.key)
        })
    }

    /// `NAME.trials.csv`; numbers as they are read back, bit by bit.
    pub fn to_csv(&self, Columns { x, value }: Columns) -> String {
        let mut csv = format!("trial,figure,algorithm,epsilon,delta,{x},{value}\n");
        for (trial, measurements) in &self.0 {
            for Measurement { key, value } in measurements {
                let Key { figure, algorithm, epsilon, delta, x } = key;
                let _ = writeln!(csv, "{trial},{figure},{algorithm},{epsilon},{delta},{x},{value}");
            }
        }
        csv
    }

    /// Reads what [`Raw::to_csv`] wrote.
    pub fn from_csv(path: &Path) -> Result<Self> {
        let wrong = |line: u64, what: &str| {
            Error::input(format!("{}:{line}: {what}", path.display()))
                .hint("compute the shard again: this file is not as `dzoa reproduce` wrote it")
        };
        let text = std::fs::read_to_string(path).map_err(|error| {
            Error::input(format!("{}: cannot be read: {error}", path.display()))
                .hint("every shard needs its `.trials.csv` beside its `.settings.json`")
        })?;
        let mut raw = Self::default();
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        for (record, line) in reader.records().zip(2..) {
            let record = record.map_err(|_| wrong(line, "is not a row of 7 fields"))?;
            if record.len() != 7 {
                return Err(wrong(line, "is not a row of 7 fields"));
            }
            let number = |i: usize| -> Result<f64> {
                let value: f64 = record[i].parse().map_err(|_| {
                    wrong(line, &format!("{} is no number", dzoa_table::shown(&record[i])))
                })?;
                if value.is_nan() { Err(wrong(line, "holds a NaN")) } else { Ok(value) }
            };
            let trial = record[0].parse().map_err(|_| wrong(line, "has no trial number"))?;
            let key = Key {
                figure: record[1].into(),
                algorithm: record[2].into(),
                epsilon: number(3)?,
                delta: number(4)?,
                x: number(5)?,
            };
            let measurement = Measurement { key, value: number(6)? };
            raw.0.entry(trial).or_default().push(measurement);
        }
        match raw.is_regular() {
            true => Ok(raw),
            false => Err(wrong(1, "its trials hold different measurements")),
        }
    }
}

impl Point {
    fn new(key: Key, values: Vec<f64>) -> Self {
        Self {
            key,
            mean: values.iter().sum::<f64>() / values.len() as f64,
            low: quantile(&values, 0.1),
            high: quantile(&values, 0.9),
            lost: values.iter().filter(|value| !value.is_finite()).count(),
            values,
        }
    }
}

/// `NAME.csv`; a value that is not finite is left empty.
pub fn summary_csv(Columns { x, value }: Columns, points: &[Point]) -> String {
    let mut csv =
        format!("figure,algorithm,epsilon,delta,{x},{value}_mean,{value}_low,{value}_high\n");
    let number = |value: f64| csv_number(Some(value));
    for Point { key, mean, low, high, .. } in points {
        let Key { figure, algorithm, epsilon, delta, x } = key;
        let (mean, low, high) = (number(*mean), number(*low), number(*high));
        let _ = writeln!(csv, "{figure},{algorithm},{epsilon},{delta},{x},{mean},{low},{high}");
    }
    csv
}
