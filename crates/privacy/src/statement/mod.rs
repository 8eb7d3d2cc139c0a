//! What may be said about a run: the one place that turns what was charged, and what the plan
//! allowed, into numbers and words.
//!
//! *When* a run ends may depend on its releases: a tolerance is reached, somebody has seen enough,
//! a step fails. What happened to be charged until then is no guarantee. The plan is fixed before
//! the first release, and a run that ends early is a function of the run that goes on: what the
//! whole plan costs is a guarantee, whatever the end. So how a run ended is no input of
//! [`Statement::new`], and the larger of charge and plan is stated.

mod joint;
mod labels;
mod noise;
mod reasons;
mod words;

pub use joint::JointStatement;
pub use labels::{CurveWords, Stressed};
pub use noise::FoundNoise;

use crate::accountant::Accountant;
use crate::{
    Budget, Claim, Condition, Event, ExactGaussian, Ledger, RunId, ZeroConcentrated, calibrate,
    gaussian,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What a statement about one agent's rows is made from.
#[derive(Clone, Debug)]
pub struct Facts<'a> {
    /// Everything that was charged to the rows.
    pub ledger: &'a Ledger,
    /// The run that the statement is about.
    pub run: RunId,
    /// All that the run charges if it goes to its end, in order.
    pub planned: &'a [Event],
    /// The delta of the guarantee.
    pub delta: f64,
    /// Whether the ledger knows of earlier runs.
    pub earlier_runs: EarlierRuns,
    /// What takes a guarantee away.
    pub void: Vec<String>,
    /// What a guarantee rests on, beyond what every one does.
    pub rests_on: Vec<String>,
}

/// Whether runs before this one are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EarlierRuns {
    /// The ledger outlives its runs.
    Counted,
    /// There is no such ledger.
    NotCounted,
}

/// What may be said about one agent's rows, or about those of all agents ([`Statement::together`]).
///
/// ```
/// use dzoa_privacy::{EarlierRuns, Event, Facts, Ledger, RunId, Statement};
/// let planned = [Event::discrete_gaussian(1.0, 10.0, 3, 1); 4];
/// let mut ledger = Ledger::default();
/// // The run ends after one of four releases: the plan is the guarantee all the same.
/// ledger.charge(planned[0].query(1))?;
/// let statement = Statement::new(&Facts {
///     ledger: &ledger,
///     run: RunId::default(),
///     planned: &planned,
///     delta: 1e-5,
///     earlier_runs: EarlierRuns::Counted,
///     void: vec![],
///     rests_on: vec![],
/// });
/// assert_eq!(statement.epsilon_exact, statement.planned_epsilon);
/// assert!(statement.epsilon_exact > statement.epsilon_charged);
/// assert!(statement.sentence().starts_with("EXACT"));
/// # Ok::<(), dzoa_privacy::ChargeRefused>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    /// `exact`, `nominal` or `none`.
    pub claim: Claim,
    /// Theorem 1's epsilon of one round.
    pub epsilon_per_round: Option<f64>,
    /// The paper's total.
    pub epsilon_theorem2: Option<f64>,
    /// This run in zCDP; of a nominal run, for noise as Theorem 1 assumes it.
    pub epsilon_zcdp: Option<f64>,
    /// This run, exactly: the larger of what was charged and what the plan allowed. Of a nominal
    /// run, for noise as Theorem 1 assumes it.
    pub epsilon_exact: Option<f64>,
    /// What the whole plan costs.
    #[serde(default)]
    pub planned_epsilon: Option<f64>,
    /// What this run was charged until it ended. No guarantee where it ended early.
    #[serde(default)]
    pub epsilon_charged: Option<f64>,
    /// Everything in the ledger, earlier runs included; null if some of it has no exact guarantee,
    /// or if earlier runs are not counted.
    pub epsilon_lifetime: Option<f64>,
    /// Everything in the ledger, whatever other agents do; null where nothing rests on them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epsilon_lifetime_unconditional: Option<f64>,
    /// What the lifetime's total rests on: the conditions of all runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lifetime_conditions: Vec<Condition>,
    /// What the ledger lets all runs together spend.
    #[serde(default)]
    pub lifetime_budget: Option<Budget>,
    /// delta.
    pub delta: Option<f64>,
    /// Whether runs before this one are counted.
    #[serde(default)]
    pub earlier_runs: Option<EarlierRuns>,
    /// What takes a guarantee away.
    #[serde(default)]
    pub void: Vec<String>,
    /// What a guarantee rests on, beyond what every one does.
    #[serde(default)]
    pub rests_on: Vec<String>,
    /// Always `replace-one`.
    pub adjacency: String,
    /// Whom the guarantee of joint sums holds against; nothing for other releases.
    #[serde(flatten)]
    pub joint: Option<JointStatement>,
}

impl Statement {
    /// Nothing is guaranteed.
    pub fn none() -> Self {
        Self {
            claim: Claim::None,
            epsilon_per_round: None,
            epsilon_theorem2: None,
            epsilon_zcdp: None,
            epsilon_exact: None,
            planned_epsilon: None,
            epsilon_charged: None,
            epsilon_lifetime: None,
            epsilon_lifetime_unconditional: None,
            lifetime_conditions: Vec::new(),
            lifetime_budget: None,
            delta: None,
            earlier_runs: None,
            void: Vec::new(),
            rests_on: Vec::new(),
            adjacency: "replace-one".into(),
            joint: None,
        }
    }

    /// The statement about one agent, however its run ended.
    pub fn new(facts: &Facts<'_>) -> Self {
        let charged: Vec<Event> = facts.ledger.events_of(facts.run).copied().collect();
        let claims = facts.planned.iter().chain(&charged).map(Event::claim);
        match claims.min() {
            None | Some(Claim::None) => Self::none(),
            Some(Claim::Nominal) => Self::nominal(facts, charged.len()),
            Some(Claim::Exact) => Self::exact(facts, &charged),
        }
    }

    fn exact(facts: &Facts<'_>, charged: &[Event]) -> Self {
        let Facts { ledger, planned, delta, .. } = *facts;
        // A round that was made anew was charged again: that is no progress in the plan.
        let own = ledger.charges().filter(|charge| charge.run == facts.run);
        let done = own.filter(|charge| charge.attempt == 0).count();
        let left = &planned[done.min(planned.len())..];
        let whole: Vec<Event> = charged.iter().chain(left).copied().collect();
        let plan = exact_total(planned, delta);
        let run = exact_total(&whole, delta).max(plan);
        let joint = JointStatement::new(&whole, planned, delta);
        let everything = ledger.charges().map(|charge| &charge.event).chain(left);
        let everything: Vec<Event> = everything.copied().collect();
        let life = exact_total(&everything, delta).max(run).max(ledger.epsilon(delta));
        let counted = facts.earlier_runs == EarlierRuns::Counted;
        let conditions = conditions(&everything);
        let unconditional = conditions.first().and_then(|_| {
            let alone: Vec<Event> = everything.iter().map(|event| event.unconditional()).collect();
            finite(exact_total(&alone, delta).max(life))
        });
        // What has no finite price is no guarantee.
        let void = !facts.void.is_empty() || !run.is_finite();
        Self {
            claim: if void { Claim::None } else { Claim::Exact },
            epsilon_zcdp: finite(zcdp_total(&whole, delta).max(zcdp_total(planned, delta))),
            epsilon_exact: finite(run),
            planned_epsilon: finite(plan),
            epsilon_charged: finite(exact_total(charged, delta)),
            epsilon_lifetime: finite(life).filter(|_| counted),
            epsilon_lifetime_unconditional: unconditional.filter(|_| counted),
            lifetime_conditions: if counted { conditions } else { Vec::new() },
            lifetime_budget: ledger.budget().filter(|_| counted),
            delta: Some(delta),
            earlier_runs: Some(facts.earlier_runs),
            void: facts.void.clone(),
            rests_on: facts.rests_on.clone(),
            joint,
            ..Self::none()
        }
    }

    /// The paper's figure: what its rounds would cost if the noise were there, as perfect as
    /// Theorem 1 wants it.
    fn nominal(facts: &Facts<'_>, charged: usize) -> Self {
        let rounds = charged.max(facts.planned.len()) as u64;
        let first = facts.planned.iter().find_map(|event| match *event {
            Event::Nominal { epsilon, delta } => Some((epsilon, delta)),
            _ => None,
        });
        let Some((epsilon, delta)) = first else { return Self::none() };
        let multiplier = calibrate::theorem1_noise_multiplier(epsilon, delta);
        let mu = (rounds as f64).sqrt() / multiplier;
        Self {
            claim: Claim::Nominal,
            epsilon_per_round: Some(epsilon),
            epsilon_theorem2: Some(calibrate::theorem2_epsilon(epsilon, delta, rounds)),
            epsilon_zcdp: Some(gaussian::zcdp_epsilon(0.5 * mu * mu, delta)),
            epsilon_exact: Some(gaussian::epsilon(delta, mu)),
            delta: Some(delta),
            rests_on: facts.rests_on.clone(),
            ..Self::none()
        }
    }

    /// One statement for all agents: the weakest claim and the largest numbers.
    pub fn together<'a>(statements: impl IntoIterator<Item = &'a Self>) -> Self {
        let all: Vec<&Self> = statements.into_iter().collect();
        let Some(weakest) = all.iter().min_by_key(|statement| statement.claim) else {
            return Self::none();
        };
        let alike = all.iter().filter(|statement| statement.claim == weakest.claim);
        let largest =
            |get: fn(&Self) -> Option<f64>| alike.clone().filter_map(|s| get(s)).reduce(f64::max);
        let uncounted = |s: &&&Self| s.earlier_runs == Some(EarlierRuns::NotCounted);
        let lasting = alike.clone().all(|s| s.epsilon_lifetime.is_some());
        let budgets = alike.clone().filter_map(|s| s.lifetime_budget);
        Self {
            claim: weakest.claim,
            epsilon_per_round: largest(|s| s.epsilon_per_round),
            epsilon_theorem2: largest(|s| s.epsilon_theorem2),
            epsilon_zcdp: largest(|s| s.epsilon_zcdp),
            epsilon_exact: largest(|s| s.epsilon_exact),
            planned_epsilon: largest(|s| s.planned_epsilon),
            epsilon_charged: largest(|s| s.epsilon_charged),
            epsilon_lifetime: largest(|s| s.epsilon_lifetime).filter(|_| lasting),
            epsilon_lifetime_unconditional: largest(|s| s.epsilon_lifetime_unconditional)
                .filter(|_| lasting),
            lifetime_conditions: alike
                .clone()
                .flat_map(|s| s.lifetime_conditions.iter().copied())
                .collect::<BTreeSet<_>>()
                .into_iter()
                .collect(),
            lifetime_budget: budgets.reduce(|a, b| if a.epsilon > b.epsilon { a } else { b }),
            delta: largest(|s| s.delta),
            earlier_runs: match alike.clone().any(|s| uncounted(&s)) {
                true => Some(EarlierRuns::NotCounted),
                false => weakest.earlier_runs,
            },
            void: union(&all, |s| &s.void),
            rests_on: union(&all, |s| &s.rests_on),
            adjacency: weakest.adjacency.clone(),
            joint: JointStatement::together(&alike.copied().collect::<Vec<_>>()),
        }
    }

    /// The statement with more that takes a guarantee away, or that it rests on.
    pub fn with(mut self, void: Vec<String>, rests_on: Vec<String>) -> Self {
        if self.claim == Claim::Exact && !void.is_empty() {
            self.claim = Claim::None;
        }
        self.void.extend(void);
        self.rests_on.extend(rests_on);
        self
    }

    /// Whether the exchanged vectors have the noise of an exact mechanism, also where nothing is
    /// guaranteed.
    pub fn is_noisy(&self) -> bool {
        self.epsilon_exact.is_some()
    }
}

/// What some events cost together; infinite where there is no theory for one of them.
fn total<'a>(
    mut account: impl Accountant,
    events: impl IntoIterator<Item = &'a Event>,
    delta: f64,
) -> f64 {
    match events.into_iter().try_for_each(|event| account.compose(event)) {
        Ok(()) => account.epsilon(delta),
        Err(_) => f64::INFINITY,
    }
}

fn exact_total<'a>(events: impl IntoIterator<Item = &'a Event>, delta: f64) -> f64 {
    total(ExactGaussian::default(), events, delta)
}

fn zcdp_total<'a>(events: impl IntoIterator<Item = &'a Event>, delta: f64) -> f64 {
    total(ZeroConcentrated::default(), events, delta)
}

/// What some events rest on, each condition once, in order.
fn conditions(events: &[Event]) -> Vec<Condition> {
    let all: BTreeSet<Condition> = events.iter().filter_map(Event::condition).collect();
    all.into_iter().collect()
}

fn finite(value: f64) -> Option<f64> {
    Some(value).filter(|value| value.is_finite())
}

/// Every text once, in the order of the agents.
fn union(all: &[&Statement], get: fn(&Statement) -> &Vec<String>) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for text in all.iter().flat_map(|statement| get(statement)) {
        if !texts.contains(text) {
            texts.push(text.clone());
        }
    }
    texts
}

#[cfg(test)]
mod tests;
