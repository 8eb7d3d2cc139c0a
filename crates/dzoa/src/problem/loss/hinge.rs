use super::{Epigraph, Line, Loss, LossEntry, Targets};
use std::sync::Arc;

/// In the registry.
pub(super) const ENTRY: LossEntry = LossEntry {
    name: "hinge",
    about: "max(0, 1 - y z), the support vector machine",
    parameters: &[],
    build: |_| Arc::new(Hinge),
};

/// `max(0, 1 - y z)` with targets -1 and +1: the support vector machine. c1 = 1.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hinge;

impl Loss for Hinge {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn value(&self, z: f64, y: f64) -> f64 {
        (1.0 - y * z).max(0.0)
    }

    #[inline(always)]
    fn difference(&self, z: f64, step: f64, y: f64) -> f64 {
        let (short, change) = (1.0 - y * z, -y * step);
        if short > 0.0 { change.max(-short) } else { (short + change).max(0.0) }
    }

    fn slope(&self, z: f64, y: f64) -> f64 {
        if y * z < 1.0 { -y } else { 0.0 }
    }

    fn lipschitz(&self) -> Option<f64> {
        Some(1.0)
    }

    fn targets(&self) -> Targets {
        Targets::Signs
    }

    fn dual_prox(&self, w: f64, kappa: f64, y: f64) -> f64 {
        -y * ((1.0 - y * w) / kappa).clamp(0.0, 1.0)
    }

    fn fenchel_gap(&self, z: f64, a: f64, y: f64) -> f64 {
        let (short, weight) = (1.0 - y * z, -y * a);
        if short > 0.0 { (1.0 - weight) * short } else { -weight * short }
    }

    fn epigraph(&self, y: f64) -> Option<Epigraph> {
        Some(Epigraph::Lines(vec![Line::new(0.0, 0.0), Line::new(-y, 1.0)]))
    }
}
