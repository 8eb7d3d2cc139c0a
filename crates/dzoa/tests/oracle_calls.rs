//! The options that make fewer values do: what holds for the estimate's mean and variance,
//! in closed form.

use dzoa::kernels::normals::Normals;
use dzoa::prelude::*;
use dzoa::primal::{Workspace, ZerothOrder};
use dzoa::problem::{Directions, Objective, Probe, Scratch};
use dzoa::streams::Purpose;

/// `h/2 ||b||^2 + slope' b`: a gradient that is known, and a curvature that is the same everywhere.
struct Bowl {
    curvature: f64,
    slope: Vec<f64>,
}

impl Objective for Bowl {
    fn dim(&self) -> usize {
        self.slope.len()
    }

    fn value(&self, b: &[f64]) -> f64 {
        b.iter().zip(&self.slope).map(|(b, slope)| b * (0.5 * self.curvature * b + slope)).sum()
    }

    fn shortest_step(&self, _: &[f64]) -> f64 {
        0.0
    }

    /// Without cancellation, so that the variances below are those of the estimator.
    fn quotients(&self, probe: &Probe<'_>, _: &mut Scratch, out: &mut [f64]) {
        let Probe { point, u1, u2, directions } = *probe;
        out.fill(0.0);
        for p in 0..point.len() {
            let (nu1, nu2) = directions.feature(p);
            for j in 0..out.len() {
                let here = point[p] + u1 * nu1[j];
                let slope = self.curvature * (here + 0.5 * u2 * nu2[j]) + self.slope[p];
                out[j] += slope * nu2[j];
            }
        }
    }
}

fn normals() -> Normals {
    Streams::from_seed(5).normals(Purpose::Directions, "a", 1)
}

fn drawn(normals: &Normals, step: u64, features: usize, count: usize) -> Directions {
    let mut directions = Directions::default();
    directions.resize(features, count);
    normals.fill(step, directions.values_mut());
    directions
}

#[test]
fn orthogonal_frames_are_at_right_angles_and_mirrored_ones_are_opposite() {
    let normals = normals();
    for (features, count, distinct) in
        [(10, 30, 30), (10, 30, 15), (10, 7, 7), (3, 8, 8), (1, 4, 4), (40, 5, 5)]
    {
        let mut directions = drawn(&normals, 1, features, count);
        let before = directions.clone();
        directions.orthogonalize(distinct, &mut Vec::new());
        let column =
            |j: usize| -> Vec<f64> { (0..features).map(|p| directions.feature(p).1[j]).collect() };
        for i in 0..distinct {
            for j in 0..=i {
                if i / features != j / features {
                    continue;
                }
                let product: f64 = column(i).iter().zip(column(j)).map(|(a, b)| a * b).sum();
                let expected = if i == j { features as f64 } else { 0.0 };
                assert!((product - expected).abs() < 1e-12 * features as f64, "{i} {j}: {product}");
            }
        }
        for p in 0..features {
            assert_eq!(directions.feature(p).0, before.feature(p).0, "nu1 stays as it was");
            assert_eq!(directions.feature(p).1[distinct..], before.feature(p).1[distinct..]);
        }
        directions.mirror();
        let half = count.div_ceil(2);
        for p in 0..features {
            let (nu1, nu2) = directions.feature(p);
            for j in half..count {
                assert_eq!((nu1[j], nu2[j]), (-nu1[j - half], -nu2[j - half]));
            }
        }
    }
}

/// Mean and mean squared error of the estimate over many draws.
fn errors(inner: &ZerothOrder, bowl: &Bowl, point: &[f64], u1: f64) -> (Vec<f64>, f64, usize) {
    let draws = 20_000;
    let (normals, features) = (normals(), point.len());
    let gradient: Vec<f64> =
        point.iter().zip(&bowl.slope).map(|(b, slope)| bowl.curvature * b + slope).collect();
    let mut work = Workspace::default();
    let (mut mean, mut square) = (vec![0.0; features], 0.0);
    // One step of length 1 from a point shows the estimate; alpha_1 = 1 for this choice.
    let scale = 1.0 / ZerothOrder { alpha0_times_r: 1.0, ..*inner }.step_size(1, features);
    let inner = ZerothOrder { inner_steps: 1, smoothing: u1, alpha0_times_r: scale, ..*inner };
    for draw in 0..draws {
        let mut b = point.to_vec();
        let fill = |_, directions: &mut Directions| normals.fill(draw, directions.values_mut());
        inner.descend(bowl, &mut b, fill, &mut work).unwrap();
        for p in 0..features {
            let estimate = point[p] - b[p];
            mean[p] += (estimate - gradient[p]) / draws as f64;
            square += (estimate - gradient[p]).powi(2) / draws as f64;
        }
    }
    (mean, square, draws as usize)
}

#[test]
fn the_estimate_keeps_its_mean_and_loses_the_variance_that_the_options_promise() {
    let (features, count, u1) = (6, 12, 0.3);
    let bowl = Bowl { curvature: 2.0, slope: (0..features).map(|p| p as f64 - 2.0).collect() };
    let plain = ZerothOrder { directions: count, ..Default::default() };
    let (p, j) = (features as f64, count as f64);
    for point in [vec![0.0; features], bowl.slope.iter().map(|slope| -slope / 2.0).collect()] {
        let g: f64 =
            point.iter().zip(&bowl.slope).map(|(b, s): (&f64, &f64)| (2.0 * b + s).powi(2)).sum();
        let u2 = plain.smoothing_at(1, features).1 * u1;
        // E ||(g'nu) nu - g||^2 = (P + 1) ||g||^2; nu1 adds (u1 h)^2 P (P + 2); u2 adds (u2 h/2)^2
        // E ||nu||^6.
        let smoothing = (u1 * bowl.curvature).powi(2) * p * (p + 2.0);
        let ends = (u2 * bowl.curvature / 2.0).powi(2) * p * (p + 2.0) * (p + 4.0);
        let expected = [
            (plain, ((p + 1.0) * g + smoothing + ends) / j),
            // Half as many distinct directions, and nothing odd is left.
            (ZerothOrder { antithetic: true, ..plain }, (p + 1.0) * g / (j / 2.0)),
            // Two full frames: nothing of the gradient is missed. ||nu||^2 = P.
            (
                ZerothOrder { orthogonal: true, ..plain },
                (smoothing * p / (p + 2.0) + ends * p.powi(2) / ((p + 2.0) * (p + 4.0))) / j,
            ),
            // One full frame, mirrored: the gradient itself.
            (ZerothOrder { antithetic: true, orthogonal: true, ..plain }, 0.0),
        ];
        for (inner, variance) in expected {
            let (mean, square, draws) = errors(&inner, &bowl, &point, u1);
            let what = format!("antithetic {}, orthogonal {}", inner.antithetic, inner.orthogonal);
            assert!(
                (square - variance).abs() <= 0.05 * variance + 1e-20,
                "{what}: {square} against {variance}"
            );
            let standard_error = (variance / p / draws as f64).sqrt();
            let worst = mean.iter().fold(0.0_f64, |worst, mean| worst.max(mean.abs()));
            assert!(worst <= 5.0 * standard_error + 1e-12, "{what}: biased by {worst}");
        }
    }
}
