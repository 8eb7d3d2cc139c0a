//! What is minimised: eq. (1), `sum_k scale_k sum_j loss(x_kj, y_kj; b) + eta R(b)`.

mod black_box;
mod closed;
pub(crate) mod data;
mod data_error;
mod directions;
mod failure;
mod journal;
mod least_squares;
pub mod loss;
mod objective;
mod partition;
mod probe;
mod public;
pub mod regularizer;
mod risk;
mod scale;
mod sparse;
mod synthetic;
mod variables;

pub use black_box::{BlackBox, Limits, Oracle, OracleError, Points};
pub use closed::Closed;
pub use data::{Prepared, Rows, Samples, typical_row_norm};
pub use data_error::DataError;
pub use directions::Directions;
pub use failure::Failure;
pub use journal::{Answered, Append, BadJournal, Journaled};
pub use least_squares::LeastSquares;
pub use objective::{Objective, PerSample, Scratch};
pub use partition::{EmptyAgent, Partition};
pub use probe::Probe;
pub use public::PublicProblem;
pub use risk::{EmpiricalRisk, TILE};
pub use scale::Scale;
pub use sparse::{LineTable, Sharing};
pub use synthetic::Synthetic;
pub use variables::{BadVariable, Variable, Variables};

use dzoa_privacy::Digest;
use loss::{Epigraph, Loss};
use regularizer::{Penalty, Regularizer};
use risk::total_loss;
use scale::Total;
use std::sync::Arc;

/// A whole distributed problem.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The loss of one sample.
    pub loss: Arc<dyn Loss>,
    /// R.
    pub regularizer: Regularizer,
    /// eta.
    pub eta: f64,
    /// How samples are weighted.
    pub scale: Scale,
    /// Whether the last column is a constant that is not regularised.
    pub intercept: bool,
    /// Every agent's data, `D_k`.
    pub agents: Vec<Arc<Samples>>,
}

impl Problem {
    /// P, the number of columns.
    pub fn dim(&self) -> usize {
        self.agents.first().map_or(0, |agent| agent.rows.width())
    }

    /// `scale_k`: the weight of one sample of agent `k`.
    pub fn sample_weight(&self, k: usize) -> f64 {
        self.scale.weight(self.agents[k].count(), self.total())
    }

    /// Agents and samples, all together.
    fn total(&self) -> Total {
        let samples = self.agents.iter().map(|agent| agent.count()).sum();
        Total { agents: self.agents.len(), samples }
    }

    /// The samples of the agent whose samples weigh most: what public rules go by.
    pub fn fewest_samples(&self) -> usize {
        let smallest = self.agents.iter().map(|agent| agent.count()).min().unwrap_or(1);
        match self.scale {
            Scale::Mean | Scale::Sum => smallest,
            pooled => pooled.samples_to_weight_one(smallest, self.total()) as usize,
        }
    }

    /// A digest of agent `k`'s rows and of what is asked of them. It tells rows apart that differ
    /// in one bit, and whoever knows all of them but a label could guess that: it is not to leave
    /// the agent without a key around it.
    pub fn fingerprint(&self, k: usize) -> Digest {
        self.fingerprint_under(self.scale, k)
    }

    /// The same, whatever the rows weigh: under `mean`.
    pub(crate) fn unweighed_fingerprint(&self, k: usize) -> Digest {
        self.fingerprint_under(Scale::Mean, k)
    }

    fn fingerprint_under(&self, scale: Scale, k: usize) -> Digest {
        let Self { loss, regularizer, eta, intercept, .. } = self;
        let mut hasher = blake3::Hasher::new_derive_key("dzoa 2026 rows and problem");
        let number = |(key, number): (&str, f64)| format!(" {key}={number:e}");
        let numbers: String = loss.parameters().into_iter().map(number).collect();
        let loss = loss.name();
        let scale = scale.said(self.agents[k].count(), self.total());
        let asked = format!("{loss}{numbers} {regularizer:?} {eta:e} {scale} {intercept}");
        hasher.update(asked.as_bytes());
        self.agents[k].digest_into(&mut hasher);
        Digest::from(*hasher.finalize().as_bytes())
    }

    /// `strength R(b)`, with the intercept left out.
    pub fn penalty(&self, strength: f64) -> Penalty {
        Penalty {
            regularizer: self.regularizer.clone(),
            weight: strength,
            penalized: self.dim() - usize::from(self.intercept),
        }
    }

    /// `f_k` of eqs. (2) to (4): one agent's data term and its share `eta/K` of the regulariser.
    #[doc(alias = "secondeq")]
    #[doc(alias = "thirdeq")]
    #[doc(alias = "convergence3")]
    #[doc(alias = "sim2")]
    pub fn local(&self, k: usize) -> LocalObjective {
        let risk = self.risk(k);
        // The squared loss of many samples is one quadratic form.
        let squared = risk.loss.epigraph(0.0) == Some(Epigraph::Square);
        let data: Arc<dyn Objective> = if squared && LeastSquares::pays(&risk) {
            Arc::new(LeastSquares::new(risk))
        } else {
            Arc::new(risk)
        };
        LocalObjective { data, penalty: self.penalty(self.eta / self.agents.len() as f64) }
    }

    /// The data term of `f_k`.
    pub fn risk(&self, k: usize) -> EmpiricalRisk {
        EmpiricalRisk {
            samples: self.agents[k].clone(),
            loss: self.loss.clone(),
            weight: self.sample_weight(k),
        }
    }

    /// The centralised objective, eq. (1), or eq. (sim1) under the sum scale.
    #[doc(alias = "firsteq")]
    #[doc(alias = "sim1")]
    pub fn value(&self, b: &[f64]) -> f64 {
        let data: f64 = (0..self.agents.len())
            .map(|k| self.sample_weight(k) * total_loss(&self.agents[k], &*self.loss, b))
            .sum();
        data + self.penalty(self.eta).value(b)
    }
}

/// `f_k`: what holds data, and what does not. The split matters: only the first part is private.
#[derive(Clone)]
#[doc(alias = "f_k")]
pub struct LocalObjective {
    /// The data term.
    pub data: Arc<dyn Objective>,
    /// `(eta/K) R(b)`.
    pub penalty: Penalty,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::data::Rows;
    use crate::problem::loss::{Huber, Logistic, Pinball};

    #[test]
    fn a_fingerprint_tells_losses_apart_that_differ_in_a_number() {
        let rows = Rows::dense(1, vec![0.5, -0.25]).unwrap();
        let agents = vec![Arc::new(Samples::new(rows, vec![1.0, -1.0]).unwrap())];
        let of = |loss: Arc<dyn Loss>| {
            let (regularizer, scale, agents) = (Regularizer::L1, Scale::Mean, agents.clone());
            Problem { loss, regularizer, eta: 0.1, scale, intercept: false, agents }.fingerprint(0)
        };
        let huber = |delta| of(Arc::new(Huber { delta }));
        let pinball = |quantile| of(Arc::new(Pinball { quantile }));
        let near = f64::from_bits(1f64.to_bits() + 1);
        let all = [huber(1.0), huber(near), pinball(0.5), pinball(0.25), of(Arc::new(Logistic))];
        for (i, one) in all.iter().enumerate() {
            assert!(all[i + 1..].iter().all(|other| other != one), "{all:?}");
        }
        assert_eq!(huber(1.0), huber(1.0));
    }
}
