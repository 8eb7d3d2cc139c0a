//! Whose keys masks are agreed with.
//!
//! **A copied key cancels masks.** If a colluder announces a key that agrees like that of another
//! agent, a third one shares the same secret with both. So such a roster is refused, and names and
//! keys are a part of what pair keys are derived from, so that they would differ all the same.
//!
//! Keys are compared by how they agree, and not by their bytes: one point has several encodings,
//! and eight points that differ by one of small order agree alike with everybody.

use super::Members;
use super::fields::Fields;
use super::members::NoMembers;
use crate::{Digest, Hex};
use std::collections::BTreeMap;
use std::sync::Arc;
use thiserror::Error;

/// The names and public keys of all agents, sorted by name. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roster {
    members: Members,
    keys: Arc<[Hex<32>]>,
    digest: Digest,
}

/// Keys with which no masks can be agreed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BadRoster {
    /// The names are no agents'.
    #[error(transparent)]
    Members(#[from] NoMembers),
    /// A key that agrees on zero with everybody.
    #[error("the mask key of {0} agrees with nobody")]
    Weak(String),
    /// Two keys that agree alike.
    #[error("{0} and {1} have the same mask key: one is a copy")]
    Copied(String, String),
}

impl Roster {
    /// The roster of these agents, each with its public key.
    ///
    /// ```
    /// use dzoa_privacy::joint::{MaskKey, Origin, Roster};
    /// let key = |agent| {
    ///     let origin = Origin { root: &[7; 32], agent, rows: [1; 32].into() };
    ///     (agent, MaskKey::new(&origin, [2; 32].into()).public())
    /// };
    /// let roster = Roster::new([key("b"), key("a")])?;
    /// // What sites compare by telephone.
    /// assert_eq!(roster.digest().to_string().len(), 64);
    /// // A copied key is refused.
    /// assert!(Roster::new([key("a"), ("c", key("a").1)]).is_err());
    /// # Ok::<(), dzoa_privacy::joint::BadRoster>(())
    /// ```
    pub fn new<S: Into<String>>(
        agents: impl IntoIterator<Item = (S, [u8; 32])>,
    ) -> Result<Self, BadRoster> {
        let roster = Self::unchecked(agents)?;
        let mut known: BTreeMap<[u8; 32], &String> = BTreeMap::new();
        for (name, key) in roster.members.names().iter().zip(roster.keys.iter()) {
            let agreed = agreement(key.0);
            if agreed == [0; 32] {
                return Err(BadRoster::Weak(name.clone()));
            }
            if let Some(first) = known.insert(agreed, name) {
                return Err(BadRoster::Copied(first.clone(), name.clone()));
            }
        }
        Ok(roster)
    }

    /// A roster with any keys.
    pub(super) fn unchecked<S: Into<String>>(
        agents: impl IntoIterator<Item = (S, [u8; 32])>,
    ) -> Result<Self, NoMembers> {
        let mut agents: Vec<(String, [u8; 32])> =
            agents.into_iter().map(|(name, key)| (name.into(), key)).collect();
        agents.sort_unstable();
        let members = Members::new(agents.iter().map(|(name, _)| name.as_str()))?;
        let hash = Fields::hash("dzoa 2026 joint roster").number(agents.len() as u64);
        let hash =
            agents.iter().fold(hash, |hash, (name, key)| hash.bytes(name.as_bytes()).bytes(key));
        let keys = agents.iter().map(|(_, key)| Hex(*key)).collect();
        Ok(Self { digest: hash.digest(), members, keys })
    }

    /// All agents.
    pub fn members(&self) -> &Members {
        &self.members
    }

    /// The public key of the agent at this position.
    pub fn key(&self, position: usize) -> [u8; 32] {
        self.keys[position].0
    }

    /// A digest of all names and keys, of 64 hexadecimal digits: equal at all agents, or somebody
    /// is in between.
    pub fn digest(&self) -> Digest {
        self.digest
    }
}

/// What a fixed secret agrees on with this key. Every secret of X25519 is a multiple of eight, so
/// that points of small order give zero, and points that differ by one the same.
fn agreement(key: [u8; 32]) -> [u8; 32] {
    x25519_dalek::x25519([1; 32], key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::joint::{MaskKey, Origin};

    fn key(agent: &str) -> [u8; 32] {
        let origin = Origin { root: &[7; 32], agent, rows: [1; 32].into() };
        MaskKey::new(&origin, [2; 32].into()).public()
    }

    #[test]
    fn a_copied_key_is_refused_in_every_encoding() {
        let twice = |copy: [u8; 32]| Roster::new([("a", key("a")), ("b", key("b")), ("c", copy)]);
        assert!(twice(key("c")).is_ok());
        let copied = Err(BadRoster::Copied("a".into(), "c".into()));
        assert_eq!(twice(key("a")), copied);
        // The highest bit is not read.
        let mut other = key("a");
        other[31] ^= 0x80;
        assert_eq!(twice(other), copied);
        // The base point 9, and the same plus the point of order two, which is (0, 0): 1/9.
        let nine = std::array::from_fn(|i| if i == 0 { 9 } else { 0 });
        let ninth: Hex<32> =
            "12c7711cc7711cc7711cc7711cc7711cc7711cc7711cc7711cc7711cc7711c47".parse().unwrap();
        let shifted = Roster::new([("a", nine), ("b", ninth.0)]);
        assert_eq!(shifted, Err(BadRoster::Copied("a".into(), "b".into())));
    }

    #[test]
    fn keys_that_agree_with_nobody_are_refused() {
        // RFC 7748, section 6.1, and the list of points of small order: 0, 1, p - 1, p, p + 1, and
        // the two of order eight.
        let minus = |less: u8| {
            let mut bytes = [0xff; 32];
            (bytes[0], bytes[31]) = (less, 0x7f);
            bytes
        };
        let hex = |text: &str| text.parse::<Hex<32>>().unwrap().0;
        let weak = [
            [0; 32],
            std::array::from_fn(|i| u8::from(i == 0)),
            minus(0xec),
            minus(0xed),
            minus(0xee),
            hex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
            hex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
        ];
        for key_of_b in weak {
            let refused = Roster::new([("a", key("a")), ("b", key_of_b)]);
            assert_eq!(refused, Err(BadRoster::Weak("b".into())), "{:?}", Hex(key_of_b));
        }
    }

    #[test]
    fn the_digest_is_that_of_names_and_keys_in_any_order() {
        let pair = |name: &'static str| (name, key(name));
        let roster = Roster::new([pair("a"), pair("b")]).unwrap();
        assert_eq!(roster, Roster::new([pair("b"), pair("a")]).unwrap());
        assert!(roster.digest().to_string().len() >= 40);
        for other in [[("a", key("b")), ("b", key("a"))], [("a", key("a")), ("b", key("c"))]] {
            assert_ne!(roster.digest(), Roster::new(other).unwrap().digest());
        }
        assert_ne!(roster.digest(), Roster::new([pair("a")]).unwrap().digest());
        let twice = Roster::new([pair("a"), ("a", key("b"))]);
        assert!(matches!(twice, Err(BadRoster::Members(NoMembers::Twice(_)))));
    }
}
