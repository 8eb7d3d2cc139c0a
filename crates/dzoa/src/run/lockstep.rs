//! Runs a [`Baseline`] round by round: charge, persist, query, release, absorb.

use super::{Costs, Observer, Releases, RoundView, Simulation};
use crate::agent::Average;
use crate::baselines::{Baseline, Needs, Part, Party};
use crate::kernels::program;
use crate::network::Graph;
use crate::network::gossip::{Order, RunningMean, mixed};
use crate::problem::Problem;
use crate::status::Status;
use crate::streams::Streams;
use dzoa_privacy::packed::pack;
use dzoa_privacy::{Digest, Event, Ledger, Query, Receipt, Release, RunId};
use rayon::prelude::*;
use std::sync::Arc;

/// All agents of a baseline.
pub struct Lockstep {
    baseline: Box<dyn Baseline>,
    parties: Vec<Party>,
    ledgers: Vec<Ledger>,
    events: Vec<Arc<[Event]>>,
    /// Queries so far, per agent.
    queries: Vec<usize>,
    /// Digest of everything that goes into the next round, per agent.
    inputs: Vec<Digest>,
    released: Vec<Arc<[f64]>>,
    /// Mean of the estimates of the second half of the rounds, per agent.
    late: Vec<RunningMean>,
    /// What is reported once the final averaging is done.
    averaged: Option<Vec<Vec<f64>>>,
    average: Average,
    rounds: u64,
    graph: Graph,
    streams: Streams,
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
        let mut ledgers = releases.ledgers;
        ledgers.resize_with(agents, Ledger::default);
        Self {
            parties: (0..agents).map(|k| Party::new(&*baseline, problem, k)).collect(),
            baseline,
            ledgers,
            events: releases.events,
            queries: vec![0; agents],
            inputs: (0..agents).map(|k| problem.fingerprint(k)).collect(),
            released: vec![vec![0.0; dim].into(); agents],
            late: vec![RunningMean::new(dim); agents],
            averaged: None,
            average: releases.average,
            rounds,
            graph: graph.clone(),
            streams: releases.streams,
            costs: Costs::default(),
        }
    }

    /// What the algorithm takes.
    pub fn needs(&self) -> Needs {
        self.baseline.needs()
    }

    /// The charge of agent k's last query.
    pub fn last_event(&self, k: usize) -> Option<&Event> {
        let events = &self.events[k];
        self.queries[k].checked_sub(1).map(|query| &events[query.min(events.len() - 1)])
    }

    /// One round, up to and including what follows from the releases.
    fn round(&mut self, round: u64, observer: &mut dyn Observer) -> Result<(), Status> {
        let names = self.graph.names();
        let parts: Vec<Part> =
            (0..self.parties.len()).map(|k| self.baseline.part(round, k)).collect();
        let run = self.streams.run_id();
        let mut receipts: Vec<Option<Receipt>> = Vec::new();
        for (k, part) in parts.iter().enumerate() {
            if *part == Part::Rests {
                receipts.push(None);
                continue;
            }
            // Charge and persist before any noise is drawn: what is not written down cannot leave.
            let event = self.events[k][self.queries[k].min(self.events[k].len() - 1)];
            self.queries[k] += 1;
            let query = Query { run, round, inputs: self.inputs[k], program: program(), event };
            let written = self.ledgers[k].entries().len();
            let receipt =
                self.ledgers[k].charge(query).map_err(|refused| Status::BudgetExhausted {
                    agent: names[k].clone(),
                    rounds: round - 1,
                    reason: refused.to_string(),
                })?;
            if let Some(entry) = self.ledgers[k].entries().get(written)
                && observer.persist(k, entry).is_break()
            {
                return Err(Status::Stopped { round: round - 1 });
            }
            receipts.push((*part == Part::Releases).then_some(receipt));
        }
        let (baseline, streams) = (&*self.baseline, &self.streams);
        let answers: Vec<Result<Option<Release>, Status>> = self
            .parties
            .par_iter_mut()
            .zip(receipts)
            .map(|(party, receipt)| {
                let Some(receipt) = receipt else { return Ok(None) };
                let agent = &names[party.k];
                let release = baseline
                    .query(round, party, receipt, &streams.noise_key(agent))
                    .map_err(|failure| failure.status(agent, round))?;
                match release.iter().all(|value| value.is_finite()) {
                    true => Ok(Some(release)),
                    false => Err(Status::NonFinite { agent: agent.clone(), round, step: 0 }),
                }
            })
            .collect();
        let mut releases = Vec::new();
        for (k, answer) in answers.into_iter().enumerate() {
            if let Some(release) = answer? {
                self.released[k] = release.values().clone();
                releases.push(release);
            }
        }
        // A trusted solver releases once for all who lent it their rows.
        if let Some(release) = releases.first() {
            for (k, part) in parts.iter().enumerate() {
                if *part == Part::LendsRows {
                    self.released[k] = release.values().clone();
                }
            }
        }
        self.absorb_into_inputs(&releases);
        self.baseline.absorb(round, &releases);
        self.costs.messages += self.baseline.messages(round);
        self.costs.oracle_calls += releases.len() as u64 * self.baseline.gradients_per_query();
        Ok(())
    }

    /// What the next round is made from: the rows, and everything that was released before it.
    fn absorb_into_inputs(&mut self, releases: &[Release]) {
        let mut hasher = self.streams.digest("releases of a round");
        for release in releases {
            hasher.update(&pack(release));
        }
        let released = hasher.finalize();
        for inputs in &mut self.inputs {
            let mut hasher = self.streams.digest("inputs of a round");
            hasher.update(&inputs.0).update(released.as_bytes());
            *inputs = Digest::from(*hasher.finalize().as_bytes());
        }
    }

    /// Adds the estimates of the second half of the rounds up.
    fn remember(&mut self, round: u64) {
        if self.average == Average::None || round <= self.rounds / 2 {
            return;
        }
        for (k, late) in self.late.iter_mut().enumerate() {
            late.add(&self.baseline.estimate(k));
        }
    }

    /// Averages the agents' means over the network: functions of releases, so free.
    fn gossip(&mut self) {
        let Average::Network { gossip } = self.average else { return };
        // Under a coordinator all agents hold the same already.
        let averaged = self.late.iter().any(|late| late.mean().is_some());
        if !averaged || self.baseline.needs().coordinator {
            return;
        }
        let mut now: Vec<Vec<f64>> = (0..self.parties.len()).map(|k| self.estimate(k)).collect();
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
            self.remember(round);
            let last = round == self.rounds;
            if observer.round(&RoundView { round, simulation: self }).is_break() && !last {
                return Status::Stopped { round };
            }
        }
        self.gossip();
        Status::Finished
    }

    fn len(&self) -> usize {
        self.parties.len()
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
        &self.ledgers[k]
    }

    fn run_id(&self, _k: usize) -> RunId {
        self.streams.run_id()
    }

    fn costs(&self) -> Costs {
        let width = self.released.first().map_or(0, |release| release.len()) as u64;
        Costs { bytes: 8 * width * self.costs.messages, ..self.costs }
    }

    fn lockstep(&self) -> Option<&Lockstep> {
        Some(self)
    }
}
