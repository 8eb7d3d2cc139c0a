//! Numbers of 64 bits that wrap, as they travel.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Shared words: eight bytes each in files and frames, the lowest first. What other agents send is
/// of this type, and no promise of anything.
///
/// ```
/// use dzoa_privacy::joint::Words;
/// let words = Words::from(vec![1, u64::MAX]);
/// assert_eq!(words[1], u64::MAX);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words(Arc<[u64]>);

impl From<Vec<u64>> for Words {
    fn from(words: Vec<u64>) -> Self {
        Self(words.into())
    }
}

impl Deref for Words {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        &self.0
    }
}

impl Words {
    /// All bytes.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        self.iter().flat_map(|word| word.to_le_bytes()).collect()
    }
}

impl Serialize for Words {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.to_bytes())
    }
}

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(WordsVisitor)
    }
}

struct WordsVisitor;

impl<'de> de::Visitor<'de> for WordsVisitor {
    type Value = Words;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("eight bytes a word")
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Words, E> {
        let (words, rest) = bytes.as_chunks();
        if !rest.is_empty() {
            return Err(E::invalid_length(bytes.len(), &self));
        }
        Ok(Words(words.iter().map(|word| u64::from_le_bytes(*word)).collect()))
    }

    // Text formats write bytes as a list of numbers.
    fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<Words, A::Error> {
        let mut bytes: Vec<u8> = Vec::new();
        while let Some(byte) = list.next_element()? {
            bytes.push(byte);
        }
        self.visit_bytes(&bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_comes_back_and_a_torn_one_does_not() {
        let words = Words::from(vec![0, 1, u64::MAX, 0x0102_0304_0506_0708]);
        let text = serde_json::to_string(&words).unwrap();
        assert!(text.ends_with("8,7,6,5,4,3,2,1]"), "{text}");
        assert_eq!(serde_json::from_str::<Words>(&text).unwrap(), words);
        let torn = text.replace(",1]", "]");
        assert!(serde_json::from_str::<Words>(&torn).is_err());
    }
}
