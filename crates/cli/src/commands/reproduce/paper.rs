//! The paper's example: one draw of its data, and D-ZOA on it.

use super::trials::Stop;
use crate::config::Config;
use crate::interrupt;
use crate::refusal::refused;
use dzoa::baselines::Baseline;
use dzoa::plan::{
    Algorithm, Auto, Data, Intrinsic, Mechanism, Noise, OptimumNorm, PerAgent, Plan, RunSpec, rules,
};
use dzoa::prelude::*;
use dzoa::privacy::Event;
use dzoa::reference::Optimum;
use dzoa::run::evaluate::{error_or_infinity, norm_squared};
use dzoa::run::{Lockstep, Releases, Simulation};
use dzoa_table::{Error, Instances, Result};
use rayon::prelude::*;
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

/// What the paper asks for with one pair.
fn spec((epsilon, delta): Pair, rounds: u64) -> RunSpec {
    let mechanism = Mechanism::new(Intrinsic {
        epsilon,
        delta,
        c: PerAgent::All(rules::PAPER_C),
        optimum_norm: OptimumNorm::Replicate,
    });
    RunSpec { rounds: Auto::Given(rounds), ..RunSpec::new(Algorithm::DZoa, mechanism) }
}

impl Draw {
    /// Draws the data of one trial.
    pub fn new(streams: &Streams) -> Result<Self> {
        let config = Config::load(None, &[])?;
        let instances = Instances::prepare(&config.instances(), streams)?;
        let problem = instances.problem(streams);
        let optimum = reference::optimum(&problem)
            .map_err(|error| Error::run(format!("the paper's example: {error}")))?;
        let (streams, runs) = (streams.clone(), HashMap::new());
        Ok(Self { problem, graph: instances.graph, optimum, streams, runs })
    }

    /// `||beta^c||^2`
    pub fn optimum_norm_squared(&self) -> f64 {
        norm_squared(&self.optimum.coefficients)
    }

    /// The paper's metric; infinite where it has no value.
    pub fn error<B: AsRef<[f64]>>(&self, estimates: impl Iterator<Item = B>) -> f64 {
        error_or_infinity(&self.optimum.coefficients, estimates)
    }

    /// D-ZOA's error after each of [`ROUNDS`] rounds, computed once.
    pub fn d_zoa_errors(&mut self, pair: Pair) -> Result<&[f64], Stop> {
        let key = [pair.0.to_bits(), pair.1.to_bits()];
        if !self.runs.contains_key(&key) {
            let (_, mut fleet) = self.agents(pair, ROUNDS)?;
            let errors = self.errors(&mut *fleet)?;
            self.runs.insert(key, errors);
        }
        Ok(&self.runs[&key])
    }

    /// Another algorithm's error after each of [`ROUNDS`] rounds, every release charged as `event`.
    pub fn errors_of(&self, built: Box<dyn Baseline>, event: Event) -> Result<Vec<f64>, Stop> {
        let (problem, graph) = (&self.problem, &self.graph);
        let releases = Releases::all(event, graph.len(), &self.streams);
        let mut fleet = Lockstep::new(built, problem, graph, ROUNDS, releases);
        self.errors(&mut fleet)
    }

    fn errors(&self, fleet: &mut dyn Simulation) -> Result<Vec<f64>, Stop> {
        let mut errors = Vec::new();
        watched(fleet, |view| {
            errors
                .push(self.error((0..view.simulation.len()).map(|k| view.simulation.estimate(k))));
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
        let (_, mut fleet) = self.agents(pair, rounds)?;
        watched(&mut *fleet, watch)
    }

    /// The noise of every agent's inner loop at the inputs of these rounds.
    pub fn noise(&self, pair: Pair, at: &[u64]) -> Result<Vec<(u64, Vec<Noise>)>, Stop> {
        let last = at.iter().copied().max().unwrap_or(1);
        let (plan, mut fleet) = self.agents(pair, last)?;
        let measure = |fleet: &dyn Simulation| -> Vec<Noise> {
            let each = fleet.agents().par_iter().enumerate();
            each.filter_map(|(k, agent)| plan.measured_noise(k, agent, &self.streams)).collect()
        };
        let mut found = Vec::new();
        if at.contains(&1) {
            found.push((1, measure(&*fleet)));
        }
        watched(&mut *fleet, |view| {
            // After round m the agents hold the inputs of round m + 1.
            if at.contains(&(view.round + 1)) {
                found.push((view.round + 1, measure(view.simulation)));
            }
        })?;
        Ok(found)
    }

    fn agents(&self, pair: Pair, rounds: u64) -> Result<(Plan, Box<dyn Simulation>)> {
        let spec = spec(pair, rounds);
        let mechanism = spec.mechanism.with_optimum(&self.optimum.coefficients);
        let data = Data::Rows(self.problem.clone());
        let plan =
            Plan::new(&RunSpec { mechanism, ..spec }, &data, &self.graph).map_err(refused)?;
        let fleet = plan.simulation(Vec::new(), &self.streams).map_err(refused)?;
        Ok((plan, fleet))
    }
}

/// Runs to the end and shows every round to `watch`, unless the user has had enough.
fn watched(fleet: &mut dyn Simulation, mut watch: impl FnMut(&RoundView<'_>)) -> Result<(), Stop> {
    fleet.run(&mut |view: &RoundView<'_>| {
        watch(view);
        if interrupt::asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    if interrupt::asked() { Err(Stop::Interrupted) } else { Ok(()) }
}
