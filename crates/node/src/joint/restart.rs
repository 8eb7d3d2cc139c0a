//! The way back after a restart: everything in the journal happens again, and nothing else.

use super::JointNode;
use crate::journal::{DurableNotice, JournalError, JournalRecord, JournalRecords, PersistedPart};
use crate::letter::Letter;
use crate::node::NodeError;
use crate::post::Post;
use dzoa::privacy::Entry;
use std::time::Duration;

impl JointNode {
    pub(super) fn take_up(
        &mut self,
        records: JournalRecords,
        now: Duration,
    ) -> Result<(), NodeError> {
        let mut unwritten = Vec::new();
        for (index, record) in records.into_iter().enumerate() {
            let (letters, past, seen) = match record? {
                JournalRecord::Stage { letters, past, seen } => (letters, past, seen),
                JournalRecord::Leaving { gone } => {
                    self.recall_leaving(gone, now)?;
                    continue;
                }
                JournalRecord::Redone { letters } => {
                    self.recall_redone(letters)?;
                    continue;
                }
                _ => return Err(JournalError::Unreadable { index: index + 2 }.into()),
            };
            self.circle.recall(seen)?;
            if !letters.is_empty() || self.agent.members().len() == 1 {
                self.hear(letters)?;
            }
            if let Some(past) = past {
                self.resume(past, &mut unwritten)?;
            }
        }
        self.stage_since = now;
        let (ledger, run) = (self.agent.ledger(), self.agent.run());
        self.circle.agree_with_ledger(self.released, ledger, run, unwritten)
    }

    /// A stage in which everybody was heard.
    fn hear(&mut self, letters: Vec<Letter>) -> Result<(), NodeError> {
        let order = || NodeError::Order(self.agent.stage());
        let own = self.agent.position();
        let notice = self.agent.heard(own).cloned().ok_or_else(order)?;
        if self.post[own].is_none() {
            let durable = DurableNotice::public(notice).ok_or_else(order)?;
            self.post[own] = Some(self.sign(&durable)?);
        }
        for letter in letters {
            let origin = letter.origin();
            let stage = self.agent.stage();
            let taken = self.agent.take(letter.notice());
            if taken.is_err() {
                return Err(NodeError::Order(stage));
            }
            self.mark(origin);
            self.post[origin] = Some(Post::recalled(letter));
        }
        if !self.agent.is_complete() {
            return Err(NodeError::Order(self.agent.stage()));
        }
        self.next_stage();
        self.unwritten = false;
        Ok(())
    }

    /// A part that was charged and said.
    fn resume(&mut self, past: PersistedPart, unwritten: &mut Vec<Entry>) -> Result<(), NodeError> {
        let past = past.past().ok_or(JournalError::Unreadable { index: 0 })?;
        let round = past.charge.round;
        let resumed = self.agent.resume(past)?;
        unwritten.extend(resumed.entry);
        let own = self.agent.position();
        let notice = self.agent.heard(own).cloned().ok_or(NodeError::Order(round))?;
        let durable = self.journal.recalled_notice(notice);
        self.post[own] = Some(self.sign(&durable)?);
        self.released = round;
        Ok(())
    }
}
