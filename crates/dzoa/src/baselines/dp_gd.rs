//! Proximal gradient descent in which every agent adds its own noise to its gradient: the strongest
//! simple baseline. It needs somebody who averages the gradients and hands out the model every round.
//!
//! ```text
//! g_k = (1/N_k) sum_i loss'(x_i'w) x_i + noise       sensitivity 2 c1/N_k
//! w  <- prox_{step eta R}(w - step sum_k g_k)
//! ```

use crate::problem::Problem;
use crate::streams::Streams;
use dzoa_privacy::{Event, Ledger, Private, Refused};
use std::sync::Arc;

/// Settings of a run.
#[derive(Clone, Copy, Debug)]
pub struct DpGd {
    /// Rounds.
    pub rounds: u64,
    /// Step size.
    pub step: f64,
}

/// How far replacing one row moves an agent's mean gradient.
pub fn sensitivity(c1: f64, samples: usize) -> f64 {
    2.0 * c1 / samples as f64 * (1.0 + 8.0 * f64::EPSILON)
}

impl DpGd {
    /// The mean of the second half of the iterates. `events[k]` charges agent k's rounds.
    pub fn run(
        &self,
        problem: &Problem,
        events: &[Arc<[Event]>],
        streams: &Streams,
    ) -> Result<Vec<f64>, Refused> {
        let dim = problem.dim();
        let penalty = problem.penalty(problem.eta);
        let (mut w, mut late) = (vec![0.0; dim], vec![0.0; dim]);
        let mut ledgers = vec![Ledger::default(); problem.agents.len()];
        for round in 1..=self.rounds {
            let mut sum = vec![0.0; dim];
            for (k, samples) in problem.agents.iter().enumerate() {
                let slopes: Vec<f64> = (0..samples.count())
                    .map(|i| problem.loss.slope(samples.rows.dot(i, &w), samples.targets[i]))
                    .map(|slope| slope * problem.sample_weight(k))
                    .collect();
                let mut gradient = vec![0.0; dim];
                samples.rows.add_transposed(&slopes, &mut gradient);
                let event = events[k][(round as usize - 1).min(events[k].len() - 1)];
                let receipt = ledgers[k].charge(event, &format!("round {round}"))?;
                let mut noise = streams.noise(&format!("dp-gd {k}"), round);
                let release = Private::new(gradient)
                    .release(receipt, &mut noise)
                    .expect("events of this baseline describe one vector of this dimension");
                sum.iter_mut().zip(&release[..]).for_each(|(sum, g)| *sum += g);
            }
            w.iter_mut().zip(&sum).for_each(|(w, g)| *w -= self.step * g);
            penalty.prox(&mut w, self.step);
            if round > self.rounds / 2 {
                late.iter_mut().zip(&w).for_each(|(late, w)| *late += w);
            }
        }
        let count = (self.rounds - self.rounds / 2) as f64;
        Ok(late.iter().map(|late| late / count).collect())
    }
}
