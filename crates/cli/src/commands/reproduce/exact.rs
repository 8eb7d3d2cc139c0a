//! The classification problem of the figure whose privacy is exact, and any algorithm on it.

use super::trials::Stop;
use crate::agents;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::inner::inner_loops;
use crate::instance::Instances;
use crate::interrupt;
use dzoa::prelude::*;
use std::ops::ControlFlow;

/// N_k.
pub const SAMPLES: usize = 2000;
/// K.
pub const AGENTS: usize = 5;
/// P.
pub const FEATURES: usize = 10;
/// eta.
pub const ETA: f64 = 0.02;

/// A budget over the whole run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Total, exact.
    pub epsilon: f64,
    /// Total.
    pub delta: f64,
}

/// How the budget is kept.
#[derive(Clone, Debug)]
pub struct Method {
    /// `algorithm = ...` of a config, as an inline table.
    pub algorithm: String,
    /// `privacy.mechanism`
    pub mechanism: &'static str,
    /// Each round's share of the budget over that of the one before.
    pub growth: f64,
}

/// Rows and their optimum.
pub struct ExactDraw {
    instances: Instances,
    problem: Problem,
    optimum: Vec<f64>,
    streams: Streams,
    loss: &'static str,
}

fn config(loss: &str, method: &Method, Budget { epsilon, delta }: Budget) -> Result<Config> {
    let Method { algorithm, mechanism, growth } = method;
    let text = format!(
        "problem = {{ loss = \"{loss}\", regularizer = \"l1\", eta = {ETA} }}\n\
         network = {{ topology = \"paper\" }}\n\
         data = {{ synthetic = {{ agents = {AGENTS}, samples = {SAMPLES}, features = {FEATURES}, signal = 2.0, \
         normalize_columns = false }} }}\n\
         algorithm = {algorithm}\n\
         privacy = {{ mechanism = \"{mechanism}\", total_epsilon = {epsilon:?}, delta = {delta:?}, \
         schedule = {{ growth = {growth:?} }} }}\n"
    );
    Config::from_text(&text, "fig3-honest (built in)")
}

impl ExactDraw {
    /// Draws the data of one trial.
    pub fn new(loss: &'static str, streams: &Streams) -> Result<Self> {
        let any = Method {
            algorithm: "{ name = \"dp-gd\", rounds = 1 }".into(),
            mechanism: "output",
            growth: 1.0,
        };
        let config = config(loss, &any, Budget { epsilon: 1.0, delta: 1e-5 })?;
        let instances = Instances::prepare(&config, streams)?;
        let problem = instances.problem(streams);
        let optimum = reference::optimum(&problem)
            .map_err(|error| Error::run(format!("{loss}: {error}")))?
            .coefficients;
        Ok(Self { instances, problem, optimum, streams: streams.clone(), loss })
    }

    /// The paper's metric of what the agents report in the end.
    pub fn error(&self, method: &Method, budget: Budget) -> Result<f64, Stop> {
        let mut config = config(self.loss, method, budget)?;
        agents::apply_public_rule(&mut config, &self.instances);
        let (problem, graph) = (&self.problem, &self.instances.graph);
        let inner = inner_loops(&config, problem, graph, None)?;
        let promises = agents::promises(&config, problem, graph)?;
        let charged = (promises.as_slice(), Vec::new());
        let mut fleet = agents::build(&config, problem, graph, &inner, charged, &self.streams)?;
        let status = fleet.run(&mut |_: &RoundView<'_>| match interrupt::asked() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        });
        match status {
            _ if interrupt::asked() => Err(Stop::Interrupted),
            Status::Finished => Ok(self.distance((0..fleet.len()).map(|k| fleet.estimate(k)))),
            Status::NonFinite { .. } => Ok(f64::INFINITY),
            failed => {
                let Method { algorithm, .. } = method;
                Err(Error::run(format!("{algorithm} on {}: {failed:?}", self.loss)).into())
            }
        }
    }

    fn distance(&self, estimates: impl Iterator<Item = Vec<f64>>) -> f64 {
        let scale: f64 = self.optimum.iter().map(|b| b * b).sum();
        let of =
            |b: Vec<f64>| b.iter().zip(&self.optimum).map(|(b, c)| (b - c) * (b - c)).sum::<f64>();
        let error = estimates.map(of).sum::<f64>() / scale;
        if error.is_finite() { error } else { f64::INFINITY }
    }
}
