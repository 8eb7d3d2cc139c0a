//! What was seen of one column, and what it is taken for.

use super::clinical;
use super::written::{quoted, rounded_up};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// A column with more different texts than this is no category.
pub(super) const MOST_LEVELS: usize = 100;

/// What was seen of one column.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pub name: String,
    pub absent: usize,
    pub values: usize,
    /// Values that are no numbers.
    pub texts: usize,
    dates: usize,
    fractions: usize,
    /// Texts that are numbers all the same, with a unit or other marks, and those units.
    numerals: usize,
    units: BTreeSet<String>,
    pub lowest: f64,
    pub highest: f64,
    /// How often each value stands there; of many values only the first.
    pub distinct: BTreeMap<String, usize>,
    /// All values, as long as none stands there twice.
    unique: Option<HashSet<String>>,
    /// Files that lack the column.
    pub lacking: Vec<String>,
}

/// What a column is taken for.
#[derive(Debug, PartialEq)]
pub(super) enum Guess {
    /// A number, from here to there; whether the range is common knowledge, and not from the data.
    Numeric { low: f64, high: f64, common: bool },
    /// One of few texts.
    Categorical,
    /// It names a row.
    Id,
    /// Nothing to learn from, and why.
    Ignore(String),
}

impl Seen {
    pub fn called(name: &str) -> Self {
        Self { name: name.into(), unique: Some(HashSet::new()), ..Self::default() }
    }

    /// Takes one value; what says that nothing was recorded is added to `missing`.
    pub fn note(&mut self, text: Option<&str>, comma: bool, missing: &mut Vec<String>) {
        let Some(text) = text else {
            self.absent += 1;
            return;
        };
        let plain = if comma { text.replace(',', ".") } else { text.to_string() };
        let number = plain.parse::<f64>();
        let markers = ["", "?", "NA", "N/A", "n/a", "null", "NULL", ".", "-"];
        if markers.contains(&text) || number.as_ref().is_ok_and(|number| !number.is_finite()) {
            if !missing.iter().any(|known| known == text) {
                missing.push(text.into());
            }
            self.absent += 1;
            return;
        }
        match number {
            Ok(number) => {
                let first = self.values == self.texts;
                self.lowest = if first { number } else { self.lowest.min(number) };
                self.highest = if first { number } else { self.highest.max(number) };
                self.fractions += usize::from(number.fract() != 0.0);
            }
            Err(_) => {
                self.texts += 1;
                self.dates += usize::from(is_date(text));
                if let Some(unit) = unit_of(text) {
                    self.numerals += 1;
                    self.units.insert(unit.into());
                }
            }
        }
        self.values += 1;
        if let Some(count) = self.distinct.get_mut(text) {
            *count += 1;
        } else if self.distinct.len() <= MOST_LEVELS {
            self.distinct.insert(text.into(), 1);
        }
        if self.unique.as_mut().is_some_and(|seen| !seen.insert(text.into())) {
            self.unique = None;
        }
    }

    /// The column over several files.
    pub fn join(&mut self, other: &Self) {
        if other.values > other.texts {
            let first = self.values == self.texts;
            self.lowest = if first { other.lowest } else { self.lowest.min(other.lowest) };
            self.highest = if first { other.highest } else { self.highest.max(other.highest) };
        }
        self.absent += other.absent;
        self.values += other.values;
        self.texts += other.texts;
        self.dates += other.dates;
        self.fractions += other.fractions;
        self.numerals += other.numerals;
        self.units.extend(other.units.iter().cloned());
        for (text, count) in &other.distinct {
            *self.distinct.entry(text.clone()).or_default() += count;
        }
        // Every site counts its own rows from 1.
        if other.unique.is_none() {
            self.unique = None;
        }
    }

    /// The largest size of a number.
    pub fn largest(&self) -> f64 {
        self.lowest.abs().max(self.highest.abs())
    }

    /// What the column is taken for.
    pub fn guess(&self) -> Guess {
        let ignore = |why: String| Guess::Ignore(why);
        if !self.lacking.is_empty() {
            return ignore(format!("not in {}", self.lacking.join(", ")));
        }
        if self.values == 0 {
            return ignore("never recorded".into());
        }
        if self.dates * 10 >= self.values * 9 {
            return ignore("dates: turn them into a number first, such as an age in years".into());
        }
        if self.is_unique() && self.is_called_id() {
            return Guess::Id;
        }
        if let Some(why) = self.numbers_in_texts() {
            return ignore(why);
        }
        if self.is_id() {
            return Guess::Id;
        }
        if self.distinct.len() == 1 && self.values > 1 {
            return ignore("always the same here: nothing to learn from".into());
        }
        if self.texts == 0 {
            return match clinical::range(&self.name, self.lowest, self.highest) {
                Some((low, high)) => Guess::Numeric { low, high, common: true },
                None => {
                    let bound = rounded_up(self.largest());
                    Guess::Numeric { low: -bound, high: bound, common: false }
                }
            };
        }
        if self.texts * 10 < self.values && self.distinct.len() > 20 {
            let strange = self.distinct.keys().find(|text| text.parse::<f64>().is_err());
            return ignore(format!(
                "numbers, but also texts such as {}: add them to `missing`, or recode them beside \
                 the file",
                quoted(strange.map_or("", String::as_str))
            ));
        }
        match self.distinct.len() > MOST_LEVELS {
            true => ignore("many texts: free text, or an identifier?".into()),
            false => Guess::Categorical,
        }
    }

    /// Why texts that are numbers to a person are none here: all have one unit, or marks that this
    /// file does not use for fractions.
    fn numbers_in_texts(&self) -> Option<String> {
        if self.texts == 0 || self.numerals < self.texts || self.units.len() != 1 {
            return None;
        }
        let text = self.distinct.keys().find(|text| unit_of(text).is_some_and(|_| !plain(text)))?;
        let text = quoted(text);
        Some(match self.units.contains("") {
            true => format!(
                "numbers such as {text}: write them with one decimal mark, and none for thousands"
            ),
            false => format!("numbers with a unit, such as {text}: write the number alone"),
        })
    }

    fn is_unique(&self) -> bool {
        self.unique.is_some() && self.values >= 2 && self.fractions == 0
    }

    fn is_called_id(&self) -> bool {
        let name = self.name.to_lowercase();
        let mut words = name.split(|c: char| !c.is_alphanumeric());
        words.any(|word| ID_NAMES.contains(&word)) || name.ends_with("_id")
    }

    /// No value stands there twice, and its name or its values are those of an identifier.
    fn is_id(&self) -> bool {
        let counted = self.texts == 0
            && self.values >= 20
            && self.highest - self.lowest + 1.0 == self.values as f64
            // One person of every age is no list of numbers.
            && clinical::range(&self.name, self.lowest, self.highest).is_none();
        let texts = self.texts == self.values && self.values > MOST_LEVELS;
        self.is_unique() && (self.is_called_id() || counted || texts)
    }
}

/// Words in the names of identifiers.
const ID_NAMES: [&str; 18] = [
    "id",
    "ids",
    "patient",
    "patientid",
    "pid",
    "mrn",
    "record",
    "subject",
    "case",
    "nr",
    "no",
    "index",
    "row",
    "key",
    "uuid",
    "",
    "rowname",
    "level_0",
];

/// The unit behind a number, perhaps none; nothing where a text is not a number and a unit.
fn unit_of(text: &str) -> Option<&str> {
    let unsigned = text.trim_start_matches(['+', '-']);
    let end = unsigned.find(|c: char| !(c.is_ascii_digit() || ".,'".contains(c)));
    let (digits, rest) = unsigned.split_at(end.unwrap_or(unsigned.len()));
    let unit = rest.trim_start();
    let is_unit = unit.chars().next().is_none_or(|c| c.is_alphabetic() || "%°".contains(c));
    let is_short = unit.chars().count() <= 10;
    (digits.starts_with(|c: char| c.is_ascii_digit()) && is_unit && is_short).then_some(unit)
}

fn plain(text: &str) -> bool {
    text.parse::<f64>().is_ok()
}

/// A day, as files write it: three numbers with the same mark between them, one of four digits or
/// all short, and perhaps a time behind.
fn is_date(text: &str) -> bool {
    let day = text.split([' ', 'T']).next().unwrap_or_default();
    ['-', '/', '.'].iter().any(|mark| {
        let parts: Vec<&str> = day.split(*mark).collect();
        let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
        parts.len() == 3
            && parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
            && lengths.iter().all(|length| matches!(length, 1 | 2 | 4))
    })
}
