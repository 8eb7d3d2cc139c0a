//! The classification problem of the figure whose privacy is exact, and any algorithm on it.

use super::paper::paper_graph;
use crate::Interrupt;
use crate::workers::Stop;
use dzoa::plan::{Algorithm, Auto, Data, Keys, Mechanism, Plan, RunSpec};
use dzoa::prelude::*;
use dzoa::privacy::calibrate::Schedule;
use dzoa::privacy::{Budget, Colluders};
use dzoa::problem::Synthetic;
use dzoa::problem::loss;
use dzoa::registry::{Options, Registry};
use dzoa::run::evaluate::error_or_infinity;
use dzoa::streams::Purpose;
use dzoa::tuning::Setting;
use dzoa_report::refused;
use dzoa_table::{Error, Result};
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

/// Losses with c1 = 1 on rows in the unit ball.
pub const LOSSES: [&str; 2] = ["logistic", "hinge"];
/// Along the first panels, at [`DELTA`].
pub const EPSILONS: [f64; 6] = [0.25, 0.5, 1.0, 2.0, 4.0, 8.0];
/// What the baselines are tuned at.
pub const DELTA: f64 = 1e-5;
/// How the budget is kept.
#[derive(Clone, Debug)]
pub struct Method {
    /// `algorithm.name`
    pub algorithm: &'static str,
    /// `privacy.mechanism`
    pub mechanism: &'static str,
    /// `privacy.colluders`, of joint sums.
    pub colluders: Option<Colluders>,
    /// How the budget is spread over the rounds.
    pub schedule: Auto<Schedule>,
    /// What is not left to the public rules.
    pub setting: Setting,
}

/// Rows and their optimum.
pub struct ExactDraw {
    graph: Graph,
    problem: Problem,
    optimum: Vec<f64>,
    streams: Streams,
    interrupt: Interrupt,
    /// Its name.
    pub loss: &'static str,
}

impl Method {
    fn spec(&self, Budget { epsilon, delta }: Budget) -> Result<RunSpec> {
        let keys = Keys {
            total_epsilon: Some(epsilon),
            delta: Some(delta),
            schedule: self.colluders.is_none().then_some(self.schedule),
            colluders: self.colluders,
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

impl ExactDraw {
    /// Draws the data of one trial.
    pub fn new(loss: &'static str, streams: &Streams, interrupt: Interrupt) -> Result<Self> {
        let law = Synthetic {
            agents: AGENTS,
            samples: SAMPLES,
            features: FEATURES,
            signal: 2.0,
            normalize_columns: false,
            ..Synthetic::default()
        };
        let known = Registry::new(loss::LOSSES)
            .entry(loss)
            .map(|entry| (entry.build)(&Options::default()))
            .ok_or_else(|| Error::run(format!("{loss}: is no loss of the table")))?;
        let mut rng = streams.rng(Purpose::Data, "data", 0);
        let problem = Problem {
            agents: law.draw(known.targets(), &mut rng).into_iter().map(Arc::new).collect(),
            loss: known,
            regularizer: Regularizer::L1,
            eta: ETA,
            scale: Scale::Mean,
            intercept: false,
        };
        let optimum = reference::optimum(&problem)
            .map_err(|error| Error::run(format!("{loss}: {error}")))?
            .coefficients;
        let (graph, streams) = (paper_graph()?, streams.clone());
        Ok(Self { graph, problem, optimum, streams, interrupt, loss })
    }

    /// The paper's metric of what the agents report in the end.
    pub fn error(&self, method: &Method, budget: Budget) -> Result<f64, Stop> {
        let spec = method.spec(budget)?;
        let data = Data::Rows(self.problem.clone());
        let plan = Plan::new(&spec, &data, &self.graph).map_err(refused)?;
        let mut simulation = plan.simulation(Vec::new(), &self.streams).map_err(refused)?;
        let status = simulation.run(&mut |_: &RoundView<'_>| match self.interrupt.asked() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        });
        match status {
            _ if self.interrupt.asked() => Err(Stop::Interrupted),
            Status::Finished => {
                let estimates = (0..simulation.len()).map(|k| simulation.estimate(k));
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
