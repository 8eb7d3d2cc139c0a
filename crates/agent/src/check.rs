//! `dzoa check --network`: is everything ready for a site, or for all? It releases nothing and
//! writes nothing.

use crate::agent;
use crate::network_file::NetworkFile;
use crate::study::Admission;
use dzoa_cli::args::CheckArgs;
use dzoa_cli::files::output_directory;
use dzoa_cli::terminal;
use dzoa_node::certs::CertFiles;
use dzoa_report::ledger_file::standing;
use dzoa_table::{DataSource, Error, Findings, Result, SiteFile};
use std::path::Path;

/// Looks at everything, and says all that is wrong.
pub fn check(args: &CheckArgs, file: &Path) -> Result<()> {
    let mut found = Findings::default();
    let start = of_network(args, file, &mut found)?;
    terminal::print_findings(found, &start)
}

/// Whether `dzoa agent` could start for one site, or `dzoa launch` for all, and its command.
fn of_network(args: &CheckArgs, file: &Path, found: &mut Findings) -> Result<String> {
    let mut network = NetworkFile::load(file, &args.sets)?;
    network.config.note = |_| {};
    found.ok("network file", "every key is known and has a value that it takes");
    if let Some(words) = network.config.unconfirmed(Some(file)) {
        found.warn("draft", &words);
    }
    if let Some(dir) = &args.out {
        let out = output_directory(Some(dir), "");
        found.told("output", out.map(|out| format!("{} can be written", out.display())));
    }
    if let Some(words) = network.unprotected() {
        found.warn("protection", &format!("{words}: agents need --allow-unprotected"));
    }
    let names: Vec<String> = match &args.name {
        Some(name) => vec![name.clone()],
        None => network.places.iter().map(|place| place.name.clone()).collect(),
    };
    for name in &names {
        let k = network.position(name)?;
        if let Some(certs) = &args.certs {
            let checked = CertFiles::of(certs, name).check(name);
            let words = checked.map(|expiry| format!("valid until {}", expiry.when));
            found.told("certificate", words.map_err(|error| Error::input(error.to_string())));
        } else if args.name.is_some() {
            found.skipped("certificate", "give --certs DIR");
        }
        if args.name.is_some() {
            admitted(args, file, name, &network, found);
        }
        of_site(args, &network, k, found)?;
    }
    Ok(match &args.name {
        Some(name) => format!("`dzoa agent --network {} --name {name}`", file.display()),
        None => format!("`dzoa launch --network {}`", file.display()),
    })
}

/// Whether all sites have signed, and the study is within the site's limits.
fn admitted(
    args: &CheckArgs,
    file: &Path,
    name: &str,
    network: &NetworkFile,
    found: &mut Findings,
) {
    let admission = Admission {
        file,
        name,
        certs: args.certs.as_deref().unwrap_or(Path::new("")),
        signatures: args.signatures.as_deref(),
        policy: args.policy.as_deref(),
        sets: &args.sets,
    };
    if args.certs.is_none() && network.remote().is_some() {
        found.skipped("signatures", "give --certs DIR");
    } else {
        let words = match (network.remote().is_some() || args.signatures.is_some(), &args.policy) {
            (true, Some(_)) => "all sites have signed, and it is within the policy",
            (true, None) => "all sites have signed",
            (false, Some(_)) => "it is within the policy",
            (false, None) => return,
        };
        found.told("study", admission.check(network).map(|()| words.into()));
    }
}

/// One site's rows, plan and budget.
fn of_site(args: &CheckArgs, network: &NetworkFile, k: usize, found: &mut Findings) -> Result<()> {
    let NetworkFile { config, rows, places, .. } = network;
    let name = &places[k].name;
    let listed = match &rows.data {
        DataSource::Files(files) => files.iter().find(|site| site.name == *name),
        _ => None,
    };
    let file = args.data.clone().or_else(|| Some(config.root.join(&listed?.file)));
    if let Some(file) = &file {
        let site = rows.data.site(name, SiteFile::given(file)?);
        if !found.sites(config.instances(rows).check_sites(&[site])) {
            return Ok(());
        }
    }
    let fresh = config.streams()?.trial(0);
    let planned = agent::instances(file.as_deref(), name, network)
        .and_then(|instances| agent::planned(network, k, &instances, &fresh));
    if let Some((_, plan)) = found.take(&format!("{name}'s plan"), planned) {
        let (algorithm, mechanism) = (config.spec.algorithm.name(), config.spec.mechanism.name());
        let listed = config.network.agents.iter().all(|agent| agent.rows.is_some());
        let guaranteed = config.spec.mechanism.claimed().budget().is_some();
        let open = guaranteed && config.spec.algorithm.floods() && !listed;
        let known = match open && !rows.is_synthetic() {
            true => " if all have as many rows as this site; they tell each other when they meet",
            false => "",
        };
        let words = format!("{algorithm} with mechanism {mechanism}, {} rounds", plan.rounds());
        found.ok(&format!("{name}'s plan"), &format!("{words}{known}"));
        match &args.ledger {
            Some(path) => {
                let charges = plan.agents()[0].charges.charged(plan.rounds());
                found.told(&format!("ledger {}", path.display()), standing(path, charges));
            }
            None if args.name.is_some() && guaranteed => {
                found.skipped("ledger", "give --ledger FILE");
            }
            None => {}
        }
    }
    Ok(())
}
