//! All agents of a network in one process, on all cores.

use crate::admm::{Admm, PrimalStep};
use crate::agent::{Agent, Average, Envelope, Input, Message, Output, Setup};
use crate::baselines::Lockstep;
use crate::exact::Exact;
use crate::graph::Graph;
use crate::problem::{LocalObjective, Problem};
use crate::streams::Streams;
use crate::trace::{Observer, RoundView, Status};
use crate::zeroth_order::{Workspace, ZerothOrder};
use dzoa_privacy::{Digest, Event, Ledger, RunId};
use rayon::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
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

/// How agents release, and what they report.
#[derive(Clone, Debug)]
pub struct Releases {
    /// Per agent: how the release of each round is charged; the last one repeats.
    pub events: Vec<Arc<[Event]>>,
    /// Per agent: what was spent before; empty for fresh ledgers without a budget.
    pub ledgers: Vec<Ledger>,
    /// The estimate an agent reports.
    pub average: Average,
}

impl Releases {
    /// The same event for every release of every agent, fresh ledgers, the last iterate.
    pub fn all(event: Event, agents: usize) -> Self {
        let events = vec![Arc::from([event]); agents];
        Self { events, ledgers: Vec::new(), average: Average::None }
    }
}

/// D-ZOA agents, each with its own inner loop (its step size depends on its neighbourhood).
pub fn zeroth_order_agents(
    problem: &Problem,
    graph: &Graph,
    settings: Admm,
    inner: &[ZerothOrder],
    releases: Releases,
    streams: &Streams,
) -> Result<Vec<Agent>, BuildError> {
    agents(problem, graph, settings, releases, streams, |k| Box::new(inner[k]))
}

/// Consensus ADMM agents with an exact inner solver and no protection.
pub fn exact_agents(
    problem: &Problem,
    graph: &Graph,
    settings: Admm,
    tolerance: Option<f64>,
    streams: &Streams,
) -> Result<Vec<Agent>, BuildError> {
    let releases = Releases::all(Event::Unprotected, graph.len());
    agents(problem, graph, settings, releases, streams, |k| {
        Box::new(Exact::new(problem.risk(k), tolerance))
    })
}

/// Agents with any primal step, one per agent.
pub fn agents(
    problem: &Problem,
    graph: &Graph,
    settings: Admm,
    releases: Releases,
    streams: &Streams,
    step: impl Fn(usize) -> Box<dyn PrimalStep>,
) -> Result<Vec<Agent>, BuildError> {
    check(problem, graph, &settings)?;
    let objectives = (0..graph.len()).map(|k| problem.local(k)).collect();
    let mut agents = agents_of(objectives, graph, settings, releases, streams, step)?;
    agents.iter_mut().enumerate().for_each(|(k, agent)| agent.bind(problem.fingerprint(k)));
    Ok(agents)
}

/// Agents with any objective and any primal step, one of each per agent: what black boxes need.
pub fn agents_of(
    objectives: Vec<LocalObjective>,
    graph: &Graph,
    settings: Admm,
    releases: Releases,
    streams: &Streams,
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
            streams: streams.clone(),
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

/// All agents of one algorithm in one process: what a run, a trace, an audit and a report work with,
/// whichever algorithm it is.
pub trait Fleet: Send + Sync {
    /// Runs to the end, or until an observer stops it.
    fn run(&mut self, observer: &mut dyn Observer) -> Status;

    /// K.
    fn len(&self) -> usize;

    /// Whether there is nobody.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The last vector that left agent k.
    fn release(&self, k: usize) -> &[f64];

    /// What agent k reports: a function of what was exchanged.
    fn estimate(&self, k: usize) -> Vec<f64>;

    /// What was charged to agent k.
    fn ledger(&self, k: usize) -> &Ledger;

    /// The run that agent k's charges are made for.
    fn run_id(&self, k: usize) -> RunId;

    /// What it took.
    fn costs(&self) -> Costs;

    /// The agents themselves, where the algorithm is made of them.
    fn agents(&self) -> &[Agent] {
        &[]
    }

    /// The same, to drive them one by one.
    fn agents_mut(&mut self) -> &mut [Agent] {
        &mut []
    }

    /// The baseline, where it is one.
    fn lockstep(&self) -> Option<&Lockstep> {
        None
    }
}

/// What a run took, over all agents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// Values of the objective, or gradients, that were computed. Exact solves are not counted.
    pub oracle_calls: u64,
    /// Vectors that went from one agent to another, or between an agent and the coordinator.
    pub messages: u64,
    /// Their values, at eight bytes each.
    pub bytes: u64,
}

impl Fleet for Vec<Agent> {
    fn run(&mut self, observer: &mut dyn Observer) -> Status {
        simulate(self, observer)
    }

    fn len(&self) -> usize {
        Vec::len(self)
    }

    fn release(&self, k: usize) -> &[f64] {
        self[k].beta()
    }

    fn estimate(&self, k: usize) -> Vec<f64> {
        self[k].estimate()
    }

    fn ledger(&self, k: usize) -> &Ledger {
        self[k].ledger()
    }

    fn run_id(&self, k: usize) -> RunId {
        self[k].run()
    }

    fn costs(&self) -> Costs {
        let messages = self.iter().map(Agent::sent).sum();
        let width = self.first().map_or(0, |agent| agent.beta().len()) as u64;
        let oracle_calls = self.iter().map(Agent::oracle_calls).sum();
        Costs { oracle_calls, messages, bytes: 8 * width * messages }
    }

    fn agents(&self) -> &[Agent] {
        self
    }

    fn agents_mut(&mut self) -> &mut [Agent] {
        self
    }
}

/// Runs all agents to the end, or until an observer stops them.
///
/// Agents compute in parallel; messages are delivered in the order of the agents. No sum depends on
/// the number of threads, so the result has the same bits for any of them. The observer sees the
/// rounds of the algorithm, not those of the final averaging.
#[doc(alias = "Algorithm 1, line 2: the loop over m")]
#[allow(clippy::ptr_arg, reason = "observers see the fleet, and a fleet is a vector")]
pub fn simulate(agents: &mut Vec<Agent>, observer: &mut dyn Observer) -> Status {
    let mut round = 0;
    let awake = Awake::new();
    loop {
        awake.next_round(agents.len());
        let each = agents.par_iter_mut().with_max_len(1);
        each.for_each_init(Workspace::default, |work, agent| awake.during(|| agent.compute(work)));
        let mut mail: Vec<Envelope> = Vec::new();
        let mut failed = None;
        for (k, agent) in agents.iter_mut().enumerate() {
            while let Some(output) = agent.poll() {
                match output {
                    Output::Compute => break,
                    Output::Persist(entry) => {
                        if observer.persist(k, &entry).is_break() {
                            return Status::Stopped { round };
                        }
                    }
                    // A simulation that crashes starts anew.
                    Output::Completed(_) => {}
                    Output::Send(envelope) => mail.push(envelope),
                    // An agent without neighbours is done as soon as it has computed.
                    Output::Done(Status::Finished) => {}
                    Output::Done(status) => failed = failed.or(Some(status)),
                }
            }
        }
        if let Some(status) = failed {
            return status;
        }
        if mail.is_empty() {
            return Status::Finished;
        }
        let fresh = mail.iter().any(|envelope| matches!(envelope.message, Message::Release(_)));
        for Envelope { from, round, message } in mail {
            for neighbour in agents[from].neighbours().to_vec() {
                agents[neighbour]
                    .handle(Input::Received { from, round, beta: message.values().clone() })
                    .expect("agents in lockstep send what the protocol allows");
            }
        }
        if fresh {
            round += 1;
            if observer.round(&RoundView { round, fleet: agents }).is_break() {
                return Status::Stopped { round };
            }
        }
    }
}

/// Keeps the threads of a round awake until the next one: they would sleep after a few microseconds, and to wake one takes
/// as long as an agent of the paper's example.
struct Awake {
    /// The thread that goes from round to round, where it is one of the pool.
    leader: Option<usize>,
    progress: Arc<Progress>,
}

/// How far a run is.
#[derive(Default)]
struct Progress {
    round: AtomicUsize,
    /// Agents that nobody has begun with in this round.
    waiting: AtomicUsize,
    /// Agents that are not ready in this round.
    unready: AtomicUsize,
}

impl Awake {
    /// How often a thread looks for something to do, a fraction of a microsecond each time: what takes longer does not
    /// miss the time to wake up.
    const LOOKS: usize = 500;

    fn new() -> Self {
        Self { leader: rayon::current_thread_index(), progress: Arc::default() }
    }

    fn next_round(&self, agents: usize) {
        self.progress.waiting.store(agents, Ordering::Relaxed);
        self.progress.unready.store(agents, Ordering::Relaxed);
        self.progress.round.fetch_add(1, Ordering::Relaxed);
    }

    /// Does the work of one agent; then, if there is no other to begin with, the thread stays awake for what is next.
    fn during(&self, work: impl FnOnce()) {
        self.progress.waiting.fetch_sub(1, Ordering::Relaxed);
        work();
        // Known for certain only as long as an agent is not ready.
        let round = self.progress.round.load(Ordering::Relaxed);
        self.progress.unready.fetch_sub(1, Ordering::Relaxed);
        if self.progress.waiting.load(Ordering::Relaxed) == 0 {
            let (leader, progress) = (self.leader, self.progress.clone());
            rayon::spawn(move || progress.stay(round, rayon::current_thread_index() == leader));
        }
    }
}

impl Progress {
    /// Waits, if not for long: the leader for the end of this round, the others for the next.
    fn stay(&self, round: usize, leads: bool) {
        let idle = || match leads {
            true => self.unready.load(Ordering::Relaxed) > 0,
            false => self.round.load(Ordering::Relaxed) == round,
        };
        let mut looks = 0..Awake::LOOKS;
        while idle() && looks.next().is_some() {
            std::thread::yield_now();
        }
    }
}
