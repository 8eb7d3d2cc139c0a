//! What everybody knows about a problem.

use super::loss::Loss;
use super::regularizer::{Penalty, Regularizer};
use super::scale::Total;
use super::{Problem, Scale};
use std::sync::Arc;

/// A problem without its rows: what all agents agree on, and the public sizes of each. Whatever is
/// computed from this alone can depend on nobody's rows.
///
/// ```compile_fail
/// fn peek(problem: &dzoa::problem::PublicProblem) -> f64 {
///     problem.agents[0].targets[0]
/// }
/// ```
#[derive(Clone, Debug)]
pub struct PublicProblem {
    /// The loss of one sample.
    pub loss: Arc<dyn Loss>,
    /// R.
    pub regularizer: Regularizer,
    /// eta.
    pub eta: f64,
    /// How samples are weighted.
    pub scale: Scale,
    intercept: bool,
    dim: usize,
    sizes: Vec<PublicSize>,
}

/// What is public about one agent's rows.
#[derive(Clone, Copy, Debug, PartialEq)]
struct PublicSize {
    samples: usize,
    norm_bound: Option<f64>,
}

impl Problem {
    /// Everything about the problem but its rows.
    pub fn public(&self) -> PublicProblem {
        let size = |agent: &Arc<super::data::Samples>| PublicSize {
            samples: agent.count(),
            norm_bound: agent.rows.norm_bound(),
        };
        PublicProblem {
            loss: self.loss.clone(),
            regularizer: self.regularizer.clone(),
            eta: self.eta,
            scale: self.scale,
            intercept: self.intercept,
            dim: self.dim(),
            sizes: self.agents.iter().map(size).collect(),
        }
    }
}

impl PublicProblem {
    /// P, the number of columns.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// K.
    pub fn agents(&self) -> usize {
        self.sizes.len()
    }

    /// `N_k`
    pub fn samples(&self, k: usize) -> usize {
        self.sizes[k].samples
    }

    /// How long a row of agent `k` can be, where something bounds it.
    pub fn norm_bound(&self, k: usize) -> Option<f64> {
        self.sizes[k].norm_bound
    }

    /// `scale_k`: the weight of one sample of agent `k`.
    pub fn sample_weight(&self, k: usize) -> f64 {
        self.scale.weight(self.samples(k), self.total())
    }

    /// `1/scale_k`: what stands for `N_k` in Lemma 3 and wherever one sample is replaced.
    pub fn samples_to_weight_one(&self, k: usize) -> f64 {
        self.scale.samples_to_weight_one(self.samples(k), self.total())
    }

    /// What stands for `N_k` in a nominal claim: likewise, but for the sum scale, where the paper
    /// divides by `N_k` all the same.
    pub fn nominal_samples(&self, k: usize) -> f64 {
        match self.scale {
            Scale::Sum => self.samples(k) as f64,
            _ => self.samples_to_weight_one(k),
        }
    }

    fn total(&self) -> Total {
        let samples = self.sizes.iter().map(|size| size.samples).sum();
        Total { agents: self.sizes.len(), samples }
    }

    /// The weight of all samples of agent `k` together.
    pub fn weight(&self, k: usize) -> f64 {
        self.sample_weight(k) * self.samples(k) as f64
    }

    /// `strength R(b)`, with the intercept left out.
    pub fn penalty(&self, strength: f64) -> Penalty {
        Penalty {
            regularizer: self.regularizer.clone(),
            weight: strength,
            penalized: self.dim - usize::from(self.intercept),
        }
    }
}
