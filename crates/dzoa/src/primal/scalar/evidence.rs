//! What an attacker makes of a release of `scalar`: the best score there is after one query.
//!
//! The directions are public, so a release is a known linear function of the noisy means, but for
//! the penalty's prox, which can be undone where it sits on no kink. With the matrix V of the
//! directions and noise of one sigma in every mean, the point before the prox is Gaussian around
//! what it would be without noise, with covariance proportional to `V V'`: whitening by it gives
//! the log-likelihood ratio. An attacker who takes the noise for round misses what lies along the
//! short axes of V.
//!
//! After several queries later means depend on earlier noise, which nobody sees: there the
//! covariance is carried from step to step as if the data term were flat. Any score proves what it
//! finds.

use super::Scalar;
use crate::primal::{Lagrangian, RoundContext, Workspace};
use crate::problem::{Directions, Probe};
use crate::streams::Purpose;
use faer::linalg::solvers::Solve;
use faer::{Mat, Side};

/// A release of `scalar` before it is made: what it would be without noise, and how the noise
/// spreads.
#[derive(Clone, Debug)]
pub struct ScalarPrediction {
    /// The point before the last penalty step, without noise.
    center: Vec<f64>,
    /// Its covariance for noise of standard deviation 1 in every mean, row by row.
    covariance: Vec<f64>,
    /// The length of the last penalty step; `None` where averaging leaves nothing to undo.
    penalty: Option<f64>,
}

impl Scalar {
    /// What this agent's next release would be on these rows without noise, given everything
    /// public.
    pub fn predict(
        &self,
        lagrangian: &Lagrangian<'_>,
        start: &[f64],
        context: &RoundContext<'_>,
        work: &mut Workspace,
    ) -> ScalarPrediction {
        let (inner, features) = (self.inner, start.len());
        let averaged = inner.inner_average && inner.inner_steps > 1;
        let draw = context.directions(Purpose::Directions, context.round);
        work.directions.resize(features, inner.directions);
        work.quotients.resize(inner.directions, 0.0);
        let (mut b, mut sum) = (start.to_vec(), vec![0.0; features]);
        let mut found = ScalarPrediction {
            center: Vec::new(),
            covariance: vec![0.0; features * features],
            penalty: None,
        };
        for t in 1..=inner.inner_steps {
            draw(t, &mut work.directions);
            inner.arrange(work);
            let (u1, u2) = inner.smoothing_at(t, features);
            let u2 = u2.max(self.samples.shortest_step(&b));
            let probe = Probe { point: &b, u1, u2, directions: &work.directions };
            let means = &mut work.quotients;
            self.samples.clipped_means(&probe, self.clip, &mut work.scratch, means);
            let public = self.public_step(t, lagrangian);
            public.advance(&mut b, &work.quotients, &work.directions, lagrangian);
            found.center.clone_from(&b);
            lagrangian.objective.penalty.prox(&mut b, public.penalty);
            // Noise in coordinates that the prox holds at zero goes no farther.
            let held = |p: usize| t < inner.inner_steps && b[p] == 0.0 && found.center[p] != 0.0;
            let held: Vec<bool> = (0..features).map(held).collect();
            let noise = public.alpha * public.scale;
            found.add_query(&work.directions, noise * noise, public.shrink * public.shrink, &held);
            sum.iter_mut().zip(&b).for_each(|(sum, b)| *sum += b);
            found.penalty = (!averaged).then_some(public.penalty);
        }
        if averaged {
            found.center = sum.iter().map(|sum| sum / inner.inner_steps as f64).collect();
        }
        found
    }
}

impl ScalarPrediction {
    /// `covariance <- shrink (covariance + variance V V')`, and nothing for coordinates that are
    /// held.
    fn add_query(&mut self, directions: &Directions, variance: f64, shrink: f64, held: &[bool]) {
        let features = held.len();
        for p in 0..features {
            for q in 0..features {
                let ((_, one), (_, other)) = (directions.feature(p), directions.feature(q));
                let dot: f64 = one.iter().zip(other).map(|(a, b)| a * b).sum();
                let entry = &mut self.covariance[p * features + q];
                let kept = f64::from(u8::from(!held[p] && !held[q]));
                *entry = kept * shrink * (*entry + variance * dot);
            }
        }
    }

    /// How much more likely the release is under the other prediction than under this one, as a
    /// logarithm, with noise of this standard deviation in every mean.
    pub fn log_likelihood_ratio(
        &self,
        other: &ScalarPrediction,
        release: &[f64],
        lagrangian: &Lagrangian<'_>,
        sigma: f64,
    ) -> f64 {
        /// Relative to the largest variance: keeps a covariance of few directions invertible.
        const RIDGE: f64 = 1e-10;
        let features = release.len();
        // Where the penalty pressed the release to zero, the point before it cannot be seen.
        let seen: Vec<usize> = (0..features)
            .filter(|&p| {
                release[p] != 0.0
                    || self.penalty.is_none()
                    || p >= lagrangian.objective.penalty.penalized
            })
            .collect();
        let before = self.before_penalty(release, lagrangian);
        let variance = |p: usize| self.covariance[p * features + p];
        let largest = seen.iter().map(|&p| variance(p)).fold(0.0, f64::max);
        let covariance = Mat::from_fn(seen.len(), seen.len(), |i, j| {
            let ridge = if i == j { RIDGE * largest } else { 0.0 };
            self.covariance[seen[i] * features + seen[j]] + ridge
        });
        let apart = |p: usize| other.center[p] - self.center[p];
        let Ok(factor) = covariance.llt(Side::Lower) else { return 0.0 };
        let weights = factor.solve(Mat::from_fn(seen.len(), 1, |i, _| apart(seen[i])));
        let score: f64 = seen
            .iter()
            .enumerate()
            .map(|(i, &p)| weights[(i, 0)] * (before[p] - self.center[p] - 0.5 * apart(p)))
            .sum();
        score / (sigma * sigma)
    }

    /// The point before the last penalty step, from the one after it: `v = b + step R'(b)`.
    fn before_penalty(&self, release: &[f64], lagrangian: &Lagrangian<'_>) -> Vec<f64> {
        let mut slope = vec![0.0; release.len()];
        lagrangian.objective.penalty.add_subgradient(release, &mut slope);
        let step = self.penalty.unwrap_or(0.0);
        release.iter().zip(slope).map(|(b, slope)| b + step * slope).collect()
    }
}
