//! Means of releases: what may be sent without a charge.

use super::link::Received;
use dzoa_privacy::Release;
use dzoa_privacy::ball::project;
use std::sync::Arc;

/// A mean of releases, own and received, with public weights: post-processing, so free.
///
/// It is made from nothing else, and only by an agent:
///
/// ```compile_fail
/// let made_up = dzoa::agent::Averaged(vec![1.0].into());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Averaged(Arc<[f64]>);

impl Averaged {
    /// The values on the wire.
    pub fn values(&self) -> &Arc<[f64]> {
        &self.0
    }

    /// This mean mixed with those of the neighbours. The weights are public and at most 1 together;
    /// what is left of 1 stays with our own.
    pub(super) fn mixed(&self, weights: &[f64], received: &[Received]) -> Self {
        let kept = 1.0 - weights.iter().sum::<f64>();
        let mix = |p: usize| {
            let theirs = weights.iter().zip(received);
            kept * self.0[p] + theirs.map(|(w, x)| w * x.values()[p]).sum::<f64>()
        };
        Self((0..self.0.len()).map(mix).collect())
    }

    /// This mean inside a ball. A mean of vectors in the ball lies in it, but for rounding.
    pub(super) fn within(self, radius: f64) -> Self {
        Self(project(self.0, radius))
    }
}

/// The sum of an agent's later releases.
#[derive(Clone, Debug)]
pub(super) struct ReleaseSum {
    sum: Vec<f64>,
    count: u64,
}

impl ReleaseSum {
    /// Of no release.
    pub(super) fn zero(dim: usize) -> Self {
        Self { sum: vec![0.0; dim], count: 0 }
    }

    /// One release more.
    pub(super) fn add(&mut self, release: &Release) {
        self.sum.iter_mut().zip(&release[..]).for_each(|(sum, beta)| *sum += beta);
        self.count += 1;
    }

    /// `None` of no release.
    pub(super) fn mean(&self) -> Option<Averaged> {
        let mean = || self.sum.iter().map(|sum| sum / self.count as f64).collect();
        (self.count > 0).then(|| Averaged(mean()))
    }
}
