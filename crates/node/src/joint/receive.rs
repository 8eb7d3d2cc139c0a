//! What comes in from neighbours, and what of it is refused.

use super::JointNode;
use crate::letter::Letter;
use crate::node::End;
use crate::node::greeting::{Greeted, Own};
use crate::post::Post;
use crate::wire::Received;
use dzoa::joint::BadNotice;
use std::time::Duration;

impl JointNode {
    /// Takes in bytes that the transport says are from this neighbour.
    pub fn receive(&mut self, from: usize, bytes: &[u8], now: Duration) {
        let Some((position, frame)) = self.circle.read(from, bytes, self.longest_frame) else {
            return;
        };
        let own = Own {
            ledger: self.agent.ledger(),
            sent: self.sent(),
            settled: self.agent.stage() > 1,
            standing: self.standing(),
            note: self.note(),
        };
        match self.circle.greet(position, &frame, own, now) {
            Greeted::Fresh { first } if self.end.is_none() => {
                if first {
                    self.witness(position);
                }
            }
            Greeted::Fresh { .. } | Greeted::Stale => return,
            Greeted::Over(end) => return self.stop(end),
            Greeted::Refused(what) => return self.suspect(position, what, bytes),
        }
        if let Some(round) = self.left_behind(position) {
            if self.circle.peers[position].may_answer(now) {
                self.circle.peers[position].spoke(now);
                self.bring(position, self.losses.proof(round));
            }
            return;
        }
        let peer = &mut self.circle.peers[position];
        (peer.met, peer.round) = (true, frame.round);
        match frame.body {
            Received::Held { held } => self.hear_of(position, held, now),
            Received::Letters { held, letters } => {
                self.hear_of(position, held, now);
                let accepted: Vec<_> =
                    letters.into_iter().map(|letter| self.accept(position, letter, now)).collect();
                if let Some(what) = accepted.into_iter().find_map(Result::err) {
                    return self.suspect(position, what, bytes);
                }
            }
            Received::Bye { reason } => return self.bye(position, reason),
            // Nobody is believed that others go on without this agent, but those others.
            Received::Left { .. } | Received::Note | Received::Vector { .. } => {
                let what = "it does not speak to everybody, and this agent does".into();
                return self.suspect(position, what, bytes);
            }
        }
        let peer = &mut self.circle.peers[position];
        // Whoever sends only what is refused does not make us wait for ever.
        if !peer.suspect {
            peer.heard = now;
        }
        if self.end.is_none()
            && self.circle.peers[position].may_answer(now)
            && !self.missed(position).is_empty()
        {
            self.repeat(position, now);
        }
    }

    /// How many things this agent has said: what neighbours compare with what they have heard.
    fn sent(&self) -> u64 {
        let spoken = self.post[self.agent.position()].is_some();
        self.agent.turn() + u64::from(spoken)
    }

    fn suspect(&mut self, position: usize, what: String, bytes: &[u8]) {
        let name = self.circle.peers[position].name.clone();
        self.circle.peers[position].suspect = true;
        self.circle.refuse(name, what, bytes);
    }

    /// A neighbour says that it goes.
    fn bye(&mut self, position: usize, reason: String) {
        let round = self.round();
        let name = self.circle.peers[position].name.clone();
        match self.over_since {
            // What it has sent before is enough for an agent that is over.
            Some(_) => self.circle.peers[position].left = Some(round),
            None if self.goes_on_without() => self.losses.byes[position] = true,
            None => self.stop(End::NeighbourLeft { name, reason, round }),
        }
    }

    /// Takes in a letter that a neighbour brought, or says what is wrong with it.
    fn accept(&mut self, position: usize, letter: Letter, now: Duration) -> Result<(), String> {
        let (origin, place, ours) = (letter.origin(), letter.place(), self.place());
        if origin >= self.post.len() {
            return Err(BadNotice::NoMember(origin).to_string());
        }
        self.hear_of_going(&letter)?;
        if self.end.is_some() {
            return Ok(());
        }
        if place == ours {
            return self.accept_now(position, letter, now);
        }
        let (stage, next) = (place.0, [(ours.0 + 1, 0), (ours.0, ours.1 + 1)]);
        if next.contains(&place) && self.over_since.is_none() {
            // It is verified when its stage comes. One from each neighbour, so that what one of
            // them makes up is in nobody's way.
            self.ahead.insert((position, origin, letter.is_leave()), letter);
            return Ok(());
        }
        let mut before = self.before.iter().chain(&self.losses.before).map(|post| post.letter());
        let same = |known: &&Letter| {
            (known.origin(), known.is_leave(), known.place()) == (origin, letter.is_leave(), place)
        };
        let known = before.find(same);
        match known {
            Some(known) if !known.says_the_same(&letter) => {
                let name = self.verified(&letter)?;
                self.disagree(BadNotice::Equivocation { name, stage });
                Ok(())
            }
            _ if place <= ours => Ok(()),
            _ => Err(format!("it is in stage {stage}, and this agent in stage {}", ours.0)),
        }
    }

    /// A letter of this stage.
    fn accept_now(&mut self, position: usize, letter: Letter, now: Duration) -> Result<(), String> {
        let (origin, leave) = (letter.origin(), letter.is_leave());
        let posts = if leave { &self.losses.leaves } else { &self.post };
        if let Some(known) = &posts[origin]
            && known.letter().says_the_same(&letter)
        {
            return Ok(());
        }
        if origin == self.agent.position() && posts[origin].is_none() {
            // What an earlier process of ours said: it is compared with what is said now.
            self.verified(&letter)?;
            self.ahead.insert((position, origin, leave), letter);
            return Ok(());
        }
        let name = self.agent.members().names()[origin].clone();
        let occasion = self.occasion(&name);
        let post = Post::others(letter, &occasion, &mut self.credentials.verifier)
            .map_err(|no| format!("it brought a letter of {name} with {no}"))?;
        match self.agent.take(post.letter().notice()) {
            Ok(true) => {
                if leave {
                    self.losses.leaves[origin] = Some(post.clone());
                } else {
                    self.mark(origin);
                    self.post[origin] = Some(post.clone());
                }
                let peer = &mut self.circle.peers[position];
                peer.suspect = false;
                peer.waited += now.saturating_sub(self.stage_since);
                peer.progress(now);
                self.pass_on(&post, Some(position), now);
                Ok(())
            }
            Ok(false) => Ok(()),
            Err(bad) if bad.is_fatal() => {
                self.disagree(bad);
                Ok(())
            }
            Err(bad) => Err(bad.to_string()),
        }
    }

    /// A letter that came before its stage.
    pub(super) fn take_in(&mut self, position: usize, letter: Letter, now: Duration) {
        if let Err(what) = self.accept_now(position, letter, now) {
            self.suspect(position, what, &[]);
        }
    }

    /// Who wrote a letter, if it did.
    pub(super) fn verified(&mut self, letter: &Letter) -> Result<String, String> {
        let name = self.agent.members().names()[letter.origin()].clone();
        let occasion = self.occasion(&name);
        letter
            .verify(&occasion, &mut self.credentials.verifier)
            .map_err(|no| format!("it brought a letter of {name} with {no}"))?;
        Ok(name)
    }

    fn disagree(&mut self, bad: BadNotice) {
        self.stop(End::Disagreed { what: bad.to_string() });
    }

    /// A neighbour's own word of this stage is here.
    pub(super) fn mark(&mut self, origin: usize) {
        let name = &self.agent.members().names()[origin];
        let has = self.agent.turn() + 1;
        let peer = self.circle.peers.iter_mut().find(|peer| peer.name == *name);
        peer.into_iter().for_each(|peer| peer.has = peer.has.max(has));
    }
}
