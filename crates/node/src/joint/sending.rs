//! What goes out to neighbours, and when again.

use super::JointNode;
use crate::letter::Letter;
use crate::node::FAREWELL;
use crate::node::circle::Standing;
use crate::node::peer::SLOWEST_RESEND;
use crate::post::Post;
use crate::wire::{BUNDLE, Body, Heard};
use dzoa::privacy::Seen;
use std::time::Duration;

impl JointNode {
    /// Sends a letter to all neighbours that are not known to have it, with the next frame.
    pub(super) fn pass_on(&mut self, post: &Post, except: Option<usize>, now: Duration) {
        for position in 0..self.circle.peers.len() {
            let left = self.circle.peers[position].left.is_some();
            if except == Some(position) || left || !self.lacks(position, post.letter()) {
                continue;
            }
            self.bundles[position].push(post.clone());
            self.circle.peers[position].spoke(now);
            self.circle.peers[position].asked(0, now);
            self.circle.peers[position].progress(now);
        }
    }

    /// Whether a neighbour is not known to have a letter of this turn, or of the one before.
    fn lacks(&self, position: usize, letter: &Letter) -> bool {
        let (theirs, ours) = (self.circle.peers[position].round, self.agent.turn());
        let turn = if letter.place() == self.place() { ours } else { ours.saturating_sub(1) };
        theirs < turn || (theirs == turn && !self.held[position].has(letter))
    }

    /// Sends what is on its way to a neighbour, but for what it has heard from others meanwhile.
    pub(super) fn flush(&mut self, position: usize) {
        let mut posts = std::mem::take(&mut self.bundles[position]);
        posts.retain(|post| self.lacks(position, post.letter()));
        self.bring(position, posts);
    }

    /// Brings letters to a neighbour, in as few frames as they fit into.
    pub(super) fn bring(&mut self, position: usize, posts: Vec<Post>) {
        let (mut bundle, mut weight) = (Vec::new(), 0);
        let last = posts.len();
        for (count, post) in (1..).zip(posts) {
            weight += post.letter().weight();
            bundle.push(post);
            if weight >= BUNDLE || count == last {
                let body = Body::letters(self.heard(), std::mem::take(&mut bundle));
                self.circle.say(position, self.standing(), body);
                weight = 0;
            }
        }
    }

    /// Sends again what a neighbour misses, or a sign of life.
    pub(super) fn repeat(&mut self, position: usize, now: Duration) {
        let missed = self.missed(position);
        if missed.is_empty() {
            self.say(position, self.note());
        }
        self.circle.stats.repeated += missed.len() as u64;
        self.bring(position, missed);
        self.circle.peers[position].repeated(now);
    }

    /// What a neighbour is not known to have, and needs in its stage.
    pub(super) fn missed(&self, position: usize) -> Vec<Post> {
        let (theirs, ours) = (self.circle.peers[position].round, self.agent.turn());
        let held = &self.held[position];
        let lacks = |post: &&Post| !held.has(post.letter());
        if theirs == ours {
            let said = self.post.iter().chain(&self.losses.leaves).flatten();
            said.filter(lacks).cloned().collect()
        } else if theirs.checked_add(1) == Some(ours) {
            self.before.iter().chain(&self.losses.before).filter(lacks).cloned().collect()
        } else {
            Vec::new()
        }
    }

    /// I am here, and this is whom I have heard.
    pub(super) fn note(&self) -> Body {
        Body::held(self.heard())
    }

    fn heard(&self) -> Heard {
        let here = |posts: &[Option<Post>]| {
            let here = posts.iter().enumerate().filter(|(_, post)| post.is_some());
            bits(here.map(|(position, _)| position))
        };
        Heard {
            said: here(&self.post),
            leaves: here(&self.losses.leaves),
            gone: bits(self.losses.gone.iter().copied()),
        }
    }

    pub(super) fn tell_all(&mut self, body: &Body) {
        for position in 0..self.circle.peers.len() {
            if self.circle.peers[position].left.is_none() {
                self.say(position, body.clone());
            }
        }
    }

    pub(super) fn say(&mut self, position: usize, body: Body) {
        self.flush(position);
        self.circle.say(position, self.standing(), body);
    }

    pub(super) fn standing(&self) -> Standing {
        Standing { round: self.agent.turn(), needs: 0 }
    }

    /// Writes down in the ledger how far a neighbour's was seen.
    pub(super) fn witness(&mut self, position: usize) {
        let seen: Option<(String, Seen)> = self.circle.to_witness(position);
        let entry = seen.and_then(|(name, seen)| self.agent.witness(&name, seen));
        entry.into_iter().for_each(|entry| self.circle.ledger_writer.begin(entry));
    }

    /// When [`JointNode::work`] has something to do again, if nothing arrives before.
    pub fn wake(&self) -> Duration {
        let open = self.circle.peers.iter().filter(|peer| peer.left.is_none());
        let repeats = open.map(|peer| peer.next_send());
        let last = self.over_since.map(|since| since + self.circle.settings.linger);
        let farewell = self.complete_since.map(|complete| complete + FAREWELL);
        let next = repeats.chain(last).chain(farewell).min();
        next.unwrap_or(self.stage_since + SLOWEST_RESEND)
    }
}

impl Heard {
    /// Whether a letter is among those that were heard.
    fn has(&self, letter: &Letter) -> bool {
        let held = if letter.is_leave() { &self.leaves } else { &self.said };
        is_set(held, letter.origin())
    }
}

/// A bit for each of these positions, and none behind the last.
fn bits(positions: impl Iterator<Item = usize>) -> Vec<u8> {
    let mut bits = Vec::new();
    for position in positions {
        bits.resize(bits.len().max(position / 8 + 1), 0u8);
        bits[position / 8] |= 1 << (position % 8);
    }
    bits
}

/// Whether the bit of a member is set. Bits that are not there are not.
pub(super) fn is_set(held: &[u8], position: usize) -> bool {
    held.get(position / 8).is_some_and(|bits| bits >> (position % 8) & 1 == 1)
}
