//! The estimators' work: built-in losses on rows that Python has scaled.

use crate::minimize::regularizer;
use crate::network::Network;
use crate::run::{Listener, Stop, interruptible, streams};
use crate::statement::{Statement, of_agent};
use dzoa::admm::PrimalStep;
use dzoa::agent::Average;
use dzoa::black_boxes::GOSSIP_FRACTION;
use dzoa::graph::Graph;
use dzoa::mechanism::{
    NoGuarantee, Target, output_rule, plan_output, plan_scalar, scalar_rule, scalar_step,
};
use dzoa::output::Output;
use dzoa::prelude::*;
use dzoa::privacy::Event;
use dzoa::privacy::calibrate::Schedule;
use dzoa::problem::partition::Partition;
use dzoa::scalar::Scalar;
use dzoa::simulate::{Releases, agents};
use dzoa::step_rule::{data_curvature, first_step, stable_step};
use dzoa::streams::Purpose;
use dzoa::trace::EarlyStop;
use numpy::{PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// What Python hands over; every value was checked there.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Options {
    loss: String,
    huber_delta: f64,
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
    clip: Option<f64>,
    tol: f64,
    seed: Option<u64>,
    threads: usize,
}

/// Rounds without a budget, unless all releases stand still before.
const PLAIN_ROUNDS: u64 = 500;

/// rho without a budget: a soft pull comes nearest to the optimum, and one agent has nobody to agree with. With
/// kinks the exact solver needs a firmer one.
fn plain_rho(problem: &Problem) -> f64 {
    let alone = problem.agents.len() == 1 && problem.loss.smoothness().is_some();
    if alone { 1e-4 } else { 1e-3 }
}

impl Options {
    fn loss(&self) -> PyResult<Arc<dyn Loss>> {
        Ok(match self.loss.as_str() {
            "squared" => Arc::new(Squared),
            "huber" => Arc::new(Huber { delta: self.huber_delta }),
            "logistic" => Arc::new(Logistic),
            "hinge" => Arc::new(Hinge),
            other => return Err(PyValueError::new_err(format!("loss: unknown `{other}`"))),
        })
    }
}

/// How the releases of a fit are made and charged.
struct Plan {
    rho: f64,
    rounds: u64,
    events: Vec<Arc<[Event]>>,
    sensitivity: Vec<f64>,
    average: Average,
    step: Step,
}

enum Step {
    Exact { tolerance: Option<f64> },
    ZerothOrder(Vec<ZerothOrder>),
    Output { near: Vec<(f64, f64)>, inner: Option<Vec<ZerothOrder>> },
    Scalar { inner: Vec<ZerothOrder>, clip: f64 },
}

impl Step {
    fn at(&self, problem: &Problem, k: usize) -> Box<dyn PrimalStep> {
        match self {
            Step::Exact { tolerance } => Box::new(Exact::new(problem.risk(k), *tolerance)),
            Step::ZerothOrder(inner) => Box::new(inner[k]),
            Step::Output { near, inner } => {
                let inner = inner.as_ref().map(|inner| inner[k]);
                let (tau, radius) = near[k];
                Box::new(Output::new(inner, problem.risk(k), tau, radius))
            }
            Step::Scalar { inner, clip } => {
                let samples = Arc::new(problem.risk(k));
                Box::new(Scalar { inner: inner[k], clip: *clip, samples })
            }
        }
    }
}

fn plan(options: &Options, problem: &Problem, graph: &Graph) -> PyResult<Plan> {
    let agents = graph.len();
    let zeroth = options.algorithm == "d-zoa";
    let Some(total_epsilon) = options.total_epsilon else {
        let rho = options.rho.unwrap_or_else(|| plain_rho(problem));
        let step = match zeroth {
            true => {
                Step::ZerothOrder(inner_loops(options, problem, graph, rho, None, |inner| inner))
            }
            false => Step::Exact { tolerance: tolerance(problem, rho) },
        };
        return Ok(Plan {
            rho,
            rounds: options.rounds.unwrap_or(PLAIN_ROUNDS),
            events: vec![Arc::from([Event::Unprotected]); agents],
            sensitivity: vec![0.0; agents],
            average: Average::None,
            step,
        });
    };
    let smallest = problem.agents.iter().map(|samples| samples.count()).min().unwrap_or(1);
    let mut target = Target {
        total_epsilon,
        delta: options.delta,
        schedule: Schedule::Constant,
        rows_per_person: options.rows_per_person,
    };
    let average = Average::Network { gossip: graph.gossip_rounds(GOSSIP_FRACTION) };
    let refused = |error: NoGuarantee| {
        PyValueError::new_err(format!(
            "total_epsilon={total_epsilon}: {error}; hint: raise total_epsilon or rho, or take fewer rounds"
        ))
    };
    if problem.loss.lipschitz().is_some() {
        let rule = output_rule(smallest, total_epsilon);
        let rho = options.rho.unwrap_or(rule.rho);
        let rounds = options.rounds.unwrap_or(rule.rounds);
        target.schedule = Schedule::Growth(rule.growth);
        let plans = (0..agents)
            .map(|k| {
                let consensus = (rho, graph.neighbourhood(k, true));
                plan_output(problem, k, consensus, rounds, None, &target).map_err(refused)
            })
            .collect::<PyResult<Vec<_>>>()?;
        // Under `output` the inner noise is not needed: fewer values do, as in `dzoa run`.
        let fewer = |inner| ZerothOrder { antithetic: true, orthogonal: true, ..inner };
        let inner = zeroth.then(|| inner_loops(options, problem, graph, rho, None, fewer));
        return Ok(Plan {
            rho,
            rounds,
            events: plans.iter().map(|plan| plan.events.clone()).collect(),
            sensitivity: plans.iter().map(|plan| plan.sensitivity).collect(),
            average,
            step: Step::Output {
                near: plans.iter().map(|plan| (plan.tau, plan.radius)).collect(),
                inner,
            },
        });
    }
    // No bounded gradient, as for squares: clip difference quotients instead.
    let (rule, public_clip) = scalar_rule(smallest, total_epsilon);
    let rho = options.rho.unwrap_or(rule.rho);
    let rounds = options.rounds.unwrap_or(rule.rounds);
    let clip = options.clip.unwrap_or(public_clip);
    let inner = inner_loops(options, problem, graph, rho, Some(clip), |inner| inner);
    let looks = (inner[0].directions, inner[0].inner_steps);
    let plans = problem
        .agents
        .iter()
        .map(|rows| plan_scalar(clip, looks, rows.count(), rounds, &target).map_err(refused))
        .collect::<PyResult<Vec<_>>>()?;
    let (sensitivity, events) = plans.into_iter().unzip();
    Ok(Plan { rho, rounds, events, sensitivity, average, step: Step::Scalar { inner, clip } })
}

/// How near the exact solver must come without a budget. Where the loss has kinks, the gap is resolved slowly;
/// a gap of 1e-10 is enough for four digits of the objective.
fn tolerance(problem: &Problem, rho: f64) -> Option<f64> {
    problem.loss.smoothness().is_none().then(|| (1e-10 / rho).sqrt())
}

/// The inner loop of every agent, its step by the public rules of `dzoa run`.
fn inner_loops(
    options: &Options,
    problem: &Problem,
    graph: &Graph,
    rho: f64,
    clip: Option<f64>,
    arranged: impl Fn(ZerothOrder) -> ZerothOrder,
) -> Vec<ZerothOrder> {
    let scalar = clip.is_some();
    let standard = match scalar {
        true => {
            ZerothOrder { inner_steps: 1, directions: 40, smoothing: 0.1, ..Default::default() }
        }
        false => ZerothOrder::default(),
    };
    let inner = arranged(ZerothOrder {
        inner_steps: options.inner_steps.unwrap_or(standard.inner_steps),
        directions: options.directions.unwrap_or(standard.directions),
        ..standard
    });
    let build = |k: usize| {
        let data = data_curvature(problem, k, &inner, scalar);
        let quadratic = rho * graph.neighbourhood(k, true) as f64;
        let longest = match scalar {
            true => scalar_step(data, quadratic),
            false => stable_step(data + 2.0 * quadratic, problem.dim(), &inner),
        };
        ZerothOrder { alpha0_times_r: first_step(longest, &inner, problem.dim()), ..inner }
    };
    (0..graph.len()).map(build).collect()
}

/// Fits a linear model over agents. Returns a dictionary for the estimators.
#[pyfunction]
pub fn fit<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'py, f64>,
    y: PyReadonlyArray1<'py, f64>,
    parts: Vec<Vec<usize>>,
    network: Network,
    options: Options,
) -> PyResult<Bound<'py, PyDict>> {
    let wrong = |error: dzoa::problem::data::DataError| PyValueError::new_err(error.to_string());
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
    let plan = plan(&options, &problem, &graph)?;
    let settings = Admm { rho: plan.rho, rounds: plan.rounds, self_loop: true, warm_start: true };
    let releases =
        Releases { events: plan.events.clone(), ledgers: Vec::new(), average: plan.average };
    let mut fleet =
        agents(&problem, &graph, settings, releases, &run_streams, |k| plan.step.at(&problem, k))
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
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
        simulate(&mut fleet, &mut observer)
    })?;
    if !matches!(status, Status::Finished | Status::Stopped { .. }) {
        return Err(PyRuntimeError::new_err(status.to_string()));
    }
    let estimates: Vec<Vec<f64>> = fleet.iter().map(Agent::estimate).collect();
    let result = PyDict::new(py);
    result.set_item("names", graph.names())?;
    result.set_item("edges", graph.edges().collect::<Vec<_>>())?;
    result.set_item("coefficients", PyArray2::from_vec2(py, &estimates)?)?;
    result.set_item("rounds", fleet.iter().map(Agent::rounds_done).min())?;
    result.set_item("converged", matches!(status, Status::Stopped { .. }))?;
    result.set_item("rho", plan.rho)?;
    result.set_item("sensitivity", plan.sensitivity)?;
    let about = (options.total_epsilon.map(|_| options.delta), options.seed.is_some());
    let stated = fleet.iter().zip(&plan.events);
    let statements: Vec<Statement> =
        stated.map(|(agent, events)| of_agent(agent, events, plan.rounds, about)).collect();
    result.set_item("statements", statements)?;
    let mechanism = match plan.step {
        Step::Exact { .. } | Step::ZerothOrder(_) => "none",
        Step::Output { .. } => "output",
        Step::Scalar { .. } => "scalar",
    };
    result.set_item("mechanism", mechanism)?;
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
