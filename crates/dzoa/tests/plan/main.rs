//! The planning layer without processes: what the rules choose, what is refused, and what it costs.

mod boxes;
mod choices;
mod refusals;
mod totals;

use dzoa::plan::{Algorithm, Data, Keys, Mechanism, Plan, RunSpec};
use dzoa::prelude::*;
use dzoa::problem::Synthetic;
use dzoa::streams::Purpose;
use dzoa::tuning::Setting;
use std::sync::Arc;

/// delta of every guarantee here.
const DELTA: f64 = 1e-5;
/// A budget at which every algorithm can give its guarantee on [`problem`].
const EPSILON: f64 = 2.0;
/// `N_k`: rules go by the smallest, charges by every agent's own.
const SAMPLES: [usize; 3] = [300, 400, 500];
/// P.
const FEATURES: usize = 4;
/// `|N_k|` on [`path`], the agent itself included.
const NEAR: [usize; 3] = [2, 3, 2];

/// Three agents in a row.
fn path() -> Graph {
    let names = ["a", "b", "c"].map(String::from).to_vec();
    Graph::from_edges(names, &[(0, 1), (1, 2)]).unwrap()
}

/// Rows in the unit ball, under any loss.
fn problem(loss: impl Loss + 'static, regularizer: Regularizer) -> Problem {
    let drawn =
        Synthetic { agents: 3, samples: SAMPLES[2], features: FEATURES, ..Synthetic::default() };
    let mut rng = Streams::from_seed(4).rng(Purpose::Data, "data", 0);
    let agents = drawn.draw(loss.targets(), &mut rng).into_iter().zip(SAMPLES);
    let first =
        |(all, count): (Samples, usize)| Arc::new(all.select(&(0..count).collect::<Vec<usize>>()));
    Problem {
        loss: Arc::new(loss),
        regularizer,
        eta: 0.1,
        scale: Scale::Mean,
        intercept: false,
        agents: agents.map(first).collect(),
    }
}

/// What meets the assumptions of every algorithm: smooth, Lipschitz, strongly convex.
fn rows() -> Data {
    Data::Rows(problem(Logistic, Regularizer::L2))
}

/// A mechanism whose total holds.
fn exact(name: &str, epsilon: f64) -> Mechanism {
    let keys = Keys { total_epsilon: Some(epsilon), delta: Some(DELTA), ..Keys::default() };
    Mechanism::from_keys(name, &keys).unwrap()
}

/// The paper's claim.
fn intrinsic() -> Mechanism {
    let keys = Keys { epsilon: Some(0.15), delta: Some(1e-3), ..Keys::default() };
    Mechanism::from_keys("intrinsic", &keys).unwrap()
}

fn spec(algorithm: &str, mechanism: Mechanism) -> RunSpec {
    RunSpec::new(Algorithm::named(algorithm, &Setting::default()).unwrap(), mechanism)
}

/// Every mechanism with every algorithm of ours that can run under it.
fn own() -> Vec<RunSpec> {
    vec![
        spec("d-zoa", Mechanism::none()),
        spec("d-zoa", intrinsic()),
        spec("d-zoa", exact("output", EPSILON)),
        spec("d-zoa", exact("scalar", EPSILON)),
        spec("admm", Mechanism::none()),
        spec("admm", exact("output", EPSILON)),
    ]
}

/// Every other algorithm with its own noise.
fn others(epsilon: f64) -> Vec<RunSpec> {
    dzoa::baselines::names().map(|name| spec(name, exact("output", epsilon))).collect()
}

/// Everybody whose total holds.
fn guaranteed(epsilon: f64) -> Vec<RunSpec> {
    let ours = [("d-zoa", "output"), ("d-zoa", "scalar"), ("admm", "output")];
    let ours = ours.map(|(algorithm, mechanism)| spec(algorithm, exact(mechanism, epsilon)));
    ours.into_iter().chain(others(epsilon)).collect()
}

/// Names a spec in the message of a failed test.
fn named(spec: &RunSpec) -> String {
    format!("{} under {}", spec.algorithm, spec.mechanism.name())
}

/// A plan on [`rows`] and [`path`].
fn planned(spec: &RunSpec) -> Plan {
    Plan::new(spec, &rows(), &path()).unwrap_or_else(|no| panic!("{}: {no}", named(spec)))
}
