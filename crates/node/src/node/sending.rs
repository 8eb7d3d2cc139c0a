//! What goes out to neighbours, and when again.

use super::circle::Standing;
use super::peer::SLOWEST_RESEND;
use super::{FAREWELL, Node, Peer};
use crate::wire::Body;
use std::time::Duration;

impl Node {
    /// Sends the newest vector to everybody.
    pub(super) fn send_newest(&mut self, now: Duration) {
        for position in 0..self.circle.peers.len() {
            if let (None, Some(newest)) = (self.circle.peers[position].left, self.recent.back()) {
                let (round, body) = (newest.round(), Body::vector(newest.clone()));
                self.say(position, body);
                self.circle.peers[position].spoke(now);
                self.circle.peers[position].asked(round, now);
                self.circle.peers[position].progress(now);
            }
        }
    }

    /// Sends again what a neighbour misses, or a sign of life.
    pub(super) fn repeat(&mut self, position: usize, now: Duration) {
        let needs = self.circle.peers[position].needs;
        let missed = self.recent.iter().filter(|vector| vector.round() >= needs);
        let missed: Vec<Body> = missed.cloned().map(Body::vector).collect();
        if missed.is_empty() {
            self.say(position, Body::note());
        }
        self.circle.stats.repeated += missed.len() as u64;
        missed.into_iter().for_each(|body| self.say(position, body));
        self.circle.peers[position].repeated(now);
    }

    pub(super) fn tell_all(&mut self, body: &Body) {
        for position in 0..self.circle.peers.len() {
            if self.circle.peers[position].left.is_none() {
                self.say(position, body.clone());
            }
        }
    }

    pub(super) fn say(&mut self, position: usize, body: Body) {
        let standing = self.standing(position);
        self.circle.say(position, standing, body);
    }

    /// What a frame to this neighbour says of this agent.
    pub(super) fn standing(&self, position: usize) -> Standing {
        let index = self.circle.peers[position].index;
        Standing {
            round: self.agent.round() + u64::from(self.over_since.is_some()),
            needs: self.agent.needs(index).unwrap_or(0),
        }
    }

    /// What is to be sent, in order.
    pub fn outgoing(&mut self) -> Vec<(usize, Vec<u8>)> {
        std::mem::take(&mut self.circle.outgoing)
    }

    /// When [`Node::work`] has something to do again, if nothing arrives before.
    pub fn wake(&self) -> Duration {
        let repeats =
            self.circle.peers.iter().filter(|peer| peer.left.is_none()).map(Peer::next_send);
        let limited = self.circle.settings.round_limit.is_some() && self.over_since.is_none();
        let limit = limited.then_some(self.limit_at);
        let last = self.over_since.map(|since| since + self.circle.settings.linger);
        let farewell = self.complete_since.map(|complete| complete + FAREWELL);
        let next = repeats.chain(limit).chain(last).chain(farewell).min();
        next.unwrap_or(self.round_since + SLOWEST_RESEND)
    }
}
