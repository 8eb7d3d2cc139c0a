//! Signatures of the sites under one network file: over its bytes, so that every site has agreed to
//! every number and every word of it.

use data_encoding::HEXLOWER;
use dzoa_node::certs::CertFiles;
use dzoa_node::signing::{Signature, Signer, Verifier};
use dzoa_report::write_file;
use dzoa_table::{Error, Result};
use serde_json::{Value, json};
use std::path::Path;

/// The bytes that are signed, and what they are called.
pub struct StudyBytes {
    bytes: Vec<u8>,
}

/// What there is of one site's signature.
pub enum Standing {
    /// It holds.
    Signed,
    /// There is none, or it does not hold, for this reason.
    Open(String),
}

impl StudyBytes {
    /// Those of a network file.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(|error| {
            Error::input(format!("{}: cannot be read: {error}", path.display()))
        })?;
        Ok(Self { bytes })
    }

    /// A digest of the bytes, by which people can tell two files apart.
    pub fn digest(&self) -> String {
        blake3::hash(&self.bytes).to_hex()[..40].into()
    }

    /// What a site of this name signs.
    fn message(&self, name: &str) -> Vec<u8> {
        let mut hasher = blake3::Hasher::new_derive_key("dzoa 2026 a site agrees to a study");
        for part in [name.as_bytes(), &self.bytes] {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        hasher.finalize().as_bytes().to_vec()
    }

    /// Signs with the key of a certificate, and writes NAME.signature.json.
    pub fn sign(&self, certs: &CertFiles, name: &str, out: &Path) -> Result<()> {
        certs.check(name).map_err(|error| Error::input(error.to_string()))?;
        let signer = Signer::new(certs).map_err(|error| Error::input(error.to_string()))?;
        let signature = signer
            .sign(&self.message(name))
            .ok_or_else(|| Error::run(format!("the key of `{name}` does not sign")))?;
        let text = json!({
            "study": self.digest(),
            "name": name,
            "certificate": HEXLOWER.encode(signer.certificate()),
            "signature": HEXLOWER.encode(&signature),
        });
        let text = serde_json::to_string_pretty(&text).expect("texts are JSON") + "\n";
        write_file(out, &file_name(name), text)
    }

    /// Whether a directory has a site's signature under exactly these bytes.
    pub fn standing(&self, verifier: &mut Verifier, dir: &Path, name: &str) -> Standing {
        let mut held = || -> std::result::Result<(), String> {
            let path = dir.join(file_name(name));
            let text = match std::fs::read_to_string(&path) {
                Ok(text) => text,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    return Err("has not signed".into());
                }
                Err(error) => return Err(format!("{}: cannot be read: {error}", path.display())),
            };
            let no = |why: &str| format!("{}: {why}", path.display());
            let read: Value =
                serde_json::from_str(&text).map_err(|_| no("is not a signature of a study"))?;
            let bytes = |key: &str| {
                let hex = read[key].as_str().ok_or_else(|| no("is not a signature of a study"))?;
                HEXLOWER.decode(hex.as_bytes()).map_err(|_| no("is not a signature of a study"))
            };
            if read["study"].as_str().is_some_and(|study| study != self.digest()) {
                return Err("has signed another file".into());
            }
            let (certificate, signature) = (bytes("certificate")?, bytes("signature")?);
            let signed = Signature { certificate: &certificate, signature: &signature };
            verifier
                .verify(name, &signed, &self.message(name))
                .map_err(|error| no(&error.to_string()))
        };
        held().map_or_else(Standing::Open, |()| Standing::Signed)
    }
}

/// The file of a site's signature.
pub fn file_name(name: &str) -> String {
    format!("{name}.signature.json")
}
