//! `dzoa launch`: all agents of a network as separate processes on this machine, from certificates
//! to report.

mod children;

use crate::network_file::NetworkFile;
use children::Children;
use dzoa::prelude::Streams;
use dzoa::privacy::EarlierRuns;
use dzoa_cli::args::LaunchArgs;
use dzoa_cli::files::{model, output_directory, write_files};
use dzoa_cli::interrupt;
use dzoa_cli::objectives::Objectives;
use dzoa_cli::outcome::outcome;
use dzoa_cli::progress::Progress;
use dzoa_cli::summarise::summarise;
use dzoa_cli::terminal;
use dzoa_cli::trial::{Books, Stage, Trial};
use dzoa_node::certs::CertFiles;
use dzoa_node::journal;
use dzoa_node::replay::replay;
use dzoa_node::transport::{Place, Router, free_port, host, router_configuration};
use dzoa_report::ledger_file::{self, ledger_name};
use dzoa_report::{Summary, describe};
use dzoa_table::{DataSource, Error, Result, SiteFile, shown};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Days that the certificates of a trial are valid: more than those in which agents ask for a
/// renewal.
const DAYS: u16 = 8;

/// Runs all agents and reports as `dzoa run` does.
pub fn launch(args: &LaunchArgs) -> Result<()> {
    let here = Here::new(args)?;
    let NetworkFile { config, rows, .. } = &here.network;
    let streams = config.streams()?;
    let objectives = Objectives::of_rows(config, rows, &streams)?;
    if args.dry_run {
        let outline = objectives.outline(&config.spec, &streams.trial(0))?;
        return terminal::print_plan(&config.name, &outline, args.json);
    }
    let forecast = objectives.forecast(&config.spec, &streams.trial(0))?;
    let out = output_directory(args.out.as_deref(), &config.name)?;

    run_agents(args, &here, &out, forecast.rounds())?;

    let behind = Progress::hidden();
    let stage = Stage::new(config, &objectives, &forecast, &behind, &out);
    let trials = [replayed(&here.network, &stage, &streams.trial(0), &out)?];
    // A trial: its ledgers end with it.
    let summary = summarise(config, &objectives, &trials, EarlierRuns::NotCounted);
    write_files(&out, &model(Some(rows), &summary), &trials, &summary)?;
    if args.json {
        terminal::print_json(&summary)?;
    } else {
        terminal::print_words(&describe(&summary, &out))?;
        terminal::print_words(&format!(
            "  every agent's own files in {}\n",
            out.join("agents").display()
        ))?;
    }
    outcome(&trials, 1, &out)
}

/// A network on this machine alone.
struct Here {
    /// With the ports and the rows of the trial.
    network: NetworkFile,
    /// What every agent sets, to read the same network.
    sets: Vec<String>,
    /// The rows of the agents, by name.
    files: BTreeMap<String, PathBuf>,
}

impl Here {
    fn new(args: &LaunchArgs) -> Result<Self> {
        let mut sets = args.sets.clone();
        let mut network = NetworkFile::load_uncounted(&args.network, &sets)?;
        if let Some(place) = network.remote() {
            return Err(Error::input(format!(
                "{}: {} is at {}, which is not this machine",
                args.network.display(),
                shown(&place.name),
                place.address
            ))
            .hint(
                "launch is the trial on one machine: --set network.agents=[...] with 127.0.0.1; \
            real agents are started with `dzoa agent`",
            ));
        }
        let assignments = free_ports(&network)?;
        if !assignments.is_empty() {
            sets.extend(assignments);
            network = NetworkFile::load_uncounted(&args.network, &sets)?;
        }
        let files = data_files(args, &network)?;
        // Read here, too: what is wrong with a file is said before anything starts, and the report
        // needs the rows.
        if !network.rows.is_synthetic() {
            let site = |place: &Place| {
                let given = SiteFile::given(&files[&place.name])?;
                Ok(network.rows.data.site(&place.name, given))
            };
            let sites = network.places.iter().map(site).collect::<Result<Vec<_>>>()?;
            if network.check_counted().is_err() {
                let counts = network.config.instances(&network.rows).count_rows(&sites)?;
                sets.push(agents_with_rows(&network, &counts));
                network = NetworkFile::load(&args.network, &sets)?;
            }
            network.rows.data = DataSource::Files(sites);
            network.config.root = PathBuf::new();
        }
        Ok(Self { network, sets, files })
    }
}

/// From certificates to the last agent's end.
fn run_agents(args: &LaunchArgs, here: &Here, out: &Path, rounds: u64) -> Result<()> {
    let Here { network, sets, files } = here;
    network.certify(&out.join("certs"), DAYS)?;
    let routers = open_routers(network, &out.join("certs"))?;
    interrupt::listen();
    let progress = Progress::new(rounds, &format!("{}: starting", network.config.name));
    let mut children = Children::start(args, sets, network, files, out)?;
    let ended = children.wait(&progress, rounds);
    drop(children);
    routers.into_iter().for_each(Router::close);
    progress.finish();
    ended
}

/// The agents' run once more, from their journals: what they did, seen from outside.
fn replayed(
    network: &NetworkFile,
    stage: &Stage<'_>,
    streams: &Streams,
    out: &Path,
) -> Result<Trial> {
    let seeded = network.config.run.seed.is_some();
    let (mut journals, mut spent) = (Vec::new(), Vec::new());
    for place in &network.places {
        let dir = state(out, &place.name);
        let path = dir.join("journal");
        let records = journal::read(&path)
            .map_err(|error| Error::run(format!("{}: {error}", path.display())))?;
        journals.push(records);
        spent.push(ledger_file::read(&dir.join(ledger_name(seeded)))?);
    }
    let books = Books { spent, files: Vec::new() };
    let mut trial = Trial::run(stage, books, streams, 0, |simulation, watch| {
        replay(simulation, journals, seeded, watch).map_err(|error| {
            Error::run(format!("the journals cannot be replayed: {error}"))
                .hint(format!("every agent's own results are in {}", out.join("agents").display()))
        })
    })?;
    let own = own_summaries(network, out)?;
    // The replay must say what the processes said, to the last bit.
    if own.iter().map(|summary| &summary.coefficients[0]).ne(&trial.estimates) {
        return Err(Error::run("the agents' results are not those of their journals")
            .hint("this is a fault of the program: please report it with the network file"));
    }
    let slowest = own.iter().map(|summary| summary.seconds).fold(0.0, f64::max);
    trial.elapsed = Duration::from_secs_f64(slowest);
    Ok(trial)
}

/// The routers of the network, in this process.
fn open_routers(network: &NetworkFile, certs: &Path) -> Result<Vec<Router>> {
    let edges = network.edges()?;
    let open = |place: &Place| {
        let files = CertFiles::of(certs, &place.name);
        let configuration = router_configuration(place, &network.routers, &edges, &files);
        Router::open(&configuration).map_err(|error| {
            Error::run(format!("router {} at {}: {error}", place.name, place.address))
                .hint("is the port free?")
        })
    };
    network.routers.iter().map(open).collect()
}

/// Where an agent's files are.
fn state(out: &Path, name: &str) -> PathBuf {
    out.join("agents").join(name)
}

/// `--data NAME=FILE`, or the files of the network file.
fn data_files(args: &LaunchArgs, network: &NetworkFile) -> Result<BTreeMap<String, PathBuf>> {
    let mut files = BTreeMap::new();
    if let DataSource::Files(listed) = &network.rows.data {
        let root = &network.config.root;
        files.extend(listed.iter().map(|site| (site.name.clone(), root.join(&site.file))));
    }
    for given in &args.data {
        let (name, file) = given.split_once('=').ok_or_else(|| {
            Error::input(format!("--data {} has no `=`", shown(given)))
                .hint("for example --data cleveland=cleveland.csv")
        })?;
        network.position(name)?;
        files.insert(name.to_string(), PathBuf::from(file));
    }
    if network.rows.is_synthetic() {
        return match args.data.first() {
            None => Ok(files),
            Some(given) => Err(Error::input(format!(
                "--data {}: the network file says data.synthetic",
                shown(given)
            ))
            .hint("remove [data] from the network file, or --data")),
        };
    }
    match network.places.iter().find(|place| !files.contains_key(&place.name)) {
        None => Ok(files),
        Some(place) => Err(Error::input(format!("agent {} has no rows", shown(&place.name)))
            .hint(format!("--data {}=FILE", place.name))),
    }
}

/// Free ports, where the network file leaves them open with port 0.
fn free_ports(network: &NetworkFile) -> Result<Vec<String>> {
    let mut held = Vec::new();
    let mut assignments = Vec::new();
    for (key, places) in [("agents", &network.places), ("routers", &network.routers)] {
        if !places.iter().any(|place| place.address.ends_with(":0")) {
            continue;
        }
        let mut listed = Vec::new();
        for place in places {
            let mut address = place.address.clone();
            if address.ends_with(":0") {
                let socket = free_port(host(&address));
                let bound = socket.and_then(|socket| Ok((socket.local_addr()?, socket)));
                let (local, socket) = bound
                    .map_err(|error| Error::run(format!("{address}: no free port: {error}")))?;
                address = local.to_string();
                held.push(socket);
            }
            let listed_as = network.config.network.agents.iter().find(|a| a.name == place.name);
            let rows = listed_as.and_then(|agent| agent.rows);
            let rows = rows.map(|rows| format!(", rows = {rows}")).unwrap_or_default();
            listed.push(format!("{{ name = \"{}\", address = \"{address}\"{rows} }}", place.name));
        }
        assignments.push(format!("network.{key}=[{}]", listed.join(", ")));
    }
    Ok(assignments)
}

/// The agents of the network with their numbers of rows, for rules that ask for these.
fn agents_with_rows(network: &NetworkFile, counts: &[usize]) -> String {
    let listed = network.places.iter().zip(counts).map(|(place, rows)| {
        format!("{{ name = \"{}\", address = \"{}\", rows = {rows} }}", place.name, place.address)
    });
    format!("network.agents=[{}]", listed.collect::<Vec<_>>().join(", "))
}

fn own_summaries(network: &NetworkFile, out: &Path) -> Result<Vec<Summary>> {
    let read = |name: &str| {
        let path = state(out, name).join("summary.json");
        let text = std::fs::read_to_string(&path)
            .map_err(|error| Error::run(format!("{}: {error}", path.display())))?;
        serde_json::from_str(&text)
            .map_err(|error| Error::run(format!("{}: {error}", path.display())))
    };
    network.places.iter().map(|place| read(&place.name)).collect()
}
