//! The estimators' work: built-in losses on rows that Python has scaled.

use crate::named::{named, regularizer};
use crate::network::Network;
use crate::run::{Listener, Stop, interruptible, streams};
use crate::statement::{of_agents, sensitivities};
use dzoa::plan::{Algorithm, Auto, Data, Keys, Mechanism, Plan, Refused, RunSpec};
use dzoa::prelude::*;
use dzoa::problem::loss::LOSSES;
use dzoa::problem::partition::Partition;
use dzoa::registry::Registry;
use dzoa::run::EarlyStop;
use dzoa::streams::Purpose;
use numpy::{PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::HashMap;
use std::sync::Arc;

/// What Python hands over; every value was checked there.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct FitOptions {
    loss: String,
    loss_parameters: HashMap<String, f64>,
    regularizer: String,
    l1_ratio: f64,
    eta: f64,
    intercept: bool,
    unit_ball: bool,
    algorithm: String,
    rho: Option<f64>,
    rounds: Option<u64>,
    inner_steps: Option<usize>,
    directions: Option<usize>,
    total_epsilon: Option<f64>,
    delta: f64,
    rows_per_person: usize,
    tol: f64,
    seed: Option<u64>,
    threads: usize,
}

impl FitOptions {
    fn loss(&self) -> PyResult<Arc<dyn Loss>> {
        named("loss", &Registry::new(LOSSES), &self.loss, |key| {
            self.loss_parameters.get(key).copied()
        })
    }
}

/// What is asked for; everything that was not given is left to the library's rules.
fn spec(options: &FitOptions, problem: &Problem) -> PyResult<RunSpec> {
    let mechanism = match options.total_epsilon {
        None => Mechanism::none(),
        Some(total_epsilon) => {
            let keys = Keys {
                total_epsilon: Some(total_epsilon),
                delta: Some(options.delta),
                schedule: Some(Auto::Auto),
                rows_per_person: Some(options.rows_per_person),
                ..Keys::default()
            };
            Mechanism::for_loss(&*problem.loss, &keys)
                .map_err(|error| PyValueError::new_err(error.to_string()))?
        }
    };
    let zeroth = options.algorithm == "d-zoa" || mechanism.needs_of_loop().is_some();
    let algorithm = if zeroth { Algorithm::DZoa } else { Algorithm::Admm };
    Ok(RunSpec {
        rho: options.rho.into(),
        rounds: options.rounds.into(),
        inner_steps: options.inner_steps.into(),
        directions: options.directions.into(),
        ..RunSpec::new(algorithm, mechanism)
    })
}

fn refused(options: &FitOptions, refused: &Refused) -> PyErr {
    PyValueError::new_err(match (refused, options.total_epsilon) {
        (Refused::NoGuarantee { error, .. }, Some(total)) => format!(
            "total_epsilon={total}: {error}; hint: raise total_epsilon or rho, or take fewer rounds"
        ),
        _ => refused.to_string(),
    })
}

/// Fits a linear model over agents. Returns a dictionary for the estimators.
#[pyfunction]
pub fn fit<'py>(
    x: PyReadonlyArray2<'py, f64>,
    y: PyReadonlyArray1<'py, f64>,
    parts: Vec<Vec<usize>>,
    network: Network,
    options: FitOptions,
) -> PyResult<Bound<'py, PyDict>> {
    let py = x.py();
    let wrong = |error: dzoa::problem::DataError| PyValueError::new_err(error.to_string());
    let (run_streams, root) = streams(options.seed)?;
    let graph = network.graph(&root)?;
    let mut rows = Rows::dense(x.shape()[1], x.as_slice()?.to_vec()).map_err(wrong)?;
    if options.unit_ball {
        rows = rows.into_unit_ball();
    }
    let samples = Samples::new(rows, y.as_slice()?.to_vec()).map_err(wrong)?;
    if let Some(row) = parts.iter().flatten().find(|row| **row >= samples.count()) {
        return Err(PyValueError::new_err(format!("agents: there is no row {row}")));
    }
    let problem = Problem {
        loss: options.loss()?,
        regularizer: regularizer(&options.regularizer, options.l1_ratio)?,
        eta: options.eta,
        scale: Scale::Mean,
        intercept: options.intercept,
        agents: parts.iter().map(|rows| Arc::new(samples.select(rows))).collect(),
    };
    let plan = Plan::new(&spec(&options, &problem)?, &Data::Rows(problem), &graph)
        .map_err(|error| refused(&options, &error))?;
    let mut simulation =
        plan.simulation(Vec::new(), &run_streams).map_err(|error| refused(&options, &error))?;
    let stop = Stop::default();
    // Under a budget nothing may end a run early: the charges are for all rounds.
    let tolerance = if options.total_epsilon.is_some() { 0.0 } else { options.tol };
    let status = interruptible(py, options.threads, &stop, || {
        let mut listener = Listener(stop.clone());
        let mut early = EarlyStop::new(tolerance);
        let mut observer: Vec<&mut dyn Observer> = vec![&mut listener];
        if tolerance > 0.0 {
            observer.push(&mut early);
        }
        simulation.run(&mut observer)
    })?;
    if !matches!(status, Status::Finished | Status::Stopped { .. }) {
        return Err(PyRuntimeError::new_err(status.to_string()));
    }
    let fitted = simulation.agents();
    let estimates: Vec<Vec<f64>> = fitted.iter().map(Agent::estimate).collect();
    let result = PyDict::new(py);
    result.set_item("names", graph.names())?;
    result.set_item("edges", graph.edges().collect::<Vec<_>>())?;
    result.set_item("coefficients", PyArray2::from_vec2(py, &estimates)?)?;
    result.set_item("rounds", fitted.iter().map(Agent::rounds_done).min())?;
    result.set_item("converged", matches!(status, Status::Stopped { .. }))?;
    result.set_item("rho", plan.admm().rho)?;
    result.set_item("sensitivity", sensitivities(&plan))?;
    result.set_item("statements", of_agents(&plan, fitted, options.seed.is_some()))?;
    result.set_item("mechanism", plan.spec().mechanism.name())?;
    result.set_item("samples", parts.iter().map(Vec::len).collect::<Vec<_>>())?;
    Ok(result)
}

/// The rows of each agent, split as `dzoa run` splits a file with this seed.
#[pyfunction]
#[pyo3(signature = (targets, agents, kind, alpha, seed=None))]
pub fn partition(
    targets: Vec<f64>,
    agents: usize,
    kind: &str,
    alpha: f64,
    seed: Option<u64>,
) -> PyResult<Vec<Vec<usize>>> {
    let partition = match kind {
        "contiguous" => Partition::Contiguous,
        "iid" => Partition::Iid,
        "dirichlet" if alpha > 0.0 && alpha.is_finite() => Partition::Dirichlet { alpha },
        "dirichlet" => {
            return Err(PyValueError::new_err(format!("alpha must be above 0, not {alpha}")));
        }
        other => {
            return Err(PyValueError::new_err(format!(
                "partition: unknown `{other}`; hint: contiguous, iid, dirichlet"
            )));
        }
    };
    if agents == 0 {
        return Err(PyValueError::new_err("agents must be at least 1, not 0"));
    }
    let (_, root) = streams(seed)?;
    let mut rng = root.rng(Purpose::Layout, "partition", 0);
    partition.split(&targets, agents, &mut rng).map_err(|error| {
        PyValueError::new_err(format!("agents: {error}; hint: ask for fewer agents"))
    })
}
