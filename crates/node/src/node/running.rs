//! What whoever drives, shows or reports an agent over a network needs of it, whatever it says.

use super::{End, Node, NodeError, Peer, Refusal, Stats};
use dzoa::agent::Agent;
use dzoa::joint::JointAgent;
use dzoa::privacy::Ledger;
use std::collections::BTreeMap;
use std::time::Duration;

/// An agent over a network, without sockets or clock.
pub trait Running {
    /// Takes in bytes that the transport says are from this neighbour.
    fn receive(&mut self, from: usize, bytes: &[u8], now: Duration);

    /// Does what can be done.
    fn work(&mut self, now: &dyn Fn() -> Duration) -> Result<(), NodeError>;

    /// What is to be sent, in order.
    fn outgoing(&mut self) -> Vec<(usize, Vec<u8>)>;

    /// When there is something to do again, if nothing arrives before.
    fn wake(&self) -> Duration;

    /// How it ended, once it has.
    fn end(&self) -> Option<&End>;

    /// The neighbours.
    fn peers(&self) -> &[Peer];

    /// What was counted.
    fn stats(&self) -> Stats;

    /// What was refused since the last call.
    fn take_refusals(&mut self) -> Vec<Refusal>;

    /// Whose vector is missing.
    fn missing(&self) -> Vec<&str>;

    /// Who is not known to have everything, once this agent is over.
    fn staying_for(&self) -> Vec<&Peer>;

    /// Neighbours that it went on without, and from which round.
    fn left(&self) -> Vec<(&str, u64)>;

    /// The same, for files.
    fn went_on_without(&self) -> BTreeMap<String, u64> {
        self.left().into_iter().map(|(name, round)| (name.into(), round)).collect()
    }

    /// What was charged to the rows.
    fn ledger(&self) -> &Ledger;

    /// The round that it is in, or goes on in.
    fn round(&self) -> u64;

    /// Rounds that are done.
    fn rounds_done(&self) -> u64;

    /// What came of it so far.
    fn gained(&self) -> Gained;

    /// The agent, where it exchanges vectors with its neighbours.
    fn exchanging(&self) -> Option<&Agent> {
        None
    }

    /// The agent, where it hears everybody.
    fn summing(&self) -> Option<&JointAgent> {
        None
    }
}

/// What an agent has come to, and what that took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gained {
    /// What it reports.
    pub estimate: Vec<f64>,
    /// Values or gradients that were computed.
    pub oracle_calls: u64,
    /// Vectors of its own that were sent.
    pub sent: u64,
    /// Whether u_2 was raised.
    pub step_raised: bool,
    /// Releases that were moved into the public ball.
    pub moved_inside: u64,
    /// Rounds in which the exact solver had to finish.
    pub finished_exactly: u64,
    /// Difference quotients that were clipped.
    pub clipped: u64,
    /// Neighbours that are left.
    pub neighbours: usize,
}

impl Running for Node {
    fn receive(&mut self, from: usize, bytes: &[u8], now: Duration) {
        Node::receive(self, from, bytes, now);
    }

    fn work(&mut self, now: &dyn Fn() -> Duration) -> Result<(), NodeError> {
        Node::work(self, now)
    }

    fn outgoing(&mut self) -> Vec<(usize, Vec<u8>)> {
        Node::outgoing(self)
    }

    fn wake(&self) -> Duration {
        Node::wake(self)
    }

    fn end(&self) -> Option<&End> {
        Node::end(self)
    }

    fn peers(&self) -> &[Peer] {
        Node::peers(self)
    }

    fn stats(&self) -> Stats {
        Node::stats(self)
    }

    fn take_refusals(&mut self) -> Vec<Refusal> {
        Node::take_refusals(self)
    }

    fn missing(&self) -> Vec<&str> {
        Node::missing(self).map(|peer| peer.name.as_str()).collect()
    }

    fn staying_for(&self) -> Vec<&Peer> {
        Node::staying_for(self).collect()
    }

    fn left(&self) -> Vec<(&str, u64)> {
        Node::left(self).collect()
    }

    fn ledger(&self) -> &Ledger {
        self.agent().ledger()
    }

    fn round(&self) -> u64 {
        self.agent().round()
    }

    fn rounds_done(&self) -> u64 {
        self.agent().rounds_done()
    }

    fn gained(&self) -> Gained {
        let agent = self.agent();
        Gained {
            estimate: agent.estimate(),
            oracle_calls: agent.oracle_calls(),
            sent: agent.sent(),
            step_raised: agent.step_raised(),
            moved_inside: agent.moved_inside(),
            finished_exactly: agent.finished_exactly(),
            clipped: agent.clipped(),
            neighbours: agent.neighbours().len(),
        }
    }

    fn exchanging(&self) -> Option<&Agent> {
        Some(self.agent())
    }
}
