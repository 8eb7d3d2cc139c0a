//! `dzoa agent`: one real agent, from its rows to its model.
//!
//! network file -> rows -> ledger -> journal -> agent -> links -> rounds -> model, summary, trace.

mod results;
pub mod state;
mod troubles;
mod watch;

use crate::network_file::NetworkFile;
use crate::study::Admission;
use dzoa::joint::JointAgent;
use dzoa::plan::{Data, PastRoot, Plan};
use dzoa::prelude::*;
use dzoa::privacy::{Entry, Ledger};
use dzoa_cli::args::AgentArgs;
use dzoa_cli::config::{Config, Mode};
use dzoa_cli::interrupt;
use dzoa_cli::terminal;
use dzoa_node::certs::{CertError, CertFiles, Expiry};
use dzoa_node::drive::{DriveEnd, drive};
use dzoa_node::joint::{Credentials, JointNode, JointPlace};
use dzoa_node::journal::{Opened, RootFile, RootPlace};
use dzoa_node::node::{End, Node, NodeError, NodeSettings, PersistEntry, Running};
use dzoa_node::transport::{LinkSettings, Place, RecordedLink, ZenohLink};
use dzoa_node::wire;
use dzoa_report::ledger_file::LedgerFile;
use dzoa_report::{exit_of, let_group_read, refused, where_the_model_is};
use dzoa_table::{DataSource, Error, Exit, Instances, Result, SiteFile, weighed_by_rows};
use rand::TryRng;
use results::{Results, Spent};
use state::{State, StateOwner, begin};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use watch::Watch;

/// Certificates with fewer days left are worth a word.
const RENEW_DAYS: i64 = 7;

/// How long an agent whose starter is gone may take to stop by itself.
const ORPHANS_GRACE: Duration = Duration::from_secs(10);

/// Runs one agent to the end of its part.
pub fn agent(args: &AgentArgs) -> Result<()> {
    let prepared = Prepared::new(args)?;
    let Prepared { ref network, k, ref expiry, ref instances, ref problem, ref plan, .. } =
        prepared;
    let config = &network.config;
    if args.dry_run {
        return terminal::print_plan(&config.name, &plan.outline(), false);
    }

    if let (false, Some(words)) = (args.allow_unprotected, network.unprotected()) {
        return Err(Error::input(words).hint(
            "give privacy.mechanism = \"joint\" or \"output\" a budget; or, where the owner of the \
             rows permits it, --allow-unprotected",
        ));
    }
    if args.group_readable {
        let_group_read();
    }
    let mut watch = Watch::new(args, config, plan)?;
    let (samples, seat) = (&*problem.agents[k], plan.seat(k));
    let about = StateOwner { config, network: network.digest, samples, seat };
    let State { opened, mut ledger, streams, run, root, mended } =
        State::open(args, &about, &prepared.fresh)?;
    if mended {
        watch.warn("the last entry of the ledger was not finished and is made anew");
    }
    if let Some(word) = begin(args, &about, &mut ledger, plan, run)? {
        watch.warn(&word);
    }
    let spent = ledger.ledger.clone();
    let (ledger, keep) = shared(ledger);
    if opened.cut > 0 {
        watch.say("the last record of the journal was not finished and is made anew");
    }
    let resumed = opened.records.len();
    let mut node = prepared.node(args, Begun { opened, spent, keep, streams: streams.clone() })?;
    if resumed > 0 {
        watch.say(&format!("goes on in round {}", node.round()));
    }
    if expiry.days() < RENEW_DAYS {
        watch.warn(&format!(
            "the certificate expires on {}: renew it with `dzoa certs`",
            expiry.when
        ));
    }

    let (outcome, elapsed) = exchange(args, &prepared.link(args)?, &mut *node, &mut watch)?;
    let (streams, reached) = (streams.as_ref(), &watch.reached);
    let results = Results { args, network, instances, plan, k, streams, reached };
    match outcome {
        DriveEnd::Asked => Err(Error::interrupted(format!(
            "stopped in round {}; everything is kept in {}",
            node.round(),
            args.state.display()
        ))
        .hint("the same command goes on from there")),
        DriveEnd::Ended(end) => {
            let ledger = ledger.lock().expect("no holder panics").ledger.clone();
            let charged = Spent { run, ledger };
            results.write(&*node, problem, &charged, &end, elapsed)?;
            forget(args, &*node, &root)?;
            verdict(&end)?;
            watch.conclude(&where_the_model_is(&args.state));
            Ok(())
        }
    }
}

/// What an agent goes on from.
struct Begun {
    opened: Opened,
    spent: Ledger,
    keep: PersistEntry,
    streams: Option<Streams>,
}

/// An agent before anything of it is written.
struct Prepared {
    network: NetworkFile,
    /// Its position there.
    k: usize,
    certs: CertFiles,
    expiry: Expiry,
    /// For a run that begins now.
    fresh: Streams,
    instances: Instances,
    problem: Problem,
    plan: Arc<Plan>,
}

impl Prepared {
    /// Reads what is given, and refuses what cannot be guaranteed.
    fn new(args: &AgentArgs) -> Result<Self> {
        let network = NetworkFile::load(&args.network, &args.sets)?;
        let k = network.position(&args.name)?;
        let certs = CertFiles::of(&args.certs, &args.name);
        let expiry = certs.check(&args.name).map_err(of_certs)?;
        let admission = Admission {
            file: &args.network,
            name: &args.name,
            certs: &args.certs,
            signatures: args.signatures.as_deref(),
            policy: args.policy.as_deref(),
            sets: &args.sets,
        };
        admission.check(&network)?;
        let fresh = network.config.streams()?.trial(0);
        let instances = instances(args.data.as_deref(), &args.name, &network)?;
        let (problem, plan) = planned(&network, k, &instances, &fresh)?;
        let plan = Arc::new(plan);
        Ok(Self { network, k, certs, expiry, fresh, instances, problem, plan })
    }

    /// The agent itself, as far as it had come.
    fn node(&self, args: &AgentArgs, begun: Begun) -> Result<Box<dyn Running>> {
        let Begun { opened, spent, keep, streams } = begun;
        let NetworkFile { config, digest, places, .. } = &self.network;
        let settings = settings(config, *digest, places)?;
        let Some(seat) = self.plan.seat(self.k) else {
            let agent = self.plan.agent(self.k, spent, streams.unwrap_or(self.fresh.clone()));
            let node = Node::new(agent, opened, settings, keep, Duration::ZERO);
            return Ok(Box::new(node.map_err(trouble)?));
        };
        let agent = match (streams, opened.first.root) {
            (None, RootPlace::Apart { run, public }) => {
                seat.past_agent(spent, PastRoot { run, key: public })
            }
            (streams, _) => seat.agent(spent, streams.as_ref().unwrap_or(&self.fresh)),
        };
        let mut agent = agent.map_err(refused)?;
        args.roster.into_iter().for_each(|roster| agent.pin(roster));
        let place = JointPlace {
            graph: self.instances.graph.clone(),
            k: self.k,
            settings,
            longest_frame: self.longest_frame()?,
            credentials: Credentials::new(&self.certs).map_err(of_certs)?,
        };
        let node = JointNode::new(agent, opened, place, keep, Duration::ZERO);
        Ok(Box::new(node.map_err(trouble)?))
    }

    fn longest_frame(&self) -> Result<usize> {
        Ok(match self.plan.numbers_said_to_all().map_err(refused)? {
            None => wire::longest(self.problem.dim()),
            Some(numbers) => wire::longest_letter(self.network.places.len(), numbers),
        })
    }

    /// How it reaches its neighbours.
    fn link(&self, args: &AgentArgs) -> Result<LinkSettings> {
        let NetworkFile { places, routers, .. } = &self.network;
        let neighbours = self.instances.graph.neighbours(self.k);
        Ok(LinkSettings {
            own: places[self.k].clone(),
            listen: args.listen.clone(),
            neighbours: neighbours.iter().map(|&l| places[l].clone()).collect(),
            routers: routers.clone(),
            certs: self.certs.clone(),
            longest_frame: self.longest_frame()?,
        })
    }
}

/// Opens the links and runs the rounds, until their end or until asked to stop. With the time that
/// the rounds took.
fn exchange(
    args: &AgentArgs,
    settings: &LinkSettings,
    node: &mut dyn Running,
    watch: &mut Watch,
) -> Result<(DriveEnd, Duration)> {
    interrupt::listen();
    let orphaned = orphaned(args.stop_with_stdin);
    let stop = || interrupt::asked() || orphaned.load(Ordering::SeqCst);
    let Some(mut link) = open_link(settings, watch, &stop)? else {
        return Err(Error::interrupted("stopped before a router was reached; everything is kept")
            .hint("the same command goes on from there"));
    };
    let started = Instant::now();
    let mut recorded = RecordedLink::new(&mut link, args.record_frames.as_deref())
        .map_err(|error| Error::input(format!("--record-frames: {error}")))?;
    let outcome = drive(node, &mut recorded, &mut |node, now| watch.see(node, now), &stop);
    let elapsed = started.elapsed();
    watch.finish();
    link.close();
    Ok((outcome.map_err(trouble)?, elapsed))
}

/// The links; through routers, as soon as one of them answers. `None` if asked to stop before.
fn open_link(
    settings: &LinkSettings,
    watch: &mut Watch,
    stop: &dyn Fn() -> bool,
) -> Result<Option<ZenohLink>> {
    let mut told = false;
    while !stop() {
        match ZenohLink::open(settings) {
            Ok(link) => return Ok(Some(link)),
            Err(error) if settings.routers.is_empty() => {
                return Err(Error::run(error.to_string()).hint(
                    "is the address in the network file this machine's, and its port free?",
                ));
            }
            Err(error) if !told => {
                watch.say(&format!("{error}; trying again"));
                told = true;
            }
            Err(_) => {}
        }
    }
    Ok(None)
}

/// What agent k minimises, and its plan as far as that can be known before all have met.
pub fn planned(
    network: &NetworkFile,
    k: usize,
    instances: &Instances,
    fresh: &Streams,
) -> Result<(Problem, Plan)> {
    let config = &network.config;
    let rows: Vec<_> = config.network.agents.iter().map(|agent| agent.rows).collect();
    let (problem, eta) = (instances.problem(fresh), network.rows.problem.eta);
    let problem = weighed_by_rows(problem, k, &rows, instances.is_fixed(), eta)?;
    let (data, graph) = (Data::Rows(problem.clone()), &instances.graph);
    let plan = match config.spec.algorithm.floods() {
        false => Plan::of_one(&config.spec, &data, graph, k),
        true => {
            let known = rows.iter().zip(&problem.agents);
            let samples: Vec<_> = known.map(|(n, own)| n.unwrap_or(own.count())).collect();
            Plan::of_one_among(&config.spec, &data, graph, k, &samples)
        }
    };
    Ok((problem, plan.map_err(refused)?))
}

/// The rows of this agent.
pub fn instances(data: Option<&Path>, name: &str, network: &NetworkFile) -> Result<Instances> {
    let NetworkFile { config, rows, .. } = network;
    let streams = config.streams()?;
    match (data, &rows.data) {
        (Some(file), DataSource::Synthetic(_)) => Err(Error::input(format!(
            "--data {}: the network file says data.synthetic, so there is no file to read",
            file.display()
        ))
        .hint("remove [data] from the network file, or --data")),
        (None, DataSource::Synthetic(_)) => Instances::prepare(&config.instances(rows), &streams),
        (Some(file), source) => {
            let site = source.site(name, SiteFile::given(file)?);
            Instances::of_one(&config.instances(rows), &site, &streams)
        }
        (None, _) => Err(Error::input("--data is missing: this agent has no rows")
            .hint("give the file with this agent's rows; it stays on this machine")),
    }
}

type SharedLedger = Arc<Mutex<LedgerFile>>;

/// The ledger, and what makes an entry of it durable.
fn shared(ledger: LedgerFile) -> (SharedLedger, PersistEntry) {
    let ledger = Arc::new(Mutex::new(ledger));
    let kept = ledger.clone();
    let keep = move |entry: &Entry| {
        kept.lock().expect("no holder panics").keep(entry).map_err(|error| error.to_string())
    };
    (ledger, Box::new(keep))
}

fn settings(config: &Config, network: [u8; 32], places: &[Place]) -> Result<NodeSettings> {
    let (round_limit, lag) = match config.mode {
        Mode::Synchronous => (None, 0),
        Mode::Partial { limit, lag } => (Some(limit), lag),
    };
    let session = rand::rngs::SysRng
        .try_next_u64()
        .map_err(|error| Error::run(format!("the operating system has no entropy: {error}")))?;
    Ok(NodeSettings {
        network,
        program: env!("CARGO_PKG_VERSION").into(),
        session,
        names: places.iter().map(|place| place.name.clone()).collect(),
        patience: config.network.patience,
        on_loss: config.network.on_loss,
        round_limit,
        lag,
        linger: config.network.patience,
    })
}

/// Set once whoever started this agent is gone. A round that takes longer than the grace is not
/// waited for: an end at any instruction is what the journal is made for.
fn orphaned(listen: bool) -> Arc<AtomicBool> {
    let gone = Arc::new(AtomicBool::new(false));
    if listen {
        let flag = gone.clone();
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            flag.store(true, Ordering::SeqCst);
            std::thread::sleep(ORPHANS_GRACE);
            std::process::exit(1);
        });
    }
    gone
}

fn of_certs(error: CertError) -> Error {
    Error::input(error.to_string()).hint("`dzoa certs` makes and renews certificates")
}

/// Erases the root key of joint sums that are over: with it, recorded traffic gives away the noise.
fn forget(args: &AgentArgs, node: &dyn Running, root: &RootFile) -> Result<()> {
    let over = node.summing().is_some_and(JointAgent::is_over);
    if !over || args.keep_root {
        return Ok(());
    }
    root.erase().map_err(|error| {
        Error::run(format!("{}: cannot be erased: {error}", root.path().display()))
            .hint("erase it by hand: nobody needs it any more")
    })
}

fn trouble(error: NodeError) -> Error {
    Error::run(error.to_string()).hint(error.hint())
}

/// Whether the agent's part counts as done.
fn verdict(end: &End) -> Result<()> {
    let exit = match end {
        End::Agent(status) => exit_of(status),
        // Where the same command can go on.
        End::NeighbourLost { .. } | End::NeighbourLeft { .. } => Exit::Neighbour,
        _ => Exit::Failed,
    };
    match end.hint() {
        None => Ok(()),
        Some(hint) => Err(Error::ending(exit, end.to_string()).hint(hint)),
    }
}
