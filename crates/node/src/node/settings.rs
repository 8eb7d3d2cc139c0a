//! What a node is told.

use dzoa::network::OnLoss;
use std::time::Duration;

/// What all agents of a network have in common, and how patient this one is.
#[derive(Clone, Debug)]
pub struct NodeSettings {
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
