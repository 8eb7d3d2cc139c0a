//! Vectors as bytes, eight a value and the lowest first: copied at once where they are stored, sent
//! or hashed.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Shared values, which lie in a file as their bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Packed(pub Arc<[f64]>);

/// The bytes of values: where numbers lie in memory like that, no copy.
pub fn pack(values: &[f64]) -> Cow<'_, [u8]> {
    if cfg!(target_endian = "little") {
        Cow::Borrowed(bytemuck::cast_slice(values))
    } else {
        Cow::Owned(values.iter().flat_map(|value| value.to_le_bytes()).collect())
    }
}

/// Values from bytes; `None` where these are no whole number of values.
pub fn unpack(bytes: &[u8]) -> Option<Arc<[f64]>> {
    let (eights, rest) = bytes.as_chunks();
    rest.is_empty().then(|| eights.iter().map(|eight| f64::from_le_bytes(*eight)).collect())
}

impl Deref for Packed {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        &self.0
    }
}

impl Serialize for Packed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&pack(&self.0))
    }
}

impl<'de> Deserialize<'de> for Packed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(PackedVisitor)
    }
}

struct PackedVisitor;

impl de::Visitor<'_> for PackedVisitor {
    type Value = Packed;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("eight bytes a value")
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Packed, E> {
        unpack(bytes).map(Packed).ok_or_else(|| E::invalid_length(bytes.len(), &self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_comes_back_and_a_torn_value_does_not() {
        let values = [0.0, -0.0, 1.5, f64::MIN_POSITIVE / 2.0, f64::INFINITY, f64::NAN];
        let bytes = pack(&values);
        assert_eq!(bytes[16..24], 1.5f64.to_le_bytes());
        let back = unpack(&bytes).expect("whole values");
        assert!(back.iter().zip(values).all(|(back, value)| back.to_bits() == value.to_bits()));
        assert_eq!(unpack(&bytes[1..]), None);
    }
}
