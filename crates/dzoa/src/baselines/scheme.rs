//! A baseline on consensus ADMM: [`OnConsensus`] is the recursion of [`Consensus`] and a
//! [`Scheme`], which says what its agents release. Where that is the minimiser of an objective with
//! a random linear term, a [`Perturbation`] says all that is left to say.

use super::consensus::{Asked, Consensus, QueryOf};
use super::registry::Making;
use super::{Baseline, Derivatives, Needs, Part, Party};
use crate::guarantee::{BudgetTarget, NoGuarantee};
use crate::network::Graph;
use crate::primal::InnerFailure;
use crate::problem::PublicProblem;
use dzoa_privacy::{Event, NoiseKey, Private, Receipt, Release};
use std::sync::Arc;

/// What an exact solver on a smooth problem takes.
pub const EXACT_AND_SMOOTH: Needs = Needs {
    coordinator: false,
    flooding: false,
    trusted_solver: false,
    gradients: false,
    exact_solver: true,
    smooth_loss: true,
    smooth_regularizer: true,
    strongly_convex: false,
    known_c1: true,
};

/// What the agents of consensus ADMM release, and what they make of it.
pub trait Scheme: Send + Sync + 'static {
    /// The name users type.
    const NAME: &'static str;

    /// What it takes.
    fn needs(&self) -> Needs;

    /// One event per query: all of them together keep to the target.
    fn events(&self, on: &Consensus, asked: &Asked<'_>) -> Result<Vec<Event>, NoGuarantee>;

    /// What an agent does in this round.
    fn part(&self, _round: u64) -> Part {
        Part::Releases
    }

    /// What a query releases: `argmin F_k`, with the noise that was charged.
    fn query(&self, on: &Consensus, query: QueryOf<'_>) -> Result<Release, InnerFailure> {
        let QueryOf { party, receipt, noise, .. } = query;
        Ok(Private::new(on.solve(party)?).release(receipt, noise)?)
    }

    /// rho of the objective that a random linear term is added to, where that is what is released.
    fn perturbed_rho(&self, _on: &Consensus, _round: u64) -> Option<f64> {
        None
    }

    /// Everybody's new vector, from the releases.
    fn betas(&mut self, _on: &Consensus, _round: u64, released: &[Arc<[f64]>]) -> Vec<Arc<[f64]>> {
        released.to_vec()
    }

    /// Gradients that an agent computes in one query.
    fn gradients_per_query(&self) -> u64 {
        0
    }
}

/// A scheme that releases the minimiser of `F_k` with a random linear term.
pub trait Perturbation: Send + Sync + 'static {
    /// The name users type.
    const NAME: &'static str;

    /// What it takes.
    fn needs(&self) -> Needs;

    /// rho of `F_k` in this round.
    fn penalty(&self, rho: f64, _round: u64) -> f64 {
        rho
    }

    /// What an agent does in this round.
    fn part(&self, _round: u64) -> Part {
        Part::Releases
    }

    /// Everybody's new vector, from the releases.
    fn betas(&mut self, _on: &Consensus, _round: u64, released: &[Arc<[f64]>]) -> Vec<Arc<[f64]>> {
        released.to_vec()
    }
}

impl<P: Perturbation> Scheme for P {
    const NAME: &'static str = P::NAME;

    fn needs(&self) -> Needs {
        P::needs(self)
    }

    fn events(&self, on: &Consensus, asked: &Asked<'_>) -> Result<Vec<Event>, NoGuarantee> {
        let queried = (1..=asked.rounds).filter(|&round| P::part(self, round) == Part::Releases);
        let rhos: Vec<f64> = queried.map(|round| self.penalty(on.admm.rho, round)).collect();
        on.perturbed_events(asked, &rhos)
    }

    fn part(&self, round: u64) -> Part {
        P::part(self, round)
    }

    fn query(&self, on: &Consensus, query: QueryOf<'_>) -> Result<Release, InnerFailure> {
        on.query_perturbed(self.penalty(on.admm.rho, query.round), query)
    }

    fn perturbed_rho(&self, on: &Consensus, round: u64) -> Option<f64> {
        Some(self.penalty(on.admm.rho, round))
    }

    fn betas(&mut self, on: &Consensus, round: u64, released: &[Arc<[f64]>]) -> Vec<Arc<[f64]>> {
        P::betas(self, on, round, released)
    }
}

/// Consensus ADMM with a scheme.
pub struct OnConsensus<S> {
    consensus: Consensus,
    scheme: S,
}

impl<S: Scheme> OnConsensus<S> {
    /// Before the first round.
    pub fn build(scheme: S, making: &Making<'_>) -> Box<dyn Baseline> {
        let consensus = Consensus::new(making.admm, making.problem, making.graph);
        Box::new(Self { consensus, scheme })
    }
}

impl<S: Scheme> Baseline for OnConsensus<S> {
    fn name(&self) -> &'static str {
        S::NAME
    }

    fn needs(&self) -> Needs {
        self.scheme.needs()
    }

    fn events(
        &self,
        problem: &PublicProblem,
        k: usize,
        rounds: u64,
        target: &BudgetTarget,
    ) -> Result<Vec<Event>, NoGuarantee> {
        self.scheme.events(&self.consensus, &Asked { problem, k, rounds, target })
    }

    fn part(&self, round: u64, _k: usize) -> Part {
        self.scheme.part(round)
    }

    fn query(
        &self,
        round: u64,
        party: &mut Party,
        receipt: Receipt,
        noise: &NoiseKey,
    ) -> Result<Release, InnerFailure> {
        self.scheme.query(&self.consensus, QueryOf { round, party, receipt, noise })
    }

    fn perturbed(&self, round: u64, party: &Party, at: &[f64]) -> Option<Derivatives> {
        let rho = self.scheme.perturbed_rho(&self.consensus, round)?;
        Some(self.consensus.perturbed(rho, party, at))
    }

    fn absorb(&mut self, round: u64, released: &[Arc<[f64]>]) {
        let betas = self.scheme.betas(&self.consensus, round, released);
        self.consensus.exchange(&betas);
    }

    fn estimate(&self, k: usize) -> Vec<f64> {
        self.consensus.states[k].beta.to_vec()
    }

    fn messages(&self, _round: u64, _graph: &Graph) -> u64 {
        self.consensus.messages()
    }

    fn gradients_per_query(&self) -> u64 {
        self.scheme.gradients_per_query()
    }
}
