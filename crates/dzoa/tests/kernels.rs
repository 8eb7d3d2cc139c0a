//! The vectorised paths give what the plain ones give, on every instruction set of this machine,
//! and with any number of threads.

mod common;

use common::losses;
use dzoa::kernels::{Level, at};
use dzoa::prelude::*;
use dzoa::primal::Lagrangian;
use dzoa::problem::loss::{Batch, Targets};
use dzoa::problem::{Directions, EmpiricalRisk, Probe, Scratch};
use dzoa::streams::Purpose;
use std::sync::Arc;

/// Standard normals.
fn values(step: u64, count: usize) -> Vec<f64> {
    let mut values = vec![0.0; count];
    Streams::from_seed(9).normals(Purpose::Directions, "k", 1).fill(step, &mut values);
    values
}

#[test]
fn differences_of_a_batch_are_those_of_its_samples_on_every_level() {
    let samples = 37;
    for loss in losses(0.4) {
        for count in [1, 7, 8, 9, 16, 20, 30, 40] {
            // From steps that vanish beside the fitted values to some that leave every
            // exponential's range. Shifts that need a whole exponential, short ones, and none.
            let steps = [1e-300, 1e-14, 1e-6, 1e-3, 0.02, 1.0, 40.0, 4000.0];
            for (u1, u2) in [0.7, 0.05, 0.0].into_iter().flat_map(|u1| steps.map(|u2| (u1, u2))) {
                let (mut fitted, products) = (values(1, samples), values(2, samples * 2 * count));
                // Samples whose exponentials overflow and vanish.
                (fitted[0], fitted[1], fitted[2]) = (800.0, -800.0, 705.0);
                let signs = loss.targets() == Targets::Signs;
                let targets: Vec<f64> = values(3, samples)
                    .into_iter()
                    .map(|y| if signs { f64::signum(y) } else { y })
                    .collect();
                let batch =
                    Batch { fitted: &fitted, targets: &targets, products: &products, u1, u2 };
                let mut bits: Option<Vec<u64>> = None;
                for level in Level::available() {
                    let mut out = vec![f64::NAN; count];
                    at(level, || loss.differences(&batch, &mut out));
                    for (j, out) in out.iter().enumerate() {
                        let (mut sum, mut size) = (0.0, 0.0);
                        for i in 0..samples {
                            let line = &products[i * 2 * count..][..2 * count];
                            let z = fitted[i] + u1 * line[j];
                            let difference = loss.difference(z, u2 * line[count + j], targets[i]);
                            sum += difference;
                            size += difference.abs();
                        }
                        let what =
                            format!("{} {level:?} J = {count} u1 = {u1} u2 = {u2}", loss.name());
                        assert!((out - sum).abs() <= 1e-14 * size, "{what}: {out} against {sum}");
                    }
                    let found: Vec<u64> = out.iter().map(|out| out.to_bits()).collect();
                    assert_eq!(
                        *bits.get_or_insert_with(|| found.clone()),
                        found,
                        "{level:?}: other bits"
                    );
                }
            }
        }
    }
}

#[test]
fn a_logistic_step_from_far_away_keeps_its_digits() {
    // softplus(v) = v + ln(1 + e^-v), so that the sums of both ends are known to the last digit.
    let softplus = |v: f64| v.max(0.0) + (-v.abs()).exp().ln_1p();
    for (z, step) in [(-800.0, 4000.0), (-20.0, 40.0), (-25.0, 20.0), (-12.0, 29.0), (30.0, -55.0)]
    {
        let expected = softplus(-z - step) - softplus(-z);
        for (z, step, y) in [(z, step, 1.0), (-z, -step, -1.0)] {
            let found = Logistic.difference(z, step, y);
            assert!((found - expected).abs() <= 4e-16 * expected.abs(), "{z} {step}: {found}");
            let fitted = vec![z; 1];
            let products = [[0.0; 8], [step; 8]].concat();
            let batch =
                Batch { fitted: &fitted, targets: &[y], products: &products, u1: 1.0, u2: 1.0 };
            let mut out = [0.0; 8];
            Logistic.differences(&batch, &mut out);
            assert!((out[0] - expected).abs() <= 1e-15 * expected.abs(), "{z} {step}: {}", out[0]);
        }
    }
}

#[test]
fn short_logistic_steps_keep_their_digits_at_every_margin() {
    // Up to the longest steps and shifts that each of the series allows, and farther.
    let steps = [1.0 / 64.0, 0.01, 1e-3, 4.9e-4, 1e-5, 6.9e-8, 1e-9];
    let shifts = [0.0, 0.133, -0.133, 0.25, 0.383, -0.383, -7.0];
    let steps = steps.into_iter().flat_map(|h| [h, -h]);
    for (step, shift) in steps.flat_map(|step| shifts.map(|shift| (step, shift))) {
        for z in (-3600..=3600).map(|z| 0.01 * f64::from(z)) {
            for y in [-1.0, 1.0] {
                let products = [[shift; 8], [step; 8]].concat();
                let batch =
                    Batch { fitted: &[z], targets: &[y], products: &products, u1: 1.0, u2: 1.0 };
                let mut out = [0.0; 8];
                Logistic.differences(&batch, &mut out);
                let expected = Logistic.difference(z + shift, step, y);
                // The margin is rounded on both sides, by half a unit each: a relative error of the
                // slope.
                let allowed = (4.0 + 1.5 * (z + shift).abs()) * f64::EPSILON * expected.abs();
                assert!((out[0] - expected).abs() <= allowed, "{z} {shift} {step}: {}", out[0]);
            }
        }
    }
}

#[test]
fn tiles_of_rows_add_up_and_threads_change_no_bit() {
    let (rows, features, count) = (1100, 90, 30);
    for loss in losses(0.4) {
        let drawn = values(4, rows * features);
        let dense = Rows::dense(features, drawn.clone()).unwrap().into_unit_ball();
        // A few values again and again: many rows share sums.
        let levels = drawn.iter().map(|value| 0.05 * value.round()).collect();
        let repeated = Rows::dense(features, levels).unwrap().to_sparse();
        for stored in [dense.to_sparse(), dense, repeated] {
            let targets: Vec<f64> = values(5, rows).into_iter().map(f64::signum).collect();
            let samples = Arc::new(Samples::new(stored, targets).unwrap());
            let risk = EmpiricalRisk { samples: samples.clone(), loss: loss.clone(), weight: 0.5 };
            let mut directions = Directions::default();
            directions.resize(features, count);
            directions.values_mut().copy_from_slice(&values(6, features * 2 * count));
            let point = values(7, features);
            let probe = Probe { point: &point, u1: 0.1, u2: 1e-3, directions: &directions };
            let quotients = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let mut out = vec![0.0; count];
                pool.install(|| risk.quotients(&probe, &mut Scratch::default(), &mut out));
                out
            };
            let one = quotients(1);
            for threads in [2, 3, 8] {
                assert_eq!(one, quotients(threads), "{} threads", threads);
            }
            for j in 0..count {
                let nu = |p: usize| (directions.feature(p).0[j], directions.feature(p).1[j]);
                let here: Vec<f64> = (0..features).map(|p| point[p] + 0.1 * nu(p).0).collect();
                let along: Vec<f64> = (0..features).map(|p| nu(p).1).collect();
                let term = |i: usize| {
                    let (z, step) = (samples.rows.dot(i, &here), samples.rows.dot(i, &along));
                    loss.difference(z, 1e-3 * step, samples.targets[i]) * 0.5 / 1e-3
                };
                let sum: f64 = (0..rows).map(term).sum();
                let size: f64 = (0..rows).map(|i| term(i).abs()).sum();
                assert!(
                    (one[j] - sum).abs() <= 1e-11 * size,
                    "{}: {} against {sum}",
                    loss.name(),
                    one[j]
                );
            }
        }
    }
}

#[test]
fn the_quotients_of_f_k_are_differences_of_its_values_in_every_shape() {
    let regularizers =
        |features: usize| common::regularizers(0.4, &[vec![0], (1..features - 1).collect()]);
    // Few and many columns and directions: the Gram form as a loop, as a library's product, and not
    // at all (rows = 3).
    for (features, rows) in [(3, 40), (5, 40), (9, 40), (10, 20), (23, 40), (30, 40), (10, 3)] {
        for count in [1, 7, 8, 9, 30, 32, 45] {
            for regularizer in regularizers(features) {
                // A group may not hold the constant column; the others see both cases.
                let intercept = count % 2 == 0;
                let data = Rows::dense(features, values(8, rows * features)).unwrap();
                let problem = Problem {
                    loss: Arc::new(Squared),
                    regularizer: regularizer.clone(),
                    eta: 0.8,
                    scale: Scale::Mean,
                    intercept,
                    agents: vec![Arc::new(Samples::new(data, values(9, rows)).unwrap())],
                };
                let objective = problem.local(0);
                let lagrangian = Lagrangian {
                    objective: &objective,
                    linear: values(10, features),
                    quadratic: 0.7,
                };
                let mut directions = Directions::default();
                directions.resize(features, count);
                directions.values_mut().copy_from_slice(&values(11, features * 2 * count));
                let point = values(12, features);
                // Steps so long that nothing cancels, and that many coordinates change their signs.
                let (u1, u2) = (0.3, 0.6);
                let probe = Probe { point: &point, u1, u2, directions: &directions };
                for level in Level::available() {
                    let mut out = vec![f64::NAN; count];
                    at(level, || lagrangian.quotients(&probe, &mut Scratch::default(), &mut out));
                    for (j, out) in out.iter().enumerate() {
                        let at = |u2: f64| -> Vec<f64> {
                            let moved = |p: usize| {
                                let (nu1, nu2) = directions.feature(p);
                                point[p] + u1 * nu1[j] + u2 * nu2[j]
                            };
                            (0..features).map(moved).collect()
                        };
                        let (here, there) = (lagrangian.value(&at(0.0)), lagrangian.value(&at(u2)));
                        let expected = (there - here) / u2;
                        assert!(
                            (out - expected).abs() <= 1e-13 * (1.0 + here.abs() + there.abs()) / u2,
                            "{regularizer:?} P = {features} J = {count} {level:?}: {out} against \
                             {expected}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn the_sum_of_a_loss_is_that_of_its_values_on_every_level() {
    for loss in losses(0.4) {
        for samples in [0, 1, 8, 37] {
            for scale in [1e-9, 1.0, 30.0, 800.0, f64::INFINITY] {
                let fitted: Vec<f64> = values(1, samples).iter().map(|z| scale * z).collect();
                let targets: Vec<f64> = values(2, samples).iter().map(|y| y.signum()).collect();
                // No value is negative: nothing cancels.
                let pairs = fitted.iter().zip(&targets);
                let sum: f64 = pairs.map(|(z, y)| loss.value(*z, *y)).sum();
                let sums = Level::available()
                    .into_iter()
                    .map(|level| at(level, || loss.sum(&fitted, &targets)));
                let sums: Vec<f64> = sums.collect();
                assert!(sums.windows(2).all(|pair| pair[0].to_bits() == pair[1].to_bits()));
                let near = (sums[0] - sum).abs() <= 1e-15 * (8.0 + samples as f64) * sum;
                assert!(
                    near || sums[0] == sum || (sum.is_nan() && sums[0].is_nan()),
                    "{} {scale}: {sums:?}, not {sum}",
                    loss.name()
                );
            }
        }
    }
}
