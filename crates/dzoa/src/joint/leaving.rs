//! Going on without members that are gone for good.
//!
//! To wait is no loss. Whoever has lost others for longer than its patience says [`Saying::Leave`]:
//! once for an attempt at a sum, and bindingly. From then on it does not take in that attempt,
//! whatever arrives. The attempt is given up when all that are left said the same, so that nobody
//! among them holds its sum; then they begin it anew, charged again, with fresh noise and fresh
//! masks. Whoever has taken the attempt in never says so: then there is no agreement, and no second
//! value of one sum.
//!
//! More than half must be left: two halves of a network would otherwise go on with two models. And
//! where t may collude, more than half of all and t: those could be in both halves.

use super::agent::{JointAgent, Notice, Saying};
use crate::status::Status;
use dzoa_privacy::joint::Members;

impl JointAgent {
    /// How often this stage was begun before.
    pub fn attempt(&self) -> u64 {
        self.attempt
    }

    /// All attempts at all stages before this one: at all agents alike.
    pub fn turn(&self) -> u64 {
        self.turn
    }

    /// Whether the member at this position takes part.
    pub fn is_present(&self, position: usize) -> bool {
        self.gone.get(position).is_some_and(Option::is_none)
    }

    /// Who is gone, and from which round on.
    pub fn without(&self) -> impl Iterator<Item = (&str, u64)> {
        let gone = self.gone.iter().zip(self.members.names());
        gone.filter_map(|(round, name)| Some((name.as_str(), (*round)?)))
    }

    /// Whether the member at this position takes part, and has not said its part.
    pub fn misses(&self, position: usize) -> bool {
        self.is_present(position) && self.heard[position].is_none()
    }

    /// Whether this agent gave this attempt up.
    pub fn has_left(&self) -> bool {
        self.leaves[self.position].is_some()
    }

    /// Whether so many of those that take part are enough.
    pub fn is_enough(&self, left: usize) -> bool {
        let colluders = self.joined.as_ref().map_or(0, |joined| joined.colluders());
        2 * left > self.gone.iter().filter(|gone| gone.is_none()).count() + colluders
    }

    /// Gives this attempt up, to begin it anew without the members at these positions. What is
    /// returned is to be made durable before it is sent. `None` where nothing can be given up.
    pub fn leave(&mut self, mut gone: Vec<usize>) -> Option<Notice> {
        gone.sort_unstable();
        let open = self.status.is_none() && self.stage > 1 && !self.has_left();
        if !open || !self.may_leave(self.position, &gone) {
            return None;
        }
        let notice = self.notice(Saying::Leave { gone });
        self.keep(notice.clone());
        Some(notice)
    }

    /// Whether all that are left have given this attempt up alike.
    pub fn has_agreed(&self) -> bool {
        let Some(own) = self.leaves[self.position].as_ref() else { return false };
        let Saying::Leave { gone } = &own.saying else { return false };
        let same = |said: &Notice| said.saying == own.saying;
        let mut left = (0..self.leaves.len()).filter(|k| self.is_present(*k) && !gone.contains(k));
        self.status.is_none() && left.all(|k| self.leaves[k].as_ref().is_some_and(same))
    }

    /// Begins the sum anew with those that are left, once all have agreed.
    pub fn redo(&mut self) {
        let count = self.members.len();
        let leaves = std::mem::replace(&mut self.leaves, vec![None; count]);
        let own = leaves.into_iter().nth(self.position).flatten();
        let round = self.rounds_done() + 1;
        if let Some(Notice { saying: Saying::Leave { gone }, .. }) = own {
            gone.iter().for_each(|&position| self.gone[position] = Some(round));
        }
        self.heard = vec![None; count];
        (self.attempt, self.turn) = (self.attempt + 1, self.turn + 1);
        let begun = self.go_on_with_who_is_left(round);
        self.status = self.status.take().or(begun.err());
    }

    fn go_on_with_who_is_left(&mut self, round: u64) -> Result<(), Status> {
        let left = self.members.names().iter().zip(&self.gone);
        let left = left.filter(|(_, gone)| gone.is_none()).map(|(name, _)| name.clone());
        let members =
            Members::new(left).map_err(|no| Status::NoSum { round, reason: no.to_string() })?;
        if let Some(joined) = &mut self.joined {
            joined.without(&members)?;
        }
        self.next_round()
    }

    /// Whether a member may say that it goes on without these.
    pub(super) fn may_leave(&self, origin: usize, gone: &[usize]) -> bool {
        let sorted = gone.windows(2).all(|pair| pair[0] < pair[1]);
        let present = gone.iter().all(|position| self.is_present(*position));
        let left =
            self.gone.iter().filter(|gone| gone.is_none()).count().saturating_sub(gone.len());
        sorted && present && !gone.is_empty() && !gone.contains(&origin) && self.is_enough(left)
    }

    /// What its origin said of this kind in this turn.
    pub(super) fn said(&self, notice: &Notice) -> Option<&Notice> {
        let place = match notice.saying {
            Saying::Leave { .. } => &self.leaves,
            _ => &self.heard,
        };
        place.get(notice.origin)?.as_ref()
    }

    pub(super) fn keep(&mut self, notice: Notice) {
        let place = match notice.saying {
            Saying::Leave { .. } => &mut self.leaves,
            _ => &mut self.heard,
        };
        let origin = notice.origin;
        place[origin] = Some(notice);
    }
}
