//! What can be seen of a node from outside.

use super::{End, Node, Peer, Refusal, Stats};
use dzoa::agent::Agent;

impl Node {
    /// How it ended, once it has.
    pub fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// The agent.
    pub fn agent(&self) -> &Agent {
        &self.agent
    }

    /// The neighbours.
    pub fn peers(&self) -> &[Peer] {
        &self.circle.peers
    }

    /// Neighbours that it went on without, and from which round.
    pub fn left(&self) -> impl Iterator<Item = (&str, u64)> {
        let gone = |peer: &&Peer| !self.agent.neighbours().contains(&peer.index);
        self.circle
            .peers
            .iter()
            .filter(gone)
            .filter_map(|peer| Some((peer.name.as_str(), peer.left?)))
    }

    /// Whose vector of this round is missing.
    pub fn missing(&self) -> impl Iterator<Item = &Peer> {
        let round = self.agent.round();
        self.circle.peers.iter().filter(move |peer| {
            peer.left.is_none() && self.agent.needs(peer.index).is_some_and(|needs| needs <= round)
        })
    }

    /// Who is not known to have everything, once this agent is over.
    pub fn staying_for(&self) -> impl Iterator<Item = &Peer> {
        let last = self.agent.last_round();
        let over = self.over_since.is_some();
        self.circle
            .peers
            .iter()
            .filter(move |peer| over && peer.left.is_none() && peer.round <= last)
    }

    /// What was counted.
    pub fn stats(&self) -> Stats {
        self.circle.stats
    }

    /// What was refused since the last call.
    pub fn take_refusals(&mut self) -> Vec<Refusal> {
        std::mem::take(&mut self.circle.refusals)
    }
}
