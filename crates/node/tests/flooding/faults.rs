//! Bad networks, crashes, and old states.

use crate::world::{LIMIT, PATIENCE, Protected, ROUNDS, World, names, paper, path, spec};
use dzoa_node::joint::JointNode;
use dzoa_node::node::{End, NodeError, Running};
use dzoa_node::transport::{Faults, Outage, Transport};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::time::Duration;

pub fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

pub fn storm(rng: &mut StdRng, agents: usize) -> Faults {
    let outages = (0..rng.random_range(0..4)).map(|_| {
        let from = rng.random_range(0.0..5.0);
        let until = Some(seconds(from + rng.random_range(0.1..20.0)));
        let side = (0..agents).filter(|_| rng.random_bool(0.5)).collect();
        Outage { from: seconds(from), until, side }
    });
    Faults { loss: 0.2, duplication: 0.2, delay: seconds(0.4), outages: outages.collect() }
}

fn masked(faults: Faults, seed: u64) -> World {
    World::new(paper(), spec("joint-gradient", Protected::Masks(2)), faults, seed)
}

#[test]
fn loss_duplication_reordering_and_outages_change_no_bit() {
    let expected = masked(Faults::default(), 0).expected();
    for seed in 0..150 {
        let mut world = masked(storm(&mut StdRng::seed_from_u64(seed), 5), seed);
        world.start_all();
        world.run();
        world.assert_finished(&expected, ROUNDS, &format!("schedule {seed}"));
    }
}

#[test]
fn a_partition_that_never_heals_ends_with_a_sentence() {
    for seed in 0..10 {
        let outages = vec![Outage { from: seconds(1.2), until: None, side: vec![seed % 5] }];
        let faults = Faults { outages, delay: seconds(0.4), ..Faults::default() };
        let mut world = masked(faults, seed as u64);
        world.start_all();
        world.run();
        let lost = world.ends.iter().flatten().filter(|(end, _)| {
            matches!(end, End::NeighbourLost { .. } | End::NeighbourLeft { .. })
        });
        assert_eq!(lost.count(), 5, "everybody says why it stopped");
    }
}

/// Agents are started in any order, and hours apart.
#[test]
fn who_was_never_there_is_waited_for_and_nothing_is_charged() {
    let outages = vec![Outage { from: seconds(0.0), until: None, side: vec![2] }];
    let mut world = masked(Faults { outages, ..Faults::default() }, 1);
    world.start_all();
    (0..5).for_each(|k| world.step(k));
    while world.network.now() < 30 * PATIENCE {
        let k = world.event().unwrap();
        world.step(k);
    }
    assert!(world.ends.iter().all(Option::is_none), "{:?}", world.ends);
    assert!((0..5).all(|k| world.charges(k).is_empty()), "nothing was charged");
}

/// Ends a process: sometimes after it computed and persisted, with or without having sent it.
pub fn kill(world: &mut World, k: usize, rng: &mut StdRng) {
    let Some(mut node) = world.nodes[k].take() else { return };
    if rng.random_bool(0.5) {
        let now = world.network.now();
        node.work(|| now).unwrap();
        let sent = node.outgoing();
        if rng.random_bool(0.5) {
            let mut endpoint = world.network.endpoint(k);
            sent.into_iter().for_each(|(to, frame)| endpoint.send(to, frame).unwrap());
        }
    }
}

#[test]
fn agents_killed_at_any_moment_say_the_same_and_charge_once() {
    let expected = masked(Faults::default(), 0).expected();
    let mut kills = 0;
    for seed in 0..100 {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut world = masked(storm(&mut rng, 5), seed);
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
        world.assert_finished(&expected, ROUNDS, &format!("schedule {seed}"));
    }
    assert!(kills > 100, "only {kills} kills");
}

/// The ends of all records.
pub fn records(bytes: &[u8]) -> Vec<usize> {
    let mut ends = vec![0];
    while let Some(length) = bytes.get(ends[ends.len() - 1]..).and_then(|b| b.first_chunk()) {
        ends.push(ends[ends.len() - 1] + 8 + u32::from_le_bytes(*length) as usize);
    }
    ends
}

/// Runs to the end of a world, with agent 1 ended after each of its records and begun again, on a
/// journal that may have lost its last bytes.
#[test]
fn a_process_that_ends_after_any_record_or_inside_it_goes_on_with_the_same_bits() {
    for protected in [Protected::Nothing, Protected::Masks(1)] {
        let fresh = || World::new(path(3), spec("joint-gradient", protected), Faults::default(), 1);
        let expected = fresh().expected();
        let mut world = fresh();
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
                // Every second time the last record was not finished on disk.
                if seen % 2 == 0 && ends.len() > 3 {
                    world.journals[1].0.lock().unwrap().truncate(ends[ends.len() - 1] - 3);
                    cut += 1;
                }
                world.start(1).unwrap();
                world.step(1);
            }
        }
        world.assert_finished(&expected, ROUNDS, &format!("{protected:?}"));
        assert!(seen as u64 >= ROUNDS && cut > 1, "{seen} records, {cut} cut");
    }
}

/// A world of sums in which agent 0 has sent two parts at least, and everybody has them.
fn two_sums_in(seed: u64) -> World {
    in_the_middle(masked(Faults { delay: seconds(0.01), ..Faults::default() }, seed))
}

/// Goes on until agent 0 has sent two parts at least, and everybody has them.
pub fn in_the_middle(mut world: World) -> World {
    world.start_all();
    (0..5).for_each(|k| world.step(k));
    let done = |world: &World| {
        let rounds = |node: &JointNode| node.rounds_done();
        world.nodes.iter().flatten().map(rounds).min().unwrap_or(0)
    };
    while done(&world) < 2 {
        let k = world.event().unwrap();
        world.step(k);
    }
    world
}

#[test]
fn an_old_journal_is_refused_by_the_ledger() {
    let mut world = two_sums_in(1);
    world.nodes[0] = None;
    let mut bytes = world.journals[0].0.lock().unwrap().clone();
    let ends = records(&bytes);
    bytes.truncate(ends[2]);
    *world.journals[0].0.lock().unwrap() = bytes;
    let refused = world.start(0);
    assert!(matches!(refused, Err(NodeError::JournalBehind { .. })), "{:?}", refused.err());
}

#[test]
fn an_old_ledger_is_refused_by_the_journal() {
    let mut world = two_sums_in(2);
    world.nodes[0] = None;
    let last = world.charges(0).len();
    assert!(last >= 2);
    let mut ledger = world.ledgers[0].lock().unwrap().clone();
    let first = ledger.iter().position(|e| format!("{:?}", e.record).starts_with("Charge"));
    ledger.truncate(first.unwrap());
    *world.ledgers[0].lock().unwrap() = ledger;
    let refused = world.start(0);
    assert!(matches!(refused, Err(NodeError::LedgerBehind { .. })), "{:?}", refused.err());
}

/// The last agent is late: the others have ended, and their roots are erased.
#[test]
fn agents_without_their_roots_answer_with_what_they_said_and_say_nothing_new() {
    for protected in [Protected::Nothing, Protected::Alone, Protected::Masks(1)] {
        let mut world = World::new(
            path(3),
            spec("joint-gradient", protected),
            Faults { delay: seconds(0.01), ..Faults::default() },
            1,
        );
        let expected = world.expected();
        world.start_all();
        // Agent 1 hears everything, and its last word reaches agent 2 only after it was ended.
        (0..3).for_each(|k| world.step(k));
        while world.ends[1].is_none() && world.nodes[1].as_ref().unwrap().rounds_done() < ROUNDS {
            let k = world.event().unwrap();
            world.step(k);
        }
        world.nodes[1] = None;
        // A crash before the last letters were written is not the end of the run.
        world.start(1).unwrap();
        world.step(1);
        let done = world.nodes[1].as_ref().is_some_and(|node| node.agent().is_over());
        assert!(done, "{protected:?}");
        world.nodes[1] = None;
        world.keys[1] = None;
        let charged = world.charges(1).len();
        world.start(1).unwrap();
        world.step(1);
        world.go_on();
        world.assert_finished(&expected, ROUNDS, &format!("{protected:?}"));
        assert_eq!(world.charges(1).len(), charged);
    }
}

#[test]
fn a_root_that_is_missing_before_the_end_is_refused() {
    for kept in [1, 3] {
        let mut world = two_sums_in(1);
        world.nodes[0] = None;
        if kept == 1 {
            // Nothing but the first record, and a ledger without charges.
            let mut bytes = world.journals[0].0.lock().unwrap().clone();
            bytes.truncate(records(&bytes)[1]);
            *world.journals[0].0.lock().unwrap() = bytes;
            world.ledgers[0].lock().unwrap().clear();
        }
        world.keys[0] = None;
        let refused = world.start(0);
        assert!(matches!(refused, Err(NodeError::NoRoot)), "{:?}", refused.err());
    }
}

/// Journal and ledger of one machine set back together: nothing here can tell, but the neighbours.
#[test]
fn a_machine_that_is_set_back_as_a_whole_is_refused_by_its_neighbours() {
    let mut world = two_sums_in(3);
    world.nodes[0] = None;
    let before = world.charges(0).len();
    let mut bytes = world.journals[0].0.lock().unwrap().clone();
    let ends = records(&bytes);
    bytes.truncate(ends[1]);
    *world.journals[0].0.lock().unwrap() = bytes;
    world.ledgers[0].lock().unwrap().clear();
    world.start(0).unwrap();
    world.step(0);
    world.go_on();
    let (end, _) = world.ends[0].as_ref().unwrap();
    assert!(matches!(end, End::RolledBack { .. }), "{end:?}");
    assert!(before >= 2 && world.charges(0).is_empty(), "nothing was charged anew");
    world.assert_said_once("set back");
}

#[test]
fn a_second_state_directory_is_refused_by_its_neighbours() {
    let mut world = two_sums_in(4);
    world.nodes[0] = None;
    let charged = world.charges(0).len();
    world.journals[0] = dzoa_node::journal::Memory::default();
    world.keys[0] = Some([5; 32]);
    world.start(0).unwrap();
    world.step(0);
    world.go_on();
    let (end, _) = world.ends[0].as_ref().unwrap();
    assert!(matches!(end, End::RolledBack { .. }), "{end:?}");
    assert_eq!(world.charges(0).len(), charged, "nothing was charged for it");
}

/// Before the roster is agreed on, a second directory is another key under the same name: the
/// others have the first, and it has the second.
#[test]
fn a_second_state_directory_in_the_meeting_is_found_before_anything_is_charged() {
    let mut world = World::new(
        path(3),
        spec("joint-gradient", Protected::Masks(1)),
        Faults { delay: seconds(0.01), ..Faults::default() },
        1,
    );
    world.start(0).unwrap();
    world.start(1).unwrap();
    (0..2).for_each(|k| world.step(k));
    for _ in 0..20 {
        let k = world.event().unwrap();
        world.step(k);
    }
    world.nodes[0] = None;
    world.journals[0] = dzoa_node::journal::Memory::default();
    world.keys[0] = Some([5; 32]);
    world.start(0).unwrap();
    world.start(2).unwrap();
    world.run();
    let named = format!("{} ", names(3)[0]);
    let blamed = world.ends[..2].iter().flatten().any(|(end, _)| match end {
        End::Disagreed { what } => what.starts_with(&named) || what.contains("roster"),
        _ => false,
    });
    assert!(blamed, "{:?}", world.ends);
    let stopped = |end: &End| matches!(end, End::Disagreed { .. } | End::NeighbourLeft { .. });
    assert!(world.ends.iter().flatten().all(|(end, _)| stopped(end)), "{:?}", world.ends);
    assert!((0..3).all(|k| world.charges(k).is_empty()));
}

/// What incidents led to in all schedules together.
#[derive(Debug, Default)]
struct Seen {
    refused: usize,
    rolled_back: usize,
    disagreed: usize,
    finished: usize,
}

fn incident(world: &mut World, rng: &mut StdRng, seen: &mut Seen) {
    let k = rng.random_range(0..5);
    if world.ends[k].is_some() {
        return;
    }
    kill(world, k, rng);
    let mut bytes = world.journals[k].0.lock().unwrap().clone();
    let ends = records(&bytes);
    match rng.random_range(0..6) {
        // An old journal.
        0 | 1 if ends.len() > 2 => {
            bytes.truncate(ends[rng.random_range(1..ends.len())]);
            *world.journals[k].0.lock().unwrap() = bytes;
        }
        // A second state directory with the same ledger.
        2 => {
            world.journals[k] = dzoa_node::journal::Memory::default();
            world.keys[k] = Some(rng.random());
        }
        _ => {}
    }
    match world.start(k) {
        Ok(()) => world.step(k),
        Err(NodeError::JournalBehind { .. } | NodeError::LedgerBehind { .. }) => {
            world.nodes[k] = None;
            seen.refused += 1;
        }
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn kills_restores_and_second_states_answer_no_sum_twice_and_charge_every_part() {
    let mut seen = Seen::default();
    for seed in 0..300 {
        let mut rng = StdRng::seed_from_u64(seed);
        let faults = Faults {
            loss: 0.1,
            duplication: 0.1,
            delay: Duration::from_millis(200),
            ..Faults::default()
        };
        let mut world = masked(faults, seed);
        world.start_all();
        (0..5).for_each(|k| world.step(k));
        for _ in 0..800 {
            if rng.random_bool(0.01) {
                incident(&mut world, &mut rng, &mut seen);
            }
            match world.event() {
                Some(k) => world.step(k),
                None => break,
            }
        }
        for (end, _) in world.ends.iter().flatten() {
            seen.rolled_back += usize::from(matches!(end, End::RolledBack { .. }));
            seen.disagreed += usize::from(matches!(end, End::Disagreed { .. }));
            seen.finished += usize::from(*end == End::Agent(dzoa::Status::Finished));
        }
        let parts = world.parts();
        for (name, k) in names(5).iter().zip(0..) {
            let own = parts.iter().filter(|((whose, _), _)| whose == name);
            let (mut sums, mut sent) = (0, 0);
            for (_, words) in own {
                assert_eq!(words.len(), 1, "schedule {seed}: {name} answered one sum twice");
                (sums, sent) = (sums + 1, sent + words.len());
            }
            let charges = world.charges(k).len();
            assert!(sent <= charges, "schedule {seed}: {name} sent {sent} of {sums}, {charges}");
        }
    }
    println!("{seen:?}");
    assert!(seen.refused > 20 && seen.rolled_back > 20 && seen.finished > 100, "{seen:?}");
    assert!(seen.disagreed > 5, "{seen:?}");
}
