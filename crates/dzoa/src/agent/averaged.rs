//! Means of releases: what may be sent without a charge.

use super::link::Received;
use crate::network::gossip;
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

    /// This mean mixed with those of the neighbours, by public weights.
    pub(super) fn mixed(&self, weights: &[f64], received: &[Received]) -> Self {
        let theirs: Vec<&[f64]> = received.iter().map(|received| &**received.values()).collect();
        Self(gossip::mixed(&self.0, weights, &theirs, gossip::Order::NeighboursFirst).into())
    }

    /// This mean inside a ball. A mean of vectors in the ball lies in it, but for rounding.
    pub(super) fn within(self, radius: f64) -> Self {
        Self(project(self.0, radius))
    }
}

/// The mean of an agent's later releases.
#[derive(Clone, Debug)]
pub(super) struct ReleaseMean(gossip::RunningMean);

impl ReleaseMean {
    /// Of no release.
    pub(super) fn new(dim: usize) -> Self {
        Self(gossip::RunningMean::new(dim))
    }

    /// One release more.
    pub(super) fn add(&mut self, release: &Release) {
        self.0.add(release);
    }

    /// `None` of no release.
    pub(super) fn mean(&self) -> Option<Averaged> {
        self.0.mean().map(|mean| Averaged(mean.into()))
    }
}
