//! `dzoa certs`: a private CA, a short-lived certificate for every agent, and what routers need.

use crate::network_file::NetworkFile;
use dzoa_cli::args::CertsArgs;
use dzoa_cli::terminal;
use dzoa_node::certs::CertFiles;
use dzoa_node::transport::router_configuration;
use dzoa_report::write_file;
use dzoa_table::Result;
use std::path::Path;

/// Makes or renews the certificates of a network.
pub fn certs(args: &CertsArgs) -> Result<()> {
    let network = NetworkFile::load(&args.network, &[])?;
    let renewed = network.certify(&args.out, args.days)?;
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
            "  a router gets ca.pem, its own NAME.pem, NAME.key and NAME.json5: \
             `zenohd -c NAME.json5` beside them\n"
        }
    };
    terminal::print_words(&format!(
        "{} certificates, valid for {} days, in {dir}{}\n\n  \
         every agent gets ca.pem and its own NAME.pem and NAME.key\n  \
         ca.key stays where certificates are made: whoever has it can be any agent\n{routers}  \
         the same command again renews the certificates\n",
        agents + network.routers.len(),
        args.days,
        if renewed { " (renewed with the authority that was there)" } else { "" },
    ))
}
