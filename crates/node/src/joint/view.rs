//! What can be seen of it from outside.

use super::JointNode;
use crate::node::{End, Gained, NodeError, Peer, Refusal, Running, Stats};
use dzoa::joint::JointAgent;
use dzoa::privacy::Ledger;
use std::time::Duration;

impl JointNode {
    /// The agent.
    pub fn agent(&self) -> &JointAgent {
        &self.agent
    }
}

impl Running for JointNode {
    fn receive(&mut self, from: usize, bytes: &[u8], now: Duration) {
        JointNode::receive(self, from, bytes, now);
    }

    fn work(&mut self, now: &dyn Fn() -> Duration) -> Result<(), NodeError> {
        JointNode::work(self, now)
    }

    fn outgoing(&mut self) -> Vec<(usize, Vec<u8>)> {
        (0..self.circle.peers.len()).for_each(|position| self.flush(position));
        std::mem::take(&mut self.circle.outgoing)
    }

    fn wake(&self) -> Duration {
        JointNode::wake(self)
    }

    fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    fn peers(&self) -> &[Peer] {
        &self.circle.peers
    }

    fn stats(&self) -> Stats {
        self.circle.stats
    }

    fn take_refusals(&mut self) -> Vec<Refusal> {
        std::mem::take(&mut self.circle.refusals)
    }

    fn missing(&self) -> Vec<&str> {
        self.agent.missing().collect()
    }

    fn staying_for(&self) -> Vec<&Peer> {
        let turn = self.agent.turn();
        let over = self.over_since.is_some();
        let stays = |peer: &&Peer| over && peer.left.is_none() && peer.round < turn;
        self.circle.peers.iter().filter(stays).collect()
    }

    fn left(&self) -> Vec<(&str, u64)> {
        self.agent.without().collect()
    }

    fn ledger(&self) -> &Ledger {
        self.agent.ledger()
    }

    fn round(&self) -> u64 {
        JointNode::round(self)
    }

    fn rounds_done(&self) -> u64 {
        self.agent.rounds_done()
    }

    fn gained(&self) -> Gained {
        Gained {
            estimate: self.agent.estimate(),
            oracle_calls: self.agent.oracle_calls(),
            // Everybody's parts, which are passed on to every neighbour.
            sent: self.agent.rounds_done() * (self.post.len() * self.circle.peers.len()) as u64,
            neighbours: self.circle.peers.iter().filter(|peer| peer.left.is_none()).count(),
            ..Gained::default()
        }
    }

    fn summing(&self) -> Option<&JointAgent> {
        Some(&self.agent)
    }
}
