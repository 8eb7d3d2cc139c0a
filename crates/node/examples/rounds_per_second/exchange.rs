//! Rounds a second of five agents on the paper's graph: a bare exchange of vectors, and real
//! agents.

use dzoa::prelude::*;
use dzoa::primal::PrimalStep;
use dzoa::privacy::{Entry, Event};
use dzoa::problem::Synthetic;
use dzoa::run::{Releases, agents};
use dzoa::streams::Purpose;
use dzoa_node::certs::{Authority, CertFiles};
use dzoa_node::drive::drive;
use dzoa_node::journal::{self, Journal, JournalFile, Medium, RootPlace, Start};
use dzoa_node::node::{Node, NodeSettings, OnLoss};
use dzoa_node::transport::{LinkSettings, Place, Transport, ZenohLink, free_port};
use dzoa_node::wire;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

/// What one of the five does.
struct Job<'a> {
    k: usize,
    rounds: u64,
    features: usize,
    dir: &'a Path,
    link: ZenohLink,
    met: &'a Barrier,
}

fn graph() -> Graph {
    let names = NAMES.map(String::from).to_vec();
    Graph::from_edges(names, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (1, 3)])
        .expect("a connected graph")
}

/// What the five do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// One durable write, the vector to every neighbour, the vectors of all of them.
    Bare,
    /// What `dzoa agent` does, T = 1: journal, ledger, frames, repetition and all.
    Agents,
    /// What `dzoa agent` does, with exact ADMM on 20 rows of least squares.
    Admm,
}

/// Rounds a second, from when all have met to when the last has done its rounds.
pub fn rate(rounds: u64, features: usize, work: Work) -> f64 {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let held = NAMES.map(|_| free_port("127.0.0.1").expect("a free port"));
    let places: Vec<Place> = (NAMES.iter().zip(&held).enumerate())
        .map(|(index, (name, socket))| {
            let address = socket.local_addr().expect("a bound socket").to_string();
            Place { index, name: name.to_string(), address }
        })
        .collect();
    drop(held);
    let authority = Authority::new("bench").expect("an authority");
    authority.write(dir.path()).expect("written");
    for name in NAMES {
        let identity = authority.issue(name, "127.0.0.1", time::Duration::days(1)).expect("issued");
        identity.write(dir.path()).expect("written");
    }
    let (graph, met) = (graph(), Barrier::new(NAMES.len()));
    let slowest = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..NAMES.len())
            .map(|k| {
                let settings = LinkSettings {
                    own: places[k].clone(),
                    listen: None,
                    neighbours: graph.neighbours(k).iter().map(|&l| places[l].clone()).collect(),
                    routers: Vec::new(),
                    certs: CertFiles::of(dir.path(), NAMES[k]),
                    longest_frame: wire::longest(features),
                };
                let (dir, met) = (dir.path(), &met);
                scope.spawn(move || {
                    let mut link = ZenohLink::open(&settings).expect("links");
                    meet(&mut link, graph_neighbours(k).len(), &graph_neighbours(k));
                    let job = Job { k, rounds, features, dir, link, met };
                    match work {
                        Work::Bare => bare(job),
                        Work::Agents => real(job, 2, |_, _| Box::new(least())),
                        Work::Admm => {
                            real(job, 20, |problem, k| Box::new(Exact::new(problem.risk(k), None)))
                        }
                    }
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).max()
    });
    rounds as f64 / slowest.unwrap_or_default().as_secs_f64()
}

fn graph_neighbours(k: usize) -> Vec<usize> {
    graph().neighbours(k).to_vec()
}

/// Says hello until everybody has been heard, and a little longer for those who have not.
fn meet(link: &mut ZenohLink, count: usize, neighbours: &[usize]) {
    let mut heard = std::collections::BTreeSet::new();
    let mut extra = 20;
    while heard.len() < count || extra > 0 {
        extra -= i32::from(heard.len() == count);
        for &to in neighbours {
            let _ = link.send(to, b"hello".to_vec());
        }
        if let Some((from, _)) = link.receive(Duration::from_millis(100)) {
            heard.insert(from);
        }
    }
}

/// The bare exchange: one durable write, the vector to every neighbour, the vectors of all of them.
fn bare(mut job: Job<'_>) -> Duration {
    let neighbours = graph_neighbours(job.k);
    let mut log = JournalFile::open(&job.dir.join(format!("{}.log", NAMES[job.k]))).expect("a log");
    job.met.wait();
    let begun = Instant::now();
    let mut early: Vec<usize> = Vec::new();
    let mut vector = vec![0; 8 * job.features];
    for round in 1..=job.rounds {
        vector[..8].copy_from_slice(&round.to_le_bytes());
        log.append(&vector).expect("a durable write");
        for &to in &neighbours {
            job.link.send(to, vector.clone()).expect("sent");
        }
        let mut waiting = neighbours.clone();
        waiting.retain(|from| !early.contains(from));
        early.clear();
        while !waiting.is_empty() {
            let Some((from, frame)) = job.link.receive(Duration::from_secs(10)) else {
                panic!("a vector of round {round} was lost")
            };
            // Greetings may still be on their way.
            if frame.len() == vector.len() {
                match frame[..8] == vector[..8] {
                    true => waiting.retain(|waiting| *waiting != from),
                    false => early.push(from),
                }
            }
        }
    }
    let elapsed = begun.elapsed();
    // Whoever leaves first takes its last vectors along.
    job.met.wait();
    elapsed
}

/// The least that an inner loop can do.
fn least() -> ZerothOrder {
    ZerothOrder { inner_steps: 1, directions: 1, alpha0_times_r: 1e-6, ..Default::default() }
}

/// Real agents: journal, ledger, frames, repetition and all.
fn real(
    mut job: Job<'_>,
    samples: usize,
    step: impl Fn(&Problem, usize) -> Box<dyn PrimalStep>,
) -> Duration {
    let data = Synthetic { agents: 5, samples, features: job.features, ..Default::default() };
    let streams = Streams::from_seed(1);
    let drawn = data.draw(Squared.targets(), &mut streams.rng(Purpose::Data, "", 0));
    let problem = Problem {
        loss: Arc::new(Squared),
        regularizer: Regularizer::None,
        eta: 0.0,
        scale: Scale::Mean,
        intercept: false,
        agents: drawn.into_iter().map(Arc::new).collect(),
    };
    let settings = Admm { rounds: job.rounds, ..Admm::default() };
    let releases = Releases::all(Event::Unprotected, 5, &streams);
    let all = agents(&problem, &graph(), settings, releases, |k| step(&problem, k));
    let agent = all.expect("agents").swap_remove(job.k);
    let medium =
        JournalFile::open(&job.dir.join(format!("{}.journal", NAMES[job.k]))).expect("a journal");
    let start = || {
        Ok(Start {
            journal: journal::FORMAT,
            network: [0; 32],
            agent: NAMES[job.k].into(),
            rows: String::new(),
            root: RootPlace::Here(streams.key()),
            ledger: Default::default(),
        })
    };
    let opened = Journal::open(Box::new(medium), start).expect("a journal");
    let mut file =
        std::fs::File::create(job.dir.join(format!("{}.ledger", NAMES[job.k]))).expect("a ledger");
    let persist = move |entry: &Entry| {
        let line = serde_json::to_string(entry).map_err(|error| error.to_string())?;
        writeln!(file, "{line}").and_then(|()| file.sync_data()).map_err(|error| error.to_string())
    };
    let settings = NodeSettings {
        network: [0; 32],
        program: "bench".into(),
        session: job.k as u64 + 1,
        names: NAMES.map(String::from).to_vec(),
        patience: Duration::from_secs(60),
        on_loss: OnLoss::Stop,
        round_limit: None,
        lag: 0,
        linger: Duration::from_secs(5),
    };
    job.met.wait();
    let begun = Instant::now();
    let mut done = Duration::ZERO;
    let mut node =
        Node::new(agent, opened, settings, Box::new(persist), job.link.now()).expect("a node");
    let mut watch = |node: &mut Node, _| {
        if node.agent().rounds_done() == job.rounds && done.is_zero() {
            done = begun.elapsed();
        }
    };
    drive(&mut node, &mut job.link, &mut watch, &|| false).expect("no failure");
    done
}
