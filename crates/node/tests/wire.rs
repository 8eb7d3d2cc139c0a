//! The decoder survives anything, and what it accepts is what was sent.

mod common;

use common::{K, P, World, empty_journal, released, said, settings};
use dzoa::privacy::Seen;
use dzoa_node::journal::{JournalError, JournalRecord};
use dzoa_node::transport::Faults;
use dzoa_node::wire::{Body, DecodeError, Frame, Received, longest};
use proptest::prelude::*;
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};
use std::time::Duration;

fn frame(body: Body) -> Frame {
    let (from, to) = ("b".into(), "a".into());
    let ledger = Seen { ledger: [2; 16].into(), entries: 0, head: [0; 32].into() };
    Frame {
        network: [7; 32],
        program: "test".into(),
        from,
        to,
        round: 1,
        needs: 1,
        has: 0,
        session: 99,
        number: 1,
        // The first process of a world: agent 0.
        echo: 1,
        ledger,
        yours: None,
        body,
    }
}

/// 100,000 here; the benches try ten million.
#[test]
fn arbitrary_bytes_are_refused_without_a_panic() {
    let mut rng = StdRng::seed_from_u64(1);
    let honest = frame(said(1, vec![1.0; P])).encode();
    let mut accepted = 0;
    for case in 0..100_000 {
        let mut bytes = vec![0; rng.random_range(0..300)];
        rng.fill_bytes(&mut bytes);
        if case % 2 == 1 {
            // Nearly right: damaged content under a checksum that is right.
            bytes = honest[..honest.len() - 4].to_vec();
            for _ in 0..rng.random_range(1..8) {
                let at = rng.random_range(5..bytes.len());
                bytes[at] = rng.random();
            }
            bytes.truncate(rng.random_range(5..=bytes.len()));
            bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        }
        accepted += u32::from(Frame::decode(&bytes, longest(P)).is_ok());
    }
    // Some damage leaves a frame that can be read, with other numbers in it.
    assert!(accepted > 0 && accepted < 50_000);
}

#[test]
fn a_frame_longer_than_any_honest_one_is_refused_unread() {
    let bytes = vec![0; 64 << 20];
    let limit = longest(P);
    let error = DecodeError::TooLong { got: 64 << 20, limit };
    assert_eq!(Frame::decode(&bytes, limit), Err(error));
}

#[test]
fn the_longest_honest_frame_fits() {
    let mut bye = frame(Body::bye(&"ä".repeat(10_000)));
    bye.from = "n".repeat(64);
    assert!(bye.encode().len() <= longest(0));
    let mut vector = frame(said(u64::MAX, vec![1.0; 10_000]));
    vector.to = "n".repeat(64);
    assert!(vector.encode().len() <= longest(10_000));
}

#[test]
fn a_release_is_certified_only_with_the_record_that_holds_it() {
    let mut journal = empty_journal();
    let before = journal.bytes();
    let (envelope, record) = released(1, vec![1.0; P]);
    let (other, _) = released(1, vec![2.0; P]);
    let nothing = JournalRecord::Round { inputs: vec![], past: None, seen: vec![] };
    for (record, envelope) in [
        (&record, other),
        (&nothing, envelope.clone()),
        (&JournalRecord::Left { neighbour: 0, round: 1 }, envelope.clone()),
    ] {
        let refused = journal.commit(record, envelope);
        assert!(matches!(refused, Err(JournalError::NotRecorded { round: 1 })));
    }
    assert_eq!(journal.bytes(), before, "nothing was written for what was refused");
    assert_eq!(journal.commit(&record, envelope).unwrap().round, 1);
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(
        values in prop::collection::vec(any::<f64>(), 0..20),
        round in any::<u64>(),
    ) {
        let sent = frame(said(round, values.clone()));
        let received = Frame::decode(&sent.encode(), longest(20)).unwrap().body;
        let Received::Vector { values: got, .. } = received else { panic!() };
        let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        prop_assert_eq!(bits(&got), bits(&values));
    }
}

/// A network in which agent 0 is told something by agent 1, and what it refuses.
fn refused(bytes: &[u8]) -> Vec<String> {
    let mut world = World::new(Faults::default(), 1);
    world.start_all();
    let node = world.nodes[0].as_mut().unwrap();
    node.work(|| Duration::ZERO).unwrap();
    node.receive(1, bytes, Duration::ZERO);
    node.take_refusals()
        .into_iter()
        .map(|refusal| format!("{}: {}", refusal.from, refusal.what))
        .collect()
}

#[test]
fn what_an_honest_neighbour_would_not_send_is_refused_and_names_both_sides() {
    let vector = |round, values: Vec<f64>| frame(said(round, values));
    let says = |frame: Frame, expected: &[&str]| {
        let refused = refused(&frame.encode());
        assert_eq!(refused.len(), 1, "{refused:?}");
        for words in expected {
            assert!(refused[0].starts_with("b: ") && refused[0].contains(words), "{refused:?}");
        }
    };
    says(Frame { network: [8; 32], ..frame(Body::note()) }, &["digest 0808", "ours 0707"]);
    says(Frame { program: "9.9.9".into(), ..frame(Body::note()) }, &["version 9.9.9", "we test"]);
    says(Frame { from: "c".into(), ..frame(Body::note()) }, &["link from b to a", "says from c"]);
    says(Frame { to: "d".into(), ..frame(Body::note()) }, &["says from b to d"]);
    says(vector(1, vec![1.0; P + 1]), &["sent 4 values in round 1, expected 3"]);
    says(vector(1, vec![f64::NAN; P]), &["not finite in round 1"]);
    says(vector(1, vec![f64::INFINITY; P]), &["not finite in round 1"]);
    says(vector(1, vec![1e101; P]), &["norm 1.7"]);
    says(vector(9, vec![1.0; P]), &["round 9 while this agent is in round 1"]);
    assert_eq!(refused(b"nonsense").len(), 1);
    assert_eq!(refused(&vec![0; 64 << 20]).len(), 1);
    assert_eq!(refused(&frame(Body::note()).encode()), Vec::<String>::new());
}

#[test]
fn two_vectors_for_one_round_are_kept_as_evidence() {
    let mut world = World::new(Faults::default(), 1);
    world.start_all();
    let node = world.nodes[0].as_mut().unwrap();
    node.work(|| Duration::ZERO).unwrap();
    let first = frame(said(1, vec![1.0; P])).encode();
    let second = frame(said(1, vec![2.0; P])).encode();
    node.receive(1, &first, Duration::ZERO);
    node.receive(1, &second, Duration::ZERO);
    let refusals = node.take_refusals();
    assert_eq!(refusals.len(), 1);
    assert!(refusals[0].what.contains("two different vectors for round 1"));
    assert_eq!(refusals[0].frame, second);
}

#[test]
fn replayed_frames_change_nothing() {
    let mut world = World::new(Faults::default(), 1);
    world.start_all();
    world.run(Duration::from_secs(3600));
    let honest: Vec<_> = world.ends.iter().map(|end| end.clone().unwrap().1).collect();
    let record = world.network.record();
    // The same again, with every frame of the first run replayed into the second at every step.
    let mut again = World::new(Faults::default(), 1);
    // Other processes: each has a random number of its own.
    again.sessions = 1000;
    again.start_all();
    (0..K).for_each(|k| again.step(k));
    let mut replay = record.iter().cycle();
    while again.ends.iter().any(Option::is_none) {
        let k = again.event().unwrap();
        for (from, to, frame) in replay.by_ref().take(20) {
            let now = again.network.now();
            // An early Bye or a late round is no news; rounds too far ahead are refused.
            if let Some(node) = &mut again.nodes[*to] {
                node.receive(*from, frame, now);
            }
        }
        again.step(k);
    }
    for (k, end) in again.ends.iter().enumerate() {
        assert_eq!(end.as_ref().unwrap().1, honest[k]);
    }
    assert_eq!(settings().network, [7; 32]);
}
