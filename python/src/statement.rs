//! What may be said about privacy: the statement of the library, with what only Python knows.

use dzoa::agent::Agent;
use dzoa::plan::{Circumstances, Plan};
use dzoa::privacy::{Claim, EarlierRuns, Statement as Library};
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

/// The statement about every agent, however the run ended.
pub fn of_agents(plan: &Plan, agents: &[Agent], seeded: bool) -> Vec<Statement> {
    let of = |(k, agent): (usize, &Agent)| {
        Statement(plan.statement(
            k,
            Circumstances {
                ledger: agent.ledger(),
                run: agent.run(),
                // Nothing outlives a call.
                earlier_runs: EarlierRuns::NotCounted,
                void: Vec::from_iter(seeded.then(|| Library::SEEDED.into())),
                rests_on: Vec::new(),
            },
        ))
    };
    agents.iter().enumerate().map(of).collect()
}

/// Every agent's sensitivity.
pub fn sensitivities(plan: &Plan) -> Vec<f64> {
    plan.agents().iter().map(|agent| agent.charges.sensitivity).collect()
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
