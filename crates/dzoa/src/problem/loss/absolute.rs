use super::{Epigraph, Line, Loss, LossEntry, absolute_difference};
use std::sync::Arc;

/// In the registry.
pub(super) const ENTRY: LossEntry = LossEntry {
    name: "absolute",
    about: "|z - y|",
    parameters: &[],
    build: |_| Arc::new(Absolute),
};

/// `|z - y|`. c1 = 1.
#[derive(Clone, Copy, Debug, Default)]
pub struct Absolute;

impl Loss for Absolute {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn value(&self, z: f64, y: f64) -> f64 {
        (z - y).abs()
    }

    #[inline(always)]
    fn difference(&self, z: f64, step: f64, y: f64) -> f64 {
        absolute_difference(z - y, step)
    }

    fn slope(&self, z: f64, y: f64) -> f64 {
        if z == y { 0.0 } else { (z - y).signum() }
    }

    fn lipschitz(&self) -> Option<f64> {
        Some(1.0)
    }

    fn dual_prox(&self, w: f64, kappa: f64, y: f64) -> f64 {
        ((w - y) / kappa).clamp(-1.0, 1.0)
    }

    fn fenchel_gap(&self, z: f64, a: f64, y: f64) -> f64 {
        let r = z - y;
        r.abs() * (1.0 - a * r.signum())
    }

    fn epigraph(&self, y: f64) -> Option<Epigraph> {
        Some(Epigraph::Lines(vec![Line::new(1.0, -y), Line::new(-1.0, y)]))
    }
}
