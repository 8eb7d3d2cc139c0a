//! The primal step of the mechanism `scalar`: exact privacy from function values alone, for any
//! loss that gives one value per sample.
//!
//! Every inner step queries the data once. A sample's J directional difference quotients are one
//! vector, divided by `sqrt(J)`: about as long as the sample's gradient. It is shortened to length
//! C where it is longer, and the vectors are averaged over the samples. Replacing one sample moves
//! the mean by at most `2C/N_k`, whatever the loss and for any directions. Noise of that scale is
//! added to the mean before anything is computed from it. The directions are independent of the
//! data and may be public; regulariser and Lagrangian hold no data and are handled exactly, by
//! their prox. (The idea of noising the scalar difference is that of DPZero and DP-ZO, to clip
//! after the directions are put together that of DP-AggZO.)

mod evidence;

pub use evidence::ScalarPrediction;

use crate::primal::two_point::{InnerQuery, InnerStep};
use crate::primal::{
    InnerFailure, Lagrangian, Primal, PrimalStep, PrimalTask, Workspace, ZerothOrder,
};
use crate::problem::{Directions, PerSample, Probe};
use crate::streams::Purpose;
use dzoa_privacy::NoisyScalars;
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

/// `2 C/N_k`: how far replacing one sample moves the mean vector of one inner step.
///
/// A summand may be longer than C by a few last places, and a mean, at most C long, is rounded once
/// on either data set: relative to `2 C/N_k` that is `N_k` last places.
pub fn sensitivity(clip: f64, samples: usize) -> f64 {
    let samples = samples as f64;
    2.0 * clip / samples * (1.0 + (samples + 64.0) * f64::EPSILON)
}

/// What turns the means of step t into the next point: public numbers.
#[derive(Clone, Copy, Debug)]
struct PublicStep {
    /// The step size.
    alpha: f64,
    /// From a sum over directions to the gradient of the data term: the means are quotients over
    /// the root of J.
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
        let scale = self.samples.total_weight() / (self.inner.directions as f64).sqrt();
        let shrink = 1.0 / (1.0 + 2.0 * alpha * lagrangian.quadratic);
        PublicStep { alpha, scale, shrink, penalty: alpha * shrink }
    }
}

/// Asks for noisy means, and moves by public numbers.
struct NoisyQuery<'a> {
    scalar: &'a Scalar,
    lagrangian: &'a Lagrangian<'a>,
    answers: NoisyScalars,
    clipped: u64,
}

impl InnerQuery for NoisyQuery<'_> {
    fn shortest_step(&self, b: &[f64]) -> f64 {
        self.scalar.samples.shortest_step(b)
    }

    fn step(
        &mut self,
        InnerStep { t, u1, u2 }: InnerStep,
        b: &mut [f64],
        work: &mut Workspace,
    ) -> Result<(), InnerFailure> {
        let Scalar { samples, clip, .. } = self.scalar;
        let Workspace { directions, scratch, quotients: means, .. } = work;
        let probe = Probe { point: b, u1, u2, directions };
        self.clipped += samples.clipped_means(&probe, *clip, scratch, means);
        if let Some(failure) = samples.failure() {
            return Err(InnerFailure::Objective { step: t, failure });
        }
        self.answers.answer(means)?;
        // From here on everything is a function of noisy means and public values.
        let public = self.scalar.public_step(t, self.lagrangian);
        public.advance(b, means, directions, self.lagrangian);
        self.lagrangian.objective.penalty.prox(b, public.penalty);
        Ok(())
    }
}

impl PrimalStep for Scalar {
    fn update(
        &mut self,
        task: PrimalTask<'_>,
        work: &mut Workspace,
    ) -> Result<Primal, InnerFailure> {
        let PrimalTask { lagrangian, start, receipt, context } = task;
        let mut b = start.to_vec();
        let draw = context.directions(Purpose::Directions, context.round);
        let noise = context.streams.noise_key(context.agent);
        let answers = NoisyScalars::new(receipt, &noise)?;
        let mut query = NoisyQuery { scalar: self, lagrangian, answers, clipped: 0 };
        let inner = self.inner;
        let done = inner.repeat(&mut query, &mut b, draw, work)?;
        Ok(Primal {
            release: query.answers.finish(b),
            oracle_calls: inner.oracle_calls(done.steps),
            step_raised: done.raised,
            finished_exactly: false,
            clipped: query.clipped,
        })
    }
}
