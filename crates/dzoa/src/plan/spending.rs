//! What every agent of a run has spent after each of its rounds, by the plan.

use super::claimed::Claimed;
use super::mechanism::Charges;
use dzoa_privacy::{Accountant, ExactGaussian, calibrate};

/// The privacy spent by each agent after each round. It is the same in every trial.
#[derive(Clone, Debug)]
pub enum Spending {
    /// Nothing is claimed.
    None,
    /// The paper's claim, by Theorem 2.
    Nominal {
        /// Of one round.
        epsilon: f64,
        /// Of the whole run.
        delta: f64,
    },
    /// Of a mechanism that holds, one entry per agent.
    Exact(Vec<AfterQueries>),
}

/// What one agent has spent after each of its queries.
#[derive(Clone, Debug)]
pub struct AfterQueries {
    rounds_per_query: u64,
    epsilon: Vec<f64>,
}

impl Spending {
    /// What agents with these charges spend.
    pub(super) fn new<'a>(claimed: Claimed, charges: impl Iterator<Item = &'a Charges>) -> Self {
        match claimed {
            Claimed::Nothing => Self::None,
            Claimed::Nominal { epsilon, delta } => Self::Nominal { epsilon, delta },
            Claimed::Exact { budget, .. } => {
                let after = |charges: &Charges| {
                    let mut total = ExactGaussian::default();
                    let spent = charges.events.iter().map(|event| match total.compose(event) {
                        Ok(()) => total.epsilon(budget.delta),
                        Err(_) => f64::INFINITY,
                    });
                    let epsilon = spent.collect();
                    AfterQueries { rounds_per_query: charges.rounds_per_query, epsilon }
                };
                Self::Exact(charges.map(after).collect())
            }
        }
    }

    /// What agent k has spent after so many rounds.
    pub fn after(&self, k: usize, rounds: u64) -> Option<f64> {
        match self {
            Self::None => None,
            Self::Nominal { epsilon, delta } => {
                Some(calibrate::theorem2_epsilon(*epsilon, *delta, rounds))
            }
            Self::Exact(agents) => {
                let AfterQueries { rounds_per_query, epsilon } = &agents[k];
                let queries = rounds.div_ceil(*rounds_per_query) as usize;
                queries.min(epsilon.len()).checked_sub(1).map(|last| epsilon[last])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dzoa_privacy::{Budget, Event};

    #[test]
    fn one_query_serves_several_rounds_and_the_last_charge_stays() {
        let event = Event::discrete_gaussian(1.0, 2.0, 3, 1);
        let charges = Charges {
            events: [event, event].into(),
            rounds_per_query: 2,
            ..Charges::of_every_round(event, 1.0)
        };
        let budget = Budget { epsilon: 1.0, delta: 1e-5 };
        let claimed = Claimed::Exact { budget, rows_per_person: 1 };
        let spending = Spending::new(claimed, std::iter::once(&charges));
        let after = |round| spending.after(0, round);
        assert_eq!(after(0), None);
        assert!(after(1) == after(2) && after(3) == after(4) && after(4) == after(9));
        assert!(after(1) < after(3));
    }

    #[test]
    fn a_run_without_a_guarantee_spends_nothing_and_a_nominal_one_as_theorem_2_says() {
        assert_eq!(Spending::None.after(0, 3), None);
        let nominal = Spending::Nominal { epsilon: 0.1, delta: 1e-3 };
        assert_eq!(nominal.after(4, 7), Some(calibrate::theorem2_epsilon(0.1, 1e-3, 7)));
    }
}
