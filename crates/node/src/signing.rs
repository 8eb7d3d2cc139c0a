//! Signatures with the certificates of a network: who wrote something, whoever brought it.

use crate::certs::{CertError, CertFiles, Expiry};
use rcgen::{KeyPair, SigningKey};
use rustls_pki_types::{CertificateDer, TrustAnchor, UnixTime};
use std::collections::BTreeMap;
use thiserror::Error;
use webpki::EndEntityCert;

/// Signs for one agent.
pub struct Signer {
    key: KeyPair,
    certificate: Vec<u8>,
}

impl Signer {
    /// With these certificates.
    pub fn new(certs: &CertFiles) -> Result<Self, CertError> {
        Ok(Self { key: certs.key_pair()?, certificate: certs.certificate_der()? })
    }

    /// The certificate that goes with its signatures.
    pub fn certificate(&self) -> &[u8] {
        &self.certificate
    }

    /// The signature under a message; `None` where the key does not sign.
    pub fn sign(&self, message: &[u8]) -> Option<Vec<u8>> {
        self.key.sign(message).ok()
    }
}

/// A signature, and the certificate that it was made with.
#[derive(Clone, Copy, Debug)]
pub struct Signature<'a> {
    /// The writer's certificate.
    pub certificate: &'a [u8],
    /// What it made of the message.
    pub signature: &'a [u8],
}

/// A message that was not written by whom it says.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum NotSigned {
    /// Not from this authority, expired, or somebody else's.
    #[error("a certificate that does not hold: {0}")]
    Certificate(String),
    /// Altered, or written by somebody without the key.
    #[error("a signature that does not hold")]
    Signature,
}

/// Verifies what agents with certificates of one authority have signed.
pub struct Verifier {
    authority: TrustAnchor<'static>,
    /// Certificates that were verified, by name: good until they expire.
    known: BTreeMap<String, (Vec<u8>, Expiry)>,
    /// Whether a certificate that has expired still says who signed.
    lasting: bool,
}

impl Verifier {
    /// With the authority of these certificates.
    pub fn new(certs: &CertFiles) -> Result<Self, CertError> {
        let bad = |why: String| CertError::File { path: certs.authority.clone(), why };
        let authority = CertificateDer::from(certs.authority_der()?);
        let authority = webpki::anchor_from_trusted_cert(&authority)
            .map_err(|error| bad(format!("no certificate authority: {error}")))?
            .to_owned();
        Ok(Self { authority, known: BTreeMap::new(), lasting: false })
    }

    /// For what is signed once and holds from then on: a certificate that has expired since still
    /// says who signed.
    pub fn lasting(self) -> Self {
        Self { lasting: true, ..self }
    }

    /// Refuses a message that the agent of this name did not sign. All bytes may be anything.
    pub fn verify(
        &mut self,
        name: &str,
        signature: &Signature<'_>,
        message: &[u8],
    ) -> Result<(), NotSigned> {
        let wrong = |why: String| NotSigned::Certificate(why);
        let der = CertificateDer::from(signature.certificate);
        let certificate =
            EndEntityCert::try_from(&der).map_err(|error| wrong(error.to_string()))?;
        let known = self.known.get(name);
        let good = known.is_some_and(|(known, expiry)| {
            known == signature.certificate && (self.lasting || !expiry.is_over())
        });
        if !good {
            let (whose, expiry) = crate::certs::subject(signature.certificate).map_err(wrong)?;
            let now = UnixTime::now();
            let when = if self.lasting { expiry.last_moment().min(now) } else { now };
            certificate
                .verify_for_usage(
                    &[webpki::ring::ECDSA_P256_SHA256],
                    std::slice::from_ref(&self.authority),
                    &[],
                    when,
                    webpki::KeyUsage::client_auth(),
                    None,
                    None,
                )
                .map_err(|error| wrong(error.to_string()))?;
            if whose != name {
                return Err(wrong(format!("it is that of `{whose}`")));
            }
            self.known.insert(name.into(), (signature.certificate.into(), expiry));
        }
        certificate
            .verify_signature(webpki::ring::ECDSA_P256_SHA256, message, signature.signature)
            .map_err(|_| NotSigned::Signature)
    }
}
