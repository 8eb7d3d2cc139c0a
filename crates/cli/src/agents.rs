//! From a config and a problem to agents that keep the promise of their mechanism.

use crate::config::{Average, Config, Mechanism, Solver};
use crate::error::{Error, Result};
use crate::inner::inner_loop;
use crate::instance::Instances;
use dzoa::admm::PrimalStep;
use dzoa::agent;
use dzoa::baselines::{Baseline, Broken, Lockstep};
use dzoa::mechanism::{NoGuarantee, Target, output_rule, plan_output, plan_scalar, scalar_rule};
use dzoa::output::Output;
use dzoa::prelude::*;
use dzoa::privacy::{Event, Ledger};
use dzoa::scalar::Scalar;
use dzoa::simulate::{BuildError, Fleet, Releases, agents, check};
use dzoa::stopping::Stopping;
use std::sync::Arc;

/// How far the agents' averages may still differ after the final gossip, as a fraction of before.
const GOSSIP_FRACTION: f64 = 1e-3;

/// What one agent's mechanism promises for a whole run.
#[derive(Clone, Debug)]
pub struct Promise {
    /// L2 sensitivity of one release (of one look, for `scalar`).
    pub sensitivity: f64,
    /// tau, for `output`.
    pub tau: f64,
    /// Of the ball that releases lie in, for `output`.
    pub radius: f64,
    /// The charge of each look; the last one repeats.
    pub events: Arc<[Event]>,
    /// One round in so many looks at the rows.
    pub rounds_per_look: u64,
}

impl Promise {
    /// What is charged in so many rounds.
    pub fn charged(&self, rounds: u64) -> &[Event] {
        let looks = rounds.div_ceil(self.rounds_per_look) as usize;
        &self.events[..looks.min(self.events.len())]
    }

    /// All that a run of so many rounds charges: what its statement is made from, whenever it ends.
    pub fn planned(&self, rounds: u64) -> Vec<Event> {
        match &*self.events {
            // Without a guarantee every round is charged alike.
            [event @ (Event::Nominal { .. } | Event::Unprotected)] => vec![*event; rounds as usize],
            _ => self.charged(rounds).to_vec(),
        }
    }

    /// The largest noise of the run.
    pub fn sigma(&self) -> Option<f64> {
        self.events
            .iter()
            .filter_map(|event| match event {
                Event::DiscreteGaussian { sigma, .. } => Some(*sigma),
                _ => None,
            })
            .reduce(f64::max)
    }
}

/// Fills in `rho = "auto"`, `rounds = "auto"` and a clip that was not given by the public rules of
/// [`dzoa::mechanism`].
pub fn apply_public_rule(config: &mut Config, instances: &Instances) {
    let samples = instances.smallest_agent();
    let rule = match &mut config.privacy.mechanism {
        Mechanism::Scalar { target, clip } => {
            let (rule, public_clip) = scalar_rule(samples, target.total_epsilon);
            clip.get_or_insert(public_clip);
            rule
        }
        Mechanism::Output { target, .. } => output_rule(samples, target.total_epsilon),
        Mechanism::Intrinsic { .. } | Mechanism::None => return,
    };
    if config.algorithm.rho_is_auto {
        config.algorithm.admm.rho = rule.rho;
    }
    if config.algorithm.rounds_are_auto {
        config.algorithm.admm.rounds = rule.rounds;
    }
}

/// C; [`apply_public_rule`] has filled it in.
pub fn clip_of(clip: Option<f64>) -> f64 {
    clip.unwrap_or(1.0)
}

/// The promise of every agent.
pub fn promises(config: &Config, problem: &Problem, graph: &Graph) -> Result<Vec<Promise>> {
    let baseline = baseline(config, problem, graph)?;
    (0..graph.len())
        .map(|k| match (&baseline, config.privacy.mechanism.target()) {
            (Some(baseline), Some(target)) => {
                baseline_promise(config, problem, &**baseline, k, target)
            }
            _ => promise(config, problem, graph.neighbourhood(k, config.network.self_loop), k),
        })
        .collect()
}

/// The promise of one agent of d-zoa or admm with so large a neighbourhood.
pub fn promise(
    config: &Config,
    problem: &Problem,
    neighbourhood: usize,
    k: usize,
) -> Result<Promise> {
    let rounds = config.algorithm.admm.rounds;
    let plain = |event| Promise {
        sensitivity: 0.0,
        tau: 0.0,
        radius: f64::INFINITY,
        events: Arc::from([event]),
        rounds_per_look: 1,
    };
    match &config.privacy.mechanism {
        Mechanism::Intrinsic { epsilon, delta, .. } => {
            Ok(plain(Event::Nominal { epsilon: *epsilon, delta: *delta }))
        }
        Mechanism::None => Ok(plain(Event::Unprotected)),
        Mechanism::Output { target, tolerance } => {
            let rho = config.algorithm.admm.rho;
            let plan = plan_output(problem, k, (rho, neighbourhood), rounds, *tolerance, target)
                .map_err(|error| {
                    Error::input(format!("`privacy.mechanism` is `output`, but {error}"))
                        .hint(output_hint(&error))
                })?;
            Ok(Promise {
                sensitivity: plan.sensitivity,
                tau: plan.tau,
                radius: plan.radius,
                events: plan.events,
                rounds_per_look: 1,
            })
        }
        Mechanism::Scalar { target, clip } => {
            let Solver::ZerothOrder { inner, .. } = &config.algorithm.solver else {
                return Err(Error::input(
                    "the mechanism `scalar` needs algorithm.name = \"d-zoa\"",
                ));
            };
            let looks = (inner.directions, inner.inner_steps);
            let samples = problem.agents[k].count();
            let (sensitivity, events) = plan_scalar(clip_of(*clip), looks, samples, rounds, target)
                .map_err(|error| {
                    Error::input(format!("`privacy.mechanism` is `scalar`, but {error}"))
                        .hint("raise privacy.total_epsilon, or take fewer rounds and inner steps")
                })?;
            Ok(Promise { sensitivity, events, ..plain(Event::Unprotected) })
        }
    }
}

/// The algorithm that d-zoa is compared with, where the config names one and keeps its assumptions.
pub fn baseline(
    config: &Config,
    problem: &Problem,
    graph: &Graph,
) -> Result<Option<Box<dyn Baseline>>> {
    let Solver::Baseline(options) = &config.algorithm.solver else { return Ok(None) };
    let admm = Admm { self_loop: config.network.self_loop, ..config.algorithm.admm };
    let built =
        options.spec(admm, problem, config.privacy.mechanism.target()).build(problem, graph);
    let private = config.privacy.mechanism.target().is_some();
    built.needs().check(built.name(), problem, private).map_err(|broken| {
        let hint = match broken {
            Broken::Kinks { .. } => "use loss = \"logistic\" or \"huber\"",
            Broken::RegularizerKinks { .. } | Broken::NotStronglyConvex { .. } => {
                "use regularizer = \"l2\" with eta above 0"
            }
            Broken::NoBound { .. } if options.clips() => {
                "clip per-sample gradients: set algorithm.options.clip"
            }
            Broken::NoBound { .. } => "for regression use loss = \"huber\"",
        };
        Error::input(format!("`algorithm.name`: {broken}")).hint(hint)
    })?;
    Ok(Some(built))
}

fn baseline_promise(
    config: &Config,
    problem: &Problem,
    baseline: &dyn Baseline,
    k: usize,
    target: &Target,
) -> Result<Promise> {
    let Solver::Baseline(options) = &config.algorithm.solver else {
        return Err(Error::run("a baseline's promise was asked of another algorithm"));
    };
    let events =
        baseline.events(problem, k, config.algorithm.admm.rounds, target).map_err(|error| {
            let hint = match error {
                NoGuarantee::BudgetTooSmall { .. }
                    if options.name() == "objective-perturbation" =>
                {
                    "raise algorithm.options.ridge, or privacy.total_epsilon"
                }
                NoGuarantee::Tolerance { .. } => "raise algorithm.options.ridge",
                NoGuarantee::BudgetTooSmall { .. } => {
                    "raise privacy.total_epsilon or algorithm.rho, or take fewer rounds"
                }
                ref other => output_hint(other),
            };
            Error::input(format!("`algorithm.name` is `{}`, but {error}", baseline.name()))
                .hint(hint)
        })?;
    let sensitivity = match events.first() {
        Some(
            Event::DiscreteGaussian { sensitivity, .. }
            | Event::Laplace { sensitivity, .. }
            | Event::SphericalLaplace { sensitivity, .. },
        ) => *sensitivity,
        Some(Event::ObjectivePerturbation { gradient, .. }) => *gradient,
        _ => 0.0,
    };
    let rounds_per_look = options.rounds_per_look();
    Ok(Promise {
        sensitivity,
        tau: 0.0,
        radius: f64::INFINITY,
        events: events.into(),
        rounds_per_look,
    })
}

fn output_hint(error: &NoGuarantee) -> &'static str {
    match error {
        NoGuarantee::NoLipschitz(_) => {
            "for regression use loss = \"huber\" or \"absolute\"; or the mechanism `scalar`, which clips"
        }
        NoGuarantee::UnboundedRows(_) => {
            "set schema.rows_to_unit_ball = true: the loss's c1 holds for rows of norm at most 1"
        }
        NoGuarantee::Tolerance { .. } => "raise privacy.tolerance, or algorithm.rho",
        NoGuarantee::Steps { .. } => "raise algorithm.options.ridge",
        NoGuarantee::Hessian { .. } => {
            "raise algorithm.rho or privacy.total_epsilon, or take fewer rounds"
        }
        NoGuarantee::NotSmooth(_) => "use loss = \"logistic\" or \"huber\"",
        NoGuarantee::BudgetTooSmall { .. } => "raise privacy.total_epsilon, or take fewer rounds",
    }
}

/// The primal step of one agent; `inner` is there unless the solver is exact.
pub fn primal_step(
    config: &Config,
    problem: &Problem,
    k: usize,
    inner: Option<&ZerothOrder>,
    promise: &Promise,
) -> Box<dyn PrimalStep> {
    let tolerance = match config.algorithm.solver {
        Solver::Exact { tolerance } | Solver::ZerothOrder { tolerance, .. } => tolerance,
        Solver::Baseline(_) => None,
    };
    match (&config.privacy.mechanism, inner) {
        (Mechanism::Output { .. }, inner) => {
            Box::new(Output::new(inner.copied(), problem.risk(k), promise.tau, promise.radius))
        }
        (Mechanism::Scalar { clip, .. }, Some(inner)) => {
            let samples = Arc::new(problem.risk(k));
            Box::new(Scalar { inner: *inner, clip: clip_of(*clip), samples })
        }
        (_, Some(inner)) => match tolerance {
            Some(tolerance) => Box::new(Stopping::new(*inner, problem.risk(k), tolerance)),
            None => Box::new(*inner),
        },
        (_, None) => Box::new(Exact::new(problem.risk(k), tolerance)),
    }
}

/// The outer loop, and the estimate that is reported.
pub fn outer_loop(config: &Config, graph: &Graph) -> (Admm, agent::Average) {
    let settings = Admm { self_loop: config.network.self_loop, ..config.algorithm.admm };
    let average = match config.algorithm.average {
        Average::None => agent::Average::None,
        Average::LastHalf => agent::Average::LastHalf,
        Average::Network => {
            agent::Average::Network { gossip: graph.gossip_rounds(GOSSIP_FRACTION) }
        }
    };
    (settings, average)
}

/// The agents of a run. `inner` is empty for the exact solver; `ledgers` may be.
pub fn build(
    config: &Config,
    problem: &Problem,
    graph: &Graph,
    inner: &[ZerothOrder],
    (promises, ledgers): (&[Promise], Vec<Ledger>),
    streams: &Streams,
) -> Result<Box<dyn Fleet>> {
    let (settings, average) = outer_loop(config, graph);
    let events = promises.iter().map(|promise| promise.events.clone()).collect();
    let releases = Releases { events, ledgers, average };
    if let Some(baseline) = baseline(config, problem, graph)? {
        check(problem, graph, &settings).map_err(refused)?;
        let rounds = settings.rounds;
        let fleet = Lockstep::new(baseline, problem, graph, rounds, releases, streams);
        return Ok(Box::new(fleet));
    }
    let built = agents(problem, graph, settings, releases, streams, |k| {
        primal_step(config, problem, k, inner.get(k), &promises[k])
    });
    built.map(|agents| Box::new(agents) as Box<dyn Fleet>).map_err(refused)
}

/// Agents that cannot be built, in words.
pub fn refused(error: BuildError) -> Error {
    Error::input(error.to_string()).hint("every agent needs rows and a neighbourhood")
}

/// Agent `k` alone. Its place in the problem holds its rows; the others' places are never looked at.
pub fn build_one(
    config: Arc<Config>,
    problem: &Problem,
    graph: &Graph,
    k: usize,
    ledger: Ledger,
    streams: Streams,
) -> Result<Agent> {
    let (settings, average) = outer_loop(&config, graph);
    let neighbourhood = graph.neighbourhood(k, config.network.self_loop);
    if neighbourhood == 0 || problem.agents[k].count() == 0 {
        return Err(Error::input(format!(
            "agent `{}` has {} rows and a neighbourhood of {neighbourhood}",
            graph.names()[k],
            problem.agents[k].count()
        ))
        .hint("every agent needs rows and a neighbourhood"));
    }
    let inner = inner_loop(&config, problem, neighbourhood, k, None)?;
    let promise = promise(&config, problem, neighbourhood, k)?;
    let mut agent = Agent::new(agent::Setup {
        index: k,
        name: graph.names()[k].clone(),
        neighbours: graph.neighbours(k).to_vec(),
        settings,
        objective: problem.local(k),
        step: primal_step(&config, problem, k, inner.as_ref(), &promise),
        events: promise.events.clone(),
        ledger,
        rows: problem.fingerprint(k),
        gossip_weights: graph.gossip_weights(k),
        average,
        streams,
    });
    let problem = problem.clone();
    agent.on_leave(Box::new(move |neighbourhood| {
        let text = |error: Error| error.to_string();
        let inner = inner_loop(&config, &problem, neighbourhood, k, None).map_err(text)?;
        let promise = self::promise(&config, &problem, neighbourhood, k).map_err(text)?;
        let step = primal_step(&config, &problem, k, inner.as_ref(), &promise);
        Ok(agent::Terms { events: promise.events, step })
    }));
    Ok(agent)
}
