//! Many columns, and losses that no table has.

use super::{SMALL, Shape, agrees, common, problem};
use dzoa::prelude::*;
use dzoa::problem::loss::{Epigraph, Line};
use dzoa::reference::{ReferenceError, optimum};
use std::sync::Arc;

/// Rows of this many columns, each with twelve entries.
fn sparse(loss: Arc<dyn Loss>, regularizer: Regularizer, shape: Shape) -> Problem {
    let agent = |(k, &count): (usize, &usize)| {
        let row = |i: usize| {
            let number = |j: usize| (7919 * i + 104_729 * j + 31 * k) as f64;
            let entry = |j: usize| {
                let column = (number(j) * 0.618_033_988_749_894_9).fract() * shape.features as f64;
                (column as usize, (1.7 * number(j)).sin())
            };
            // Some columns are in many rows.
            let mut entries: Vec<(usize, f64)> = (0..6).map(entry).collect();
            entries.extend((0..6).map(|j| ((i * (j + 3)) % 40, (0.3 * number(j)).cos())));
            entries.sort_by_key(|entry| entry.0);
            entries.dedup_by_key(|entry| entry.0);
            entries
        };
        let mut rows = Rows::sparse(shape.features, (0..count).map(row)).unwrap();
        if shape.intercept {
            rows = rows.with_constant_column();
        }
        let noise = |i: usize| (37.0 * (i + k) as f64).sin();
        let target = |i: usize| {
            let z = rows.dot(i, &vec![0.5; rows.width()]) + 0.4 * noise(i);
            if loss.targets() == dzoa::problem::loss::Targets::Signs { z.signum() } else { z }
        };
        let targets = (0..count).map(target).collect();
        Arc::new(Samples::new(rows, targets).unwrap())
    };
    let agents = shape.samples.iter().enumerate().map(agent).collect();
    let Shape { scale, intercept, .. } = shape;
    Problem { loss, regularizer, eta: 0.02, scale, intercept, agents }
}

#[test]
fn thousands_of_columns_have_a_certified_optimum() {
    let groups: Vec<Vec<usize>> = (0..2500).map(|g| vec![2 * g, 2 * g + 1]).collect();
    let shape = Shape { samples: [150, 100, 200], features: 5000, intercept: true, ..SMALL };
    for loss in common::losses(0.8) {
        for regularizer in common::regularizers(0.6, &groups) {
            let name = format!("{} {regularizer:?}", loss.name());
            let name = &name[..name.len().min(40)];
            let problem = sparse(loss.clone(), regularizer.clone(), shape);
            let begun = std::time::Instant::now();
            let found = optimum(&problem);
            // Without a regulariser, rows of so many columns can be separated.
            if regularizer.is_zero() && loss.name() == "logistic" {
                assert_eq!(found.map(|_| ()), Err(ReferenceError::NoMinimiser));
                continue;
            }
            let found = found.unwrap_or_else(|error| panic!("{name}: {error}"));
            let gap = found.certificate.duality_gap.unwrap();
            println!("{name}: {:?} {} {gap:e}", begun.elapsed(), found.objective);
            let size = problem.value(&vec![0.0; problem.dim()]);
            // At the edge of a cone fewer digits are left of a loss with kinks.
            let edged = regularizer.is_grouped() && loss.smoothness().is_none();
            let close = if edged { 1e-7 } else { 1e-9 };
            assert!(gap < close * found.objective + 1e-13 * size, "{name}: {gap:e}");
        }
    }
}

#[test]
fn many_columns_beside_each_other_have_the_optimum_that_clarabel_finds() {
    let shape = Shape { samples: [150, 100, 200], features: 4100, ..SMALL };
    for loss in [Arc::new(Logistic) as Arc<dyn Loss>, Arc::new(Absolute)] {
        let problem = sparse(loss.clone(), Regularizer::L1, shape);
        agrees(&problem, None, loss.name());
    }
}

#[test]
fn two_thousand_columns_are_solved_while_one_waits() {
    let shape = Shape { samples: [700, 300, 500], features: 2000, ..SMALL };
    for (loss, regularizer) in [
        (Arc::new(Logistic) as Arc<dyn Loss>, Regularizer::L1),
        (Arc::new(Logistic), Regularizer::L2),
        (Arc::new(Squared), Regularizer::L1),
        (Arc::new(Hinge), Regularizer::L2),
    ] {
        let problem = problem(loss, regularizer, 1e-3, shape);
        let name = format!("{} {:?}", problem.loss.name(), problem.regularizer);
        let begun = std::time::Instant::now();
        let found = optimum(&problem).unwrap();
        let (took, gap) = (begun.elapsed(), found.certificate.duality_gap.unwrap());
        println!("{name}: {took:?} {gap:e}");
        assert!(took.as_secs() < 60 && gap < 1e-9 * found.objective, "{name}: {took:?} {gap:e}");
        // Neither all nor nothing: the penalty decides.
        let zeros = found.coefficients.iter().filter(|b| **b == 0.0).count();
        let has_zeros = problem.regularizer == Regularizer::L1;
        assert_eq!(zeros > 0 && zeros < 2000, has_zeros, "{name}: {zeros}");
    }
}

/// `max(0, |z - y| - 0.1)`: three lines, and two kinks.
#[derive(Clone, Copy, Debug)]
struct Insensitive;

impl Loss for Insensitive {
    fn name(&self) -> &'static str {
        "insensitive"
    }

    fn value(&self, z: f64, y: f64) -> f64 {
        ((z - y).abs() - 0.1).max(0.0)
    }

    fn difference(&self, z: f64, step: f64, y: f64) -> f64 {
        self.value(z + step, y) - self.value(z, y)
    }

    fn slope(&self, z: f64, y: f64) -> f64 {
        if (z - y).abs() > 0.1 { (z - y).signum() } else { 0.0 }
    }

    fn lipschitz(&self) -> Option<f64> {
        Some(1.0)
    }

    fn dual_prox(&self, _w: f64, _kappa: f64, _y: f64) -> f64 {
        unreachable!("the reference needs none")
    }

    fn fenchel_gap(&self, z: f64, a: f64, y: f64) -> f64 {
        // The conjugate is a y + 0.1 |a| for |a| <= 1.
        self.value(z, y) + a * (y - z) + 0.1 * a.abs()
    }

    fn epigraph(&self, y: f64) -> Option<Epigraph> {
        let low = Line::new(0.0, -5.0);
        let lines = vec![Line::new(1.0, -y - 0.1), low, Line::new(-1.0, y - 0.1)];
        Some(Epigraph::Lines([lines, vec![Line::new(0.0, 0.0)]].concat()))
    }
}

/// The same without its lines.
#[derive(Clone, Copy, Debug)]
struct Unknown;

impl Loss for Unknown {
    fn name(&self) -> &'static str {
        "unknown"
    }

    fn value(&self, z: f64, y: f64) -> f64 {
        Insensitive.value(z, y)
    }

    fn difference(&self, z: f64, step: f64, y: f64) -> f64 {
        Insensitive.difference(z, step, y)
    }

    fn slope(&self, z: f64, y: f64) -> f64 {
        Insensitive.slope(z, y)
    }

    fn lipschitz(&self) -> Option<f64> {
        Some(1.0)
    }

    fn dual_prox(&self, _w: f64, _kappa: f64, _y: f64) -> f64 {
        unreachable!("the reference needs none")
    }

    fn fenchel_gap(&self, z: f64, a: f64, y: f64) -> f64 {
        Insensitive.fenchel_gap(z, a, y)
    }
}

#[test]
fn a_loss_of_many_lines_has_the_optimum_that_clarabel_finds_and_one_of_unknown_lines_has_none() {
    for regularizer in common::regularizers(0.6, &[vec![0, 1], vec![2, 4]]) {
        let shape = Shape { intercept: true, ..SMALL };
        let known = problem(Arc::new(Insensitive), regularizer.clone(), 0.05, shape);
        agrees(&known, None, &format!("insensitive {regularizer:?}"));
        let unknown = Problem { loss: Arc::new(Unknown), ..known };
        assert_eq!(optimum(&unknown).map(|_| ()), Err(ReferenceError::NoSolver("unknown")));
    }
}

/// `sqrt(1 + (z - y)^2) - 1`: smooth, and without a conic form.
#[derive(Clone, Copy, Debug)]
struct Hyperbola;

impl Loss for Hyperbola {
    fn name(&self) -> &'static str {
        "hyperbola"
    }

    fn value(&self, z: f64, y: f64) -> f64 {
        (z - y).hypot(1.0) - 1.0
    }

    fn difference(&self, z: f64, step: f64, y: f64) -> f64 {
        self.value(z + step, y) - self.value(z, y)
    }

    fn slope(&self, z: f64, y: f64) -> f64 {
        (z - y) / (z - y).hypot(1.0)
    }

    fn curvature(&self, z: f64, y: f64) -> Option<f64> {
        Some((z - y).hypot(1.0).powi(-3))
    }

    fn smoothness(&self) -> Option<f64> {
        Some(1.0)
    }

    fn lipschitz(&self) -> Option<f64> {
        Some(1.0)
    }

    fn dual_prox(&self, _w: f64, _kappa: f64, _y: f64) -> f64 {
        unreachable!("the reference needs none")
    }

    fn fenchel_gap(&self, z: f64, a: f64, y: f64) -> f64 {
        // The conjugate is a y + 1 - sqrt(1 - a^2).
        (z - y).hypot(1.0) - a * (z - y) - (1.0 - a * a).sqrt()
    }
}

#[test]
fn a_smooth_loss_needs_no_conic_form() {
    for regularizer in common::regularizers(0.6, &[vec![0, 1], vec![2, 4]]) {
        let shape = Shape { intercept: true, ..SMALL };
        let problem = problem(Arc::new(Hyperbola), regularizer.clone(), 0.05, shape);
        let found = optimum(&problem).unwrap();
        let gap = found.certificate.duality_gap.unwrap();
        assert!(gap < 1e-9 * found.objective, "{regularizer:?} {gap:e}");
        // No step in any direction leads lower.
        for (p, by) in (0..problem.dim()).flat_map(|p| [(p, 1e-3), (p, -1e-3)]) {
            let mut there = found.coefficients.clone();
            there[p] += by;
            assert!(problem.value(&there) > found.objective, "{regularizer:?} {p}");
        }
    }
}
