//! Agents for a simulation, from data, network and settings.

use crate::admm::Admm;
use crate::agent::{Agent, Average, Setup};
use crate::network::Graph;
use crate::primal::{Exact, PrimalStep, ZerothOrder};
use crate::problem::{LocalObjective, Problem};
use crate::streams::Streams;
use dzoa_privacy::{Digest, Event, Ledger};
use std::sync::Arc;
use thiserror::Error;

/// Agents that cannot be built.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum BuildError {
    /// Data and graph differ.
    #[error("{data} agents have data, but the network has {graph} agents")]
    Count {
        /// Agents with data.
        data: usize,
        /// Agents in the graph.
        graph: usize,
    },
    /// Without neighbours and self-loop there is no consensus term at all.
    #[error("agent `{0}` has no neighbours and no self-loop")]
    Alone(String),
    /// An agent without rows.
    #[error("agent `{0}` has no rows")]
    NoRows(String),
    /// Agents with different columns.
    #[error("agent `{name}` has {got} columns, the first agent has {expected}")]
    Columns {
        /// The agent.
        name: String,
        /// Its columns.
        got: usize,
        /// The first agent's.
        expected: usize,
    },
}

/// How agents release and what for, and what they report.
#[derive(Clone, Debug)]
pub struct Releases {
    /// Per agent: how the release of each round is charged; the last one repeats.
    pub events: Vec<Arc<[Event]>>,
    /// Per agent: what was spent before; empty for fresh ledgers without a budget.
    pub ledgers: Vec<Ledger>,
    /// The estimate an agent reports.
    pub average: Average,
    /// What everything random is drawn from. They name the run that releases are charged to.
    pub streams: Streams,
}

impl Releases {
    /// One event for every release of every agent, fresh ledgers, the last iterate.
    pub fn all(event: Event, agents: usize, streams: &Streams) -> Self {
        let events = vec![Arc::from([event]); agents];
        Self { events, ledgers: Vec::new(), average: Average::None, streams: streams.clone() }
    }
}

/// D-ZOA agents, each with its own inner loop (its step size depends on its neighbourhood).
pub fn zeroth_order_agents(
    problem: &Problem,
    graph: &Graph,
    settings: Admm,
    inner: &[ZerothOrder],
    releases: Releases,
) -> Result<Vec<Agent>, BuildError> {
    agents(problem, graph, settings, releases, |k| Box::new(inner[k]))
}

/// Consensus ADMM agents with an exact inner solver and no protection.
pub fn exact_agents(
    problem: &Problem,
    graph: &Graph,
    settings: Admm,
    tolerance: Option<f64>,
    streams: &Streams,
) -> Result<Vec<Agent>, BuildError> {
    let releases = Releases::all(Event::Unprotected, graph.len(), streams);
    agents(problem, graph, settings, releases, |k| Box::new(Exact::new(problem.risk(k), tolerance)))
}

/// Agents with any primal step, one per agent.
pub fn agents(
    problem: &Problem,
    graph: &Graph,
    settings: Admm,
    releases: Releases,
    step: impl Fn(usize) -> Box<dyn PrimalStep>,
) -> Result<Vec<Agent>, BuildError> {
    check(problem, graph, &settings)?;
    let objectives = (0..graph.len()).map(|k| problem.local(k)).collect();
    let mut agents = agents_of(objectives, graph, settings, releases, step)?;
    agents.iter_mut().enumerate().for_each(|(k, agent)| agent.bind(problem.fingerprint(k)));
    Ok(agents)
}

/// Agents with any objective and any primal step, one of each per agent: what black boxes need.
pub fn agents_of(
    objectives: Vec<LocalObjective>,
    graph: &Graph,
    settings: Admm,
    releases: Releases,
    step: impl Fn(usize) -> Box<dyn PrimalStep>,
) -> Result<Vec<Agent>, BuildError> {
    if objectives.len() != graph.len() {
        return Err(BuildError::Count { data: objectives.len(), graph: graph.len() });
    }
    let expected = objectives.first().map_or(0, |objective| objective.data.dim());
    let mut ledgers = releases.ledgers.into_iter();
    let build = |(k, objective): (usize, LocalObjective)| {
        let name = graph.names()[k].clone();
        if objective.data.dim() != expected {
            let got = objective.data.dim();
            return Err(BuildError::Columns { name, got, expected });
        }
        if graph.neighbourhood(k, settings.self_loop) == 0 {
            return Err(BuildError::Alone(name));
        }
        Ok(Agent::new(Setup {
            index: k,
            name,
            neighbours: graph.neighbours(k).to_vec(),
            settings,
            objective,
            step: step(k),
            events: releases.events[k].clone(),
            ledger: ledgers.next().unwrap_or_default(),
            rows: Digest::default(),
            gossip_weights: graph.gossip_weights(k),
            average: releases.average,
            streams: releases.streams.clone(),
        }))
    };
    objectives.into_iter().enumerate().map(build).collect()
}

/// Refuses data and networks that do not fit together.
pub fn check(problem: &Problem, graph: &Graph, settings: &Admm) -> Result<(), BuildError> {
    if problem.agents.len() != graph.len() {
        return Err(BuildError::Count { data: problem.agents.len(), graph: graph.len() });
    }
    let expected = problem.dim();
    for (k, samples) in problem.agents.iter().enumerate() {
        let name = || graph.names()[k].clone();
        if samples.count() == 0 {
            return Err(BuildError::NoRows(name()));
        }
        if samples.rows.width() != expected {
            let got = samples.rows.width();
            return Err(BuildError::Columns { name: name(), got, expected });
        }
        if graph.neighbourhood(k, settings.self_loop) == 0 {
            return Err(BuildError::Alone(name()));
        }
    }
    Ok(())
}
