use super::{Epigraph, Likelihood, Loss, LossEntry};
use std::sync::Arc;

/// In the registry.
pub(super) const ENTRY: LossEntry = LossEntry {
    name: "squared",
    about: "(z - y)^2",
    parameters: &[],
    build: |_| Arc::new(Squared),
};

/// `(z - y)^2`, without a factor 1/2: the paper's lasso. Its gradient is unbounded: no c1 exists.
#[derive(Clone, Copy, Debug, Default)]
pub struct Squared;

impl Loss for Squared {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn value(&self, z: f64, y: f64) -> f64 {
        (z - y) * (z - y)
    }

    #[inline(always)]
    fn difference(&self, z: f64, step: f64, y: f64) -> f64 {
        step * (2.0 * (z - y) + step)
    }

    fn slope(&self, z: f64, y: f64) -> f64 {
        2.0 * (z - y)
    }

    fn curvature(&self, _z: f64, _y: f64) -> Option<f64> {
        Some(2.0)
    }

    fn smoothness(&self) -> Option<f64> {
        Some(2.0)
    }

    fn likelihood(&self) -> Option<Likelihood> {
        Some(Likelihood::SquaredResidual)
    }

    fn lipschitz(&self) -> Option<f64> {
        None
    }

    fn dual_prox(&self, w: f64, kappa: f64, y: f64) -> f64 {
        2.0 * (w - y) / (1.0 + 2.0 * kappa)
    }

    fn fenchel_gap(&self, z: f64, a: f64, y: f64) -> f64 {
        let distance = z - y - 0.5 * a;
        distance * distance
    }

    fn epigraph(&self, _y: f64) -> Option<Epigraph> {
        Some(Epigraph::Square)
    }
}
