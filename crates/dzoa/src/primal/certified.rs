//! Descent until it is certified to be near the minimiser, with or without a solver that finishes.
//!
//! The certificate is that of [`Exact`], so the loss must be known.
//!
//! Under the mechanism `output` the result is within tau of the minimiser on every data set.
//! Replacing one row moves the exact minimiser of `F_k` by at most Lemma 3's sensitivity `Delta_k`,
//! since `F_k` is `2 rho |N_k|`-strongly convex. A point within `tau` of the minimiser on either
//! data set adds at most `2 tau`. So the point has sensitivity `Delta_k + 2 tau`, and noise
//! calibrated to that makes its release exactly private, for any loss whose gradient is bounded by
//! `c1`. Whether tau can be reached must not depend on the data, whatever neighbours send. So what
//! they send lies in a ball of public radius, and so does the centre of `F_k`'s quadratic part:
//! [`crate::guarantee::radius`].
//!
//! Without a guarantee the loop alone may do, with an end of its own. What is left of the inner
//! error is then at most the tolerance, in place of the noise of T steps.

use super::two_point::GradientQuery;
use super::{
    Descent, Exact, InnerFailure, Lagrangian, Primal, PrimalStep, PrimalTask, RoundContext,
    Workspace, ZerothOrder,
};
use crate::problem::EmpiricalRisk;
use crate::streams::Purpose;

/// The zeroth-order loop until it is certified to be within a tolerance, T steps at most.
pub struct Certified {
    inner: Option<ZerothOrder>,
    exact: Exact,
    tolerance: f64,
    radius: f64,
    /// Whether the exact solver goes on where T steps are not enough.
    finishes: bool,
}

/// How far the loop came.
struct Tried {
    b: Vec<f64>,
    done: Descent,
    certified: bool,
}

impl Certified {
    /// The step of the mechanism `output` at one agent: always within `tau`. The radius is that of
    /// [`crate::plan::Charges`]; without an inner loop the exact solver does it alone.
    pub fn output(inner: Option<ZerothOrder>, risk: EmpiricalRisk, tau: f64, radius: f64) -> Self {
        let exact = Exact::new(risk, Some(tau)).until_certified();
        Self { inner, exact, tolerance: tau, radius, finishes: true }
    }

    /// At most T steps, and none beyond the tolerance. For agents without a guarantee only: how
    /// long it takes depends on the data, and nothing here hides that.
    pub fn stopping(inner: ZerothOrder, risk: EmpiricalRisk, tolerance: f64) -> Self {
        let exact = Exact::new(risk, Some(tolerance));
        Self { inner: Some(inner), exact, tolerance, radius: f64::INFINITY, finishes: false }
    }

    /// The loop, where there is one.
    fn descend(
        &self,
        lagrangian: &Lagrangian<'_>,
        start: &[f64],
        context: &RoundContext<'_>,
        work: &mut Workspace,
    ) -> Result<Tried, InnerFailure> {
        let mut tried = Tried { b: start.to_vec(), done: Descent::default(), certified: false };
        let Some(inner) = &self.inner else { return Ok(tried) };
        let near = |b: &[f64]| self.exact.distance_at(lagrangian, b) <= self.tolerance;
        let draw = context.directions(Purpose::Directions, context.round);
        let mut query = GradientQuery { inner, objective: lagrangian, near };
        match inner.repeat(&mut query, &mut tried.b, draw, work) {
            Ok(done) => {
                tried.certified = self.finishes && near(&tried.b);
                tried.done = done;
            }
            // A loop that left the finite numbers is simply not certified.
            Err(_) if self.finishes => tried.done.steps = inner.inner_steps,
            Err(failure) => return Err(failure),
        }
        Ok(tried)
    }
}

impl PrimalStep for Certified {
    fn update(
        &mut self,
        task: PrimalTask<'_>,
        work: &mut Workspace,
    ) -> Result<Primal, InnerFailure> {
        let PrimalTask { lagrangian, start, receipt, context } = task;
        let lagrangian = &*lagrangian.centred_within(self.radius);
        let Tried { mut b, done, certified } = self.descend(lagrangian, start, &context, work)?;
        let finished_exactly = self.finishes && !certified;
        if finished_exactly {
            b = self.exact.solve(lagrangian)?.0;
        }
        Ok(Primal {
            release: context.release(b, receipt)?,
            oracle_calls: self.inner.map_or(0, |inner| inner.oracle_calls(done.steps)),
            step_raised: done.raised,
            finished_exactly,
            clipped: 0,
        })
    }

    fn radius(&self) -> f64 {
        self.radius
    }

    fn memory(&self) -> &[f64] {
        if self.finishes { self.exact.memory() } else { &[] }
    }

    fn recall(&mut self, memory: Vec<f64>) {
        self.exact.recall(memory);
    }
}
