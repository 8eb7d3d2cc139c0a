//! A row of the registry: what is known about an algorithm before it is built.

use super::Baseline;
use crate::admm::Admm;
use crate::guarantee::Target;
use crate::network::Graph;
use crate::problem::PublicProblem;
use crate::tuning::{Setting, Sizes};
use std::fmt;

/// One algorithm: its name, its own options, and how it is made and tuned.
#[derive(Debug)]
pub struct Entry {
    /// The name users type.
    pub name: &'static str,
    /// Its page in docs/algorithms.
    pub page: &'static str,
    /// What `[algorithm.options]` may hold.
    pub options: &'static [OptionKey],
    /// Whether `algorithm.rho` means something to it.
    pub reads_rho: bool,
    /// Rounds, where their number is not a choice.
    pub rounds: Option<u64>,
    /// One round in so many queries the rows.
    pub rounds_per_query: u64,
    /// Whether it knows noise as the D-ZOA paper has it, under the mechanism `intrinsic`.
    pub nominal: bool,
    /// Options that contradict each other.
    pub check: fn(&Options) -> Result<(), OptionError>,
    /// The algorithm before its first round.
    pub build: fn(&Making<'_>) -> Box<dyn Baseline>,
    /// Twelve settings that it is tuned over.
    pub grid: fn(&Sizes) -> Vec<Setting>,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Entry {
    /// Whether it has an option of this name.
    pub fn reads(&self, key: &str) -> bool {
        self.options.iter().any(|option| option.key == key)
    }

    /// For options that cannot contradict each other.
    pub(super) const ANY_OPTIONS: fn(&Options) -> Result<(), OptionError> = |_| Ok(());
}

/// An option of an algorithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OptionKey {
    /// As users type it.
    pub key: &'static str,
    /// Which numbers it takes.
    pub range: Range,
}

impl OptionKey {
    pub(super) const fn new(key: &'static str, range: Range) -> Self {
        Self { key, range }
    }
}

/// Which numbers an option takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Range {
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

impl Range {
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
impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |value: f64| match (1e-3..1e5).contains(&value.abs()) {
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

/// An option that contradicts another.
#[derive(Clone, Debug, PartialEq)]
pub struct OptionError {
    /// The option.
    pub key: &'static str,
    /// What is wrong with it.
    pub problem: String,
    /// The way out.
    pub hint: &'static str,
}

/// The options that were given, by name.
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
}

/// What an algorithm is made from; every default depends on public sizes only.
pub struct Making<'a> {
    /// Its own options.
    pub options: &'a Options,
    /// rho, M, and how neighbourhoods are counted.
    pub admm: Admm,
    /// Everything but the rows.
    pub problem: &'a PublicProblem,
    /// The network.
    pub graph: &'a Graph,
    /// The total that its noise keeps, where there is one.
    pub target: Option<&'a Target>,
    /// Epsilon and delta of one round as the D-ZOA paper has them, where they are asked for.
    pub nominal: Option<(f64, f64)>,
}

impl Making<'_> {
    /// The given option, or its default.
    pub(super) fn option(&self, key: &str, default: f64) -> f64 {
        self.options.get(key).unwrap_or(default)
    }

    /// A bound on the curvature of the whole data term: rows lie in the unit ball.
    pub(super) fn curvature(&self) -> f64 {
        let problem = self.problem;
        let weight: f64 = (0..problem.agents()).map(|k| problem.weight(k)).sum();
        weight * problem.loss.smoothness().unwrap_or(1.0)
    }

    /// A step that suits one agent's share of the data term.
    pub(super) fn agents_step(&self) -> f64 {
        self.problem.agents() as f64 / self.curvature()
    }
}

/// Settings that differ in rho and in the number of rounds: six and two.
pub(super) fn rho_and_rounds(sizes: &Sizes, rounds: [u64; 2]) -> Vec<Setting> {
    let each = [0.03, 0.1, 0.3, 1.0, 3.0, 10.0].into_iter();
    each.flat_map(|rho| rounds.map(|rounds| (rho, rounds)))
        .map(|(rho, rounds)| Setting {
            rho: Some(rho * sizes.weight),
            rounds: Some(rounds),
            ..Setting::default()
        })
        .collect()
}
