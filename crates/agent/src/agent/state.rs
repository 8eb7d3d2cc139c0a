//! What an agent finds when it starts: its journal, and the ledger of its rows.

use dzoa::plan::{JointSeat, Plan};
use dzoa::prelude::*;
use dzoa::privacy::RunId;
use dzoa_cli::args::AgentArgs;
use dzoa_cli::config::Config;
use dzoa_node::journal::{
    self, Journal, JournalError, JournalFile, Opened, RootFile, RootPlace, Start,
};
use dzoa_node::node::OnLoss;
use dzoa_report::ledger_file::{self, LedgerFile, affordable, ledger_name, lifetime};
use dzoa_table::{Error, Result, shown};
use std::path::{Path, PathBuf};

/// Whose state it is.
pub struct StateOwner<'a> {
    pub config: &'a Config,
    /// Digest of the network file.
    pub network: [u8; 32],
    pub samples: &'a Samples,
    /// Its place among those that take joint sums, if it takes them.
    pub seat: Option<JointSeat<'a>>,
}

/// Journal and ledger of an agent.
pub struct State {
    pub opened: Opened,
    pub ledger: LedgerFile,
    /// `None` once the root key is erased.
    pub streams: Option<Streams>,
    /// The run that is charged.
    pub run: RunId,
    /// Where the root key lies, if not in the journal.
    pub root: RootFile,
    /// Whether the last entry of the ledger was never finished, and is made anew.
    pub mended: bool,
}

impl State {
    /// Opens both, and refuses those of something else.
    pub fn open(args: &AgentArgs, about: &StateOwner<'_>, fresh: &Streams) -> Result<Self> {
        let dir = &args.state;
        std::fs::create_dir_all(dir).map_err(|error| {
            Error::input(format!("--state {}: cannot be made: {error}", dir.display()))
        })?;
        let path = dir.join("journal");
        let medium = JournalFile::open(&path).map_err(|error| of_journal(&error, dir))?;
        let begun = std::fs::metadata(&path).is_ok_and(|file| file.len() > 0);
        let root = RootFile::in_directory(dir);
        let streams = |first: &Start| {
            let key = root.of(first).map_err(|error| {
                Error::run(format!("{}: {error}", root.path().display()))
                    .hint("restore it from the newest backup of the state directory")
            })?;
            Ok(key.map(|key| Streams::from_key(key, about.config.run.seed.is_some())))
        };
        let of_run = |first: &Start, streams: &Option<Streams>| {
            first.run().or(streams.as_ref().map(Streams::run_id)).unwrap_or_default()
        };
        let before = journal::beginning(&path).map_err(|error| of_journal(&error, dir))?;
        let before = before.map(|first| Ok(of_run(&first, &streams(&first)?))).transpose()?;
        let (ledger, mended) = open_ledger(args, about.config, begun, before)?;
        let id = ledger.ledger.header().map(|header| header.id).unwrap_or_default();
        let start = || about.start(&args.name, &root, fresh, id);
        let opened =
            Journal::open(Box::new(medium), start).map_err(|error| of_journal(&error, dir))?;
        let first = &opened.first;
        let streams = streams(first)?;
        let (own_run, run) = (streams.as_ref().map(Streams::run_id), of_run(first, &streams));
        // Without its root an agent says again what it said, and asks no row.
        let now = streams.as_ref().map_or(first.rows.clone(), |root| rows(root, about.samples));
        let now = Start {
            network: about.network,
            agent: args.name.clone(),
            rows: now,
            root: first.root.of_run(own_run.unwrap_or(run)),
            ledger: id,
            ..first.clone()
        };
        first.compare(&now).map_err(|error| of_journal(&error, dir))?;
        Ok(Self { opened, ledger, streams, run, root, mended })
    }
}

impl StateOwner<'_> {
    /// The first record of a journal. Where the root key lies apart it is durable before.
    fn start(
        &self,
        name: &str,
        root: &RootFile,
        fresh: &Streams,
        ledger: RunId,
    ) -> std::io::Result<Start> {
        let (streams, place) = match self.seat {
            None => (fresh.clone(), RootPlace::Here(fresh.key())),
            Some(seat) => {
                let streams = Streams::from_key(root.begin(fresh.key())?, fresh.seeded());
                let (run, public) = (streams.run_id(), seat.public_key(&streams));
                (streams, RootPlace::Apart { run, public })
            }
        };
        let rows = rows(&streams, self.samples);
        let (network, agent) = (self.network, name.into());
        Ok(Start { journal: journal::FORMAT, network, agent, rows, root: place, ledger })
    }
}

/// A digest of the rows that only the holder of the run's key can compare.
fn rows(streams: &Streams, samples: &Samples) -> String {
    let mut hasher = streams.digest("rows");
    samples.digest_into(&mut hasher);
    hasher.finalize().to_hex().to_string()
}

/// Begins the run in its ledger, if that lasts. Returns what its owner should know about the rows.
pub fn begin(
    args: &AgentArgs,
    about: &StateOwner<'_>,
    ledger: &mut LedgerFile,
    plan: &Plan,
    run: RunId,
) -> Result<Option<String>> {
    let StateOwner { config, samples, .. } = *about;
    let planned = plan.claimed().budget();
    // What was redone without an agent that is gone is paid for by the sums after it.
    let redone = config.network.on_loss == OnLoss::Continue && ledger.ledger.last_round(run) > 0;
    if planned.is_some() && !args.spend_what_is_left && !redone {
        let done = ledger.ledger.last_round(run) as usize;
        let charges = plan.agents()[0].charges.charged(plan.rounds());
        affordable(&ledger.ledger, charges.iter().skip(done))?;
    }
    ledger.begin(&ledger_file::Run {
        id: run,
        rows: &|hasher| samples.digest_into(hasher),
        planned,
        note: &config.name,
    })
}

/// The ledger, and whether its end had to be mended for the run that goes on.
fn open_ledger(
    args: &AgentArgs,
    config: &Config,
    begun: bool,
    run: Option<RunId>,
) -> Result<(LedgerFile, bool)> {
    let seeded = config.run.seed.is_some();
    let named = args.ledger.is_some() || args.dataset.is_some();
    if seeded && named {
        return Err(Error::input("--ledger: a seeded run has no guarantee that could be charged")
            .hint("remove run.seed: whoever knows it can subtract the noise"));
    }
    let planned = config.spec.mechanism.claimed().budget();
    if planned.is_some() && !seeded && !named {
        return Err(Error::input(format!(
            "--ledger is missing: the mechanism {} charges a ledger, which outlives this run",
            shown(config.spec.mechanism.name())
        ))
        .hint(
            "give --ledger FILE or --dataset NAME; --new-ledger begins one for rows about which \
        nothing was ever released",
        ));
    }
    let path = ledger_path(args, config)?;
    let make = (args.new_ledger || !named) && !begun;
    if !make || (!named && path.exists()) {
        let dataset = args.dataset.as_deref();
        return match run {
            Some(run) => LedgerFile::open_for(&path, dataset, run),
            None => Ok((LedgerFile::open(&path, dataset)?, false)),
        };
    }
    let budget = match named {
        true => lifetime(planned, args.budget)?,
        false => planned,
    };
    let dataset = args.dataset.as_deref().unwrap_or(&args.name);
    Ok((LedgerFile::create(&path, dataset, budget)?, false))
}

fn ledger_path(args: &AgentArgs, config: &Config) -> Result<PathBuf> {
    match (&args.ledger, &args.dataset) {
        (Some(path), _) => Ok(path.clone()),
        (None, Some(dataset)) => ledger_file::path_of(dataset),
        (None, None) => Ok(args.state.join(ledger_name(config.run.seed.is_some()))),
    }
}

fn of_journal(error: &JournalError, dir: &Path) -> Error {
    Error::run(format!("{}: {error}", dir.display())).hint(error.hint())
}
