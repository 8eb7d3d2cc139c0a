//! The zeroth-order loop with an end of its own: it stops once it is certified to be near the minimiser.
//!
//! The certificate is that of [`crate::exact`], so the loss must be known. What is left of the inner error is at most
//! the tolerance, in place of the noise of T steps: without a promise only, since how long it takes depends on the
//! data, and nothing here hides that.

use crate::admm::{InnerFailure, Primal, PrimalStep, RoundContext};
use crate::exact::Exact;
use crate::lagrangian::Lagrangian;
use crate::problem::EmpiricalRisk;
use crate::streams::Purpose;
use crate::zeroth_order::{Workspace, ZerothOrder};
use dzoa_privacy::Receipt;

/// At most T steps, and none beyond the tolerance.
pub struct Stopping {
    inner: ZerothOrder,
    certificate: Exact,
    tolerance: f64,
}

impl Stopping {
    /// For one agent with this data term.
    pub fn new(inner: ZerothOrder, risk: EmpiricalRisk, tolerance: f64) -> Self {
        Self { inner, certificate: Exact::new(risk, Some(tolerance)), tolerance }
    }
}

impl PrimalStep for Stopping {
    fn update(
        &mut self,
        lagrangian: &Lagrangian<'_>,
        start: &[f64],
        receipt: Receipt,
        context: &RoundContext<'_>,
        work: &mut Workspace,
    ) -> Result<Primal, InnerFailure> {
        let mut b = start.to_vec();
        let draw = context.directions(Purpose::Directions, context.round);
        let near = |b: &[f64]| self.certificate.distance_at(lagrangian, b) <= self.tolerance;
        let done = self.inner.descend_until(lagrangian, &mut b, draw, work, near)?;
        Ok(Primal {
            release: context.release(b, receipt)?,
            oracle_calls: self.inner.oracle_calls(done.steps),
            step_raised: done.raised,
            finished_exactly: false,
            clipped: 0,
        })
    }
}
