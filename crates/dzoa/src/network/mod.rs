//! The network: who talks to whom.

pub(crate) mod gossip;
mod graph;
mod loss;
mod topology;

pub use graph::{Graph, GraphError};
pub use loss::OnLoss;
pub use topology::{TOPOLOGIES, Topology, TopologyEntry};
