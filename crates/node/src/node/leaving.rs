//! Neighbours that stay away or go, and this agent's own leaving.

use super::{End, Node, NodeError, OnLoss, Peer};
use crate::journal::JournalRecord;
use crate::wire::Body;
use std::time::Duration;

impl Node {
    pub(super) fn lose_patience(&mut self, now: Duration) -> Result<(), NodeError> {
        let silent = |peer: &Peer| now.saturating_sub(peer.heard);
        let missing = |peer: &&Peer| {
            peer.left.is_none()
                && peer.has_met()
                && self.agent.needs(peer.index).is_some_and(|needs| needs <= self.agent.round())
                && silent(peer) > self.circle.settings.patience
        };
        let Some(peer) = self.circle.peers.iter().find(missing) else { return Ok(()) };
        let (index, name, silent) = (peer.index, peer.name.clone(), silent(peer));
        let round = self.agent.round();
        match self.circle.settings.on_loss {
            OnLoss::Continue if self.others(index) > 0 => self.leave(index),
            _ => {
                self.stop(End::NeighbourLost { name, silent, round });
                Ok(())
            }
        }
    }

    fn others(&self, index: usize) -> usize {
        self.circle.peers.iter().filter(|peer| peer.left.is_none() && peer.index != index).count()
    }

    /// A neighbour says that it goes.
    pub(super) fn bye(&mut self, position: usize, reason: String, now: Duration) {
        let Peer { index, name, .. } = self.circle.peers[position].clone();
        let round = self.agent.round();
        // What it has sent before is enough for an agent that is over.
        if self.over_since.is_some() {
            self.circle.peers[position].left = Some(round);
            return;
        }
        self.go_without(index, End::NeighbourLeft { name, reason, round }, now);
    }

    /// A neighbour says that it went on without us.
    pub(super) fn left_behind(&mut self, position: usize, round: u64, now: Duration) {
        let Peer { index, name, .. } = self.circle.peers[position].clone();
        self.go_without(index, End::LeftBehind { name, round }, now);
    }

    fn go_without(&mut self, index: usize, otherwise: End, now: Duration) {
        let may = self.circle.settings.on_loss == OnLoss::Continue && self.others(index) > 0;
        if !may || self.leave(index).is_err() {
            self.stop(otherwise);
        } else {
            self.round_since = now;
        }
    }

    /// Ends this agent's part, and says so.
    pub(super) fn stop(&mut self, end: End) {
        self.tell_all(&Body::bye(&format!("{end:?}")));
        self.end = Some(end);
    }

    /// Goes on without a neighbour, from a round that is durable before anything is released again.
    fn leave(&mut self, index: usize) -> Result<(), NodeError> {
        let round = self.agent.round();
        if !self.taken.is_empty() {
            self.persist_inputs()?;
        }
        self.forget(index)?;
        // Nothing has left this process since: after a crash the edge is gone, too, or everything
        // is as before.
        self.journal.persist(&JournalRecord::Left { neighbour: index, round })?;
        Ok(())
    }

    pub(super) fn forget(&mut self, index: usize) -> Result<(), NodeError> {
        let round = self.agent.round();
        let Some(position) = self.circle.peers.iter().position(|peer| peer.index == index) else {
            return Err(NodeError::Order(round));
        };
        self.circle.peers[position].left = Some(round);
        self.say(position, Body::left(round));
        self.agent
            .leave(index)
            .map_err(|why| NodeError::Leave { name: self.circle.peers[position].name.clone(), why })
    }
}
