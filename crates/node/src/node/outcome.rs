//! How a node can end or fail, what it refuses, and what it counts.

use crate::journal::JournalError;
use dzoa::Status;
use dzoa::agent::{CannotLeave, CannotResume, ProtocolError};
use std::fmt;
use std::time::Duration;
use thiserror::Error;

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
    /// A neighbour remembers more of this agent than the agent does: its state or its ledger is an
    /// old one.
    RolledBack {
        /// Who remembers.
        name: String,
        /// What, with both sides' numbers.
        what: String,
    },
    /// An agent says two things, or has another roster, plan or past than we do.
    Disagreed {
        /// Who, and about what.
        what: String,
    },
    /// Too few are left to go on.
    TooFewLeft {
        /// Who is gone.
        gone: Vec<String>,
        /// Our round.
        round: u64,
    },
    /// Those that are left do not agree who is gone, or somebody has the sum that others gave up.
    NoAgreement {
        /// Whom this agent would have gone on without.
        gone: Vec<String>,
        /// Our round.
        round: u64,
    },
    /// Others went on without us: a neighbour, or so many agents that no sum can be taken with us.
    LeftBehind {
        /// Who.
        name: String,
        /// From which round on.
        round: u64,
    },
}

impl End {
    /// One word for files and tables.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Agent(status) => status.word(),
            Self::NeighbourLost { .. } => "neighbour-lost",
            Self::NeighbourLeft { .. } => "neighbour-left",
            Self::RolledBack { .. } => "rolled-back",
            Self::Disagreed { .. } => "disagreed",
            Self::TooFewLeft { .. } => "too-few-left",
            Self::NoAgreement { .. } => "no-agreement",
            Self::LeftBehind { .. } => "left-behind",
        }
    }
}

impl End {
    /// What its owner can do; `None` where the agent's part is done.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Agent(Status::Finished) => return None,
            Self::Agent(_) => "the neighbours were told; what was released stays released",
            Self::NeighbourLost { .. } => {
                "the same command goes on from there once the neighbour is back; or set \
                 network.on_loss = \"continue\", where the algorithm can"
            }
            Self::NeighbourLeft { .. } => {
                "the same command goes on from there once the neighbour is back"
            }
            Self::RolledBack { .. } => {
                "restore the newest state directory and ledger; without a newer state begin a new \
                 run in a new directory, with a ledger that holds every charge"
            }
            Self::Disagreed { .. } => {
                "compare network files, versions and rosters by telephone before a new run"
            }
            Self::TooFewLeft { .. } | Self::NoAgreement { .. } => {
                "the model of the last sum stands; the others' rows can only be added in a new run"
            }
            Self::LeftBehind { .. } => {
                "the others' result stands without this agent's rows from that round on"
            }
        })
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent(status) => write!(f, "status {status:?}"),
            Self::NeighbourLost { name, silent, round } => write!(
                f,
                "status NeighbourLost: nothing usable from {name} for {:.0} s, in round {round}",
                silent.as_secs_f64()
            ),
            Self::NeighbourLeft { name, reason, round } => {
                write!(f, "status NeighbourLeft: {name} stopped, in our round {round}: {reason}")
            }
            Self::RolledBack { name, what } => write!(
                f,
                "status RolledBack: {name} remembers more of this agent than is here: {what}"
            ),
            Self::Disagreed { what } => write!(f, "status Disagreed: {what}"),
            Self::TooFewLeft { gone, round } => write!(
                f,
                "status TooFewLeft: {} are gone in round {round}, and without them no more than \
                 half of the agents are left",
                gone.join(", ")
            ),
            Self::NoAgreement { gone, round } => write!(
                f,
                "status NoAgreement: the agents that are left do not all go on without {} from \
                 round {round}",
                gone.join(", ")
            ),
            Self::LeftBehind { name, round } => {
                write!(f, "status LeftBehind: {name} went on without this agent from round {round}")
            }
        }
    }
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
        "the journal ends with round {journal}, and the ledger was charged for round {ledger}: \
         the state is an old one"
    )]
    JournalBehind {
        /// The last round in the journal.
        journal: u64,
        /// The last round of this run in the ledger.
        ledger: u64,
    },
    /// The ledger is an old one.
    #[error(
        "the journal holds {missing} releases that the ledger was never charged for: the ledger \
         is an old one"
    )]
    LedgerBehind {
        /// Releases without a charge.
        missing: usize,
    },
    /// The run is not over, and what its noise follows from is gone.
    #[error("the root key of this run is missing, and the run is not over")]
    NoRoot,
    /// Fewer neighbours.
    #[error("cannot go on without `{name}`: {why}")]
    Leave {
        /// Who.
        name: String,
        /// Why not.
        why: CannotLeave,
    },
    /// The certificate's key does not sign.
    #[error("the key of this agent's certificate does not sign")]
    Signature,
    /// The journal was written with another end in mind.
    #[error("the journal does not continue this run: round {0} cannot have ended as it says")]
    Order(u64),
}

impl NodeError {
    /// What its owner can do.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Journal(_) | Self::Ledger(_) => {
                "nothing was sent that is not kept; mend the disk and start again"
            }
            Self::Leave { .. } => "start again when the neighbour is back",
            Self::JournalBehind { .. } => {
                "restore the newest state directory; or begin a new run in a new one with the same \
                 ledger, charged anew"
            }
            Self::NoRoot => {
                "restore root.key from the newest backup of the state directory; or begin a new \
                 run in a new one with the same ledger, charged anew"
            }
            Self::LedgerBehind { .. } => {
                "restore the newest ledger: what it lacks was released all the same"
            }
            _ => {
                "restore the state directory, or start a new run in a new one with the same ledger"
            }
        }
    }
}

/// Something that an honest neighbour would not have sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// From whom.
    pub from: String,
    /// What is wrong, with both sides' values.
    pub what: String,
    /// The bytes, or the first of many: evidence.
    pub frame: Vec<u8>,
    /// How many there were.
    pub length: usize,
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
