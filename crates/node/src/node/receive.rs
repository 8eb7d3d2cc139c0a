//! What comes in from neighbours, and what of it is refused.

use super::{Node, NodeSettings, Refusal};
use crate::wire::{self, Body, Frame, Received};
use dzoa::agent::{Input, ProtocolError};
use std::time::Duration;

impl Node {
    /// Takes in bytes that the transport says are from this neighbour.
    pub fn receive(&mut self, from: usize, bytes: &[u8], now: Duration) {
        self.stats.received.0 += 1;
        self.stats.received.1 += bytes.len() as u64;
        let Some(position) = self.peers.iter().position(|peer| peer.index == from) else {
            let name = self.settings.names.get(from).cloned().unwrap_or_default();
            return self.refuse(name, "it is no neighbour".into(), bytes);
        };
        let name = self.peers[position].name.clone();
        let limit = wire::longest(self.agent.beta().len());
        let frame = match Frame::decode(bytes, limit) {
            Ok(frame) => frame,
            Err(error) => return self.refuse(name, error.to_string(), bytes),
        };
        if let Some(what) = self.difference(&frame, &name) {
            return self.refuse(name, what, bytes);
        }
        match self.greet(position, &frame, now) {
            Ok(true) if self.end.is_none() => {}
            Ok(_) => return,
            Err(what) => {
                self.peers[position].suspect = true;
                return self.refuse(name, what, bytes);
            }
        }
        let peer = &mut self.peers[position];
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
        match frame.body {
            Received::Note => {}
            Received::Vector { round, values: beta } => {
                let input = Input::Received { from, round, beta };
                if let Err(error) = self.take_in(position, input, now) {
                    self.peers[position].suspect = true;
                    return self.refuse(name, error.to_string(), bytes);
                }
            }
            Received::Bye { reason } => return self.bye(position, reason, now),
            Received::Left { round } => return self.left_behind(position, round, now),
        }
        let peer = &mut self.peers[position];
        // Whoever sends only what is refused does not make us wait for ever.
        if !peer.suspect {
            peer.heard = now;
        }
        let last = self.newest_round();
        let peer = &mut self.peers[position];
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
        let peer = &mut self.peers[position];
        peer.has = peer.has.max(round);
        if self.agent.needs(from) > needed {
            peer.suspect = false;
            peer.waited += now.saturating_sub(self.round_since);
            peer.progress(now);
        }
        Ok(())
    }

    /// What the neighbour has otherwise than we do.
    fn difference(&self, frame: &Frame<Received>, name: &str) -> Option<String> {
        let NodeSettings { network, program, names, .. } = &self.settings;
        let hex = |digest: &[u8; 32]| blake3::Hash::from(*digest).to_hex()[..16].to_string();
        if frame.network != *network {
            return Some(format!(
                "its network file has the digest {}, ours {}",
                hex(&frame.network),
                hex(network)
            ));
        }
        if frame.program != *program {
            return Some(format!("it runs version {}, we {program}", frame.program));
        }
        let ours = self.agent.name();
        if frame.from != name || frame.to != ours || !names.contains(&frame.from) {
            return Some(format!(
                "it came over the link from {name} to {ours}, but says from {} to {}",
                frame.from, frame.to
            ));
        }
        None
    }

    fn refuse(&mut self, from: String, what: String, bytes: &[u8]) {
        /// Refusals that wait until somebody fetches them, and bytes of each.
        const MOST: usize = 1000;
        const EVIDENCE: usize = 1 << 16;
        self.stats.refused += 1;
        if self.refusals.len() < MOST {
            let frame = bytes[..bytes.len().min(EVIDENCE)].to_vec();
            self.refusals.push(Refusal { from, what, frame });
        }
    }
}
