//! The centralised optimum against Clarabel, which shares no code with it, and by its own proof.

#[path = "../common/mod.rs"]
mod common;
mod conic;
mod large;
mod polish;

use dzoa::prelude::*;
use dzoa::problem::Synthetic;
use dzoa::problem::loss::Targets;
use dzoa::reference::{Optimum, ReferenceError, optimum};
use dzoa::streams::Purpose;
use std::sync::Arc;

/// What a problem is made of.
#[derive(Clone, Copy)]
struct Shape {
    samples: [usize; 3],
    features: usize,
    scale: Scale,
    intercept: bool,
    sparse: bool,
}

/// Some hundred rows.
const SMALL: Shape = Shape {
    samples: [40, 25, 60],
    features: 6,
    scale: Scale::Mean,
    intercept: false,
    sparse: false,
};

/// Three agents of other sizes.
fn problem(loss: Arc<dyn Loss>, regularizer: Regularizer, eta: f64, shape: Shape) -> Problem {
    let Shape { samples, features, scale, intercept, sparse } = shape;
    let most = samples.into_iter().max().unwrap();
    let drawn = Synthetic { agents: 3, samples: most, features, ..Synthetic::default() };
    let mut rng = Streams::from_seed(3).rng(Purpose::Data, "data", 0);
    let agents = drawn.draw(loss.targets(), &mut rng).into_iter().zip(samples);
    let part = |(all, count): (Samples, usize)| {
        let mut samples = all.select(&(0..count).collect::<Vec<usize>>());
        if intercept {
            samples.rows = samples.rows.with_constant_column();
        }
        if sparse {
            samples.rows = samples.rows.to_sparse();
        }
        Arc::new(samples)
    };
    let agents = agents.map(part).collect();
    Problem { loss, regularizer, eta, scale, intercept, agents }
}

/// How far two objectives may differ, relatively.
const OBJECTIVE: f64 = 1e-9;
/// And as a number: Clarabel's own tolerance.
const CLARABEL: f64 = 1e-11;

/// Compares with Clarabel; coefficients to this, where there is one minimiser only.
fn agrees(problem: &Problem, near: Option<f64>, name: &str) -> Optimum {
    let own = optimum(problem).unwrap_or_else(|error| panic!("{name}: {error}"));
    let theirs = conic::minimiser(problem).unwrap_or_else(|status| panic!("{name}: {status}"));
    let theirs = polish::polished(problem, theirs);
    let objective = problem.value(&theirs);
    let off = (own.objective - objective).abs();
    let most = OBJECTIVE * objective + CLARABEL;
    assert!(off < most, "{name}: {} and {objective}", own.objective);
    assert!(own.objective <= objective * (1.0 + OBJECTIVE), "{name}: {} above", own.objective);
    // A gap is a proof, and it comes without Clarabel's word.
    let gap = own.certificate.duality_gap.unwrap_or_else(|| panic!("{name}: no gap"));
    assert!(gap.abs() < OBJECTIVE * own.objective, "{name}: {:?}", own.certificate);
    for (own, theirs) in own.coefficients.iter().zip(&theirs) {
        let off = (own - theirs).abs();
        assert!(near.is_none_or(|near| off < near), "{name}: {own} and {theirs}");
    }
    own
}

/// How near Clarabel's minimiser should be: what is strongly convex is known to the root of
/// Clarabel's tolerance, minima of lines lie along edges of which it finds fewer digits.
fn nearness(problem: &Problem) -> f64 {
    let strongly = problem.regularizer.strong_convexity() > 0.0 && !problem.intercept;
    match (problem.loss.smoothness().is_some(), strongly) {
        (true, _) => 1e-6,
        (false, true) => 1e-5,
        (false, false) => 1e-4,
    }
}

#[test]
fn every_loss_and_regulariser_has_the_optimum_that_clarabel_finds() {
    let groups = [vec![0, 1], vec![2, 4]];
    for loss in common::losses(0.8) {
        for regularizer in common::regularizers(0.6, &groups) {
            for (scale, eta) in [(Scale::Mean, 0.05), (Scale::Sum, 2.0), (Scale::Pooled, 0.05)] {
                for (intercept, sparse) in [(false, false), (true, false), (true, true)] {
                    let shape = Shape { scale, intercept, sparse, ..SMALL };
                    let problem = problem(loss.clone(), regularizer.clone(), eta, shape);
                    let name =
                        format!("{} {regularizer:?} {scale:?} {intercept} {sparse}", loss.name());
                    let own = agrees(&problem, Some(nearness(&problem)), &name);
                    if loss.smoothness().is_some() {
                        let far = own.certificate.stationarity;
                        let size = if scale == Scale::Sum { 100.0 } else { 1.0 };
                        assert!(far < 1e-13 * size, "{name}: {far:e}");
                    }
                }
            }
        }
    }
}

#[test]
fn many_rows_have_the_optimum_that_clarabel_finds() {
    let shape = Shape { samples: [900, 300, 600], scale: Scale::Pooled, ..SMALL };
    for loss in common::losses(0.8) {
        for regularizer in common::regularizers(0.6, &[vec![0, 1], vec![2, 4]]) {
            for intercept in [false, true] {
                let name = format!("{} {regularizer:?} {intercept}", loss.name());
                let shape = Shape { intercept, ..shape };
                let problem = problem(loss.clone(), regularizer.clone(), 0.05, shape);
                agrees(&problem, Some(nearness(&problem)), &name);
            }
        }
    }
}

#[test]
fn more_columns_than_rows_have_the_optimum_that_clarabel_finds() {
    let groups: Vec<Vec<usize>> = (0..20).map(|g| vec![3 * g, 3 * g + 1, 3 * g + 2]).collect();
    let shape = Shape { samples: [12, 10, 15], features: 60, intercept: true, ..SMALL };
    for loss in common::losses(0.8) {
        for regularizer in common::regularizers(0.6, &groups) {
            // Without a regulariser all rows are met exactly, or separated.
            if !regularizer.is_zero() {
                let problem = problem(loss.clone(), regularizer.clone(), 0.1, shape);
                let unique = regularizer.strong_convexity() > 0.0;
                let near = unique.then(|| nearness(&problem));
                agrees(&problem, near, &format!("{} {regularizer:?}", loss.name()));
            }
        }
    }
}

/// With every column twice, and one of zeros.
fn doubled(problem: &Problem) -> Problem {
    let twice = |samples: &Arc<Samples>| {
        let lines = (0..samples.count()).flat_map(|i| {
            let mut row = vec![0.0; problem.dim()];
            samples.rows.visit(i, |p, value| row[p] = value);
            [row.clone(), vec![0.0], row].concat()
        });
        let rows = Rows::dense(2 * problem.dim() + 1, lines.collect()).unwrap();
        Arc::new(Samples { rows, targets: samples.targets.clone() })
    };
    Problem { agents: problem.agents.iter().map(twice).collect(), ..problem.clone() }
}

#[test]
fn columns_that_depend_on_each_other_do_no_harm() {
    for loss in common::losses(0.8) {
        for regularizer in common::regularizers(0.6, &[vec![0, 1], vec![7, 8]]) {
            let single = problem(loss.clone(), regularizer.clone(), 0.05, SMALL);
            let double = doubled(&single);
            let name = format!("{} {regularizer:?}", loss.name());
            let own = agrees(&double, None, &name);
            if regularizer.is_zero() || regularizer == Regularizer::L1 {
                // A column may be shared out over its two copies at no cost.
                let once = optimum(&single).unwrap().objective;
                assert!((own.objective / once - 1.0).abs() < OBJECTIVE, "{name}");
            }
        }
    }
}

#[test]
fn what_the_penalty_sets_to_zero_is_zero_to_the_last_bit() {
    let shape = Shape { samples: [900, 300, 600], intercept: true, ..SMALL };
    for regularizer in [Regularizer::L1, Regularizer::GroupL1 { groups: vec![vec![0], vec![1, 3]] }]
    {
        for loss in common::losses(0.8) {
            let name = format!("{} {regularizer:?}", loss.name());
            let problem = problem(loss, regularizer.clone(), 1e4, shape);
            let own = optimum(&problem).unwrap().coefficients;
            let zeros = own.iter().filter(|b| **b == 0.0).count();
            let expected = if regularizer == Regularizer::L1 { 6 } else { 3 };
            assert!(zeros == expected && zeros < own.len(), "{name}: {own:?}");
        }
    }
}

#[test]
fn rows_that_can_be_separated_have_no_optimum_without_a_regulariser() {
    let separable = |regularizer: Regularizer, targets: fn(f64) -> f64, intercept: bool| {
        let x: Vec<f64> = (0..40).map(|i| f64::from(i) / 10.0 - 1.95).collect();
        let targets = x.iter().map(|x| targets(*x)).collect();
        let mut rows = Rows::dense(1, x).unwrap();
        if intercept {
            rows = rows.with_constant_column();
        }
        let agents = vec![Arc::new(Samples::new(rows, targets).unwrap())];
        let (loss, scale, eta) = (Arc::new(Logistic), Scale::Mean, 0.1);
        optimum(&Problem { loss, regularizer, eta, scale, intercept, agents }).map(|_| ())
    };
    let sign = |x: f64| x.signum();
    for intercept in [false, true] {
        assert_eq!(separable(Regularizer::None, sign, intercept), Err(ReferenceError::NoMinimiser));
        assert_eq!(separable(Regularizer::L1, sign, intercept), Ok(()));
    }
    // One class only: the intercept grows for ever, whatever holds the others back.
    assert_eq!(separable(Regularizer::L2, |_| 1.0, true), Err(ReferenceError::NoMinimiser));
    assert_eq!(separable(Regularizer::L2, |_| 1.0, false), Ok(()));
}

#[test]
fn a_column_that_separates_some_rows_only_has_no_optimum_either() {
    // The second column is 1 in a few rows, all of one class; the first separates nothing.
    let row = |i: usize| [(i as f64).sin(), if i.is_multiple_of(10) { 1.0 } else { 0.0 }];
    let target = |i: usize| if i.is_multiple_of(10) || i.is_multiple_of(3) { 1.0 } else { -1.0 };
    let rows = Rows::dense(2, (0..200).flat_map(row).collect()).unwrap();
    let agents = vec![Arc::new(Samples::new(rows, (0..200).map(target).collect()).unwrap())];
    let (loss, regularizer, scale) = (Arc::new(Logistic), Regularizer::None, Scale::Mean);
    let problem = Problem { loss, regularizer, eta: 0.0, scale, intercept: false, agents };
    assert_eq!(optimum(&problem).map(|_| ()), Err(ReferenceError::NoMinimiser));
}

#[test]
fn targets_and_columns_of_any_size_have_the_optimum_that_clarabel_finds() {
    for loss in common::losses(0.8).into_iter().filter(|loss| loss.targets() == Targets::Real) {
        for (regularizer, by) in [
            (Regularizer::L1, 1e3),
            (Regularizer::L2, 1e3),
            (Regularizer::None, 1e3),
            (Regularizer::L1, 1e-3),
            (Regularizer::None, 1e-3),
        ] {
            let mut problem = problem(loss.clone(), regularizer.clone(), 0.05, SMALL);
            for samples in &mut problem.agents {
                let targets = samples.targets.iter().map(|y| by * y).collect();
                let rows = samples.rows.clone();
                *samples = Arc::new(Samples::new(rows, targets).unwrap());
            }
            agrees(&problem, None, &format!("{} {regularizer:?} {by}", loss.name()));
        }
    }
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
