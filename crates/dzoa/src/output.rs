//! The primal step of the mechanism `output`: within tau of the minimiser on every data set.
//!
//! Replacing one row moves the exact minimiser of `F_k` by at most Lemma 3's sensitivity `Delta_k`, since
//! `F_k` is `2 rho |N_k|`-strongly convex. A point within `tau` of the minimiser on either data set adds at
//! most `2 tau`. So the point has sensitivity `Delta_k + 2 tau`, and noise calibrated to that makes its
//! release exactly private, for any loss whose gradient is bounded by `c1`.
//!
//! Whether tau can be reached must not depend on the data, whatever neighbours send. So what they
//! send lies in a ball of public radius, and so does the centre of `F_k`'s quadratic part:
//! [`crate::mechanism::radius`].

use crate::admm::{InnerFailure, Primal, PrimalStep, RoundContext};
use crate::exact::Exact;
use crate::lagrangian::Lagrangian;
use crate::problem::EmpiricalRisk;
use crate::streams::Purpose;
use crate::zeroth_order::{Workspace, ZerothOrder};
use dzoa_privacy::Receipt;

/// The zeroth-order loop first, until it is certified to be within tau; where T steps are not enough, the exact
/// solver finishes.
pub struct Output {
    inner: Option<ZerothOrder>,
    exact: Exact,
    tau: f64,
    radius: f64,
}

impl Output {
    /// For one agent, with the tau and the radius of its [`crate::mechanism::OutputPlan`]; without
    /// an inner loop the exact solver does it alone.
    pub fn new(inner: Option<ZerothOrder>, risk: EmpiricalRisk, tau: f64, radius: f64) -> Self {
        Self { inner, exact: Exact::new(risk, Some(tau)).until_certified(), tau, radius }
    }
}

impl PrimalStep for Output {
    fn update(
        &mut self,
        lagrangian: &Lagrangian<'_>,
        start: &[f64],
        receipt: Receipt,
        context: &RoundContext<'_>,
        work: &mut Workspace,
    ) -> Result<Primal, InnerFailure> {
        let lagrangian = &*lagrangian.centred_within(self.radius);
        let mut b = start.to_vec();
        let (mut certified, mut oracle_calls) = (false, 0);
        if let Some(inner) = &self.inner {
            let fill = context.directions(Purpose::Directions, context.round);
            let near = |b: &[f64]| self.exact.distance_at(lagrangian, b) <= self.tau;
            let done = inner.descend_until(lagrangian, &mut b, fill, work, near);
            // A loop that left the finite numbers is simply not certified.
            certified = done.is_ok() && near(&b);
            let steps = done.map_or(inner.inner_steps, |done| done.steps);
            oracle_calls = inner.oracle_calls(steps);
        }
        if !certified {
            b = self.exact.solve(lagrangian)?.0;
        }
        Ok(Primal {
            release: context.release(b, receipt)?,
            oracle_calls,
            step_raised: false,
            finished_exactly: !certified,
            clipped: 0,
        })
    }

    fn radius(&self) -> f64 {
        self.radius
    }

    fn memory(&self) -> &[f64] {
        self.exact.memory()
    }

    fn recall(&mut self, memory: Vec<f64>) {
        self.exact.recall(memory);
    }
}
