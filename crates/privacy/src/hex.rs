//! Bytes that people see: identifiers and digests, written as hexadecimal text.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::{fmt, str::FromStr};

/// So many bytes, as hexadecimal text in files and messages.
///
/// ```
/// use dzoa_privacy::Hex;
/// let id: Hex<2> = "0aff".parse().unwrap();
/// assert_eq!((id.0, id.to_string().as_str()), ([10, 255], "0aff"));
/// assert!("0afx".parse::<Hex<2>>().is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Hex<const N: usize>(pub [u8; N]);

/// Which run a charge belongs to. Random, and in every entry: two runs never make equal entries.
pub type RunId = Hex<16>;

/// A digest of 256 bits.
pub type Digest = Hex<32>;

/// Text that is no identifier of this length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the hexadecimal text of {0} bytes")]
pub struct NotHex(usize);

impl<const N: usize> From<[u8; N]> for Hex<N> {
    fn from(bytes: [u8; N]) -> Self {
        Self(bytes)
    }
}

impl<const N: usize> Default for Hex<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

impl<const N: usize> fmt::Display for Hex<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // At once: every charge writes four of these, and formatting byte by byte takes longer than
        // hashing them.
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digit = |half: u8| DIGITS[usize::from(half)];
        let pairs = self.0.map(|byte| [digit(byte >> 4), digit(byte & 15)]);
        f.write_str(str::from_utf8(pairs.as_flattened()).map_err(|_| fmt::Error)?)
    }
}

impl<const N: usize> fmt::Debug for Hex<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<const N: usize> FromStr for Hex<N> {
    type Err = NotHex;

    fn from_str(text: &str) -> Result<Self, NotHex> {
        let digit = |byte: u8| (byte as char).to_digit(16).map(|digit| digit as u8);
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        let bytes: Option<Vec<u8>> =
            pairs.iter().map(|[high, low]| Some(16 * digit(*high)? + digit(*low)?)).collect();
        let bytes = bytes.filter(|_| rest.is_empty()).and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or(NotHex(N))
    }
}

impl<const N: usize> Serialize for Hex<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            serializer.serialize_bytes(&self.0)
        }
    }
}

impl<'de, const N: usize> Deserialize<'de> for Hex<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
        } else {
            deserializer.deserialize_bytes(HexVisitor)
        }
    }
}

struct HexVisitor<const N: usize>;

impl<const N: usize> de::Visitor<'_> for HexVisitor<N> {
    type Value = Hex<N>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{N} bytes")
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Hex<N>, E> {
        bytes.try_into().map_err(|_| E::invalid_length(bytes.len(), &self))
    }
}

impl<const N: usize> TryFrom<&[u8]> for Hex<N> {
    type Error = NotHex;

    fn try_from(bytes: &[u8]) -> Result<Self, NotHex> {
        bytes.try_into().map(Self).map_err(|_| NotHex(N))
    }
}
