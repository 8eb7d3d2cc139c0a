//! Runs a [`Baseline`] round by round: charge, persist, query, release, absorb.

use super::sums::NotReplayed;
use super::{Costs, Observer, Releases, RoundView, Simulation};
use crate::agent::Average;
use crate::baselines::{Baseline, BaselineAgent, BaselineAgentSetup, Needs, Part, Party};
use crate::joint::{Charged, PastPart, SumPart};
use crate::network::Graph;
use crate::network::gossip::{Order, RunningMean, mixed};
use crate::problem::Problem;
use crate::status::Status;
use dzoa_privacy::{Event, Ledger, Receipt, Release, RunId};
use rayon::prelude::*;
use std::collections::VecDeque;
use std::sync::Arc;

/// All agents of a baseline.
pub struct Lockstep {
    baseline: Box<dyn Baseline>,
    agents: Vec<BaselineAgent>,
    released: Vec<Arc<[f64]>>,
    /// Mean of the estimates of the second half of the rounds, per agent.
    late: Vec<RunningMean>,
    /// What is reported once the final averaging is done.
    averaged: Option<Vec<Vec<f64>>>,
    average: Average,
    rounds: u64,
    graph: Graph,
    costs: Costs,
}

impl Lockstep {
    /// An algorithm before its first round. The problem and the graph have the same agents.
    pub fn new(
        baseline: Box<dyn Baseline>,
        problem: &Problem,
        graph: &Graph,
        rounds: u64,
        releases: Releases,
    ) -> Self {
        let (agents, dim) = (graph.len(), problem.dim());
        let Releases { events, mut ledgers, average, streams } = releases;
        ledgers.resize_with(agents, Ledger::default);
        let agent = |(k, ledger): (usize, Ledger)| {
            BaselineAgent::new(BaselineAgentSetup {
                name: graph.names()[k].clone(),
                party: Party::new(&*baseline, problem, k),
                rows: problem.fingerprint(k),
                events: events[k].clone(),
                ledger,
                run: streams.run_id(),
                streams: Some(streams.clone()),
            })
        };
        Self {
            agents: ledgers.into_iter().enumerate().map(agent).collect(),
            baseline,
            released: vec![vec![0.0; dim].into(); agents],
            late: vec![RunningMean::new(dim); agents],
            averaged: None,
            average,
            rounds,
            graph: graph.clone(),
            costs: Costs::default(),
        }
    }

    /// What the algorithm takes.
    pub fn needs(&self) -> Needs {
        self.baseline.needs()
    }

    /// The charge of agent k's last query.
    pub fn last_event(&self, k: usize) -> Option<&Event> {
        self.agents[k].last_event()
    }

    /// One round, up to and including what follows from the releases.
    fn round(&mut self, round: u64, observer: &mut dyn Observer) -> Result<(), Status> {
        let parts: Vec<Part> =
            (0..self.agents.len()).map(|k| self.baseline.part(round, k)).collect();
        let receipts = self.charge(round, &parts, observer)?;
        let baseline = &*self.baseline;
        let answers: Vec<Result<Option<Release>, Status>> = self
            .agents
            .par_iter_mut()
            .zip(receipts)
            .map(|(agent, receipt)| {
                receipt.map(|receipt| agent.release(baseline, round, receipt)).transpose()
            })
            .collect();
        let mut released = Vec::new();
        for (k, answer) in answers.into_iter().enumerate() {
            if let Some(release) = answer? {
                self.released[k] = release.values().clone();
                released.push(release.values().clone());
            }
        }
        // A trusted solver releases once for all who lent it their rows.
        if let Some(release) = released.first() {
            for (k, part) in parts.iter().enumerate() {
                if *part == Part::LendsRows {
                    self.released[k] = release.clone();
                }
            }
        }
        // All agents have one root here, and so one digest.
        if let Some(digest) = self.agents.first().and_then(|agent| agent.digest(&released)) {
            self.agents.iter_mut().for_each(|agent| agent.follow(&digest));
        }
        self.absorb(round, &released);
        Ok(())
    }

    /// Charge and persist before any noise is drawn: what is not written down cannot leave.
    fn charge(
        &mut self,
        round: u64,
        parts: &[Part],
        observer: &mut dyn Observer,
    ) -> Result<Vec<Option<Receipt>>, Status> {
        let mut receipts: Vec<Option<Receipt>> = Vec::new();
        for (k, part) in parts.iter().enumerate() {
            if *part == Part::Rests {
                receipts.push(None);
                continue;
            }
            let agent = &mut self.agents[k];
            let Charged { receipt, entry, .. } =
                agent.charge(round).map_err(|refused| Status::BudgetExhausted {
                    agent: agent.name().into(),
                    rounds: round - 1,
                    reason: refused.to_string(),
                })?;
            if let Some(entry) = entry
                && observer.persist(k, &entry).is_break()
            {
                return Err(Status::Stopped { round: round - 1 });
            }
            receipts.push((*part == Part::Releases).then_some(receipt));
        }
        Ok(receipts)
    }

    /// What follows from the releases of a round.
    fn absorb(&mut self, round: u64, released: &[Arc<[f64]>]) {
        self.baseline.absorb(round, released);
        self.costs.messages += self.baseline.messages(round, &self.graph);
        self.costs.oracle_calls += released.len() as u64 * self.baseline.gradients_per_query();
        if self.average.takes(round, self.rounds) {
            for (k, late) in self.late.iter_mut().enumerate() {
                late.add(&self.baseline.estimate(k));
            }
        }
    }

    /// Takes the agents through the releases in their journals, which are in the order of the
    /// graph. No row is queried and no noise is drawn; the observer sees what it would have seen,
    /// and stops nothing.
    pub fn replay(
        &mut self,
        mut pasts: Vec<VecDeque<PastPart>>,
        observer: &mut dyn Observer,
    ) -> Result<Status, NotReplayed> {
        for round in 1..=self.rounds {
            if pasts.len() < self.agents.len() || pasts.iter().any(VecDeque::is_empty) {
                return Ok(Status::Stopped { round: round - 1 });
            }
            for (k, past) in pasts.iter_mut().filter_map(VecDeque::pop_front).enumerate() {
                let agent = &mut self.agents[k];
                let resumed = agent.recall(round, past).map_err(|why| NotReplayed {
                    agent: agent.name().into(),
                    round,
                    why,
                })?;
                if let SumPart::Plain(values) = resumed.contribution.part() {
                    self.released[k] = values;
                }
            }
            let released = self.released.clone();
            self.absorb(round, &released);
            let _ = observer.round(&RoundView { round, simulation: self });
        }
        self.gossip();
        Ok(Status::Finished)
    }

    /// Averages the agents' means over the network: functions of releases, so free.
    fn gossip(&mut self) {
        let Average::Network { gossip } = self.average else { return };
        // Where everybody hears everything, or one hands out, all agents hold the same already.
        let averaged = self.late.iter().any(|late| late.mean().is_some());
        let Needs { coordinator, flooding, .. } = self.baseline.needs();
        if !averaged || coordinator || flooding {
            return;
        }
        let mut now: Vec<Vec<f64>> = (0..self.agents.len()).map(|k| self.estimate(k)).collect();
        for _ in 0..gossip {
            let mix = |k: usize| {
                let near = self.graph.neighbours(k).iter();
                let theirs: Vec<&[f64]> = near.map(|&l| &now[l][..]).collect();
                mixed(&now[k], &self.graph.gossip_weights(k), &theirs, Order::OwnFirst)
            };
            now = (0..now.len()).map(mix).collect();
            self.costs.messages += 2 * self.graph.edges().count() as u64;
        }
        self.averaged = Some(now);
    }
}

impl Simulation for Lockstep {
    fn run(&mut self, observer: &mut dyn Observer) -> Status {
        for round in 1..=self.rounds {
            if let Err(status) = self.round(round, observer) {
                return status;
            }
            let last = round == self.rounds;
            if observer.round(&RoundView { round, simulation: self }).is_break() && !last {
                return Status::Stopped { round };
            }
        }
        self.gossip();
        Status::Finished
    }

    fn len(&self) -> usize {
        self.agents.len()
    }

    fn release(&self, k: usize) -> &[f64] {
        &self.released[k]
    }

    fn estimate(&self, k: usize) -> Vec<f64> {
        match &self.averaged {
            Some(averaged) => averaged[k].clone(),
            None => self.late[k].mean().unwrap_or_else(|| self.baseline.estimate(k)),
        }
    }

    fn ledger(&self, k: usize) -> &Ledger {
        self.agents[k].ledger()
    }

    fn run_id(&self, k: usize) -> RunId {
        self.agents[k].run()
    }

    fn costs(&self) -> Costs {
        let width = self.released.first().map_or(0, |release| release.len()) as u64;
        Costs { bytes: 8 * width * self.costs.messages, ..self.costs }
    }

    fn lockstep(&self) -> Option<&Lockstep> {
        Some(self)
    }

    fn lockstep_mut(&mut self) -> Option<&mut Lockstep> {
        Some(self)
    }
}
