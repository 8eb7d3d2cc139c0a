//! What may be said about privacy: the statement of the library, with what only Python knows.

use dzoa::plan::{Circumstances, Plan};
use dzoa::privacy::{Claim, EarlierRuns, Statement as Library};
use dzoa::run::Simulation;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};

/// What may be said about a whole run.
#[pyclass(name = "Statement", module = "dzoa._core", frozen)]
pub struct PyStatement {
    said: Library,
    /// The mechanism.
    #[pyo3(get)]
    mechanism: &'static str,
    /// The total of every agent; none where nothing is claimed.
    per_agent: Option<Vec<(String, Option<f64>)>>,
    /// Why the claim is weaker than the mechanism's, or what it rests on.
    #[pyo3(get)]
    notes: Vec<String>,
}

#[pymethods]
impl PyStatement {
    /// `exact`, `nominal` or `none`.
    #[getter]
    fn claim(&self) -> &'static str {
        self.said.claim.word()
    }

    /// The total of every agent, by name, in their order; none where nothing is claimed.
    #[getter]
    fn per_agent<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.per_agent.as_ref().map(|each| each.into_py_dict(py)).transpose()
    }

    /// The largest total of an agent; none where nothing is claimed.
    #[getter]
    fn epsilon(&self) -> Option<f64> {
        total(&self.said).filter(|_| self.said.claim != Claim::None)
    }

    #[getter]
    fn delta(&self) -> Option<f64> {
        self.said.delta
    }

    /// What a guarantee of joint sums rests on; none where it holds against all others together.
    #[getter]
    fn condition(&self) -> Option<String> {
        self.said.joint.as_ref().and_then(|joint| joint.condition.clone())
    }

    /// Epsilon if 0, 1, ... others collude in truth, of joint sums; else empty.
    #[getter]
    fn epsilon_if_colluding(&self) -> Vec<f64> {
        self.said.joint.as_ref().map_or_else(Vec::new, |joint| joint.epsilon_if_colluding.clone())
    }

    #[getter]
    fn sentence(&self) -> String {
        self.said.sentence()
    }
}

/// What takes a guarantee away, and what it rests on, beyond what the library knows.
#[derive(Default)]
pub struct Reasons {
    pub void: Vec<String>,
    pub rests_on: Vec<String>,
}

impl PyStatement {
    /// About all agents, however the run ended.
    pub fn of_run(
        plan: &Plan,
        simulation: Option<&dyn Simulation>,
        seeded: bool,
        reasons: Reasons,
    ) -> Self {
        let of = |(simulation, k): (&dyn Simulation, usize)| {
            plan.statement(
                k,
                Circumstances {
                    ledger: simulation.ledger(k),
                    run: simulation.run_id(k),
                    // Nothing outlives a call.
                    earlier_runs: EarlierRuns::NotCounted,
                    void: Vec::from_iter(seeded.then(|| Library::SEEDED.into())),
                    rests_on: Vec::new(),
                },
            )
        };
        // Sums without a budget ask nobody's ledger.
        let agents = simulation.map_or(0, |simulation| simulation.len());
        let each = (0..agents).filter_map(|k| Some((simulation?, k)));
        let each: Vec<Library> = each.map(of).collect();
        let claimed = plan.claimed().claim();
        let Reasons { void, rests_on } = match claimed {
            Claim::None => Reasons::default(),
            Claim::Nominal => {
                Reasons { rests_on: vec![Library::NOISE_NOT_MEASURED.into()], ..reasons }
            }
            Claim::Exact => reasons,
        };
        // Sums that nothing hides are flooded without agents that release anything.
        let said = if each.is_empty() { Library::none() } else { Library::together(&each) };
        let said = said.with(void.clone(), rests_on.clone());
        let names = plan.graph().names().iter().cloned();
        Self {
            mechanism: plan.spec().mechanism.name(),
            per_agent: (claimed != Claim::None)
                .then(|| names.zip(each.iter().map(total)).collect()),
            notes: if said.claim == Claim::None { void } else { rests_on },
            said,
        }
    }
}

/// By Theorem 2 for a nominal claim, else the larger of charge and plan.
fn total(statement: &Library) -> Option<f64> {
    statement.epsilon_theorem2.or(statement.epsilon_exact)
}

/// Every agent's sensitivity.
pub fn sensitivities(plan: &Plan) -> Vec<f64> {
    plan.agents().iter().map(|agent| agent.charges.sensitivity).collect()
}
