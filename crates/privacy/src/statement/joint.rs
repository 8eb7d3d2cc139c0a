//! What may be said about joint sums: whom a guarantee holds against, and what it is worth against
//! others.

use super::{Statement, exact_total, finite};
use crate::{Colluders, Condition, Event};
use serde::{Deserialize, Serialize};

/// The longest profile that is worked out: beyond, nobody reads it.
const LONGEST: u32 = 256;

/// The part of a statement that only joint sums have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JointStatement {
    /// Agents in the sums.
    pub agents: u32,
    /// Others that may collude under the stated epsilon.
    pub colluders: Colluders,
    /// What the stated epsilon rests on, in plain words; nothing where it holds against all others
    /// together.
    pub condition: Option<String>,
    /// Epsilon if 0, 1, ... others collude in truth, up to all of them. Empty for more than 256
    /// agents.
    pub epsilon_if_colluding: Vec<f64>,
    /// Epsilon whatever the others do: they all collude, or masks hide nothing.
    pub epsilon_unconditional: Option<f64>,
}

impl JointStatement {
    /// About a run that charged or will charge `whole`, and was planned to charge `planned`;
    /// nothing if it has no joint sum.
    pub(super) fn new(whole: &[Event], planned: &[Event], delta: f64) -> Option<Self> {
        let sums = whole.iter().chain(planned).filter_map(|event| match *event {
            Event::JointSum { agents, colluders, .. } => Some(Condition { agents, colluders }),
            _ => None,
        });
        let agents = sums.clone().map(|sum| sum.agents).max()?;
        // Members that left took their noise along: the number of colluders stays.
        let masked = sums.filter(|sum| sum.colluders.saturating_add(1) < sum.agents);
        let colluders = masked.map(|sum| sum.colluders).min();
        let epsilon = |others: u32| {
            let total = |events: &[Event]| {
                let events: Vec<Event> =
                    events.iter().map(|event| event.if_colluding(others)).collect();
                exact_total(&events, delta)
            };
            total(whole).max(total(planned))
        };
        let known = if agents <= LONGEST { agents } else { 0 };
        Some(Self {
            agents,
            colluders: colluders.map_or(Colluders::All, Colluders::AtMost),
            condition: colluders.map(|colluders| Condition { agents, colluders }.to_string()),
            epsilon_if_colluding: (0..known).map(epsilon).collect(),
            epsilon_unconditional: finite(epsilon(agents - 1)),
        })
    }

    /// One for several agents: the largest numbers, and every condition.
    pub(super) fn together(all: &[&Statement]) -> Option<Self> {
        let parts: Vec<&Self> = all.iter().filter_map(|said| said.joint.as_ref()).collect();
        let first = parts.first()?;
        let longest = parts.iter().map(|part| part.epsilon_if_colluding.len()).max()?;
        let at = |others: usize| {
            let profiles = parts.iter().map(|part| &part.epsilon_if_colluding);
            // More than there are collude: all of them.
            let of = |profile: &Vec<f64>| profile.get(others).or(profile.last()).copied();
            profiles.filter_map(of).fold(0.0, f64::max)
        };
        let mut conditions: Vec<&str> = Vec::new();
        for condition in parts.iter().filter_map(|part| part.condition.as_deref()) {
            if !conditions.contains(&condition) {
                conditions.push(condition);
            }
        }
        // A guarantee without joint sums rests on nobody.
        let alone = |said: &&Statement| match &said.joint {
            Some(joint) => joint.epsilon_unconditional,
            None => said.epsilon_exact,
        };
        Some(Self {
            agents: parts.iter().map(|part| part.agents).max()?,
            colluders: parts.iter().map(|part| part.colluders).fold(first.colluders, fewer),
            condition: (!conditions.is_empty()).then(|| conditions.join("; ")),
            epsilon_if_colluding: (0..longest).map(at).collect(),
            epsilon_unconditional: all.iter().filter_map(alone).reduce(f64::max),
        })
    }

    /// The numbers of others for which epsilon is said: all where these are few.
    pub(super) fn spoken(&self) -> Vec<(u32, f64)> {
        const FEW: usize = 8;
        let known = self.epsilon_if_colluding.iter().copied();
        let all = (0..).zip(known).collect::<Vec<(u32, f64)>>();
        let planned = match self.colluders {
            Colluders::All => self.agents.saturating_sub(1),
            Colluders::AtMost(colluders) => colluders,
        };
        let half = self.agents.saturating_sub(1) / 2;
        let said = |others: u32| others == planned || others == half || others + 1 == self.agents;
        let few = all.len() <= FEW;
        all.into_iter().filter(|(others, _)| few || said(*others)).collect()
    }
}

/// The one that protects against fewer.
fn fewer(a: Colluders, b: Colluders) -> Colluders {
    match (a, b) {
        (Colluders::AtMost(a), Colluders::AtMost(b)) => Colluders::AtMost(a.min(b)),
        (Colluders::All, other) | (other, Colluders::All) => other,
    }
}
