//! The algorithm against numbers computed independently with numpy (tests/oracle/*.json).

use dzoa::prelude::*;
use dzoa::primal::{Lagrangian, Workspace, gradient};
use dzoa::problem::loss::LOSSES;
use dzoa::problem::regularizer::Penalty;
use dzoa::problem::{Directions, EmpiricalRisk, Probe, Scratch};
use serde::Deserialize;
use std::sync::Arc;

fn oracle<T: for<'de> Deserialize<'de>>(name: &str) -> T {
    let path = format!("{}/../../tests/oracle/{name}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn rows(matrix: &[Vec<f64>]) -> Rows {
    Rows::dense(matrix[0].len(), matrix.concat()).unwrap()
}

fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |max: f64, (a, b)| max.max((a - b).abs()))
}

fn largest(a: &[f64]) -> f64 {
    a.iter().fold(0.0, |max: f64, a| max.max(a.abs()))
}

#[derive(Deserialize)]
struct InnerLoops {
    cases: Vec<InnerLoop>,
}

#[derive(Deserialize)]
#[allow(non_snake_case)]
struct InnerLoop {
    loss: String,
    X: Vec<Vec<f64>>,
    y: Vec<f64>,
    linear: Vec<f64>,
    quadratic: f64,
    l1: f64,
    smoothing: f64,
    step: f64,
    nu1: Vec<Vec<Vec<f64>>>,
    nu2: Vec<Vec<Vec<f64>>>,
    gradients: Vec<Vec<f64>>,
    iterates: Vec<Vec<f64>>,
}

fn loss(name: &str) -> Arc<dyn Loss> {
    let entry = LOSSES.iter().find(|entry| entry.name == name).expect("a loss of the table");
    entry.from_numbers(|_| None).unwrap()
}

fn fill(directions: &mut Directions, nu1: &[Vec<f64>], nu2: &[Vec<f64>]) {
    let (features, count) = (nu1[0].len(), nu1.len());
    directions.resize(features, count);
    for p in 0..features {
        for j in 0..count {
            directions.values_mut()[p * 2 * count + j] = nu1[j][p];
            directions.values_mut()[p * 2 * count + count + j] = nu2[j][p];
        }
    }
}

/// The oracle subtracts two values of F. With u2 = 1/(4 t)^2 that loses up to 400 units in the last
/// place of F (about 10 here) at t = 5: 1e-12 absolute. Nothing else separates the two.
const INNER_RELATIVE: f64 = 1e-9;

#[test]
fn given_directions_give_the_oracles_gradients_and_iterates() {
    for case in oracle::<InnerLoops>("inner_loop.json").cases {
        let samples = Samples::new(rows(&case.X), case.y).unwrap();
        let weight = 1.0 / samples.count() as f64;
        let p = case.linear.len();
        let objective = LocalObjective {
            data: Arc::new(EmpiricalRisk {
                samples: Arc::new(samples),
                loss: loss(&case.loss),
                weight,
            }),
            penalty: Penalty { regularizer: Regularizer::L1, weight: case.l1, penalized: p },
        };
        let lagrangian = Lagrangian {
            objective: &objective,
            linear: case.linear.clone(),
            quadratic: case.quadratic,
        };
        // The oracle's step is the whole factor in front of 1/sqrt(t).
        let factor = (p as f64 * (2.0 * p as f64).ln()).sqrt();
        let steps = case.iterates.len();
        let inner = ZerothOrder {
            inner_steps: steps,
            directions: case.nu1[0].len(),
            smoothing: case.smoothing,
            alpha0_times_r: case.step * factor,
            ..ZerothOrder::default()
        };
        // Every prefix of the loop, so that every iterate is compared.
        for done in 1..=steps {
            let mut b = vec![0.0; p];
            let prefix = ZerothOrder { inner_steps: done, ..inner };
            prefix
                .descend(
                    &lagrangian,
                    &mut b,
                    |t, directions| fill(directions, &case.nu1[t - 1], &case.nu2[t - 1]),
                    &mut Workspace::default(),
                )
                .unwrap();
            let expected = &case.iterates[done - 1];
            let difference = largest_difference(&b, expected);
            assert!(
                difference <= INNER_RELATIVE * largest(expected),
                "{} iterate {done}: {difference:e}",
                case.loss
            );
        }
        for t in 1..=steps {
            let point = if t == 1 { vec![0.0; p] } else { case.iterates[t - 2].clone() };
            let (u1, u2) = inner.smoothing_at(t, p);
            let mut directions = Directions::default();
            fill(&mut directions, &case.nu1[t - 1], &case.nu2[t - 1]);
            let probe = Probe { point: &point, u1, u2, directions: &directions };
            let mut g = vec![0.0; p];
            gradient(&lagrangian, &probe, &mut Scratch::default(), &mut Vec::new(), &mut g);
            let expected = &case.gradients[t - 1];
            let difference = largest_difference(&g, expected);
            assert!(
                difference <= INNER_RELATIVE * largest(expected),
                "{} gradient {t}: {difference:e}",
                case.loss
            );
        }
    }
}

#[derive(Deserialize)]
struct ExactRuns {
    cases: Vec<ExactRun>,
}

#[derive(Deserialize)]
#[allow(non_snake_case)]
struct ExactRun {
    scale: String,
    rho: f64,
    eta: f64,
    edges: Vec<(usize, usize)>,
    X: Vec<Vec<Vec<f64>>>,
    y: Vec<Vec<f64>>,
    optimum: Vec<f64>,
    primal_after_round: std::collections::BTreeMap<String, Vec<Vec<f64>>>,
}

const EXACT: f64 = 1e-9;

#[test]
fn exact_admm_follows_the_oracle_round_by_round_and_the_reference_finds_its_optimum() {
    for case in oracle::<ExactRuns>("exact_admm.json").cases {
        let agents = case.X.iter().zip(&case.y);
        let problem = Problem {
            loss: Arc::new(Squared),
            regularizer: Regularizer::L1,
            eta: case.eta,
            scale: if case.scale == "mean" { Scale::Mean } else { Scale::Sum },
            intercept: false,
            agents: agents
                .map(|(x, y)| Arc::new(Samples::new(rows(x), y.clone()).unwrap()))
                .collect(),
        };
        let names = (1..=case.X.len()).map(|k| k.to_string()).collect();
        let graph = Graph::from_edges(names, &case.edges).unwrap();
        let settings = Admm { rho: case.rho, rounds: 200, ..Admm::default() };
        let streams = Streams::from_seed(0);
        let mut agents = exact_agents(&problem, &graph, settings, Some(1e-12), &streams).unwrap();
        let mut compared = 0;
        let status = simulate(&mut agents, &mut |view: &RoundView<'_>| {
            if let Some(expected) = case.primal_after_round.get(&view.round.to_string()) {
                compared += 1;
                for (k, expected) in expected.iter().enumerate() {
                    let difference = largest_difference(view.simulation.release(k), expected);
                    assert!(
                        difference <= EXACT,
                        "{} scale, round {}: {difference:e}",
                        case.scale,
                        view.round
                    );
                }
            }
            std::ops::ControlFlow::Continue(())
        });
        assert_eq!(status, Status::Finished);
        assert_eq!(compared, case.primal_after_round.len());
        let optimum = reference::optimum(&problem).unwrap();
        let difference = largest_difference(&optimum.coefficients, &case.optimum);
        assert!(difference <= EXACT, "{} optimum: {difference:e}", case.scale);
        assert!(optimum.certificate.duality_gap.unwrap() < 1e-12);
    }
}
