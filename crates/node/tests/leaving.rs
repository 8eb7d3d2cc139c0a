//! Neighbours that stay away or are late: go on without them, or with what is known of them, to the
//! right optimum.

mod common;

use common::{K, World, agents_with, all_agents, event, graph, problem};
use dzoa::agent::{Average, Terms};
use dzoa::prelude::*;
use dzoa::privacy::Event;
use dzoa_node::node::{End, OnLoss};
use dzoa_node::transport::{Faults, Outage};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(3600);

/// A rho with which a few hundred rounds come near the optimum.
const RHO: f64 = 0.03;

/// Exact ADMM without noise, so that the optimum is reached.
fn plain(rounds: u64) -> impl Fn(usize) -> Agent {
    move |k| agents_with(RHO, rounds, Average::None, Event::Unprotected).swap_remove(k)
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

fn estimate(bits: &[u64]) -> Vec<f64> {
    bits.iter().map(|bits| f64::from_bits(*bits)).collect()
}

#[test]
fn without_a_lost_neighbour_the_others_reach_their_own_optimum() {
    // e (between d and a) goes for ever after a while; the others still form a connected graph.
    let faults = Faults {
        delay: Duration::from_millis(10),
        outages: vec![Outage { from: Duration::from_millis(60), until: None, side: vec![4] }],
        ..Faults::default()
    };
    let mut world = World::new(faults, 1);
    world.settings.on_loss = OnLoss::Continue;
    let neighbourhoods = Arc::new(Mutex::new(Vec::new()));
    let seen = neighbourhoods.clone();
    let problem = problem();
    let rows = problem.clone();
    world.make = Box::new(move |k| {
        let mut agent = plain(400)(k);
        let (seen, rows) = (seen.clone(), rows.clone());
        agent.on_leave(Box::new(move |neighbourhood| {
            seen.lock().unwrap().push(neighbourhood);
            let step = Box::new(Exact::new(rows.risk(k), Some(1e-9)));
            Ok(Terms { events: Arc::from([Event::Unprotected]), step })
        }));
        agent
    });
    world.start_all();
    world.run(LIMIT);
    let lost = world.ends[4].as_ref().unwrap();
    assert!(matches!(lost.0, End::NeighbourLost { .. }), "{lost:?}");
    // The optimum of the four that are left, with the regulariser's share that their agents have:
    // eta/5 each.
    let four = Problem {
        agents: problem.agents[..4].to_vec(),
        eta: problem.eta * 4.0 / K as f64,
        ..problem.clone()
    };
    let optimum = reference::optimum(&four).unwrap().coefficients;
    for k in 0..4 {
        let (end, bits) = world.ends[k].as_ref().unwrap();
        assert_eq!(*end, End::Agent(Status::Finished), "agent {k}");
        let off = distance(&estimate(bits), &optimum);
        assert!(off < 1e-4, "agent {k} is {off:e} from the optimum of those who stayed");
    }
    // a and d had 2 and 3 neighbours and themselves; each has one less.
    let mut seen = neighbourhoods.lock().unwrap().clone();
    seen.retain(|&size| size >= 2);
    seen.sort_unstable();
    assert_eq!(seen, [2, 2, 3], "|N_k| of whoever lost a neighbour: a, e's first loss, d");
    assert_eq!(graph().neighbours(4), [0, 3]);
}

#[test]
fn what_is_released_after_a_neighbour_left_is_charged_with_the_new_sensitivity() {
    let faults = Faults {
        delay: Duration::from_millis(10),
        // After the greeting, and before the vectors of the first round are there.
        outages: vec![Outage { from: Duration::from_millis(15), until: None, side: vec![4] }],
        ..Faults::default()
    };
    let mut world = World::new(faults, 1);
    world.settings.on_loss = OnLoss::Continue;
    let larger = Event::discrete_gaussian(0.02, 0.1, common::P, 1);
    let rows = problem();
    world.make = Box::new(move |k| {
        let mut agent = all_agents(6, Average::LastHalf, event()).swap_remove(k);
        let rows = rows.clone();
        agent.on_leave(Box::new(move |_| {
            let step = Box::new(Exact::new(rows.risk(k), Some(1e-9)));
            Ok(Terms { events: Arc::from([larger]), step })
        }));
        agent
    });
    world.start_all();
    world.run(LIMIT);
    for k in [0, 3] {
        let charges = world.charges(k);
        assert_eq!(charges.len(), 6);
        assert_eq!(charges[0].event, event(), "round 1 was released with the neighbour");
        assert!(charges[1..].iter().all(|charge| charge.event == larger), "{charges:?}");
    }
    assert!(world.charges(1).iter().all(|charge| charge.event == event()), "b lost nobody");
}

#[test]
fn with_a_straggler_partial_rounds_reach_the_same_optimum() {
    // Frames take up to 30 ms, and one agent is away for a second every other second; the others go
    // on after 50 ms, up to ten rounds ahead of it.
    let away = (0..200).map(|i| Outage {
        from: Duration::from_millis(2000 * i + 500),
        until: Some(Duration::from_millis(2000 * i + 1500)),
        side: vec![1],
    });
    let faults =
        Faults { delay: Duration::from_millis(30), outages: away.collect(), ..Faults::default() };
    let mut world = World::new(faults, 1);
    world.settings.round_limit = Some(Duration::from_millis(50));
    world.settings.lag = 10;
    world.make = Box::new(plain(600));
    world.start_all();
    world.run(LIMIT);
    let optimum = reference::optimum(&problem()).unwrap().coefficients;
    let mut lockstep = agents_with(RHO, 600, Average::None, Event::Unprotected);
    simulate(&mut lockstep, &mut ());
    let mut waited = false;
    for k in 0..K {
        let (end, bits) = world.ends[k].as_ref().unwrap();
        assert_eq!(*end, End::Agent(Status::Finished), "agent {k}");
        let off = distance(&estimate(bits), &optimum);
        assert!(off < 1e-4, "agent {k} is {off:e} from the optimum");
        waited |= *bits != common::bits(&lockstep[k]);
    }
    assert!(waited, "nobody was ever late: the test shows nothing");
}

#[test]
fn partial_rounds_survive_kills_without_a_second_vector() {
    let faults = Faults { loss: 0.1, delay: Duration::from_millis(200), ..Faults::default() };
    for seed in 0..10 {
        let mut world = World::new(faults.clone(), seed);
        world.settings.round_limit = Some(Duration::from_millis(100));
        world.settings.lag = 5;
        world.make =
            Box::new(|k| all_agents(20, Average::Network { gossip: 4 }, event()).swap_remove(k));
        world.start_all();
        (0..K).for_each(|k| world.step(k));
        let mut steps = 0;
        while world.ends.iter().any(Option::is_none) {
            assert!(world.network.now() < LIMIT);
            steps += 1;
            let k = (steps / 61) % K;
            // Whoever is killed for ever after the others have gone waits for them as often.
            let busy = world.nodes[k].as_ref().is_some_and(|node| node.agent().rounds_done() < 20);
            if steps % 61 == 0 && busy {
                // Computed and persisted, but not sent; then a new life.
                let now = world.network.now();
                let mut node = world.nodes[k].take().unwrap();
                node.work(|| now).unwrap();
                drop(node);
                world.start(k).unwrap();
                world.step(k);
            }
            let k = world.event().unwrap();
            world.step(k);
        }
        world.vectors();
        for k in 0..K {
            let (end, _) = world.ends[k].as_ref().unwrap();
            assert_eq!(*end, End::Agent(Status::Finished), "seed {seed}, agent {k}");
            assert_eq!(world.charges(k).len(), 20, "agent {k}");
        }
    }
}
