//! A long journal is read in a time that grows with its length, and so is a damaged one.

mod common;

use common::{World, all_agents, event, first, released};
use dzoa::agent::Average;
use dzoa_node::journal::{Journal, JournalError, Memory};
use dzoa_node::transport::Faults;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::time::{Duration, Instant};

/// An agent with so many rounds behind it. The others are in its journal.
fn behind_it(rounds: u64) -> World {
    let mut world = World::new(Faults::default(), 1);
    world.make = Box::new(move |k| all_agents(rounds, Average::None, event()).swap_remove(k));
    world.start_all();
    world.run(Duration::from_secs(3600));
    world
}

/// The shortest of some restarts: the machine may be busy.
fn restart(world: &mut World) -> Duration {
    let once = |world: &mut World| {
        let begun = Instant::now();
        world.start(0).unwrap();
        begun.elapsed()
    };
    (0..5).map(|_| once(world)).min().unwrap()
}

#[test]
fn a_restart_takes_a_time_that_grows_with_the_rounds_and_not_with_their_square() {
    let (mut short, mut long) = (behind_it(500), behind_it(4000));
    let (short, long) = (restart(&mut short), restart(&mut long));
    // Eight times as many rounds: 64 times as long, were it the square.
    assert!(long < 24 * short, "{short:?} for 500 rounds, {long:?} for 4000");
}

/// Any byte of it may begin a record, and every second number of four bytes is a length that fits:
/// a search that reads each of them to its end takes a quarter of an hour.
#[test]
fn one_flipped_bit_in_front_of_sixteen_megabytes_is_found_quickly() {
    let mut rng = StdRng::seed_from_u64(1);
    let short = |_| f64::from_bits(rng.random::<u64>() & 0x01ff_ffff_01ff_ffff);
    let values: Vec<f64> = (0..2 << 20).map(short).collect();
    let file = Memory::default();
    let mut journal = Journal::open(Box::new(file.clone()), || Ok(first(0))).unwrap().journal;
    let start = journal.bytes() as usize;
    journal.persist(&released(1, values).1).unwrap();
    let last = journal.bytes() as usize;
    journal.persist(&released(2, vec![1.0]).1).unwrap();
    let whole = file.0.lock().unwrap().clone();
    // In the length of the long record, in its checksum, and in what it says.
    for flipped in [start, start + 5, start + 4000] {
        let mut damaged = whole.clone();
        damaged[flipped] ^= 2;
        let begun = Instant::now();
        let refused =
            Journal::open(Box::new(Memory(std::sync::Arc::new(damaged.into()))), || Ok(first(0)));
        let after = whole.len() - last;
        match refused.err() {
            Some(JournalError::Damaged { offset, after: behind }) => {
                assert_eq!((offset, behind), (start, after), "flipped at {flipped}");
            }
            other => panic!("flipped at {flipped}: {other:?}"),
        }
        assert!(begun.elapsed() < Duration::from_secs(100), "{:?}", begun.elapsed());
    }
}
