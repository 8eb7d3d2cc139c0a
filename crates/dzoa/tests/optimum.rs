//! The centralised optimum of many rows, against Clarabel, which shares no code with it.

mod common;

use dzoa::prelude::*;
use dzoa::problem::Synthetic;
use dzoa::problem::loss::Targets;
use dzoa::reference::{independent_optimum, optimum};
use dzoa::streams::Purpose;
use std::sync::Arc;

/// Three agents of other sizes, more rows than Clarabel is asked for by default.
fn problem(loss: Arc<dyn Loss>, regularizer: Regularizer, intercept: bool) -> Problem {
    let drawn = Synthetic { agents: 3, samples: 900, features: 6, ..Synthetic::default() };
    let mut rng = Streams::from_seed(3).rng(Purpose::Data, "data", 0);
    let agents = drawn.draw(loss.targets(), &mut rng).into_iter().zip([900, 300, 600]);
    let part = |(all, count): (Samples, usize)| {
        let mut samples = all.select(&(0..count).collect::<Vec<usize>>());
        if intercept {
            samples.rows = samples.rows.with_constant_column();
        }
        Arc::new(samples)
    };
    let agents = agents.map(part).collect();
    Problem { loss, regularizer, eta: 0.05, scale: Scale::Pooled, intercept, agents }
}

/// How far two objectives may differ, relatively: Clarabel's own tolerance on losses with kinks.
const OBJECTIVE: f64 = 1e-9;

#[test]
fn many_rows_have_the_optimum_that_clarabel_finds() {
    for loss in common::losses(0.8) {
        for regularizer in common::regularizers(0.6, &[vec![0, 1], vec![2, 4]]) {
            for intercept in [false, true] {
                let name = format!("{} {regularizer:?} {intercept}", loss.name());
                let problem = problem(loss.clone(), regularizer.clone(), intercept);
                let (own, theirs) =
                    (optimum(&problem).unwrap(), independent_optimum(&problem).unwrap());
                let off = (own.objective - theirs.objective).abs() / theirs.objective;
                assert!(off < OBJECTIVE, "{name}: {} and {}", own.objective, theirs.objective);
                // A gap is a proof, and it comes without Clarabel's word.
                if let Some(gap) = own.certificate.duality_gap {
                    assert!(gap.abs() < 1e-8 * own.objective, "{name}: {gap:e}");
                }
                assert!(own.certificate.stationarity < 1e-7, "{name}: {:?}", own.certificate);
                let smooth = loss.smoothness().is_some();
                for (own, theirs) in own.coefficients.iter().zip(&theirs.coefficients) {
                    let near = if smooth { 1e-6 } else { 1e-4 };
                    assert!((own - theirs).abs() < near, "{name}: {own} and {theirs}");
                }
            }
        }
    }
}

#[test]
fn what_the_penalty_sets_to_zero_is_zero_to_the_last_bit() {
    let problem = Problem { eta: 0.4, ..problem(Arc::new(Logistic), Regularizer::L1, true) };
    let own = optimum(&problem).unwrap().coefficients;
    let zeros = own.iter().filter(|b| **b == 0.0).count();
    assert!(zeros > 0 && zeros < own.len(), "{own:?}");
}

/// 200,000 rows of 20 columns took 3.3 minutes. Half a minute is far beyond what it takes here, on
/// any machine that builds this.
#[test]
fn two_hundred_thousand_rows_are_solved_while_one_waits() {
    let drawn = Synthetic { agents: 4, samples: 50_000, features: 20, ..Synthetic::default() };
    for loss in [Arc::new(Logistic) as Arc<dyn Loss>, Arc::new(Hinge)] {
        assert_eq!(loss.targets(), Targets::Signs);
        let mut rng = Streams::from_seed(3).rng(Purpose::Data, "data", 0);
        let agents = drawn.draw(loss.targets(), &mut rng).into_iter().map(Arc::new).collect();
        let regularizer = Regularizer::L1;
        let (eta, scale, intercept) = (0.01, Scale::Mean, false);
        let problem = Problem { loss, regularizer, eta, scale, intercept, agents };
        let begun = std::time::Instant::now();
        let found = optimum(&problem).unwrap();
        let (took, gap) = (begun.elapsed(), found.certificate.duality_gap.unwrap());
        println!("{}: {took:?}, gap {gap:e}", problem.loss.name());
        assert!(took.as_secs() < 30 && gap < 1e-9 * found.objective, "{took:?} {gap:e}");
    }
}
