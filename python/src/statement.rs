//! What may be said about privacy: the statement of the library, with what only Python knows.

use dzoa::agent::Agent;
use dzoa::privacy::{Claim, EarlierRuns, Event, Facts, Statement as Library};
use pyo3::prelude::*;

/// What may be said about one agent's rows, or about those of all agents.
#[pyclass(module = "dzoa._core", frozen)]
#[derive(Clone)]
pub struct Statement(Library);

#[pymethods]
impl Statement {
    /// `exact`, `nominal` or `none`.
    #[getter]
    fn claim(&self) -> &'static str {
        match self.0.claim {
            Claim::Exact => "exact",
            Claim::Nominal => "nominal",
            Claim::None => "none",
        }
    }

    /// The total: by Theorem 2 for a nominal claim, else the larger of charge and plan.
    #[getter]
    fn epsilon(&self) -> Option<f64> {
        self.0.epsilon_theorem2.or(self.0.epsilon_exact)
    }

    #[getter]
    fn delta(&self) -> Option<f64> {
        self.0.delta
    }

    #[getter]
    fn sentence(&self) -> String {
        self.0.sentence()
    }
}

/// The statement about one agent, however its run ended. The plan's last event repeats.
pub fn of_agent(
    agent: &Agent,
    events: &[Event],
    rounds: u64,
    (delta, seeded): (Option<f64>, bool),
) -> Statement {
    let Some(delta) = delta else { return Statement(Library::none()) };
    let last = events.last().into_iter().cycle();
    let planned: Vec<Event> = events.iter().chain(last).take(rounds as usize).copied().collect();
    Statement(Library::new(&Facts {
        ledger: agent.ledger(),
        run: agent.run(),
        planned: &planned,
        delta,
        // Nothing outlives a call.
        earlier_runs: EarlierRuns::NotCounted,
        void: Vec::from_iter(seeded.then(|| Library::SEEDED.into())),
        rests_on: Vec::new(),
    }))
}

/// One statement for all agents, with what takes a guarantee away and what it rests on.
#[pyfunction]
pub fn together(
    statements: Vec<PyRef<'_, Statement>>,
    void: Vec<String>,
    rests_on: Vec<String>,
) -> Statement {
    let all = Library::together(statements.iter().map(|statement| &statement.0));
    Statement(all.with(void, rests_on))
}
