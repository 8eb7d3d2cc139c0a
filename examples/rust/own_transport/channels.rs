//! The transport: one channel for each agent, in memory.
//!
//! Frames may be lost, repeated and reordered on a transport: the nodes repeat what was not
//! acknowledged. But it must be certain who sent a frame: here every end gives its own position,
//! between machines a certificate proves it.

use dzoa_node::transport::{Transport, TransportError};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// A frame and the position of its sender.
type Mail = (usize, Vec<u8>);

/// One agent's end: a channel to everybody, and one from everybody.
pub struct Channels {
    own: usize,
    others: Vec<Sender<Mail>>,
    inbox: Receiver<Mail>,
    started: Instant,
}

impl Channels {
    /// The ends of so many agents, in their order.
    pub fn between(agents: usize) -> Vec<Self> {
        let (others, inboxes): (Vec<_>, Vec<_>) = (0..agents).map(|_| channel()).unzip();
        let started = Instant::now();
        let end = |(own, inbox)| Self { own, others: others.clone(), inbox, started };
        inboxes.into_iter().enumerate().map(end).collect()
    }
}

impl Transport for Channels {
    fn send(&mut self, to: usize, frame: Vec<u8>) -> Result<(), TransportError> {
        // The node takes an error for a lost frame: a link may be down for a while.
        self.others[to].send((self.own, frame)).map_err(|gone| TransportError(gone.to_string()))
    }

    fn receive(&mut self, wait: Duration) -> Option<(usize, Vec<u8>)> {
        self.inbox.recv_timeout(wait).ok()
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }
}
