//! All agents of an algorithm in one process: drivers, observers and measures.

mod awake;
mod build;
mod drive;
pub mod evaluate;
mod lockstep;
mod observe;
mod record;
mod simulate;
mod sums;

pub use build::{
    BuildError, Releases, agents, agents_of, check, exact_agents, zeroth_order_agents,
};
pub use drive::{OutOfStep, Releasing, drive};
pub use lockstep::Lockstep;
pub use observe::{EarlyStop, Observer, Residuals, RoundView};
pub use record::{AgentRecord, BestSeen, Recorder, ValueRecord, ValueRecorder};
pub use simulate::simulate;
pub use sums::{JointSimulation, NotReplayed};

use crate::agent::Agent;
use crate::joint::Told;
use crate::status::Status;
use dzoa_privacy::{Ledger, RunId};

/// All agents of one algorithm in one process: what a run, a trace, an audit and a report work
/// with, whichever algorithm it is.
pub trait Simulation: Send + Sync {
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

    /// The agents, to drive them one by one.
    fn agents_mut(&mut self) -> &mut [Agent] {
        &mut []
    }

    /// The joint sums, where it takes them.
    fn sums(&self) -> Option<&JointSimulation> {
        None
    }

    /// Values of the objective, where the agents told them to each other.
    fn told(&self) -> Option<Told> {
        None
    }

    /// The joint sums, to replay them.
    fn sums_mut(&mut self) -> Option<&mut JointSimulation> {
        None
    }

    /// The baseline, where it is one.
    fn lockstep(&self) -> Option<&Lockstep> {
        None
    }

    /// The baseline, to replay it.
    fn lockstep_mut(&mut self) -> Option<&mut Lockstep> {
        None
    }
}

/// What a run took, over all agents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// Values of the objective, or gradients, that were computed. Exact solves are not counted.
    pub oracle_calls: u64,
    /// Vectors that went over a link from one agent to another, or to a coordinator.
    pub messages: u64,
    /// Their values, at eight bytes each.
    pub bytes: u64,
}
