//! What is claimed about a whole run.

use super::given::Auto;
use crate::guarantee::BudgetTarget;
use dzoa_privacy::calibrate::{self, Schedule};
use dzoa_privacy::{Accountant, Budget, Claim, Event, ExactGaussian};

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
    /// Which claim it is.
    pub fn claim(&self) -> Claim {
        match self {
            Self::Nothing => Claim::None,
            Self::Nominal { .. } => Claim::Nominal,
            Self::Exact { .. } => Claim::Exact,
        }
    }

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
    pub fn target(&self, rule: Schedule) -> BudgetTarget {
        BudgetTarget {
            total_epsilon: self.budget.epsilon,
            delta: self.budget.delta,
            schedule: self.schedule.or(rule),
            rows_per_person: self.rows_per_person,
        }
    }
}
