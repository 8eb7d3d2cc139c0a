//! `dzoa certs`: a private CA, a short-lived certificate for every agent, and what routers need.

use crate::args::CertsArgs;
use crate::error::{Error, Result};
use crate::files::write_file;
use crate::network_file::NetworkFile;
use dzoa_node::certs::{Authority, CertError, CertFiles};
use dzoa_node::zenoh_link::{host, router_configuration};
use std::path::Path;

/// Makes or renews the certificates of a network.
pub fn certs(args: &CertsArgs) -> Result<()> {
    let network = NetworkFile::load(&args.network, &[])?;
    let renewed = make(&network, &args.out, args.days)?;
    let edges = network.edges()?;
    for router in &network.routers {
        // Zenoh's program is started in the directory of its files.
        let certs = CertFiles::of(Path::new("."), &router.name);
        let text = router_configuration(router, &network.routers, &edges, &certs);
        write_file(&args.out, &format!("{}.json5", router.name), text)?;
    }
    let agents = network.places.len();
    let dir = args.out.display();
    let routers = match network.routers.is_empty() {
        true => "",
        false => {
            "  a router gets ca.pem, its own NAME.pem, NAME.key and NAME.json5: `zenohd -c NAME.json5` beside them\n"
        }
    };
    super::print(&format!(
        "{} certificates, valid for {} days, in {dir}{}\n\n  every agent gets ca.pem and its own NAME.pem and NAME.key\n  \
         ca.key stays where certificates are made: whoever has it can be any agent\n{routers}  \
         the same command again renews the certificates\n",
        agents + network.routers.len(),
        args.days,
        if renewed { " (renewed with the authority that was there)" } else { "" },
    ))
}

/// Writes an authority, unless there is one, and a certificate for every agent and router. Returns whether there was one.
pub fn make(network: &NetworkFile, dir: &Path, days: u16) -> Result<bool> {
    let failed = |error: CertError| {
        Error::run(error.to_string())
            .hint("give a directory that can be written, or one made by `dzoa certs`")
    };
    std::fs::create_dir_all(dir)
        .map_err(|error| Error::input(format!("{}: cannot be made: {error}", dir.display())))?;
    let known = Authority::open(dir).map_err(failed)?;
    let renewed = known.is_some();
    let authority = match known {
        Some(authority) => authority,
        None => {
            let authority = Authority::new(&network.config.name).map_err(failed)?;
            authority.write(dir).map_err(failed)?;
            authority
        }
    };
    let valid = time::Duration::days(i64::from(days));
    for place in network.places.iter().chain(&network.routers) {
        let identity = authority.issue(&place.name, host(&place.address), valid).map_err(failed)?;
        identity.write(dir).map_err(failed)?;
    }
    Ok(renewed)
}
