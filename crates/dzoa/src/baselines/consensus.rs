//! The recursion that the decentralised baselines share: consensus ADMM on public vectors.

use super::plan::{Perturbed, gradient_sensitivity, pure};
use super::{Derivatives, Party};
use crate::admm::{Admm, LocalState};
use crate::guarantee::{self, BudgetTarget, NoGuarantee};
use crate::network::Graph;
use crate::primal::{InnerFailure, SampleWeights, least_distance};
use crate::problem::PublicProblem;
use dzoa_privacy::calibrate::lemma3_of_weight;
use dzoa_privacy::{Event, NoiseKey, NoisyObjective, Receipt, Release};
use std::sync::Arc;

/// How near the solver comes to the minimiser, as a fraction of Lemma 3's sensitivity with c1 = 1.
const TAU: f64 = 1e-5;

/// A run whose queries at agent k are to be charged.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// Everything but the rows.
    pub problem: &'a PublicProblem,
    /// The agent.
    pub k: usize,
    /// M.
    pub rounds: u64,
    /// What all queries together keep to.
    pub target: &'a BudgetTarget,
}

/// One query of a party's rows, charged.
pub struct QueryOf<'a> {
    /// The round.
    pub round: u64,
    /// Whose rows.
    pub party: &'a mut Party,
    /// The charge.
    pub receipt: Receipt,
    /// Where noise comes from.
    pub noise: &'a NoiseKey,
}

/// Every agent's public state.
pub struct Consensus {
    /// rho and how neighbourhoods are counted.
    pub admm: Admm,
    /// Per agent.
    pub states: Vec<LocalState>,
    neighbours: Vec<Vec<usize>>,
    /// Per agent: how near its solver comes.
    tau: Vec<f64>,
}

impl Consensus {
    /// `beta = gamma = 0`.
    pub fn new(admm: Admm, problem: &PublicProblem, graph: &Graph) -> Self {
        let neighbours: Vec<Vec<usize>> =
            (0..graph.len()).map(|k| graph.neighbours(k).to_vec()).collect();
        let states: Vec<LocalState> =
            neighbours.iter().map(|near| LocalState::zero(problem.dim(), near.len())).collect();
        let tau = (0..graph.len())
            .map(|k| {
                let quadratic = admm.rho * states[k].neighbourhood(&admm) as f64;
                let sample = problem.sample_weight(k);
                let total = sample * problem.samples(k) as f64;
                // Nobody is hostile here: what is exchanged stays near the origin. The noise is no
                // data, and what it adds to the reach costs the solver time, not the guarantee.
                let c1 = problem.loss.lipschitz().unwrap_or(1.0);
                let reach = 0.5 * c1 * total / quadratic;
                let least = least_distance(c1, SampleWeights { sample, total }, quadratic, reach);
                (TAU * sample / quadratic).max(least).max((1e-13 / quadratic).sqrt().min(1e-3))
            })
            .collect();
        Self { admm, states, neighbours, tau }
    }

    /// `argmin F_k`, to within the tolerance.
    pub fn solve(&self, party: &mut Party) -> Result<Vec<f64>, InnerFailure> {
        self.solve_perturbed(self.admm.rho, party, None)
    }

    /// `argmin F_k + linear'b`.
    fn solve_perturbed(
        &self,
        rho: f64,
        party: &mut Party,
        linear: Option<&[f64]>,
    ) -> Result<Vec<f64>, InnerFailure> {
        let state = &self.states[party.k];
        let mut lagrangian = state.lagrangian(&Admm { rho, ..self.admm }, &party.objective);
        if let Some(linear) = linear {
            lagrangian.linear.iter_mut().zip(linear).for_each(|(sum, noise)| *sum += noise);
        }
        party.exact.solve_to(self.tau[party.k], &lagrangian)
    }

    /// The query of an objective perturbation: noise in the objective, then its minimiser.
    pub fn query_perturbed(&self, rho: f64, query: QueryOf<'_>) -> Result<Release, InnerFailure> {
        let QueryOf { party, receipt, noise, .. } = query;
        let (linear, token) = NoisyObjective::new(receipt, self.dim(), noise)?;
        let minimiser = self.solve_perturbed(rho, party, Some(&linear))?;
        Ok(token.finish(minimiser))
    }

    /// `F_k` at a point: what a random linear term was added to.
    pub fn perturbed(&self, rho: f64, party: &Party, at: &[f64]) -> Derivatives {
        let admm = Admm { rho, ..self.admm };
        let (linear, quadratic) = self.states[party.k].forces(&admm);
        let mut found = Derivatives::of_forces(at, &linear, quadratic);
        found.add_risk(&party.risk, at);
        found.add_penalty(&party.objective.penalty, at);
        found
    }

    /// What consensus adds to `f_k`: public.
    pub fn forces(&self, k: usize) -> (Vec<f64>, f64) {
        self.states[k].forces(&self.admm)
    }

    /// The dual update, from everybody's new vector.
    pub fn exchange(&mut self, betas: &[Arc<[f64]>]) {
        let rho = self.admm.rho;
        for (k, state) in self.states.iter_mut().enumerate() {
            for (edge, &l) in state.edges.iter_mut().zip(&self.neighbours[k]) {
                edge.pair(rho, &betas[k], &betas[l]);
                edge.beta = betas[l].clone();
            }
            state.beta = betas[k].clone();
        }
    }

    /// Vectors exchanged in one round.
    pub fn messages(&self) -> u64 {
        self.neighbours.iter().map(|near| near.len() as u64).sum()
    }

    /// P.
    pub fn dim(&self) -> usize {
        self.states.first().map_or(0, |state| state.beta.len())
    }

    /// `Delta_k + 2 tau`: how far one person's rows move agent k's minimiser.
    pub fn sensitivity(&self, asked: &Asked<'_>) -> Result<f64, NoGuarantee> {
        let &Asked { problem, k, target, .. } = asked;
        let c1 = guarantee::c1(problem, k)?;
        // Lemma 3 divides by the number of rows: the inverse of a row's weight.
        let samples = problem.samples_to_weight_one(k);
        let near = self.states[k].neighbourhood(&self.admm);
        let delta = lemma3_of_weight(c1, self.admm.rho, near, samples);
        Ok(target.rows_per_person as f64 * (delta + 2.0 * self.tau[k]))
    }

    /// Objective perturbation at agent k: one event per query, with the given rho in each.
    pub fn perturbed_events(
        &self,
        asked: &Asked<'_>,
        rhos: &[f64],
    ) -> Result<Vec<Event>, NoGuarantee> {
        let &Asked { problem, k, target, .. } = asked;
        let c3 = guarantee::c3(problem, k)?;
        let gradient = gradient_sensitivity(problem, k, None, target)?;
        let near = self.states[k].neighbourhood(&self.admm) as f64;
        let shares = vec![1.0 / rhos.len() as f64; rhos.len()];
        pure(&shares, target, |query, epsilon| {
            Perturbed {
                gradient,
                // The penalty makes F_k strongly convex without any row.
                curvature: c3 * problem.sample_weight(k) / (2.0 * rhos[query] * near),
                rows: target.rows_per_person,
                tau: self.tau[k],
                dim: problem.dim(),
            }
            .event(epsilon)
        })
    }
}
