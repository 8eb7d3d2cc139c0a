//! A transport of your own: three real agents in three threads, with channels for a network.
//!
//! `Transport` is three functions: send a frame, wait for one, tell the time (`channels.rs`). Node,
//! journal and protocol are those of `dzoa agent`. Each agent would like another value, and knows
//! only its own cost: together they find the mean.
//!
//! `cargo run --release -p dzoa-node --example own_transport`

mod channels;

use channels::Channels;
use dzoa::plan::{Algorithm, Boxes, Data, Mechanism, Plan, RunSpec};
use dzoa::prelude::*;
use dzoa::privacy::Ledger;
use dzoa_node::drive::drive;
use dzoa_node::journal::{self, Journal, Memory, RootPlace, Start};
use dzoa_node::node::{Node, NodeSettings, OnLoss};
use std::time::Duration;
use std::{error::Error, sync::Arc, thread};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Takes agent k to its end, and returns what it reports. Its journal and ledger are in memory: to
/// survive a crash, an agent needs a `JournalFile`, and a ledger that is written down.
fn run(plan: &Arc<Plan>, k: usize, streams: &Streams, mut link: Channels) -> Outcome<Vec<f64>> {
    let names = plan.graph().names().to_vec();
    let start = Start {
        journal: journal::FORMAT,
        network: [0; 32],
        agent: names[k].clone(),
        rows: String::new(),
        root: RootPlace::Here(streams.key()),
        ledger: Default::default(),
    };
    let settings = NodeSettings {
        network: [0; 32],
        program: "own_transport".into(),
        session: k as u64 + 1,
        names,
        patience: Duration::from_secs(10),
        // A round waits for all neighbours, and a neighbour that is lost ends the run.
        on_loss: OnLoss::Stop,
        round_limit: None,
        lag: 0,
        linger: Duration::from_secs(2),
    };
    let journal = Journal::open(Box::new(Memory::default()), || Ok(start))?;
    let agent = plan.agent(k, Ledger::default(), streams.clone());
    let mut node = Node::new(agent, journal, settings, Box::new(|_| Ok(())), Duration::ZERO)?;
    drive(&mut node, &mut link, &mut |_, _| {}, &|| false)?;
    Ok(node.agent().estimate())
}

fn main() -> Outcome<()> {
    let names = ["a", "b", "c"].map(String::from).to_vec();
    let graph = Graph::from_edges(names, &[(0, 1), (1, 2)])?;
    let spec = RunSpec::new(Algorithm::DZoa, Mechanism::none());
    let streams = Streams::from_seed(7);
    let cost = |wish: f64| Arc::new(BlackBox::new(1, move |b: &[f64]| (b[0] - wish).powi(2)));
    let costs = Boxes::new([1.0, 2.0, 6.0].map(cost).to_vec());
    let costs = costs.measured(&spec, &graph, &streams)?;
    let plan = Arc::new(Plan::new(&spec, &Data::Boxes(costs), &graph)?);

    let found: Vec<Outcome<Vec<f64>>> = thread::scope(|scope| {
        let (plan, streams) = (&plan, &streams);
        let links = Channels::between(graph.len()).into_iter().enumerate();
        let start = |(k, link)| scope.spawn(move || run(plan, k, streams, link));
        let agents: Vec<_> = links.map(start).collect();
        agents.into_iter().map(|agent| agent.join().unwrap_or(Err("it panicked".into()))).collect()
    });
    // The same agents with the same seed in one loop: neither threads nor a network change a bit.
    let mut simulated = plan.simulation(Vec::new(), &streams)?;
    simulated.run(&mut ());
    for (k, found) in found.into_iter().enumerate() {
        let (found, simulated) = (found?, simulated.estimate(k));
        println!("agent {}: {:.4}, simulated {:.4}", graph.names()[k], found[0], simulated[0]);
    }
    println!("best:    3.0000, the mean of 1, 2 and 6");
    Ok(())
}
