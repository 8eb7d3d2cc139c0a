//! Finds the constants of the public rules for `output`, `scalar` and dp-gd: a grid over settings, the median
//! error over draws, at exact total epsilons. `cargo run --release -p dzoa --example tune_exact -- output`
//!
//! Data: rows N(0, I) put into the unit ball, labels by the logistic model with w ~ 2 N(0, I), K = 5 on the
//! paper's graph, N_k = 2000, P = 10, eta = 0.02, delta = 1e-5. Seeds from 1000 up, never those reported.

use dzoa::agent::Average;
use dzoa::baselines::dp_gd::{self, DpGd};
use dzoa::baselines::{Baseline, Lockstep};
use dzoa::graph::Topology;
use dzoa::mechanism::{Target, plan_output, plan_scalar};
use dzoa::output::Output;
use dzoa::prelude::*;
use dzoa::privacy::calibrate::Schedule;
use dzoa::problem::loss::Targets;
use dzoa::problem::synthetic::Synthetic;
use dzoa::scalar::Scalar;
use dzoa::simulate::{Fleet, Releases, agents};
use dzoa::streams::Purpose;
use rayon::prelude::*;
use std::sync::Arc;

const DELTA: f64 = 1e-5;
const AGENTS: usize = 5;

/// One data set and its optimum.
pub struct Draw {
    problem: Problem,
    optimum: Vec<f64>,
    streams: Streams,
}

/// Data from a seed.
pub fn draw(seed: u64) -> Draw {
    let streams = Streams::from_seed(seed);
    let data =
        Synthetic { samples: 2000, signal: 2.0, normalize_columns: false, ..Default::default() };
    let agents = data.draw(Targets::Signs, &mut streams.rng(Purpose::Data, "data", 0));
    let problem = Problem {
        loss: Arc::new(Logistic),
        regularizer: Regularizer::L1,
        eta: 0.02,
        scale: Scale::Mean,
        intercept: false,
        agents: agents.into_iter().map(Arc::new).collect(),
    };
    let optimum = reference::optimum(&problem).unwrap().coefficients;
    Draw { problem, optimum, streams }
}

fn error(estimates: &[Vec<f64>], optimum: &[f64]) -> f64 {
    let scale: f64 = optimum.iter().map(|b| b * b).sum();
    let of = |e: &Vec<f64>| e.iter().zip(optimum).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
    estimates.iter().map(of).sum::<f64>() / scale
}

fn graph() -> Graph {
    let names = (1..=AGENTS).map(|k| k.to_string()).collect();
    let mut rng = Streams::from_seed(0).rng(Purpose::Layout, "", 0);
    Graph::generate(Topology::Paper, names, &mut rng).unwrap()
}

fn target(epsilon: f64, growth: f64) -> Target {
    let schedule = Schedule::Growth(growth);
    Target { total_epsilon: epsilon, delta: DELTA, schedule, rows_per_person: 1 }
}

/// The error of `output`.
pub fn output(draw: &Draw, epsilon: f64, rho: f64, rounds: u64, growth: f64) -> f64 {
    let (graph, problem) = (graph(), &draw.problem);
    let plan = |k| {
        let near = (rho, graph.neighbourhood(k, true));
        plan_output(problem, k, near, rounds, None, &target(epsilon, growth)).unwrap()
    };
    let plans: Vec<_> = (0..AGENTS).map(plan).collect();
    let releases = Releases {
        events: plans.iter().map(|plan| plan.events.clone()).collect(),
        ledgers: vec![],
        average: Average::Network { gossip: graph.gossip_rounds(1e-3) },
    };
    let admm = Admm { rho, rounds, ..Admm::default() };
    let mut agents = agents(problem, &graph, admm, releases, &draw.streams, |k| {
        Box::new(Output::new(None, problem.risk(k), plans[k].tau, plans[k].radius))
    })
    .unwrap();
    simulate(&mut agents, &mut ());
    error(&agents.iter().map(Agent::estimate).collect::<Vec<_>>(), &draw.optimum)
}

/// What is tuned for `scalar`.
#[allow(missing_docs)]
pub struct ScalarSettings {
    pub rho: f64,
    pub rounds: u64,
    pub inner_steps: usize,
    pub step: f64,
    pub clip: f64,
    pub growth: f64,
}

/// The error of `scalar`.
pub fn scalar(draw: &Draw, epsilon: f64, settings: &ScalarSettings) -> f64 {
    let ScalarSettings { rho, rounds, inner_steps, step, clip, growth } = *settings;
    let (graph, problem) = (graph(), &draw.problem);
    let p = problem.dim() as f64;
    let inner = ZerothOrder {
        inner_steps,
        directions: 40,
        smoothing: 0.1,
        alpha0_times_r: step * (p * (2.0 * p).ln()).sqrt(),
        ..Default::default()
    };
    let looks = (inner.directions, inner_steps);
    let (_, events) = plan_scalar(clip, looks, 2000, rounds, &target(epsilon, growth)).unwrap();
    let releases = Releases {
        events: vec![events; AGENTS],
        ledgers: vec![],
        average: Average::Network { gossip: graph.gossip_rounds(1e-3) },
    };
    let admm = Admm { rho, rounds, warm_start: true, ..Admm::default() };
    let mut agents = agents(problem, &graph, admm, releases, &draw.streams, |k| {
        Box::new(Scalar { inner, clip, samples: Arc::new(problem.risk(k)) })
    })
    .unwrap();
    simulate(&mut agents, &mut ());
    error(&agents.iter().map(Agent::estimate).collect::<Vec<_>>(), &draw.optimum)
}

/// The error of dp-gd.
pub fn gradient(draw: &Draw, epsilon: f64, rounds: u64, step: f64) -> f64 {
    let (graph, problem) = (graph(), &draw.problem);
    let baseline = DpGd::new(dp_gd::Settings { step, clip: None }, problem);
    let events = |k| baseline.events(problem, k, rounds, &target(epsilon, 1.0)).unwrap().into();
    let releases = Releases {
        events: (0..AGENTS).map(events).collect(),
        ledgers: vec![],
        average: Average::LastHalf,
    };
    let streams = &draw.streams;
    let mut run = Lockstep::new(Box::new(baseline), problem, &graph, rounds, releases, streams);
    run.run(&mut ());
    error(&(0..AGENTS).map(|k| run.estimate(k)).collect::<Vec<_>>(), &draw.optimum)
}

/// Over draws.
pub fn median(draws: &[Draw], error: impl Fn(&Draw) -> f64 + Sync + Send) -> f64 {
    let mut errors: Vec<f64> = draws.par_iter().map(error).collect();
    errors.sort_by(f64::total_cmp);
    let middle = errors.len() / 2;
    if errors.len() % 2 == 1 { errors[middle] } else { 0.5 * (errors[middle - 1] + errors[middle]) }
}

fn main() {
    let which = std::env::args().nth(1).unwrap_or_default();
    let count: u64 = std::env::args().nth(2).and_then(|n| n.parse().ok()).unwrap_or(8);
    let draws: Vec<Draw> = (1000..1000 + count).into_par_iter().map(draw).collect();
    let only: Option<f64> = std::env::args().nth(3).and_then(|e| e.parse().ok());
    for epsilon in only.map_or(vec![0.5, 2.0, 8.0], |e| vec![e]) {
        let mut table: Vec<(f64, String)> = Vec::new();
        match which.as_str() {
            "output" => {
                for rho in [0.003, 0.01, 0.03] {
                    for rounds in [15, 30, 60] {
                        for growth in [1.0, 1.03, 1.1] {
                            let e = median(&draws, |d| output(d, epsilon, rho, rounds, growth));
                            table.push((e, format!("rho {rho} rounds {rounds} growth {growth}")));
                        }
                    }
                }
            }
            "scalar" => {
                for rho in [0.01, 0.03] {
                    for (rounds, inner_steps) in [(100, 1), (200, 1)] {
                        for step in [10.0, 20.0] {
                            for clip in [1.0, 2.0] {
                                let growth = 1.0;
                                let s =
                                    ScalarSettings { rho, rounds, inner_steps, step, clip, growth };
                                let e = median(&draws, |d| scalar(d, epsilon, &s));
                                table.push((e, format!("rho {rho} rounds {rounds} T {inner_steps} step {step} clip {clip}")));
                            }
                        }
                    }
                }
            }
            "dp-gd" => {
                for rounds in [10, 30, 100] {
                    for step in [1.0, 3.0, 6.0, 10.0] {
                        let e = median(&draws, |d| gradient(d, epsilon, rounds, step));
                        table.push((e, format!("rounds {rounds} step {step}")));
                    }
                }
            }
            other => panic!("`{other}` is none of output, scalar, dp-gd"),
        }
        table.sort_by(|a, b| a.0.total_cmp(&b.0));
        println!("epsilon {epsilon}");
        for (error, settings) in table.iter().take(14) {
            println!("  {error:.5}  {settings}");
        }
    }
}
