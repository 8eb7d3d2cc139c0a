//! The way back after a restart: everything in the journal happens again, and nothing else.

use super::{Node, NodeError};
use crate::journal::{JournalError, JournalRecord};
use crate::wire::Outgoing;
use dzoa::agent::Output;
use dzoa::privacy::Entry;
use std::time::Duration;

impl Node {
    pub(super) fn replay(
        &mut self,
        record: JournalRecord,
        unwritten: &mut Vec<Entry>,
        now: Duration,
    ) -> Result<(), NodeError> {
        match record {
            JournalRecord::Start(_)
            | JournalRecord::Stage { .. }
            | JournalRecord::Leaving { .. }
            | JournalRecord::Redone { .. } => {
                return Err(JournalError::Unreadable { index: 2 }.into());
            }
            JournalRecord::Left { neighbour, .. } => self.forget(neighbour)?,
            JournalRecord::Round { inputs, past, seen } => {
                self.circle.recall(seen)?;
                for inputs in inputs {
                    let inputs = inputs.inputs();
                    let round = inputs.round;
                    for (from, round, _) in &inputs.vectors {
                        let peer = self.circle.peers.iter_mut().find(|peer| peer.index == *from);
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
