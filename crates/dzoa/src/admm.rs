//! Consensus ADMM at one agent: the paper's algorithm box, readable as such.
//!
//! ```text
//! round m = 1..M, starting from beta = gamma = 0:
//!   1. b        <- primal step on F_k(.; beta^(m-1), gamma^(m-1))                   eq. (fourthprivacya)
//!   2. beta_k^m <- what is released of b                                            eq. (fourthprivacyb)
//!   3. exchange beta^m with the neighbours
//!   4. gamma_kl <- gamma_kl + rho (beta_k^m - beta_l^m) on every edge               eq. (fourthprivacyc)
//! ```

use crate::lagrangian::Lagrangian;
use crate::problem::{Directions, Failure, LocalObjective};
use crate::streams::{Purpose, Streams};
use crate::zeroth_order::Workspace;
use dzoa_privacy::{Private, Receipt, Release, WrongEvent};
use std::sync::Arc;

/// Settings of the outer loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Admm {
    /// rho.
    pub rho: f64,
    /// M.
    pub rounds: u64,
    /// Count the agent itself in its neighbourhood, as the paper does.
    pub self_loop: bool,
    /// Start a primal step at the last release instead of at zero.
    pub warm_start: bool,
}

impl Default for Admm {
    /// The paper's section VI.
    fn default() -> Self {
        Self { rho: 4.0, rounds: 200, self_loop: true, warm_start: false }
    }
}

/// Who computes, and when: what randomness is keyed by.
#[derive(Clone, Copy, Debug)]
pub struct RoundContext<'a> {
    /// The agent's name.
    pub agent: &'a str,
    /// m, counted from 1.
    pub round: u64,
    /// The root of randomness.
    pub streams: &'a Streams,
}

impl RoundContext<'_> {
    /// Draws the directions of any step, for a round and a purpose.
    pub fn directions(&self, purpose: Purpose, round: u64) -> impl Fn(usize, &mut Directions) {
        let normals = self.streams.normals(purpose, self.agent, round);
        move |step, directions| normals.fill(step as u64, directions.values_mut())
    }
}

/// The result of a primal step.
#[derive(Debug)]
pub struct Primal {
    /// What leaves of the new primal variable.
    pub release: Release,
    /// Values of the objective that were asked for.
    pub oracle_calls: u64,
    /// Whether `u_2` was raised to what the objective can resolve.
    pub step_raised: bool,
    /// Whether an exact solver had to finish. Depends on the data: a local value.
    pub finished_exactly: bool,
    /// Difference quotients that were clipped: a local value, too.
    pub clipped: u64,
}

impl Primal {
    /// The same with its release inside the ball of a public radius.
    pub fn within(self, radius: f64) -> Self {
        Self { release: self.release.within(radius), ..self }
    }
}

/// A primal step that has no result.
#[derive(Clone, Debug, PartialEq)]
pub enum InnerFailure {
    /// An iterate was not finite.
    NonFinite {
        /// The inner step.
        step: usize,
    },
    /// The objective gave no value.
    Objective {
        /// The inner step.
        step: usize,
        /// Where, and why.
        failure: Failure,
    },
    /// An exact solve could not be certified.
    NotCertified {
        /// The distance to the minimiser that could be certified.
        distance: f64,
    },
    /// The step does not release in the way that was charged.
    WrongEvent(WrongEvent),
}

impl From<WrongEvent> for InnerFailure {
    fn from(error: WrongEvent) -> Self {
        InnerFailure::WrongEvent(error)
    }
}

/// A way to minimise `F_k`, exactly or not.
pub trait PrimalStep: Send + Sync {
    /// One primal update from `start`, paid for by the receipt.
    fn update(
        &mut self,
        lagrangian: &Lagrangian<'_>,
        start: &[f64],
        receipt: Receipt,
        context: &RoundContext<'_>,
        work: &mut Workspace,
    ) -> Result<Primal, InnerFailure>;

    /// The radius of the ball that releases are moved into, and that neighbours' vectors must lie
    /// in: public, and the same at both ends of an edge. Infinite for a step that promises nothing.
    fn radius(&self) -> f64 {
        f64::INFINITY
    }

    /// What the next update takes over from this one beyond its arguments. It depends on private rows and
    /// is kept by the agent alone, so that a restarted agent computes the same bits.
    fn memory(&self) -> &[f64] {
        &[]
    }

    /// Takes up the memory of an earlier process.
    fn recall(&mut self, _memory: Vec<f64>) {}
}

impl RoundContext<'_> {
    /// Releases a vector in the way it was charged.
    pub fn release(&self, b: Vec<f64>, receipt: Receipt) -> Result<Release, WrongEvent> {
        Private::new(b).release(receipt, &self.streams.noise_key(self.agent))
    }
}

/// What an agent keeps of one edge: the neighbour's last release, and the dual of the edge.
///
/// The dual lives on the edge, not on the agent: with a late or leaving neighbour one dual per agent
/// gives permanently wrong answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// `beta_l`
    pub beta: Arc<[f64]>,
    /// `gamma_kl`
    pub gamma: Vec<f64>,
}

impl Edge {
    /// `gamma_kl += rho (beta_k^m - beta_l^m)`: one pair of releases of the same round.
    #[doc(alias = "eqsixthb")]
    #[doc(alias = "thirdprivacy")]
    #[doc(alias = "fourthprivacyc")]
    #[doc(alias = "Algorithm 1, line 4: the dual update")]
    pub fn pair(&mut self, rho: f64, ours: &[f64], theirs: &[f64]) {
        for ((gamma, ours), theirs) in self.gamma.iter_mut().zip(ours).zip(theirs) {
            *gamma += rho * (ours - theirs);
        }
    }
}

/// The state of the recursion at one agent.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalState {
    /// `beta_k`: always what was released, never more than that.
    pub beta: Arc<[f64]>,
    /// One entry per neighbour, in a fixed order.
    pub edges: Vec<Edge>,
}

impl LocalState {
    /// `beta = gamma = 0`.
    #[doc(alias = "Algorithm 1, line 1: initialisation")]
    pub fn zero(dim: usize, degree: usize) -> Self {
        let zero: Arc<[f64]> = vec![0.0; dim].into();
        let edge = Edge { beta: zero.clone(), gamma: vec![0.0; dim] };
        Self { beta: zero, edges: vec![edge; degree] }
    }

    /// `|N_k|`
    pub fn neighbourhood(&self, settings: &Admm) -> usize {
        self.edges.len() + usize::from(settings.self_loop)
    }

    /// `F_k(.; beta^(m-1), gamma^(m-1))`, whose minimiser is the exact primal update.
    #[doc(alias = "eqsixtha")]
    #[doc(alias = "secondprivacy")]
    #[doc(alias = "fourthprivacya")]
    pub fn lagrangian<'a>(&self, settings: &Admm, objective: &'a LocalObjective) -> Lagrangian<'a> {
        let (linear, quadratic) = self.forces(settings);
        Lagrangian { objective, linear, quadratic }
    }

    /// What consensus adds to `f_k`: a linear part and `quadratic ||b||^2`, both public.
    pub fn forces(&self, settings: &Admm) -> (Vec<f64>, f64) {
        let Admm { rho, self_loop, .. } = *settings;
        let neighbourhood = self.neighbourhood(settings) as f64;
        // |N_k| beta_k, and once more beta_k where N_k includes k.
        let own = neighbourhood + f64::from(u8::from(self_loop));
        let mut linear = self.over_edges(|edge| &edge.gamma);
        let neighbours = self.over_edges(|edge| &edge.beta);
        for ((linear, beta), neighbours) in linear.iter_mut().zip(&*self.beta).zip(neighbours) {
            *linear -= rho * (own * beta + neighbours);
        }
        (linear, rho * neighbourhood)
    }

    /// `gamma_k = sum_l gamma_kl`.
    #[doc(alias = "gamma_k")]
    pub fn gamma(&self) -> Vec<f64> {
        self.over_edges(|edge| &edge.gamma)
    }

    fn over_edges(&self, part: impl Fn(&Edge) -> &[f64]) -> Vec<f64> {
        let mut sum = vec![0.0; self.beta.len()];
        for edge in &self.edges {
            sum.iter_mut().zip(part(edge)).for_each(|(sum, part)| *sum += part);
        }
        sum
    }
}
