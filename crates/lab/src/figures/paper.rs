//! The paper's example: one draw of its data, and D-ZOA on it.

use crate::Interrupt;
use crate::workers::Stop;
use dzoa::baselines::Baseline;
use dzoa::network::Topology;
use dzoa::plan::{
    Algorithm, Auto, Data, Intrinsic, MeasuredNoise, Mechanism, OptimumNorm, PerAgent, Plan,
    RunSpec, rules,
};
use dzoa::prelude::*;
use dzoa::privacy::Event;
use dzoa::problem::Synthetic;
use dzoa::reference::Optimum;
use dzoa::run::evaluate::{error_or_infinity, norm_squared};
use dzoa::run::{Lockstep, Releases, Simulation};
use dzoa::streams::Purpose;
use dzoa_report::refused;
use dzoa_table::{Error, Result};
use rayon::prelude::*;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

/// M of the paper's simulations.
pub const ROUNDS: u64 = 200;

/// A pair (epsilon of a round, delta).
pub type Pair = (f64, f64);

/// Rows, their optimum, and the runs of D-ZOA that several figures show.
pub struct PaperDraw {
    /// The problem, on the sum scale.
    pub problem: Problem,
    /// The network.
    pub graph: Graph,
    /// Centralised, certified.
    pub optimum: Optimum,
    /// Of this draw.
    pub streams: Streams,
    interrupt: Interrupt,
    runs: HashMap<[u64; 2], Vec<f64>>,
}

/// The problem of the paper's section VI: what `dzoa run` takes without a config.
pub struct PaperProblem;

impl PaperProblem {
    /// Rows of one trial, drawn with the stream that a run's data have.
    pub fn draw(streams: &Streams) -> Problem {
        let (data, loss) = (Synthetic::default(), Squared);
        let mut rng = streams.rng(Purpose::Data, "data", 0);
        Problem {
            agents: data.draw(loss.targets(), &mut rng).into_iter().map(Arc::new).collect(),
            loss: Arc::new(loss),
            regularizer: Regularizer::L1,
            eta: 1.0,
            scale: Scale::Sum,
            intercept: false,
        }
    }

    /// The network of Figure 1.
    pub fn graph() -> Result<Graph> {
        paper_graph()
    }
}

/// Five agents as in Figure 1, called 1 to 5.
pub(super) fn paper_graph() -> Result<Graph> {
    let names = (1..=5).map(|k| k.to_string()).collect();
    // Nothing about this shape is random.
    let mut unused = Streams::from_seed(0).rng(Purpose::Layout, "graph", 0);
    Graph::generate(Topology::Paper, names, &mut unused)
        .map_err(|error| Error::run(error.to_string()))
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

impl PaperDraw {
    /// Draws the data of one trial.
    pub fn new(streams: &Streams, interrupt: Interrupt) -> Result<Self> {
        let problem = PaperProblem::draw(streams);
        let optimum = reference::optimum(&problem)
            .map_err(|error| Error::run(format!("the paper's example: {error}")))?;
        let (graph, streams) = (PaperProblem::graph()?, streams.clone());
        Ok(Self { problem, graph, optimum, streams, interrupt, runs: HashMap::new() })
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
            let (_, mut simulation) = self.agents(pair, ROUNDS)?;
            let errors = self.errors(&mut *simulation)?;
            self.runs.insert(key, errors);
        }
        Ok(&self.runs[&key])
    }

    /// Another algorithm's error after each of [`ROUNDS`] rounds, every release charged as `event`.
    pub fn errors_of(&self, built: Box<dyn Baseline>, event: Event) -> Result<Vec<f64>, Stop> {
        let (problem, graph) = (&self.problem, &self.graph);
        let releases = Releases::all(event, graph.len(), &self.streams);
        let mut simulation = Lockstep::new(built, problem, graph, ROUNDS, releases);
        self.errors(&mut simulation)
    }

    fn errors(&self, simulation: &mut dyn Simulation) -> Result<Vec<f64>, Stop> {
        let mut errors = Vec::new();
        self.watched(simulation, |view| {
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
        let (_, mut simulation) = self.agents(pair, rounds)?;
        self.watched(&mut *simulation, watch)
    }

    /// The noise of every agent's inner loop at the inputs of these rounds.
    pub fn noise(&self, pair: Pair, at: &[u64]) -> Result<Vec<(u64, Vec<MeasuredNoise>)>, Stop> {
        let last = at.iter().copied().max().unwrap_or(1);
        let (plan, mut simulation) = self.agents(pair, last)?;
        let measure = |simulation: &dyn Simulation| -> Vec<MeasuredNoise> {
            let each = simulation.agents().par_iter().enumerate();
            each.filter_map(|(k, agent)| plan.measured_noise(k, agent, &self.streams)).collect()
        };
        let mut found = Vec::new();
        if at.contains(&1) {
            found.push((1, measure(&*simulation)));
        }
        self.watched(&mut *simulation, |view| {
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
        let simulation = plan.simulation(Vec::new(), &self.streams).map_err(refused)?;
        Ok((plan, simulation))
    }

    /// Runs to the end and shows every round to `watch`, unless the user has had enough.
    fn watched(
        &self,
        simulation: &mut dyn Simulation,
        mut watch: impl FnMut(&RoundView<'_>),
    ) -> Result<(), Stop> {
        simulation.run(&mut |view: &RoundView<'_>| {
            watch(view);
            match self.interrupt.asked() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        if self.interrupt.asked() { Err(Stop::Interrupted) } else { Ok(()) }
    }
}
