//! How long an agent takes to start again after so many rounds, and how much memory that takes.
//!
//!     cargo build --release --workspace --examples && target/release/examples/restart

#[path = "../tests/common/mod.rs"]
mod common;

use common::{World, all_agents, event, first, header};
use dzoa::agent::Average;
use dzoa::privacy::Ledger;
use dzoa_node::journal::{Journal, JournalFile, RootPlace};
use dzoa_node::node::Node;
use dzoa_node::transport::Faults;
use std::path::Path;
use std::time::{Duration, Instant};

/// Rounds that are behind the agent.
const ROUNDS: [u64; 3] = [1_000, 10_000, 20_000];

fn main() {
    println!("| rounds | journal, MB | restart, s | memory for it, MB |");
    println!("| ---: | ---: | ---: | ---: |");
    for rounds in ROUNDS {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("journal");
        let agents = move |k| all_agents(rounds, Average::None, event()).swap_remove(k);
        let mut world = World::new(Faults::default(), 1);
        world.make = Box::new(agents);
        world.start_all();
        world.run(Duration::from_secs(1 << 20));
        let journal = std::mem::take(&mut *world.journals[0].0.lock().expect("nobody panics"));
        std::fs::write(&path, &journal).expect("room on the disk");
        let entries = std::mem::take(&mut *world.ledgers[0].lock().expect("nobody panics"));
        let ledger = Ledger::replay(header(0), entries).expect("its own ledger");
        let (megabytes, settings) = (journal.len() as f64 / 1e6, world.settings.clone());
        drop((world, journal));
        let mut agent = agents(0);
        agent.take_ledger(ledger);
        let (before, begun) = (resident("VmRSS:"), Instant::now());
        // The most memory is counted from here on.
        let _ = std::fs::write("/proc/self/clear_refs", "5");
        let node = start(&path, agent, settings);
        let seconds = begun.elapsed().as_secs_f64();
        let memory = resident("VmHWM:") - before;
        println!("| {rounds} | {megabytes:.1} | {seconds:.2} | {memory:.0} |");
        drop(node);
    }
}

fn start(
    path: &Path,
    mut agent: dzoa::agent::Agent,
    settings: dzoa_node::node::NodeSettings,
) -> Node {
    let file = JournalFile::open(path).expect("its own journal");
    let opened = Journal::open(Box::new(file), || Ok(first(0))).expect("a whole journal");
    let RootPlace::Here(root) = opened.first.root else { unreachable!("vectors are exchanged") };
    agent.stand_in_for(dzoa::prelude::Streams::from_key(root, false));
    Node::new(agent, opened, settings, Box::new(|_| Ok(())), Duration::ZERO).expect("it goes on")
}

/// A line of this process' status, in MB.
fn resident(what: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(what)).unwrap_or_default();
    let kib: f64 = line.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0.0);
    kib * 1024.0 / 1e6
}
