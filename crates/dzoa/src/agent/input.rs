//! What goes into an agent, and what it refuses.

use std::sync::Arc;
use thiserror::Error;

/// What a driver tells an agent.
#[derive(Clone, Debug)]
pub enum Input {
    /// A neighbour's release arrived. Not a [`Release`](dzoa_privacy::Release) of ours: another
    /// type, on purpose.
    Received {
        /// The neighbour's position in the graph.
        from: usize,
        /// Its round.
        round: u64,
        /// Its vector.
        beta: Arc<[f64]>,
    },
}

/// A message that an honest neighbour would not have sent.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ProtocolError {
    /// Not a neighbour.
    #[error("agent {from} is not a neighbour")]
    NotANeighbour {
        /// Who.
        from: usize,
    },
    /// A vector of another length.
    #[error("agent {from} sent {got} values in round {round}, expected {expected}")]
    WrongDimension {
        /// Who.
        from: usize,
        /// Its round.
        round: u64,
        /// Values sent.
        got: usize,
        /// Values expected.
        expected: usize,
    },
    /// NaN or infinity.
    #[error("agent {from} sent a value that is not finite in round {round}")]
    NonFinite {
        /// Who.
        from: usize,
        /// Its round.
        round: u64,
    },
    /// Outside the ball that the sender would have moved it into.
    #[error("agent {from} sent a vector of norm {norm:e} in round {round}, more than {limit:e}")]
    HugeNorm {
        /// Who.
        from: usize,
        /// Its round.
        round: u64,
        /// Its norm.
        norm: f64,
        /// What is allowed.
        limit: f64,
    },
    /// Further ahead than an honest neighbour can be.
    #[error("agent {from} sent round {round} while this agent is in round {ours}")]
    TooFarAhead {
        /// Who.
        from: usize,
        /// Its round.
        round: u64,
        /// Our round.
        ours: u64,
    },
    /// Two different vectors for one round.
    #[error("agent {from} sent two different vectors for round {round}")]
    Equivocation {
        /// Who.
        from: usize,
        /// The round.
        round: u64,
    },
}
