//! Bad faults, crashes and damaged journals change nothing but the time a run takes.

mod common;

use common::{K, ROUNDS, World, expected};
use dzoa::Status;
use dzoa_node::node::End;
use dzoa_node::transport::{Faults, Outage, Transport};
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
    for seed in 0..50 {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut faults = storm(&mut rng);
        let from = seconds(rng.random_range(0.0..2.0));
        let side = vec![rng.random_range(0..K)];
        faults.outages.push(Outage { from, until: None, side: side.clone() });
        let mut world = World::new(faults, seed);
        world.start_all();
        world.run(LIMIT);
        let lost = world.ends.iter().flatten().filter(|(end, _)| {
            matches!(end, End::NeighbourLost { .. } | End::NeighbourLeft { .. })
        });
        assert_eq!(lost.count(), K, "schedule {seed}: everybody says why it stopped");
    }
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
