//! The way back after a restart: everything in the journal happens again, and nothing else.

use super::{Node, NodeError};
use crate::journal::{JournalError, JournalRecord};
use crate::wire::Outgoing;
use dzoa::agent::Output;
use dzoa::privacy::{Entry, LedgerRecord};
use std::time::Duration;

impl Node {
    /// Refuses a journal and a ledger of which one is older than the other. A crash explains one
    /// round that only one of the two has: they are written at the same time, and nothing is sent
    /// before both are done.
    pub(super) fn agree_with_ledger(&mut self, unwritten: Vec<Entry>) -> Result<(), NodeError> {
        let journal = self.released;
        let ledger = self.agent.ledger().last_round(self.agent.run());
        if ledger > journal + 1 {
            return Err(NodeError::JournalBehind { journal, ledger });
        }
        let rounds = unwritten.iter().filter_map(|entry| match &entry.record {
            LedgerRecord::Charge(charge) => Some(charge.round),
            _ => None,
        });
        let rounds: Vec<u64> = rounds.collect();
        if rounds.len() > 1 || rounds.iter().any(|round| *round != journal) {
            return Err(NodeError::LedgerBehind { missing: rounds.len() });
        }
        unwritten.into_iter().for_each(|entry| self.ledger_writer.begin(entry));
        self.persist_ledger()
    }

    pub(super) fn replay(
        &mut self,
        record: JournalRecord,
        unwritten: &mut Vec<Entry>,
        now: Duration,
    ) -> Result<(), NodeError> {
        match record {
            JournalRecord::Start(_) => return Err(JournalError::Unreadable { index: 2 }.into()),
            JournalRecord::Left { neighbour, .. } => self.forget(neighbour)?,
            JournalRecord::Round { inputs, past, seen } => {
                for (index, seen) in seen {
                    let peer = self.peers.iter_mut().find(|peer| peer.index == index);
                    peer.map(|peer| peer.recall(seen)).ok_or(NodeError::Order(0))?;
                }
                for inputs in inputs {
                    let inputs = inputs.inputs();
                    let round = inputs.round;
                    for (from, round, _) in &inputs.vectors {
                        let peer = self.peers.iter_mut().find(|peer| peer.index == *from);
                        peer.into_iter().for_each(|peer| peer.has = peer.has.max(*round));
                    }
                    if !self.agent.retake(inputs)? {
                        return Err(NodeError::Order(round));
                    }
                    self.recollect(unwritten, now);
                }
                if let Some(past) = past {
                    let past = past.past().ok_or(JournalError::Unreadable { index: 0 })?;
                    self.agent.resume(past)?;
                    self.released = self.agent.round();
                    self.recollect(unwritten, now);
                }
            }
        }
        Ok(())
    }

    /// Takes the agent's outputs of a replayed round for done: they were.
    fn recollect(&mut self, unwritten: &mut Vec<Entry>, now: Duration) {
        while let Some(output) = self.agent.poll() {
            match output {
                Output::Compute => break,
                Output::Send(envelope) => {
                    self.remember(Outgoing::from(&self.journal.recalled(envelope)))
                }
                Output::Done(status) => self.over(status, now),
                Output::Persist(entry) => unwritten.push(entry),
                Output::Completed(_) => {}
            }
        }
    }
}
