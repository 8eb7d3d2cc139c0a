//! `dzoa key` and `dzoa certs`: a site's own key and its request, a private CA, short-lived
//! certificates, and what routers need.

use crate::network_file::NetworkFile;
use dzoa_cli::args::{CertsArgs, KeyArgs};
use dzoa_cli::config::{NAMES_FILES, names_files};
use dzoa_cli::terminal;
use dzoa_node::certs::{CertFiles, SiteKey};
use dzoa_node::transport::router_configuration;
use dzoa_report::write_file;
use dzoa_table::{Error, Result, shown};
use std::fmt::Write as _;
use std::path::Path;

/// Makes a site's own key, unless there is one, and the request for its certificate.
pub fn key(args: &KeyArgs) -> Result<()> {
    names_files(&args.name).map_err(|wrong| {
        Error::input(format!("--name: {} {wrong}", shown(&args.name))).hint(NAMES_FILES)
    })?;
    let dir = args.out.display();
    std::fs::create_dir_all(&args.out)
        .map_err(|error| Error::input(format!("{dir}: cannot be made: {error}")))?;
    let failed = |error: dzoa_node::certs::CertError| Error::input(error.to_string());
    let key = SiteKey::open_or_new(&args.out, &args.name).map_err(failed)?;
    let request = key.write(&args.out).map_err(failed)?;
    let made = if key.kept { "the key that was there" } else { "a new key" };
    terminal::print_words(&format!(
        "{made}: {dir}/{}.key stays here, and nobody else may read it\n\n  \
         send {} to whoever makes the certificates\n  \
         compare by telephone: {}\n",
        args.name,
        request.display(),
        key.fingerprint()
    ))
}

/// Makes or renews the certificates of a network.
pub fn certs(args: &CertsArgs) -> Result<()> {
    let network = NetworkFile::load_uncounted(&args.network, &[])?;
    if args.sign.is_empty() { all(args, &network) } else { sign(args, &network) }
}

/// Signs the sites' requests.
fn sign(args: &CertsArgs, network: &NetworkFile) -> Result<()> {
    let signed = network.sign(&args.out, &args.sign, args.days)?;
    write_routers(args, network)?;
    let dir = args.out.display();
    let mut text = format!(
        "{} certificates, valid for {} days, in {dir}\n\n  \
         compare by telephone before any of them is used:\n",
        signed.len(),
        args.days
    );
    for one in &signed {
        let _ = writeln!(text, "    {:<20} {}", one.name, one.fingerprint);
        if let Some(before) = &one.before {
            let _ = writeln!(text, "      a new key: before it was {before}");
        }
    }
    text += "  every site gets ca.pem and its own NAME.pem\n  \
             ca.key stays where certificates are made: whoever has it can be any agent\n";
    terminal::print_words(&text)
}

/// What Zenoh's own program is configured with, for every router.
fn write_routers(args: &CertsArgs, network: &NetworkFile) -> Result<()> {
    let edges = network.edges()?;
    for router in &network.routers {
        // Zenoh's program is started in the directory of its files.
        let certs = CertFiles::of(Path::new("."), &router.name);
        let text = router_configuration(router, &network.routers, &edges, &certs);
        write_file(&args.out, &format!("{}.json5", router.name), text)?;
    }
    Ok(())
}

/// Makes all keys here, and their certificates.
fn all(args: &CertsArgs, network: &NetworkFile) -> Result<()> {
    let renewed = network.certify(&args.out, args.days)?;
    write_routers(args, network)?;
    let agents = network.places.len();
    let dir = args.out.display();
    let routers = match network.routers.is_empty() {
        true => "",
        false => {
            "  a router gets ca.pem, its own NAME.pem, NAME.key and NAME.json5: \
             `zenohd -c NAME.json5` beside them\n"
        }
    };
    terminal::print_words(&format!(
        "{} certificates, valid for {} days, in {dir}{}\n\n  \
         all keys were made in one place, which is for trials: in earnest every site makes its \
         own (`dzoa key`), and only its request travels (`--sign`)\n  \
         every agent gets ca.pem and its own NAME.pem and NAME.key\n  \
         ca.key stays where certificates are made: whoever has it can be any agent\n{routers}  \
         the same command again renews the certificates\n",
        agents + network.routers.len(),
        args.days,
        if renewed { " (renewed with the authority that was there)" } else { "" },
    ))
}
