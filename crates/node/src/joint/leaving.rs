//! Agents that are gone for good, where the others go on without them.
//!
//! A neighbour that was silent for longer than the patience is taken for gone, and so is whoever
//! can only be reached through such a one. Agents tell each other whom they take for gone; that is
//! hearsay, and decides nothing but when to speak. Then everybody that is left says bindingly that
//! it gives the open sum up (`dzoa::joint`), the neighbours of those that are gone first. What an
//! agent says so is in its journal before it is sent.

use super::JointNode;
use super::sending::is_set;
use crate::journal::{JournalError, JournalRecord};
use crate::letter::Letter;
use crate::node::{End, NodeError, OnLoss, Peer};
use crate::post::Post;
use crate::wire::Heard;
use dzoa::joint::Saying;
use dzoa::network::Graph;
use dzoa::privacy::joint::Members;
use std::collections::BTreeMap;
use std::time::Duration;

/// A view of who is gone must stand for this part of the patience before it is acted on.
const SETTLED: u32 = 4;
/// How often the patience may pass after this agent gave up before all others have.
const AGREEMENT: u32 = 2;

/// Who is gone, and what was said about it in this turn. By position among the members.
pub(super) struct Losses {
    /// The neighbours of every member.
    near: Vec<Vec<usize>>,
    /// Who gave the open attempt up.
    pub(super) leaves: Vec<Option<Post>>,
    /// Who gave the attempt before this one up, if that is how it ended.
    pub(super) before: Vec<Post>,
    /// Neighbours that said that they go, by position among the neighbours.
    pub(super) byes: Vec<bool>,
    /// Whom the neighbours take for gone, by position among the neighbours.
    told: Vec<Vec<u8>>,
    /// Whom this agent takes for gone.
    pub(super) gone: Vec<usize>,
    /// Since when.
    since: Duration,
    /// When this agent gave the open attempt up.
    left_at: Option<Duration>,
    /// Everybody's word that an attempt is given up, of all attempts that were.
    given_up: Vec<Post>,
    /// Who said last that it goes on without this agent: in which attempt, and without whom else.
    without_us: BTreeMap<usize, ((u64, u64), Vec<usize>)>,
}

impl Losses {
    pub(super) fn new(graph: &Graph, members: &Members, neighbours: usize) -> Self {
        let at = |k: usize| members.position(&graph.names()[k]).unwrap_or(0);
        let mut near = vec![Vec::new(); members.len()];
        for (a, b) in graph.edges() {
            near[at(a)].push(at(b));
            near[at(b)].push(at(a));
        }
        Self {
            near,
            leaves: vec![None; members.len()],
            before: Vec::new(),
            byes: vec![false; neighbours],
            told: vec![Vec::new(); neighbours],
            gone: Vec::new(),
            since: Duration::ZERO,
            left_at: None,
            given_up: Vec::new(),
            without_us: BTreeMap::new(),
        }
    }

    /// What shows whoever was left behind in this round that all that are left have said so.
    pub(super) fn proof(&self, round: u64) -> Vec<Post> {
        let posts = self.given_up.iter().filter(|post| post.letter().stage() == round + 1);
        posts.cloned().collect()
    }

    /// Another turn: what was said about the last one is history.
    pub(super) fn next_turn(&mut self, before: Vec<Post>) {
        self.before = before;
        self.leaves.fill(None);
        self.told.iter_mut().for_each(Vec::clear);
        self.gone.clear();
        self.left_at = None;
    }

    /// Those that are present and cannot be reached without the gone ones.
    fn cut_off(&self, from: usize, gone: &[bool], present: impl Fn(usize) -> bool) -> Vec<usize> {
        let (mut reached, mut next) = (vec![false; self.near.len()], vec![from]);
        reached[from] = true;
        while let Some(at) = next.pop() {
            for &other in &self.near[at] {
                if present(other) && !gone[other] && !reached[other] {
                    reached[other] = true;
                    next.push(other);
                }
            }
        }
        (0..self.near.len()).filter(|k| present(*k) && !reached[*k]).collect()
    }
}

impl JointNode {
    /// Whether it goes on without those that are gone. All must have met.
    pub(super) fn goes_on_without(&self) -> bool {
        self.circle.settings.on_loss == OnLoss::Continue && self.agent.stage() > 1
    }

    /// From which round on a neighbour was left behind, if it was.
    pub(super) fn left_behind(&self, position: usize) -> Option<u64> {
        let name = &self.circle.peers[position].name;
        let mut without = self.agent.without();
        without.find(|(gone, _)| gone == name).map(|(_, round)| round)
    }

    /// Ends this agent's part once enough others have signed that they go on without it: so many
    /// that nobody can go on with it.
    pub(super) fn hear_of_going(&mut self, letter: &Letter) -> Result<(), String> {
        let (origin, place) = (letter.origin(), letter.place());
        let Saying::Leave { gone } = letter.notice().saying else { return Ok(()) };
        let open = place.0 == self.agent.stage() || place.0 == self.agent.stage() + 1;
        let ours = gone.contains(&self.agent.position()) && self.agent.is_present(origin);
        if !open || !ours || self.over_since.is_some() {
            return Ok(());
        }
        self.verified(letter)?;
        self.losses.without_us.insert(origin, (place, gone));
        let said = &self.losses.without_us;
        let alike: Vec<usize> =
            said.iter().filter(|(_, what)| **what == said[&origin]).map(|(k, _)| *k).collect();
        if self.agent.is_enough(alike.len()) {
            let names = self.agent.members().names();
            let name = alike.iter().map(|k| names[*k].as_str()).collect::<Vec<_>>().join(", ");
            self.stop(End::LeftBehind { name, round: place.0.saturating_sub(1) });
        }
        Ok(())
    }

    /// Whether every neighbour has said to this process what it knows of this agent, but for those
    /// that are gone.
    pub(super) fn is_greeted(&self) -> bool {
        let gone = |peer: &Peer| {
            let position = self.agent.members().position(&peer.name);
            position.is_some_and(|position| self.losses.gone.contains(&position))
        };
        let mut peers = self.circle.peers.iter();
        peers.all(|peer| peer.greeted || peer.left.is_some() || gone(peer))
    }

    /// Whom a neighbour has heard, and whom it takes for gone. It is there itself.
    pub(super) fn hear_of(&mut self, position: usize, held: Heard, now: Duration) {
        if self.circle.peers[position].round == self.agent.turn() {
            self.losses.told[position].clone_from(&held.gone);
        }
        self.losses.byes[position] = false;
        self.held[position] = held;
        if self.missed(position).is_empty() {
            self.circle.peers[position].answered(1, now);
        }
    }

    /// Takes stock of who is gone, and gives the open sum up where that is to be done.
    pub(super) fn look_for_losses(&mut self, now: Duration) -> Result<(), NodeError> {
        let gone = self.cut_off(now);
        if gone != self.losses.gone {
            (self.losses.gone, self.losses.since) = (gone, now);
            self.tell_all(&self.note());
        }
        let patience = self.circle.settings.patience;
        if let Some(left_at) = self.losses.left_at {
            if now > left_at + AGREEMENT * patience {
                let gone = self.names_of(&self.losses.leaves[self.agent.position()].clone());
                self.stop(End::NoAgreement { gone, round: self.round() });
            }
            return Ok(());
        }
        let gone = self.losses.gone.clone();
        let missing = gone.iter().any(|&position| self.agent.misses(position));
        if !missing || now < self.losses.since + patience / SETTLED || !self.is_vouched(&gone) {
            return Ok(());
        }
        let present = (0..self.post.len()).filter(|k| self.agent.is_present(*k)).count();
        if !self.agent.is_enough(present - gone.len()) {
            let names = self.agent.members().names();
            let gone = gone.iter().map(|&position| names[position].clone()).collect();
            self.stop(End::TooFewLeft { gone, round: self.round() });
            return Ok(());
        }
        self.give_up(gone, now)
    }

    fn names_of(&self, leave: &Option<Post>) -> Vec<String> {
        let names = self.agent.members().names();
        match leave.as_ref().map(|post| post.letter().notice().saying) {
            Some(Saying::Leave { gone }) => gone.iter().map(|k| names[*k].clone()).collect(),
            _ => Vec::new(),
        }
    }

    /// Who is gone, as far as can be known here.
    fn cut_off(&self, now: Duration) -> Vec<usize> {
        let (members, patience) = (self.agent.members(), self.circle.settings.patience);
        let mut gone = vec![false; members.len()];
        for told in &self.losses.told {
            (0..gone.len()).filter(|k| is_set(told, *k)).for_each(|k| gone[k] = true);
        }
        for (peer, bye) in self.circle.peers.iter().zip(&self.losses.byes) {
            let silent = *bye || now.saturating_sub(peer.heard) > patience;
            if let Some(at) = members.position(&peer.name) {
                // Of its own neighbours it knows best: hearsay must not take away one that has
                // not greeted this process yet, and may know that it was set back.
                gone[at] = silent;
            }
        }
        gone[self.agent.position()] = false;
        let present = |k: usize| self.agent.is_present(k);
        self.losses.cut_off(self.agent.position(), &gone, present)
    }

    /// Whether this agent, or all that are, next to those that are gone say so.
    fn is_vouched(&self, gone: &[usize]) -> bool {
        let next_to = |k: usize| self.losses.near[k].iter().any(|other| gone.contains(other));
        if next_to(self.agent.position()) {
            return true;
        }
        let says_so = |k: usize| {
            let letter = self.losses.leaves[k].as_ref().map(|post| post.letter().notice().saying);
            letter.is_some_and(|said| said == Saying::Leave { gone: gone.to_vec() })
        };
        let left = (0..self.post.len()).filter(|k| self.agent.is_present(*k) && !gone.contains(k));
        left.filter(|k| next_to(*k)).all(says_so)
    }

    /// What an earlier process of ours gave up, where the disk lost it and others have it.
    pub(super) fn gave_up_before(&self) -> Option<Vec<usize>> {
        let own = self.agent.position();
        let said = self.ahead.iter().filter(|((_, origin, leave), _)| *leave && *origin == own);
        let mut said = said.filter(|(_, letter)| letter.place() == self.place());
        match said.next()?.1.notice().saying {
            Saying::Leave { gone } if !self.agent.has_left() => Some(gone),
            _ => None,
        }
    }

    /// Persists that the open attempt is given up, and says so to all.
    pub(super) fn give_up(&mut self, gone: Vec<usize>, now: Duration) -> Result<(), NodeError> {
        self.persist_stage()?;
        let Some(notice) = self.agent.leave(gone.clone()) else { return Ok(()) };
        let record = JournalRecord::Leaving { gone };
        let durable = self.journal.commit_part(&record, notice)?;
        let post = self.sign(&durable)?;
        self.losses.leaves[self.agent.position()] = Some(post.clone());
        self.losses.left_at = Some(now);
        self.pass_on(&post, None, now);
        Ok(())
    }

    /// Writes down what the stage before heard, if the journal does not hold it.
    pub(super) fn persist_stage(&mut self) -> Result<(), NodeError> {
        if self.unwritten {
            let record = self.record(None);
            self.journal.persist(&record)?;
            self.unwritten = false;
        }
        Ok(())
    }

    /// All that are left gave the attempt up: the sum begins anew with them.
    pub(super) fn redo(&mut self, now: Duration) -> Result<(), NodeError> {
        let own = self.agent.position();
        let leaves = self.losses.leaves.iter().flatten().map(|post| post.letter());
        let letters = leaves.filter(|letter| letter.origin() != own).cloned().collect();
        self.journal.persist(&JournalRecord::Redone { letters })?;
        self.next_attempt();
        self.stage_since = now;
        for position in 0..self.circle.peers.len() {
            if let Some(round) = self.left_behind(position) {
                self.bring(position, self.losses.proof(round));
            }
        }
        self.take_ahead(now);
        self.tell_all(&self.note());
        Ok(())
    }

    fn next_attempt(&mut self) {
        let leaves: Vec<Post> = self.losses.leaves.iter().flatten().cloned().collect();
        self.losses.given_up.extend(leaves.iter().cloned());
        self.losses.next_turn(leaves);
        self.post.fill(None);
        self.before.clear();
        self.agent.redo();
        let round = self.round();
        for position in 0..self.circle.peers.len() {
            if self.left_behind(position).is_some() {
                self.circle.peers[position].left.get_or_insert(round);
            }
        }
    }

    /// What the journal says: this agent gave an attempt up.
    pub(super) fn recall_leaving(
        &mut self,
        gone: Vec<usize>,
        now: Duration,
    ) -> Result<(), NodeError> {
        let order = NodeError::Order(self.agent.stage());
        let notice = self.agent.leave(gone).ok_or(order)?;
        let durable = self.journal.recalled_notice(notice);
        let post = self.sign(&durable)?;
        self.losses.leaves[self.agent.position()] = Some(post);
        self.losses.left_at = Some(now);
        Ok(())
    }

    /// What the journal says: all that were left did.
    pub(super) fn recall_redone(&mut self, letters: Vec<Letter>) -> Result<(), NodeError> {
        for letter in letters {
            let origin = letter.origin();
            let taken = self.agent.take(letter.notice());
            taken.map_err(|_| NodeError::Order(self.agent.stage()))?;
            self.losses.leaves[origin] = Some(Post::recalled(letter));
        }
        if !self.agent.has_agreed() {
            return Err(JournalError::Unreadable { index: 0 }.into());
        }
        self.next_attempt();
        Ok(())
    }
}
