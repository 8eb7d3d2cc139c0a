//! What agents say to each other, as bytes: versioned, length-limited, checksummed.
//!
//! ```text
//! "dzoa" | format (1 byte) | postcard of Frame | CRC-32 of everything before it (4 bytes)
//! ```
//!
//! Every frame says which network file and which program its sender has, so that two agents that
//! differ find out at the first word. Whoever sent it is known from the transport (certificate and
//! key); the names in the frame must agree with that.

use crate::journal::Durable;
use crate::letter::{AROUND_LETTER, Letter};
use crate::post::Post;
use dzoa::privacy::Seen;
use dzoa::privacy::packed::{pack, unpack};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use thiserror::Error;

/// The format of frames.
pub const FORMAT: u8 = 5;
const MAGIC: &[u8; 4] = b"dzoa";
/// Magic, format and checksum.
const AROUND: usize = 9;
/// Room for everything in a frame but the vector: names and a reason have this much together.
const BESIDE_VECTOR: usize = 1024;
/// The longest reason that is sent, in bytes.
const LONGEST_REASON: usize = 400;
/// Letters go together into one frame until they weigh this much.
pub(crate) const BUNDLE: usize = 1 << 15;

/// A message between two neighbours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Frame<B = Body> {
    /// Digest of the network file.
    pub network: [u8; 32],
    /// Version of the program.
    pub program: String,
    /// The sender's name.
    pub from: String,
    /// The receiver's name.
    pub to: String,
    /// The sender's round: everything before it is durable at the sender.
    pub round: u64,
    /// The first vector of the receiver's that the sender misses.
    pub needs: u64,
    /// The last vector of the receiver's that the sender has.
    pub has: u64,
    /// A random number of the sender's process.
    pub session: u64,
    /// Counts the frames of that process.
    pub number: u64,
    /// The receiver's, as the sender last heard it: what says it was said to the process that is
    /// there now.
    pub echo: u64,
    /// How far the sender's ledger is.
    pub ledger: Seen,
    /// The furthest that the sender ever saw the receiver's ledger.
    pub yours: Option<Seen>,
    /// What is said.
    pub body: B,
}

/// What this agent says. Opaque: a vector gets into it only as an [`Outgoing`].
///
/// ```
/// use dzoa_node::wire::Body;
/// let goodbye = Body::bye("the budget is spent");
/// ```
///
/// ```compile_fail
/// use dzoa_node::wire::Body;
/// let forged = Body::Vector { round: 1, values: vec![1.0].into() };
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Body(Said);

#[derive(Clone, Debug, PartialEq)]
enum Said {
    Note,
    Vector(Outgoing),
    Bye { reason: String },
    Left { round: u64 },
    Held { held: Heard },
    Letters { held: Heard, posts: Vec<Post> },
}

/// Whom an agent has heard in its turn, and whom it takes for gone: a bit for each member, by
/// position. Bits that are not there are not set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Heard {
    /// Whose word it has.
    pub said: Vec<u8>,
    /// Whose word it has that an attempt is given up.
    pub leaves: Vec<u8>,
    /// Who is gone, as far as it knows.
    pub gone: Vec<u8>,
}

/// A vector that may leave: one that is durable here, and so a release that was charged, or an
/// average of such releases.
///
/// ```
/// use dzoa_node::{journal::Durable, wire::{Body, Outgoing}};
/// fn said(vector: &Durable) -> Body {
///     Body::vector(Outgoing::from(vector))
/// }
/// ```
///
/// Nothing else makes one:
///
/// ```compile_fail
/// use dzoa_node::wire::Outgoing;
/// let forged = Outgoing { round: 1, values: vec![1.0].into() };
/// ```
///
/// A vector that was received cannot be sent on, either:
///
/// ```compile_fail
/// use dzoa_node::wire::{Body, Frame, Received};
/// fn forward(frame: Frame<Received>) -> Vec<u8> {
///     frame.encode()
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Outgoing {
    round: u64,
    values: Arc<[f64]>,
}

impl From<&Durable> for Outgoing {
    fn from(vector: &Durable) -> Self {
        Self { round: vector.round, values: vector.message.values().clone() }
    }
}

impl Outgoing {
    /// Its round.
    pub fn round(&self) -> u64 {
        self.round
    }
}

impl Body {
    /// I am here.
    pub fn note() -> Self {
        Self(Said::Note)
    }

    /// My vector of a round.
    pub fn vector(vector: Outgoing) -> Self {
        Self(Said::Vector(vector))
    }

    /// I go, and shall send nothing after this round. A long reason is cut off.
    pub fn bye(reason: &str) -> Self {
        Self(Said::Bye { reason: short(reason) })
    }

    /// I go on without you from this round on.
    pub fn left(round: u64) -> Self {
        Self(Said::Left { round })
    }

    /// I am here, and have heard these members in my turn.
    pub fn held(held: Heard) -> Self {
        Self(Said::Held { held })
    }

    /// What members say to all others.
    pub fn letters(held: Heard, posts: Vec<Post>) -> Self {
        Self(Said::Letters { held, posts })
    }
}

/// What a neighbour said. Its vector is no release of ours: another type, on purpose.
#[derive(Clone, Debug, PartialEq)]
pub enum Received {
    /// It is there.
    Note,
    /// Its vector of a round.
    Vector {
        /// The round.
        round: u64,
        /// The values.
        values: Arc<[f64]>,
    },
    /// It goes, and will send nothing after this round.
    Bye {
        /// Why.
        reason: String,
    },
    /// It goes on without this agent.
    Left {
        /// The first round without.
        round: u64,
    },
    /// It is there, and has heard these members in its turn.
    Held {
        /// Whom.
        held: Heard,
    },
    /// It passes on what members say to all others.
    Letters {
        /// Whom it has heard itself.
        held: Heard,
        /// What it passes on: anybody may have written it.
        letters: Vec<Letter>,
    },
}

/// A body up to the values, which are the last thing in a frame: eight bytes each, copied all at
/// once.
#[derive(Serialize, Deserialize)]
enum Head {
    Note,
    Vector { round: u64, count: usize },
    Bye { reason: String },
    Left { round: u64 },
    Held { held: Heard },
    Letters { held: Heard, letters: Vec<Letter> },
}

/// Bytes that are no frame.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DecodeError {
    /// Longer than any honest frame.
    #[error("a frame of {got} bytes, where {limit} are allowed")]
    TooLong {
        /// Its length.
        got: usize,
        /// The limit.
        limit: usize,
    },
    /// No dzoa frame at all.
    #[error("{0} bytes that are no frame")]
    NoFrame(usize),
    /// Another format.
    #[error("a frame of format {got}, where this program speaks format {FORMAT}")]
    OtherFormat {
        /// Its format.
        got: u8,
    },
    /// Damaged.
    #[error("a frame whose checksum is wrong")]
    Checksum,
    /// The checksum is right, the content is not.
    #[error("a frame that cannot be read")]
    Malformed,
}

/// The longest frame between agents with this many coefficients.
pub fn longest(features: usize) -> usize {
    AROUND + BESIDE_VECTOR + 8 * features
}

/// The longest frame between so many agents whose sums have so many numbers: a bundle of letters
/// that one more was put on.
pub fn longest_letter(agents: usize, coordinates: usize) -> usize {
    // Three lists of bits, and a list of those that are gone.
    longest(coordinates) + AROUND_LETTER + 3 * (agents.div_ceil(8) + agents) + BUNDLE
}

impl Frame {
    /// The bytes.
    pub fn encode(self) -> Vec<u8> {
        let mut values = Arc::default();
        let head = self.map(|Body(said)| match said {
            Said::Note => Head::Note,
            Said::Vector(vector) => {
                values = vector.values;
                Head::Vector { round: vector.round, count: values.len() }
            }
            Said::Bye { reason } => Head::Bye { reason },
            Said::Left { round } => Head::Left { round },
            Said::Held { held } => Head::Held { held },
            Said::Letters { held, posts } => {
                let letters = posts.iter().map(|post| post.letter().clone()).collect();
                Head::Letters { held, letters }
            }
        });
        let mut bytes = Vec::with_capacity(AROUND + BESIDE_VECTOR + 8 * values.len());
        bytes.extend_from_slice(MAGIC);
        bytes.push(FORMAT);
        let mut bytes = postcard::to_extend(&head, bytes).expect("a frame is plain data");
        bytes.extend_from_slice(&pack(&values));
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        bytes
    }
}

impl Frame<Received> {
    /// A frame from bytes that may be anything. Never panics, and never allocates more than it was
    /// given, but for a megabyte where it says that it holds many letters.
    pub fn decode(bytes: &[u8], limit: usize) -> Result<Self, DecodeError> {
        if bytes.len() > limit {
            return Err(DecodeError::TooLong { got: bytes.len(), limit });
        }
        let (inner, checksum) =
            bytes.split_last_chunk::<4>().ok_or(DecodeError::NoFrame(bytes.len()))?;
        let body = inner.strip_prefix(MAGIC).ok_or(DecodeError::NoFrame(bytes.len()))?;
        let (&format, body) = body.split_first().ok_or(DecodeError::NoFrame(bytes.len()))?;
        if format != FORMAT {
            return Err(DecodeError::OtherFormat { got: format });
        }
        if crc32fast::hash(inner) != u32::from_le_bytes(*checksum) {
            return Err(DecodeError::Checksum);
        }
        let (head, rest): (Frame<Head>, &[u8]) =
            postcard::take_from_bytes(body).map_err(|_| DecodeError::Malformed)?;
        let count = match head.body {
            Head::Vector { count, .. } => count,
            _ => 0,
        };
        // The values are all that is left.
        if count.checked_mul(8) != Some(rest.len()) {
            return Err(DecodeError::Malformed);
        }
        let values = unpack(rest).ok_or(DecodeError::Malformed)?;
        Ok(head.map(|body| match body {
            Head::Note => Received::Note,
            Head::Vector { round, .. } => Received::Vector { round, values },
            Head::Bye { reason } => Received::Bye { reason: plain(&reason) },
            Head::Left { round } => Received::Left { round },
            Head::Held { held } => Received::Held { held },
            Head::Letters { held, letters } => Received::Letters { held, letters },
        }))
    }
}

impl<B> Frame<B> {
    /// The frame with another body.
    fn map<C>(self, change: impl FnOnce(B) -> C) -> Frame<C> {
        Frame {
            network: self.network,
            program: self.program,
            from: self.from,
            to: self.to,
            round: self.round,
            needs: self.needs,
            has: self.has,
            session: self.session,
            number: self.number,
            echo: self.echo,
            ledger: self.ledger,
            yours: self.yours,
            body: change(self.body),
        }
    }
}

/// What another agent says, on one line and without what moves a terminal's cursor.
pub(crate) fn plain(text: &str) -> String {
    let seen = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    short(text).chars().map(seen).collect()
}

/// A reason short enough to be sent.
fn short(reason: &str) -> String {
    let end = (0..=LONGEST_REASON.min(reason.len()))
        .rev()
        .find(|&end| reason.is_char_boundary(end))
        .unwrap_or(0);
    reason[..end].into()
}
