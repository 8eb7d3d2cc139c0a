//! What an exact guarantee costs: L1 logistic regression, K = 5 on the paper's graph, N_k = 2000,
//! P = 10, delta 1e-5, settings from the public rules. Seeds 2021 to 2040, first run when the rules
//! were final; the rules were tuned on seeds from 1000 up.

#[path = "../examples/tune_exact.rs"]
#[allow(dead_code)]
mod experiment;

use dzoa::tuning::Setting;
use experiment::{draw, medians, spec};
use rayon::prelude::*;

/// Total epsilon; the most that `output` and `scalar` may err (median over the draws).
const MOST: [(f64, f64, f64); 3] = [(0.5, 0.16, 0.12), (2.0, 0.018, 0.014), (8.0, 0.002, 0.002)];

/// The best settings of dp-gd on the tuning seeds: rounds and step.
const DP_GD: [(u64, f64); 3] = [(100, 1.0), (100, 3.0), (100, 3.0)];

#[test]
fn the_public_rules_keep_the_error_within_its_bounds() {
    let draws: Vec<_> = (2021..=2040).into_par_iter().map(draw).collect();
    println!("epsilon  output  scalar  dp-gd (median error, and as multiples of dp-gd)");
    for ((epsilon, most_output, most_scalar), (rounds, step)) in MOST.into_iter().zip(DP_GD) {
        let by_rule = |method| spec(method, epsilon, &Setting::default());
        let options = vec![("step", step)];
        let tuned = Setting { rounds: Some(rounds), options, ..Setting::default() };
        let specs = [by_rule("output"), by_rule("scalar"), spec("dp-gd", epsilon, &tuned)];
        let [by_output, by_scalar, by_gradient] = medians(&draws, &specs)[..] else {
            unreachable!("one median for each")
        };
        println!(
            "{epsilon}  {by_output:.5} ({:.2})  {by_scalar:.5} ({:.2})  {by_gradient:.5}",
            by_output / by_gradient,
            by_scalar / by_gradient
        );
        assert!(by_output <= most_output, "output at {epsilon}: {by_output}");
        assert!(by_scalar <= most_scalar, "scalar at {epsilon}: {by_scalar}");
    }
}
