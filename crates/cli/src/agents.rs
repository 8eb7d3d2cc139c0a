//! From a config and a problem to agents that keep the promise of their mechanism.

use crate::config::{Average, Config, Mechanism, Solver};
use crate::error::{Error, Result};
use crate::inner::inner_loop;
use crate::instance::Instances;
use dzoa::admm::PrimalStep;
use dzoa::agent;
use dzoa::mechanism::{NoGuarantee, output_rule, plan_output, plan_scalar, scalar_rule};
use dzoa::output::Output;
use dzoa::prelude::*;
use dzoa::privacy::{Event, Ledger};
use dzoa::scalar::Scalar;
use dzoa::simulate::{BuildError, Releases, agents};
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
    /// The charge of each round; the last one repeats.
    pub events: Arc<[Event]>,
}

impl Promise {
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
    (0..graph.len())
        .map(|k| promise(config, problem, graph.neighbourhood(k, config.network.self_loop), k))
        .collect()
}

/// The promise of one agent with so large a neighbourhood.
pub fn promise(
    config: &Config,
    problem: &Problem,
    neighbourhood: usize,
    k: usize,
) -> Result<Promise> {
    let unit_ball = config.schema.as_ref().is_none_or(|schema| schema.rows_in_unit_ball());
    let rounds = config.algorithm.admm.rounds;
    let plain = |event| Promise { sensitivity: 0.0, tau: 0.0, events: Arc::from([event]) };
    match &config.privacy.mechanism {
        Mechanism::Intrinsic { epsilon, delta, .. } => {
            Ok(plain(Event::Nominal { epsilon: *epsilon, delta: *delta }))
        }
        Mechanism::None => Ok(plain(Event::Unprotected)),
        Mechanism::Output { .. } if !unit_ball => Err(Error::input(
            "`schema.rows_to_unit_ball` is false, but the mechanism `output` needs rows in the unit ball",
        )
        .hint("set it to true: the loss's c1 holds for rows of norm at most 1")),
        Mechanism::Output { target, tolerance } => {
            let rho = config.algorithm.admm.rho;
            let plan = plan_output(problem, k, (rho, neighbourhood), rounds, *tolerance, target)
                .map_err(|error| {
                    Error::input(format!("`privacy.mechanism` is `output`, but {error}"))
                        .hint(output_hint(&error))
                })?;
            Ok(Promise { sensitivity: plan.sensitivity, tau: plan.tau, events: plan.events })
        }
        Mechanism::Scalar { target, clip } => {
            let Solver::ZerothOrder { inner, .. } = &config.algorithm.solver else {
                return Err(Error::input("the mechanism `scalar` needs algorithm.name = \"d-zoa\""));
            };
            let looks = (inner.directions, inner.inner_steps);
            let samples = problem.agents[k].count();
            let (sensitivity, events) =
                plan_scalar(clip_of(*clip), looks, samples, rounds, target).map_err(|error| {
                    Error::input(format!("`privacy.mechanism` is `scalar`, but {error}"))
                        .hint("raise privacy.total_epsilon, or take fewer rounds and inner steps")
                })?;
            Ok(Promise { sensitivity, tau: 0.0, events })
        }
    }
}

fn output_hint(error: &NoGuarantee) -> &'static str {
    match error {
        NoGuarantee::NoLipschitz(_) => {
            "for regression use loss = \"huber\" or \"absolute\"; or the mechanism `scalar`, which clips"
        }
        NoGuarantee::Tolerance { .. } => "raise privacy.tolerance, or algorithm.rho",
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
    match (&config.privacy.mechanism, inner) {
        (Mechanism::Output { .. }, inner) => {
            Box::new(Output::new(inner.copied(), problem.risk(k), promise.tau))
        }
        (Mechanism::Scalar { clip, .. }, Some(inner)) => {
            let samples = Arc::new(problem.risk(k));
            Box::new(Scalar { inner: *inner, clip: clip_of(*clip), samples })
        }
        (_, Some(inner)) => Box::new(*inner),
        (_, None) => {
            let tolerance = match config.algorithm.solver {
                Solver::Exact { tolerance } => tolerance,
                Solver::ZerothOrder { .. } => None,
            };
            Box::new(Exact::new(problem.risk(k), tolerance))
        }
    }
}

/// The outer loop, and the estimate that is reported.
fn outer_loop(config: &Config, graph: &Graph) -> (Admm, agent::Average) {
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
) -> Result<Vec<Agent>> {
    let (settings, average) = outer_loop(config, graph);
    let events = promises.iter().map(|promise| promise.events.clone()).collect();
    let releases = Releases { events, ledgers, average };
    agents(problem, graph, settings, releases, streams, |k| {
        primal_step(config, problem, k, inner.get(k), &promises[k])
    })
    .map_err(|error: BuildError| {
        Error::input(error.to_string()).hint("every agent needs rows and a neighbourhood")
    })
}

/// Agent `k` alone. Its place in the problem holds its rows; the others' places are never looked at.
pub fn build_one(
    config: Arc<Config>,
    problem: &Problem,
    graph: &Graph,
    k: usize,
    ledger: Ledger,
    streams: Streams,
) -> Result<(Agent, Promise)> {
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
    Ok((agent, promise))
}
