//! The estimators' work: built-in losses on rows that Python has scaled.

use crate::named::{named, regularizer};
use crate::network::Network;
use crate::run::{Listener, Stop, interruptible, streams};
use crate::statement::{PyStatement, Reasons, sensitivities};
use dzoa::plan::{Algorithm, Data, Plan, Refused, RunSpec};
use dzoa::prelude::*;
use dzoa::privacy::{Budget, Statement};
use dzoa::problem::Partition;
use dzoa::problem::loss::LOSSES;
use dzoa::registry::Registry;
use dzoa::streams::Purpose;
use dzoa::tuning::Setting;
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
    leaks: Vec<String>,
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
    let wrong = |error: String| PyValueError::new_err(error);
    let algorithm = Algorithm::named(&options.algorithm, &Setting::default())
        .ok_or_else(|| wrong(format!("algorithm: unknown `{}`", options.algorithm)))?;
    let budget = options.total_epsilon.map(|epsilon| Budget { epsilon, delta: options.delta });
    let spec = RunSpec::for_budget(&*problem.loss, algorithm, budget, options.rows_per_person)
        .map_err(|error| wrong(error.to_string()))?;
    Ok(RunSpec {
        rho: options.rho.into(),
        rounds: options.rounds.into(),
        inner_steps: options.inner_steps.into(),
        directions: options.directions.into(),
        ..spec
    })
}

/// Why a guarantee is void, for what the estimators had to take from private data.
fn leak(what: &str) -> PyResult<&'static str> {
    Ok(match what {
        "bounds" => Statement::BOUNDS_FROM_DATA,
        "target_bounds" => Statement::TARGET_BOUNDS_FROM_DATA,
        "classes" => Statement::CLASSES_FROM_DATA,
        "partition" => Statement::PARTITION_READS_TARGETS,
        other => return Err(PyValueError::new_err(format!("leaks: unknown `{other}`"))),
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
    let mut early = plan.early_stop(options.tol);
    let status = interruptible(py, options.threads, &stop, || {
        let mut listener = Listener(stop.clone());
        let mut observer: Vec<&mut dyn Observer> = vec![&mut listener];
        if let Some(early) = &mut early {
            observer.push(early);
        }
        simulation.run(&mut observer)
    })?;
    if !matches!(status, Status::Finished | Status::Stopped { .. }) {
        return Err(PyRuntimeError::new_err(status.to_string()));
    }
    let leaks = options.leaks.iter().map(|what| leak(what).map(String::from));
    let reasons = Reasons {
        void: leaks.collect::<PyResult<_>>()?,
        rests_on: vec![
            Statement::public_shape(options.rows_per_person),
            Statement::EVERY_FIT_ADDS.into(),
            Statement::STEPS_BEFORE.into(),
        ],
    };
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
    result.set_item(
        "statement",
        PyStatement::of_run(&plan, fitted, options.seed.is_some(), reasons),
    )?;
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
