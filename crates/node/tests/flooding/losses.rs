//! Agents that are gone for good, and the others, which go on without them.

use crate::faults::{kill, seconds};
use crate::world::star;
use crate::world::{LIMIT, PATIENCE, Protected, ROUNDS, World, complete, names, paper, path, spec};
use dzoa::Status;
use dzoa::prelude::Graph;
use dzoa::privacy::{Budget, Ledger};
use dzoa_node::node::{End, OnLoss, Peer, Running};
use dzoa_node::transport::Faults;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::collections::BTreeMap;
use std::time::Duration;

const BUDGET: Budget = Budget { epsilon: 4.0, delta: 1e-5 };

fn world(graph: Graph, protected: Protected, faults: Faults, seed: u64) -> World {
    let mut world = World::new(graph, spec("joint-gradient", protected), faults, seed);
    world.on_loss = OnLoss::Continue;
    world.budget = Some(BUDGET);
    world
}

/// Whether an agent waits for a neighbour that it has never met, and that is gone; and others for
/// that agent.
fn waits_for_nobody(world: &World) -> bool {
    let gone = |peer: &Peer| !peer.met && peer.has == 0 && world.nodes[peer.index].is_none();
    world.nodes.iter().flatten().any(|node| node.peers().iter().any(gone))
}

/// Runs until everybody but the lost has ended, and agents that are due have come back.
fn go_on(world: &mut World, lost: &[usize], back: &mut BTreeMap<usize, Duration>) {
    let open = |world: &World, k: usize| world.ends[k].is_none() && !lost.contains(&k);
    while (0..world.ends.len()).any(|k| open(world, k)) || !back.is_empty() {
        if back.is_empty() && world.network.now() > LIMIT / 2 && waits_for_nobody(world) {
            break;
        }
        assert!(world.network.now() < LIMIT, "still running: {:?}", world.ends);
        let next = back.iter().map(|(k, at)| (*at, *k)).min();
        let due = next.filter(|(at, _)| *at <= world.network.now());
        if let Some((_, k)) = due.or(next.filter(|_| world.nodes.iter().all(Option::is_none))) {
            back.remove(&k);
            world.start(k).unwrap();
            world.step(k);
        } else {
            match world.event() {
                Some(k) => world.step(k),
                None => assert!(!back.is_empty(), "nobody has anything to do: {:?}", world.ends),
            }
        }
    }
}

/// Nothing was released under two values, nothing without its charge, and nothing beyond the
/// budget.
fn assert_accounted(world: &World, lost: &[usize], case: &str) {
    let parts = world.parts();
    for (k, name) in world.graph.names().iter().enumerate() {
        let own: Vec<_> = parts.iter().filter(|((whose, _), _)| whose == name).collect();
        assert!(own.iter().all(|(_, words)| words.len() == 1), "{case}: {name} said two values");
        let charges = world.charges(k).len();
        let masked = world.spec.mechanism.name() == "joint";
        // A process that was ended between its charge and its word may owe that one.
        let owed = charges - if masked { own.len() } else { charges };
        assert!(owed == 0 || (owed == 1 && lost.contains(&k)), "{case}: {name} owes {owed}");
        let entries = world.ledgers[k].lock().unwrap().clone();
        let spent = Ledger::replay(world.header(k), entries).unwrap().epsilon(BUDGET.delta);
        assert!(!masked || spent <= BUDGET.epsilon, "{case}: {name} spent {spent}");
    }
    world.assert_said_once(case);
}

/// All that finished have the same bits; who did not says why.
fn finished(world: &World, case: &str) -> Vec<usize> {
    let mut bits = None;
    let mut finished = Vec::new();
    for (k, end) in world.ends.iter().enumerate() {
        let Some((end, own)) = end else { continue };
        if *end == End::Agent(Status::Finished) {
            assert_eq!(*bits.get_or_insert(own), own, "{case}: agent {k}");
            finished.push(k);
        } else {
            assert_ne!(end.word(), "disagreed", "{case}: {end}");
        }
    }
    finished
}

#[derive(Debug, Default)]
struct Tally {
    schedules: usize,
    /// All that were left finished without the lost ones.
    redone: usize,
    /// All finished, with everybody.
    unharmed: usize,
    ends: BTreeMap<&'static str, usize>,
}

#[test]
fn those_that_are_left_end_alike_whenever_others_are_lost() {
    let mut tally = Tally::default();
    let ways = [Protected::Nothing, Protected::Alone, Protected::Masks(1), Protected::Masks(2)];
    for seed in 0..400u64 {
        let mut rng = StdRng::seed_from_u64(seed);
        let graph = [paper(), complete(5), star(5), path(5), paper()][(seed % 5) as usize].clone();
        let protected = ways[(seed / 5 % 4) as usize];
        let faults =
            Faults { loss: 0.1, duplication: 0.1, delay: seconds(0.2), ..Faults::default() };
        let mut world = world(graph, protected, faults, seed);
        let victims: Vec<usize> = match rng.random_range(0..4) {
            0 => vec![rng.random_range(0..2), rng.random_range(2..5)],
            _ => vec![rng.random_range(0..5)],
        };
        world.start_all();
        (0..5).for_each(|k| world.step(k));
        for _ in 0..rng.random_range(0..700) {
            if world.ends.iter().any(Option::is_some) {
                break;
            }
            let k = world.event().unwrap();
            world.step(k);
        }
        let mut back = BTreeMap::new();
        let mut lost = victims.clone();
        for &k in &victims {
            kill(&mut world, k, &mut rng);
        }
        // Some come back: in time, or too late. Others are only restarted.
        if rng.random_bool(0.3) {
            let after = world.network.now() + PATIENCE.mul_f64(rng.random_range(0.0..3.0));
            lost.retain(|k| *k != victims[0]);
            if world.ends[victims[0]].is_none() {
                back.insert(victims[0], after);
            }
        }
        let other = rng.random_range(0..5);
        if rng.random_bool(0.3) && !victims.contains(&other) && world.ends[other].is_none() {
            kill(&mut world, other, &mut rng);
            let after = world.network.now() + PATIENCE.mul_f64(rng.random_range(0.0..0.9));
            back.insert(other, after);
        }
        go_on(&mut world, &lost, &mut back);
        let case = format!("schedule {seed}, {protected:?}, lost {lost:?}");
        let done = finished(&world, &case);
        assert_accounted(&world, &victims, &case);
        tally.schedules += 1;
        tally.redone +=
            usize::from(!done.is_empty() && done.len() == 5 - lost.len() && done.len() < 5);
        tally.unharmed += usize::from(done.len() == 5);
        for (end, _) in world.ends.iter().flatten() {
            *tally.ends.entry(end.word()).or_default() += 1;
        }
    }
    println!("{tally:?}");
    assert!(tally.redone > 100 && tally.unharmed > 20, "{tally:?}");
}

/// Ends agents for good once the first of them has said its part of this sum.
fn lose(world: &mut World, gone: &[usize], rounds: u64) {
    world.start_all();
    (0..world.ends.len()).for_each(|k| world.step(k));
    while (world.charges(gone[0]).len() as u64) < rounds {
        let k = world.event().unwrap();
        world.step(k);
    }
    gone.iter().for_each(|&k| world.nodes[k] = None);
    go_on(world, gone, &mut BTreeMap::new());
}

#[test]
fn four_of_five_finish_and_say_who_is_missing_and_when_it_went() {
    for protected in [Protected::Alone, Protected::Masks(2)] {
        let mut world = world(paper(), protected, Faults::default(), 3);
        lose(&mut world, &[2], 1);
        let case = format!("{protected:?}");
        assert_eq!(finished(&world, &case), [0, 1, 3, 4], "{case}: {:?}", world.ends);
        // The sum that was given up was charged as well.
        for k in [0, 1, 3, 4] {
            let rounds: Vec<u64> = world.charges(k).iter().map(|charge| charge.round).collect();
            assert_eq!(rounds.len() as u64, ROUNDS + 1, "{rounds:?}");
        }
        // After the end: its journal says who is missing.
        world.ends[0] = None;
        world.start(0).unwrap();
        let without: Vec<String> =
            world.nodes[0].as_ref().unwrap().left().into_iter().map(|(k, _)| k.into()).collect();
        assert_eq!(without, [names(5)[2].clone()]);
        assert_accounted(&world, &[2], &case);
    }
}

#[test]
fn who_comes_back_too_late_is_told_so() {
    let mut world = world(paper(), Protected::Masks(1), Faults::default(), 3);
    world.start_all();
    (0..5).for_each(|k| world.step(k));
    while world.charges(2).is_empty() {
        let k = world.event().unwrap();
        world.step(k);
    }
    world.nodes[2] = None;
    let went_on = |world: &World| world.nodes.iter().flatten().any(|node| !node.left().is_empty());
    while !went_on(&world) {
        let k = world.event().unwrap();
        world.step(k);
    }
    world.start(2).unwrap();
    go_on(&mut world, &[], &mut BTreeMap::new());
    assert_eq!(finished(&world, "back"), [0, 1, 3, 4], "{:?}", world.ends);
    let (end, _) = world.ends[2].as_ref().unwrap();
    assert!(matches!(end, End::LeftBehind { .. }), "{end}");
    assert_accounted(&world, &[2], "back");
}

#[test]
fn a_loss_in_the_last_sum_ends_with_the_model_before_it_and_within_the_budget() {
    let mut world = world(complete(5), Protected::Masks(1), Faults::default(), 3);
    lose(&mut world, &[4], ROUNDS - 1);
    let ends: Vec<_> = world.ends.iter().flatten().collect();
    assert_eq!(ends.len(), 4);
    for (end, bits) in &ends {
        assert_eq!(end.word(), "budget-exhausted", "{end}");
        assert_eq!(*bits, ends[0].1);
    }
    assert_accounted(&world, &[4], "the last sum");
}

#[test]
fn as_many_as_may_collude_do_not_go_on() {
    let mut world = world(complete(5), Protected::Masks(3), Faults::default(), 3);
    lose(&mut world, &[0, 1], 1);
    for (end, _) in world.ends.iter().flatten() {
        assert!(matches!(end, End::TooFewLeft { .. }), "{end}");
    }
    assert_accounted(&world, &[0, 1], "three left of which three may collude");
}

/// Three liars could be in both of two groups of four among five, and lead them to two models.
#[test]
fn more_than_half_of_all_and_of_those_that_may_collude_must_be_left() {
    for (colluders, goes_on) in [(1, true), (2, true), (3, false)] {
        let protected = Protected::Masks(colluders);
        let mut world = world(complete(5), protected, Faults::default(), 3);
        lose(&mut world, &[0], 1);
        for (end, _) in world.ends.iter().flatten() {
            let few = matches!(end, End::TooFewLeft { .. });
            assert_eq!(few, !goes_on, "{colluders}: {end}");
        }
        assert_accounted(&world, &[0], "one is gone");
    }
}

/// Two halves would go on with two models.
#[test]
fn half_of_a_network_does_not_go_on() {
    for (graph, gone) in [(complete(4), vec![0, 1]), (path(5), vec![2]), (path(2), vec![1])] {
        let mut world = world(graph, Protected::Alone, Faults::default(), 3);
        lose(&mut world, &gone, 1);
        for (end, _) in world.ends.iter().flatten() {
            assert!(matches!(end, End::TooFewLeft { .. }), "{end}");
        }
        assert_accounted(&world, &gone, "half");
    }
}
