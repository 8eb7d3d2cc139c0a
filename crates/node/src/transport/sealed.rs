//! Frames signed from end to end, for links that lead through routers.
//!
//! A router ends the TLS connection of both agents, so the certificate seen on a link is the
//! router's and says nothing about who wrote a frame. Here every frame carries its writer's
//! certificate and a signature:
//!
//! ```text
//! "dzoa-seal" | format (1 byte) | length of the signature (1 byte) | signature | Letter, postcard
//! ```
//!
//! The signature covers writer, reader and letter. Against old letters sent again, each side asks
//! the other to echo a random challenge, which it draws anew whenever it meets a new process of the
//! other, and letters of a process are numbered. So a letter is taken only if it was written by the
//! neighbour's present process, for this process, after everything else that was taken. The first
//! letters after a start cannot echo anything: they are answered with an empty letter that carries
//! the challenge, and whatever was in them is repeated by the node.
//!
//! A router can still read, delay and drop.

use crate::certs::{CertError, CertFiles};
use crate::signing::{NotSigned, Signature, Signer, Verifier};
use serde::{Deserialize, Serialize};
use thiserror::Error;

const MAGIC: &[u8; 9] = b"dzoa-seal";
const FORMAT: u8 = 1;
/// What a seal adds to a frame, at most: a certificate of an agent has about 500 bytes.
pub const AROUND: usize = 2048;

type Nonce = [u8; 16];

/// What is signed, beside the names.
#[derive(Serialize, Deserialize)]
struct Letter<'a> {
    /// The writer's process.
    session: Nonce,
    /// What the writer wants to see in the answer.
    challenge: Nonce,
    /// The reader's challenge, as far as the writer knows it.
    echo: Nonce,
    /// Counts the letters of this process to this reader.
    number: u64,
    /// The writer's certificate.
    certificate: &'a [u8],
    /// Empty in a mere greeting.
    frame: &'a [u8],
}

/// Why a letter is refused.
#[derive(Clone, Debug, Error, PartialEq, Eq, Hash)]
pub enum SealError {
    /// Bytes that are none.
    #[error("{0} bytes that are no sealed frame")]
    NoSeal(usize),
    /// Another format.
    #[error("a seal of format {0}, where this program speaks format {FORMAT}")]
    OtherFormat(u8),
    /// Not from this authority, expired, or somebody else's.
    #[error("a certificate that does not hold: {0}")]
    Certificate(String),
    /// Altered, or written by somebody without the key.
    #[error("a signature that does not hold")]
    Signature,
    /// Sent again.
    #[error("a letter that is not newer than the last one")]
    Old,
}

impl From<NotSigned> for SealError {
    fn from(no: NotSigned) -> Self {
        match no {
            NotSigned::Certificate(why) => Self::Certificate(why),
            NotSigned::Signature => Self::Signature,
        }
    }
}

/// What a letter was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unsealed {
    /// From the neighbour's present process to this one.
    Frame(Vec<u8>),
    /// Nothing to take.
    Greeting {
        /// The neighbour does not know the challenge yet: send it a greeting.
        answer: bool,
    },
}

/// One neighbour, as far as letters go.
struct Correspondent {
    name: String,
    /// Its process.
    session: Option<Nonce>,
    /// What it must echo.
    challenge: Nonce,
    /// What it wants to see echoed.
    echo: Nonce,
    /// Its last letter.
    last: u64,
    /// Our last letter to it.
    sent: u64,
}

/// Seals and unseals the frames of one process.
pub struct Sealer {
    name: String,
    signer: Signer,
    verifier: Verifier,
    session: Nonce,
    correspondents: Vec<(usize, Correspondent)>,
}

impl Sealer {
    /// For an agent with these certificates and neighbours (position and name).
    pub fn new<'a>(
        name: &str,
        certs: &CertFiles,
        neighbours: impl IntoIterator<Item = (usize, &'a str)>,
    ) -> Result<Self, CertError> {
        let correspondent = |(index, name): (usize, &str)| {
            let correspondent = Correspondent {
                name: name.into(),
                session: None,
                challenge: rand::random(),
                echo: Nonce::default(),
                last: 0,
                sent: 0,
            };
            (index, correspondent)
        };
        Ok(Self {
            name: name.into(),
            signer: Signer::new(certs)?,
            verifier: Verifier::new(certs)?,
            session: rand::random(),
            correspondents: neighbours.into_iter().map(correspondent).collect(),
        })
    }

    /// A letter to the neighbour at this position; an empty frame is a greeting. `None` if it is no
    /// neighbour.
    pub fn seal(&mut self, to: usize, frame: &[u8]) -> Option<Vec<u8>> {
        let (_, reader) = self.correspondents.iter_mut().find(|(index, _)| *index == to)?;
        reader.sent += 1;
        let letter = Letter {
            session: self.session,
            challenge: reader.challenge,
            echo: reader.echo,
            number: reader.sent,
            certificate: self.signer.certificate(),
            frame,
        };
        let letter = postcard::to_stdvec(&letter).expect("a letter is plain data");
        let signature = self.signer.sign(&signed(&self.name, &reader.name, &letter))?;
        let mut bytes = Vec::with_capacity(AROUND + frame.len());
        bytes.extend_from_slice(MAGIC);
        bytes.extend([FORMAT, u8::try_from(signature.len()).ok()?]);
        bytes.extend(signature);
        bytes.extend(letter);
        Some(bytes)
    }

    /// Opens a letter that claims to be from the neighbour at this position. The bytes may be
    /// anything.
    pub fn unseal(&mut self, from: usize, bytes: &[u8]) -> Result<Unsealed, SealError> {
        let none = || SealError::NoSeal(bytes.len());
        let writer = self.correspondents.iter_mut().find(|(index, _)| *index == from);
        let (_, writer) = writer.ok_or_else(none)?;
        let rest = bytes.strip_prefix(MAGIC).ok_or_else(none)?;
        let (&[format, length], rest) = rest.split_first_chunk().ok_or_else(none)?;
        if format != FORMAT {
            return Err(SealError::OtherFormat(format));
        }
        let (signature, body) = rest.split_at_checked(length.into()).ok_or_else(none)?;
        let letter: Letter<'_> = postcard::from_bytes(body).map_err(|_| none())?;
        let message = signed(&writer.name, &self.name, body);
        let signature = Signature { certificate: letter.certificate, signature };
        self.verifier.verify(&writer.name, &signature, &message)?;
        writer.take(&letter)
    }
}

impl Correspondent {
    /// What a letter with a good signature is worth.
    fn take(&mut self, letter: &Letter<'_>) -> Result<Unsealed, SealError> {
        if self.session != Some(letter.session) {
            // Another process, or an old letter: only a live process can echo what is drawn now.
            self.session = Some(letter.session);
            self.challenge = rand::random();
            self.last = 0;
        }
        if letter.number <= self.last {
            return Err(SealError::Old);
        }
        self.last = letter.number;
        self.echo = letter.challenge;
        Ok(match letter.echo == self.challenge {
            false => Unsealed::Greeting { answer: true },
            true if letter.frame.is_empty() => Unsealed::Greeting { answer: false },
            true => Unsealed::Frame(letter.frame.into()),
        })
    }
}

/// The bytes under the signature. Names hold no zero.
fn signed(writer: &str, reader: &str, letter: &[u8]) -> Vec<u8> {
    [b"dzoa sealed letter\0", writer.as_bytes(), b"\0", reader.as_bytes(), b"\0", letter].concat()
}
