//! The classification problem of the figure whose privacy is exact, and any algorithm on it.

use super::trials::Stop;
use crate::config::Config;
use crate::interrupt;
use crate::refusal::refused;
use dzoa::plan::{Algorithm, Auto, Data, Keys, Mechanism, Plan, RunSpec};
use dzoa::prelude::*;
use dzoa::privacy::calibrate::Schedule;
use dzoa::run::evaluate::error_or_infinity;
use dzoa::tuning::Setting;
use dzoa_table::{Error, Instances, Result};
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
    /// `algorithm.name`
    pub algorithm: &'static str,
    /// `privacy.mechanism`
    pub mechanism: &'static str,
    /// How the budget is spread over the rounds.
    pub schedule: Auto<Schedule>,
    /// What is not left to the public rules.
    pub setting: Setting,
}

/// Rows and their optimum.
pub struct ExactDraw {
    instances: Instances,
    problem: Problem,
    optimum: Vec<f64>,
    streams: Streams,
    loss: &'static str,
}

impl Method {
    fn spec(&self, Budget { epsilon, delta }: Budget) -> Result<RunSpec> {
        let keys = Keys {
            total_epsilon: Some(epsilon),
            delta: Some(delta),
            schedule: Some(self.schedule),
            ..Keys::default()
        };
        let mechanism = Mechanism::from_keys(self.mechanism, &keys)
            .map_err(|error| Error::run(error.to_string()))?;
        let algorithm = Algorithm::named(self.algorithm, &self.setting)
            .ok_or_else(|| Error::run(format!("{} is not known", self.algorithm)))?;
        let blank = RunSpec::new(algorithm.clone(), mechanism.clone());
        Ok(blank.with_setting(algorithm, mechanism, &self.setting))
    }
}

/// The problem as a config; what is asked of it comes from a [`Method`].
fn config(loss: &str) -> Result<Config> {
    let text = format!(
        "problem = {{ loss = \"{loss}\", regularizer = \"l1\", eta = {ETA} }}\n\
         network = {{ topology = \"paper\" }}\n\
         data = {{ synthetic = {{ agents = {AGENTS}, samples = {SAMPLES}, features = {FEATURES}, \
         signal = 2.0, normalize_columns = false }} }}\n\
         algorithm = {{ rho = 1.0, rounds = 1 }}\nprivacy = {{ mechanism = \"none\" }}\n"
    );
    Config::from_text(&text, "fig3-honest (built in)")
}

impl ExactDraw {
    /// Draws the data of one trial.
    pub fn new(loss: &'static str, streams: &Streams) -> Result<Self> {
        let config = config(loss)?;
        let instances = Instances::prepare(&config.instances(), streams)?;
        let problem = instances.problem(streams);
        let optimum = reference::optimum(&problem)
            .map_err(|error| Error::run(format!("{loss}: {error}")))?
            .coefficients;
        Ok(Self { instances, problem, optimum, streams: streams.clone(), loss })
    }

    /// The paper's metric of what the agents report in the end.
    pub fn error(&self, method: &Method, budget: Budget) -> Result<f64, Stop> {
        let spec = method.spec(budget)?;
        let data = Data::Rows(self.problem.clone());
        let plan = Plan::new(&spec, &data, &self.instances.graph).map_err(refused)?;
        let mut fleet = plan.simulation(Vec::new(), &self.streams).map_err(refused)?;
        let status = fleet.run(&mut |_: &RoundView<'_>| match interrupt::asked() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        });
        match status {
            _ if interrupt::asked() => Err(Stop::Interrupted),
            Status::Finished => {
                let estimates = (0..fleet.len()).map(|k| fleet.estimate(k));
                Ok(error_or_infinity(&self.optimum, estimates))
            }
            Status::NonFinite { .. } => Ok(f64::INFINITY),
            failed => {
                let Method { algorithm, .. } = method;
                Err(Error::run(format!("{algorithm} on {}: {failed:?}", self.loss)).into())
            }
        }
    }
}
