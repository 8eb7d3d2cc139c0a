//! What an agent keeps secret for joint sums, all of it derived from its root.
//!
//! Nothing here is persisted: after a restart the same root, name and rows give the same keys.
//! Changed rows give others, so that no two values ever meet one noise or one mask.

use super::fields::Fields;
use crate::Digest;
use chacha20::ChaCha20Rng;
use rand::SeedableRng;
use std::fmt;
use x25519_dalek::{PublicKey, StaticSecret};
use zeroize::Zeroizing;

/// Where an agent's keys come from.
#[derive(Clone, Copy)]
pub struct Origin<'a> {
    /// The secret of the run, from the journal's root. Whoever knows it can subtract the noise.
    pub root: &'a [u8; 32],
    /// The agent's name.
    pub agent: &'a str,
    /// A digest of its rows.
    pub rows: Digest,
}

impl Origin<'_> {
    fn fields(&self, purpose: &str) -> Fields {
        let agent = self.agent.as_bytes();
        Fields::hash(purpose).bytes(self.root).bytes(agent).bytes(&self.rows.0)
    }
}

impl fmt::Debug for Origin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Origin({}, hidden)", self.agent)
    }
}

/// The secret that an agent's shares of noise follow from. Forgotten when dropped.
///
/// The noise of a share is a function of this key, of the context of the sum and of the value that
/// it hides: the same ones give the same bits again, after any crash, and any other ones fresh
/// noise.
#[derive(Clone)]
pub struct ShareKey(Zeroizing<[u8; 32]>);

impl ShareKey {
    /// The key of an agent with these rows.
    pub fn new(origin: &Origin<'_>) -> Self {
        Self(origin.fields("dzoa 2026 joint share key").secret())
    }

    /// What a charge says about its inputs: a digest of context and rows that only the agent can
    /// make.
    pub(super) fn inputs(&self, context: Digest) -> Digest {
        Fields::hash("dzoa 2026 joint inputs").bytes(&*self.0).bytes(&context.0).digest()
    }

    /// The generator of the noise on this value.
    pub(super) fn generator(&self, context: Digest, value: &[i64]) -> ChaCha20Rng {
        let value: &[u64] = bytemuck::cast_slice(value);
        let seed = Fields::hash("dzoa 2026 joint noise").bytes(&*self.0).bytes(&context.0);
        ChaCha20Rng::from_seed(*seed.numbers(value).secret())
    }
}

impl fmt::Debug for ShareKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ShareKey(hidden)")
    }
}

/// The secret with which an agent agrees on masks. Forgotten when dropped.
///
/// ```
/// use dzoa_privacy::joint::{MaskKey, Origin};
/// let origin = Origin { root: &[7; 32], agent: "a", rows: [1; 32].into() };
/// let key = MaskKey::new(&origin, [2; 32].into());
/// // After a restart the same key.
/// assert_eq!(key.public(), MaskKey::new(&origin, [2; 32].into()).public());
/// ```
///
/// It has no encoding:
///
/// ```compile_fail
/// use dzoa_privacy::joint::{MaskKey, Origin};
/// let origin = Origin { root: &[7; 32], agent: "a", rows: [1; 32].into() };
/// serde_json::to_string(&MaskKey::new(&origin, [2; 32].into()));
/// ```
#[derive(Clone)]
pub struct MaskKey {
    agent: String,
    network: Digest,
    secret: StaticSecret,
}

impl MaskKey {
    /// The key of an agent with these rows in a network with this digest.
    pub fn new(origin: &Origin<'_>, network: Digest) -> Self {
        let secret = origin.fields("dzoa 2026 joint mask key").bytes(&network.0).secret();
        Self { agent: origin.agent.into(), network, secret: StaticSecret::from(*secret) }
    }

    /// What the others need to know.
    pub fn public(&self) -> [u8; 32] {
        PublicKey::from(&self.secret).to_bytes()
    }

    /// Whose it is.
    pub fn agent(&self) -> &str {
        &self.agent
    }

    pub(super) fn network(&self) -> Digest {
        self.network
    }

    pub(super) fn agree(&self, public: [u8; 32]) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(self.secret.diffie_hellman(&PublicKey::from(public)).to_bytes())
    }
}

impl fmt::Debug for MaskKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MaskKey({}, hidden)", self.agent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;

    const ORIGIN: Origin<'static> =
        Origin { root: &[7; 32], agent: "a", rows: crate::Hex([1; 32]) };

    #[test]
    fn other_rows_names_roots_or_networks_give_other_keys() {
        let network = Digest::from([2; 32]);
        let others = [
            Origin { root: &[8; 32], ..ORIGIN },
            Origin { agent: "b", ..ORIGIN },
            Origin { rows: [3; 32].into(), ..ORIGIN },
        ];
        let key = MaskKey::new(&ORIGIN, network).public();
        assert_ne!(key, MaskKey::new(&ORIGIN, [9; 32].into()).public());
        let context = Digest::from([5; 32]);
        let first = |key: ShareKey| key.generator(context, &[4, 2]).next_u64();
        let noise = first(ShareKey::new(&ORIGIN));
        let inputs = ShareKey::new(&ORIGIN).inputs(context);
        for other in others {
            assert_ne!(key, MaskKey::new(&other, network).public(), "{other:?}");
            assert_ne!(noise, first(ShareKey::new(&other)), "{other:?}");
            assert_ne!(inputs, ShareKey::new(&other).inputs(context), "{other:?}");
        }
    }

    #[test]
    fn the_agreement_is_x25519() {
        // RFC 7748, section 6.1.
        let hex = |text: &str| text.parse::<crate::Hex<32>>().unwrap().0;
        let key = |text: &str| MaskKey {
            agent: "a".into(),
            network: Digest::default(),
            secret: StaticSecret::from(hex(text)),
        };
        let alice = key("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a");
        let bob = key("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb");
        let public = "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a";
        assert_eq!(alice.public(), hex(public));
        let shared = "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742";
        assert_eq!(*alice.agree(bob.public()), hex(shared));
        assert_eq!(*bob.agree(alice.public()), hex(shared));
    }

    #[test]
    fn secrets_are_forgotten_when_they_are_dropped() {
        // By type: features of three libraries that must stay on.
        fn forgets<T: zeroize::ZeroizeOnDrop>() {}
        forgets::<StaticSecret>();
        forgets::<ChaCha20Rng>();
        forgets::<Zeroizing<[u8; 32]>>();
    }

    #[test]
    fn keys_are_not_printed() {
        let printed = format!(
            "{ORIGIN:?} {:?} {:?}",
            ShareKey::new(&ORIGIN),
            MaskKey::new(&ORIGIN, [2; 32].into())
        );
        assert_eq!(printed, "Origin(a, hidden) ShareKey(hidden) MaskKey(a, hidden)");
    }
}
