//! `dzoa study`: what the sites agree to is one network file, and all of them sign its bytes.

mod page;
mod policy;
mod signatures;

use crate::network_file::NetworkFile;
use dzoa_cli::args::{StudyAction, StudyArgs, StudySignArgs};
use dzoa_cli::terminal;
use dzoa_node::certs::{CertError, CertFiles};
use dzoa_node::signing::Verifier;
use dzoa_report::write_file;
use dzoa_table::{Error, Result};
pub use policy::Policy;
use signatures::{Standing, StudyBytes, file_name};
use std::fmt::Write as _;
use std::path::Path;

/// Drafts, signs, shows or verifies.
pub fn study(action: &StudyAction) -> Result<()> {
    match action {
        StudyAction::Draft { study, out } => draft(study, out.as_deref()),
        StudyAction::Sign(args) => sign(args),
        StudyAction::Show(args) => show(args).map(|_| ()),
        StudyAction::Verify(args) => show(args).and_then(|open| match open.first() {
            None => Ok(()),
            Some((name, why)) => Err(not_signed(name, why)),
        }),
    }
}

/// Writes the page for those who decide.
fn draft(file: &Path, out: Option<&Path>) -> Result<()> {
    let network = NetworkFile::load_uncounted(file, &[])?;
    let text = page::page(&network, &StudyBytes::read(file)?.digest());
    let Some(out) = out else { return terminal::print(&text) };
    let name = out.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.ok_or_else(|| Error::input(format!("{}: is no file", out.display())))?;
    write_file(out.parent().unwrap_or(Path::new("")), &name, text)
}

fn sign(args: &StudySignArgs) -> Result<()> {
    let network = NetworkFile::load_uncounted(&args.network, &[])?;
    let _ = network.position(&args.name)?;
    if let Some(policy) = &args.policy {
        Policy::load(policy)?.admit(&network, &args.name)?;
    }
    let bytes = StudyBytes::read(&args.network)?;
    let out = args.out.as_deref().unwrap_or(&args.certs);
    bytes.sign(&CertFiles::of(&args.certs, &args.name), &args.name, out)?;
    terminal::print_words(&format!(
        "{} has signed study {}\n\n  \
         send {} to all other sites: it is public\n",
        args.name,
        bytes.digest(),
        out.join(file_name(&args.name)).display()
    ))
}

/// Prints who has signed. Returns who has not, and why.
fn show(args: &StudyArgs) -> Result<Vec<(String, String)>> {
    let network = NetworkFile::load_uncounted(&args.network, &[])?;
    let bytes = StudyBytes::read(&args.network)?;
    let signatures = args.signatures.as_deref().unwrap_or(&args.certs);
    let standings = standings(&network, &bytes, &args.certs, signatures)?;
    let mut text = format!("study {} ({})\n\n", network.config.name, bytes.digest());
    let mut open = Vec::new();
    for (name, standing) in standings {
        match standing {
            Standing::Signed => writeln!(text, "  signed  {name}").expect("memory holds it"),
            Standing::Open(why) => {
                writeln!(text, "  open    {name}: {why}").expect("memory holds it");
                open.push((name, why));
            }
        }
    }
    terminal::print_words(&text)?;
    Ok(open)
}

fn standings(
    network: &NetworkFile,
    bytes: &StudyBytes,
    certs: &Path,
    signatures: &Path,
) -> Result<Vec<(String, Standing)>> {
    let bad = |error: CertError| Error::input(error.to_string());
    // Of the authority alone: anybody may ask who has signed.
    let mut verifier = Verifier::new(&CertFiles::of(certs, "")).map_err(bad)?.lasting();
    let standing = |name: &String| (name.clone(), bytes.standing(&mut verifier, signatures, name));
    Ok(network.places.iter().map(|place| &place.name).map(standing).collect())
}

/// What a site wants to see before it takes part.
pub struct Admission<'a> {
    /// The network file.
    pub file: &'a Path,
    /// The site's own name.
    pub name: &'a str,
    /// Where ca.pem is.
    pub certs: &'a Path,
    /// Where the signatures are; else there, too.
    pub signatures: Option<&'a Path>,
    /// The site's limits.
    pub policy: Option<&'a Path>,
    /// Changes of the network file on this command line.
    pub sets: &'a [String],
}

impl Admission<'_> {
    /// Refuses a study that some site has not signed, or that is beyond the site's policy. On
    /// loopback there is nobody who could sign, and nothing is asked for unless it is given.
    pub fn check(&self, network: &NetworkFile) -> Result<()> {
        if let Some(policy) = self.policy {
            Policy::load(policy)?.admit(network, self.name)?;
        }
        if network.remote().is_none() && self.signatures.is_none() {
            return Ok(());
        }
        if let Some(set) = self.sets.first() {
            return Err(Error::input(format!("--set {set}: nobody has signed that"))
                .hint("change the network file, and let all sites sign it: `dzoa study sign`"));
        }
        let signatures = self.signatures.unwrap_or(self.certs);
        let bytes = StudyBytes::read(self.file)?;
        for (name, standing) in standings(network, &bytes, self.certs, signatures)? {
            if let Standing::Open(why) = standing {
                return Err(not_signed(&name, &why));
            }
        }
        Ok(())
    }
}

fn not_signed(name: &str, why: &str) -> Error {
    Error::input(format!("the study is not signed by all sites: `{name}` {why}")).hint(
        "every site runs `dzoa study sign`, and sends NAME.signature.json to all others, who put \
         it beside their certificates",
    )
}
