//! `dzoa.minimize`: Python callables, one per agent.

use crate::ObjectiveError;
use crate::network::Network;
use crate::oracle::{FirstError, PyOracle, count_samples};
use crate::run::{Listener, Stop, interruptible, streams};
use crate::statement::{Statement, of_agent};
use dzoa::agent::{Agent, Average};
use dzoa::black_boxes::{GOSSIP_FRACTION, PrepareError, Protection, Settings, prepare};
use dzoa::graph::Graph;
use dzoa::mechanism::Target;
use dzoa::privacy::calibrate::Schedule;
use dzoa::problem::regularizer::{Penalty, Regularizer};
use dzoa::problem::{BlackBox, Failure, Limits};
use dzoa::simulate::simulate;
use dzoa::trace::{Observer, RoundView, Status, ValueRecorder, mean};
use numpy::{PyArray1, PyArray2};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What Python hands over; every value was checked there.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Options {
    dim: usize,
    batched: bool,
    per_sample: bool,
    rho: Option<f64>,
    rounds: Option<u64>,
    inner_steps: Option<usize>,
    antithetic: Option<bool>,
    orthogonal: Option<bool>,
    directions: Option<usize>,
    smoothing: Option<f64>,
    step: Option<f64>,
    lipschitz: f64,
    average: Option<String>,
    regularizer: String,
    l1_ratio: f64,
    eta: f64,
    mechanism: String,
    epsilon: Option<f64>,
    total_epsilon: Option<f64>,
    delta: Option<f64>,
    clip: Option<f64>,
    curvature: f64,
    c1: f64,
    samples: Option<Vec<usize>>,
    shortest_step: f64,
    max_evaluations: Option<u64>,
    cache: usize,
    record_every: u64,
    seed: Option<u64>,
    threads: usize,
}

impl Options {
    fn settings(&self, graph: &Graph) -> PyResult<Settings> {
        let average = match self.average.as_deref() {
            None | Some("auto") => None,
            Some("none") => Some(Average::None),
            Some("last-half") => Some(Average::LastHalf),
            Some("network") => {
                Some(Average::Network { gossip: graph.gossip_rounds(GOSSIP_FRACTION) })
            }
            Some(other) => {
                return Err(PyValueError::new_err(format!(
                    "average: unknown `{other}`; hint: auto, none, last-half, network"
                )));
            }
        };
        Ok(Settings {
            rho: self.rho,
            rounds: self.rounds,
            inner_steps: self.inner_steps,
            antithetic: self.antithetic,
            orthogonal: self.orthogonal,
            directions: self.directions,
            smoothing: self.smoothing,
            step: self.step,
            lipschitz: self.lipschitz,
            average,
            regularizer: regularizer(&self.regularizer, self.l1_ratio)?,
            eta: self.eta,
            ..Settings::default()
        })
    }

    fn protection(&self, agents: usize) -> PyResult<Protection> {
        let need = |name: &str, value: Option<f64>| {
            let mechanism = &self.mechanism;
            let missing = || format!("{name} is missing: mechanism=\"{mechanism}\" needs it");
            value.ok_or_else(|| PyValueError::new_err(missing()))
        };
        match self.mechanism.as_str() {
            "none" => Ok(Protection::None),
            "scalar" if !self.per_sample => Err(PyValueError::new_err(
                "mechanism=\"scalar\" needs one value per sample; hint: per_sample=True, with objectives that \
                 return an array",
            )),
            "scalar" => Ok(Protection::Scalar {
                target: Target {
                    total_epsilon: need("total_epsilon", self.total_epsilon)?,
                    delta: need("delta", self.delta)?,
                    schedule: Schedule::Constant,
                    rows_per_person: 1,
                },
                clip: self.clip,
                curvature: self.curvature,
            }),
            "intrinsic" => Ok(Protection::Intrinsic {
                epsilon: need("epsilon", self.epsilon)?,
                delta: need("delta", self.delta)?,
                c1: self.c1,
                samples: self.samples.clone().ok_or_else(|| {
                    PyValueError::new_err(format!(
                        "samples is missing: mechanism=\"intrinsic\" needs the number of rows of each of the \
                         {agents} agents"
                    ))
                })?,
            }),
            "output" => Err(PyValueError::new_err(
                "mechanism=\"output\" needs a loss whose minimiser can be certified, which a black box's cannot; \
                 hint: mechanism=\"scalar\" with per_sample=True, or an estimator such as LogisticRegression",
            )),
            other => Err(PyValueError::new_err(format!(
                "mechanism: unknown `{other}`; hint: none, scalar, intrinsic"
            ))),
        }
    }
}

/// R by its name.
pub fn regularizer(name: &str, l1_ratio: f64) -> PyResult<Regularizer> {
    Ok(match name {
        "none" => Regularizer::None,
        "l1" => Regularizer::L1,
        "l2" => Regularizer::L2,
        "elastic-net" => Regularizer::ElasticNet { l1_ratio },
        other => {
            return Err(PyValueError::new_err(format!(
                "regularizer: unknown `{other}`; hint: none, l1, l2, elastic-net"
            )));
        }
    })
}

/// Minimises the sum of the objectives. Returns a dictionary for `dzoa.Result`.
#[pyfunction]
#[pyo3(signature = (objectives, network, options, callback=None))]
pub fn minimize<'py>(
    py: Python<'py>,
    objectives: Vec<Py<PyAny>>,
    network: Network,
    options: Options,
    callback: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (run_streams, root) = streams(options.seed)?;
    let graph = network.graph(&root)?;
    let (stop, error) = (Stop::default(), FirstError::default());
    let boxes = boxes(py, objectives, &graph, &options, &stop, &error)?;
    let settings = options.settings(&graph)?;
    let protection = options.protection(graph.len())?;
    let outcome = interruptible(py, options.threads, &stop, || {
        let mut prepared = prepare(&boxes, &graph, &settings, &protection, &run_streams)?;
        let (eta, rounds) = (settings.eta, prepared.admm.rounds);
        let penalty = Penalty {
            regularizer: settings.regularizer.clone(),
            weight: eta,
            penalized: options.dim,
        };
        let mut recorder = ValueRecorder::new(boxes.clone(), penalty, options.record_every, rounds);
        let mut caller = Caller { callback, stop: stop.clone(), error: error.clone() };
        let mut listener = Listener(stop.clone());
        let mut observer: Vec<&mut dyn Observer> = vec![&mut recorder, &mut caller, &mut listener];
        let status = simulate(&mut prepared.agents, &mut observer);
        drop(observer);
        // The value of what is returned, also where the run ended early.
        let estimates: Vec<Vec<f64>> = prepared.agents.iter().map(Agent::estimate).collect();
        let value = match options.record_every {
            0 => None,
            _ => recorder.objective(&mean(&estimates)).ok(),
        };
        Ok((prepared, recorder.records, status, value, estimates))
    })?;
    let (prepared, records, status, value, estimates) =
        outcome.map_err(|failure| refused(py, &failure, &error))?;
    if let Status::ObjectiveFailed { failure, .. } = &status
        && !matches!(failure, Failure::OutOfEvaluations { .. })
    {
        return Err(raise(py, &status.to_string(), &error));
    }
    if let Some(raised) = error.take() {
        return Err(raised);
    }
    let result = PyDict::new(py);
    result.set_item("names", graph.names())?;
    result.set_item("edges", graph.edges().collect::<Vec<_>>())?;
    result.set_item("coefficients", PyArray2::from_vec2(py, &estimates)?)?;
    result.set_item("fun", value)?;
    result.set_item("status", status.word())?;
    result.set_item("message", status.to_string())?;
    result.set_item("rounds_done", prepared.agents.iter().map(Agent::rounds_done).min())?;
    result.set_item("evaluations", boxes.iter().map(|b| b.evaluations()).collect::<Vec<_>>())?;
    result.set_item("watched", boxes.iter().map(|b| b.watched()).collect::<Vec<_>>())?;
    result.set_item("step_raised", prepared.agents.iter().any(Agent::step_raised))?;
    result.set_item("rho", prepared.admm.rho)?;
    result.set_item("rounds", prepared.admm.rounds)?;
    result.set_item("clip", prepared.clip)?;
    result
        .set_item("steps", prepared.inner.iter().map(|i| i.alpha0_times_r).collect::<Vec<_>>())?;
    result.set_item("inner_steps", prepared.inner[0].inner_steps)?;
    result.set_item("directions", prepared.inner[0].directions)?;
    result.set_item("sensitivity", prepared.sensitivity)?;
    let delta = match &protection {
        Protection::Scalar { target, .. } => Some(target.delta),
        Protection::Intrinsic { delta, .. } => Some(*delta),
        Protection::None => None,
    };
    let about = (delta, options.seed.is_some());
    let stated = prepared.agents.iter().zip(&prepared.events);
    let statements: Vec<Statement> = stated
        .map(|(agent, events)| of_agent(agent, events, prepared.admm.rounds, about))
        .collect();
    result.set_item("statements", statements)?;
    let trace = PyDict::new(py);
    trace.set_item("round", column(py, records.iter().map(|r| r.round as f64)))?;
    trace.set_item(
        "objective",
        column(py, records.iter().map(|r| r.objective.unwrap_or(f64::NAN))),
    )?;
    let apart = records.iter().map(|r| r.consensus.iter().fold(0.0, |most: f64, c| most.max(*c)));
    trace.set_item("consensus", column(py, apart))?;
    trace.set_item("change", column(py, records.iter().map(|r| r.change)))?;
    let asked = records.iter().map(|r| r.evaluations.iter().sum::<u64>() as f64);
    trace.set_item("evaluations", column(py, asked))?;
    result.set_item("trace", trace)?;
    Ok(result)
}

fn column<'py>(py: Python<'py>, values: impl Iterator<Item = f64>) -> Bound<'py, PyArray1<f64>> {
    PyArray1::from_vec(py, values.collect())
}

fn boxes(
    py: Python<'_>,
    objectives: Vec<Py<PyAny>>,
    graph: &Graph,
    options: &Options,
    stop: &Stop,
    error: &FirstError,
) -> PyResult<Vec<Arc<BlackBox>>> {
    let limits = Limits {
        shortest_step: options.shortest_step,
        budget: options.max_evaluations,
        cache: options.cache,
    };
    let build = |(k, callable): (usize, Py<PyAny>)| {
        let name = graph.names().get(k).cloned().unwrap_or_else(|| k.to_string());
        if !callable.bind(py).is_callable() {
            return Err(PyTypeError::new_err(format!(
                "objectives: agent {name}'s is not callable"
            )));
        }
        let samples = match options.per_sample {
            true => Some(count_samples(callable.bind(py), options.dim, options.batched).map_err(
                |raised| {
                    let text = format!("agent {name}, before round 1: {}", raised.value(py));
                    let error = ObjectiveError::new_err(text);
                    error.set_cause(py, Some(raised));
                    error
                },
            )?),
            false => None,
        };
        let oracle = PyOracle {
            callable,
            batched: options.batched,
            samples,
            stop: stop.clone(),
            error: error.clone(),
        };
        let known = BlackBox::from_oracle(options.dim, samples, Box::new(oracle));
        Ok(Arc::new(known.with_limits(limits)))
    };
    objectives.into_iter().enumerate().map(build).collect()
}

fn refused(py: Python<'_>, failure: &PrepareError, error: &FirstError) -> PyErr {
    match failure {
        PrepareError::Failed { .. } => raise(py, &failure.to_string(), error),
        other => PyValueError::new_err(other.to_string()),
    }
}

/// An `ObjectiveError` with the callable's own exception as its cause.
fn raise(py: Python<'_>, text: &str, error: &FirstError) -> PyErr {
    let raised = ObjectiveError::new_err(text.to_string());
    raised.set_cause(py, error.take());
    raised
}

/// Calls back after every round; True ends the run, an exception does, too.
struct Caller {
    callback: Option<Py<PyAny>>,
    stop: Stop,
    error: FirstError,
}

impl Observer for Caller {
    fn round(&mut self, view: &RoundView<'_>) -> ControlFlow<()> {
        let Some(callback) = &self.callback else { return ControlFlow::Continue(()) };
        let estimates: Vec<Vec<f64>> =
            (0..view.fleet.len()).map(|k| view.fleet.estimate(k)).collect();
        let called = Python::attach(|py| {
            let estimates = PyArray2::from_vec2(py, &estimates)?;
            callback.bind(py).call1((view.round, estimates))?.is_truthy()
        });
        match called {
            Ok(false) => ControlFlow::Continue(()),
            Ok(true) => ControlFlow::Break(()),
            Err(raised) => {
                self.error.keep(raised);
                self.stop.store(true, Ordering::Relaxed);
                ControlFlow::Break(())
            }
        }
    }
}
