//! A network of agents that take joint sums, in memory.

use dzoa::joint::{Notice, Saying, SumPart};
use dzoa::plan::{Algorithm, Auto, Data, JointSeat, Keys, Mechanism, PastRoot, Plan, RunSpec};
use dzoa::prelude::*;
use dzoa::privacy::{
    Budget, Charge, Colluders, Entry, Header, LEDGER_FORMAT, Ledger, LedgerRecord,
};
use dzoa::problem::Synthetic;
use dzoa::streams::Purpose;
use dzoa::tuning::Setting;
use dzoa_node::certs::{Authority, CertFiles};
use dzoa_node::drive::step;
use dzoa_node::joint::{Credentials, JointNode, JointPlace};
use dzoa_node::journal::{self, Journal, Memory, RootPlace, Start};
use dzoa_node::letter::Letter;
use dzoa_node::node::{End, NodeError, NodeSettings, OnLoss, Running};
use dzoa_node::transport::{Faults, SimulatedNetwork, Transport};
use dzoa_node::wire::{Frame, Received, longest_letter};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

pub const P: usize = 3;
pub const ROUNDS: u64 = 4;
const SEED: u64 = 9;

/// How long a neighbour may be silent.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A schedule that has not ended by then hangs.
pub const LIMIT: Duration = Duration::from_secs(3600);

/// What protects the sums of a test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Protected {
    Nothing,
    Alone,
    Masks(u32),
}

pub fn names(agents: usize) -> Vec<String> {
    // Not in the order of the alphabet: positions in the graph and among the members differ.
    ["d", "b", "g", "a", "h", "c", "f", "e"][..agents].iter().map(|&name| name.into()).collect()
}

pub fn path(agents: usize) -> Graph {
    let edges: Vec<(usize, usize)> = (1..agents).map(|k| (k - 1, k)).collect();
    Graph::from_edges(names(agents), &edges).unwrap()
}

pub fn star(agents: usize) -> Graph {
    let edges: Vec<(usize, usize)> = (1..agents).map(|k| (0, k)).collect();
    Graph::from_edges(names(agents), &edges).unwrap()
}

pub fn complete(agents: usize) -> Graph {
    let pairs = (0..agents).flat_map(|a| (a + 1..agents).map(move |b| (a, b)));
    Graph::from_edges(names(agents), &pairs.collect::<Vec<_>>()).unwrap()
}

/// The paper's graph.
pub fn paper() -> Graph {
    Graph::from_edges(names(5), &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (1, 3)]).unwrap()
}

pub fn problem(agents: usize) -> Problem {
    let data = Synthetic { agents, samples: 12, features: P, ..Default::default() };
    let mut rng = Streams::from_seed(3).rng(Purpose::Data, "", 0);
    let drawn = data.draw(Logistic.targets(), &mut rng);
    Problem {
        loss: Arc::new(Logistic),
        regularizer: Regularizer::L1,
        eta: 0.1,
        scale: Scale::Mean,
        intercept: false,
        agents: drawn.into_iter().map(Arc::new).collect(),
    }
}

pub fn spec(algorithm: &str, protected: Protected) -> RunSpec {
    let (total_epsilon, delta) = (Some(4.0), Some(1e-5));
    let keys = |colluders| Keys { total_epsilon, delta, colluders, ..Keys::default() };
    let mechanism = match protected {
        Protected::Nothing => Mechanism::from_keys("none", &Keys::default()),
        Protected::Alone => Mechanism::from_keys("joint", &keys(Some(Colluders::All))),
        Protected::Masks(t) => Mechanism::from_keys("joint", &keys(Some(Colluders::AtMost(t)))),
    };
    let algorithm = Algorithm::named(algorithm, &Setting::default()).unwrap();
    let rounds = match algorithm.name() {
        "joint-newton" => Auto::Auto,
        _ => Auto::Given(ROUNDS),
    };
    RunSpec { rounds, ..RunSpec::new(algorithm, mechanism.unwrap()) }
}

/// Certificates of everybody, made once.
pub fn certs() -> &'static Path {
    static DIR: OnceLock<tempfile::TempDir> = OnceLock::new();
    DIR.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let authority = Authority::new("test").unwrap();
        authority.write(dir.path()).unwrap();
        for name in names(8) {
            let identity = authority.issue(&name, "127.0.0.1", time::Duration::days(1)).unwrap();
            identity.write(dir.path()).unwrap();
        }
        dir
    })
    .path()
}

/// What members say to all in a frame.
pub fn notices(body: Received) -> Vec<Notice> {
    match body {
        Received::Letters { letters, .. } => letters.iter().map(Letter::notice).collect(),
        _ => Vec::new(),
    }
}

/// What outlives the processes: journals, ledgers, and everything that was ever sent.
pub struct World {
    pub graph: Graph,
    pub spec: RunSpec,
    pub data: Data,
    pub journals: Vec<Memory>,
    /// The roots, which lie apart; `None` once they are erased.
    pub keys: Vec<Option<[u8; 32]>>,
    pub ledgers: Vec<Arc<Mutex<Vec<Entry>>>>,
    pub network: SimulatedNetwork,
    pub nodes: Vec<Option<JointNode>>,
    pub ends: Vec<Option<(End, Vec<u64>)>>,
    pub pinned: Option<dzoa::privacy::Digest>,
    pub on_loss: OnLoss,
    pub budget: Option<Budget>,
    /// Processes so far.
    sessions: u64,
}

impl World {
    pub fn new(graph: Graph, spec: RunSpec, faults: Faults, seed: u64) -> Self {
        let agents = graph.len();
        Self {
            data: Data::Rows(problem(agents)),
            graph,
            spec,
            journals: (0..agents).map(|_| Memory::default()).collect(),
            keys: vec![Some(Streams::from_seed(SEED).key()); agents],
            ledgers: (0..agents).map(|_| Arc::default()).collect(),
            network: SimulatedNetwork::new(faults, seed),
            nodes: (0..agents).map(|_| None).collect(),
            ends: vec![None; agents],
            pinned: None,
            on_loss: OnLoss::Stop,
            budget: None,
            sessions: 0,
        }
    }

    /// The bits that the simulation ends with.
    pub fn expected(&self) -> Vec<u64> {
        let plan = Plan::new(&self.spec, &self.data, &self.graph).unwrap();
        let mut simulation = plan.simulation(vec![], &Streams::from_seed(SEED)).unwrap();
        assert_eq!(simulation.run(&mut ()), Status::Finished);
        simulation.estimate(0).into_iter().map(f64::to_bits).collect()
    }

    pub fn header(&self, k: usize) -> Header {
        let (id, dataset) = ([k as u8 + 1; 16].into(), self.graph.names()[k].clone());
        Header { ledger: LEDGER_FORMAT, id, dataset, budget: self.budget }
    }

    /// What agent k was charged for.
    pub fn charges(&self, k: usize) -> Vec<Charge> {
        let charge = |entry: &Entry| match &entry.record {
            LedgerRecord::Charge(charge) => Some(charge.clone()),
            _ => None,
        };
        self.ledgers[k].lock().unwrap().iter().filter_map(charge).collect()
    }

    /// Starts agent k on its journal and its ledger, as they are now.
    pub fn start(&mut self, k: usize) -> Result<(), NodeError> {
        let name = self.graph.names()[k].clone();
        let seat = JointSeat { spec: &self.spec, data: &self.data, graph: &self.graph, k };
        let streams = Streams::from_key(self.keys[k].unwrap_or_default(), false);
        let first = Start {
            journal: journal::FORMAT,
            network: [7; 32],
            agent: name.clone(),
            rows: String::new(),
            root: RootPlace::Apart { run: streams.run_id(), public: seat.public_key(&streams) },
            ledger: self.header(k).id,
        };
        let opened = Journal::open(Box::new(self.journals[k].clone()), || Ok(first))?;
        let ledger = self.ledgers[k].clone();
        let before = Ledger::replay(self.header(k), ledger.lock().unwrap().clone()).unwrap();
        let persist = move |entry: &Entry| {
            let mut ledger = ledger.lock().unwrap();
            match ledger.get(entry.index as usize - 1) {
                Some(known) if known == entry => {}
                Some(_) => return Err(format!("another entry {}", entry.index)),
                None => ledger.push(entry.clone()),
            }
            Ok(())
        };
        let mut agent = match (self.keys[k], opened.first.root) {
            (None, RootPlace::Apart { run, public }) => {
                seat.past_agent(before, PastRoot { run, key: public }).unwrap()
            }
            _ => seat.agent(before, &streams).unwrap(),
        };
        self.pinned.into_iter().for_each(|roster| agent.pin(roster));
        self.sessions += 1;
        let settings = NodeSettings {
            network: [7; 32],
            program: "test".into(),
            session: self.sessions,
            names: self.graph.names().to_vec(),
            patience: PATIENCE,
            on_loss: self.on_loss,
            round_limit: None,
            lag: 0,
            linger: Duration::from_secs(30),
        };
        let place = JointPlace {
            graph: self.graph.clone(),
            k,
            settings,
            longest_frame: longest_letter(self.graph.len(), P * (P + 1) / 2),
            credentials: Credentials::new(&CertFiles::of(certs(), &name)).unwrap(),
        };
        let now = self.network.now();
        self.nodes[k] = Some(JointNode::new(agent, opened, place, Box::new(persist), now)?);
        Ok(())
    }

    pub fn start_all(&mut self) {
        (0..self.graph.len()).for_each(|k| self.start(k).unwrap());
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
                    let bits = node.gained().estimate.into_iter().map(f64::to_bits).collect();
                    self.ends[k] = Some((end.clone(), bits));
                    self.nodes[k] = None;
                }
            }
            // Nobody is there.
            None => while endpoint.receive(Duration::ZERO).is_some() {},
        }
    }

    /// Runs until all have ended; fails if they have not by then.
    pub fn run(&mut self) {
        (0..self.graph.len()).for_each(|k| self.step(k));
        self.go_on();
    }

    pub fn go_on(&mut self) {
        while self.ends.iter().any(Option::is_none) {
            let k = self.event().expect("somebody has something to do");
            assert!(self.network.now() < LIMIT, "still running");
            self.step(k);
        }
    }

    /// Everybody finished with these bits, was charged once a round, and sent one value each.
    pub fn assert_finished(&self, expected: &[u64], rounds: u64, case: &str) {
        for (k, end) in self.ends.iter().enumerate() {
            let (end, bits) = end.as_ref().unwrap();
            assert_eq!(*end, End::Agent(Status::Finished), "{case}, agent {k}");
            assert_eq!(bits, expected, "{case}, agent {k}");
            assert_eq!(self.charges(k).len() as u64, rounds, "{case}, agent {k}");
        }
        self.assert_said_once(case);
    }

    /// Nobody ever said two different things in one stage, whoever passed them on.
    pub fn assert_said_once(&self, case: &str) {
        let mut known = BTreeMap::new();
        for (_, _, frame) in self.network.record() {
            let frame = Frame::decode(&frame, usize::MAX).unwrap();
            for notice in notices(frame.body) {
                let leaves = matches!(notice.saying, Saying::Leave { .. });
                let place = (notice.origin, notice.stage, notice.attempt, leaves);
                let first = known.entry(place).or_insert_with(|| notice.clone());
                assert_eq!(*first, notice, "{case}: two letters for {place:?}");
            }
        }
    }

    /// All different words that were ever sent, by writer and by the id of the sum.
    pub fn parts(&self) -> BTreeMap<(String, [u8; 32]), BTreeSet<Vec<u64>>> {
        let mut sorted = self.graph.names().to_vec();
        sorted.sort();
        let mut parts: BTreeMap<_, BTreeSet<Vec<u64>>> = BTreeMap::new();
        for (_, _, frame) in self.network.record() {
            let frame = Frame::decode(&frame, usize::MAX).unwrap();
            for notice in notices(frame.body) {
                if let Saying::Part(SumPart::Words(words)) = notice.saying {
                    let key = (sorted[notice.origin].clone(), notice.id.0);
                    parts.entry(key).or_default().insert(words.to_vec());
                }
            }
        }
        parts
    }
}
