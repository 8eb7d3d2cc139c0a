//! The added noise of two rounds, two agents and two runs is independent, and as large as it was charged.

use dzoa::privacy::{Event, Ledger, Private};
use dzoa::streams::Streams;

const DRAWS: usize = 200_000;
const SIGMA: f64 = 0.7;

/// The noise of one release of many coordinates.
fn noise(streams: &Streams, agent: &str, round: u64) -> Vec<f64> {
    let event = Event::discrete_gaussian(0.1, SIGMA, DRAWS, 1);
    let receipt = Ledger::default().charge(event.query(round)).unwrap();
    let zeros = Private::new(vec![0.0; DRAWS]);
    zeros.release(receipt, &streams.noise_key(agent)).unwrap().to_vec()
}

fn correlation(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() / (DRAWS as f64 * SIGMA * SIGMA)
}

#[test]
fn noise_is_uncorrelated_over_rounds_agents_and_runs() {
    let (one, two) = (Streams::from_seed(1), Streams::from_seed(2));
    let base = noise(&one, "a", 1);
    let deviation = correlation(&base, &base).sqrt();
    assert!((deviation - 1.0).abs() < 0.01, "{deviation}");
    // Five standard errors: a false alarm in fewer than 1e-6 of the seeds.
    let limit = 5.0 / (DRAWS as f64).sqrt();
    for other in [
        noise(&one, "a", 2),
        noise(&one, "b", 1),
        noise(&two, "a", 1),
        noise(&one.trial(1), "a", 1),
        noise(&Streams::from_os().unwrap(), "a", 1),
    ] {
        assert!(correlation(&base, &other).abs() < limit);
        assert!((correlation(&other, &other).sqrt() - 1.0).abs() < 0.01);
    }
}

#[test]
fn a_restarted_round_draws_the_same_noise() {
    // After a crash the same release must go out, never a second draw.
    let streams = Streams::from_os().unwrap();
    assert_eq!(noise(&streams, "a", 3), noise(&streams, "a", 3));
}
