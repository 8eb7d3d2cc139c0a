//! Hashes over lists of fields that no other list of fields has.

use crate::Digest;
use zeroize::{Zeroize, Zeroizing};

/// A hash that is fed field by field. Each has its length in front, so that the end of one cannot
/// be taken for the beginning of the next.
pub(super) struct Fields(blake3::Hasher);

impl Fields {
    /// A hash for one purpose, which is a part of it: BLAKE3 as a key derivation.
    pub(super) fn hash(purpose: &str) -> Self {
        Self(blake3::Hasher::new_derive_key(purpose))
    }

    pub(super) fn bytes(mut self, field: &[u8]) -> Self {
        self.0.update(&(field.len() as u64).to_le_bytes()).update(field);
        self
    }

    pub(super) fn number(self, number: u64) -> Self {
        self.bytes(&number.to_le_bytes())
    }

    pub(super) fn numbers(mut self, numbers: &[u64]) -> Self {
        self.0.update(&(8 * numbers.len() as u64).to_le_bytes());
        numbers.iter().for_each(|number| {
            self.0.update(&number.to_le_bytes());
        });
        self
    }

    /// The bits of some values: two zeros of different sign are two values.
    pub(super) fn bits(self, values: &[f64]) -> Self {
        self.bytes(&crate::packed::pack(values))
    }

    pub(super) fn digest(self) -> Digest {
        Digest::from(*self.0.finalize().as_bytes())
    }

    pub(super) fn secret(self) -> Zeroizing<[u8; 32]> {
        let mut secret = Zeroizing::new([0; 32]);
        self.0.finalize_xof().fill(&mut *secret);
        secret
    }
}

impl Drop for Fields {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_cannot_be_moved_into_one_another() {
        let of = |fields: &[&[u8]]| {
            fields.iter().fold(Fields::hash("test"), |hash, field| hash.bytes(field)).digest()
        };
        let all = [
            of(&[]),
            of(&[b""]),
            of(&[b"ab"]),
            of(&[b"a", b"b"]),
            of(&[b"", b"ab"]),
            of(&[b"ab", b""]),
        ];
        for (i, a) in all.iter().enumerate() {
            assert!(all[i + 1..].iter().all(|b| a != b), "{i}");
        }
        assert_ne!(Fields::hash("one").digest(), Fields::hash("two").digest());
        // What is secret is the digest, and the library's own.
        let secret = Fields::hash("test").bytes(b"ab").secret();
        assert_eq!(Digest::from(*secret), of(&[b"ab"]));
        let material = [2u64.to_le_bytes().as_slice(), b"ab"].concat();
        assert_eq!(*secret, blake3::derive_key("test", &material));
        // A list of numbers is its bytes.
        let numbers = Fields::hash("test").numbers(&[1, 2]).digest();
        let bytes = [1u64.to_le_bytes(), 2u64.to_le_bytes()].concat();
        assert_eq!(numbers, of(&[&bytes]));
    }
}
