//! Keys that are made at the site: the request for a certificate travels, the key never does.

use super::{Authority, CertError, CertFiles, Identity, read, write};
use rcgen::{
    CertificateParams, CertificateSigningRequestParams, DnType, DnValue, KeyPair, PublicKey,
    PublicKeyData,
};
use std::path::{Path, PathBuf};
use time::Duration;

/// A site's key, and the request for its certificate.
pub struct SiteKey {
    name: String,
    key: KeyPair,
    /// Whether the key was there before.
    pub kept: bool,
}

impl SiteKey {
    /// The key of a directory, or a new one where there is none.
    pub fn open_or_new(dir: &Path, name: &str) -> Result<Self, CertError> {
        let files = CertFiles::of(dir, name);
        let kept = files.key.exists();
        let key = match kept {
            true => files.key_pair()?,
            false => KeyPair::generate().map_err(|error| cannot(name, error))?,
        };
        Ok(Self { name: name.into(), key, kept })
    }

    /// Writes the request, and the key where it is new. Returns where the request is.
    pub fn write(&self, dir: &Path) -> Result<PathBuf, CertError> {
        let failed = |error| cannot(&self.name, error);
        let mut params = CertificateParams::new(Vec::<String>::new()).map_err(failed)?;
        params.distinguished_name.push(DnType::CommonName, &self.name);
        let request = params.serialize_request(&self.key).and_then(|request| request.pem());
        let request = request.map_err(failed)?;
        if !self.kept {
            write(&CertFiles::of(dir, &self.name).key, &self.key.serialize_pem(), true)?;
        }
        let path = dir.join(format!("{}.request.pem", self.name));
        write(&path, &request, false)?;
        Ok(path)
    }

    /// What both ends compare by telephone.
    pub fn fingerprint(&self) -> String {
        fingerprint(self.key.der_bytes())
    }
}

/// A request that a site sent.
pub struct Requested {
    /// Whose it says it is.
    pub name: String,
    key: PublicKey,
}

impl Requested {
    /// Reads it, and checks that whoever wrote it has the key. What else it asks for is not read:
    /// the authority decides what a certificate is good for.
    pub fn read(path: &Path) -> Result<Self, CertError> {
        let bad = |why: String| CertError::File { path: path.into(), why };
        let asked = CertificateSigningRequestParams::from_pem(&read(path)?)
            .map_err(|error| bad(format!("not a request for a certificate: {error}")))?;
        let name = match asked.params.distinguished_name.get(&DnType::CommonName) {
            Some(DnValue::Utf8String(name)) => name.clone(),
            Some(DnValue::PrintableString(name)) => name.as_str().into(),
            _ => return Err(bad("names nobody".into())),
        };
        Ok(Self { name, key: asked.public_key })
    }

    /// What both ends compare by telephone.
    pub fn fingerprint(&self) -> String {
        fingerprint(self.key.der_bytes())
    }
}

impl Authority {
    /// A certificate for a key that stays where it was made.
    pub fn sign(
        &self,
        asked: &Requested,
        host: &str,
        valid: Duration,
    ) -> Result<Identity, CertError> {
        let params = super::params(&asked.name, host, valid)?;
        let certificate = params.signed_by(&asked.key, &self.issuer);
        let certificate = certificate.map_err(|error| cannot(&asked.name, error))?.pem();
        Ok(Identity { name: asked.name.clone(), certificate, key: None })
    }
}

fn cannot(name: &str, error: rcgen::Error) -> CertError {
    CertError::Make { name: name.into(), why: error.to_string() }
}

/// A digest of a public key, in groups that can be read aloud.
pub(super) fn fingerprint(key: &[u8]) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("dzoa 2026 public key of a site");
    let digest = hasher.update(key).finalize().to_hex();
    let groups: Vec<&str> = (0..10).map(|i| &digest[4 * i..4 * i + 4]).collect();
    groups.join(" ")
}
