//! What is asked for: every number that a user may give, and `auto` where the public rules choose.

use super::data::DataKind;
use super::given::{Auto, PerAgent, Reported};
use super::mechanism::Mechanism;
use super::sums::{JOINT, JointEntry};
use crate::baselines::{AlgorithmEntry, Options};
use crate::tuning::Setting;
use std::fmt;

/// Which algorithm.
#[derive(Clone, Debug, PartialEq)]
pub enum Algorithm {
    /// The paper's: two-point zeroth-order loops inside consensus ADMM.
    DZoa,
    /// Consensus ADMM with an exact primal step.
    Admm,
    /// Sums over all agents at a public point, and their own settings.
    Joint(&'static JointEntry, Options),
    /// One of those that d-zoa is compared with, and its own settings.
    Baseline(&'static AlgorithmEntry, Options),
}

/// The names of the algorithms that are no baselines.
const OWN: [&str; 2] = ["d-zoa", "admm"];

impl Algorithm {
    /// All names that users may type.
    pub fn names() -> Vec<&'static str> {
        let joint = JOINT.iter().map(|entry| entry.name);
        OWN.into_iter().chain(joint).chain(crate::baselines::names()).collect()
    }

    /// Those that can work on such data.
    pub fn names_for(kind: DataKind) -> Vec<&'static str> {
        let joint = JOINT.iter().filter(|entry| entry.values_only).map(|entry| entry.name);
        match kind {
            DataKind::Rows => Self::names(),
            DataKind::Boxes { .. } => std::iter::once(OWN[0]).chain(joint).collect(),
        }
    }

    /// The algorithm of this name, with the options of a setting.
    pub fn named(name: &str, setting: &Setting) -> Option<Self> {
        let mut options = Options::default();
        setting.options.iter().for_each(|&(key, value)| options.set(key, value));
        if let Some(entry) = crate::baselines::entry(name) {
            return Some(Self::Baseline(entry, options));
        }
        if let Some(entry) = JointEntry::named(name) {
            return Some(Self::Joint(entry, options));
        }
        match OWN.iter().position(|own| *own == name)? {
            0 => Some(Self::DZoa),
            _ => Some(Self::Admm),
        }
    }

    /// The name users type.
    pub fn name(&self) -> &'static str {
        match self {
            Self::DZoa => OWN[0],
            Self::Admm => OWN[1],
            Self::Joint(entry, _) => entry.name,
            Self::Baseline(entry, _) => entry.name,
        }
    }

    /// Its row among the algorithms on joint sums, where it is one.
    pub fn joint(&self) -> Option<&'static JointEntry> {
        match self {
            Self::Joint(entry, _) => Some(entry),
            Self::DZoa | Self::Admm | Self::Baseline(..) => None,
        }
    }

    /// Its own settings, where it has any.
    pub fn options(&self) -> Option<&Options> {
        match self {
            Self::Joint(_, options) | Self::Baseline(_, options) => Some(options),
            Self::DZoa | Self::Admm => None,
        }
    }

    /// The baseline's row in the registry, where it is one.
    pub fn entry(&self) -> Option<&'static AlgorithmEntry> {
        match self {
            Self::DZoa | Self::Admm | Self::Joint(..) => None,
            Self::Baseline(entry, _) => Some(entry),
        }
    }

    /// Whether everybody hears what everybody says: its agents tell each other how many rows they
    /// have, and wait for all.
    pub fn floods(&self) -> bool {
        self.joint().is_some() || self.entry().is_some_and(|entry| entry.flooding)
    }

    /// Whether `rho` means something to it.
    pub fn reads_rho(&self) -> bool {
        self.joint().is_none() && self.entry().is_none_or(|entry| entry.reads_rho)
    }

    /// Whether it runs the two-point loop.
    pub fn is_zeroth_order(&self) -> bool {
        *self == Self::DZoa
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Everything that may be asked of a run but its problem, data and network.
#[derive(Clone, Debug)]
pub struct RunSpec {
    /// Which algorithm.
    pub algorithm: Algorithm,
    /// What protects, or claims to.
    pub mechanism: Mechanism,
    /// rho.
    pub rho: Auto<f64>,
    /// M.
    pub rounds: Auto<u64>,
    /// T.
    pub inner_steps: Auto<usize>,
    /// J.
    pub directions: Auto<usize>,
    /// `u_1`
    pub smoothing: Auto<f64>,
    /// `alpha_0 R`
    pub step: Auto<PerAgent>,
    /// L.
    pub lipschitz: PerAgent,
    /// Average the iterates of the inner loop.
    pub inner_average: bool,
    /// Pairs of opposite directions.
    pub antithetic: Auto<bool>,
    /// Directions at right angles.
    pub orthogonal: Auto<bool>,
    /// Start a primal step at the last release.
    pub warm_start: Auto<bool>,
    /// What the agents report.
    pub reported: Auto<Reported>,
    /// How near a primal step without a guarantee comes to its minimiser; `Given(None)` leaves it
    /// to the solver.
    pub tolerance: Auto<Option<f64>>,
    /// Count an agent in its own neighbourhood, as the paper does.
    pub self_loop: bool,
    /// eta follows from the numbers of rows, by [`super::rules::plain_eta`].
    pub eta_by_rule: bool,
    /// Standard errors and intervals of all coefficients beside the model.
    pub inference: bool,
}

impl RunSpec {
    /// An algorithm with a mechanism; everything else is left to the rules.
    pub fn new(algorithm: Algorithm, mechanism: Mechanism) -> Self {
        Self {
            algorithm,
            mechanism,
            rho: Auto::Auto,
            rounds: Auto::Auto,
            inner_steps: Auto::Auto,
            directions: Auto::Auto,
            smoothing: Auto::Auto,
            step: Auto::Auto,
            lipschitz: PerAgent::All(1.0),
            inner_average: false,
            antithetic: Auto::Auto,
            orthogonal: Auto::Auto,
            warm_start: Auto::Auto,
            reported: Auto::Auto,
            tolerance: Auto::Auto,
            self_loop: true,
            eta_by_rule: false,
            inference: false,
        }
    }

    /// The same data and network under another algorithm and mechanism, with one setting of a grid.
    /// What only the other mechanism was told does not bind this one.
    pub fn with_setting(
        &self,
        algorithm: Algorithm,
        mechanism: Mechanism,
        setting: &Setting,
    ) -> Self {
        // Joint sums have rules of their own.
        let joint = algorithm.joint().is_some();
        let rounds = if joint { Auto::Auto } else { self.rounds };
        let directions = if joint { Auto::Auto } else { self.directions };
        let mut spec = Self {
            algorithm,
            mechanism,
            rho: setting.rho.map_or(self.rho, Auto::Given),
            rounds: setting.rounds.map_or(rounds, Auto::Given),
            directions,
            step: Auto::Auto,
            antithetic: Auto::Auto,
            orthogonal: Auto::Auto,
            tolerance: Auto::Given(None),
            // A comparison is about models.
            inference: false,
            ..self.clone()
        };
        if let Some((inner_steps, directions, smoothing)) = setting.inner {
            spec.inner_steps = Auto::Given(inner_steps);
            spec.directions = Auto::Given(directions);
            spec.smoothing = Auto::Given(smoothing);
        }
        if spec.rounds.is_auto() { spec } else { spec.with_paper_loop() }
    }

    /// With the paper's T, J and u1 wherever they are not given: what a config means that gives the
    /// rounds, whichever mechanism it names.
    pub fn with_paper_loop(mut self) -> Self {
        let paper = super::rules::PAPER_LOOP;
        self.inner_steps = Auto::Given(self.inner_steps.or(paper.inner_steps));
        self.directions = Auto::Given(self.directions.or(paper.directions));
        self.smoothing = Auto::Given(self.smoothing.or(paper.smoothing));
        self
    }
}
