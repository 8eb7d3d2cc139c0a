//! The calculators against numbers computed independently with mpmath (tests/oracle/privacy.json).

use dzoa_privacy::calibrate::{self, Corollary1};
use dzoa_privacy::{Accountant, Event, ExactGaussian, Theorem2, ZeroConcentrated, gaussian};
use serde::Deserialize;

/// What the oracle's double precision allows.
const RELATIVE: f64 = 1e-10;

#[derive(Deserialize)]
struct Oracle {
    composition: Vec<Composition>,
    corollary1: Vec<Corollary>,
}

#[derive(Deserialize)]
struct Composition {
    epsilon: f64,
    delta: f64,
    rounds: u64,
    noise_multiplier: f64,
    mu: f64,
    epsilon_theorem2: f64,
    epsilon_zcdp: f64,
    epsilon_exact: f64,
    delta_exact_at_theorem2_epsilon: f64,
}

#[derive(Deserialize)]
#[allow(non_snake_case)]
struct Corollary {
    features: usize,
    directions: usize,
    inner_steps: usize,
    rho: f64,
    neighbourhood: usize,
    samples: usize,
    epsilon: f64,
    delta: f64,
    c1: f64,
    c: f64,
    optimum_norm_squared: f64,
    sigma_theorem1: f64,
    sensitivity_lemma3: f64,
    alpha0_times_R: f64,
}

fn oracle() -> Oracle {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/oracle/privacy.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn close(ours: f64, theirs: f64) -> bool {
    (ours - theirs).abs() <= RELATIVE * theirs.abs()
}

#[test]
fn composition_agrees_and_the_exact_bound_is_never_below() {
    for row in oracle().composition {
        let multiplier = calibrate::theorem1_noise_multiplier(row.epsilon, row.delta);
        assert!(close(multiplier, row.noise_multiplier));
        let round = Event::Gaussian { sensitivity: 1.0, sigma: multiplier };
        let nominal = Event::Nominal { epsilon: row.epsilon, delta: row.delta };
        let (mut exact, mut zcdp, mut theorem2) =
            (ExactGaussian::default(), ZeroConcentrated::default(), Theorem2::default());
        for _ in 0..row.rounds {
            exact.compose(&round).unwrap();
            zcdp.compose(&round).unwrap();
            theorem2.compose(&nominal).unwrap();
        }
        let epsilon = exact.epsilon(row.delta);
        assert!(close(epsilon, row.epsilon_exact), "{epsilon} against {}", row.epsilon_exact);
        assert!(epsilon >= row.epsilon_exact, "an upper bound is never below the truth");
        assert!(close(zcdp.epsilon(row.delta), row.epsilon_zcdp));
        assert!(zcdp.epsilon(row.delta) >= row.epsilon_zcdp);
        assert!(close(theorem2.epsilon(row.delta), row.epsilon_theorem2));
        let delta = gaussian::ln_delta(row.epsilon_theorem2, row.mu).exp();
        assert!(close(delta, row.delta_exact_at_theorem2_epsilon));
        assert!(delta >= row.delta_exact_at_theorem2_epsilon);
    }
}

#[test]
fn corollary_1_and_its_inverse_agree() {
    for row in oracle().corollary1 {
        let sensitivity =
            calibrate::lemma3_sensitivity(row.c1, row.rho, row.neighbourhood, row.samples);
        assert!(close(sensitivity, row.sensitivity_lemma3));
        let sigma = calibrate::theorem1_sigma(sensitivity, row.epsilon, row.delta);
        assert!(close(sigma, row.sigma_theorem1));
        let corollary = Corollary1 {
            sensitivity,
            delta: row.delta,
            features: row.features,
            directions: row.directions,
            inner_steps: row.inner_steps,
            c: row.c,
            optimum_norm_squared: row.optimum_norm_squared,
        };
        assert!(close(corollary.alpha0_times_r(row.epsilon), row.alpha0_times_R));
        // Forward again the oracle's rounded step returns epsilon only to 3e-11.
        let epsilon = corollary.epsilon(row.alpha0_times_R).unwrap();
        assert!((epsilon / row.epsilon - 1.0).abs() < 1e-9);
    }
}
