//! The mechanisms: what protects a release, or claims to. One file each; this one has the registry.
//!
//! To add a mechanism, write a file like `none.rs` that implements [`Protection`], and add a row to
//! [`MECHANISMS`]. Config, `--help`, errors and Python read that table; nothing else asks which
//! mechanism it is.

use super::data::{Data, DataKind};
use super::intrinsic::{self, OptimumNorm};
use super::rules::LoopShape;
use super::spec::{Auto, PerAgent, Reported, RunSpec};
use super::{Refused, none, output, scalar};
use crate::guarantee::{NoGuarantee, Target};
use crate::primal::PrimalStep;
use crate::primal::ZerothOrder;
use crate::problem::PublicProblem;
use crate::problem::loss::Loss;
use crate::tuning::{Setting, Sizes};
use dzoa_privacy::calibrate::{self, Schedule};
use dzoa_privacy::{Accountant, Budget, Event, ExactGaussian};
use std::fmt;
use std::sync::Arc;
use thiserror::Error;

/// What a mechanism claims about a whole run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Claimed {
    /// Nothing.
    Nothing,
    /// The paper's claim for one round: nominal, no guarantee.
    Nominal {
        /// Of one round.
        epsilon: f64,
        /// Of one round, and in total as the paper has it.
        delta: f64,
    },
    /// A total that holds.
    Exact {
        /// Over the whole run.
        budget: Budget,
        /// Rows that one person may have.
        rows_per_person: usize,
    },
}

impl Claimed {
    /// Its delta, where it has one.
    pub fn delta(&self) -> Option<f64> {
        match self {
            Self::Nothing => None,
            Self::Nominal { delta, .. } => Some(*delta),
            Self::Exact { budget, .. } => Some(budget.delta),
        }
    }

    /// The budget of a total that holds.
    pub fn budget(&self) -> Option<Budget> {
        match self {
            Self::Exact { budget, .. } => Some(*budget),
            Self::Nothing | Self::Nominal { .. } => None,
        }
    }

    /// What so many rounds with these charges cost: by Theorem 2 where the claim is nominal, by the
    /// exact accountant where it holds; infinite where the accountant knows no bound.
    pub fn spent<'a>(
        &self,
        rounds: u64,
        charges: impl IntoIterator<Item = &'a Event>,
    ) -> Option<f64> {
        match *self {
            Self::Nothing => None,
            Self::Nominal { epsilon, delta } => {
                Some(calibrate::theorem2_epsilon(epsilon, delta, rounds))
            }
            Self::Exact { budget, .. } => {
                let mut total = ExactGaussian::default();
                let composed = charges.into_iter().try_for_each(|event| total.compose(event));
                Some(composed.map_or(f64::INFINITY, |()| total.epsilon(budget.delta)))
            }
        }
    }
}

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
pub struct Place<'a> {
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

impl Place<'_> {
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

/// What protects the releases of a run, or claims to. See the [module](self).
pub trait Protection: fmt::Debug + Send + Sync {
    /// The name users type.
    fn name(&self) -> &'static str;

    /// What it claims.
    fn claimed(&self) -> Claimed;

    /// What the rules choose for it.
    fn choose(&self, data: &Data) -> Choice;

    /// The total budget and how it is spread, where there is one.
    fn target(&self, _data: &Data) -> Option<Target> {
        None
    }

    /// What it needs of an inner loop, in the words of an error: an exact primal step has none.
    fn needs_of_loop(&self) -> Option<&'static str> {
        None
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
    fn charges(&self, place: &Place<'_>) -> Result<Charges, NoGuarantee>;

    /// `alpha_0 R` of an agent's inner loop, where no step was given.
    fn step(&self, place: &Place<'_>, inner: &ZerothOrder) -> Result<f64, Refused>;

    /// The primal step of an agent that releases in the way that is charged; `tolerance` is that of
    /// a step without a guarantee.
    fn primal(
        &self,
        place: &Place<'_>,
        charges: &Charges,
        tolerance: Option<f64>,
    ) -> Box<dyn PrimalStep>;

    /// The noise that the claim assumes at one agent, where it rests on noise that nobody adds.
    fn assumed_noise(&self, _place: &Place<'_>) -> Option<Assumed> {
        None
    }

    /// With `||beta^c||^2` filled in, for a claim that takes it from the optimum; `None` leaves it
    /// as it is.
    fn with_optimum(&self, _norm_squared: f64) -> Option<Mechanism> {
        None
    }
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

    /// No protection at all.
    pub fn none() -> Self {
        Self::new(none::Unprotected)
    }

    /// The mechanism of this name, from the keys that were given.
    pub fn from_keys(name: &str, keys: &Keys) -> Result<Self, KeyError> {
        let entry = MECHANISMS.iter().find(|entry| entry.name == name);
        let entry = entry.ok_or_else(|| KeyError::Unknown(name.into()))?;
        let given = [
            ("total_epsilon", keys.total_epsilon.is_some()),
            ("schedule", keys.schedule.is_some()),
            ("rows_per_person", keys.rows_per_person.is_some()),
            ("tolerance", keys.tolerance.is_some()),
            ("clip", keys.clip.is_some()),
        ];
        match given.iter().find(|(key, given)| *given && !entry.reads.contains(key)) {
            Some(&(key, _)) => Err(KeyError::NoEffect(key)),
            None => (entry.build)(keys),
        }
    }

    /// The mechanism that suits a loss where only a budget is given: noise on a certified minimiser,
    /// or clipped queries where no bound on the slope gives a sensitivity.
    pub fn for_loss(loss: &dyn Loss, keys: &Keys) -> Result<Self, KeyError> {
        let bounded = loss.lipschitz().is_some();
        Self::from_keys(if bounded { "output" } else { "scalar" }, keys)
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

/// What users may give about privacy; each mechanism reads its own part.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Keys {
    /// Of one round.
    pub epsilon: Option<f64>,
    /// In total; with `epsilon`, of one round as well.
    pub delta: Option<f64>,
    /// Over the whole run.
    pub total_epsilon: Option<f64>,
    /// How the total is spread over the rounds.
    pub schedule: Option<Auto<Schedule>>,
    /// Rows that one person may have.
    pub rows_per_person: Option<usize>,
    /// tau.
    pub tolerance: Option<f64>,
    /// C.
    pub clip: Option<f64>,
    /// The constant of Lemma 2.
    pub c: Option<PerAgent>,
    /// The term of Corollary 1 that needs the optimum.
    pub optimum_norm: Option<OptimumNorm>,
}

impl Keys {
    /// The budget of a mechanism whose total holds.
    pub(super) fn total(&self) -> Result<Total, KeyError> {
        Ok(Total {
            budget: Budget {
                epsilon: self.total_epsilon.ok_or(KeyError::Missing("total_epsilon"))?,
                delta: self.delta.ok_or(KeyError::Missing("delta"))?,
            },
            schedule: self.schedule.unwrap_or(Auto::Given(Schedule::Constant)),
            rows_per_person: self.rows_per_person.unwrap_or(1),
        })
    }
}

/// A total that holds, and how it is spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Total {
    /// Over the whole run.
    pub budget: Budget,
    /// Over the rounds.
    pub schedule: Auto<Schedule>,
    /// Rows that one person may have.
    pub rows_per_person: usize,
}

impl Total {
    /// The claim.
    pub fn claimed(&self) -> Claimed {
        Claimed::Exact { budget: self.budget, rows_per_person: self.rows_per_person }
    }

    /// With the schedule that a rule chooses, where none was given.
    pub fn target(&self, rule: Schedule) -> Target {
        Target {
            total_epsilon: self.budget.epsilon,
            delta: self.budget.delta,
            schedule: self.schedule.or(rule),
            rows_per_person: self.rows_per_person,
        }
    }
}

/// Keys that do not fit a mechanism.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum KeyError {
    /// No mechanism has this name.
    #[error("no mechanism is called `{0}`")]
    Unknown(String),
    /// A key that the mechanism cannot do without.
    #[error("`{0}` is missing")]
    Missing(&'static str),
    /// A key that the mechanism does not read.
    #[error("`{0}` has no effect with this mechanism")]
    NoEffect(&'static str),
}

/// A row of the registry.
#[derive(Debug)]
pub struct MechanismEntry {
    /// The name users type.
    pub name: &'static str,
    /// What it is, in few words.
    pub about: &'static str,
    /// The keys that only some mechanisms read, and this one does.
    pub reads: &'static [&'static str],
    build: fn(&Keys) -> Result<Mechanism, KeyError>,
}

/// All mechanisms.
pub const MECHANISMS: &[MechanismEntry] = &[
    MechanismEntry {
        name: "intrinsic",
        about: "the paper's, nominal only",
        reads: &[],
        build: intrinsic::Intrinsic::from_keys,
    },
    MechanismEntry {
        name: "output",
        about: "noise on a certified minimiser: holds exactly",
        reads: &["total_epsilon", "schedule", "rows_per_person", "tolerance"],
        build: output::OutputNoise::from_keys,
    },
    MechanismEntry {
        name: "scalar",
        about: "noise on clipped difference quotients: holds exactly",
        reads: &["total_epsilon", "schedule", "rows_per_person", "clip"],
        build: scalar::ScalarNoise::from_keys,
    },
    MechanismEntry {
        name: "none",
        about: "guarantees nothing",
        reads: &[],
        build: |_| Ok(Mechanism::none()),
    },
];

/// Refuses directions that depend on each other, where the claim counts on their independence.
pub(super) fn check_directions(spec: &RunSpec) -> Result<(), Refused> {
    let arranged = [spec.antithetic, spec.orthogonal].contains(&Auto::Given(true));
    match arranged && spec.mechanism.needs_independent_directions() {
        true => Err(Refused::Arranged),
        false => Ok(()),
    }
}
