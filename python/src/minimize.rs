//! `dzoa.minimize`: Python callables, one per agent.

use crate::ObjectiveError;
use crate::named::regularizer;
use crate::network::Network;
use crate::oracle::{EarlyEnd, FirstError, PyOracle, count_samples};
use crate::run::{Listener, interruptible, streams};
use crate::statement::{PyStatement, Reasons, sensitivities};
use dzoa::Status;
use dzoa::agent::Agent;
use dzoa::network::Graph;
use dzoa::plan::{
    Algorithm, Auto, Boxes, Data, DataKind, KeyError, Keys, Mechanism, MechanismEntry, PerAgent,
    Plan, Refused, Reported, RunSpec, Suited,
};
use dzoa::prelude::ZerothOrder;
use dzoa::privacy::{Claim, Colluders, Statement};
use dzoa::problem::{BlackBox, Failure, Limits, Oracle, Variable, Variables};
use dzoa::run::evaluate::mean;
use dzoa::run::{BestSeen, Observer, RoundView, Simulation, ValueRecord, ValueRecorder};
use dzoa::tuning::Setting;
use dzoa_table::{Asking, Error, ValueJournal};
use numpy::{PyArray1, PyArray2};
use pyo3::exceptions::{PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Name, start, low, high, whether its scale is logarithmic, and whether it is whole.
#[derive(FromPyObject)]
struct AskedVariable(String, Option<f64>, f64, f64, bool, bool);

/// What is wrong with a journal, as Python says it.
fn of_journal(error: Error) -> PyErr {
    let said = error.to_string().replace("\n\n", "; ");
    match error.status() {
        2 => PyValueError::new_err(said),
        _ => PyOSError::new_err(said),
    }
}

/// What Python hands over; every value was checked there.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct MinimizeOptions {
    dim: usize,
    algorithm: String,
    variables: Option<Vec<AskedVariable>>,
    time_limit: Option<f64>,
    journal: Option<PathBuf>,
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
    colluders: Option<u32>,
    curvature: f64,
    c1: f64,
    samples: Option<Vec<usize>>,
    shortest_step: f64,
    max_evaluations: Option<u64>,
    cache: usize,
    record_every: Option<u64>,
    seed: Option<u64>,
    threads: usize,
}

impl MinimizeOptions {
    /// What is asked for; everything that was not given is left to the library's rules.
    fn spec(&self) -> PyResult<RunSpec> {
        let reported = match self.average.as_deref() {
            None | Some("auto") => Auto::Auto,
            Some("none") => Auto::Given(Reported::Last),
            Some("last-half") => Auto::Given(Reported::LastHalf),
            Some("network") => Auto::Given(Reported::Network),
            Some(other) => {
                return Err(PyValueError::new_err(format!(
                    "average: unknown `{other}`; hint: auto, none, last-half, network"
                )));
            }
        };
        let mechanism = self.mechanism()?;
        Ok(RunSpec {
            rho: self.rho.into(),
            rounds: self.rounds.into(),
            inner_steps: self.inner_steps.into(),
            antithetic: self.antithetic.into(),
            orthogonal: self.orthogonal.into(),
            directions: self.directions.into(),
            smoothing: self.smoothing.into(),
            step: self.step.map(PerAgent::All).into(),
            lipschitz: PerAgent::All(self.lipschitz),
            reported,
            ..RunSpec::new(self.algorithm(&mechanism)?, mechanism)
        })
    }

    /// The one that was named, or the one that suits mechanism and variables.
    fn algorithm(&self, mechanism: &Mechanism) -> PyResult<Algorithm> {
        let kind = DataKind::Boxes { per_sample: self.per_sample, counted: self.samples.is_some() };
        let penalty = regularizer(&self.regularizer, self.l1_ratio)?;
        let suited = Suited {
            kind,
            loss: None,
            columns: self.dim,
            smooth_penalty: self.eta == 0.0 || penalty.is_smooth(),
            looped: self.looped(),
        };
        let name = match self.algorithm.as_str() {
            "auto" => mechanism.algorithm_for(suited),
            name => name,
        };
        let known = Algorithm::names_for(kind);
        let named = known.contains(&name).then(|| Algorithm::named(name, &Setting::default()));
        named.flatten().ok_or_else(|| {
            let known = known.join(", ");
            PyValueError::new_err(format!("algorithm: unknown `{name}`; hint: auto, {known}"))
        })
    }

    /// Whether rounds or steps of the two-point loop were given.
    fn looped(&self) -> bool {
        let numbers = [self.rho, self.smoothing, self.step];
        let counts = [self.inner_steps, self.directions];
        numbers.iter().any(Option::is_some)
            || counts.iter().any(Option::is_some)
            || self.rounds.is_some()
            || self.antithetic.is_some()
            || self.orthogonal.is_some()
            || self.average.as_deref().is_some_and(|average| average != "auto")
    }

    /// What the callables are functions of, where anything is said about it.
    fn variables(&self) -> PyResult<Option<Arc<Variables>>> {
        let Some(all) = &self.variables else { return Ok(None) };
        let variable = |asked: &AskedVariable| {
            let AskedVariable(name, start, low, high, log, integer) = asked;
            let (name, log, integer) = (name.clone(), *log, *integer);
            Variable { name, start: *start, low: *low, high: *high, log, integer }
        };
        let checked = Variables::new(all.iter().map(variable).collect())
            .map_err(|bad| PyValueError::new_err(bad.to_string()))?;
        match checked.free() {
            0 => Err(PyValueError::new_err("bounds: all variables are fixed; nothing to be found")),
            _ => Ok(Some(Arc::new(checked))),
        }
    }

    fn mechanism(&self) -> PyResult<Mechanism> {
        let name = self.mechanism.as_str();
        let Some(entry) = MechanismEntry::named(name) else {
            return Err(PyValueError::new_err(format!(
                "mechanism: unknown `{name}`; hint: none, joint, scalar, intrinsic"
            )));
        };
        let kind = DataKind::Boxes { per_sample: self.per_sample, counted: self.samples.is_some() };
        (entry.accepts)(kind).map_err(|refused| PyValueError::new_err(unsuited(name, &refused)))?;
        let budget = self.total_epsilon.is_some() || self.epsilon.is_some();
        if budget && entry.claim == Claim::None {
            return Err(PyValueError::new_err(format!(
                "total_epsilon and epsilon have no effect with mechanism=\"{name}\"; hint: \
                 mechanism=\"scalar\""
            )));
        }
        let reads = |key: &str| entry.reads.contains(&key);
        let keys = Keys {
            epsilon: self.epsilon,
            delta: self.delta,
            total_epsilon: self.total_epsilon.filter(|_| reads("total_epsilon")),
            clip: self.clip.filter(|_| reads("clip")),
            colluders: self.colluders.map(Colluders::AtMost),
            ..Keys::default()
        };
        Mechanism::from_keys(name, &keys).map_err(|error| {
            PyValueError::new_err(match error {
                KeyError::Missing(key) => {
                    format!("{key} is missing: mechanism=\"{name}\" needs it")
                }
                other => format!("mechanism=\"{name}\": {other}"),
            })
        })
    }
}

/// Why a mechanism cannot protect callables, and the way out.
fn unsuited(name: &str, refused: &Refused) -> String {
    match refused {
        Refused::NotPerSample => format!(
            "mechanism=\"{name}\" needs one value per sample; hint: per_sample=True, with \
             objectives that return an array"
        ),
        Refused::NotCounted => format!(
            "samples is missing: mechanism=\"{name}\" needs the number of rows of each agent"
        ),
        Refused::NoCertificate => format!(
            "mechanism=\"{name}\" needs a loss whose minimiser can be certified, which a black \
             box's cannot; hint: mechanism=\"scalar\" with per_sample=True, or an estimator such \
             as LogisticRegression"
        ),
        other => format!("mechanism=\"{name}\": {other}"),
    }
}

/// Minimises the sum of the objectives. Returns a dictionary for `dzoa.Result`.
#[pyfunction]
#[pyo3(signature = (objectives, network, options, callback=None))]
pub fn minimize<'py>(
    py: Python<'py>,
    objectives: Vec<Py<PyAny>>,
    network: Network,
    options: MinimizeOptions,
    callback: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let seed = match (&options.journal, options.seed) {
        (Some(directory), seed) => Some(ValueJournal(directory).seed(seed).map_err(of_journal)?),
        (None, seed) => seed,
    };
    let (run_streams, root) = streams(seed)?;
    let graph = network.graph(&root)?;
    let early = EarlyEnd::default();
    let boxes = boxes(py, objectives, &graph, &options, &early)?;
    let spec = options.spec()?;
    if options.journal.is_some() && spec.mechanism.claimed().claim() == Claim::Exact {
        let name = spec.mechanism.name();
        return Err(PyValueError::new_err(format!(
            "journal: holds values that mechanism=\"{name}\" is to protect"
        )));
    }
    let known = Boxes {
        variables: options.variables()?,
        regularizer: regularizer(&options.regularizer, options.l1_ratio)?,
        eta: options.eta,
        samples: options.samples.clone(),
        curvature: options.curvature,
        c1: options.c1,
        ..Boxes::new(boxes.clone())
    };
    let plan_variables = known.variables.clone();
    let minimized = interruptible(py, options.threads, &early.stop, || {
        let penalty = known.penalty(options.eta);
        let known = known.measured(&spec, &graph, &run_streams)?;
        let plan = Plan::new(&spec, &Data::Boxes(known), &graph)?;
        let mut simulation = plan.simulation(Vec::new(), &run_streams)?;
        let rounds = plan.rounds();
        let every = options.record_every.unwrap_or_else(|| plan.record_values_every());
        let mut recorder = ValueRecorder::new(boxes.clone(), penalty, every, rounds);
        let variables = plan_variables.clone();
        let mut caller = Caller { callback, early: early.clone(), variables };
        let mut listener = Listener(early.stop.clone());
        let mut clock = Clock(options.time_limit.map(|limit| (Instant::now(), limit)));
        let mut observer: Vec<&mut dyn Observer> =
            vec![&mut recorder, &mut caller, &mut listener, &mut clock];
        let status = simulation.run(&mut observer);
        drop(observer);
        // The value of what is returned, also where the run ended early.
        let estimates: Vec<Vec<f64>> =
            (0..simulation.len()).map(|k| simulation.estimate(k)).collect();
        let recorded = every > 0;
        let value = recorder.conclude(&mean(&estimates));
        let divergence = value.and_then(|value| recorder.divergence(value));
        let best = recorder.best().cloned();
        let seen = Seen { records: recorder.records, recorded, value, best, divergence };
        Ok(Minimized { plan, simulation, boxes, seen, status, estimates })
    })?
    .map_err(|failure| refused(py, &failure, &early.error))?;
    if let Status::ObjectiveFailed { failure, .. } = &minimized.status
        && !matches!(failure, Failure::OutOfEvaluations { .. })
    {
        return Err(raise(py, &minimized.status.to_string(), &early.error));
    }
    if let Some(raised) = early.error.take() {
        return Err(raised);
    }
    minimized.into_dictionary(py, options.seed.is_some())
}

/// A run that is over.
struct Minimized {
    plan: Plan,
    simulation: Box<dyn Simulation>,
    boxes: Vec<Arc<BlackBox>>,
    seen: Seen,
    status: Status,
    /// What every agent reports.
    estimates: Vec<Vec<f64>>,
}

/// What was seen from outside.
struct Seen {
    records: Vec<ValueRecord>,
    /// Whether values of the objectives are among them.
    recorded: bool,
    /// The objective at the mean of the estimates.
    value: Option<f64>,
    best: Option<BestSeen>,
    /// What to say about a result that is worse than the start.
    divergence: Option<String>,
}

impl Minimized {
    /// What takes a guarantee away: values that nothing protects. And what it rests on.
    fn reasons(&self) -> Reasons {
        let shown = self.seen.recorded && self.plan.claimed().claim() == Claim::Exact;
        Reasons {
            void: Vec::from_iter(shown.then(|| Statement::VALUES_RECORDED.into())),
            rests_on: vec![Statement::OWN_SAMPLE_NOT_RAISING.into()],
        }
    }

    /// As `dzoa.Result` takes it.
    fn into_dictionary(self, py: Python<'_>, seeded: bool) -> PyResult<Bound<'_, PyDict>> {
        let reasons = self.reasons();
        let certainty = self.simulation.sums().and_then(|sums| sums.certainty());
        let Self { plan, simulation, boxes, seen, status, estimates } = self;
        let variables = match plan.data() {
            Data::Boxes(boxes) => boxes.variables.clone(),
            Data::Rows(_) => None,
        };
        let estimates: Vec<Vec<f64>> =
            estimates.into_iter().map(|estimate| outside(&variables, estimate)).collect();
        let Seen { records, value, best, divergence, .. } = seen;
        let (graph, agents) = (plan.graph(), simulation.agents());
        let result = PyDict::new(py);
        result.set_item("names", graph.names())?;
        result.set_item("edges", graph.edges().collect::<Vec<_>>())?;
        result.set_item("coefficients", PyArray2::from_vec2(py, &estimates)?)?;
        result.set_item("fun_final", value)?;
        result.set_item("fun", best.as_ref().map(|best| best.objective))?;
        let point = best.map_or_else(|| mean(&estimates), |best| outside(&variables, best.point));
        result.set_item("x", PyArray1::from_vec(py, point))?;
        result.set_item("algorithm", plan.spec().algorithm.name())?;
        if let Some(sure) = certainty {
            result.set_item("noise", sure.noise)?;
            result.set_item("promised", sure.promised)?;
            result.set_item("curvature", sure.curvature.map(|[low, high]| (low, high)))?;
            result.set_item("broken", sure.broken)?;
        }
        result.set_item("divergence", divergence)?;
        result.set_item("status", status.word())?;
        result.set_item("message", status.to_string())?;
        let done = agents.iter().map(Agent::rounds_done).min();
        let recorded = records.last().map(|record| record.round);
        result.set_item("rounds_done", done.or(recorded))?;
        result
            .set_item("evaluations", boxes.iter().map(|b| b.evaluations()).collect::<Vec<_>>())?;
        result.set_item("watched", boxes.iter().map(|b| b.watched()).collect::<Vec<_>>())?;
        result.set_item("step_raised", agents.iter().any(Agent::step_raised))?;
        result.set_item("rho", plan.admm().rho)?;
        result.set_item("rounds", plan.rounds())?;
        result.set_item("clip", plan.clip())?;
        let inner: Vec<ZerothOrder> =
            plan.agents().iter().filter_map(|agent| agent.inner).collect();
        result.set_item("steps", inner.iter().map(|i| i.alpha0_times_r).collect::<Vec<_>>())?;
        result.set_item("inner_steps", inner.first().map(|inner| inner.inner_steps))?;
        result.set_item("directions", inner.first().map(|inner| inner.directions))?;
        result.set_item("sensitivity", sensitivities(&plan))?;
        let note = value.and(reasons.void.first()).map(|_| Statement::UNPROTECTED_VALUE);
        result.set_item("fun_note", note)?;
        result.set_item(
            "statement",
            PyStatement::of_run(&plan, Some(&*simulation), seeded, reasons),
        )?;
        result.set_item("trace", trace(py, &records)?)?;
        Ok(result)
    }
}

/// What was recorded, one array per column.
fn trace<'py>(py: Python<'py>, records: &[ValueRecord]) -> PyResult<Bound<'py, PyDict>> {
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
    Ok(trace)
}

fn column<'py>(py: Python<'py>, values: impl Iterator<Item = f64>) -> Bound<'py, PyArray1<f64>> {
    PyArray1::from_vec(py, values.collect())
}

fn boxes(
    py: Python<'_>,
    objectives: Vec<Py<PyAny>>,
    graph: &Graph,
    options: &MinimizeOptions,
    early: &EarlyEnd,
) -> PyResult<Vec<Arc<BlackBox>>> {
    let limits = Limits {
        shortest_step: options.shortest_step,
        budget: options.max_evaluations,
        cache: options.cache,
    };
    let variables = options.variables()?;
    let start = match &variables {
        Some(variables) => variables.outside(&vec![0.0; variables.free()]),
        None => vec![0.0; options.dim],
    };
    let build = |(k, callable): (usize, Py<PyAny>)| {
        let name = graph.names().get(k).cloned().unwrap_or_else(|| k.to_string());
        if !callable.bind(py).is_callable() {
            return Err(PyTypeError::new_err(format!(
                "objectives: agent {name}'s is not callable"
            )));
        }
        let samples = match options.per_sample {
            true => Some(count_samples(callable.bind(py), &start, options.batched).map_err(
                |raised| {
                    let text = format!("agent {name}, before round 1: {}", raised.value(py));
                    let error = ObjectiveError::new_err(text);
                    error.set_cause(py, Some(raised));
                    error
                },
            )?),
            false => None,
        };
        let oracle = PyOracle { callable, batched: options.batched, samples, early: early.clone() };
        let mut oracle: Box<dyn Oracle> = Box::new(oracle);
        if let Some(directory) = &options.journal {
            let asking = Asking {
                numbers: options.dim,
                values: samples.unwrap_or(1),
                at_once: if options.batched { usize::MAX / options.dim } else { 1 },
            };
            let journaled = ValueJournal(directory).oracle(&name, asking, oracle);
            oracle = journaled.map_err(of_journal)?;
        }
        let known = BlackBox::from_oracle(options.dim, samples, oracle).with_limits(limits);
        Ok(Arc::new(match &variables {
            Some(variables) => known.with_variables(variables.clone()),
            None => known,
        }))
    };
    objectives.into_iter().enumerate().map(build).collect()
}

fn refused(py: Python<'_>, failure: &Refused, error: &FirstError) -> PyErr {
    match failure {
        Refused::Failed { .. } => raise(py, &failure.to_string(), error),
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
    early: EarlyEnd,
    variables: Option<Arc<Variables>>,
}

impl Observer for Caller {
    fn round(&mut self, view: &RoundView<'_>) -> ControlFlow<()> {
        let Some(callback) = &self.callback else { return ControlFlow::Continue(()) };
        let estimates: Vec<Vec<f64>> = (0..view.simulation.len())
            .map(|k| outside(&self.variables, view.simulation.estimate(k)))
            .collect();
        let called = Python::attach(|py| {
            let estimates = PyArray2::from_vec2(py, &estimates)?;
            callback.bind(py).call1((view.round, estimates))?.is_truthy()
        });
        match called {
            Ok(false) => ControlFlow::Continue(()),
            Ok(true) => ControlFlow::Break(()),
            Err(raised) => {
                self.early.error.keep(raised);
                self.early.stop.store(true, Ordering::Relaxed);
                ControlFlow::Break(())
            }
        }
    }
}

/// A point as the callables take it.
fn outside(variables: &Option<Arc<Variables>>, point: Vec<f64>) -> Vec<f64> {
    match variables {
        Some(variables) => variables.outside(&point),
        None => point,
    }
}

/// Ends a run after the round in which its time was over: when it began, and its seconds.
struct Clock(Option<(Instant, f64)>);

impl Observer for Clock {
    fn round(&mut self, _view: &RoundView<'_>) -> ControlFlow<()> {
        match self.0 {
            Some((begun, limit)) if begun.elapsed().as_secs_f64() >= limit => {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        }
    }
}
