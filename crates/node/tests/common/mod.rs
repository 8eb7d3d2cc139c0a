//! A small network in memory: five agents on the paper's graph, with noise and a final averaging,
//! so that every kind of message occurs.
#![allow(dead_code)]

use dzoa::agent::{Average, Counters, Envelope, Message, Past};
use dzoa::prelude::*;
use dzoa::privacy::{
    Charge, Entry, Event, Header, LEDGER_FORMAT, Ledger, LedgerRecord, NoiseKey, Private,
};
use dzoa::problem::Synthetic;
use dzoa::run::{Releases, agents};
use dzoa::streams::Purpose;
use dzoa_node::drive::step;
use dzoa_node::journal::{self, Journal, Memory, RootPlace, Start};
use dzoa_node::node::{End, Node, NodeError, NodeSettings, OnLoss};
use dzoa_node::transport::{Faults, SimulatedNetwork};
use dzoa_node::wire::{Body, Frame, Outgoing, Received};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub const K: usize = 5;
pub const P: usize = 3;
pub const ROUNDS: u64 = 6;
pub const GOSSIP: u64 = 4;
const SEED: u64 = 9;

pub fn graph() -> Graph {
    let names = ["a", "b", "c", "d", "e"].map(String::from).to_vec();
    Graph::from_edges(names, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (1, 3)]).unwrap()
}

pub fn problem() -> Problem {
    let data = Synthetic { agents: K, samples: 8, features: P, ..Default::default() };
    let loss = Logistic;
    let drawn = data.draw(loss.targets(), &mut Streams::from_seed(3).rng(Purpose::Data, "", 0));
    Problem {
        loss: Arc::new(loss),
        regularizer: Regularizer::L1,
        eta: 0.1,
        scale: Scale::Mean,
        intercept: false,
        agents: drawn.into_iter().map(Arc::new).collect(),
    }
}

pub fn event() -> Event {
    Event::discrete_gaussian(0.01, 0.05, P, 1)
}

/// All agents, as a simulation would have them.
pub fn all_agents(rounds: u64, average: Average, event: Event) -> Vec<Agent> {
    agents_with(0.5, rounds, average, event)
}

/// All agents with another rho.
pub fn agents_with(rho: f64, rounds: u64, average: Average, event: Event) -> Vec<Agent> {
    let (problem, graph) = (problem(), graph());
    let (events, streams) = (vec![Arc::from([event]); K], Streams::from_seed(SEED));
    let releases = Releases { events, ledgers: vec![], average, streams };
    let settings = Admm { rho, rounds, ..Admm::default() };
    agents(&problem, &graph, settings, releases, |k| {
        Box::new(Exact::new(problem.risk(k), Some(1e-9)))
    })
    .unwrap()
}

pub fn agent(k: usize) -> Agent {
    all_agents(ROUNDS, Average::Network { gossip: GOSSIP }, event()).swap_remove(k)
}

/// The bits that the simulation ends with.
pub fn expected() -> Vec<Vec<u64>> {
    let mut agents = all_agents(ROUNDS, Average::Network { gossip: GOSSIP }, event());
    assert_eq!(simulate(&mut agents, &mut ()), Status::Finished);
    agents.iter().map(bits).collect()
}

pub fn bits(agent: &Agent) -> Vec<u64> {
    agent.estimate().into_iter().map(f64::to_bits).collect()
}

pub fn settings() -> NodeSettings {
    NodeSettings {
        network: [7; 32],
        program: "test".into(),
        session: 0,
        names: graph().names().to_vec(),
        patience: Duration::from_secs(60),
        on_loss: OnLoss::Stop,
        round_limit: None,
        lag: 0,
        linger: Duration::from_secs(30),
    }
}

pub fn first(k: usize) -> Start {
    Start {
        journal: journal::FORMAT,
        network: [7; 32],
        agent: graph().names()[k].clone(),
        rows: String::new(),
        root: RootPlace::Here(Streams::from_seed(SEED).key()),
        ledger: header(k).id,
    }
}

pub fn header(k: usize) -> Header {
    let id = [k as u8 + 1; 16].into();
    Header { ledger: LEDGER_FORMAT, id, dataset: graph().names()[k].clone(), budget: None }
}

/// The charges among entries.
pub fn charges(entries: &[Entry]) -> Vec<Charge> {
    let charge = |entry: &Entry| match &entry.record {
        LedgerRecord::Charge(charge) => Some(charge.clone()),
        _ => None,
    };
    entries.iter().filter_map(charge).collect()
}

/// Any vector as a release that is charged as unprotected, with the record that holds it.
pub fn released(round: u64, values: Vec<f64>) -> (Envelope, journal::JournalRecord) {
    let mut ledger = Ledger::default();
    let receipt = ledger.charge(Event::Unprotected.query(round)).unwrap();
    let release = Private::new(values).release(receipt, &NoiseKey::new([0; 32])).unwrap();
    let charge = ledger.charges().next().unwrap().clone();
    let sealed = release.seal(&charge);
    let past = Past { charge, release: sealed, memory: vec![], counters: Counters::default() };
    let record =
        journal::JournalRecord::Round { inputs: vec![], past: Some(past.into()), seen: vec![] };
    (Envelope { from: 1, round, message: Message::Release(release) }, record)
}

/// A journal with nothing but its first record.
pub fn empty_journal() -> Journal {
    Journal::open(Box::new(Memory::default()), || Ok(first(0))).unwrap().journal
}

/// Any vector as a body. There is no other way than to charge it and to write it into a journal.
pub fn said(round: u64, values: Vec<f64>) -> Body {
    let (envelope, record) = released(round, values);
    Body::vector(Outgoing::from(&empty_journal().commit(&record, envelope).unwrap()))
}

/// What outlives the processes: journals, ledgers, and everything that was ever sent.
pub struct World {
    pub journals: Vec<Memory>,
    pub ledgers: Vec<Arc<Mutex<Vec<Entry>>>>,
    pub network: SimulatedNetwork,
    pub settings: NodeSettings,
    pub nodes: Vec<Option<Node>>,
    pub ends: Vec<Option<(End, Vec<u64>)>>,
    pub make: Box<dyn Fn(usize) -> Agent>,
    /// Processes so far.
    pub sessions: u64,
}

impl World {
    pub fn new(faults: Faults, seed: u64) -> Self {
        Self {
            journals: vec![Memory::default(); K].iter().map(|_| Memory::default()).collect(),
            ledgers: (0..K).map(|_| Arc::default()).collect(),
            network: SimulatedNetwork::new(faults, seed),
            settings: settings(),
            nodes: (0..K).map(|_| None).collect(),
            ends: vec![None; K],
            make: Box::new(agent),
            sessions: 0,
        }
    }

    /// What agent k was charged for, as its ledger says now.
    pub fn charges(&self, k: usize) -> Vec<Charge> {
        charges(&self.ledgers[k].lock().unwrap())
    }

    /// Starts agent k on its journal and its ledger, as they are now.
    pub fn start(&mut self, k: usize) -> Result<(), NodeError> {
        let journal = self.journals[k].clone();
        self.start_on(k, journal, first(k))
    }

    /// Starts agent k on another state directory, with the same ledger.
    pub fn start_on(&mut self, k: usize, journal: Memory, first: Start) -> Result<(), NodeError> {
        let opened = Journal::open(Box::new(journal), || Ok(first))?;
        let ledger = self.ledgers[k].clone();
        let before = Ledger::replay(header(k), ledger.lock().unwrap().clone()).unwrap();
        let persist = move |entry: &Entry| {
            let mut ledger = ledger.lock().unwrap();
            match ledger.get(entry.index as usize - 1) {
                Some(known) if known == entry => {}
                Some(_) => return Err(format!("another entry {}", entry.index)),
                None => ledger.push(entry.clone()),
            }
            Ok(())
        };
        let mut agent = (self.make)(k);
        agent.take_ledger(before);
        agent.stand_in_for(Streams::from_key(opened.first.root().unwrap(), false));
        let now = self.network.now();
        self.sessions += 1;
        let settings = NodeSettings { session: self.sessions, ..self.settings.clone() };
        let node = Node::new(agent, opened, settings, Box::new(persist), now)?;
        self.nodes[k] = Some(node);
        Ok(())
    }

    pub fn start_all(&mut self) {
        (0..K).for_each(|k| self.start(k).unwrap());
    }

    /// What happens next: an arrival, or a node with something to do. Returns which agent it was.
    pub fn event(&mut self) -> Option<usize> {
        let arrival = self.network.next_arrival();
        let wakes = self.nodes.iter().enumerate();
        let wake = wakes.filter_map(|(k, node)| Some((node.as_ref()?.wake(), k))).min();
        let (at, k) = [arrival, wake].into_iter().flatten().min()?;
        self.network.advance(at);
        Some(k)
    }

    pub fn step(&mut self, k: usize) {
        let mut endpoint = self.network.endpoint(k);
        match &mut self.nodes[k] {
            Some(node) => {
                step(node, &mut endpoint).unwrap();
                if let Some(end) = node.end() {
                    self.ends[k] = Some((end.clone(), bits(node.agent())));
                    self.nodes[k] = None;
                }
            }
            // Nobody is there.
            None => {
                while dzoa_node::transport::Transport::receive(&mut endpoint, Duration::ZERO)
                    .is_some()
                {}
            }
        }
    }

    /// Runs until all have ended; fails if they have not by then.
    pub fn run(&mut self, limit: Duration) {
        for k in 0..K {
            self.step(k);
        }
        while self.ends.iter().any(Option::is_none) {
            let k = self.event().expect("somebody has something to do");
            assert!(self.network.now() < limit, "still running after {limit:?}");
            self.step(k);
        }
    }

    /// Every vector that was ever sent, by sender and round; fails if two differ.
    pub fn vectors(&self) -> BTreeMap<(usize, u64), Vec<u64>> {
        let mut known = BTreeMap::new();
        for (from, _, frame) in self.network.record() {
            let frame = Frame::decode(&frame, usize::MAX).unwrap();
            if let Received::Vector { round, values } = frame.body {
                let values: Vec<u64> = values.iter().map(|value| value.to_bits()).collect();
                let first = known.entry((from, round)).or_insert_with(|| values.clone());
                assert_eq!(*first, values, "agent {from} sent two vectors for round {round}");
            }
        }
        known
    }
}

/// Whether a message is a release, for the record.
pub fn is_release(message: &Message) -> bool {
    matches!(message, Message::Release(_))
}

/// Hears everything on these keys that a session may hear.
pub fn overhear(
    session: &zenoh::Session,
    keys: &str,
) -> (zenoh::pubsub::Subscriber<()>, std::sync::mpsc::Receiver<Vec<u8>>) {
    use zenoh::Wait;
    let (sender, heard) = std::sync::mpsc::channel();
    let subscriber = session
        .declare_subscriber(keys)
        .callback(move |sample| drop(sender.send(sample.payload().to_bytes().into_owned())))
        .wait()
        .unwrap();
    (subscriber, heard)
}
