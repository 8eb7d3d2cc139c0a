//! Single values of a schema: numbers within public ranges, levels, and what is wrong with a value.

use crate::error::{Error, Result, shown};
use crate::reader::{Section, Value, suggestion};
use std::collections::HashMap;
use std::fmt;

/// The public range of a number.
#[derive(Clone, Copy, Debug)]
pub enum ColumnRange {
    /// `value / bound`.
    Bound(f64),
    /// Linear: `low` becomes -1 and `high` becomes 1.
    Between {
        /// Becomes -1.
        low: f64,
        /// Becomes 1.
        high: f64,
    },
}

/// A list of texts; compared as numbers when all of them are numbers.
#[derive(Clone, Debug)]
pub struct Levels {
    texts: Vec<String>,
    lookup: Lookup,
}

#[derive(Clone, Debug)]
enum Lookup {
    Numbers(HashMap<u64, usize>),
    Texts(HashMap<String, usize>),
}

/// What is wrong with one value; the caller knows where it stands.
#[derive(Debug)]
pub struct Fault {
    problem: String,
    hint: String,
}

impl Fault {
    /// A problem and the way out.
    pub fn new(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { problem: problem.into(), hint: hint.into() }
    }

    /// The fault as an error with its place.
    pub fn at(self, place: impl fmt::Display) -> Error {
        Error::input(format!("{place}: {}", self.problem)).hint(self.hint)
    }
}

impl ColumnRange {
    pub(super) fn read(section: &Section<'_>) -> Result<Self> {
        let finite = |key| section.number(key, f64::is_finite, "a finite number");
        match (section.positive("bound")?, finite("low")?, finite("high")?) {
            (Some(bound), None, None) => Ok(ColumnRange::Bound(bound)),
            (None, Some(low), Some(high)) if low < high && (high - low).is_finite() => {
                Ok(ColumnRange::Between { low, high })
            }
            (None, Some(low), Some(high)) => Err(section
                .error("low", &format!("must be below `high`, but {low} is not below {high}"))),
            _ => Err(section
                .error("bound", "or else `low` and `high` must be given")
                .hint("take the bound from public knowledge, never from the data")),
        }
    }

    /// What becomes -1 and what becomes 1.
    pub fn ends(self) -> (f64, f64) {
        match self {
            ColumnRange::Bound(bound) => (-bound, bound),
            ColumnRange::Between { low, high } => (low, high),
        }
    }

    /// The value within [-1, 1], and whether it had to be clipped.
    pub fn apply(self, value: f64) -> (f64, bool) {
        let (scaled, clipped) = match self {
            ColumnRange::Bound(bound) => (value / bound, value.abs() > bound),
            ColumnRange::Between { low, high } => (
                (value.clamp(low, high) - low) / (high - low) * 2.0 - 1.0,
                value < low || value > high,
            ),
        };
        (scaled.clamp(-1.0, 1.0), clipped)
    }
}

impl Levels {
    /// The levels, or the one that stands there twice.
    pub(super) fn new(texts: Vec<String>) -> std::result::Result<Self, String> {
        let numbers: Option<Vec<f64>> = texts.iter().map(|text| number(text).ok()).collect();
        let count = texts.len();
        let lookup = match numbers {
            Some(numbers) => {
                Lookup::Numbers(numbers.into_iter().map(same_bits).zip(0..count).collect())
            }
            None => Lookup::Texts(texts.iter().cloned().zip(0..count).collect()),
        };
        let levels = Self { texts, lookup };
        // A later level replaces an earlier one in the map, so the earlier one finds a stranger.
        match (0..count).find(|&at| levels.position(&levels.texts[at]) != Some(at)) {
            Some(at) => Err(levels.texts[at].clone()),
            None => Ok(levels),
        }
    }

    /// As written, in order.
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    /// Which level a text is.
    pub fn position(&self, text: &str) -> Option<usize> {
        match &self.lookup {
            Lookup::Numbers(map) => map.get(&same_bits(number(text).ok()?)).copied(),
            Lookup::Texts(map) => map.get(text).copied(),
        }
    }

    pub(super) fn unknown(&self, text: &str, what: &str) -> Fault {
        let known: Vec<&str> = self.texts.iter().map(String::as_str).collect();
        Fault::new(
            format!("{} is not a {what} of the schema", shown(text)),
            format!(
                "{} (levels are public: add one in every agent's schema)",
                suggestion(text, &known)
            ),
        )
    }
}

/// A finite number.
pub fn number(text: &str) -> std::result::Result<f64, Fault> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        Ok(_) => Err(Fault::new(
            format!("{} is not a finite number", shown(text)),
            format!("correct the value, or add {:?} to schema.missing", short(text)),
        )),
        Err(_) if text.is_empty() => Err(Fault::new(
            "there is nothing where a number should be",
            "add \"\" to schema.missing",
        )),
        Err(_) => Err(Fault::new(
            format!("{} is not a number", shown(text)),
            format!(
                "correct the value, add {:?} to schema.missing, or make the column categorical",
                short(text)
            ),
        )),
    }
}

fn short(text: &str) -> String {
    shown(text).trim_matches('`').to_string()
}

/// One text or a list of texts; numbers are taken as they would be written in a file.
pub(super) fn texts(section: &Section<'_>, key: &'static str) -> Result<Option<Vec<String>>> {
    let Some(node) = section.node(key) else {
        return Ok(None);
    };
    let items = match &node.value {
        Value::Array(items) => items.as_slice(),
        _ => std::slice::from_ref(node),
    };
    let texts: Option<Vec<String>> = items
        .iter()
        .map(|item| match &item.value {
            Value::String(text) => Some(text.clone()),
            Value::Integer(number) => Some(number.to_string()),
            Value::Float(number) => Some(number.to_string()),
            _ => None,
        })
        .collect();
    match texts {
        Some(texts) if !texts.is_empty() => Ok(Some(texts)),
        _ => Err(section.error(key, "must be a list of texts, with at least one in it")),
    }
}

/// Minus zero equals zero, but has other bits.
fn same_bits(number: f64) -> u64 {
    (number + 0.0).to_bits()
}
