//! Finds the constants of the public rules for `output`, `scalar` and dp-gd: a grid over settings,
//! the median error over draws, at exact total epsilons.
//! `cargo run --release -p dzoa-lab --example tune_exact -- output`
//!
//! Data: rows N(0, I) put into the unit ball, labels by the logistic model with w ~ 2 N(0, I), K = 5
//! on the paper's graph, N_k = 2000, P = 10, eta = 0.02, delta = 1e-5. Seeds from 1000 up, never
//! those reported.

use dzoa::network::Topology;
use dzoa::plan::rules::{LoopShape, scalar_loop};
use dzoa::plan::{Algorithm, Data, Keys, Mechanism, PerAgent, Plan, RunSpec, first_step};
use dzoa::prelude::*;
use dzoa::privacy::calibrate::Schedule;
use dzoa::problem::Synthetic;
use dzoa::problem::loss::Targets;
use dzoa::run::evaluate::error_or_infinity;
use dzoa::streams::Purpose;
use dzoa::tuning::Setting;
use dzoa_lab::tuner::{Middle, tune};
use rayon::prelude::*;
use std::convert::Infallible;
use std::process::ExitCode;
use std::sync::Arc;

const DELTA: f64 = 1e-5;
const AGENTS: usize = 5;
/// P.
const FEATURES: usize = 10;
/// Settings that are shown, best first.
const SHOWN: usize = 14;

/// One data set and its optimum.
pub struct Draw {
    data: Data,
    optimum: Vec<f64>,
    streams: Streams,
}

/// Data from a seed.
pub fn draw(seed: u64) -> Draw {
    let streams = Streams::from_seed(seed);
    let data = Synthetic {
        agents: AGENTS,
        samples: 2000,
        features: FEATURES,
        signal: 2.0,
        normalize_columns: false,
        ..Synthetic::default()
    };
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
    Draw { data: Data::Rows(problem), optimum, streams }
}

/// A method under an exact total. What the setting leaves open is chosen by the public rules.
pub fn spec(method: &str, epsilon: f64, setting: &Setting) -> RunSpec {
    let (mechanism, algorithm) = match method {
        "output" => ("output", "admm"),
        "scalar" => ("scalar", "d-zoa"),
        baseline => ("output", baseline),
    };
    let keys = Keys {
        total_epsilon: Some(epsilon),
        delta: Some(DELTA),
        schedule: Some(setting.growth.map(Schedule::Growth).into()),
        clip: setting.clip,
        ..Keys::default()
    };
    let mechanism = Mechanism::from_keys(mechanism, &keys).unwrap();
    let algorithm = Algorithm::named(algorithm, setting).unwrap();
    let blank = RunSpec::new(algorithm.clone(), mechanism.clone());
    let spec = blank.with_setting(algorithm, mechanism, setting);
    let step = setting.options.iter().find(|(key, _)| *key == "step");
    let length = |&(_, length): &(&str, f64)| {
        PerAgent::All(first_step(length, &ZerothOrder::default(), FEATURES))
    };
    RunSpec { step: step.map(length).into(), ..spec }
}

/// The error of one run.
pub fn error(draw: &Draw, spec: &RunSpec) -> f64 {
    let names = (1..=AGENTS).map(|k| k.to_string()).collect();
    let mut rng = Streams::from_seed(0).rng(Purpose::Layout, "", 0);
    let graph = Graph::generate(Topology::Paper, names, &mut rng).unwrap();
    let plan = Plan::new(spec, &draw.data, &graph).unwrap();
    let mut run = plan.simulation(vec![], &draw.streams).unwrap();
    run.run(&mut ());
    error_or_infinity(&draw.optimum, (0..AGENTS).map(|k| run.estimate(k)))
}

/// The median error of each over the draws.
pub fn medians(draws: &[Draw], specs: &[RunSpec]) -> Vec<f64> {
    let error = |spec: &RunSpec, draw: &Draw| Ok::<_, Infallible>(error(draw, spec));
    tune(specs, draws, Middle::Median, error).into_iter().map(|Ok(median)| median).collect()
}

/// What is tried for a method; `None` for a word that names none.
fn grid(method: &str) -> Option<Vec<Setting>> {
    match method {
        "output" => Some(of_output()),
        "scalar" => Some(of_scalar()),
        "dp-gd" => Some(of_dp_gd()),
        _ => None,
    }
}

fn of_output() -> Vec<Setting> {
    let mut grid = Vec::new();
    for rho in [0.003, 0.01, 0.03] {
        for rounds in [15, 30, 60] {
            for growth in [1.0, 1.03, 1.1] {
                let (rho, rounds, growth) = (Some(rho), Some(rounds), Some(growth));
                grid.push(Setting { rho, rounds, growth, ..Setting::default() });
            }
        }
    }
    grid
}

fn of_scalar() -> Vec<Setting> {
    let LoopShape { inner_steps, directions, smoothing } = scalar_loop(FEATURES);
    let inner = Some((inner_steps, directions, smoothing));
    let mut grid = Vec::new();
    for rho in [0.008, 0.013, 0.02] {
        for rounds in [57, 80, 115] {
            for (step, clip) in [(12.0, 0.5), (16.0, 0.5), (12.0, 1.0), (16.0, 1.0)] {
                for growth in [1.0, 1.02] {
                    let (rho, rounds, clip) = (Some(rho), Some(rounds), Some(clip));
                    let (growth, options) = (Some(growth), vec![("step", step)]);
                    grid.push(Setting { rho, rounds, clip, growth, inner, options });
                }
            }
        }
    }
    grid
}

fn of_dp_gd() -> Vec<Setting> {
    let mut grid = Vec::new();
    for rounds in [10, 30, 100] {
        for step in [1.0, 3.0, 6.0, 10.0] {
            let options = vec![("step", step)];
            grid.push(Setting { rounds: Some(rounds), options, ..Setting::default() });
        }
    }
    grid
}

/// What the words after the program's name ask for.
struct Asked {
    method: String,
    grid: Vec<Setting>,
    draws: u64,
    epsilons: Vec<f64>,
}

fn asked(mut words: impl Iterator<Item = String>) -> Option<Asked> {
    let method = words.next()?;
    let draws = words.next().map_or(Some(8), |draws| draws.parse().ok())?;
    let epsilon = |word: String| word.parse().ok().map(|epsilon| vec![epsilon]);
    let epsilons = words.next().map_or(Some(vec![0.5, 2.0, 8.0]), epsilon)?;
    Some(Asked { grid: grid(&method)?, method, draws, epsilons })
}

fn main() -> ExitCode {
    let Some(Asked { method, grid, draws, epsilons }) = asked(std::env::args().skip(1)) else {
        eprintln!("usage: tune_exact output|scalar|dp-gd [DRAWS [EPSILON]]");
        return ExitCode::from(2);
    };
    let draws: Vec<Draw> = (1000..1000 + draws).into_par_iter().map(draw).collect();
    for epsilon in epsilons {
        let specs: Vec<_> = grid.iter().map(|setting| spec(&method, epsilon, setting)).collect();
        let mut table: Vec<_> = medians(&draws, &specs).into_iter().zip(&grid).collect();
        table.sort_by(|a, b| a.0.total_cmp(&b.0));
        println!("epsilon {epsilon}");
        for (error, setting) in table.iter().take(SHOWN) {
            println!("  {error:.5}  {setting}");
        }
    }
    ExitCode::SUCCESS
}
