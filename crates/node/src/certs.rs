//! A private certificate authority, and one certificate per agent.
//!
//! An agent's certificate carries its name as the common name (what access control goes by), the
//! host of its address as the alternative name (what whoever dials it checks), and serves as server
//! and as client.

mod request;

pub use request::{Requested, SiteKey};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls_pki_types::UnixTime;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use thiserror::Error;
use time::{Duration, OffsetDateTime};

/// How long an authority lasts.
const AUTHORITY_DAYS: i64 = 5 * 365;
/// Clocks differ: certificates are valid from a little before they are made.
const CLOCK_SKEW: Duration = Duration::hours(1);

/// Certificates that cannot be made or read.
#[derive(Debug, Error)]
pub enum CertError {
    /// Making one.
    #[error("the certificate of `{name}` cannot be made: {why}")]
    Make {
        /// Whose.
        name: String,
        /// Why not.
        why: String,
    },
    /// A file.
    #[error("{}: {why}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// Too old.
    #[error("{}: the certificate of `{name}` expired on {when}", path.display())]
    Expired {
        /// Which file.
        path: PathBuf,
        /// Whose.
        name: String,
        /// When.
        when: String,
    },
}

/// Where the certificates of a network lie.
#[derive(Clone, Debug)]
pub struct CertFiles {
    /// The authority's certificate: public.
    pub authority: PathBuf,
    /// The agent's certificate: public.
    pub certificate: PathBuf,
    /// The agent's key: secret.
    pub key: PathBuf,
}

impl CertFiles {
    /// The files of one agent in a directory of certificates.
    pub fn of(dir: &Path, name: &str) -> Self {
        Self {
            authority: dir.join("ca.pem"),
            certificate: dir.join(format!("{name}.pem")),
            key: dir.join(format!("{name}.key")),
        }
    }

    /// Checks that the files are there and when the certificate ends.
    pub fn check(&self, name: &str) -> Result<Expiry, CertError> {
        for path in [&self.authority, &self.certificate, &self.key] {
            read(path)?;
        }
        only_its_owner_reads(&self.key)?;
        let path = self.certificate.clone();
        let bad = |why: String| CertError::File { path: path.clone(), why };
        let (common, expiry) = subject(&self.certificate_der()?).map_err(bad)?;
        if common != name {
            return Err(bad(format!("is the certificate of `{common}`, not of `{name}`")));
        }
        if expiry.is_over() {
            return Err(CertError::Expired { path, name: name.into(), when: expiry.when });
        }
        Ok(expiry)
    }

    /// Of the key that the certificate is for, if there is one that can be read.
    pub fn fingerprint(&self) -> Option<String> {
        let der = self.certificate_der().ok()?;
        let (_, certificate) = x509_parser::parse_x509_certificate(&der).ok()?;
        Some(request::fingerprint(&certificate.public_key().subject_public_key.data))
    }

    /// The authority's certificate as bytes.
    pub(crate) fn authority_der(&self) -> Result<Vec<u8>, CertError> {
        der(&self.authority)
    }

    /// The agent's certificate as bytes.
    pub(crate) fn certificate_der(&self) -> Result<Vec<u8>, CertError> {
        der(&self.certificate)
    }

    /// The agent's key.
    pub(crate) fn key_pair(&self) -> Result<KeyPair, CertError> {
        KeyPair::from_pem(&read(&self.key)?).map_err(|error| CertError::File {
            path: self.key.clone(),
            why: format!("not a key: {error}"),
        })
    }
}

fn der(path: &Path) -> Result<Vec<u8>, CertError> {
    let (_, pem) = x509_parser::pem::parse_x509_pem(read(path)?.as_bytes()).map_err(|error| {
        CertError::File { path: path.into(), why: format!("not a certificate: {error}") }
    })?;
    Ok(pem.contents)
}

/// Refuses a key that any user of the machine can read.
#[cfg(unix)]
fn only_its_owner_reads(key: &Path) -> Result<(), CertError> {
    use std::os::unix::fs::PermissionsExt;
    let bad = |why: String| CertError::File { path: key.into(), why };
    let found = std::fs::metadata(key).map_err(|error| bad(format!("cannot be read: {error}")))?;
    match found.permissions().mode() & 0o777 {
        mode if mode & 0o007 != 0 => Err(bad(format!(
            "every user of this machine can read this key (mode {mode:o}); `chmod 600` it"
        ))),
        _ => Ok(()),
    }
}

#[cfg(not(unix))]
fn only_its_owner_reads(_: &Path) -> Result<(), CertError> {
    Ok(())
}

/// Whose certificate it is, and when it ends.
pub(crate) fn subject(der: &[u8]) -> Result<(String, Expiry), String> {
    let (_, certificate) = x509_parser::parse_x509_certificate(der)
        .map_err(|error| format!("not a certificate: {error}"))?;
    let common = certificate.subject().iter_common_name().next();
    let common = common.and_then(|common| common.as_str().ok()).unwrap_or_default();
    let end = certificate.validity().not_after;
    Ok((common.into(), Expiry { at: end.timestamp(), when: end.to_string() }))
}

/// When a certificate ends.
#[derive(Clone, Debug)]
pub struct Expiry {
    /// Seconds since 1970.
    at: i64,
    /// The moment.
    pub when: String,
}

impl Expiry {
    /// Whole days from now.
    pub fn days(&self) -> i64 {
        (self.at - OffsetDateTime::now_utc().unix_timestamp()) / 86_400
    }

    /// The last moment at which the certificate holds.
    pub(crate) fn last_moment(&self) -> UnixTime {
        let seconds = u64::try_from(self.at).unwrap_or(0);
        UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds))
    }

    /// Whether it is past.
    pub fn is_over(&self) -> bool {
        self.at <= OffsetDateTime::now_utc().unix_timestamp()
    }
}

/// A certificate authority with its key.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: String,
    key: String,
}

impl Authority {
    /// A new one.
    pub fn new(network: &str) -> Result<Self, CertError> {
        let make =
            |error: rcgen::Error| CertError::Make { name: network.into(), why: error.to_string() };
        let mut params = CertificateParams::new(Vec::<String>::new()).map_err(make)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.distinguished_name.push(DnType::CommonName, format!("dzoa authority of {network}"));
        let now = OffsetDateTime::now_utc();
        params.not_before = now - CLOCK_SKEW;
        params.not_after = now + Duration::days(AUTHORITY_DAYS);
        let key = KeyPair::generate().map_err(make)?;
        let certificate = params.self_signed(&key).map_err(make)?.pem();
        let secret = key.serialize_pem();
        Ok(Self { issuer: Issuer::new(params, key), certificate, key: secret })
    }

    /// The one in a directory, if there is one.
    pub fn open(dir: &Path) -> Result<Option<Self>, CertError> {
        let (path, secret) = (dir.join("ca.pem"), dir.join("ca.key"));
        if !path.exists() && !secret.exists() {
            return Ok(None);
        }
        let (certificate, key) = (read(&path)?, read(&secret)?);
        let bad = |path: &Path, error: rcgen::Error| CertError::File {
            path: path.into(),
            why: format!("not usable: {error}"),
        };
        let pair = KeyPair::from_pem(&key).map_err(|error| bad(&secret, error))?;
        let issuer =
            Issuer::from_ca_cert_pem(&certificate, pair).map_err(|error| bad(&path, error))?;
        Ok(Some(Self { issuer, certificate, key }))
    }

    /// Writes certificate and key.
    pub fn write(&self, dir: &Path) -> Result<(), CertError> {
        write(&dir.join("ca.pem"), &self.certificate, false)?;
        write(&dir.join("ca.key"), &self.key, true)
    }

    /// A certificate for an agent at a host, and a key for it, valid for a while from now; from
    /// before now, if negative.
    pub fn issue(&self, name: &str, host: &str, valid: Duration) -> Result<Identity, CertError> {
        let make =
            |error: rcgen::Error| CertError::Make { name: name.into(), why: error.to_string() };
        let key = KeyPair::generate().map_err(make)?;
        let certificate = params(name, host, valid)?.signed_by(&key, &self.issuer);
        let certificate = certificate.map_err(make)?.pem();
        Ok(Identity { name: name.into(), certificate, key: Some(key.serialize_pem()) })
    }
}

/// What a certificate of an agent at a host says.
fn params(name: &str, host: &str, valid: Duration) -> Result<CertificateParams, CertError> {
    let mut params = CertificateParams::new(vec![host.to_string()])
        .map_err(|error| CertError::Make { name: name.into(), why: error.to_string() })?;
    params.distinguished_name.push(DnType::CommonName, name);
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    let now = OffsetDateTime::now_utc();
    params.not_after = now + valid;
    params.not_before = now.min(params.not_after) - CLOCK_SKEW;
    Ok(params)
}

/// One agent's certificate, and its key where that was made here.
pub struct Identity {
    name: String,
    certificate: String,
    key: Option<String>,
}

impl Identity {
    /// Writes certificate and key.
    pub fn write(&self, dir: &Path) -> Result<(), CertError> {
        let files = CertFiles::of(dir, &self.name);
        write(&files.certificate, &self.certificate, false)?;
        self.key.as_ref().map_or(Ok(()), |key| write(&files.key, key, true))
    }
}

fn read(path: &Path) -> Result<String, CertError> {
    std::fs::read_to_string(path).map_err(|error| CertError::File {
        path: path.into(),
        why: format!("cannot be read: {error}"),
    })
}

/// Writes a file anew; a secret one is never readable by others, not even for a moment.
fn write(path: &Path, content: &str, secret: bool) -> Result<(), CertError> {
    let fresh = path.with_extension("new");
    let put = || -> std::io::Result<()> {
        let _ = std::fs::remove_file(&fresh);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        if secret {
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        }
        options.open(&fresh)?.write_all(content.as_bytes())?;
        std::fs::rename(&fresh, path)
    };
    put().map_err(|error| CertError::File {
        path: path.into(),
        why: format!("cannot be written: {error}"),
    })
}
