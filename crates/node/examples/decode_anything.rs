//! Ten million arbitrary inputs to the decoder: none may panic.
//!
//!     cargo build --release --workspace --examples && target/release/examples/decode_anything

#[path = "../tests/common/mod.rs"]
mod common;

use dzoa::privacy::Seen;
use dzoa_node::wire::{Frame, longest};
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};

const CASES: u64 = 10_000_000;

fn main() {
    let mut rng = StdRng::seed_from_u64(1);
    let body = common::said(1, vec![1.0; 3]);
    let ledger = Seen { ledger: [2; 16].into(), entries: 1, head: [0; 32].into() };
    let honest = Frame {
        network: [7; 32],
        program: "0".into(),
        from: "b".into(),
        to: "a".into(),
        round: 1,
        needs: 1,
        has: 0,
        session: 1,
        number: 1,
        echo: 2,
        ledger,
        yours: Some(ledger),
        body,
    };
    let honest = honest.encode();
    let mut readable = 0;
    for case in 0..CASES {
        let mut bytes = vec![0; rng.random_range(0..200)];
        rng.fill_bytes(&mut bytes);
        if case % 2 == 1 {
            // Damaged content under a checksum that is right.
            bytes = honest[..honest.len() - 4].to_vec();
            for _ in 0..rng.random_range(1..8) {
                let at = rng.random_range(5..bytes.len());
                bytes[at] = rng.random();
            }
            bytes.truncate(rng.random_range(5..=bytes.len()));
            bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        }
        readable += u64::from(Frame::decode(&bytes, longest(3)).is_ok());
    }
    println!("{CASES} inputs, no panic; {readable} could be read as frames");
}
