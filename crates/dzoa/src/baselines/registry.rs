//! What a row of [`ENTRIES`](super::ENTRIES) holds, and what an algorithm is made from.

pub use crate::registry::{NumberRange, OptionKey, Options};

use super::Baseline;
use crate::admm::Admm;
use crate::guarantee::BudgetTarget;
use crate::network::Graph;
use crate::problem::PublicProblem;
use crate::tuning::{Setting, Sizes};

/// One algorithm: its name, its own options, and how it is made and tuned.
#[derive(Debug)]
pub struct AlgorithmEntry {
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
    /// Whether everybody hears every release, so that agents of a network can run it.
    pub flooding: bool,
    /// Whether it knows noise as the D-ZOA paper has it, under the mechanism `intrinsic`.
    pub nominal: bool,
    /// Options that contradict each other.
    pub check: fn(&Options) -> Result<(), OptionError>,
    /// The algorithm before its first round.
    pub build: fn(&Making<'_>) -> Box<dyn Baseline>,
    /// Twelve settings that it is tuned over.
    pub grid: fn(&Sizes) -> Vec<Setting>,
}

impl PartialEq for AlgorithmEntry {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl AlgorithmEntry {
    /// Whether it has an option of this name.
    pub fn reads(&self, key: &str) -> bool {
        self.options.iter().any(|option| option.key == key)
    }

    /// One without options that reads rho and queries the rows in every round. Rows that differ
    /// are written with this as the rest of a struct.
    pub const fn new(
        name: &'static str,
        page: &'static str,
        build: fn(&Making<'_>) -> Box<dyn Baseline>,
        grid: fn(&Sizes) -> Vec<Setting>,
    ) -> Self {
        Self {
            name,
            page,
            options: &[],
            reads_rho: true,
            rounds: None,
            rounds_per_query: 1,
            flooding: false,
            nominal: false,
            check: Self::ANY_OPTIONS,
            build,
            grid,
        }
    }

    /// For options that cannot contradict each other.
    pub const ANY_OPTIONS: fn(&Options) -> Result<(), OptionError> = |_| Ok(());
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
    pub target: Option<&'a BudgetTarget>,
    /// Epsilon and delta of one round as the D-ZOA paper has them, where they are asked for.
    pub nominal: Option<(f64, f64)>,
}

impl Making<'_> {
    /// The given option, or its default.
    pub fn option(&self, key: &str, default: f64) -> f64 {
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
    each.flat_map(|rho| rounds.map(|rounds| sizes.setting(rho, rounds))).collect()
}
