//! What users can name: one table for each kind of thing, and the numbers that go with a name.
//!
//! Losses ([`LOSSES`](crate::problem::loss::LOSSES)), regularisers
//! ([`REGULARIZERS`](crate::problem::regularizer::REGULARIZERS)) and topologies
//! ([`TOPOLOGIES`](crate::network::TOPOLOGIES)) are tables of [`RegistryEntry`]. Config,
//! `model.json`, `--help`, errors and Python read these tables and know no name of their own, so
//! that whoever adds a row is done. A [`Registry`] is such a table with rows from outside added:
//!
//! ```
//! use dzoa::prelude::*;
//! use dzoa::problem::loss::{LOSSES, LossEntry};
//! use dzoa::registry::Registry;
//! use std::sync::Arc;
//!
//! const LOW: LossEntry = LossEntry {
//!     name: "low-pinball",
//!     about: "the tenth part from below",
//!     parameters: &[],
//!     build: |_| Arc::new(Pinball { quantile: 0.1 }),
//! };
//! let losses = Registry::new(LOSSES).with(LOW);
//! let loss = losses.entry("low-pinball").unwrap().from_numbers(|_| None)?;
//! assert_eq!(loss.value(1.0, 2.0), 0.1);
//! # Ok::<(), dzoa::registry::OutOfRange>(())
//! ```

use std::fmt;
use thiserror::Error;

/// One thing that users can name.
#[derive(Debug)]
pub struct RegistryEntry<T> {
    /// The name users type.
    pub name: &'static str,
    /// What it is, in few words.
    pub about: &'static str,
    /// The numbers it takes.
    pub parameters: &'static [Parameter],
    /// Made from the numbers that were given, which lie in their ranges.
    pub build: fn(&Options) -> T,
}

impl<T> Clone for RegistryEntry<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for RegistryEntry<T> {}

impl<T> RegistryEntry<T> {
    /// Made from the numbers that a file or a caller has under its keys.
    pub fn from_numbers(&self, number: impl Fn(&str) -> Option<f64>) -> Result<T, OutOfRange> {
        let mut given = Options::default();
        for &Parameter { key, range, .. } in self.parameters {
            match number(key) {
                Some(value) if !range.holds(value) => return Err(OutOfRange { key, range, value }),
                Some(value) => given.set(key, value),
                None => {}
            }
        }
        Ok((self.build)(&given))
    }

    /// Whether it takes a number under this key.
    pub fn takes(&self, key: &str) -> bool {
        self.parameters.iter().any(|parameter| parameter.key == key)
    }
}

/// A table of what users can name.
#[derive(Clone, Debug)]
pub struct Registry<T>(Vec<RegistryEntry<T>>);

impl<T> Registry<T> {
    /// Of a table.
    pub fn new(entries: &[RegistryEntry<T>]) -> Self {
        Self(entries.to_vec())
    }

    /// With one more row, or with another one of its name.
    pub fn with(mut self, entry: RegistryEntry<T>) -> Self {
        match self.0.iter_mut().find(|known| known.name == entry.name) {
            Some(known) => *known = entry,
            None => self.0.push(entry),
        }
        self
    }

    /// Without the rows that a caller cannot use.
    pub fn filter(mut self, usable: impl Fn(&RegistryEntry<T>) -> bool) -> Self {
        self.0.retain(usable);
        self
    }

    /// The rows, in the order of the documentation.
    pub fn entries(&self) -> &[RegistryEntry<T>] {
        &self.0
    }

    /// The names users type.
    pub fn names(&self) -> Vec<&'static str> {
        self.0.iter().map(|entry| entry.name).collect()
    }

    /// The row of this name.
    pub fn entry(&self, name: &str) -> Option<&RegistryEntry<T>> {
        self.0.iter().find(|entry| entry.name == name)
    }

    /// The numbers that any row takes, each key once.
    pub fn parameters(&self) -> Vec<Parameter> {
        let mut all: Vec<Parameter> = Vec::new();
        for parameter in self.0.iter().flat_map(|entry| entry.parameters) {
            if all.iter().all(|known| known.key != parameter.key) {
                all.push(*parameter);
            }
        }
        all
    }

    /// The names of the rows that take a number under this key.
    pub fn that_take(&self, key: &str) -> Vec<&'static str> {
        self.0.iter().filter(|entry| entry.takes(key)).map(|entry| entry.name).collect()
    }
}

/// A number that goes with a name, such as the threshold of Huber's loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// As users type it.
    pub key: &'static str,
    /// Which numbers it takes.
    pub range: NumberRange,
    /// Where none is given.
    pub default: f64,
}

impl Parameter {
    /// With all three.
    pub const fn new(key: &'static str, range: NumberRange, default: f64) -> Self {
        Self { key, range, default }
    }
}

/// A number whose default, if it has one, depends on more than a name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OptionKey {
    /// As users type it.
    pub key: &'static str,
    /// Which numbers it takes.
    pub range: NumberRange,
}

impl OptionKey {
    /// With both.
    pub const fn new(key: &'static str, range: NumberRange) -> Self {
        Self { key, range }
    }
}

impl From<Parameter> for OptionKey {
    fn from(Parameter { key, range, .. }: Parameter) -> Self {
        Self { key, range }
    }
}

/// Which numbers an option takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NumberRange {
    /// Above 0.
    Positive,
    /// At least 0.
    NonNegative,
    /// Strictly between 0 and 1.
    Fraction,
    /// From the first to the second, both included.
    Between(f64, f64),
    /// A whole number above 0.
    Count,
}

impl NumberRange {
    /// Whether a number lies in it.
    pub fn holds(&self, value: f64) -> bool {
        match *self {
            Self::Positive => value > 0.0 && value.is_finite(),
            Self::NonNegative => value >= 0.0 && value.is_finite(),
            Self::Fraction => value > 0.0 && value < 1.0,
            Self::Between(low, high) => (low..=high).contains(&value),
            Self::Count => value >= 1.0 && value.fract() == 0.0 && value <= 2f64.powi(53),
        }
    }
}

/// As in "must be ...".
impl fmt::Display for NumberRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |value: f64| match value == 0.0 || (1e-3..1e5).contains(&value.abs()) {
            true => value.to_string(),
            false => format!("{value:e}"),
        };
        match *self {
            Self::Positive => f.write_str("a finite number above 0"),
            Self::NonNegative => f.write_str("a finite number, 0 or more"),
            Self::Fraction => f.write_str("strictly between 0 and 1"),
            Self::Between(low, high) => {
                write!(f, "between {} and {}", short(low), short(high))
            }
            Self::Count => f.write_str("a whole number of at least 1"),
        }
    }
}

/// A number outside its range.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
#[error("`{key}` must be {range}, not {value}")]
pub struct OutOfRange {
    /// Its key.
    pub key: &'static str,
    /// Where it should lie.
    pub range: NumberRange,
    /// Where it lies.
    pub value: f64,
}

/// The numbers that were given, by key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options(Vec<(&'static str, f64)>);

impl Options {
    /// With one option more, or with another value for it.
    pub fn set(&mut self, key: &'static str, value: f64) {
        self.0.retain(|(known, _)| *known != key);
        self.0.push((key, value));
    }

    /// The value of an option, if it was given.
    pub fn get(&self, key: &str) -> Option<f64> {
        self.0.iter().find(|(known, _)| *known == key).map(|(_, value)| *value)
    }

    /// The value of a parameter: as given, or its default.
    pub fn of(&self, parameter: Parameter) -> f64 {
        self.get(parameter.key).unwrap_or(parameter.default)
    }

    /// What was given, in that order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, f64)> {
        self.0.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDTH: Parameter = Parameter::new("width", NumberRange::Positive, 2.0);
    const TABLE: &[RegistryEntry<f64>] = &[
        RegistryEntry { name: "one", about: "", parameters: &[], build: |_| 1.0 },
        RegistryEntry { name: "wide", about: "", parameters: &[WIDTH], build: |o| o.of(WIDTH) },
    ];

    #[test]
    fn a_row_is_built_from_what_was_given_and_its_defaults() {
        let wide = TABLE[1];
        assert_eq!(wide.from_numbers(|_| None), Ok(2.0));
        assert_eq!(wide.from_numbers(|key| (key == "width").then_some(0.5)), Ok(0.5));
        let error = wide.from_numbers(|_| Some(-1.0)).unwrap_err().to_string();
        assert_eq!(error, "`width` must be a finite number above 0, not -1");
        assert_eq!(TABLE[0].from_numbers(|_| Some(-1.0)), Ok(1.0), "it takes no number");
    }

    #[test]
    fn a_row_from_outside_is_found_and_takes_the_place_of_its_namesake() {
        let two = RegistryEntry { name: "two", about: "", parameters: &[WIDTH], build: |_| 2.0 };
        let registry = Registry::new(TABLE).with(two).with(RegistryEntry { name: "one", ..two });
        assert_eq!(registry.names(), ["one", "wide", "two"]);
        assert_eq!(registry.entry("one").unwrap().from_numbers(|_| None), Ok(2.0));
        assert_eq!(registry.parameters(), [WIDTH]);
        assert_eq!(registry.that_take("width"), ["one", "wide", "two"]);
        assert_eq!(registry.filter(|entry| entry.name != "two").names(), ["one", "wide"]);
    }

    #[test]
    fn a_range_says_what_it_holds() {
        for (range, inside, outside, words) in [
            (NumberRange::Positive, 0.1, 0.0, "a finite number above 0"),
            (NumberRange::NonNegative, 0.0, f64::INFINITY, "a finite number, 0 or more"),
            (NumberRange::Fraction, 0.5, 1.0, "strictly between 0 and 1"),
            (NumberRange::Between(0.0, 1e6), 0.0, -0.1, "between 0 and 1e6"),
            (NumberRange::Count, 3.0, 2.5, "a whole number of at least 1"),
        ] {
            assert!(range.holds(inside) && !range.holds(outside), "{range}");
            assert!(!range.holds(f64::NAN), "{range}");
            assert_eq!(range.to_string(), words);
        }
    }
}
