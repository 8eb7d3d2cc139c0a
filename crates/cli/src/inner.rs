//! The inner loop of every agent: its step size, and the noise that it really has.

use crate::config::{Config, Mechanism, OptimumNorm, Solver};
use crate::error::{Error, Result};
use dzoa::admm::RoundContext;
use dzoa::mechanism::scalar_step;
use dzoa::prelude::*;
use dzoa::privacy::calibrate;
use dzoa::reference::Optimum;
use dzoa::simulate::Fleet;
use dzoa::step_rule::{data_curvature, first_step, stable_step};
use dzoa::zeroth_order::measure_noise;
use rayon::prelude::*;

/// Repetitions of an inner loop at frozen inputs when its noise is measured.
pub const REPLICATES: u64 = 64;

/// c1 for Lemma 3, and whether it is true. The paper takes 1 for the squared loss, which has none;
/// and rows that nothing keeps in the unit ball have none, either.
pub fn c1(config: &Config) -> (f64, bool) {
    let bounded = config.schema.as_ref().is_none_or(|schema| schema.rows_in_unit_ball());
    config.problem.loss.lipschitz().map_or((1.0, false), |c1| (c1, bounded))
}

/// Lemma 3 at one agent.
fn sensitivity(config: &Config, problem: &Problem, neighbourhood: usize, k: usize) -> f64 {
    let rho = config.algorithm.admm.rho;
    calibrate::lemma3_sensitivity(c1(config).0, rho, neighbourhood, problem.agents[k].count())
}

/// The inner loop of every agent; empty for the exact solver.
pub fn inner_loops(
    config: &Config,
    problem: &Problem,
    graph: &Graph,
    optimum: Option<&Optimum>,
) -> Result<Vec<ZerothOrder>> {
    let loops: Result<Option<Vec<ZerothOrder>>> = (0..graph.len())
        .map(|k| {
            let neighbourhood = graph.neighbourhood(k, config.network.self_loop);
            inner_loop(config, problem, neighbourhood, k, optimum)
        })
        .collect();
    Ok(loops?.unwrap_or_default())
}

/// The inner loop of one agent, its step size from Corollary 1 (`intrinsic`), from the config, or from a
/// stability rule.
pub fn inner_loop(
    config: &Config,
    problem: &Problem,
    neighbourhood: usize,
    k: usize,
    optimum: Option<&Optimum>,
) -> Result<Option<ZerothOrder>> {
    let Solver::ZerothOrder { inner, step, lipschitz, .. } = &config.algorithm.solver else {
        return Ok(None);
    };
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
                sensitivity: sensitivity(config, problem, neighbourhood, k),
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
        (mechanism, None) => {
            let scalar = matches!(mechanism, Mechanism::Scalar { .. });
            let data = data_curvature(problem, k, &inner, scalar);
            let quadratic = config.algorithm.admm.rho * neighbourhood as f64;
            let longest = match mechanism {
                Mechanism::Scalar { .. } => scalar_step(data, quadratic),
                _ => stable_step(data + 2.0 * quadratic, problem.dim(), &inner),
            };
            first_step(longest, &inner, problem.dim())
        }
    };
    Ok(Some(ZerothOrder { alpha0_times_r, ..inner }))
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
    fleet: &dyn Fleet,
    inner: &[ZerothOrder],
    streams: &Streams,
) -> Vec<Noise> {
    fleet
        .agents()
        .par_iter()
        .zip(inner)
        .enumerate()
        .filter_map(|(k, (agent, inner))| {
            let neighbourhood = graph.neighbourhood(k, config.network.self_loop);
            noise_of_one(config, problem, (neighbourhood, k), agent, inner, streams)
        })
        .collect()
}

/// The noise of one agent.
pub fn noise_of_one(
    config: &Config,
    problem: &Problem,
    (neighbourhood, k): (usize, usize),
    agent: &Agent,
    inner: &ZerothOrder,
    streams: &Streams,
) -> Option<Noise> {
    let Mechanism::Intrinsic { epsilon, delta, .. } = config.privacy.mechanism else {
        return None;
    };
    let zero = vec![0.0; problem.dim()];
    let sensitivity = sensitivity(config, problem, neighbourhood, k);
    let start = if config.algorithm.admm.warm_start { agent.beta() } else { &zero };
    let context = RoundContext { agent: agent.name(), round: 0, streams };
    let lagrangian = agent.frozen_lagrangian();
    Some(Noise {
        sensitivity,
        assumed: calibrate::theorem1_sigma(sensitivity, epsilon, delta),
        measured: measure_noise(inner, &lagrangian, start, REPLICATES, &context),
    })
}
