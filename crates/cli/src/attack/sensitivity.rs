//! The deterministic half of an audit: does any pair of rows move the noiseless update farther than
//! claimed?

use crate::agents::{self, Promise};
use crate::config::{Config, Mechanism, Solver};
use crate::error::Result;
use dzoa::prelude::*;
use dzoa::scalar::Scalar;
use dzoa::worst_case::{Attacked, LargestMove, of_baseline, of_output, of_scalar};
use std::sync::Arc;

/// The largest move that was found at agent `k`, beside its claim; `None` where no sensitivity is
/// claimed.
pub fn largest_move(
    config: &Config,
    problem: &Problem,
    graph: &Graph,
    (k, inner): (usize, Option<&ZerothOrder>),
    promise: &Promise,
) -> Result<Option<LargestMove>> {
    let Some(target) = config.privacy.mechanism.target() else { return Ok(None) };
    let attacked = Attacked { problem, k, rows_per_person: target.rows_per_person };
    let admm = &config.algorithm.admm;
    if let Solver::Baseline(_) = config.algorithm.solver {
        // Refused here once, so that nothing is left to fail below.
        agents::baseline(config, problem, graph)?;
        let fresh =
            || agents::baseline(config, problem, graph).ok().flatten().expect("built above");
        return Ok(of_baseline(&attacked, &promise.events, admm.rounds, fresh));
    }
    Ok(match (&config.privacy.mechanism, inner) {
        (Mechanism::Scalar { clip, .. }, Some(inner)) => {
            let samples = Arc::new(problem.risk(k));
            let scalar = Scalar { inner: *inner, clip: agents::clip_of(*clip), samples };
            of_scalar(&attacked, &promise.events[0], &scalar)
        }
        (Mechanism::Output { .. }, inner) => {
            let near = graph.neighbourhood(k, config.network.self_loop);
            let quadratic = admm.rho * near as f64;
            of_output(&attacked, &promise.events[0], quadratic, inner.copied(), promise.tau)
        }
        _ => None,
    })
}
