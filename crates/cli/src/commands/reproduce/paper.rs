//! The paper's example: one draw of its data, and D-ZOA on it.

use super::trials::Stop;
use crate::agents;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::inner::{Noise, inner_loops, measured_noise};
use crate::instance::Instances;
use crate::interrupt;
use dzoa::baselines::{Lockstep, Spec};
use dzoa::prelude::*;
use dzoa::privacy::Event;
use dzoa::reference::Optimum;
use dzoa::simulate::{Fleet, Releases};
use std::collections::HashMap;
use std::ops::ControlFlow;

/// M of the paper's simulations.
pub const ROUNDS: u64 = 200;

/// A pair (epsilon of a round, delta).
pub type Pair = (f64, f64);

/// Rows, their optimum, and the runs of D-ZOA that several figures show.
pub struct Draw {
    /// The problem, on the sum scale.
    pub problem: Problem,
    /// The network.
    pub graph: Graph,
    /// Centralised, certified.
    pub optimum: Optimum,
    /// Of this draw.
    pub streams: Streams,
    runs: HashMap<[u64; 2], Vec<f64>>,
}

/// The built-in config with one pair.
pub fn config((epsilon, delta): Pair, rounds: u64) -> Result<Config> {
    let sets = [
        format!("privacy.epsilon={epsilon:?}"),
        format!("privacy.delta={delta:?}"),
        format!("algorithm.rounds={rounds}"),
    ];
    Config::load(None, &sets)
}

impl Draw {
    /// Draws the data of one trial.
    pub fn new(streams: &Streams) -> Result<Self> {
        let config = config((0.15, 1e-3), ROUNDS)?;
        let instances = Instances::prepare(&config, streams)?;
        let problem = instances.problem(streams);
        let optimum = reference::optimum(&problem)
            .map_err(|error| Error::run(format!("the paper's example: {error}")))?;
        let (streams, runs) = (streams.clone(), HashMap::new());
        Ok(Self { problem, graph: instances.graph, optimum, streams, runs })
    }

    /// `||beta^c||^2`
    pub fn optimum_norm_squared(&self) -> f64 {
        self.optimum.coefficients.iter().map(|b| b * b).sum()
    }

    /// The paper's metric `sum_k ||b_k - beta^c||^2/||beta^c||^2`.
    pub fn error<B: AsRef<[f64]>>(&self, estimates: impl Iterator<Item = B>) -> f64 {
        let known = &self.optimum.coefficients;
        let of = |b: B| b.as_ref().iter().zip(known).map(|(b, c)| (b - c) * (b - c)).sum::<f64>();
        let error = estimates.map(of).sum::<f64>() / self.optimum_norm_squared();
        if error.is_finite() { error } else { f64::INFINITY }
    }

    /// D-ZOA's error after each of [`ROUNDS`] rounds, computed once.
    pub fn d_zoa_errors(&mut self, pair: Pair) -> Result<&[f64], Stop> {
        let key = [pair.0.to_bits(), pair.1.to_bits()];
        if !self.runs.contains_key(&key) {
            let (mut fleet, ..) = self.agents(pair, ROUNDS)?;
            let errors = self.errors(&mut *fleet)?;
            self.runs.insert(key, errors);
        }
        Ok(&self.runs[&key])
    }

    /// Another algorithm's error after each of [`ROUNDS`] rounds, every release charged as `event`.
    pub fn errors_of(&self, spec: Spec, event: Event) -> Result<Vec<f64>, Stop> {
        let (problem, graph) = (&self.problem, &self.graph);
        let releases = Releases::all(event, graph.len());
        let built = spec.build(problem, graph);
        let mut fleet = Lockstep::new(built, problem, graph, ROUNDS, releases, &self.streams);
        self.errors(&mut fleet)
    }

    fn errors(&self, fleet: &mut dyn Fleet) -> Result<Vec<f64>, Stop> {
        let mut errors = Vec::new();
        watched(fleet, |view| {
            errors.push(self.error((0..view.fleet.len()).map(|k| view.fleet.estimate(k))));
        })?;
        // A run that left the finite numbers stays lost.
        errors.resize(ROUNDS as usize, f64::INFINITY);
        Ok(errors)
    }

    /// Runs D-ZOA and shows every round to `watch`.
    pub fn d_zoa(
        &self,
        pair: Pair,
        rounds: u64,
        watch: impl FnMut(&RoundView<'_>),
    ) -> Result<(), Stop> {
        let (mut fleet, ..) = self.agents(pair, rounds)?;
        watched(&mut *fleet, watch)
    }

    /// The noise of every agent's inner loop at the inputs of these rounds.
    pub fn noise(&self, pair: Pair, at: &[u64]) -> Result<Vec<(u64, Vec<Noise>)>, Stop> {
        let last = at.iter().copied().max().unwrap_or(1);
        let (mut fleet, config, inner) = self.agents(pair, last)?;
        let measure = |fleet: &dyn Fleet| {
            measured_noise(&config, &self.problem, &self.graph, fleet, &inner, &self.streams)
        };
        let mut found = Vec::new();
        if at.contains(&1) {
            found.push((1, measure(&*fleet)));
        }
        watched(&mut *fleet, |view| {
            // After round m the agents hold the inputs of round m + 1.
            if at.contains(&(view.round + 1)) {
                found.push((view.round + 1, measure(view.fleet)));
            }
        })?;
        Ok(found)
    }

    fn agents(&self, pair: Pair, rounds: u64) -> Result<Built> {
        let config = config(pair, rounds)?;
        let (problem, graph) = (&self.problem, &self.graph);
        let inner = inner_loops(&config, problem, graph, Some(&self.optimum))?;
        let promises = agents::promises(&config, problem, graph)?;
        let charged = (promises.as_slice(), Vec::new());
        let fleet = agents::build(&config, problem, graph, &inner, charged, &self.streams)?;
        Ok((fleet, config, inner))
    }
}

/// Agents before their first round, and what they were made from.
type Built = (Box<dyn Fleet>, Config, Vec<ZerothOrder>);

/// Runs to the end and shows every round to `watch`, unless the user has had enough.
fn watched(fleet: &mut dyn Fleet, mut watch: impl FnMut(&RoundView<'_>)) -> Result<(), Stop> {
    fleet.run(&mut |view: &RoundView<'_>| {
        watch(view);
        if interrupt::asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    if interrupt::asked() { Err(Stop::Interrupted) } else { Ok(()) }
}
