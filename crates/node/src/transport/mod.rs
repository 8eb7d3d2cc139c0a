//! How frames get from one agent to another.

mod configuration;
mod recorded;
mod sealed;
mod simulated;
mod zenoh;

pub use self::zenoh::{Router, ZenohLink, free_port};
pub use configuration::{LinkSettings, Place, host, router_configuration};
pub use recorded::RecordedLink;
pub use sealed::{SealError, Sealer, Unsealed};
pub use simulated::{Endpoint, Faults, Outage, SimulatedNetwork};

use std::time::Duration;
use thiserror::Error;

/// A link to the neighbours. Frames may be lost, repeated and reordered on it; who sent one is
/// certain.
///
/// Two implementations: [`ZenohLink`] between machines, and [`Endpoint`] in one process, with
/// faults on purpose.
pub trait Transport {
    /// Sends a frame to the agent at this position in the graph.
    fn send(&mut self, to: usize, frame: Vec<u8>) -> Result<(), TransportError>;

    /// The next frame and its sender, waiting at most this long for it.
    fn receive(&mut self, wait: Duration) -> Option<(usize, Vec<u8>)>;

    /// The time since some fixed moment.
    fn now(&self) -> Duration;
}

/// A link that is not there.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct TransportError(pub String);
