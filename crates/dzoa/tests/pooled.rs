//! `scale = "pooled"`: every row of every agent weighs the same, under every algorithm.

use dzoa::baselines::names;
use dzoa::plan::{Algorithm, Auto, Data, Keys, Mechanism, Plan, Refused, RunSpec};
use dzoa::prelude::*;
use dzoa::problem::Synthetic;
use dzoa::run::Simulation;
use dzoa::streams::Purpose;
use dzoa::tuning::Setting;
use std::sync::Arc;

const FEATURES: usize = 3;

fn graph() -> Graph {
    let names = ["a", "b", "c"].map(String::from).to_vec();
    Graph::from_edges(names, &[(0, 1), (1, 2)]).unwrap()
}

/// Rows in the unit ball, so many at each agent.
fn problem(loss: impl Loss + 'static, sizes: [usize; 3], scale: Scale) -> Problem {
    let drawn = Synthetic { agents: 3, samples: 1000, features: FEATURES, ..Synthetic::default() };
    let mut rng = Streams::from_seed(8).rng(Purpose::Data, "data", 0);
    let agents = drawn.draw(loss.targets(), &mut rng).into_iter().zip(sizes);
    let first =
        |(all, count): (Samples, usize)| Arc::new(all.select(&(0..count).collect::<Vec<usize>>()));
    Problem {
        loss: Arc::new(loss),
        regularizer: Regularizer::L2,
        eta: 0.3,
        scale,
        intercept: false,
        agents: agents.map(first).collect(),
    }
}

fn exact(name: &str) -> Mechanism {
    let keys = Keys { total_epsilon: Some(4.0), delta: Some(1e-5), ..Keys::default() };
    Mechanism::from_keys(name, &keys).unwrap()
}

fn spec(algorithm: &str, mechanism: Mechanism) -> RunSpec {
    RunSpec::new(Algorithm::named(algorithm, &Setting::default()).unwrap(), mechanism)
}

/// All mechanisms of d-zoa, and every algorithm with its own noise.
fn everybody() -> Vec<RunSpec> {
    let nominal = Keys { epsilon: Some(0.2), delta: Some(1e-3), ..Keys::default() };
    let intrinsic = || Mechanism::from_keys("intrinsic", &nominal).unwrap();
    let ours = [Mechanism::none(), intrinsic(), exact("output"), exact("scalar")];
    let ours = ours.map(|mechanism| spec("d-zoa", mechanism));
    let exactly = [spec("admm", Mechanism::none()), spec("admm", exact("output"))];
    let others = names().map(|name| spec(name, exact("output")));
    ours.into_iter()
        .chain(exactly)
        .chain([spec("dp-admm", intrinsic())])
        .chain(others)
        .map(|spec| RunSpec { rounds: Auto::Given(4), ..spec })
        .collect()
}

fn run(spec: &RunSpec, problem: Problem) -> Box<dyn Simulation> {
    let name = format!("{} under {}", spec.algorithm, spec.mechanism.name());
    let plan = Plan::new(spec, &Data::Rows(problem), &graph()).unwrap_or_else(|no| {
        panic!("{name}: {no}");
    });
    let mut simulation = plan.simulation(Vec::new(), &Streams::from_seed(5)).unwrap();
    assert_eq!(simulation.run(&mut ()), Status::Finished, "{name}");
    simulation
}

#[test]
fn agents_of_one_size_give_the_bits_of_the_mean() {
    for spec in everybody() {
        let [mean, pooled] = [Scale::Mean, Scale::Pooled]
            .map(|scale| run(&spec, problem(Logistic, [300; 3], scale)));
        for k in 0..3 {
            let (mean, pooled) = (mean.estimate(k), pooled.estimate(k));
            assert_eq!(mean, pooled, "{} under {}", spec.algorithm, spec.mechanism.name());
        }
    }
}

/// `(X'X/w + eta/2)^-1 X'y/w` by Cramer's rule, with all rows in one matrix: the ridge regression
/// that never heard of agents. The objective is `(K/N) sum (x'b - y)^2 + eta/2 ||b||^2`.
fn ridge(problem: &Problem) -> Vec<f64> {
    let (mut gram, mut moment, mut count) = ([[0.0; 3]; 3], [0.0; 3], 0.0);
    for samples in &problem.agents {
        for i in 0..samples.count() {
            let mut x = [0.0; 3];
            samples.rows.visit(i, |p, value| x[p] = value);
            for a in 0..3 {
                moment[a] += x[a] * samples.targets[i];
                (0..3).for_each(|c| gram[a][c] += x[a] * x[c]);
            }
            count += 1.0;
        }
    }
    let weight = problem.agents.len() as f64 / count;
    for a in 0..3 {
        moment[a] *= 2.0 * weight;
        (0..3).for_each(|c| gram[a][c] *= 2.0 * weight);
        gram[a][a] += problem.eta;
    }
    let determinant = |m: &[[f64; 3]; 3]| {
        let minor = |a: usize, c: usize| m[1][a] * m[2][c] - m[1][c] * m[2][a];
        m[0][0] * minor(1, 2) - m[0][1] * minor(0, 2) + m[0][2] * minor(0, 1)
    };
    let all = determinant(&gram);
    let replaced = |p: usize| {
        let mut other = gram;
        (0..3).for_each(|a| other[a][p] = moment[a]);
        determinant(&other) / all
    };
    (0..3).map(replaced).collect()
}

#[test]
fn agents_of_any_sizes_find_the_ridge_regression_of_all_rows() {
    let sizes = [20, 900, 150];
    let pooled = problem(Squared, sizes, Scale::Pooled);
    let expected = ridge(&pooled);
    let near = |found: &[f64], within: f64, who: &str| {
        let far = found.iter().zip(&expected).map(|(f, e)| (f - e).abs()).fold(0.0, f64::max);
        assert!(far < within, "{who}: {found:?} against {expected:?}");
    };
    near(&dzoa::reference::optimum(&pooled).unwrap().coefficients, 1e-9, "the reference");
    let admm = spec("admm", Mechanism::none());
    let admm = RunSpec { rho: Auto::Given(0.1), rounds: Auto::Given(400), ..admm };
    let agreed = run(&admm, pooled);
    (0..3).for_each(|k| near(&agreed.estimate(k), 1e-8, "an agent"));
    // The mean weighs the twenty rows of the first agent as much as the others' hundreds.
    let mean = dzoa::reference::optimum(&problem(Squared, sizes, Scale::Mean)).unwrap();
    let far = mean.coefficients.iter().zip(&expected).map(|(m, e)| (m - e).abs());
    assert!(far.fold(0.0, f64::max) > 1e-3);
}

#[test]
fn one_agent_by_itself_needs_to_know_how_many_rows_there_are() {
    let sizes = [30, 60, 90];
    let admm = RunSpec { rounds: Auto::Given(4), ..spec("admm", exact("output")) };
    let of_one =
        |scale| Plan::of_one(&admm, &Data::Rows(problem(Logistic, sizes, scale)), &graph(), 1);
    assert_eq!(of_one(Scale::Pooled).err(), Some(Refused::RowsOfOthers));
    // Its place in the plan of all: the weights 3/180, and not 1/60.
    let data = Data::Rows(problem(Logistic, sizes, Scale::Pooled));
    let rho = |plan: &Plan| plan.admm().rho;
    let all = Plan::new(&admm, &data, &graph()).unwrap();
    let one = of_one(Scale::PooledOver(180)).unwrap();
    assert_eq!(rho(&one), rho(&all));
    assert_eq!(one.at(1).charges.events, all.at(1).charges.events);
    let sensitivity = all.at(1).charges.sensitivity;
    // Lemma 3 with c1 = 1 and |N_k| = 3, and a thousandth of it twice.
    let expected = 1.002 * (3.0 / 180.0) / (rho(&all) * 3.0);
    assert!((sensitivity / expected - 1.0).abs() < 1e-9, "{sensitivity} against {expected}");
}

#[test]
fn an_agent_that_holds_its_own_rows_only_is_bound_to_the_same_digest() {
    let all = problem(Logistic, [30, 60, 90], Scale::Pooled);
    let own = all.agents[1].clone();
    let agents = vec![own; 3];
    let one = Problem { agents, scale: Scale::PooledOver(180), ..all.clone() };
    assert_eq!(all.fingerprint(1), one.fingerprint(1));
    let other = Problem { scale: Scale::PooledOver(181), ..one };
    assert_ne!(all.fingerprint(1), other.fingerprint(1));
}
