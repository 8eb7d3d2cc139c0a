//! Letters through somebody who must not be trusted: nothing forged, altered or old is taken.

use dzoa_node::certs::{Authority, CertFiles};
use dzoa_node::transport::{SealError, Sealer, Unsealed};
use proptest::prelude::*;
use std::path::Path;
use time::Duration as Span;

const A: usize = 0;
const B: usize = 1;

/// An authority and certificates of a, b and c.
fn certificates() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let authority = Authority::new("test").unwrap();
    authority.write(dir.path()).unwrap();
    for name in ["a", "b", "c"] {
        authority.issue(name, "127.0.0.1", Span::days(1)).unwrap().write(dir.path()).unwrap();
    }
    dir
}

/// A process of a or b.
fn process(dir: &Path, own: usize) -> Sealer {
    let names = ["a", "b"];
    let other = 1 - own;
    Sealer::new(names[own], &CertFiles::of(dir, names[own]), [(other, names[other])]).unwrap()
}

/// Both greet each other until frames pass both ways.
fn meet(a: &mut Sealer, b: &mut Sealer) {
    let first = a.seal(B, b"lost").unwrap();
    assert_eq!(b.unseal(A, &first), Ok(Unsealed::Greeting { answer: true }));
    let second = b.seal(A, b"").unwrap();
    // b echoes a's challenge already; a learns b's.
    assert_eq!(a.unseal(B, &second), Ok(Unsealed::Greeting { answer: true }));
    let third = a.seal(B, b"").unwrap();
    assert_eq!(b.unseal(A, &third), Ok(Unsealed::Greeting { answer: false }));
    pass(a, b, B, b"to b");
    pass(b, a, A, b"to a");
}

/// One frame, taken as it is. `to` is the reader's position.
fn pass(writer: &mut Sealer, reader: &mut Sealer, to: usize, frame: &[u8]) -> Vec<u8> {
    let letter = writer.seal(to, frame).unwrap();
    assert_eq!(reader.unseal(1 - to, &letter), Ok(Unsealed::Frame(frame.to_vec())));
    letter
}

#[test]
fn two_processes_meet_and_frames_pass_once_each() {
    let dir = certificates();
    let (mut a, mut b) = (process(dir.path(), A), process(dir.path(), B));
    meet(&mut a, &mut b);
    let letter = pass(&mut a, &mut b, B, b"vector");
    assert_eq!(b.unseal(A, &letter), Err(SealError::Old), "sent again");
    // The same letter does not come from b, and not to a.
    assert!(matches!(a.unseal(B, &letter), Err(SealError::Certificate(_))));
    assert_eq!(a.seal(7, b"to nobody"), None);
}

#[test]
fn a_restart_on_either_side_makes_all_older_letters_worthless() {
    let dir = certificates();
    let (mut a, mut b) = (process(dir.path(), A), process(dir.path(), B));
    meet(&mut a, &mut b);
    let old: Vec<Vec<u8>> = (0..5).map(|i| pass(&mut a, &mut b, B, &[i])).collect();
    // b is restarted: it has never seen these, but they do not echo its challenge.
    b = process(dir.path(), B);
    for letter in &old {
        assert!(matches!(b.unseal(A, letter), Ok(Unsealed::Greeting { answer: true })));
    }
    meet(&mut process(dir.path(), A), &mut b);
    // a was restarted, too: letters of its former process are no longer taken.
    for letter in &old {
        assert!(!matches!(b.unseal(A, letter), Ok(Unsealed::Frame(_))));
    }
}

#[test]
fn another_authority_another_name_and_an_expired_certificate_are_refused() {
    let dir = certificates();
    let refused = |make: &dyn Fn(&Path)| {
        let evil = tempfile::tempdir().unwrap();
        for file in ["ca.pem", "ca.key", "a.pem", "a.key", "c.pem", "c.key"] {
            std::fs::copy(dir.path().join(file), evil.path().join(file)).unwrap();
        }
        make(evil.path());
        let mut b = process(dir.path(), B);
        let letter = process(evil.path(), A).seal(B, b"forged").unwrap();
        b.unseal(A, &letter).unwrap_err()
    };
    let other = refused(&|evil| {
        let authority = Authority::new("other").unwrap();
        authority.issue("a", "127.0.0.1", Span::days(1)).unwrap().write(evil).unwrap();
    });
    assert!(matches!(other, SealError::Certificate(_)), "{other}");
    let late = refused(&|evil| {
        let authority = Authority::open(evil).unwrap().unwrap();
        authority.issue("a", "127.0.0.1", Span::hours(-1)).unwrap().write(evil).unwrap();
    });
    assert!(matches!(late, SealError::Certificate(_)), "{late}");
    let c = refused(&|evil| {
        std::fs::copy(evil.join("c.pem"), evil.join("a.pem")).unwrap();
        std::fs::copy(evil.join("c.key"), evil.join("a.key")).unwrap();
    });
    assert_eq!(c, SealError::Certificate("it is that of `c`".into()));
    // The right certificate, which is public, without its key.
    let key = refused(&|evil| {
        std::fs::copy(evil.join("c.key"), evil.join("a.key")).unwrap();
    });
    assert_eq!(key, SealError::Signature);
}

#[test]
fn every_altered_byte_is_noticed() {
    let dir = certificates();
    let (mut a, mut b) = (process(dir.path(), A), process(dir.path(), B));
    meet(&mut a, &mut b);
    let letter = a.seal(B, b"vector").unwrap();
    for at in 0..letter.len() {
        let mut altered = letter.clone();
        altered[at] ^= 1;
        assert!(b.unseal(A, &altered).is_err(), "byte {at} of {}", letter.len());
    }
    assert_eq!(b.unseal(A, &letter), Ok(Unsealed::Frame(b"vector".to_vec())));
    for length in 0..letter.len() {
        assert!(b.unseal(A, &letter[..length]).is_err(), "cut to {length}");
    }
}

/// What a router does next.
#[derive(Clone, Debug)]
enum Act {
    /// The agent at this position writes a frame, which is kept.
    Write(usize),
    /// Some kept letter is delivered, for the first time or again.
    Deliver(prop::sample::Index),
    /// The agent at this position is started anew.
    Restart(usize),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        4 => (0..2_usize).prop_map(Act::Write),
        8 => any::<prop::sample::Index>().prop_map(Act::Deliver),
        1 => (0..2_usize).prop_map(Act::Restart),
    ];
    prop::collection::vec(act, 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_are_met_without_a_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..600),
        begin in 0..12_usize,
    ) {
        let dir = certificates();
        let mut b = process(dir.path(), B);
        prop_assert!(b.unseal(A, &bytes).is_err());
        // Behind a right beginning.
        let letter = process(dir.path(), A).seal(B, b"x").unwrap();
        let mut spliced = letter[..begin.min(letter.len())].to_vec();
        spliced.extend(&bytes);
        prop_assert!(b.unseal(A, &spliced).is_err());
    }

    /// A router that keeps every letter and delivers whatever it likes, as often as it likes.
    #[test]
    fn no_order_of_old_letters_is_taken_for_a_new_one(acts in acts()) {
        let dir = certificates();
        let mut process_of = [process(dir.path(), A), process(dir.path(), B)];
        let mut started = [0_u32; 2];
        // Writer, the reader's process when it was written, how many were written before, and the
        // letter. One that was held back may still be taken; not after any newer one, and not by
        // another process than it was for.
        let mut kept: Vec<(usize, u32, u64, Vec<u8>)> = Vec::new();
        let mut newest = [None; 2];
        for act in acts {
            match act {
                Act::Write(writer) => {
                    let frame = (kept.len() as u64).to_le_bytes();
                    let letter = process_of[writer].seal(1 - writer, &frame).unwrap();
                    kept.push((writer, started[1 - writer], kept.len() as u64, letter));
                }
                Act::Deliver(which) if !kept.is_empty() => {
                    let (writer, reading, number, letter) = which.get(&kept).clone();
                    let reader = 1 - writer;
                    match process_of[reader].unseal(writer, &letter) {
                        Ok(Unsealed::Frame(frame)) => {
                            prop_assert_eq!(frame, number.to_le_bytes());
                            prop_assert_eq!(reading, started[reader], "for a former process");
                            let newer = newest[reader] < Some(number);
                            prop_assert!(newer, "older than one that was taken");
                            newest[reader] = Some(number);
                        }
                        Ok(Unsealed::Greeting { answer: true }) => {
                            let frame = (kept.len() as u64).to_le_bytes();
                            let answer = process_of[reader].seal(writer, &frame).unwrap();
                            kept.push((reader, started[writer], kept.len() as u64, answer));
                        }
                        _ => {}
                    }
                }
                Act::Deliver(_) => {}
                Act::Restart(who) => {
                    process_of[who] = process(dir.path(), who);
                    started[who] += 1;
                }
            }
        }
        // Once the router is honest, a few letters are enough.
        let [a, b] = &mut process_of;
        let mut taken = [false; 2];
        for _ in 0..4 {
            let letter = a.seal(B, b"on").unwrap();
            taken[B] |= b.unseal(A, &letter) == Ok(Unsealed::Frame(b"on".to_vec()));
            let letter = b.seal(A, b"on").unwrap();
            taken[A] |= a.unseal(B, &letter) == Ok(Unsealed::Frame(b"on".to_vec()));
        }
        prop_assert_eq!(taken, [true, true]);
    }
}
