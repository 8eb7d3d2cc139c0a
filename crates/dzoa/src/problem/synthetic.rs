//! Generated data: the paper's simulation, and its kin for classifiers.

use super::data::{Rows, Samples};
use super::loss::Targets;
use crate::streams::{FastRng, fill_normal};
use rand::RngExt;

/// How much data to make, and how noisy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Synthetic {
    /// K.
    pub agents: usize,
    /// N_k.
    pub samples: usize,
    /// P.
    pub features: usize,
    /// Variance of psi in `y = X omega + psi`.
    pub noise_variance: f64,
    /// Standard deviation of the entries of omega.
    pub signal: f64,
    /// Divide every column by its largest absolute value, as the paper does. It reads all agents'
    /// data: for replication only.
    pub normalize_columns: bool,
}

impl Default for Synthetic {
    /// The paper's section VI.
    fn default() -> Self {
        Self {
            agents: 5,
            samples: 20,
            features: 10,
            noise_variance: 0.1,
            signal: 1.0,
            normalize_columns: true,
        }
    }
}

impl Synthetic {
    /// Draws `X`, normalises its columns (by their largest absolute value, over all agents) and
    /// rows (into the unit ball), and then the targets: `y = X omega + psi`, or for classifiers
    /// signs from the logistic model.
    #[doc(alias = "y = X omega + psi")]
    pub fn draw(&self, targets: Targets, rng: &mut FastRng) -> Vec<Samples> {
        let (p, total) = (self.features, self.agents * self.samples);
        let mut x = vec![0.0; total * p];
        fill_normal(rng, &mut x);
        if self.normalize_columns {
            for column in 0..p {
                let largest =
                    x.iter().skip(column).step_by(p).fold(0.0, |max: f64, v| max.max(v.abs()));
                x.iter_mut().skip(column).step_by(p).for_each(|v| *v /= largest);
            }
        }
        let rows = Rows::dense(p, x).expect("as many values as rows and columns").into_unit_ball();
        let mut omega = vec![0.0; p];
        fill_normal(rng, &mut omega);
        omega.iter_mut().for_each(|omega| *omega *= self.signal);
        let y: Vec<f64> = (0..total)
            .map(|i| {
                let z = rows.dot(i, &omega);
                match targets {
                    Targets::Real => {
                        let mut psi = [0.0];
                        fill_normal(rng, &mut psi);
                        z + self.noise_variance.sqrt() * psi[0]
                    }
                    Targets::Signs => {
                        let positive = rng.random::<f64>() < 1.0 / (1.0 + (-z).exp());
                        if positive { 1.0 } else { -1.0 }
                    }
                }
            })
            .collect();
        let all = Samples { rows, targets: y };
        (0..self.agents)
            .map(|k| {
                let part: Vec<usize> = (k * self.samples..(k + 1) * self.samples).collect();
                all.select(&part)
            })
            .collect()
    }
}
