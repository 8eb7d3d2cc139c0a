//! The same mechanism `output`, computed faster: what is known from other runs, and from the
//! shadows, is where solvers start.
//!
//! A point within tau of the minimiser is released, whichever way it was found: tau, the
//! certificate, the charge and the noise are those of the mechanism. Only starts differ. The
//! attacked agent's own step begins where its shadow has arrived; the others, whose rows are no
//! secret here, skip the zeroth-order loop and go straight to the solver that finishes it. Starts
//! depend on the run alone, so that threads change nothing.

use super::attacked::Attack;
use dzoa::plan::{Charges, Data, Plan};
use dzoa::prelude::*;
use dzoa::primal::{
    Certified, InnerFailure, Lagrangian, Primal, PrimalStep, PrimalTask, Workspace,
};
use dzoa_report::refused;
use dzoa_table::{Error, Result};
use std::sync::{Arc, Mutex, PoisonError};

/// How near a shadow comes, in units of tau, where its point must satisfy the loop's own
/// certificate, which is the looser one. Elsewhere tau itself is far below what noise lets anybody
/// see.
const NEAR: f64 = 0.03;

/// What every run on one data set shares.
pub(super) struct Known {
    /// Which of the two data sets is held.
    pub(super) held: usize,
    /// Every agent's duals in the first round, where nothing has been exchanged yet.
    first: Vec<Vec<f64>>,
    /// The same for the shadows.
    shadows: [Vec<f64>; 2],
    tolerance: f64,
}

impl Known {
    pub(super) fn new(
        attack: &Attack<'_>,
        held: &Problem,
        problems: [&Problem; 2],
        plan: &Plan,
    ) -> Result<Self> {
        let (settings, graph, k) = (*plan.admm(), plan.graph(), attack.k);
        let quadratic = |l: usize| settings.rho * graph.neighbourhood(l, settings.self_loop) as f64;
        let duals = |problem: &Problem, l: usize, tolerance: f64| {
            first_duals(problem, l, quadratic(l), tolerance)
        };
        let near = if attack.inner_loop(held, k).is_some() { NEAR } else { 1.0 };
        let tolerance = near * plan.at(k).charges.tau;
        let first = (0..graph.len()).map(|l| duals(held, l, plan.at(l).charges.tau));
        let shadow = |bit: usize| duals(problems[bit], k, tolerance);
        Ok(Self {
            held: usize::from(Arc::ptr_eq(&held.agents[k], &problems[1].agents[k])),
            first: first.collect::<Result<_>>()?,
            shadows: [shadow(0)?, shadow(1)?],
            tolerance,
        })
    }

    /// Solvers that know the first round.
    pub(super) fn shadows(&self, problems: [&Problem; 2], k: usize) -> [Exact; 2] {
        [0, 1].map(|bit| {
            let mut exact =
                Exact::new(problems[bit].risk(k), Some(self.tolerance)).until_certified();
            exact.recall(self.shadows[bit].clone());
            exact
        })
    }
}

/// The duals of agent l's first update, for the weight of its quadratic part.
fn first_duals(problem: &Problem, l: usize, quadratic: f64, tolerance: f64) -> Result<Vec<f64>> {
    let objective = problem.local(l);
    let linear = vec![0.0; problem.dim()];
    let lagrangian = Lagrangian { objective: &objective, linear, quadratic };
    let mut exact = Exact::new(problem.risk(l), Some(tolerance)).until_certified();
    exact.solve(&lagrangian).map_err(|_| Error::run("the first update is no number"))?;
    Ok(exact.memory().to_vec())
}

/// Where the attacked agent's next update may start.
#[derive(Clone, Default)]
pub(super) struct Start(Arc<Mutex<(Vec<f64>, Vec<f64>)>>);

impl Start {
    /// At a point, with the duals that prove it.
    pub(super) fn set(&self, point: &[f64], exact: &Exact) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) =
            (point.to_vec(), exact.memory().to_vec());
    }

    fn take(&self) -> (Vec<f64>, Vec<f64>) {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The mechanism's own step from another start.
struct Started {
    step: Certified,
    start: Start,
}

impl PrimalStep for Started {
    fn update(
        &mut self,
        task: PrimalTask<'_>,
        work: &mut Workspace,
    ) -> Result<Primal, InnerFailure> {
        let (point, duals) = self.start.take();
        self.step.recall(duals);
        let start = if point.len() == task.start.len() { &point } else { task.start };
        self.step.update(PrimalTask { start, ..task }, work)
    }
}

impl Attack<'_> {
    /// The loop that agent l tries first. Only the attacked agent's matters; and where rows sit on
    /// kinks it is not certified, and the solver that finishes begins at its own duals: there it
    /// would take its time and change nothing that is released.
    fn inner_loop(&self, problem: &Problem, l: usize) -> Option<ZerothOrder> {
        let smooth = problem.loss.smoothness().is_some();
        self.plan.at(l).inner.filter(|_| l == self.k && smooth)
    }

    /// The agents of one run of `output` on one data set.
    pub(super) fn started(
        &self,
        problem: &Problem,
        plan: &Plan,
        known: &Known,
        start: &Start,
        streams: &Streams,
    ) -> Result<Vec<Agent>> {
        let plan = plan.with_data(Data::Rows(problem.clone()));
        let built = plan.agents_with_steps(Vec::new(), streams, |l| {
            let inner = self.inner_loop(problem, l);
            let Charges { tau, radius, .. } = plan.at(l).charges;
            let mut step = Certified::output(inner, problem.risk(l), tau, radius);
            step.recall(known.first[l].clone());
            match l == self.k {
                true => Box::new(Started { step, start: start.clone() }),
                false => Box::new(step),
            }
        });
        built.map_err(refused)
    }
}
