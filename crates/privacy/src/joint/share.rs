//! From an agent's part of a sum to words that may be sent.
//!
//! ```text
//! Summand --Receipt--> Share --Masks--> Masked
//! ```
//!
//! A [`Share`] has its noise, and no encoding: only its masked words leave. A [`Masked`] is bound
//! to the charge that paid for it, at rest and after a restart.

use super::accumulator::Summand;
use super::masks::{Masks, NoMasks};
use super::words::Words;
use super::{Context, ShareKey};
use crate::{BrokenSeal, Digest, Event, Receipt, WrongEvent, noise};
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;
use zeroize::Zeroizing;

/// An agent's part of a sum with its share of the noise. Not yet hidden: it protects itself against
/// a planned number of colluders only together with the others.
///
/// It has no encoding:
///
/// ```compile_fail
/// fn leak(share: &dzoa_privacy::joint::Share) -> String {
///     serde_json::to_string(share).unwrap()
/// }
/// ```
///
/// And it cannot be read:
///
/// ```compile_fail
/// fn leak(share: &dzoa_privacy::joint::Share) -> i64 {
///     share.values[0]
/// }
/// ```
pub struct Share {
    context: Context,
    position: usize,
    charge: Digest,
    values: Zeroizing<Vec<i64>>,
}

impl Summand {
    /// Adds the noise that was charged: as many draws a coordinate as the plan asks of this agent.
    ///
    /// Refused for any other event than that of this sum.
    pub fn share(mut self, receipt: Receipt, key: &ShareKey) -> Result<Share, WrongEvent> {
        let event = self.context.event(self.position);
        let Event::JointSum { multiples, .. } = event else { return Err(WrongEvent(event)) };
        if receipt.event != event {
            return Err(WrongEvent(receipt.event));
        }
        let rng = &mut key.generator(self.context.id(), &self.values);
        let log2_share = self.context.query().log2_share();
        for value in self.values.iter_mut() {
            for _ in 0..multiples {
                *value += noise::discrete_gaussian(log2_share, rng);
            }
        }
        let Self { context, position, values } = self;
        Ok(Share { context, position, charge: receipt.id, values })
    }
}

impl Share {
    /// Hides all but the sum. Refused where the guarantee rests on masks and there are none.
    pub fn mask(self, masks: &mut Masks) -> Result<Masked, NoMasks> {
        let mut words: Vec<u64> = self.values.iter().map(|value| *value as u64).collect();
        masks.apply(&self.context, self.position, &mut words)?;
        Ok(Masked { words: words.into(), charge: self.charge })
    }
}

#[cfg(test)]
impl Share {
    /// A part without noise.
    pub(super) fn bare(context: Context, position: usize, values: Vec<i64>) -> Self {
        Self { context, position, charge: Digest::default(), values: values.into() }
    }

    pub(super) fn values(&self) -> &[i64] {
        &self.values
    }
}

impl fmt::Debug for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Share({} hidden values)", self.values.len())
    }
}

/// An agent's contribution to a sum, which was charged and may be sent. Its encoding is that of its
/// [`Words`], as which the others read it.
///
/// ```compile_fail
/// let forged: dzoa_privacy::joint::Masked = serde_json::from_str("[]").unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Masked {
    words: Words,
    charge: Digest,
}

impl Masked {
    /// What is sent.
    pub fn words(&self) -> &Words {
        &self.words
    }

    /// With a seal that binds it to the charge that paid for it: what a journal persists.
    pub fn seal(&self) -> SealedWords {
        SealedWords { words: self.words.clone(), seal: seal(&self.charge, &self.words) }
    }
}

impl Serialize for Masked {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.words.serialize(serializer)
    }
}

/// A contribution at rest. It becomes [`Masked`] again only with a receipt for the same charge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedWords {
    words: Words,
    seal: [u8; 32],
}

impl SealedWords {
    /// The contribution that was sealed.
    pub fn reopen(self, receipt: Receipt) -> Result<Masked, BrokenSeal> {
        match self.seal == seal(&receipt.id, &self.words) {
            true => Ok(Masked { words: self.words, charge: receipt.id }),
            false => Err(BrokenSeal),
        }
    }

    /// What was sent.
    pub fn words(&self) -> &Words {
        &self.words
    }
}

fn seal(charge: &Digest, words: &Words) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("dzoa 2026 sealed joint words");
    *hasher.update(&charge.0).update(&words.to_bytes()).finalize().as_bytes()
}
