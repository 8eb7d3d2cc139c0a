//! The network: who talks to whom.

pub(crate) mod gossip;
mod graph;
mod topology;

pub use graph::{Graph, GraphError};
pub use topology::{TOPOLOGIES, Topology, TopologyEntry};
