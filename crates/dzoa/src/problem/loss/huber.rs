use super::{Epigraph, Line, Loss, LossEntry};
use crate::registry::{NumberRange, Parameter};
use std::sync::Arc;

const DELTA: Parameter = Parameter::new("huber_delta", NumberRange::Positive, 1.0);

/// In the registry.
pub(super) const ENTRY: LossEntry = LossEntry {
    name: "huber",
    about: "(z - y)^2/2 up to huber_delta, a line beyond",
    parameters: &[DELTA],
    build: |given| Arc::new(Huber { delta: given.of(DELTA) }),
};

/// Huber's loss with the factor 1/2: `r^2/2` up to `delta`, `delta |r| - delta^2/2` beyond. c1 =
/// delta.
#[derive(Clone, Copy, Debug)]
pub struct Huber {
    /// Where the parabola turns into a line.
    pub delta: f64,
}

impl Default for Huber {
    fn default() -> Self {
        Self { delta: DELTA.default }
    }
}

impl Loss for Huber {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![(DELTA.key, self.delta)]
    }

    fn value(&self, z: f64, y: f64) -> f64 {
        // With c the residual clipped to [-delta, delta]: c r - c^2/2 on both branches.
        let r = z - y;
        let c = r.clamp(-self.delta, self.delta);
        c * (r - 0.5 * c)
    }

    /// Its width was given in the units of the fit: in the target's own it is `unit` times as wide.
    fn value_in_unit(&self, z: f64, y: f64, unit: f64) -> f64 {
        unit * unit * self.value(z, y)
    }

    #[inline(always)]
    fn difference(&self, z: f64, step: f64, y: f64) -> f64 {
        let r = z - y;
        let c = r.clamp(-self.delta, self.delta);
        let moved = (r + step).clamp(-self.delta, self.delta);
        c * step + (moved - c) * (r + step - 0.5 * (moved + c))
    }

    fn slope(&self, z: f64, y: f64) -> f64 {
        (z - y).clamp(-self.delta, self.delta)
    }

    fn curvature(&self, z: f64, y: f64) -> Option<f64> {
        Some(if (z - y).abs() <= self.delta { 1.0 } else { 0.0 })
    }

    fn smoothness(&self) -> Option<f64> {
        Some(1.0)
    }

    /// As for a loss with a kink at zero: shorter steps than its curvature of 1 asks for, where
    /// delta is above the width.
    fn smoothed_curvature(&self, width: f64) -> f64 {
        1.0_f64.max(self.delta / width)
    }

    fn lipschitz(&self) -> Option<f64> {
        Some(self.delta)
    }

    fn dual_prox(&self, w: f64, kappa: f64, y: f64) -> f64 {
        ((w - y) / (1.0 + kappa)).clamp(-self.delta, self.delta)
    }

    fn fenchel_gap(&self, z: f64, a: f64, y: f64) -> f64 {
        let r = z - y;
        let edge = r.clamp(-self.delta, self.delta);
        if edge == r { 0.5 * (r - a) * (r - a) } else { (edge - a) * (r - 0.5 * (edge + a)) }
    }

    fn epigraph(&self, y: f64) -> Option<Epigraph> {
        let lines = vec![Line::new(1.0, -y), Line::new(-1.0, y)];
        Some(Epigraph::Rounded { curvature: 1.0, factor: self.delta, lines })
    }
}
