//! One-time words that hide all but the sum.
//!
//! Two agents agree on a secret (X25519), from which a key for the pair is derived, from that a key
//! for one context, and from that a stream of words (ChaCha20). The one whose name comes first adds
//! the words, the other one subtracts them, both modulo `2^64`.
//!
//! **What is seen.** Replace the streams by independent uniform words. Let the honest agents be
//! connected by edges with masks (`graph.rs`). Their contributions are then uniform among all lists
//! of words with the same sum; words shared with colluders are known and subtracted. If honest
//! agents differ in the context, take those that agree: if they are not all, one of them shares an
//! edge with an honest agent of another context, whose words are used nowhere else, so that not
//! even their sum is seen. The real streams differ from uniform ones by the advantage against
//! X25519 (gap Diffie-Hellman), BLAKE3 as a key derivation and ChaCha20: computational differential
//! privacy (Mironov, Pandey, Reingold, Vadhan 2009).

use super::fields::Fields;
use super::graph::partners;
use super::{Context, MaskKey, Roster};
use crate::Digest;
use chacha20::ChaCha20Rng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::fmt;
use thiserror::Error;
use zeroize::Zeroizing;

/// The masks of one agent. Pair keys are derived when they are first needed, and forgotten when
/// dropped.
pub struct Masks(Option<Pairs>);

struct Pairs {
    key: MaskKey,
    roster: Roster,
    position: usize,
    /// By position on the roster.
    known: BTreeMap<usize, Zeroizing<[u8; 32]>>,
}

/// Masks that are not there.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum NoMasks {
    /// The sum's guarantee rests on masks, and there are none.
    #[error("this sum is charged as masked, and there are no masks")]
    Missing,
    /// A key that others do not know.
    #[error("{0} is not on the roster with this key")]
    NotOnRoster(String),
    /// A key of somebody else.
    #[error("the masks of {0} are for its own contribution")]
    Foreign(String),
    /// A member whose key is not known.
    #[error("{0} is a member without a key")]
    Unknown(String),
}

impl Masks {
    /// None: for sums that are protected against all others together.
    pub fn none() -> Self {
        Self(None)
    }

    /// The masks that an agent shares with those on the roster.
    pub fn new(key: MaskKey, roster: Roster) -> Result<Self, NoMasks> {
        let position = roster.members().position(key.agent());
        match position.filter(|position| roster.key(*position) == key.public()) {
            Some(position) => {
                let known = BTreeMap::new();
                Ok(Self(Some(Pairs { key, roster, position, known })))
            }
            None => Err(NoMasks::NotOnRoster(key.agent().into())),
        }
    }

    /// Adds to the words of the member at this position the masks of one sum.
    pub(super) fn apply(
        &mut self,
        context: &Context,
        position: usize,
        words: &mut [u64],
    ) -> Result<(), NoMasks> {
        let shares = context.query().shares();
        if !shares.masked() {
            return Ok(());
        }
        let pairs = self.0.as_mut().ok_or(NoMasks::Missing)?;
        let members = context.members();
        if members.names()[position] != pairs.key.agent() {
            return Err(NoMasks::Foreign(pairs.key.agent().into()));
        }
        let colluders = shares.colluders().among(members.len());
        for partner in partners(position, members.len(), colluders) {
            let name = &members.names()[partner];
            let listed = pairs.roster.members().position(name);
            let listed = listed.ok_or_else(|| NoMasks::Unknown(name.clone()))?;
            let mut stream = stream(pairs.key_with(listed), context.id());
            let add = position < partner;
            for word in words.iter_mut() {
                let mask = stream.next_u64();
                *word = if add { word.wrapping_add(mask) } else { word.wrapping_sub(mask) };
            }
        }
        Ok(())
    }
}

impl Masks {
    /// Takes off another member's contribution the words that it shares with this agent: what a
    /// colluder can do, and an auditor does in its place.
    pub fn lift(
        &mut self,
        context: &Context,
        other: usize,
        words: &mut [u64],
    ) -> Result<(), NoMasks> {
        let (members, shares) = (context.members(), context.query().shares());
        let (Some(pairs), true) = (self.0.as_mut(), shares.masked()) else { return Ok(()) };
        let unknown = |name: &str| NoMasks::Unknown(name.into());
        let own = members.position(pairs.key.agent()).ok_or_else(|| unknown(pairs.key.agent()))?;
        let colluders = shares.colluders().among(members.len());
        if !partners(other, members.len(), colluders).contains(&own) {
            return Ok(());
        }
        let name = &members.names()[other];
        let listed = pairs.roster.members().position(name).ok_or_else(|| unknown(name))?;
        let mut stream = stream(pairs.key_with(listed), context.id());
        for word in words.iter_mut() {
            let mask = stream.next_u64();
            *word = if other < own { word.wrapping_sub(mask) } else { word.wrapping_add(mask) };
        }
        Ok(())
    }
}

#[cfg(test)]
impl Masks {
    /// The words shared with one other agent.
    pub(super) fn words_with(&mut self, other: usize, context: &Context, n: usize) -> Vec<u64> {
        let pairs = self.0.as_mut().unwrap();
        let mut stream = stream(pairs.key_with(other), context.id());
        (0..n).map(|_| stream.next_u64()).collect()
    }
}

impl fmt::Debug for Masks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            None => f.write_str("Masks(none)"),
            Some(pairs) => write!(f, "Masks({}, hidden)", pairs.key.agent()),
        }
    }
}

impl Pairs {
    /// The key shared with an agent of the roster.
    fn key_with(&mut self, other: usize) -> &[u8; 32] {
        let Pairs { key, roster, position, known } = self;
        known.entry(other).or_insert_with(|| {
            let (first, second) = ((*position).min(other), (*position).max(other));
            let names = roster.members().names();
            Fields::hash("dzoa 2026 joint pair")
                .bytes(&*key.agree(roster.key(other)))
                .bytes(&key.network().0)
                .bytes(&roster.digest().0)
                .bytes(names[first].as_bytes())
                .bytes(&roster.key(first))
                .bytes(names[second].as_bytes())
                .bytes(&roster.key(second))
                .secret()
        })
    }
}

/// The words of a pair for one context.
fn stream(pair: &[u8; 32], context: Digest) -> ChaCha20Rng {
    let key = Fields::hash("dzoa 2026 joint mask").bytes(pair).bytes(&context.0).secret();
    ChaCha20Rng::from_seed(*key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_those_of_rfc_8439() {
        // Appendix A.1, test vectors 1 to 4: key, the block's number, the key stream.
        let key = |at: usize, byte: u8| std::array::from_fn(|i| if i == at { byte } else { 0 });
        let vectors: [([u8; 32], u128, &str); 4] = [
            (
                [0; 32],
                0,
                "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7\
                 da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586",
            ),
            (
                [0; 32],
                1,
                "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed\
                 29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f",
            ),
            (
                key(31, 1),
                1,
                "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a\
                 8eca00bbb4a73bdad192b5c42f73f2fd4e273644c8b36125a64addeb006c13a0",
            ),
            (
                key(1, 0xff),
                2,
                "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca\
                 13b25aa26cb4a648cb9b9d1be65b2c0924a66c54d545ec1b7374f4872e99f096",
            ),
        ];
        for (seed, block, expected) in vectors {
            let mut stream = ChaCha20Rng::from_seed(seed);
            // Eight words a block.
            (0..8 * block).for_each(|_| {
                stream.next_u64();
            });
            let words: Vec<u8> = (0..8).flat_map(|_| stream.next_u64().to_le_bytes()).collect();
            let text: String = words.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn masks_are_not_printed() {
        assert_eq!(format!("{:?}", Masks::none()), "Masks(none)");
    }
}
