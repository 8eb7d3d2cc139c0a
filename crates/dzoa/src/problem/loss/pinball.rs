use super::{Epigraph, Line, Loss, LossEntry, absolute_difference};
use crate::registry::{NumberRange, Parameter};
use std::sync::Arc;

const QUANTILE: Parameter = Parameter::new("quantile", NumberRange::Fraction, 0.5);

/// In the registry.
pub(super) const ENTRY: LossEntry = LossEntry {
    name: "pinball",
    about: "the quantile loss",
    parameters: &[QUANTILE],
    build: |given| Arc::new(Pinball { quantile: given.of(QUANTILE) }),
};

/// The quantile loss: `q (y - z)` where the prediction is too low, `(1 - q) (z - y)` where it is
/// too high. c1 = max(q, 1 - q).
#[derive(Clone, Copy, Debug)]
pub struct Pinball {
    /// The quantile q, strictly between 0 and 1.
    pub quantile: f64,
}

impl Default for Pinball {
    fn default() -> Self {
        Self { quantile: QUANTILE.default }
    }
}

impl Loss for Pinball {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![(QUANTILE.key, self.quantile)]
    }

    fn value(&self, z: f64, y: f64) -> f64 {
        (self.quantile * (y - z)).max((1.0 - self.quantile) * (z - y))
    }

    #[inline(always)]
    fn difference(&self, z: f64, step: f64, y: f64) -> f64 {
        (0.5 - self.quantile) * step + 0.5 * absolute_difference(z - y, step)
    }

    fn slope(&self, z: f64, y: f64) -> f64 {
        if z > y {
            1.0 - self.quantile
        } else if z < y {
            -self.quantile
        } else {
            0.0
        }
    }

    fn lipschitz(&self) -> Option<f64> {
        Some(self.quantile.max(1.0 - self.quantile))
    }

    fn dual_prox(&self, w: f64, kappa: f64, y: f64) -> f64 {
        ((w - y) / kappa).clamp(-self.quantile, 1.0 - self.quantile)
    }

    fn fenchel_gap(&self, z: f64, a: f64, y: f64) -> f64 {
        let r = z - y;
        if r >= 0.0 { (1.0 - self.quantile - a) * r } else { -(self.quantile + a) * r }
    }

    fn epigraph(&self, y: f64) -> Option<Epigraph> {
        let q = self.quantile;
        Some(Epigraph::Lines(vec![Line::new(-q, q * y), Line::new(1.0 - q, -(1.0 - q) * y)]))
    }
}
