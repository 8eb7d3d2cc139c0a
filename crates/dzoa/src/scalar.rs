//! The primal step of the mechanism `scalar`: exact privacy from function values alone, for any loss
//! that gives one value per sample.
//!
//! Every inner step looks at the data once: J directional difference quotients per sample, each
//! clipped to `[-C, C]`, averaged over the samples. Replacing one sample moves each of the J means by at most
//! `2C/N_k`, so the vector of them by `2 C sqrt(J)/N_k`, whatever the loss. Noise of that scale is added to
//! the means before anything is computed from them. The directions are independent of the data and may
//! be public; regulariser and Lagrangian hold no data and are handled exactly, by their prox. (The
//! idea of noising the scalar difference is that of DPZero and DP-ZO.)

mod evidence;

pub use evidence::Prediction;

use crate::admm::{InnerFailure, Primal, PrimalStep, RoundContext};
use crate::lagrangian::Lagrangian;
use crate::problem::{Directions, PerSample, Probe};
use crate::streams::Purpose;
use crate::zeroth_order::{Workspace, ZerothOrder};
use dzoa_privacy::{NoisyScalars, Receipt};
use std::sync::Arc;

/// Noisy two-point descent.
pub struct Scalar {
    /// T, J, u1, and the step sizes.
    pub inner: ZerothOrder,
    /// C.
    pub clip: f64,
    /// The data term, sample by sample.
    pub samples: Arc<dyn PerSample>,
}

/// `2 C sqrt(J)/N_k`: how far replacing one sample moves the J clipped means of one inner step.
pub fn sensitivity(clip: f64, directions: usize, samples: usize) -> f64 {
    2.0 * clip * (directions as f64).sqrt() / samples as f64 * (1.0 + 8.0 * f64::EPSILON)
}

/// What turns the means of step t into the next point: public numbers.
#[derive(Clone, Copy, Debug)]
struct PublicStep {
    /// The step size.
    alpha: f64,
    /// From a sum over directions to the gradient of the data term.
    scale: f64,
    /// The prox of the Lagrangian's quadratic.
    shrink: f64,
    /// The length of the penalty's prox step.
    penalty: f64,
}

impl PublicStep {
    /// The next point but for the penalty.
    fn advance(
        &self,
        b: &mut [f64],
        means: &[f64],
        directions: &Directions,
        lagrangian: &Lagrangian<'_>,
    ) {
        for (p, b) in b.iter_mut().enumerate() {
            let (_, nu2) = directions.feature(p);
            let sum: f64 = means.iter().zip(nu2).map(|(mean, nu2)| mean * nu2).sum();
            *b = (*b - self.alpha * (self.scale * sum + lagrangian.linear[p])) * self.shrink;
        }
    }
}

impl Scalar {
    fn public_step(&self, t: usize, lagrangian: &Lagrangian<'_>) -> PublicStep {
        let alpha = self.inner.step_size(t, lagrangian.linear.len());
        let scale = self.samples.total_weight() / self.inner.directions as f64;
        let shrink = 1.0 / (1.0 + 2.0 * alpha * lagrangian.quadratic);
        PublicStep { alpha, scale, shrink, penalty: alpha * shrink }
    }
}

impl PrimalStep for Scalar {
    fn update(
        &mut self,
        lagrangian: &Lagrangian<'_>,
        start: &[f64],
        receipt: Receipt,
        context: &RoundContext<'_>,
        work: &mut Workspace,
    ) -> Result<Primal, InnerFailure> {
        let inner = self.inner;
        let features = start.len();
        let mut b = start.to_vec();
        let mut average = vec![0.0; features];
        let (mut clipped, mut raised) = (0, false);
        let noise = context.streams.noise_key(context.agent);
        let mut answers = NoisyScalars::new(receipt, &noise)?;
        let draw = context.directions(Purpose::Directions, context.round);
        work.directions.resize(features, inner.directions);
        work.quotients.resize(inner.directions, 0.0);
        for t in 1..=inner.inner_steps {
            draw(t, &mut work.directions);
            let (u1, u2) = inner.smoothing_at(t, features);
            let shortest = self.samples.shortest_step(&b);
            raised |= u2 < shortest;
            let u2 = u2.max(shortest);
            let probe = Probe { point: &b, u1, u2, directions: &work.directions };
            clipped += self.samples.clipped_means(
                &probe,
                self.clip,
                &mut work.scratch,
                &mut work.quotients,
            );
            if let Some(failure) = self.samples.failure() {
                return Err(InnerFailure::Objective { step: t, failure });
            }
            answers.answer(&mut work.quotients)?;
            // From here on everything is a function of noisy means and public values.
            let public = self.public_step(t, lagrangian);
            public.advance(&mut b, &work.quotients, &work.directions, lagrangian);
            lagrangian.objective.penalty.prox(&mut b, public.penalty);
            if !b.iter().all(|b| b.is_finite()) {
                return Err(InnerFailure::NonFinite { step: t });
            }
            average.iter_mut().zip(&b).for_each(|(sum, b)| *sum += b);
        }
        if inner.inner_average {
            b.iter_mut().zip(&average).for_each(|(b, sum)| *b = sum / inner.inner_steps as f64);
        }
        Ok(Primal {
            release: answers.finish(b),
            oracle_calls: inner.oracle_calls(inner.inner_steps),
            step_raised: raised,
            finished_exactly: false,
            clipped,
        })
    }
}
