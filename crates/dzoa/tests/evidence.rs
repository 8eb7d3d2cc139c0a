//! What an attacker can make of releases: the score of `scalar` sees all of mu that the release
//! shows, and the density of a perturbed objective's minimiser is right.

mod common;

use dzoa::baselines::{
    Baseline, Derivatives, ObjectivePerturbation, ObjectivePerturbationSettings, Party,
};
use dzoa::prelude::*;
use dzoa::primal::{Lagrangian, PrimalStep, PrimalTask, RoundContext, Scalar, Workspace};
use dzoa::privacy::audit::{Scores, separation};
use dzoa::privacy::{Event, Ledger};
use dzoa::problem::{Directions, Probe, Scratch};
use dzoa::streams::Purpose;
use std::sync::Arc;

const FEATURES: usize = 4;
/// Fewer than features, so that the release shows all of them.
const DIRECTIONS: usize = 3;
const CLIP: f64 = 0.05;

/// Twelve rows, the first with this target.
fn problem(first: f64, regularizer: Regularizer) -> Problem {
    let rows: Vec<f64> = (0..12 * FEATURES).map(|i| (1.0 + 0.7 * i as f64).sin()).collect();
    let mut targets: Vec<f64> = (0..12).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect();
    targets[0] = first;
    let rows = Rows::dense(FEATURES, rows).unwrap().into_unit_ball();
    Problem {
        loss: Arc::new(Logistic),
        regularizer,
        eta: 0.01,
        scale: Scale::Mean,
        intercept: false,
        agents: vec![Arc::new(Samples::new(rows, targets).unwrap())],
    }
}

/// One agent's round: its step on either data set, and everything that is public.
struct Round {
    steps: [Scalar; 2],
    objectives: [LocalObjective; 2],
    streams: Streams,
}

const START: [f64; FEATURES] = [0.5, -0.4, 0.3, -0.6];

impl Round {
    fn new(regularizer: Regularizer) -> Self {
        let problems = [1.0, -1.0].map(|first| problem(first, regularizer.clone()));
        let inner = ZerothOrder {
            inner_steps: 1,
            directions: DIRECTIONS,
            smoothing: 0.1,
            alpha0_times_r: 0.8,
            ..ZerothOrder::default()
        };
        let step = |problem: &Problem| {
            let samples = Arc::new(problem.risk(0));
            Scalar { inner, clip: CLIP, samples }
        };
        Self {
            steps: [step(&problems[0]), step(&problems[1])],
            objectives: problems.each_ref().map(|problem| problem.local(0)),
            streams: Streams::from_seed(4),
        }
    }

    fn lagrangian(&self, bit: usize) -> Lagrangian<'_> {
        let linear = vec![0.02, -0.01, 0.03, 0.0];
        Lagrangian { objective: &self.objectives[bit], linear, quadratic: 0.2 }
    }

    /// A release on one data set with noise of this size, from this root of randomness.
    fn release(&mut self, bit: usize, sigma: f64, noise: u64) -> Vec<f64> {
        // The directions come from the public root; only the noise is another one's.
        let event = Event::discrete_gaussian(1.0, sigma, DIRECTIONS, 1);
        let receipt = Ledger::default().charge(event.query(1)).unwrap();
        let streams = self.streams.trial(noise);
        let context = RoundContext { agent: "a", round: 1, streams: &streams };
        let lagrangian = Lagrangian {
            objective: &self.objectives[bit],
            linear: vec![0.02, -0.01, 0.03, 0.0],
            quadratic: 0.2,
        };
        let mut work = Workspace::default();
        let (lagrangian, start) = (&lagrangian, &START);
        let task = PrimalTask { lagrangian, start, receipt, context };
        let done = self.steps[bit].update(task, &mut work);
        done.unwrap().release.to_vec()
    }

    /// The score of a release, as an attacker who knows all but the bit computes it.
    fn score(&self, release: &[f64], sigma: f64, noise: u64) -> f64 {
        let streams = self.streams.trial(noise);
        let context = RoundContext { agent: "a", round: 1, streams: &streams };
        let mut work = Workspace::default();
        let [without, with] = [0, 1]
            .map(|bit| self.steps[bit].predict(&self.lagrangian(bit), &START, &context, &mut work));
        without.log_likelihood_ratio(&with, release, &self.lagrangian(0), sigma)
    }

    /// `||m' - m||`: how far the replaced row moves the means of this round's directions.
    fn apart(&self, noise: u64) -> f64 {
        let streams = self.streams.trial(noise);
        let context = RoundContext { agent: "a", round: 1, streams: &streams };
        let mut directions = Directions::default();
        directions.resize(FEATURES, DIRECTIONS);
        context.directions(Purpose::Directions, 1)(1, &mut directions);
        let (u1, u2) = self.steps[0].inner.smoothing_at(1, FEATURES);
        let probe = Probe { point: &START, u1, u2, directions: &directions };
        let means = |step: &Scalar| {
            let mut means = vec![0.0; DIRECTIONS];
            step.samples.clipped_means(&probe, CLIP, &mut Scratch::default(), &mut means);
            means
        };
        let (one, other) = (means(&self.steps[0]), means(&self.steps[1]));
        one.iter().zip(&other).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    }
}

/// At the two noiseless releases the log-likelihood ratio of a Gaussian mechanism is -mu^2/2 and
/// mu^2/2, with mu the distance of the means over sigma: in closed form, whatever step, prox and
/// directions did to them.
#[test]
fn the_score_at_the_noiseless_releases_is_half_of_mu_squared() {
    for regularizer in common::regularizers(0.3, &[vec![0, 1], vec![2, 3]]) {
        let mut round = Round::new(regularizer.clone());
        for noise in 0..5 {
            let sigma = 0.01;
            let mu = round.apart(noise) / sigma;
            for (bit, sign) in [(0, -1.0), (1, 1.0)] {
                // Values beyond a million sigma would be clamped.
                let release = round.release(bit, 1e-7, noise);
                assert!(release.iter().all(|b| *b != 0.0), "no coordinate sits on a kink here");
                let score = round.score(&release, sigma, noise);
                let expected = sign * 0.5 * mu * mu;
                // The little noise that is left moves the score by 1e-5 mu; the ridge of the
                // covariance costs 1e-10 of its condition number.
                let close = (score - expected).abs() <= 1e-4 * mu * mu;
                assert!(close, "{regularizer:?} {noise}: {score} against {expected}");
            }
        }
    }
}

/// With the noise itself: 4000 runs a data set bound mu at 0.8 of it and more. The standard error
/// is 2.5 % of mu: six of them lie between the expected bound and the requirement.
#[test]
fn the_bound_on_mu_from_real_releases_comes_near_mu() {
    let mut round = Round::new(Regularizer::L1);
    let sigma = 0.01;
    let mut scores = [Vec::new(), Vec::new()];
    let mut square = 0.0;
    for noise in 0..4000 {
        for bit in 0..2 {
            // Each run has its own directions and noise.
            let run = 2 * noise + bit as u64;
            let release = round.release(bit, sigma, run);
            scores[bit].push(round.score(&release, sigma, run));
            square += round.apart(run).powi(2) / (sigma * sigma) / 8000.0;
        }
    }
    let found = separation(Scores { without: &scores[0], with: &scores[1] }, 1e-5, 0.95);
    let mu = f64::sqrt(square);
    assert!(found.mu_lower_bound > 0.8 * mu, "{found:?} of {mu}");
    assert!(found.mu_lower_bound < 1.1 * mu, "{found:?} of {mu}");
}

/// What the density of a perturbed objective's minimiser is made of, against central differences of
/// the objective itself.
#[test]
fn the_derivatives_of_a_perturbed_objective_are_those_of_its_values() {
    const RIDGE: f64 = 0.3;
    /// Central differences err by the square of the step, and by rounding over it.
    const STEP: f64 = 1e-4;
    let problem = problem(1.0, Regularizer::L2);
    let settings = ObjectivePerturbationSettings { ridge: RIDGE };
    let baseline = ObjectivePerturbation::new(settings, &problem.public());
    let party = Party::new(&baseline, &problem, 0);
    let value = |w: &[f64]| problem.value(w) + 0.5 * RIDGE * w.iter().map(|w| w * w).sum::<f64>();
    let found = baseline.perturbed(1, &party, &START).unwrap();
    let moved = |p: usize, by: f64| {
        let mut w = START.to_vec();
        w[p] += by;
        w
    };
    for p in 0..FEATURES {
        let slope = (value(&moved(p, STEP)) - value(&moved(p, -STEP))) / (2.0 * STEP);
        assert!((found.gradient[p] - slope).abs() < 1e-7, "{p}: {slope}");
        let gradient = |by: f64| baseline.perturbed(1, &party, &moved(p, by)).unwrap().gradient;
        for (q, (up, down)) in gradient(STEP).iter().zip(gradient(-STEP)).enumerate() {
            let curvature = (up - down) / (2.0 * STEP);
            assert!((found.hessian[p * FEATURES + q] - curvature).abs() < 1e-7, "{p} {q}");
        }
    }
    // Of twice the identity: P times ln 2.
    let scaled = |by: f64| Derivatives { hessian: identity(by), ..found.clone() };
    let ratio = scaled(2.0).log_determinant().unwrap() - scaled(1.0).log_determinant().unwrap();
    assert!((ratio - FEATURES as f64 * 2.0f64.ln()).abs() < 1e-12);
}

fn identity(by: f64) -> Vec<f64> {
    (0..FEATURES * FEATURES).map(|i| if i % (FEATURES + 1) == 0 { by } else { 0.0 }).collect()
}
