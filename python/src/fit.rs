//! The estimators' work: built-in losses on rows that Python has scaled.

use crate::named::{named, regularizer};
use crate::network::Network;
use crate::run::{Listener, Stop, interruptible, streams};
use crate::statement::{PyStatement, Reasons, sensitivities};
use dzoa::inference::{Estimate, Inference, NoInference};
use dzoa::newton::NewtonLimits;
use dzoa::plan::{Algorithm, Data, Plan, Refused, RunSpec};
use dzoa::prelude::*;
use dzoa::privacy::{Budget, Statement};
use dzoa::problem::Partition;
use dzoa::problem::loss::LOSSES;
use dzoa::reference::by_sums;
use dzoa::registry::Registry;
use dzoa::run::evaluate::mean;
use dzoa::run::{Residuals, Simulation};
use dzoa::streams::Purpose;
use dzoa::tuning::Setting;
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::HashMap;
use std::sync::Arc;

/// Sums that agents flood at most, where nobody says.
const MOST_SUMS: usize = 500;
/// The last step of a fit by sums moves no coefficient by more than this share of the largest.
const LONGEST_LAST_STEP: f64 = 1e-9;

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
    /// What is subtracted from each column, and what it is then divided by.
    middle: Vec<f64>,
    half: Vec<f64>,
    /// Public: rows are divided by it.
    row_norm: f64,
    /// Whether features longer than that are cut; else nothing bounds them.
    cut: bool,
    algorithm: String,
    by_sums: bool,
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
    inference: bool,
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
    let algorithm = match options.algorithm.as_str() {
        "auto" => None,
        name => Some(
            Algorithm::named(name, &Setting::default())
                .ok_or_else(|| wrong(format!("algorithm: unknown `{name}`")))?,
        ),
    };
    let budget = options.total_epsilon.map(|epsilon| Budget { epsilon, delta: options.delta });
    let spec = RunSpec::for_budget(&*problem.loss, algorithm, budget, options.rows_per_person)
        .map_err(|error| wrong(error.to_string()))?;
    Ok(RunSpec {
        rho: options.rho.into(),
        rounds: options.rounds.into(),
        inner_steps: options.inner_steps.into(),
        directions: options.directions.into(),
        inference: options.inference,
        ..spec
    })
}

/// Everybody's rows and targets.
struct Table<'py> {
    x: PyReadonlyArray2<'py, f64>,
    y: PyReadonlyArray1<'py, f64>,
}

impl Table<'_> {
    /// The rows of one agent, scaled: the only copy of them that is made.
    fn scaled(&self, part: &[u64], options: &FitOptions) -> PyResult<Samples> {
        let wrong = |error: dzoa::problem::DataError| PyValueError::new_err(error.to_string());
        let (x, y) = (self.x.as_array(), self.y.as_array());
        let width = x.ncols() + usize::from(options.intercept);
        let mut values = Vec::with_capacity(part.len() * width);
        let mut targets = Vec::with_capacity(part.len());
        for &row in part {
            let known = usize::try_from(row).ok().filter(|row| *row < x.nrows().min(y.len()));
            let Some(row) = known else {
                return Err(PyValueError::new_err(format!("agents: there is no row {row}")));
            };
            let scaling = options.middle.iter().zip(&options.half);
            let scaled = x.row(row).into_iter().zip(scaling);
            values.extend(scaled.map(|(v, (middle, half))| ((v - middle) / half).clamp(-1.0, 1.0)));
            values.extend(options.intercept.then_some(1.0));
            targets.push(y[row]);
        }
        if !options.cut {
            values.iter_mut().for_each(|value| *value /= options.row_norm);
        }
        let rows = Rows::dense(width, values).map_err(wrong)?;
        let rows = match options.cut {
            true => rows.over_row_norm(options.row_norm, options.intercept).0,
            false => rows,
        };
        Samples::new(rows, targets).map_err(wrong)
    }
}

/// What a fit found.
struct Fitted {
    /// Per agent.
    estimates: Vec<Vec<f64>>,
    /// What the agents agree on.
    model: Vec<f64>,
    rounds: Option<u64>,
    converged: bool,
    /// Primal and dual, where releases were exchanged round by round.
    residuals: Option<(f64, f64)>,
}

impl Fitted {
    /// Agents that flood sums all know the same minimiser.
    fn by_sums(options: &FitOptions, problem: &Problem) -> Result<Self, String> {
        let most = options.rounds.map_or(MOST_SUMS, |rounds| rounds as usize);
        let limits = NewtonLimits { sums: most, step: options.tol.min(LONGEST_LAST_STEP) };
        let found = by_sums(problem, limits).ok_or("the sums led to no minimiser")?;
        Ok(Self {
            estimates: vec![found.b.clone(); problem.agents.len()],
            model: found.b,
            rounds: Some(found.sums as u64),
            converged: found.converged,
            residuals: None,
        })
    }

    /// Agents that exchange releases until these stand still, or for all rounds.
    fn by_rounds(
        options: &FitOptions,
        plan: &Plan,
        simulation: &mut dyn Simulation,
        stop: &Stop,
    ) -> Result<Self, String> {
        let (mut early, mut residuals) =
            (plan.early_stop(options.tol), Residuals::new(plan.admm().rho));
        let mut listener = Listener(stop.clone());
        let mut observer: Vec<&mut dyn Observer> = vec![&mut listener, &mut residuals];
        if let Some(early) = &mut early {
            observer.push(early);
        }
        let status = simulation.run(&mut observer);
        if !matches!(status, Status::Finished | Status::Stopped { .. }) {
            return Err(status.to_string());
        }
        let estimates: Vec<Vec<f64>> =
            (0..simulation.len()).map(|k| simulation.estimate(k)).collect();
        let mut model = mean(&estimates);
        let converged = matches!(status, Status::Stopped { .. });
        if let (true, Some(problem)) = (converged, plan.data().problem()) {
            // A mean of sparse vectors is not sparse. What the agents still disagree by is nothing,
            // and the penalty's own prox makes a zero of it.
            let penalty = problem.penalty(1.0);
            if !penalty.regularizer.is_smooth() {
                penalty.prox(&mut model, residuals.primal);
            }
        }
        Ok(Self {
            estimates,
            model,
            rounds: match simulation.agents().iter().map(Agent::rounds_done).min() {
                // Joint sums have no agents of their own, and end with their plan.
                None => Some(plan.rounds()),
                done => done,
            },
            converged,
            residuals: Some((residuals.primal, residuals.dual)),
        })
    }
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

/// Estimates and covariances of the scaled columns; or why there are none.
fn described(py: Python<'_>, found: Result<Inference, NoInference>) -> PyResult<Bound<'_, PyDict>> {
    let result = PyDict::new(py);
    match found {
        Err(error) => result.set_item("refused", error.to_string())?,
        Ok(found) => {
            let (estimates, covariance) = found.dense();
            let kept = (0..estimates.len()).map(|p| found.coefficient(p).is_some());
            result.set_item("one_sided", found.one_sided())?;
            result.set_item("kept", kept.collect::<Vec<bool>>())?;
            result.set_item("estimates", PyArray1::from_vec(py, estimates))?;
            result.set_item("covariance", PyArray1::from_vec(py, covariance))?;
            result.set_item("freedom", found.freedom)?;
            result.set_item("rows", found.rows)?;
        }
    }
    Ok(result)
}

/// Statistic, p-value, and the ends of the interval of every estimate with this standard error.
#[pyfunction]
#[pyo3(signature = (estimates, errors, freedom, confidence))]
pub fn judged(
    estimates: Vec<f64>,
    errors: Vec<f64>,
    freedom: Option<f64>,
    confidence: f64,
) -> Vec<[f64; 4]> {
    let one = |(value, error): (&f64, &f64)| {
        let estimate = Estimate { value: *value, error: *error };
        let found = estimate.judged(freedom, confidence);
        [found.statistic, found.p_value, found.low, found.high]
    };
    estimates.iter().zip(&errors).map(one).collect()
}

/// Fits a linear model over agents. Returns a dictionary for the estimators.
#[pyfunction]
pub fn fit<'py>(
    x: PyReadonlyArray2<'py, f64>,
    y: PyReadonlyArray1<'py, f64>,
    parts: Vec<PyReadonlyArray1<'py, u64>>,
    network: Network,
    options: FitOptions,
) -> PyResult<Bound<'py, PyDict>> {
    let py = x.py();
    let (run_streams, root) = streams(options.seed)?;
    let graph = network.graph(&root)?;
    let table = Table { x, y };
    let dealt = parts.iter().map(|part| Ok(Arc::new(table.scaled(part.as_slice()?, &options)?)));
    let problem = Problem {
        loss: options.loss()?,
        regularizer: regularizer(&options.regularizer, options.l1_ratio)?,
        eta: options.eta,
        scale: Scale::Pooled,
        intercept: options.intercept,
        agents: dealt.collect::<PyResult<_>>()?,
    };
    let plan = Plan::new(&spec(&options, &problem)?, &Data::Rows(problem.clone()), &graph)
        .map_err(|error| refused(&options, &error))?;
    let mut simulation = match options.by_sums {
        true => None,
        false => {
            let simulation = plan.simulation(Vec::new(), &run_streams);
            Some(simulation.map_err(|error| refused(&options, &error))?)
        }
    };
    let stop = Stop::default();
    let found = interruptible(py, options.threads, &stop, || match &mut simulation {
        None => Fitted::by_sums(&options, &problem),
        Some(simulation) => Fitted::by_rounds(&options, &plan, &mut **simulation, &stop),
    })?
    .map_err(PyRuntimeError::new_err)?;
    let inference = interruptible(py, options.threads, &stop, || plan.inference())?;
    let leaks = options.leaks.iter().map(|what| leak(what).map(String::from));
    let reasons = Reasons {
        void: leaks.collect::<PyResult<_>>()?,
        rests_on: vec![
            Statement::public_shape(options.rows_per_person),
            Statement::EVERY_FIT_ADDS.into(),
            Statement::STEPS_BEFORE.into(),
        ],
    };
    let result = PyDict::new(py);
    result.set_item("names", graph.names())?;
    result.set_item("edges", graph.edges().collect::<Vec<_>>())?;
    result.set_item("coefficients", PyArray2::from_vec2(py, &found.estimates)?)?;
    result.set_item("model", found.model)?;
    result.set_item("rounds", found.rounds)?;
    result.set_item("converged", found.converged)?;
    result.set_item("residuals", found.residuals)?;
    result.set_item("rho", plan.admm().rho)?;
    result.set_item("inference", inference.map(|found| described(py, found)).transpose()?)?;
    result.set_item("sensitivity", sensitivities(&plan))?;
    result.set_item(
        "statement",
        PyStatement::of_run(&plan, simulation.as_deref(), options.seed.is_some(), reasons),
    )?;
    result.set_item("samples", parts.iter().map(|part| part.len()).collect::<Vec<_>>())?;
    Ok(result)
}

/// The rows of each agent, split as `dzoa run` splits a file with this seed.
#[pyfunction]
#[pyo3(signature = (targets, agents, kind, alpha, seed=None))]
pub fn partition<'py>(
    targets: PyReadonlyArray1<'py, f64>,
    agents: usize,
    kind: &str,
    alpha: f64,
    seed: Option<u64>,
) -> PyResult<Vec<Bound<'py, PyArray1<u64>>>> {
    let py = targets.py();
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
    let parts = partition.split(targets.as_slice()?, agents, &mut rng).map_err(|error| {
        PyValueError::new_err(format!("agents: {error}; hint: ask for fewer agents"))
    })?;
    let numbers = |part: &Vec<usize>| PyArray1::from_iter(py, part.iter().map(|&row| row as u64));
    Ok(parts.iter().map(numbers).collect())
}

/// What rows with so many columns, scaled to [-1, 1], are divided by: the rule of
/// `schema.row_norm = "auto"`.
#[pyfunction]
pub fn typical_row_norm(columns: usize, intercept: bool) -> f64 {
    dzoa::problem::typical_row_norm(columns, 0, intercept)
}
