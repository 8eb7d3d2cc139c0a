//! Bad faults, crashes and damaged journals change nothing but the time a run takes.

mod common;

use common::{K, ROUNDS, World, all_agents, event, expected};
use dzoa::Status;
use dzoa::agent::Average;
use dzoa_node::node::{End, Node};
use dzoa_node::transport::{Faults, Outage, Transport};
use dzoa_node::wire::{Frame, Received};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::time::Duration;

/// A schedule that has not ended by then hangs.
const LIMIT: Duration = Duration::from_secs(3600);

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

fn storm(rng: &mut StdRng) -> Faults {
    let outages = (0..rng.random_range(0..4))
        .map(|_| {
            let from = rng.random_range(0.0..5.0);
            let until = Some(seconds(from + rng.random_range(0.1..20.0)));
            let side = (0..K).filter(|_| rng.random_bool(0.5)).collect();
            Outage { from: seconds(from), until, side }
        })
        .collect();
    Faults { loss: 0.2, duplication: 0.2, delay: seconds(0.4), outages }
}

#[test]
fn a_thousand_schedules_with_loss_duplication_reordering_and_outages_end_with_the_same_bits() {
    let expected = expected();
    let mut lost_anything = false;
    for seed in 0..1000 {
        let faults = storm(&mut StdRng::seed_from_u64(seed));
        let mut world = World::new(faults, seed);
        world.start_all();
        world.run(LIMIT);
        for (k, end) in world.ends.iter().enumerate() {
            let (end, bits) = end.as_ref().unwrap();
            assert_eq!(*end, End::Agent(Status::Finished), "schedule {seed}, agent {k}");
            assert_eq!(*bits, expected[k], "schedule {seed}, agent {k}");
            assert_eq!(world.charges(k).len() as u64, ROUNDS);
        }
        lost_anything |= world.vectors().len() < world.network.record().len();
    }
    assert!(lost_anything, "the faults was fine");
}

#[test]
fn a_partition_that_never_heals_ends_with_a_status() {
    let mut stopped = 0;
    for seed in 0..50 {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut faults = storm(&mut rng);
        let from = seconds(rng.random_range(0.0..2.0));
        let side = vec![rng.random_range(0..K)];
        faults.outages.push(Outage { from, until: None, side: side.clone() });
        let mut world = World::new(faults, seed);
        world.start_all();
        (0..K).for_each(|k| world.step(k));
        while world.ends.iter().any(Option::is_none) && world.network.now() < seconds(300.0) {
            let k = world.event().unwrap();
            world.step(k);
        }
        let waits = |node: &Node| node.peers().iter().any(|peer| !peer.met);
        let waiting = world.nodes.iter().flatten().any(waits);
        for k in 0..K {
            match &world.ends[k] {
                Some((End::NeighbourLost { .. } | End::NeighbourLeft { .. }, _)) => {}
                // Who was never there is waited for, however long that takes.
                None if waiting => {}
                end => panic!("schedule {seed}, agent {k}: {end:?}"),
            }
        }
        let lost = world.ends.iter().flatten().count();
        stopped += lost;
    }
    assert!(stopped > 100, "{stopped} agents lost somebody that they had met");
}

/// Agents are started in any order, and hours apart; and after a loss they are started again.
#[test]
fn who_was_never_there_is_waited_for_and_who_was_lost_is_met_again() {
    let mut world = World::new(Faults { delay: seconds(0.1), ..Faults::default() }, 1);
    (0..K - 1).for_each(|k| world.start(k).unwrap());
    (0..K - 1).for_each(|k| world.step(k));
    let until = |world: &mut World, end: f64| {
        while world.network.now() < seconds(end)
            && let Some(k) = world.event()
        {
            world.step(k);
        }
    };
    until(&mut world, 7200.0);
    assert!(world.ends.iter().all(Option::is_none), "two hours, where a minute is the patience");
    world.start(K - 1).unwrap();
    world.step(K - 1);
    while world.charges(0).len() < 2 {
        let k = world.event().unwrap();
        world.step(k);
    }
    world.nodes[2] = None;
    until(&mut world, 14_400.0);
    for k in (0..K).filter(|k| *k != 2) {
        let (end, _) = world.ends[k].take().unwrap();
        assert!(matches!(end, End::NeighbourLost { .. } | End::NeighbourLeft { .. }), "{end}");
    }
    world.start_all();
    world.run(seconds(20_000.0));
    for (k, end) in world.ends.iter().enumerate() {
        let (end, bits) = end.as_ref().unwrap();
        assert_eq!((end, bits), (&End::Agent(Status::Finished), &expected()[k]));
        assert_eq!(world.charges(k).len() as u64, ROUNDS);
    }
    // Once more, when all others are gone: it has nothing to wait for.
    world.ends[0] = None;
    let begun = world.network.now();
    world.start(0).unwrap();
    world.step(0);
    until(&mut world, 30_000.0);
    let stayed = world.network.now() - begun;
    assert!(world.ends[0].is_some() && stayed < world.settings.linger / 5, "{stayed:?}");
}

/// 0.2 s one way on average: what was just sent is on its way, and not lost.
#[test]
fn on_a_slow_line_next_to_nothing_is_said_twice() {
    let mut world = World::new(Faults { delay: seconds(0.4), ..Faults::default() }, 1);
    world.make = Box::new(|k| all_agents(60, Average::None, event()).swap_remove(k));
    world.start_all();
    world.run(LIMIT);
    let vectors = world.network.record().into_iter().filter(|(_, _, frame)| {
        let frame = Frame::decode(frame, usize::MAX).unwrap();
        matches!(frame.body, Received::Vector { .. })
    });
    // Sixty rounds over six edges, in both directions.
    let (sent, needed) = (vectors.count(), 60 * 12);
    assert!(sent < needed * 3 / 2, "{sent} vectors where {needed} are needed");
}

#[test]
fn agents_killed_at_any_moment_send_the_same_vectors_and_charge_once() {
    let expected = expected();
    let mut kills = 0;
    for seed in 0..200 {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut world = World::new(storm(&mut rng), seed);
        let mut restart = [None; K];
        world.start_all();
        (0..K).for_each(|k| world.step(k));
        while world.ends.iter().any(Option::is_none) {
            assert!(world.network.now() < LIMIT);
            if rng.random_bool(0.02) {
                let k = rng.random_range(0..K);
                if let Some(mut node) = world.nodes[k].take() {
                    kills += 1;
                    // Sometimes after it has computed and persisted, before anything has left, and
                    // sometimes right after that.
                    if rng.random_bool(0.5) {
                        let now = world.network.now();
                        node.work(|| now).unwrap();
                        let sent = node.outgoing();
                        if rng.random_bool(0.5) {
                            let mut endpoint = world.network.endpoint(k);
                            sent.into_iter().for_each(|(to, f)| endpoint.send(to, f).unwrap());
                        }
                    }
                    restart[k] = Some(world.network.now() + seconds(rng.random_range(0.0..3.0)));
                }
            }
            for k in 0..K {
                let due = restart[k].is_some_and(|at| at <= world.network.now());
                if due || (restart[k].is_some() && world.nodes.iter().all(Option::is_none)) {
                    restart[k] = None;
                    world.start(k).unwrap();
                    world.step(k);
                }
            }
            match world.event() {
                Some(k) => world.step(k),
                None => world.network.advance(world.network.now() + seconds(1.0)),
            }
        }
        world.vectors();
        for (k, end) in world.ends.iter().enumerate() {
            let (end, bits) = end.as_ref().unwrap();
            assert_eq!(*end, End::Agent(Status::Finished), "schedule {seed}, agent {k}");
            assert_eq!(*bits, expected[k], "schedule {seed}, agent {k}");
            assert_eq!(world.charges(k).len() as u64, ROUNDS);
        }
    }
    assert!(kills > 1000, "only {kills} kills");
}

/// Where the records of a journal end.
fn ends_of_records(bytes: &[u8]) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        at += 8 + u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        ends.push(at);
    }
    ends
}

#[test]
fn a_journal_cut_at_any_byte_of_its_last_record_gives_the_same_vectors_and_charges() {
    let expected = expected();
    for records in [1, 2, 4, 9, 12] {
        // Run until the first agent has so many records, then the power fails.
        let mut world = World::new(Faults::default(), 1);
        world.start_all();
        (0..K).for_each(|k| world.step(k));
        let length = loop {
            let ends = ends_of_records(&world.journals[0].0.lock().unwrap());
            if ends.len() >= records {
                break ends[records - 1];
            }
            match world.event() {
                Some(k) => world.step(k),
                None => break *ends.last().unwrap(),
            }
        };
        let journals: Vec<Vec<u8>> =
            world.journals.iter().map(|journal| journal.0.lock().unwrap().clone()).collect();
        let ends = ends_of_records(&journals[0][..length]);
        let before = if ends.len() > 1 { ends[ends.len() - 2] } else { 0 };
        let ledgers: Vec<_> =
            world.ledgers.iter().map(|ledger| ledger.lock().unwrap().clone()).collect();
        let sent = world.vectors();
        for cut in before..=length {
            let mut again = World::new(Faults::default(), 2);
            for k in 0..K {
                *again.journals[k].0.lock().unwrap() = journals[k].clone();
                *again.ledgers[k].lock().unwrap() = ledgers[k].clone();
            }
            again.journals[0].0.lock().unwrap().truncate(cut);
            again.start_all();
            again.run(LIMIT);
            for (key, values) in again.vectors() {
                if let Some(known) = sent.get(&key) {
                    assert_eq!(*known, values, "cut at {cut}: {key:?} was sent with other values");
                }
            }
            for k in 0..K {
                let (end, bits) = again.ends[k].as_ref().unwrap();
                assert_eq!(*end, End::Agent(Status::Finished), "cut at {cut}");
                assert_eq!(*bits, expected[k], "cut at {cut}");
                assert_eq!(again.charges(k).len() as u64, ROUNDS);
            }
        }
    }
}

#[test]
fn a_journal_damaged_before_its_end_is_refused() {
    let mut world = World::new(Faults::default(), 1);
    world.start_all();
    world.run(LIMIT);
    let whole = world.journals[0].0.lock().unwrap().clone();
    let ends = ends_of_records(&whole);
    let last = ends[ends.len() - 2];
    for position in (0..last).step_by(7) {
        let mut damaged = whole.clone();
        damaged[position] ^= 0x40;
        *world.journals[0].0.lock().unwrap() = damaged;
        let error = world.start(0).expect_err("a damaged journal");
        assert!(error.to_string().contains("damaged at byte"), "{position}: {error}");
    }
}
