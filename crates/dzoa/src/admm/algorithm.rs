//! Algorithm 1 of the paper as code: one round m at one agent k.
//!
//! ```text
//! primal -> release -> exchange -> dual
//! ```
//!
//! The paper does not number its lines; here they are counted from the top, without the two
//! `end for`. It shares and updates the dual at the start of a round, which needs a value of the
//! round's end. The code computes first: the same recursion, without that knot.
//!
//! An agent never waits by itself, so a round is two functions. Between them its driver exchanges
//! the release for those of the neighbours.

use super::{Admm, LocalState};
use crate::primal::{InnerFailure, Primal, PrimalStep, PrimalTask, RoundContext, Workspace};
use crate::problem::LocalObjective;
use dzoa_privacy::{Receipt, Release};
use std::sync::Arc;

/// One round of Algorithm 1 at one agent.
pub struct Round<'a> {
    /// rho, and how the inner loop starts.
    pub admm: &'a Admm,
    /// `f_k`
    pub objective: &'a LocalObjective,
    /// How `F_k` is minimised: the inner loop.
    pub step: &'a mut dyn PrimalStep,
    /// `beta^(m-1)` and `gamma^(m-1)`, of this agent and on its edges.
    pub state: &'a mut LocalState,
    /// k and m.
    pub context: RoundContext<'a>,
}

impl Round<'_> {
    /// Primal update and release, paid for by the receipt.
    #[doc(alias = "fourthprivacyb")]
    #[doc(alias = "firstprivacy")]
    #[doc(alias = "Algorithm 1, line 5: the start of the inner loop")]
    #[doc(alias = "Algorithm 1, line 11: the primal update")]
    pub fn primal(
        &mut self,
        receipt: Receipt,
        work: &mut Workspace,
    ) -> Result<Primal, InnerFailure> {
        // Line 5: the inner loop starts at 0, or where the last round ended.
        let zero = vec![0.0; self.state.beta.len()];
        let start = if self.admm.warm_start { &*self.state.beta } else { &zero };

        // Lines 6 to 10: minimise F_k(.; beta^(m-1), gamma^(m-1)), eq. (18).
        let lagrangian = &self.state.lagrangian(self.admm, self.objective);
        let task = PrimalTask { lagrangian, start, receipt, context: self.context };
        let primal = self.step.update(task, work)?;

        // Line 11: beta_k^(m) is what is released of the minimiser, eq. (19).
        Ok(primal.within(self.step.radius()))
    }

    /// Dual update, once the release was exchanged for those of the neighbours (line 3): what came
    /// of that on every edge, in the order of the edges.
    #[doc(alias = "Algorithm 1, lines 3 and 4: sharing and the dual update")]
    pub fn dual(&mut self, release: &Release, exchanged: impl IntoIterator<Item = Exchanged>) {
        for (edge, Exchanged { pairs, newest }) in self.state.edges.iter_mut().zip(exchanged) {
            // Line 4: gamma_kl^(m) = gamma_kl^(m-1) + rho (beta_k^(m) - beta_l^(m)), eq. (20).
            for ReleasePair { ours, theirs } in pairs {
                edge.pair(self.admm.rho, &ours, &theirs);
            }
            // beta_l^(m), for F_k of the next round.
            if let Some(beta) = newest {
                edge.beta = beta;
            }
        }
        self.state.beta = release.values().clone();
    }
}

/// What was exchanged on one edge since the last dual update.
#[derive(Clone, Debug, Default)]
pub struct Exchanged {
    /// Releases of both ends that belong together: one pair in lockstep. A neighbour that is late
    /// leaves none, and makes up for it later.
    pub pairs: Vec<ReleasePair>,
    /// The neighbour's newest release, where there is a new one.
    pub newest: Option<Arc<[f64]>>,
}

/// The two releases of one round on one edge.
#[derive(Clone, Debug)]
pub struct ReleasePair {
    /// `beta_k`
    pub ours: Arc<[f64]>,
    /// `beta_l`
    pub theirs: Arc<[f64]>,
}
