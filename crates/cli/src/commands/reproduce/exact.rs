//! The classification problem of the figures whose privacy is exact, and the mechanisms on it.

use super::trials::Stop;
use crate::agents;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::inner::inner_loops;
use crate::instance::Instances;
use crate::interrupt;
use dzoa::baselines::dp_gd::{self, DpGd};
use dzoa::mechanism::output_rule;
use dzoa::prelude::*;
use dzoa::privacy::calibrate::{Schedule, discrete_gaussian_events};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use std::sync::Arc;

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

/// A way to keep the budget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// D-ZOA's `output`, with its public rule.
    Output,
    /// D-ZOA's `scalar`, with its public rule.
    Scalar,
    /// Gradient descent, each agent adding its noise; needs somebody who averages.
    DpGd(Tuned),
}

/// What is tuned for a baseline.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Tuned {
    /// M.
    pub rounds: u64,
    /// Step size, or the like.
    pub step: f64,
}

/// Rows and their optimum.
pub struct ExactDraw {
    instances: Instances,
    problem: Problem,
    optimum: Vec<f64>,
    streams: Streams,
    loss: &'static str,
}

fn config(loss: &str, mechanism: &str, budget: Budget) -> Result<Config> {
    let Budget { epsilon, delta } = budget;
    let growth = output_rule(SAMPLES, epsilon).growth;
    let mut text = format!(
        "problem = {{ loss = \"{loss}\", regularizer = \"l1\", eta = {ETA} }}\n\
         network = {{ topology = \"paper\" }}\n\
         data = {{ synthetic = {{ agents = {AGENTS}, samples = {SAMPLES}, features = {FEATURES}, signal = 2.0, \
         normalize_columns = false }} }}\n"
    );
    text += &match mechanism {
        "output" => format!(
            "algorithm = {{ name = \"admm\", rho = \"auto\", rounds = \"auto\" }}\n\
             privacy = {{ mechanism = \"output\", total_epsilon = {epsilon:?}, delta = {delta:?}, \
             schedule = {{ growth = {growth:?} }} }}\n"
        ),
        _ => format!(
            "algorithm = {{ name = \"d-zoa\", rho = \"auto\", rounds = \"auto\" }}\n\
             privacy = {{ mechanism = \"scalar\", total_epsilon = {epsilon:?}, delta = {delta:?} }}\n"
        ),
    };
    Config::from_text(&text, "fig3-honest (built in)")
}

impl ExactDraw {
    /// Draws the data of one trial.
    pub fn new(loss: &'static str, streams: &Streams) -> Result<Self> {
        let config = config(loss, "output", Budget { epsilon: 1.0, delta: 1e-5 })?;
        let instances = Instances::prepare(&config, streams)?;
        let problem = instances.problem(streams);
        let optimum = reference::optimum(&problem)
            .map_err(|error| Error::run(format!("{loss}: {error}")))?
            .coefficients;
        Ok(Self { instances, problem, optimum, streams: streams.clone(), loss })
    }

    /// The paper's metric of what the agents report in the end.
    pub fn error(&self, method: &Method, budget: Budget) -> Result<f64, Stop> {
        let estimates = match method {
            Method::Output => self.d_zoa("output", budget)?,
            Method::Scalar => self.d_zoa("scalar", budget)?,
            Method::DpGd(tuned) => self.dp_gd(tuned, budget)?,
        };
        let scale: f64 = self.optimum.iter().map(|b| b * b).sum();
        let of =
            |b: &Vec<f64>| b.iter().zip(&self.optimum).map(|(b, c)| (b - c) * (b - c)).sum::<f64>();
        let error = estimates.iter().map(of).sum::<f64>() / scale;
        Ok(if error.is_finite() { error } else { f64::INFINITY })
    }

    fn d_zoa(&self, mechanism: &str, budget: Budget) -> Result<Vec<Vec<f64>>, Stop> {
        let mut config = config(self.loss, mechanism, budget)?;
        agents::apply_public_rule(&mut config, &self.instances);
        let (problem, graph) = (&self.problem, &self.instances.graph);
        let inner = inner_loops(&config, problem, graph, None)?;
        let promises = agents::promises(&config, problem, graph)?;
        let charged = (promises.as_slice(), Vec::new());
        let mut agents = agents::build(&config, problem, graph, &inner, charged, &self.streams)?;
        let status = simulate(&mut agents, &mut |_: &RoundView<'_>| match interrupt::asked() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        });
        match status {
            Status::Finished => Ok(agents.iter().map(Agent::estimate).collect()),
            Status::Stopped { .. } => Err(Stop::Interrupted),
            failed => Err(Error::run(format!("{mechanism} on {}: {failed:?}", self.loss)).into()),
        }
    }

    fn dp_gd(&self, tuned: &Tuned, budget: Budget) -> Result<Vec<Vec<f64>>, Stop> {
        let c1 = self.problem.loss.lipschitz().unwrap_or(f64::INFINITY);
        let sensitivity = dp_gd::sensitivity(c1, SAMPLES);
        let total = (budget.epsilon, budget.delta);
        let once = (FEATURES, 1);
        let events =
            discrete_gaussian_events(sensitivity, total, once, tuned.rounds, Schedule::Constant)
                .ok_or_else(|| {
                    Error::run("dp-gd: the budget is finer than the grid of the noise")
                })?;
        let run = DpGd { rounds: tuned.rounds, step: tuned.step };
        let events: Vec<Arc<[_]>> = vec![events.into(); AGENTS];
        let w = run
            .run(&self.problem, &events, &self.streams)
            .map_err(|refused| Error::run(format!("dp-gd: {refused}")))?;
        Ok(vec![w; AGENTS])
    }
}
