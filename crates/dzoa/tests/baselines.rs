//! The other algorithms: the oracle's trajectory, convergence without noise, and budgets that are
//! kept.

use dzoa::agent::Average;
use dzoa::baselines::{
    Baseline, Broken, DpAdmm, DpAdmmSettings, Making, Options, Party, entry, names,
};
use dzoa::guarantee::{BudgetTarget, NoGuarantee};
use dzoa::network::Topology;
use dzoa::prelude::*;
use dzoa::privacy::calibrate::Schedule;
use dzoa::privacy::{Accountant, Event, ExactGaussian, Ledger, Private};
use dzoa::problem::Synthetic;
use dzoa::problem::loss::Targets;
use dzoa::run::{Lockstep, Releases, Simulation};
use dzoa::streams::Purpose;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// tests/oracle/dp_admm.json
#[derive(Deserialize)]
#[allow(non_snake_case)]
struct Oracle {
    rho: f64,
    eta: f64,
    X: Vec<Vec<Vec<f64>>>,
    y: Vec<Vec<f64>>,
    step_sizes: Vec<f64>,
    noise: Vec<Vec<Vec<f64>>>,
    after_round: BTreeMap<String, After>,
}

#[derive(Deserialize)]
struct After {
    primal: Vec<Vec<f64>>,
    global: Vec<f64>,
    dual: Vec<Vec<f64>>,
}

fn assert_near(ours: &[f64], theirs: &[f64], most: f64, what: &str) {
    for (a, b) in ours.iter().zip(theirs) {
        assert!((a - b).abs() <= most, "{what}: {a} against {b}");
    }
}

#[test]
fn dp_admm_follows_the_oracle_with_the_noise_given() {
    let text = std::fs::read_to_string("../../tests/oracle/dp_admm.json").unwrap();
    let oracle: Oracle = serde_json::from_str(&text).unwrap();
    let samples = |(x, y): (&Vec<Vec<f64>>, &Vec<f64>)| {
        let rows = Rows::dense(x[0].len(), x.concat()).unwrap();
        Arc::new(Samples::new(rows, y.clone()).unwrap())
    };
    let problem = Problem {
        loss: Arc::new(Squared),
        regularizer: Regularizer::L1,
        eta: oracle.eta,
        scale: Scale::Mean,
        intercept: false,
        agents: oracle.X.iter().zip(&oracle.y).map(samples).collect(),
    };
    // The oracle's steps are 0.5/sqrt(m).
    let settings =
        DpAdmmSettings { rho: oracle.rho, step: 0.5, decay: 0.5, clip: None, nominal: None };
    assert_near(
        &oracle.step_sizes,
        &(1..=10).map(|m| 0.5 / f64::from(m).sqrt()).collect::<Vec<_>>(),
        1e-15,
        "steps",
    );
    let mut dp_admm = DpAdmm::new(settings, &problem.public());
    let parties: Vec<Party> = (0..5).map(|k| Party::new(&dp_admm, &problem, k)).collect();
    let noise = Streams::from_seed(1).noise_key("");
    let mut compared = 0;
    for round in 1..=10 {
        let releases: Vec<_> = parties
            .iter()
            .map(|party| {
                let mut w = dp_admm.update(round, party);
                let given = &oracle.noise[round as usize - 1][party.k];
                w.iter_mut().zip(given).for_each(|(w, noise)| *w += noise);
                let receipt = Ledger::default().charge(Event::Unprotected.query(1)).unwrap();
                Private::new(w).release(receipt, &noise).unwrap().values().clone()
            })
            .collect();
        dp_admm.absorb(round, &releases);
        if let Some(after) = oracle.after_round.get(&round.to_string()) {
            compared += 1;
            assert_near(dp_admm.global(), &after.global, 1e-12, "global");
            for k in 0..5 {
                assert_near(&releases[k], &after.primal[k], 1e-12, "primal");
                assert_near(dp_admm.dual(k), &after.dual[k], 1e-12, "dual");
            }
        }
    }
    assert_eq!(compared, 4);
}

fn problem(loss: Arc<dyn Loss>, regularizer: Regularizer) -> (Problem, Graph) {
    let data = Synthetic {
        agents: 5,
        samples: 40,
        features: 4,
        signal: 2.0,
        normalize_columns: false,
        ..Synthetic::default()
    };
    let streams = Streams::from_seed(5);
    let targets: Targets = loss.targets();
    let agents = data.draw(targets, &mut streams.rng(Purpose::Data, "data", 0));
    let names = (1..=5).map(|k| k.to_string()).collect();
    let graph =
        Graph::generate(Topology::Paper, names, &mut streams.rng(Purpose::Layout, "", 0)).unwrap();
    let problem = Problem {
        loss,
        regularizer,
        eta: 0.3,
        scale: Scale::Mean,
        intercept: false,
        agents: agents.into_iter().map(Arc::new).collect(),
    };
    (problem, graph)
}

/// An algorithm of the registry with settings of its own.
#[derive(Clone, Copy)]
struct Settled<'a> {
    name: &'static str,
    options: &'a [(&'static str, f64)],
    rho: f64,
}

impl Default for Settled<'_> {
    fn default() -> Self {
        Self { name: "", options: &[], rho: 0.05 }
    }
}

impl Settled<'_> {
    fn build(&self, problem: &Problem, graph: &Graph) -> Box<dyn Baseline> {
        let mut options = Options::default();
        self.options.iter().for_each(|&(key, value)| options.set(key, value));
        let (options, admm) = (&options, Admm { rho: self.rho, ..Admm::default() });
        let (target, nominal) = (None, None);
        let making = Making { options, admm, problem: &problem.public(), graph, target, nominal };
        (entry(self.name).unwrap().build)(&making)
    }
}

fn ridged<'a>(options: &'a [(&'static str, f64)]) -> Settled<'a> {
    Settled { name: "objective-perturbation", options, ..Settled::default() }
}

/// Every baseline with settings that suit [`problem`], and the rounds it takes without noise.
fn all() -> Vec<(Settled<'static>, u64)> {
    let settled = |name, options| Settled { name, options, ..Settled::default() };
    vec![
        (Settled { rho: 0.3, ..settled("dp-admm", &[("step", 3.0), ("decay", 0.0)]) }, 1000),
        (settled("dp-gd", &[("step", 1.0)]), 400),
        (settled("pvp", &[]), 400),
        (settled("dvp", &[]), 400),
        (settled("p-admm", &[("decay", 0.97)]), 400),
        (settled("m-admm", &[("growth", 1.005)]), 400),
        (settled("r-admm", &[]), 800),
        (settled("ps-admm", &[("step", 2.0), ("decay", 0.0)]), 800),
        (
            settled(
                "projected-gradient",
                &[("step", 2.0), ("step_decay", 0.98), ("noise_decay", 0.99), ("radius", 20.0)],
            ),
            600,
        ),
        (ridged(&[("ridge", 1e-6)]), 1),
    ]
}

/// Every baseline, with a ridge that leaves something of epsilon for the noise.
fn under_noise() -> Vec<Settled<'static>> {
    let noisy = |(spec, _): (Settled<'static>, u64)| match spec.name {
        "objective-perturbation" => ridged(&[("ridge", 0.1)]),
        _ => spec,
    };
    all().into_iter().map(noisy).collect()
}

#[test]
fn every_algorithm_of_the_registry_is_tested_here() {
    let mut tested: Vec<_> = all().iter().map(|(spec, _)| spec.name).collect();
    let mut known: Vec<_> = names().collect();
    tested.sort_unstable();
    known.sort_unstable();
    assert_eq!(tested, known);
}

fn streams() -> Streams {
    Streams::from_seed(9)
}

fn unprotected(agents: usize) -> Releases {
    Releases::all(Event::Unprotected, agents, &streams())
}

fn run(
    spec: &Settled,
    problem: &Problem,
    graph: &Graph,
    rounds: u64,
    releases: Releases,
) -> Lockstep {
    let baseline = spec.build(problem, graph);
    let mut run = Lockstep::new(baseline, problem, graph, rounds, releases);
    assert_eq!(run.run(&mut ()), Status::Finished);
    run
}

fn relative_error(run: &Lockstep, optimum: &[f64]) -> f64 {
    let norm = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
    (0..run.len())
        .map(|k| {
            let off: Vec<f64> = run.estimate(k).iter().zip(optimum).map(|(a, b)| a - b).collect();
            norm(&off) / norm(optimum)
        })
        .fold(0.0, f64::max)
}

#[test]
fn without_noise_every_baseline_finds_the_centralised_optimum() {
    let (problem, graph) = problem(Arc::new(Logistic), Regularizer::L2);
    let optimum = reference::optimum(&problem).unwrap().coefficients;
    for (spec, rounds) in all() {
        let name = spec.build(&problem, &graph).name();
        let run = run(&spec, &problem, &graph, rounds, unprotected(5));
        let error = relative_error(&run, &optimum);
        println!("{name}: {error:.1e} after {rounds} rounds");
        // Projected gradient's steps can be added up; where it stops is tested below.
        if name != "projected-gradient" {
            assert!(error <= 1e-4, "{name}: {error}");
        }
    }
}

/// With one agent and f(w) = h w^2/2 the iterate after T rounds is the start times
/// `prod_t (1 - c q^t h)`: the theory of summable steps in closed form.
#[test]
fn projected_gradient_stops_where_its_steps_add_up_to() {
    // Rows of one column: loss (z - y)^2 with x = 1, y = 1 has f'(w) = 2 (w - 1).
    let rows = Rows::dense(1, vec![1.0; 8]).unwrap();
    let problem = Problem {
        loss: Arc::new(Squared),
        regularizer: Regularizer::None,
        eta: 0.0,
        scale: Scale::Mean,
        intercept: false,
        agents: (0..3)
            .map(|_| Arc::new(Samples::new(rows.clone(), vec![1.0; 8]).unwrap()))
            .collect(),
    };
    let names = (1..=3).map(|k| k.to_string()).collect();
    let graph = Graph::from_edges(names, &[(0, 1), (1, 2)]).unwrap();
    let options = &[("step", 0.1), ("step_decay", 0.9), ("noise_decay", 0.95), ("radius", 10.0)];
    let spec = Settled { name: "projected-gradient", options, ..Settled::default() };
    let run = run(&spec, &problem, &graph, 200, unprotected(3));
    let left: f64 = (1..=200).map(|t| 1.0 - 2.0 * 0.1 * 0.9f64.powi(t)).product();
    for k in 0..3 {
        assert!((run.estimate(k)[0] - (1.0 - left)).abs() < 1e-12);
    }
    assert!(left > 0.1, "and that is short of the optimum");
}

fn target(total_epsilon: f64) -> BudgetTarget {
    BudgetTarget { total_epsilon, delta: 1e-5, schedule: Schedule::Constant, rows_per_person: 1 }
}

#[test]
fn every_plan_spends_its_budget_and_no_more() {
    let (problem, graph) = problem(Arc::new(Logistic), Regularizer::L2);
    for spec in under_noise() {
        for epsilon in [0.5, 8.0] {
            let baseline = spec.build(&problem, &graph);
            // Objective perturbation pays for the Hessian in every query: few queries.
            let rounds = 6;
            for k in 0..5 {
                let events =
                    baseline.events(&problem.public(), k, rounds, &target(epsilon)).unwrap();
                let queries = (1..=rounds)
                    .filter(|&m| baseline.part(m, k) != dzoa::baselines::Part::Rests)
                    .count();
                assert_eq!(events.len(), queries, "{}: one event per query", baseline.name());
                let mut total = ExactGaussian::default();
                events.iter().for_each(|event| total.compose(event).unwrap());
                let spent = total.epsilon(1e-5);
                assert!(spent <= epsilon, "{}: {spent}", baseline.name());
                assert!(spent > 0.99 * epsilon, "{}: {spent}", baseline.name());
            }
        }
    }
}

#[test]
fn objective_perturbation_is_refused_where_its_solver_might_take_too_long() {
    let (problem, graph) = problem(Arc::new(Logistic), Regularizer::None);
    let build = |ridge| ridged(&[("ridge", ridge)]).build(&problem, &graph);
    let plan = |ridge| build(ridge).events(&problem.public(), 0, 1, &target(1e3));
    // Known before any row is queried; later, to give up would say something about the rows.
    for ridge in [1e-12, 1e-9] {
        let refused = plan(ridge).unwrap_err();
        let public = matches!(refused, NoGuarantee::Steps { .. } | NoGuarantee::Tolerance { .. });
        assert!(public, "{ridge:e}: {refused}");
    }
    // What is not refused ends, also where rounding would hide a tolerance of 1e-7 from the solver.
    for ridge in [1e-6, 1e-2] {
        let events: Arc<[Event]> = plan(ridge).unwrap().into();
        for seed in 0..5 {
            let releases = Releases {
                events: vec![events.clone(); 5],
                ledgers: Vec::new(),
                average: Average::None,
                streams: Streams::from_seed(seed),
            };
            let mut run = Lockstep::new(build(ridge), &problem, &graph, 1, releases);
            assert_eq!(run.run(&mut ()), Status::Finished, "{ridge:e}");
        }
    }
}

#[test]
fn a_run_under_noise_charges_what_was_planned_and_repeats_bit_by_bit() {
    let (problem, graph) = problem(Arc::new(Logistic), Regularizer::L2);
    for spec in under_noise() {
        let baseline = spec.build(&problem, &graph);
        let releases = || Releases {
            events: (0..5)
                .map(|k| baseline.events(&problem.public(), k, 4, &target(4.0)).unwrap().into())
                .collect(),
            ledgers: Vec::new(),
            average: Average::Network { gossip: 3 },
            streams: streams(),
        };
        let first = run(&spec, &problem, &graph, 4, releases());
        let second = run(&spec, &problem, &graph, 4, releases());
        for k in 0..5 {
            assert_eq!(first.estimate(k), second.estimate(k), "{}", baseline.name());
            let spent = first.ledger(k).epsilon(1e-5);
            assert!(spent > 3.9 && spent <= 4.0, "{}: {spent}", baseline.name());
        }
        assert!(first.costs().messages > 0);
        // The noise is there: without it the releases are others.
        let quiet = run(&spec, &problem, &graph, 4, unprotected(5));
        assert_ne!(quiet.release(0), first.release(0), "{}", baseline.name());
    }
}

#[test]
fn clipping_replaces_a_bound_that_the_loss_does_not_have() {
    let (problem, graph) = problem(Arc::new(Squared), Regularizer::L1);
    let dp_gd = |options| Settled { name: "dp-gd", options, ..Settled::default() };
    let baseline = dp_gd(&[("step", 0.1)]).build(&problem, &graph);
    assert!(baseline.events(&problem.public(), 0, 3, &target(1.0)).is_err());
    let clipped = dp_gd(&[("step", 0.1), ("clip", 0.5)]).build(&problem, &graph);
    let Event::DiscreteGaussian { sensitivity, .. } =
        clipped.events(&problem.public(), 0, 3, &target(1.0)).unwrap()[0]
    else {
        panic!("dp-gd has Gaussian noise");
    };
    // 2 C/N_k with C = 0.5 and N_k = 40.
    assert!((0.025..0.025 * 1.0001).contains(&sensitivity), "{sensitivity}");
    // And no neighbouring pair moves the clipped gradient farther, however wild the replaced row.
    let mut other = problem.clone();
    let mut rows: Vec<f64> = Vec::new();
    for i in 0..40 {
        let mut row = vec![0.0; 4];
        problem.agents[0].rows.visit(i, |p, x| row[p] = x);
        rows.extend(if i == 7 { vec![1e6, -3.0, 0.0, 1.0] } else { row });
    }
    let mut targets = problem.agents[0].targets.clone();
    targets[7] = -1e9;
    other.agents[0] = Arc::new(Samples::new(Rows::dense(4, rows).unwrap(), targets).unwrap());
    let query = |problem: &Problem| {
        let receipt = Ledger::default().charge(Event::Unprotected.query(1)).unwrap();
        let noise = Streams::from_seed(1).noise_key("");
        clipped.query(1, &mut Party::new(&*clipped, problem, 0), receipt, &noise).unwrap().to_vec()
    };
    let moved: f64 =
        query(&problem).iter().zip(query(&other)).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
    assert!(moved <= sensitivity, "{moved} against {sensitivity}");
}

#[test]
fn broken_assumptions_are_named() {
    let (hinge, graph) = problem(Arc::new(Hinge), Regularizer::L2);
    let (lasso, _) = problem(Arc::new(Logistic), Regularizer::L1);
    let (squared, _) = problem(Arc::new(Squared), Regularizer::L2);
    let check = |spec: &Settled, problem: &Problem| {
        let baseline = spec.build(problem, &graph);
        baseline.needs().check(baseline.name(), &problem.public(), true)
    };
    for (spec, _) in all() {
        let name = spec.build(&hinge, &graph).name();
        let smooth = ["pvp", "dvp", "m-admm", "r-admm", "objective-perturbation"].contains(&name);
        assert_eq!(check(&spec, &hinge).is_err(), smooth, "{name} and the hinge loss");
        assert!(check(&spec, &squared).is_err(), "{name} and an unbounded gradient");
    }
    let pvp = Settled { name: "pvp", ..Settled::default() };
    assert_eq!(check(&pvp, &lasso), Err(Broken::RegularizerKinks { algorithm: "pvp" }));
}

#[test]
fn nobody_sees_the_rows_of_others_but_a_solver_that_all_trust() {
    let (problem, graph) = problem(Arc::new(Logistic), Regularizer::L2);
    for (spec, _) in all() {
        let baseline = spec.build(&problem, &graph);
        let party = Party::new(&*baseline, &problem, 1);
        let trusted = baseline.name() == "objective-perturbation";
        assert_eq!(party.trusted().is_some(), trusted, "{}", baseline.name());
        assert!(Arc::ptr_eq(&party.risk.samples, &problem.agents[1]), "its own rows");
    }
}

#[test]
fn the_papers_benchmark_has_the_noise_of_its_formula() {
    // 12000 normals: their standard deviation errs by 0.65 %, so that 3.5 % is a false alarm of
    // 1e-7.
    const TOLERANCE: f64 = 0.035;
    const QUERIES: u64 = 1200;
    let streams = Streams::from_seed(3);
    let data = Synthetic::default().draw(Targets::Real, &mut streams.rng(Purpose::Data, "data", 0));
    let problem = Problem {
        loss: Arc::new(Squared),
        regularizer: Regularizer::L1,
        eta: 1.0,
        scale: Scale::Sum,
        intercept: false,
        agents: data.into_iter().map(Arc::new).collect(),
    };
    let (epsilon, delta): (f64, f64) = (0.15, 1e-3);
    let settings = DpAdmmSettings {
        rho: 3.0,
        step: 0.5,
        decay: 1.0,
        clip: None,
        nominal: Some((epsilon, delta)),
    };
    let baseline = DpAdmm::new(settings, &problem.public());
    let mut party = Party::new(&baseline, &problem, 0);
    let still = baseline.update(4, &party);
    let (mut squares, mut ledger) = (0.0, Ledger::default());
    for query in 0..QUERIES {
        let receipt = ledger.charge(Event::Nominal { epsilon, delta }.query(query)).unwrap();
        let release = baseline.query(4, &mut party, receipt, &streams.noise_key("a")).unwrap();
        squares += release.iter().zip(&still).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
    }
    let measured = (squares / (QUERIES as f64 * still.len() as f64)).sqrt();
    // 2 c1/(N_k (rho + 1/s_4)) sqrt(2.1 ln(1.25/delta))/epsilon with s_4 = 0.5/4, N_k = 20, c1 = 1.
    let formula = 2.0 / (20.0 * (3.0 + 8.0)) * (2.1 * (1.25 / delta).ln()).sqrt() / epsilon;
    assert!((measured / formula - 1.0).abs() < TOLERANCE, "{measured} against {formula}");
}
