//! Runs joint sums with all agents in one process.

use super::{Costs, Observer, RoundView, Simulation};
use crate::agent::CannotResume;
use crate::joint::{
    Certainty, Charged, Contribution, Contributor, NoRound, PastPart, Session, Step, SumPart, Told,
};
use crate::network::Graph;
use crate::problem::Failure;
use crate::status::Status;
use dzoa_privacy::{Digest, Ledger, Receipt, RunId};
use rayon::prelude::*;
use std::collections::VecDeque;
use thiserror::Error;

/// A journal that does not tell of this run.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("agent {agent}, round {round}: {why}")]
pub struct NotReplayed {
    /// Whose.
    pub agent: String,
    /// In which round.
    pub round: u64,
    /// What is wrong.
    pub why: CannotResume,
}

/// All agents of a run of joint sums: one public session, and everybody's rows.
pub struct JointSimulation {
    session: Session,
    contributors: Vec<Contributor>,
    /// The agent at each position among the members.
    order: Vec<usize>,
    /// What was last seen of each agent: its own part where nothing masks it, and the sum where
    /// masks do.
    seen: Vec<Vec<f64>>,
    masked: bool,
    /// How often a part crosses a link in one round.
    crossings: u64,
    costs: Costs,
    /// The last sum, and everybody's part in it.
    last: Option<(Step, Vec<SumPart>)>,
}

impl JointSimulation {
    /// Before the first sum. Contributors are in the order of the graph.
    pub fn new(
        session: Session,
        contributors: Vec<Contributor>,
        masked: bool,
        graph: &Graph,
    ) -> Self {
        let position =
            |agent: &Contributor| session.members().position(agent.name()).unwrap_or(usize::MAX);
        let mut order: Vec<usize> = (0..contributors.len()).collect();
        order.sort_by_key(|&k| position(&contributors[k]));
        let zero = session.estimate().iter().map(|_| 0.0).collect::<Vec<f64>>();
        let seen = vec![zero; contributors.len()];
        let crossings = graph.flooded(contributors.len() as u64);
        Self {
            session,
            contributors,
            order,
            seen,
            masked,
            crossings,
            costs: Costs::default(),
            last: None,
        }
    }

    /// The last sum as everybody saw it: the question, and all parts in the order of the members.
    pub fn last(&self) -> Option<(&Step, &[SumPart])> {
        self.last.as_ref().map(|(step, parts)| (step, &parts[..]))
    }

    /// How sure the estimate is, where the sums told it.
    pub fn certainty(&self) -> Option<Certainty> {
        self.session.certainty()
    }

    /// How a run ended that asks no more: a search may have had too few values.
    fn ended(&self) -> Status {
        let (round, Some(agent)) = (self.session.done(), self.contributors.first()) else {
            return Status::Finished;
        };
        match self.certainty() {
            Some(Certainty { found: false, asked: [asked, budget], .. }) if asked >= budget => {
                let failure = Failure::OutOfEvaluations { budget, asked };
                let agent = agent.name().to_string();
                Status::ObjectiveFailed { agent, round, step: 0, failure }
            }
            _ => Status::Finished,
        }
    }

    /// One round; `false` once all are done.
    fn round(&mut self, observer: &mut dyn Observer) -> Result<bool, Status> {
        let round = self.session.done() + 1;
        let refused = |no: NoRound| Status::NoSum { round, reason: no.to_string() };
        let Some(step) = self.session.next().map_err(refused)? else { return Ok(false) };
        let receipts = self.charge(&step, observer)?;
        let parts = self.parts(&step, receipts)?;
        self.costs.oracle_calls += self.contributors.len() as u64 * self.session.calls();
        self.absorb(step, parts)?;
        Ok(true)
    }

    /// Goes on with everybody's part.
    fn absorb(&mut self, step: Step, parts: Vec<SumPart>) -> Result<(), Status> {
        let round = step.round;
        let refused = |no: NoRound| Status::NoSum { round, reason: no.to_string() };
        let sum = self.session.absorb(&step, &parts).map_err(refused)?;
        for (position, part) in parts.iter().enumerate() {
            self.seen[self.order[position]] = match (part, step.grid()) {
                (SumPart::Words(words), Some(grid)) if !self.masked => {
                    words.iter().map(|word| *word as i64 as f64 * grid).collect()
                }
                (SumPart::Plain(values), _) => values.to_vec(),
                _ => sum.clone(),
            };
        }
        self.last = Some((step, parts));
        self.costs.messages += self.crossings;
        self.costs.bytes += 8 * sum.len() as u64 * self.crossings;
        Ok(())
    }

    /// Takes the agents through the sums in their journals, which were made with this roster and
    /// are in the order of the graph. No row is asked and no noise is drawn; the observer sees what
    /// it would have seen, and stops nothing.
    pub fn replay(
        &mut self,
        mut pasts: Vec<VecDeque<PastPart>>,
        roster: Option<Digest>,
        observer: &mut dyn Observer,
    ) -> Result<Status, NotReplayed> {
        roster.into_iter().for_each(|roster| self.session.reopen(roster));
        loop {
            let round = self.session.done() + 1;
            let step = match self.session.next() {
                Ok(Some(step)) => step,
                Ok(None) => return Ok(Status::Finished),
                Err(no) => return Ok(Status::NoSum { round, reason: no.to_string() }),
            };
            let mut parts = Vec::with_capacity(self.order.len());
            for &k in &self.order {
                let agent = &mut self.contributors[k];
                let Some(past) = pasts.get_mut(k).and_then(VecDeque::pop_front) else {
                    return Ok(Status::Stopped { round: round - 1 });
                };
                let recalled = agent.recall(&step, past).map_err(|why| NotReplayed {
                    agent: agent.name().into(),
                    round,
                    why,
                })?;
                parts.push(recalled.contribution.part());
            }
            self.costs.oracle_calls += self.contributors.len() as u64 * self.session.calls();
            if let Err(status) = self.absorb(step, parts) {
                return Ok(status);
            }
            let _ = observer.round(&RoundView { round, simulation: self });
        }
    }

    /// Charge and persist before any noise is drawn: what is not written down cannot leave.
    fn charge(&mut self, step: &Step, observer: &mut dyn Observer) -> Result<Vec<Receipt>, Status> {
        let mut receipts = Vec::with_capacity(self.order.len());
        for (position, &k) in self.order.iter().enumerate() {
            let agent = &mut self.contributors[k];
            let Charged { receipt, entry, .. } = agent.charge(step, position).map_err(|no| {
                let (agent, rounds) = (agent.name().into(), step.round - 1);
                Status::BudgetExhausted { agent, rounds, reason: no.to_string() }
            })?;
            if let Some(entry) = entry
                && observer.persist(k, &entry).is_break()
            {
                return Err(Status::Stopped { round: step.round - 1 });
            }
            receipts.push(receipt);
        }
        Ok(receipts)
    }

    /// Everybody's part, in the order of the members.
    fn parts(&mut self, step: &Step, receipts: Vec<Receipt>) -> Result<Vec<SumPart>, Status> {
        let mut by_agent: Vec<(usize, Receipt)> =
            self.order.iter().copied().zip(receipts).collect();
        by_agent.sort_by_key(|(k, _)| *k);
        let mut positions = vec![0; self.order.len()];
        self.order.iter().enumerate().for_each(|(position, &k)| positions[k] = position);
        let contributions: Vec<Result<Contribution, Status>> = self
            .contributors
            .par_iter_mut()
            .zip(by_agent)
            .map(|(agent, (k, receipt))| agent.part(step, positions[k], receipt))
            .collect();
        let mut parts: Vec<Option<SumPart>> = vec![None; self.order.len()];
        for (k, contribution) in contributions.into_iter().enumerate() {
            parts[positions[k]] = Some(contribution?.part());
        }
        Ok(parts.into_iter().flatten().collect())
    }
}

impl Simulation for JointSimulation {
    fn run(&mut self, observer: &mut dyn Observer) -> Status {
        loop {
            match self.round(observer) {
                Err(status) => return status,
                Ok(false) => return self.ended(),
                Ok(true) => {}
            }
            let round = self.session.done();
            let last = round == self.session.rounds();
            if observer.round(&RoundView { round, simulation: self }).is_break() && !last {
                return Status::Stopped { round };
            }
        }
    }

    fn len(&self) -> usize {
        self.contributors.len()
    }

    fn release(&self, k: usize) -> &[f64] {
        &self.seen[k]
    }

    fn estimate(&self, _k: usize) -> Vec<f64> {
        self.session.estimate()
    }

    fn ledger(&self, k: usize) -> &Ledger {
        self.contributors[k].ledger()
    }

    fn run_id(&self, k: usize) -> RunId {
        self.contributors[k].run()
    }

    fn costs(&self) -> Costs {
        self.costs
    }

    fn told(&self) -> Option<Told> {
        self.session.told()
    }

    fn sums(&self) -> Option<&JointSimulation> {
        Some(self)
    }

    fn sums_mut(&mut self) -> Option<&mut JointSimulation> {
        Some(self)
    }
}
