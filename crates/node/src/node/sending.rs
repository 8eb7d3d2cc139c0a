//! What goes out to neighbours, and when again.

use super::peer::SLOWEST_RESEND;
use super::{FAREWELL, Node, Peer};
use crate::wire::{Body, Frame};
use std::time::Duration;

impl Node {
    /// Sends the newest vector to everybody.
    pub(super) fn send_newest(&mut self, now: Duration) {
        for position in 0..self.peers.len() {
            if let (None, Some(newest)) = (self.peers[position].left, self.recent.back()) {
                self.say(position, Body::vector(newest.clone()));
                self.peers[position].spoke(now);
                self.peers[position].progress(now);
            }
        }
    }

    /// Sends again what a neighbour misses, or a sign of life.
    pub(super) fn repeat(&mut self, position: usize, now: Duration) {
        let needs = self.peers[position].needs;
        let missed = self.recent.iter().filter(|vector| vector.round() >= needs);
        let missed: Vec<Body> = missed.cloned().map(Body::vector).collect();
        if missed.is_empty() {
            self.say(position, Body::note());
        }
        self.stats.repeated += missed.len() as u64;
        missed.into_iter().for_each(|body| self.say(position, body));
        self.peers[position].repeated(now);
    }

    pub(super) fn tell_all(&mut self, body: &Body) {
        for position in 0..self.peers.len() {
            if self.peers[position].left.is_none() {
                self.say(position, body.clone());
            }
        }
    }

    pub(super) fn say(&mut self, position: usize, body: Body) {
        let frame = self.frame(position, body);
        self.post(position, frame.encode());
    }

    fn frame(&self, position: usize, body: Body) -> Frame {
        let peer = &self.peers[position];
        Frame {
            network: self.settings.network,
            program: self.settings.program.clone(),
            from: self.agent.name().into(),
            to: peer.name.clone(),
            round: self.agent.round() + u64::from(self.over_since.is_some()),
            needs: self.agent.needs(peer.index).unwrap_or(0),
            has: peer.has,
            session: self.settings.session,
            number: self.stats.sent.0,
            echo: peer.session,
            ledger: self.durable,
            yours: peer.seen,
            body,
        }
    }

    fn post(&mut self, position: usize, bytes: Vec<u8>) {
        self.stats.sent.0 += 1;
        self.stats.sent.1 += bytes.len() as u64;
        self.outgoing.push((self.peers[position].index, bytes));
    }

    /// What is to be sent, in order.
    pub fn outgoing(&mut self) -> Vec<(usize, Vec<u8>)> {
        std::mem::take(&mut self.outgoing)
    }

    /// When [`Node::work`] has something to do again, if nothing arrives before.
    pub fn wake(&self) -> Duration {
        let repeats = self.peers.iter().filter(|peer| peer.left.is_none()).map(Peer::next_send);
        let limited = self.settings.round_limit.is_some() && self.over_since.is_none();
        let limit = limited.then_some(self.limit_at);
        let last = self.over_since.map(|since| since + self.settings.linger);
        let farewell = self.complete_since.map(|complete| complete + FAREWELL);
        let next = repeats.chain(limit).chain(last).chain(farewell).min();
        next.unwrap_or(self.round_since + SLOWEST_RESEND)
    }
}
