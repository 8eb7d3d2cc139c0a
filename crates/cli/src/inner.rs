//! The inner loop of every agent: its step size, and the noise that it really has.

use crate::config::{Config, Mechanism, OptimumNorm, Solver};
use crate::error::{Error, Result};
use dzoa::admm::RoundContext;
use dzoa::mechanism::scalar_step;
use dzoa::prelude::*;
use dzoa::privacy::calibrate;
use dzoa::reference::Optimum;
use dzoa::zeroth_order::measure_noise;
use rayon::prelude::*;

/// Repetitions of an inner loop at frozen inputs when its noise is measured.
pub const REPLICATES: u64 = 64;

/// c1 for Lemma 3, and whether it is true. The paper takes 1 for the squared loss, which has none.
pub fn c1(loss: &dyn Loss) -> (f64, bool) {
    loss.lipschitz().map_or((1.0, false), |c1| (c1, true))
}

/// Lemma 3 at one agent.
fn sensitivity(config: &Config, problem: &Problem, graph: &Graph, k: usize) -> f64 {
    calibrate::lemma3_sensitivity(
        c1(&*problem.loss).0,
        config.algorithm.admm.rho,
        graph.neighbourhood(k, config.network.self_loop),
        problem.agents[k].count(),
    )
}

/// The inner loop of every agent, its step size from Corollary 1 (`intrinsic`), from the config, or
/// from the stability rule of [`default_step`].
pub fn inner_loops(
    config: &Config,
    problem: &Problem,
    graph: &Graph,
    optimum: Option<&Optimum>,
) -> Result<Vec<ZerothOrder>> {
    let Solver::ZerothOrder { inner, step, lipschitz } = &config.algorithm.solver else {
        return Ok(Vec::new());
    };
    (0..graph.len())
        .map(|k| {
            let inner = ZerothOrder { lipschitz: lipschitz.at(k), ..*inner };
            let alpha0_times_r = match (&config.privacy.mechanism, step) {
                (Mechanism::Intrinsic { epsilon, delta, c, optimum_norm }, _) => {
                    let optimum_norm_squared = match (optimum_norm, optimum) {
                        (OptimumNorm::Bound(bound), _) => *bound,
                        (OptimumNorm::Replicate, Some(optimum)) => {
                            optimum.coefficients.iter().map(|b| b * b).sum()
                        }
                        (OptimumNorm::Replicate, None) => {
                            return Err(Error::input(
                                "`privacy.optimum_norm_squared` is \"replicate\", but the problem has no reference optimum",
                            )
                            .hint("give a public bound, or 0"));
                        }
                    };
                    calibrate::Corollary1 {
                        sensitivity: sensitivity(config, problem, graph, k),
                        delta: *delta,
                        features: problem.dim(),
                        directions: inner.directions,
                        inner_steps: inner.inner_steps,
                        c: c.at(k),
                        optimum_norm_squared,
                    }
                    .alpha0_times_r(*epsilon)
                }
                (_, Some(step)) => step.at(k),
                (Mechanism::Scalar { .. }, None) => {
                    default_scalar_step(config, problem, graph, k, &inner)
                }
                (_, None) => default_step(config, problem, graph, k, &inner),
            };
            Ok(ZerothOrder { alpha0_times_r, ..inner })
        })
        .collect()
}

/// The step size where nobody gave one: the first step is the longest that is stable.
///
/// For a quadratic of curvature h the two-point estimate with J directions in P dimensions contracts
/// for steps below `2/(h (1 + (P + 1)/J))`; half of that is taken. h is bounded without looking at the
/// data: `2 rho |N_k|` from the Lagrangian, and the loss's curvature for rows in the unit ball.
fn default_step(
    config: &Config,
    problem: &Problem,
    graph: &Graph,
    k: usize,
    inner: &ZerothOrder,
) -> f64 {
    let weight = problem.sample_weight(k) * problem.agents[k].count() as f64;
    let neighbourhood = graph.neighbourhood(k, config.network.self_loop) as f64;
    let data = weight * curvature(problem, inner);
    let curvature = 2.0 * config.algorithm.admm.rho * neighbourhood + data;
    let p = problem.dim() as f64;
    let longest = 1.0 / (curvature * (1.0 + (p + 1.0) / inner.directions as f64));
    longest * inner.lipschitz * (p * (2.0 * p).ln()).sqrt()
}

/// The step size of `scalar` where nobody gave one.
fn default_scalar_step(
    config: &Config,
    problem: &Problem,
    graph: &Graph,
    k: usize,
    inner: &ZerothOrder,
) -> f64 {
    let weight = problem.sample_weight(k) * problem.agents[k].count() as f64;
    let neighbourhood = graph.neighbourhood(k, config.network.self_loop) as f64;
    let quadratic = config.algorithm.admm.rho * neighbourhood;
    let step = scalar_step(weight * curvature(problem, inner), quadratic);
    let p = problem.dim() as f64;
    step * inner.lipschitz * (p * (2.0 * p).ln()).sqrt()
}

/// The loss's curvature for rows in the unit ball, without looking at the data.
fn curvature(problem: &Problem, inner: &ZerothOrder) -> f64 {
    match problem.loss.name() {
        "squared" => 2.0,
        "logistic" => 0.25,
        // Kinks are smoothed over the width u1: a slope change of at most 2 c1 over it.
        _ => 1.0_f64.max(problem.loss.lipschitz().unwrap_or(1.0) / inner.smoothing),
    }
}

/// One agent's noise after the last round, as the claim assumes it and as it is.
#[derive(Clone, Copy, Debug)]
pub struct Noise {
    /// Lemma 3.
    pub sensitivity: f64,
    /// Theorem 1.
    pub assumed: f64,
    /// The standard deviation over [`REPLICATES`] repetitions of the inner loop at frozen inputs.
    pub measured: Option<f64>,
}

/// The noise of every agent; nothing where no noise is claimed.
pub fn measured_noise(
    config: &Config,
    problem: &Problem,
    graph: &Graph,
    agents: &[Agent],
    inner: &[ZerothOrder],
    streams: &Streams,
) -> Vec<Noise> {
    let Mechanism::Intrinsic { epsilon, delta, .. } = config.privacy.mechanism else {
        return Vec::new();
    };
    let zero = vec![0.0; problem.dim()];
    agents
        .par_iter()
        .zip(inner)
        .enumerate()
        .map(|(k, (agent, inner))| {
            let sensitivity = sensitivity(config, problem, graph, k);
            let start = if config.algorithm.admm.warm_start { agent.beta() } else { &zero };
            let context = RoundContext { agent: agent.name(), round: 0, streams };
            let lagrangian = agent.frozen_lagrangian();
            Noise {
                sensitivity,
                assumed: calibrate::theorem1_sigma(sensitivity, epsilon, delta),
                measured: measure_noise(inner, &lagrangian, start, REPLICATES, &context),
            }
        })
        .collect()
}
