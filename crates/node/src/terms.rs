//! What a node is told, how it can end or fail, and what it notes down.

use crate::journal::JournalError;
use dzoa::agent::{CannotLeave, CannotResume, ProtocolError};
use dzoa::trace::Status;
use std::time::Duration;
use thiserror::Error;

/// What all agents of a network have in common, and how patient this one is.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Digest of the network file.
    pub network: [u8; 32],
    /// Version of the program.
    pub program: String,
    /// A random number of this process.
    pub session: u64,
    /// All agents, in the order of the graph.
    pub names: Vec<String>,
    /// How long a neighbour may be silent.
    pub patience: Duration,
    /// What happens then.
    pub on_loss: OnLoss,
    /// After how long a round goes on without those that are late; never, in synchronous mode.
    pub round_limit: Option<Duration>,
    /// How many rounds a neighbour may be late.
    pub lag: u64,
    /// How long to stay after the end for neighbours that do not say they have everything.
    pub linger: Duration,
}

/// What to do about a neighbour that stays away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnLoss {
    /// Stop, and say so to the others.
    Stop,
    /// Go on without it.
    Continue,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// As the agent says.
    Agent(Status),
    /// A neighbour was silent for longer than the patience.
    NeighbourLost {
        /// Who.
        name: String,
        /// For how long.
        silent: Duration,
        /// Our round.
        round: u64,
    },
    /// A neighbour went, and said why.
    NeighbourLeft {
        /// Who.
        name: String,
        /// Why.
        reason: String,
        /// Our round.
        round: u64,
    },
    /// A neighbour remembers more of this agent than the agent does: its state or its ledger is an old one.
    RolledBack {
        /// Who remembers.
        name: String,
        /// What, with both sides' numbers.
        what: String,
    },
    /// A neighbour went on without us.
    LeftBehind {
        /// Who.
        name: String,
        /// From which round on.
        round: u64,
    },
}

/// A failure of this machine.
#[derive(Debug, Error)]
pub enum NodeError {
    /// The journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The ledger.
    #[error("{0}")]
    Ledger(String),
    /// The journal does not continue this agent.
    #[error("the journal does not continue this run: {0}")]
    Resume(#[from] CannotResume),
    /// The journal holds what no neighbour can have sent.
    #[error("the journal does not continue this run: {0}")]
    Replay(#[from] ProtocolError),
    /// The journal is an old one.
    #[error(
        "the journal ends with round {journal}, and the ledger was charged for round {ledger}: the state is an old one"
    )]
    JournalBehind {
        /// The last round in the journal.
        journal: u64,
        /// The last round of this run in the ledger.
        ledger: u64,
    },
    /// The ledger is an old one.
    #[error(
        "the journal holds {missing} releases that the ledger was never charged for: the ledger is an old one"
    )]
    LedgerBehind {
        /// Releases without a charge.
        missing: usize,
    },
    /// Fewer neighbours.
    #[error("cannot go on without `{name}`: {why}")]
    Leave {
        /// Who.
        name: String,
        /// Why not.
        why: CannotLeave,
    },
    /// The journal was written with another end in mind.
    #[error("the journal does not continue this run: round {0} cannot have ended as it says")]
    Order(u64),
}

/// Something that an honest neighbour would not have sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// From whom.
    pub from: String,
    /// What is wrong, with both sides' values.
    pub what: String,
    /// The bytes: evidence.
    pub frame: Vec<u8>,
}

/// What was counted since the start of this process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stats {
    /// Frames and bytes out.
    pub sent: (u64, u64),
    /// Frames and bytes in.
    pub received: (u64, u64),
    /// Vectors that were sent again.
    pub repeated: u64,
    /// Frames refused.
    pub refused: u64,
}
