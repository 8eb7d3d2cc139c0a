//! What neighbours tell each other before anything new is released: how far they know each other.
//!
//! A machine that was restored from a backup does not know that it was. Its neighbours do: they
//! remember the last vector that they have of it, and how long its ledger was. So every process
//! first hears from all of its neighbours, and compares. A random number that each side makes the
//! other echo tells a word to this process from one that was on its way to an earlier one.

use super::{End, Node, Peer};
use crate::wire::{Body, Frame, Received};
use dzoa::privacy::Seen;
use std::time::Duration;

impl Node {
    /// Whether every neighbour has said to this process what it knows of this agent.
    pub(super) fn is_greeted(&self) -> bool {
        self.peers.iter().all(|peer| peer.greeted || peer.left.is_some())
    }

    /// Takes in what a frame says beside its body, and says whether it was said to this process:
    /// what was not is answered, so that it will be. Fails where the sender's ledger is an old one,
    /// and ends this agent where its own state or ledger is.
    pub(super) fn greet(
        &mut self,
        position: usize,
        frame: &Frame<Received>,
        now: Duration,
    ) -> Result<bool, String> {
        let said_to_us = frame.echo == self.settings.session;
        let compared = match said_to_us {
            true => self.compare_ledgers(position, frame),
            false => Ok(()),
        };
        let fresh = said_to_us && compared.is_ok();
        if let Some(what) = self.remembered(frame).filter(|_| said_to_us) {
            let name = self.peers[position].name.clone();
            self.stop(End::RolledBack { name, what });
            return Ok(false);
        }
        let peer = &mut self.peers[position];
        let before = std::mem::replace(&mut peer.session, frame.session);
        let news = before != frame.session && (fresh || !peer.greeted);
        // Also whoever is refused is answered: only so does it learn what is remembered of it.
        if news || (!fresh && peer.may_answer(now)) {
            peer.spoke(now);
            self.say(position, Body::note());
        }
        let peer = &mut self.peers[position];
        if !fresh && peer.greeted {
            // Perhaps an old frame: it is answered, and the process that was heard stays the one
            // that is spoken to.
            peer.session = before;
        }
        if fresh && !peer.greeted {
            peer.greeted = true;
            self.witness(position);
        }
        compared.map(|()| fresh)
    }

    /// Refuses a neighbour whose ledger is shorter than it was, or another one.
    fn compare_ledgers(&mut self, position: usize, frame: &Frame<Received>) -> Result<(), String> {
        let known = self.known(position, frame.ledger);
        let peer = &mut self.peers[position];
        // Frames may overtake each other.
        if peer.session == frame.session && frame.number < peer.number {
            return Ok(());
        }
        if let Some(known) = known
            && (known.contradicts(&frame.ledger) || known.ledger != frame.ledger.ledger)
        {
            return Err(format!(
                "its ledger went backwards or was replaced: it was seen with {}, and now has {}",
                described(&known),
                described(&frame.ledger)
            ));
        }
        (peer.seen, peer.number) = (Some(frame.ledger), frame.number);
        Ok(())
    }

    /// How far this neighbour's ledger was seen before: in this run, or in an earlier one.
    fn known(&self, position: usize, now: Seen) -> Option<Seen> {
        let Peer { seen, name, .. } = &self.peers[position];
        seen.or_else(|| self.agent.ledger().witnessed(name, now.ledger))
    }

    /// What the neighbour knows of this agent that the agent does not.
    fn remembered(&self, frame: &Frame<Received>) -> Option<String> {
        let ours = self.durable;
        if let Some(theirs) = frame.yours.filter(|theirs| theirs.contradicts(&ours)) {
            return Some(format!(
                "it has seen this agent's ledger with {}, and here it has {}",
                described(&theirs),
                described(&ours)
            ));
        }
        // One round more may be there if the disk lost the last record: it is computed again, to
        // the same bits.
        let sent = self.released.max(self.newest_round());
        (frame.has > sent + 1).then(|| {
            format!(
                "it has this agent's vector of round {}, and the journal here ends with round \
                 {sent}",
                frame.has
            )
        })
    }

    /// Writes down in the ledger how far a neighbour's was seen.
    fn witness(&mut self, position: usize) {
        let Peer { seen, name, .. } = &self.peers[position];
        if let Some(seen) = seen.filter(|seen| seen.ledger != Default::default()) {
            let name = name.clone();
            self.agent.witness(&name, seen);
        }
    }

    /// Does so for all neighbours.
    pub(super) fn bear_witness(&mut self) {
        (0..self.peers.len()).for_each(|position| self.witness(position));
    }
}

fn described(seen: &Seen) -> String {
    let head = seen.head.to_string();
    format!("{} entries, head {}", seen.entries, &head[..16])
}
