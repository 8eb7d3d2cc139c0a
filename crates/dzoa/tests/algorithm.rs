//! Algorithm 1, read aloud: the rounds of `admm/algorithm.rs` in the paper's own loop give the bits
//! of a simulation.

use dzoa::admm::{Exchanged, LocalState, ReleasePair, Round};
use dzoa::network::Topology;
use dzoa::prelude::*;
use dzoa::primal::{RoundContext, Workspace};
use dzoa::privacy::{Event, Ledger, Release};
use dzoa::problem::Synthetic;
use dzoa::run::Releases;
use dzoa::streams::Purpose;
use std::sync::Arc;

const ADMM: Admm = Admm { rho: 0.3, rounds: 12, self_loop: true, warm_start: false };
const AGENTS: usize = 5;

/// All agents of the paper's network.
struct Network {
    graph: Graph,
    objectives: Vec<LocalObjective>,
    inner: Vec<ZerothOrder>,
    states: Vec<LocalState>,
    streams: Streams,
}

impl Network {
    /// Round m at agent k.
    fn round(&mut self, k: usize, m: u64) -> Round<'_> {
        let Self { graph, objectives, inner, states, streams } = self;
        let context = RoundContext { agent: &graph.names()[k], round: m, streams };
        let (objective, step, state) = (&objectives[k], &mut inner[k], &mut states[k]);
        Round { admm: &ADMM, objective, step, state, context }
    }

    /// Line 3: agent k's release beside those of its neighbours.
    fn exchanged(&self, k: usize, released: &[Release]) -> Vec<Exchanged> {
        let edge = |&l: &usize| {
            let [ours, theirs] = [k, l].map(|k| released[k].values().clone());
            Exchanged { newest: Some(theirs.clone()), pairs: vec![ReleasePair { ours, theirs }] }
        };
        self.graph.neighbours(k).iter().map(edge).collect()
    }
}

fn problem(streams: &Streams) -> Problem {
    let data = Synthetic { agents: AGENTS, samples: 30, features: 3, ..Default::default() };
    let drawn = data.draw(Logistic.targets(), &mut streams.rng(Purpose::Data, "", 0));
    Problem {
        loss: Arc::new(Logistic),
        regularizer: Regularizer::L1,
        eta: 0.01,
        scale: Scale::Mean,
        intercept: false,
        agents: drawn.into_iter().map(Arc::new).collect(),
    }
}

#[test]
fn the_papers_loop_gives_the_bits_of_a_simulation() {
    let streams = Streams::from_seed(5);
    let problem = problem(&streams);
    let names = (1..=AGENTS).map(|k| k.to_string()).collect();
    let graph = Graph::generate(Topology::Paper, names, &mut streams.rng(Purpose::Layout, "", 0));
    let graph = graph.unwrap();
    let inner = ZerothOrder { inner_steps: 20, alpha0_times_r: 0.3, ..Default::default() };
    // Line 1.
    let zero = |k| LocalState::zero(problem.dim(), graph.neighbours(k).len());
    let mut network = Network {
        objectives: (0..AGENTS).map(|k| problem.local(k)).collect(),
        inner: vec![inner; AGENTS],
        states: (0..AGENTS).map(zero).collect(),
        graph: graph.clone(),
        streams: streams.clone(),
    };
    // Line 2.
    for m in 1..=ADMM.rounds {
        // Lines 5 to 11.
        let release = |k| {
            let receipt = Ledger::default().charge(Event::Unprotected.query(m)).unwrap();
            network.round(k, m).primal(receipt, &mut Workspace::default()).unwrap().release
        };
        let released: Vec<Release> = (0..AGENTS).map(release).collect();
        // Lines 3 and 4.
        for k in 0..AGENTS {
            let exchanged = network.exchanged(k, &released);
            network.round(k, m).dual(&released[k], exchanged);
        }
    }

    let releases = Releases::all(Event::Unprotected, AGENTS, &streams);
    let mut simulated =
        zeroth_order_agents(&problem, &graph, ADMM, &[inner; AGENTS], releases).unwrap();
    assert_eq!(simulate(&mut simulated, &mut ()), Status::Finished);
    for (agent, state) in simulated.iter().zip(&network.states) {
        assert_eq!(agent.beta(), &*state.beta, "agent {}", agent.name());
        assert_eq!(agent.gamma(), state.gamma(), "agent {}", agent.name());
        assert!(agent.beta().iter().any(|b| *b != 0.0), "it moved");
    }
}
