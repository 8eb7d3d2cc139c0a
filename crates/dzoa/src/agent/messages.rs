//! What comes out of an agent.

use super::Averaged;
use crate::primal::Primal;
use crate::status::Status;
use dzoa_privacy::{BrokenSeal, Charge, Entry, Release, Sealed};
use std::sync::Arc;
use thiserror::Error;

/// The largest norm of a vector between real agents whose step has no radius of its own
/// ([`PrimalStep::radius`](crate::primal::PrimalStep::radius)). No scale of honest data comes near
/// it, and sums of squares of what is below it stay finite. A simulation needs no such limit: it
/// sees its agents leave the finite numbers by itself.
pub const LARGEST_NORM: f64 = 1e100;

/// What an agent asks of its driver.
#[derive(Debug)]
pub enum Output {
    /// Call [`Agent::compute`](super::Agent::compute). Asked again until it is done.
    Compute,
    /// Make this entry of the ledger durable, before anything that comes after it is sent.
    Persist(Entry),
    /// A round is over: this is what it took in. A driver that may crash persists it before
    /// anything that comes after it is computed or sent.
    Completed(Inputs),
    /// Send this to every neighbour.
    Send(Envelope),
    /// The run is over.
    Done(Status),
}

/// What one round took in from the neighbours.
#[derive(Clone, Debug, PartialEq)]
pub struct Inputs {
    /// The round that it completed.
    pub round: u64,
    /// Sender, its round, its vector.
    pub vectors: Vec<(usize, u64, Arc<[f64]>)>,
}

/// A round that was charged and released before a restart, with everything that a fresh agent needs
/// to take it up again.
#[derive(Clone, Debug, PartialEq)]
pub struct Past {
    /// The charge.
    pub charge: Charge,
    /// What was released.
    pub release: Sealed,
    /// What the primal step remembers: private.
    pub memory: Vec<f64>,
    /// What the agent has counted so far: private in part.
    pub counters: Counters,
}

/// What an agent counts over its rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters {
    /// Values of the objective asked for.
    pub oracle_calls: u64,
    /// Whether `u_2` was ever raised to what the objective can resolve.
    pub step_raised: bool,
    /// Rounds in which an exact solver had to finish: a local value.
    pub finished_exactly: u64,
    /// Difference quotients that were clipped: a local value.
    pub clipped: u64,
}

impl Counters {
    /// Counts one primal step.
    pub(super) fn add(&mut self, primal: &Primal) {
        self.oracle_calls += primal.oracle_calls;
        self.step_raised |= primal.step_raised;
        self.finished_exactly += u64::from(primal.finished_exactly);
        self.clipped += primal.clipped;
    }
}

/// A journal that does not continue this agent.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum CannotResume {
    /// The round was made from other inputs.
    #[error(
        "round {round} was made from inputs with the digest {persisted}, and these rows, settings \
         and vectors have {now}"
    )]
    OtherInputs {
        /// The round.
        round: u64,
        /// Digest of the inputs in the journal.
        persisted: String,
        /// Digest of what is here now.
        now: String,
    },
    /// The release is not what was charged for.
    #[error(transparent)]
    BrokenSeal(#[from] BrokenSeal),
    /// The release is for another round, or the agent is over.
    #[error("the agent is not at the start of a round")]
    NotReady,
}

/// A vector on its way to the neighbours.
#[derive(Clone, Debug)]
#[doc(alias = "Algorithm 1, line 3: sharing")]
pub struct Envelope {
    /// The sender's position in the graph.
    pub from: usize,
    /// m; the rounds of the final averaging follow on those of the algorithm.
    pub round: u64,
    /// What is sent.
    pub message: Message,
}

/// What may be sent.
#[derive(Clone, Debug)]
pub enum Message {
    /// The answer of a fresh query of the rows, charged and released.
    Release(Release),
    /// A mean of releases: free.
    Average(Averaged),
}

impl Message {
    /// The values on the wire.
    pub fn values(&self) -> &Arc<[f64]> {
        match self {
            Message::Release(release) => release.values(),
            Message::Average(average) => average.values(),
        }
    }
}
