//! What an agent says to all others, signed: neighbours pass it on.
//!
//! The signature covers a word for the kind, the network file, the roster, the writer's name, the
//! stage, the attempt, what all agree on (`id`) and the content. So nobody can change a letter on
//! its way, pass it off as another agent's, or use it in another run.

use crate::signing::{NotSigned, Signature, Signer, Verifier};
use dzoa::joint::{Notice, Saying, SumPart};
use dzoa::privacy::joint::Words;
use dzoa::privacy::packed::Packed;
use serde::{Deserialize, Serialize};

/// What a certificate, a signature and the rest around the numbers of a letter take, at most.
pub const AROUND_LETTER: usize = 2048;

/// A notice with its signature, as it travels and as it lies in a journal. Bytes that were read may
/// hold any: [`Letter::verify`] tells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Letter {
    origin: usize,
    stage: u64,
    attempt: u64,
    id: [u8; 32],
    content: Content,
    certificate: Vec<u8>,
    signature: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Content {
    Hello { key: [u8; 32], rows: u64 },
    Ready { roster: [u8; 32] },
    Words(Words),
    Plain(Packed),
    Leave { gone: Vec<usize> },
}

/// What is signed beside the letter itself.
#[derive(Clone, Copy, Debug)]
pub struct Occasion<'a> {
    /// Digest of the network file.
    pub network: [u8; 32],
    /// Digest of the roster; zeros before there is one.
    pub roster: [u8; 32],
    /// The writer's name.
    pub name: &'a str,
}

#[derive(Serialize)]
struct Signed<'a> {
    kind: &'static str,
    network: [u8; 32],
    roster: [u8; 32],
    name: &'a str,
    stage: u64,
    attempt: u64,
    id: [u8; 32],
    content: &'a Content,
}

impl Letter {
    /// Signs a notice; `None` where the key does not sign.
    pub(crate) fn sign(notice: &Notice, occasion: &Occasion<'_>, signer: &Signer) -> Option<Self> {
        let mut letter = Self {
            origin: notice.origin,
            stage: notice.stage,
            attempt: notice.attempt,
            id: notice.id.0,
            content: match &notice.saying {
                Saying::Hello { key, rows } => Content::Hello { key: *key, rows: *rows },
                Saying::Ready { roster } => Content::Ready { roster: roster.0 },
                Saying::Part(SumPart::Words(words)) => Content::Words(words.clone()),
                Saying::Part(SumPart::Plain(values)) => Content::Plain(Packed(values.clone())),
                Saying::Leave { gone } => Content::Leave { gone: gone.clone() },
            },
            certificate: signer.certificate().to_vec(),
            signature: Vec::new(),
        };
        letter.signature = signer.sign(&letter.signed(occasion))?;
        Some(letter)
    }

    /// Refuses a letter that its writer did not write on this occasion.
    pub fn verify(
        &self,
        occasion: &Occasion<'_>,
        verifier: &mut Verifier,
    ) -> Result<(), NotSigned> {
        let signature = Signature { certificate: &self.certificate, signature: &self.signature };
        verifier.verify(occasion.name, &signature, &self.signed(occasion))
    }

    /// The bytes under the signature.
    fn signed(&self, occasion: &Occasion<'_>) -> Vec<u8> {
        let (kind, roster) = match &self.content {
            Content::Hello { .. } => ("dzoa 2026 joint hello", [0; 32]),
            // Whoever has another roster says so, and is believed.
            Content::Ready { roster } => ("dzoa 2026 joint ready", *roster),
            Content::Words(_) | Content::Plain(_) => ("dzoa 2026 joint sum", occasion.roster),
            Content::Leave { .. } => ("dzoa 2026 joint leave", occasion.roster),
        };
        let signed = Signed {
            kind,
            network: occasion.network,
            roster,
            name: occasion.name,
            stage: self.stage,
            attempt: self.attempt,
            id: self.id,
            content: &self.content,
        };
        postcard::to_stdvec(&signed).expect("a letter is plain data")
    }

    /// Whose it says it is: a position among the members.
    pub fn origin(&self) -> usize {
        self.origin
    }

    /// Its stage.
    pub fn stage(&self) -> u64 {
        self.stage
    }

    /// Its stage, and how often that was begun before.
    pub fn place(&self) -> (u64, u64) {
        (self.stage, self.attempt)
    }

    /// About how many bytes of a frame it takes.
    pub(crate) fn weight(&self) -> usize {
        let numbers = match &self.content {
            Content::Words(words) => words.len(),
            Content::Plain(values) => values.0.len(),
            Content::Leave { gone } => gone.len(),
            Content::Hello { .. } | Content::Ready { .. } => 0,
        };
        8 * numbers + self.certificate.len() + self.signature.len() + 128
    }

    /// Whether it gives an attempt up.
    pub fn is_leave(&self) -> bool {
        matches!(self.content, Content::Leave { .. })
    }

    /// What it says.
    pub fn notice(&self) -> Notice {
        let saying = match &self.content {
            Content::Hello { key, rows } => Saying::Hello { key: *key, rows: *rows },
            Content::Ready { roster } => Saying::Ready { roster: (*roster).into() },
            Content::Words(words) => Saying::Part(SumPart::Words(words.clone())),
            Content::Plain(values) => Saying::Part(SumPart::Plain(values.0.clone())),
            Content::Leave { gone } => Saying::Leave { gone: gone.clone() },
        };
        let Self { origin, stage, attempt, id, .. } = *self;
        Notice { origin, stage, attempt, id: id.into(), saying }
    }

    /// Whether both say the same; signatures differ from one to the next.
    pub fn says_the_same(&self, other: &Self) -> bool {
        self.notice() == other.notice()
    }
}
