//! The audit of the system: whatever is killed, restored from an old backup or begun a second time,
//! no two releases have noise in common, and every release is a charge in the ledger.

mod common;

use common::{GOSSIP, K, ROUNDS, World, event, first, graph, problem};
use dzoa::agent::Average;
use dzoa::prelude::*;
use dzoa::primal::{InnerFailure, Primal, PrimalStep, PrimalTask, Workspace};
use dzoa::privacy::Entry;
use dzoa::run::{Releases, agents};
use dzoa_node::journal::{Memory, RootPlace, Start};
use dzoa_node::node::{End, NodeError};
use dzoa_node::transport::{Faults, Transport};
use dzoa_node::wire::{Frame, Received};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SCHEDULES: u64 = 1000;
/// Steps of one schedule: more than a run without incidents takes.
const STEPS: usize = 600;

/// A release as only its maker knows it.
#[derive(Clone)]
struct Made {
    agent: usize,
    round: u64,
    value: Vec<f64>,
    release: Vec<f64>,
}

type Log = Arc<Mutex<Vec<Made>>>;

/// The exact step, which writes down what it hides and what it shows.
struct Watched {
    exact: Exact,
    agent: usize,
    log: Log,
}

impl PrimalStep for Watched {
    fn update(
        &mut self,
        task: PrimalTask<'_>,
        _work: &mut Workspace,
    ) -> Result<Primal, InnerFailure> {
        let PrimalTask { lagrangian, receipt, context, .. } = task;
        let (value, _) = self.exact.solve(lagrangian)?;
        let release = context.release(value.clone(), receipt)?;
        let (agent, round, shown) = (self.agent, context.round, release.to_vec());
        self.log.lock().unwrap().push(Made { agent, round, value, release: shown });
        Ok(Primal {
            release,
            oracle_calls: 0,
            step_raised: false,
            finished_exactly: true,
            clipped: 0,
        })
    }

    fn memory(&self) -> &[f64] {
        self.exact.memory()
    }

    fn recall(&mut self, memory: Vec<f64>) {
        self.exact.recall(memory);
    }
}

fn watched(k: usize, log: &Log) -> Agent {
    let (problem, graph) = (problem(), graph());
    let average = Average::Network { gossip: GOSSIP };
    let (events, streams) = (vec![Arc::from([event()]); K], Streams::from_seed(0));
    let releases = Releases { events, ledgers: vec![], average, streams };
    let settings = Admm { rho: 0.5, rounds: ROUNDS, ..Admm::default() };
    let all = agents(&problem, &graph, settings, releases, |k| {
        let exact = Exact::new(problem.risk(k), Some(1e-9));
        Box::new(Watched { exact, agent: k, log: log.clone() })
    });
    all.unwrap().swap_remove(k)
}

/// One agent's state directories, and which one it uses.
struct Site {
    directories: Vec<(Memory, Start)>,
    current: usize,
}

/// What happened in all schedules together: a test that restores nothing shows nothing.
#[derive(Debug, Default)]
struct Seen {
    journal_behind: usize,
    ledger_behind: usize,
    rolled_back: usize,
    made_anew: usize,
    second_directories: usize,
    finished: usize,
    other_errors: BTreeSet<String>,
}

struct Schedule {
    world: World,
    sites: Vec<Site>,
    log: Log,
    rng: StdRng,
    /// Whose ledger is an old one, how much it had sent by then, and what its neighbours had seen
    /// of the newer one.
    victim: Option<(usize, usize, Vec<Entry>)>,
    seen: Seen,
}

impl Schedule {
    fn new(seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let faults = Faults {
            loss: 0.1,
            duplication: 0.1,
            delay: Duration::from_millis(200),
            ..Default::default()
        };
        let mut world = World::new(faults, seed);
        // Every other schedule goes on without those that are late.
        if seed % 2 == 1 {
            world.settings.round_limit = Some(Duration::from_millis(100));
            world.settings.lag = 3;
        }
        let log = Log::default();
        let given = log.clone();
        world.make = Box::new(move |k| watched(k, &given));
        let sites = (0..K).map(|k| {
            let start = Start { root: RootPlace::Here(rng.random()), ..first(k) };
            Site { directories: vec![(Memory::default(), start)], current: 0 }
        });
        let sites = sites.collect();
        Self { world, sites, log, rng, victim: None, seen: Seen::default() }
    }

    fn start(&mut self, k: usize) {
        let site = &self.sites[k];
        let (journal, start) = site.directories[site.current].clone();
        let refused = match self.world.start_on(k, journal, start) {
            Ok(()) => return self.world.step(k),
            Err(error) => error,
        };
        self.world.nodes[k] = None;
        match refused {
            NodeError::JournalBehind { .. } => self.seen.journal_behind += 1,
            NodeError::LedgerBehind { .. } => self.seen.ledger_behind += 1,
            other => drop(self.seen.other_errors.insert(other.to_string())),
        }
    }

    /// Ends the process of agent k: sometimes after it computed and persisted, with or without
    /// having sent it.
    fn kill(&mut self, k: usize) {
        let Some(mut node) = self.world.nodes[k].take() else { return };
        if self.rng.random_bool(0.5) {
            let now = self.world.network.now();
            node.work(|| now).unwrap();
            let sent = node.outgoing();
            if self.rng.random_bool(0.5) {
                let mut endpoint = self.world.network.endpoint(k);
                sent.into_iter().for_each(|(to, frame)| endpoint.send(to, frame).unwrap());
            }
        }
    }

    /// Cuts the journal at the end of an earlier record: an old backup.
    fn restore_journal(&mut self, k: usize) {
        let site = &self.sites[k];
        let mut bytes = site.directories[site.current].0.0.lock().unwrap();
        let mut ends = vec![0];
        while let Some(length) = bytes.get(ends[ends.len() - 1]..).and_then(|b| b.first_chunk()) {
            ends.push(ends[ends.len() - 1] + 8 + u32::from_le_bytes(*length) as usize);
        }
        // The first record stays: a directory without it is a new one.
        if ends.len() > 2 {
            let kept = self.rng.random_range(1..ends.len());
            bytes.truncate(ends[kept]);
        }
    }

    fn second_directory(&mut self, k: usize) {
        let start = Start { root: RootPlace::Here(self.rng.random()), ..first(k) };
        let site = &mut self.sites[k];
        site.directories.push((Memory::default(), start));
        site.current = site.directories.len() - 1;
        self.seen.second_directories += 1;
    }

    fn incident(&mut self) {
        let k = self.rng.random_range(0..K);
        self.kill(k);
        match self.rng.random_range(0..10) {
            0..4 => {}
            4..7 => self.restore_journal(k),
            7 => self.second_directory(k),
            8 => {
                // The way the noise was found out: an old state here, and a neighbour that starts
                // anew.
                self.restore_journal(k);
                let neighbour = graph().neighbours(k)[0];
                self.kill(neighbour);
                self.second_directory(neighbour);
                self.start(neighbour);
            }
            _ => {
                let count = self.sites[k].directories.len();
                self.sites[k].current = self.rng.random_range(0..count);
            }
        }
        self.start(k);
    }

    /// Restores an old ledger at an agent whose neighbours have seen all of the newer one. (What
    /// nobody has received nobody can remember.)
    fn restore_ledger(&mut self, k: usize) {
        let graph = graph();
        let whole = self.world.ledgers[k].lock().unwrap().len() as u64;
        let knows = |&l: &usize| {
            let node = self.world.nodes[l].as_ref()?;
            node.peers().iter().find(|peer| peer.index == k)?.seen
        };
        let all = graph.neighbours(k).iter().map(knows);
        if whole == 0 || !all.into_iter().all(|seen| seen.is_some_and(|s| s.entries == whole)) {
            return;
        }
        self.world.nodes[k] = None;
        let kept = self.rng.random_range(0..whole) as usize;
        let seen = self.world.ledgers[k].lock().unwrap()[..whole as usize].to_vec();
        self.world.ledgers[k].lock().unwrap().truncate(kept);
        match self.rng.random_range(0..3) {
            // The ledger alone; the whole machine; a new state on the old ledger.
            0 => {}
            1 => self.restore_journal(k),
            _ => self.second_directory(k),
        }
        self.victim = Some((k, self.sent(k).len(), seen));
        self.start(k);
    }

    fn run(&mut self) {
        (0..K).for_each(|k| self.start(k));
        for step in 0..STEPS {
            if self.victim.is_none() && self.rng.random_bool(0.02) {
                self.incident();
            }
            if self.victim.is_none() && step > STEPS / 6 && self.rng.random_bool(0.02) {
                let k = self.rng.random_range(0..K);
                self.restore_ledger(k);
            }
            match self.world.event() {
                Some(k) => self.world.step(k),
                None => break,
            }
        }
        let rolled = |end: &&(End, Vec<u64>)| matches!(end.0, End::RolledBack { .. });
        self.seen.rolled_back += self.world.ends.iter().flatten().filter(rolled).count();
        let finished = |end: &&(End, Vec<u64>)| end.0 == End::Agent(Status::Finished);
        self.seen.finished += self.world.ends.iter().flatten().filter(finished).count();
    }

    /// The different releases that agent k ever sent.
    fn sent(&self, k: usize) -> BTreeSet<(u64, Vec<u64>)> {
        let frames = self.world.network.record().into_iter().filter(|(from, _, _)| *from == k);
        let vectors = frames.filter_map(|(_, _, frame)| match Frame::decode(&frame, usize::MAX) {
            Ok(Frame { body: Received::Vector { round, values }, .. }) if round <= ROUNDS => {
                Some((round, values.iter().map(|value| value.to_bits()).collect()))
            }
            _ => None,
        });
        vectors.collect()
    }

    fn check(&mut self, seed: u64) {
        let log = self.log.lock().unwrap().clone();
        for k in 0..K {
            let made: Vec<&Made> = log.iter().filter(|made| made.agent == k).collect();
            assert_no_common_noise(&made, seed);
            let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            let different: BTreeSet<_> =
                made.iter().map(|made| (made.round, bits(&made.release))).collect();
            let sent = self.sent(k);
            assert!(sent.is_subset(&different), "schedule {seed}: agent {k} sent what nobody made");
            let charges = self.world.charges(k);
            self.seen.made_anew += charges.iter().filter(|charge| charge.attempt > 0).count();
            match &self.victim {
                // The journal may hold the one charge that the ledger lost: then it is what it was.
                Some((victim, _, seen))
                    if *victim == k && self.world.ledgers[k].lock().unwrap().starts_with(seen) =>
                {
                    assert!(sent.len() <= charges.len(), "schedule {seed}: agent {k}, mended");
                }
                // On an old ledger nothing new leaves: the neighbours remember the newer one.
                Some((victim, before, _)) if *victim == k => {
                    assert_eq!(sent.len(), *before, "schedule {seed}: agent {k} on an old ledger");
                }
                _ => assert_eq!(different.len(), charges.len(), "schedule {seed}: agent {k}"),
            }
        }
    }
}

/// The noise of two releases is the same only where they are the same release.
fn assert_no_common_noise(made: &[&Made], seed: u64) {
    for (i, one) in made.iter().enumerate() {
        for other in &made[..i] {
            if one.release == other.release {
                continue;
            }
            let apart = (0..one.value.len())
                .map(|p| (one.release[p] - one.value[p]) - (other.release[p] - other.value[p]));
            let apart = apart.map(f64::abs).fold(0.0, f64::max);
            assert!(
                apart > 1e-7,
                "schedule {seed}: agent {} hid two values of rounds {} and {} by the same noise",
                one.agent,
                one.round,
                other.round
            );
        }
    }
}

#[test]
fn a_thousand_schedules_of_kills_restores_and_second_states_share_no_noise_and_charge_all() {
    let mut all = Seen::default();
    for seed in 0..SCHEDULES {
        let mut schedule = Schedule::new(seed);
        schedule.run();
        schedule.check(seed);
        let Seen { journal_behind, ledger_behind, rolled_back, made_anew, .. } = schedule.seen;
        all.journal_behind += journal_behind;
        all.ledger_behind += ledger_behind;
        all.rolled_back += rolled_back;
        all.made_anew += made_anew;
        all.second_directories += schedule.seen.second_directories;
        all.finished += schedule.seen.finished;
        all.other_errors.extend(schedule.seen.other_errors);
    }
    println!("{all:?}");
    assert!(all.journal_behind > 100 && all.rolled_back > 100, "{all:?}");
    assert!(all.ledger_behind > 20 && all.second_directories > 500, "{all:?}");
    assert!(all.made_anew > 20 && all.finished > 50, "{all:?}");
    assert!(all.other_errors.is_empty(), "{all:?}");
}

/// An entry cut out of the ledger while the journal goes on is found at the next start.
#[test]
fn a_ledger_that_lost_two_charges_is_refused_with_the_number() {
    let mut world = World::new(Faults::default(), 1);
    world.start_all();
    world.run(Duration::from_secs(3600));
    let whole: Vec<Entry> = world.ledgers[0].lock().unwrap().clone();
    let last = whole.iter().rposition(|e| format!("{:?}", e.record).starts_with("Charge")).unwrap();
    world.ledgers[0].lock().unwrap().truncate(last - 1);
    let error = world.start(0).expect_err("an old ledger");
    assert!(matches!(error, NodeError::LedgerBehind { missing: 2 }), "{error}");
}
