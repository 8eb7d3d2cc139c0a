//! Letters that may leave this process: its own, once they are durable, and those of others, once
//! they are known to be theirs.

use crate::journal::DurableNotice;
use crate::letter::{Letter, Occasion};
use crate::signing::{NotSigned, Signer, Verifier};
use std::sync::Arc;

/// A letter that may leave.
///
/// ```compile_fail
/// use dzoa_node::{letter::Letter, post::Post};
/// fn forge(letter: Letter) -> Post {
///     Post(letter.into())
/// }
/// ```
///
/// What was received is one only after its signature was verified, and what is our own only after
/// it was persisted:
///
/// ```compile_fail
/// use dzoa::joint::Notice;
/// use dzoa_node::{letter::Occasion, post::Post, signing::Signer};
/// fn send(notice: Notice, occasion: Occasion<'_>, signer: &Signer) -> Option<Post> {
///     Post::own(&notice, &occasion, signer)
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Post(Arc<Letter>);

impl Post {
    /// Our own; `None` where the key does not sign.
    pub fn own(notice: &DurableNotice, occasion: &Occasion<'_>, signer: &Signer) -> Option<Self> {
        Letter::sign(notice, occasion, signer).map(Arc::new).map(Self)
    }

    /// Somebody else's.
    pub fn others(
        letter: Letter,
        occasion: &Occasion<'_>,
        verifier: &mut Verifier,
    ) -> Result<Self, NotSigned> {
        letter.verify(occasion, verifier)?;
        Ok(Self(Arc::new(letter)))
    }

    /// Somebody else's, from our journal: it was verified before it was written there.
    pub(crate) fn recalled(letter: Letter) -> Self {
        Self(Arc::new(letter))
    }

    /// The letter.
    pub fn letter(&self) -> &Letter {
        &self.0
    }
}
