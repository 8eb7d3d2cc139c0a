//! What the recursion carries from one round to the next.

use super::Admm;
use crate::primal::Lagrangian;
use crate::problem::LocalObjective;
use std::sync::Arc;

/// One edge as an agent sees it: the neighbour's last release, and the dual of the edge.
///
/// The dual lives on the edge, not on the agent: with a late or leaving neighbour one dual per
/// agent gives permanently wrong answers.
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
