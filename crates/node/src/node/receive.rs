//! What comes in from neighbours, and what of it is refused.

use super::Node;
use super::greeting::{Greeted, Own};
use crate::wire::{self, Body, Received};
use dzoa::agent::{Input, ProtocolError};
use std::time::Duration;

impl Node {
    /// Takes in bytes that the transport says are from this neighbour.
    pub fn receive(&mut self, from: usize, bytes: &[u8], now: Duration) {
        let limit = wire::longest(self.agent.beta().len());
        let Some((position, frame)) = self.circle.read(from, bytes, limit) else { return };
        let name = self.circle.peers[position].name.clone();
        let own = Own {
            ledger: self.agent.ledger(),
            sent: self.released.max(self.newest_round()),
            settled: self.circle.peers[position].has > 0,
            standing: self.standing(position),
            note: Body::note(),
        };
        match self.circle.greet(position, &frame, own, now) {
            Greeted::Fresh { first } if self.end.is_none() => {
                if first {
                    self.witness(position);
                }
            }
            Greeted::Fresh { .. } | Greeted::Stale => return,
            Greeted::Over(end) => return self.stop(end),
            Greeted::Refused(what) => {
                self.circle.peers[position].suspect = true;
                return self.circle.refuse(name, what, bytes);
            }
        }
        let peer = &mut self.circle.peers[position];
        if let Some(round) = peer.left {
            // It may have missed that we went on without it.
            if peer.may_answer(now) && !matches!(frame.body, Received::Left { .. }) {
                peer.spoke(now);
                self.say(position, Body::left(round));
            }
            return;
        }
        peer.met = true;
        peer.round = frame.round;
        peer.needs = frame.needs;
        peer.answered(frame.needs, now);
        match frame.body {
            Received::Note => {}
            Received::Vector { round, values: beta } => {
                let input = Input::Received { from, round, beta };
                if let Err(error) = self.take_in(position, input, now) {
                    self.circle.peers[position].suspect = true;
                    return self.circle.refuse(name, error.to_string(), bytes);
                }
            }
            Received::Bye { reason } => return self.bye(position, reason, now),
            Received::Left { round } => return self.left_behind(position, round, now),
            Received::Held { .. } | Received::Letters { .. } => {
                let what = "it speaks to everybody, and this agent does not".into();
                return self.circle.refuse(name, what, bytes);
            }
        }
        let peer = &mut self.circle.peers[position];
        // Whoever sends only what is refused does not make us wait for ever.
        if !peer.suspect {
            peer.heard = now;
        }
        let last = self.newest_round();
        let peer = &mut self.circle.peers[position];
        if peer.needs <= last && peer.may_answer(now) {
            self.repeat(position, now);
        }
    }

    /// Hands a neighbour's vector to the agent, and notes whether it was the one that was missing.
    fn take_in(
        &mut self,
        position: usize,
        input: Input,
        now: Duration,
    ) -> Result<(), ProtocolError> {
        let Input::Received { from, round, .. } = input;
        let needed = self.agent.needs(from);
        self.agent.handle(input)?;
        let peer = &mut self.circle.peers[position];
        peer.has = peer.has.max(round);
        if self.agent.needs(from) > needed {
            peer.suspect = false;
            peer.waited += now.saturating_sub(self.round_since);
            peer.progress(now);
        }
        Ok(())
    }

    /// Writes down in the ledger how far a neighbour's was seen.
    fn witness(&mut self, position: usize) {
        if let Some((name, seen)) = self.circle.to_witness(position) {
            self.agent.witness(&name, seen);
        }
    }

    /// Does so for all neighbours.
    pub(super) fn bear_witness(&mut self) {
        (0..self.circle.peers.len()).for_each(|position| self.witness(position));
    }
}
