//! Ten thousand agents in one process: the only test of its program, so that its memory is theirs.

use dzoa::network::Topology;
use dzoa::plan::{Algorithm, Auto, Data, Keys, Mechanism, Plan, RunSpec};
use dzoa::prelude::*;
use dzoa::privacy::{Colluders, Event, LedgerRecord};
use dzoa::problem::Synthetic;
use dzoa::streams::Purpose;
use dzoa::tuning::Setting;
use std::sync::Arc;
use std::time::Instant;

const AGENTS: usize = 10_000;
const COLLUDERS: u32 = 9;
const SUMS: u64 = 10;
/// The goal, in MB.
const MOST_MEMORY: f64 = 1500.0;

fn problem() -> Problem {
    let data = Synthetic { agents: AGENTS, samples: 20, features: 10, ..Synthetic::default() };
    let mut rng = Streams::from_seed(1).rng(Purpose::Data, "data", 0);
    let agents = data.draw(Logistic.targets(), &mut rng);
    Problem {
        loss: Arc::new(Logistic),
        regularizer: Regularizer::L1,
        eta: 0.02,
        scale: Scale::Mean,
        intercept: false,
        agents: agents.into_iter().map(Arc::new).collect(),
    }
}

/// The most memory that this process ever had, in MB; nothing where there is no /proc.
fn peak() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024.0 / 1e6)
}

#[test]
fn ten_thousand_agents_take_masked_sums_in_less_than_a_gigabyte_and_a_half() {
    let names = (0..AGENTS).map(|k| format!("a{k}")).collect();
    let mut rng = Streams::from_seed(0).rng(Purpose::Layout, "", 0);
    let graph = Graph::generate(Topology::Ring, names, &mut rng).unwrap();
    let keys = Keys {
        total_epsilon: Some(2.0),
        delta: Some(1e-5),
        colluders: Some(Colluders::AtMost(COLLUDERS)),
        ..Keys::default()
    };
    let algorithm = Algorithm::named("joint-gradient", &Setting::default()).unwrap();
    let mechanism = Mechanism::from_keys("joint", &keys).unwrap();
    let spec = RunSpec { rounds: Auto::Given(SUMS), ..RunSpec::new(algorithm, mechanism) };
    let begun = Instant::now();
    let plan = Plan::new(&spec, &Data::Rows(problem()), &graph).unwrap();
    println!("planned after {:.1} s, {:?} MB", begun.elapsed().as_secs_f64(), peak());
    let mut simulation = plan.simulation(Vec::new(), &Streams::from_seed(6)).unwrap();
    println!("keys exchanged after {:.1} s, {:?} MB", begun.elapsed().as_secs_f64(), peak());
    assert_eq!(simulation.run(&mut ()), Status::Finished);
    println!("{SUMS} sums after {:.1} s, {:?} MB", begun.elapsed().as_secs_f64(), peak());
    for k in [0, AGENTS / 2, AGENTS - 1] {
        let charges =
            simulation.ledger(k).entries().iter().filter_map(|entry| match &entry.record {
                LedgerRecord::Charge(charge) => Some(charge.event),
                _ => None,
            });
        let masked = |event: Event| match event {
            Event::JointSum { agents, colluders, .. } => {
                (agents as usize, colluders) == (AGENTS, COLLUDERS)
            }
            _ => false,
        };
        assert_eq!(charges.filter(|event| masked(*event)).count() as u64, SUMS);
    }
    if let Some(peak) = peak() {
        assert!(peak < MOST_MEMORY, "{peak} MB");
    }
}
