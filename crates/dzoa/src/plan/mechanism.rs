//! What a mechanism is: what protects a release, or claims to. One file each has one.

use super::Refused;
use super::claimed::{Claimed, Total};
use super::data::{Data, DataKind};
use super::given::Reported;
use super::rules::LoopShape;
use crate::guarantee::{BudgetTarget, NoGuarantee};
use crate::primal::{PrimalStep, ZerothOrder};
use crate::problem::PublicProblem;
use crate::tuning::{Setting, Sizes};
use dzoa_privacy::{Colluders, Event};
use std::fmt;
use std::sync::Arc;

/// What the rules choose for a mechanism where nothing was given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// rho.
    pub rho: f64,
    /// M.
    pub rounds: u64,
    /// T, J and u1.
    pub inner: LoopShape,
    /// Pairs of opposite directions.
    pub antithetic: bool,
    /// Directions at right angles.
    pub orthogonal: bool,
    /// Start a primal step at the last release.
    pub warm_start: bool,
    /// What the agents report.
    pub reported: Reported,
}

/// One agent in the network, as far as a mechanism needs to know it: all of it public.
#[derive(Clone, Copy, Debug)]
pub struct AgentPlace<'a> {
    /// Rows or boxes.
    pub data: &'a Data,
    /// The problem without its rows; boxes have none.
    pub public: Option<&'a PublicProblem>,
    /// The agent.
    pub k: usize,
    /// `|N_k|`
    pub neighbourhood: usize,
    /// rho.
    pub rho: f64,
    /// M.
    pub rounds: u64,
    /// The inner loop but for its step; `None` where the primal step is exact.
    pub inner: Option<&'a ZerothOrder>,
}

impl AgentPlace<'_> {
    /// `rho |N_k|`
    pub fn quadratic(&self) -> f64 {
        self.rho * self.neighbourhood as f64
    }
}

/// What a mechanism charges at one agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Charges {
    /// L2 sensitivity of one release (of one query, for `scalar`).
    pub sensitivity: f64,
    /// tau: how near a release comes to its minimiser on every data set, for `output`.
    pub tau: f64,
    /// Of the ball that releases lie in; infinite where there is none.
    pub radius: f64,
    /// The charge of each query; the last one repeats.
    pub events: Arc<[Event]>,
    /// One round in so many queries the rows.
    pub rounds_per_query: u64,
}

impl Charges {
    /// The same event in every round, without noise of a known scale.
    pub fn of_every_round(event: Event, sensitivity: f64) -> Self {
        let (tau, radius) = (0.0, f64::INFINITY);
        Self { sensitivity, tau, radius, events: Arc::from([event]), rounds_per_query: 1 }
    }

    /// What is charged in so many rounds, where every query has a charge of its own.
    pub fn charged(&self, rounds: u64) -> &[Event] {
        let queries = rounds.div_ceil(self.rounds_per_query) as usize;
        &self.events[..queries.min(self.events.len())]
    }

    /// All that a run of so many rounds charges: what its statement is made from, whenever it ends.
    pub fn planned(&self, rounds: u64) -> Vec<Event> {
        match &*self.events {
            // Without a guarantee every round is charged alike.
            [event @ (Event::Nominal { .. } | Event::Unprotected)] => vec![*event; rounds as usize],
            _ => self.charged(rounds).to_vec(),
        }
    }

    /// The largest noise of the run.
    pub fn sigma(&self) -> Option<f64> {
        let sigma = |event: &Event| match event {
            Event::DiscreteGaussian { sigma, .. } => Some(*sigma),
            _ => None,
        };
        self.events.iter().filter_map(sigma).reduce(f64::max)
    }
}

/// What protects the releases of a run, or claims to. [`MECHANISMS`](super::MECHANISMS) lists
/// all that there are.
pub trait Protection: fmt::Debug + Send + Sync {
    /// The name users type.
    fn name(&self) -> &'static str;

    /// What it claims.
    fn claimed(&self) -> Claimed;

    /// What the rules choose for it.
    fn choose(&self, data: &Data) -> Choice;

    /// The total budget and how it is spread, where there is one.
    fn target(&self, _data: &Data) -> Option<BudgetTarget> {
        None
    }

    /// What it needs of an inner loop, in the words of an error: an exact primal step has none.
    fn needs_of_loop(&self) -> Option<&'static str> {
        None
    }

    /// How it protects sums over all agents; `None` where it cannot.
    fn sums(&self) -> Option<SumTerms> {
        None
    }

    /// Whether it protects nothing but such sums.
    fn only_sums(&self) -> bool {
        false
    }

    /// Whether its claim counts on directions that are independent of each other.
    fn needs_independent_directions(&self) -> bool {
        false
    }

    /// Whether steps may be chosen from what was measured on the data: only where nothing is
    /// claimed.
    fn measures_curvature(&self) -> bool {
        false
    }

    /// Whether a release must come near its minimiser by a tolerance that is part of the guarantee.
    fn certifies(&self) -> bool {
        false
    }

    /// Refuses data that it cannot protect.
    fn accepts(&self, _kind: DataKind) -> Result<(), Refused> {
        Ok(())
    }

    /// Where a key has one number for each agent: the key, and how many there are.
    fn numbers_per_agent(&self) -> Option<(&'static str, usize)> {
        None
    }

    /// Whether its claim takes a number from the optimum of all agents' rows.
    fn needs_optimum(&self) -> bool {
        false
    }

    /// The key of its own that is left to a rule, which needs the size of every agent.
    fn left_to_rule(&self) -> Option<&'static str> {
        None
    }

    /// C, where it clips.
    fn clip(&self, _data: &Data) -> Option<f64> {
        None
    }

    /// Twelve settings that d-zoa or admm is tuned over under it.
    fn grid(&self, sizes: &Sizes) -> Vec<Setting>;

    /// What it charges at one agent.
    fn charges(&self, place: &AgentPlace<'_>) -> Result<Charges, NoGuarantee>;

    /// `alpha_0 R` of an agent's inner loop, where no step was given.
    fn step(&self, place: &AgentPlace<'_>, inner: &ZerothOrder) -> Result<f64, Refused>;

    /// The primal step of an agent that releases in the way that is charged; `tolerance` is that of
    /// a step without a guarantee.
    fn primal(
        &self,
        place: &AgentPlace<'_>,
        charges: &Charges,
        tolerance: Option<f64>,
    ) -> Box<dyn PrimalStep>;

    /// The noise that the claim assumes at one agent, where it rests on noise that nobody adds.
    fn assumed_noise(&self, _place: &AgentPlace<'_>) -> Option<Assumed> {
        None
    }

    /// With `||beta^c||^2` filled in, for a claim that takes it from the optimum; `None` leaves it
    /// as it is.
    fn with_optimum(&self, _norm_squared: f64) -> Option<Mechanism> {
        None
    }
}

/// How sums over all agents are protected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SumTerms {
    /// Not at all.
    Plain,
    /// With noise in shares.
    Hidden {
        /// The budget.
        total: Total,
        /// Whom it protects against.
        colluders: Colluders,
        /// Answers are clipped to this length; `None` leaves it to loss and rule.
        clip: Option<f64>,
    },
}

/// Noise that a claim assumes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Assumed {
    /// Lemma 3.
    pub sensitivity: f64,
    /// Theorem 1.
    pub sigma: f64,
}

/// A mechanism with its settings.
#[derive(Clone, Debug)]
pub struct Mechanism(Arc<dyn Protection>);

impl Mechanism {
    /// Of a protection.
    pub fn new(protection: impl Protection + 'static) -> Self {
        Self(Arc::new(protection))
    }

    /// Takes `||beta^c||^2` from the optimum, where the claim does.
    pub fn with_optimum(&self, coefficients: &[f64]) -> Self {
        let norm_squared = coefficients.iter().map(|b| b * b).sum();
        self.0.with_optimum(norm_squared).unwrap_or_else(|| self.clone())
    }
}

impl std::ops::Deref for Mechanism {
    type Target = dyn Protection;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}
