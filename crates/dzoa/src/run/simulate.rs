//! The agents of Algorithm 1 in one process, on all cores.

use super::awake::Awake;
use super::drive::{OutOfStep, Releasing, drive};
use super::{Costs, Observer, Simulation};
use crate::agent::Agent;
use crate::primal::Workspace;
use crate::status::Status;
use dzoa_privacy::{Ledger, RunId};
use rayon::prelude::*;
use std::ops::ControlFlow;

impl Simulation for Vec<Agent> {
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
#[allow(clippy::ptr_arg, reason = "observers see a simulation, which is a vector")]
pub fn simulate(agents: &mut Vec<Agent>, observer: &mut dyn Observer) -> Status {
    drive(agents, &mut OnAllCores(Awake::new()), observer)
        .expect("agents in lockstep send what the protocol allows")
}

/// Every agent computes its own round.
struct OnAllCores(Awake);

impl Releasing for OnAllCores {
    type Error = OutOfStep;

    fn release(&mut self, agents: &mut [Agent]) -> Result<ControlFlow<()>, OutOfStep> {
        let Self(awake) = self;
        awake.next_round(agents.len());
        let each = agents.par_iter_mut().with_max_len(1);
        each.for_each_init(Workspace::default, |work, agent| awake.during(|| agent.compute(work)));
        Ok(ControlFlow::Continue(()))
    }
}
