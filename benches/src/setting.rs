//! What is measured: problems of any shape, solved as the paper does.

use crate::clock::Timing;
use dzoa::admm::{Admm, LocalState};
use dzoa::agent::Agent;
use dzoa::network::{Graph, Topology};
use dzoa::prelude::*;
use dzoa::primal::{Workspace, ZerothOrder};
use dzoa::privacy::Event;
use dzoa::problem::Directions;
use dzoa::problem::Synthetic;
use dzoa::run::Releases;
use dzoa::streams::Purpose;
use std::sync::Arc;

/// Shapes and effort.
#[derive(Clone, Debug)]
pub struct BenchSetting {
    /// K.
    pub agents: usize,
    /// N_k.
    pub samples: usize,
    /// P.
    pub features: usize,
    /// The loss.
    pub loss: Arc<dyn Loss>,
    /// M.
    pub rounds: u64,
    /// T.
    pub inner_steps: usize,
    /// J.
    pub directions: usize,
    /// Who talks to whom.
    pub topology: fn() -> Topology,
}

/// A ring, for any number of agents.
pub fn ring() -> Topology {
    Topology::Ring
}

impl BenchSetting {
    /// The paper's example.
    pub fn paper() -> Self {
        Self {
            agents: 5,
            samples: 20,
            features: 10,
            loss: Arc::new(Squared),
            rounds: 200,
            inner_steps: 100,
            directions: 30,
            topology: || Topology::Paper,
        }
    }

    /// Generated data.
    pub fn problem(&self) -> Problem {
        let Self { agents, samples, features, .. } = *self;
        let data = Synthetic { agents, samples, features, ..Synthetic::default() };
        let mut rng = Streams::from_seed(1).rng(Purpose::Data, "data", 0);
        Problem {
            loss: self.loss.clone(),
            regularizer: Regularizer::L1,
            eta: 1.0,
            scale: Scale::Sum,
            intercept: false,
            agents: data.draw(self.loss.targets(), &mut rng).into_iter().map(Arc::new).collect(),
        }
    }

    /// The inner loop.
    pub fn inner(&self) -> ZerothOrder {
        ZerothOrder {
            inner_steps: self.inner_steps,
            directions: self.directions,
            // Short enough for every shape: how far a step goes costs nothing.
            alpha0_times_r: if self.samples > 20 { 1e-3 } else { 1.0 },
            ..ZerothOrder::default()
        }
    }
}

/// Agents ready to run.
pub fn agents(setting: &BenchSetting) -> Vec<Agent> {
    agents_of(setting, &setting.problem())
}

/// Agents ready to run, with these rows.
pub fn agents_of(setting: &BenchSetting, problem: &Problem) -> Vec<Agent> {
    let names = (0..setting.agents).map(|k| format!("agent {k}")).collect();
    let streams = Streams::from_seed(1);
    let topology = if setting.agents == 5 { (setting.topology)() } else { Topology::Ring };
    let graph = Graph::generate(topology, names, &mut streams.rng(Purpose::Layout, "", 0))
        .expect("a graph of this size");
    let settings = Admm { rounds: setting.rounds, ..Admm::default() };
    let inner = vec![setting.inner(); setting.agents];
    let releases = Releases::all(Event::Unprotected, setting.agents, &streams);
    dzoa::run::zeroth_order_agents(problem, &graph, settings, &inner, releases)
        .expect("the setting is valid")
}

/// Seconds for one inner step of the first agent, as a mean over its inner loop.
pub fn descend(problem: &Problem, setting: &BenchSetting, repeat: usize) -> f64 {
    let objective = problem.local(0);
    let state = LocalState::zero(problem.dim(), 2);
    let lagrangian = state.lagrangian(&Admm::default(), &objective);
    let inner = setting.inner();
    let normals = Streams::from_seed(1).normals(Purpose::Directions, "step", 1);
    let mut work = Workspace::default();
    let mut b = vec![0.0; problem.dim()];
    let draw =
        |t: usize, directions: &mut Directions| normals.fill(t as u64, directions.values_mut());
    Timing::short(repeat).best(|_| {
        b.fill(0.0);
        inner.descend(&lagrangian, &mut b, draw, &mut work).expect("the steps are short");
    }) / setting.inner_steps as f64
}

/// The text of a LIBSVM file as sparse rows in the unit ball.
pub fn libsvm(text: &str) -> Samples {
    let (mut rows, mut targets, mut width) = (Vec::new(), Vec::new(), 0);
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let Some(label) = words.next() else { continue };
        targets.push(if label.starts_with('-') { -1.0 } else { 1.0 });
        let entry = |word: &str| -> Option<(usize, f64)> {
            let (column, value) = word.split_once(':')?;
            Some((column.parse::<usize>().ok()? - 1, value.parse().ok()?))
        };
        let row: Vec<(usize, f64)> = words.filter_map(entry).collect();
        width = row.iter().fold(width, |width, (column, _)| width.max(column + 1));
        rows.push(row);
    }
    let rows = Rows::sparse(width, rows).expect("columns within the width").into_unit_ball();
    Samples::new(rows, targets).expect("a target for every row")
}
