//! Baselines whose releases everybody hears: the same nodes with another content.

use crate::faults::{in_the_middle, kill, records, seconds, storm};
use crate::world::{LIMIT, ROUNDS, World, complete, notices, paper, path, star};
use dzoa::joint::{Saying, SumPart};
use dzoa::plan::{Algorithm, Auto, Data, Keys, Mechanism, RunSpec};
use dzoa::prelude::*;
use dzoa::tuning::Setting;
use dzoa_node::journal::Memory;
use dzoa_node::node::{End, NodeError};
use dzoa_node::transport::Faults;
use dzoa_node::wire::Frame;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const FLOODED: [&str; 2] = ["dp-gd", "dp-admm"];

fn spec(algorithm: &str, mechanism: &str) -> RunSpec {
    let keys = match mechanism {
        "none" => Keys::default(),
        _ => Keys { total_epsilon: Some(4.0), delta: Some(1e-5), ..Keys::default() },
    };
    let algorithm = Algorithm::named(algorithm, &Setting::default()).unwrap();
    let mechanism = Mechanism::from_keys(mechanism, &keys).unwrap();
    let (rounds, rho) = (Auto::Given(ROUNDS), Auto::Given(0.3));
    RunSpec { rounds, rho, ..RunSpec::new(algorithm, mechanism) }
}

fn noisy(algorithm: &str, faults: Faults, seed: u64) -> World {
    World::new(paper(), spec(algorithm, "output"), faults, seed)
}

#[test]
fn releases_that_all_hear_end_with_the_bits_of_the_simulation_on_any_graph() {
    for algorithm in FLOODED {
        for mechanism in ["none", "output"] {
            for agents in 2..=6 {
                for graph in [path(agents), star(agents), complete(agents)] {
                    let spec = spec(algorithm, mechanism);
                    let mut world = World::new(graph, spec, Faults::default(), 1);
                    let expected = world.expected();
                    world.start_all();
                    world.run();
                    let case = format!("{algorithm} {mechanism}, {agents} agents");
                    world.assert_finished(&expected, ROUNDS, &case);
                }
            }
        }
    }
}

#[test]
fn agents_killed_at_any_moment_release_the_same_and_charge_once() {
    let mut kills = 0;
    for seed in 0..60 {
        let algorithm = FLOODED[seed as usize % 2];
        let mut rng = StdRng::seed_from_u64(seed);
        let mut world = noisy(algorithm, storm(&mut rng, 5), seed);
        let expected = world.expected();
        let mut restart = [None; 5];
        world.start_all();
        (0..5).for_each(|k| world.step(k));
        while world.ends.iter().any(Option::is_none) {
            assert!(world.network.now() < LIMIT);
            if rng.random_bool(0.02) {
                let k = rng.random_range(0..5);
                kills += u32::from(world.nodes[k].is_some());
                kill(&mut world, k, &mut rng);
                if world.ends[k].is_none() {
                    restart[k] = Some(world.network.now() + seconds(rng.random_range(0.0..3.0)));
                }
            }
            for k in 0..5 {
                let due = restart[k].is_some_and(|at| at <= world.network.now());
                if due || (restart[k].is_some() && world.nodes.iter().all(Option::is_none)) {
                    restart[k] = None;
                    world.start(k).unwrap();
                    world.step(k);
                }
            }
            match world.event() {
                Some(k) => world.step(k),
                None => assert!(restart.iter().any(Option::is_some), "nobody has anything to do"),
            }
        }
        world.assert_finished(&expected, ROUNDS, &format!("{algorithm}, schedule {seed}"));
    }
    assert!(kills > 60, "only {kills} kills");
}

/// Agent 1 is ended after each of its records and begun again, on a journal that may have lost its
/// last bytes: then it computes the round once more, to the same bits and for the same charge.
#[test]
fn a_process_that_ends_after_any_record_or_inside_it_releases_the_same_bits() {
    for algorithm in FLOODED {
        let mut world = World::new(path(3), spec(algorithm, "output"), Faults::default(), 1);
        let expected = world.expected();
        world.start_all();
        (0..3).for_each(|k| world.step(k));
        let (mut seen, mut cut) = (0, 0);
        while world.ends.iter().any(Option::is_none) {
            let k = world.event().unwrap();
            world.step(k);
            let ends = records(&world.journals[1].0.lock().unwrap());
            if ends.len() > seen && world.ends[1].is_none() {
                seen = ends.len();
                world.nodes[1] = None;
                if seen % 2 == 0 && ends.len() > 3 {
                    world.journals[1].0.lock().unwrap().truncate(ends[ends.len() - 1] - 3);
                    cut += 1;
                }
                world.start(1).unwrap();
                world.step(1);
            }
        }
        world.assert_finished(&expected, ROUNDS, algorithm);
        assert!(seen as u64 >= ROUNDS && cut > 1, "{seen} records, {cut} cut");
    }
}

fn after_two_rounds(seed: u64) -> World {
    let faults = Faults { delay: seconds(0.01), ..Faults::default() };
    in_the_middle(noisy(FLOODED[seed as usize % 2], faults, seed))
}

#[test]
fn an_old_journal_or_ledger_of_releases_is_refused() {
    for seed in 0..2 {
        let mut world = after_two_rounds(seed);
        world.nodes[0] = None;
        let bytes = world.journals[0].0.lock().unwrap().clone();
        let older = records(&bytes)[2];
        world.journals[0].0.lock().unwrap().truncate(older);
        let refused = world.start(0);
        assert!(matches!(refused, Err(NodeError::JournalBehind { .. })), "{:?}", refused.err());
        *world.journals[0].0.lock().unwrap() = bytes;
        let first = |entries: &[dzoa::privacy::Entry]| {
            entries.iter().position(|e| format!("{:?}", e.record).starts_with("Charge")).unwrap()
        };
        {
            let mut ledger = world.ledgers[0].lock().unwrap();
            let older = first(&ledger);
            ledger.truncate(older);
        }
        let refused = world.start(0);
        assert!(matches!(refused, Err(NodeError::LedgerBehind { .. })), "{:?}", refused.err());
    }
}

/// Journal and ledger set back together, or a second state directory: the neighbours know better.
#[test]
fn a_machine_that_is_set_back_or_begun_anew_releases_nothing() {
    for anew in [false, true] {
        let mut world = after_two_rounds(u64::from(anew));
        world.nodes[0] = None;
        let charged = world.charges(0).len();
        assert!(charged >= 2);
        if anew {
            world.journals[0] = Memory::default();
            world.keys[0] = Some([5; 32]);
        } else {
            let whole = world.journals[0].0.lock().unwrap().clone();
            world.journals[0].0.lock().unwrap().truncate(records(&whole)[1]);
            world.ledgers[0].lock().unwrap().clear();
        }
        world.start(0).unwrap();
        world.step(0);
        world.go_on();
        let (end, _) = world.ends[0].as_ref().unwrap();
        assert!(matches!(end, End::RolledBack { .. }), "{end:?}");
        assert_eq!(world.charges(0).len(), if anew { charged } else { 0 });
        if !anew {
            world.assert_said_once("set back");
        }
    }
}

/// The others hear of it in the meeting, and nobody is charged.
#[test]
fn an_agent_with_another_plan_ends_the_run_before_anything_is_charged() {
    let mut world = noisy("dp-admm", Faults::default(), 1);
    world.start(0).unwrap();
    let Data::Rows(problem) = &mut world.data else { panic!("there are rows") };
    problem.eta = 0.2;
    (1..5).for_each(|k| world.start(k).unwrap());
    world.run();
    let disagreed = world.ends.iter().flatten();
    let disagreed = disagreed.filter(|(end, _)| matches!(end, End::Disagreed { .. }));
    assert!(disagreed.count() > 0, "{:?}", world.ends);
    assert!(world.ends.iter().flatten().all(|(end, _)| *end != End::Agent(Status::Finished)));
    assert!((0..5).all(|k| world.charges(k).is_empty()));
}

/// What was sent holds the noise: nobody ever sees an agent's answer without it, and with another
/// root the same round has other noise.
#[test]
fn what_is_released_has_noise_of_its_owners_root() {
    let first_parts = |world: &World| {
        let mut parts: Vec<Option<Vec<u64>>> = vec![None; 5];
        for (_, _, frame) in world.network.record() {
            let frame = Frame::decode(&frame, usize::MAX).unwrap();
            for notice in notices(frame.body) {
                if let (2, Saying::Part(SumPart::Plain(values))) = (notice.stage, notice.saying) {
                    let bits = values.iter().map(|value| value.to_bits()).collect();
                    parts[notice.origin] = Some(bits);
                }
            }
        }
        parts.into_iter().flatten().collect::<Vec<_>>()
    };
    let run = |mechanism: &str, key: Option<[u8; 32]>| {
        let mut world = World::new(paper(), spec("dp-gd", mechanism), Faults::default(), 1);
        key.into_iter().for_each(|key| world.keys[3] = Some(key));
        world.start_all();
        world.run();
        first_parts(&world)
    };
    let (plain, noisy, other) =
        (run("none", None), run("output", None), run("output", Some([8; 32])));
    assert_eq!((plain.len(), noisy.len()), (5, 5));
    assert!(plain.iter().zip(&noisy).all(|(plain, noisy)| plain != noisy));
    // Agent 3 is called a, and so is the first among the members.
    assert_ne!(noisy[0], other[0]);
    assert_eq!(noisy[1..], other[1..]);
}
