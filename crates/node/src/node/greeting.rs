//! What neighbours tell each other before anything new is released: how far they know each other.
//!
//! A machine that was restored from a backup does not know that it was. Its neighbours do: they
//! remember the last vector that they have of it, and how long its ledger was. So every process
//! first hears from all of its neighbours, and compares. A random number that each side makes the
//! other echo tells a word to this process from one that was on its way to an earlier one.

use super::circle::{Circle, Standing};
use super::{End, Peer};
use crate::wire::{Body, Frame, Received};
use dzoa::privacy::{Ledger, Seen};
use std::time::Duration;

/// What an agent knows of itself, to compare with what a neighbour remembers.
pub(crate) struct Own<'a> {
    pub(crate) ledger: &'a Ledger,
    /// The last vector that it sent.
    pub(crate) sent: u64,
    /// Whether the neighbour released something in this run: before that it may still come with
    /// another state and another ledger, and nothing was charged to the one it showed.
    pub(crate) settled: bool,
    pub(crate) standing: Standing,
    /// What it says where nothing else is to be said.
    pub(crate) note: Body,
}

/// What a frame was worth beside its body.
pub(crate) enum Greeted {
    /// It was said to this process. The first such word of a neighbour is written down.
    Fresh { first: bool },
    /// It was said to an earlier process, and was answered.
    Stale,
    /// The sender's ledger is an old one, or another.
    Refused(String),
    /// The sender remembers more of this agent than the agent does.
    Over(End),
}

impl Circle {
    /// Whether every neighbour has said to this process what it knows of this agent.
    pub(crate) fn is_greeted(&self) -> bool {
        self.peers.iter().all(|peer| peer.greeted || peer.left.is_some())
    }

    /// Takes in what a frame says beside its body. What was not said to this process is answered,
    /// so that it will be.
    pub(crate) fn greet(
        &mut self,
        position: usize,
        frame: &Frame<Received>,
        own: Own<'_>,
        now: Duration,
    ) -> Greeted {
        let said_to_us = frame.echo == self.settings.session;
        let compared = match said_to_us {
            true => self.compare_ledgers(position, frame, &own),
            false => Ok(()),
        };
        let fresh = said_to_us && compared.is_ok();
        if let Some(what) = self.remembered(frame, own.sent).filter(|_| said_to_us) {
            let name = self.peers[position].name.clone();
            return Greeted::Over(End::RolledBack { name, what });
        }
        let peer = &mut self.peers[position];
        let before = std::mem::replace(&mut peer.session, frame.session);
        let news = before != frame.session && (fresh || !peer.greeted);
        if before != frame.session {
            peer.begun_anew();
        }
        // Also whoever is refused is answered: only so does it learn what is remembered of it.
        if news || (!fresh && peer.may_greet(now)) {
            peer.spoke(now);
            self.say(position, own.standing, own.note);
        }
        let peer = &mut self.peers[position];
        if !fresh && peer.greeted {
            // Perhaps an old frame: it is answered, and the process that was heard stays the one
            // that is spoken to.
            peer.session = before;
        }
        let first = fresh && !peer.greeted;
        peer.greeted |= first;
        match compared {
            Err(what) => Greeted::Refused(what),
            Ok(()) if fresh => Greeted::Fresh { first },
            Ok(()) => Greeted::Stale,
        }
    }

    /// Refuses a neighbour whose ledger is shorter than it was, or another one.
    fn compare_ledgers(
        &mut self,
        position: usize,
        frame: &Frame<Received>,
        own: &Own<'_>,
    ) -> Result<(), String> {
        let Peer { seen, name, .. } = &self.peers[position];
        let theirs = frame.ledger.ledger;
        let in_this_run = seen.filter(|seen| own.settled || seen.ledger == theirs);
        // How far this neighbour's ledger was seen before: in this run, or in an earlier one.
        let known = in_this_run.or_else(|| own.ledger.witnessed(name, theirs));
        let peer = &mut self.peers[position];
        // Frames may overtake each other.
        if peer.session == frame.session && frame.number < peer.number {
            return Ok(());
        }
        if let Some(known) = known
            && (known.contradicts(&frame.ledger) || known.ledger != theirs)
        {
            return Err(format!(
                "its ledger went backwards or was replaced: it was seen with {}, and now has {}; \
                 it can go on only with the state and the ledger that it began this run with",
                described(&known),
                described(&frame.ledger)
            ));
        }
        (peer.seen, peer.number) = (Some(frame.ledger), frame.number);
        Ok(())
    }

    /// What the neighbour knows of this agent that the agent does not.
    fn remembered(&self, frame: &Frame<Received>, sent: u64) -> Option<String> {
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
        (frame.has > sent + 1).then(|| {
            format!(
                "it has this agent's vector of round {}, and the journal here ends with round \
                 {sent}",
                frame.has
            )
        })
    }

    /// How far a neighbour's ledger was seen, to be written down in ours.
    pub(crate) fn to_witness(&self, position: usize) -> Option<(String, Seen)> {
        let Peer { seen, name, .. } = &self.peers[position];
        let seen = seen.filter(|seen| seen.ledger != Default::default())?;
        Some((name.clone(), seen))
    }
}

fn described(seen: &Seen) -> String {
    let head = seen.head.to_string();
    format!("{} entries, head {}", seen.entries, &head[..16])
}
