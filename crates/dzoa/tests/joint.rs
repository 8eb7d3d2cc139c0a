//! Joint sums: the accuracy of a curator, the same bits everywhere, and no row that moves a sum
//! farther than was charged.

use dzoa::kernels::{self, Level};
use dzoa::network::Topology;
use dzoa::plan::{
    Algorithm, Auto, Boxes, Circumstances, Data, JOINT, JointEntry, Keys, Mechanism, Plan, Refused,
    RunSpec,
};
use dzoa::prelude::*;
use dzoa::privacy::{Colluders, EarlierRuns};
use dzoa::problem::Synthetic;
use dzoa::problem::loss::Targets;
use dzoa::run::Simulation;
use dzoa::run::evaluate::{error_or_infinity, quantile};
use dzoa::streams::Purpose;
use dzoa::tuning::Setting;
use dzoa::worst_case::{Attacked, of_sums};
use std::sync::Arc;

fn problem(seed: u64, agents: usize, samples: usize, loss: Arc<dyn Loss>) -> Problem {
    let streams = Streams::from_seed(seed);
    let data = Synthetic {
        agents,
        samples,
        features: 6,
        signal: 2.0,
        normalize_columns: false,
        ..Synthetic::default()
    };
    let agents = data.draw(loss.targets(), &mut streams.rng(Purpose::Data, "data", 0));
    Problem {
        loss,
        regularizer: Regularizer::L1,
        eta: 0.02,
        scale: Scale::Mean,
        intercept: false,
        agents: agents.into_iter().map(Arc::new).collect(),
    }
}

fn ring(agents: usize) -> Graph {
    let names = (0..agents).map(|k| format!("a{k}")).collect();
    let mut rng = Streams::from_seed(0).rng(Purpose::Layout, "", 0);
    let topology = if agents > 2 { Topology::Ring } else { Topology::Path };
    Graph::generate(topology, names, &mut rng).unwrap()
}

fn keys(epsilon: f64, colluders: Colluders) -> Keys {
    let (total_epsilon, delta) = (Some(epsilon), Some(1e-5));
    Keys { total_epsilon, delta, colluders: Some(colluders), ..Keys::default() }
}

/// All that take the mechanism `joint`.
fn hidden() -> impl Iterator<Item = &'static JointEntry> {
    JOINT.iter().filter(|entry| !entry.plain_only)
}

fn spec(algorithm: &str, keys: &Keys) -> RunSpec {
    let algorithm = Algorithm::named(algorithm, &Setting::default()).unwrap();
    RunSpec::new(algorithm, Mechanism::from_keys("joint", keys).unwrap())
}

fn ran(spec: &RunSpec, problem: &Problem, seed: u64) -> Box<dyn Simulation> {
    let graph = ring(problem.agents.len());
    let plan = Plan::new(spec, &Data::Rows(problem.clone()), &graph).unwrap();
    let mut simulation = plan.simulation(Vec::new(), &Streams::from_seed(seed)).unwrap();
    assert_eq!(simulation.run(&mut ()), Status::Finished);
    simulation
}

/// The median error over some draws.
fn median(algorithm: &str, keys: &Keys) -> f64 {
    let errors: Vec<f64> = (0..15)
        .map(|seed| {
            let problem = problem(500 + seed, 5, 1000, Arc::new(Logistic));
            let optimum = reference::optimum(&problem).unwrap().coefficients;
            let simulation = ran(&spec(algorithm, keys), &problem, seed);
            error_or_infinity(&optimum, (0..5).map(|k| simulation.estimate(k)))
        })
        .collect();
    quantile(&errors, 0.5)
}

#[test]
fn fewer_colluders_mean_less_error_and_every_method_comes_near_the_optimum() {
    for entry in hidden() {
        let at = |colluders| median(entry.name, &keys(4.0, colluders));
        let (all, one) = (at(Colluders::All), at(Colluders::AtMost(1)));
        // The noise's variance is a quarter: medians of fifteen draws tell that from nothing.
        assert!(one < 0.6 * all, "{}: {one} {all}", entry.name);
        assert!(all < 0.1 && one < 0.02, "{}: {one} {all}", entry.name);
    }
}

#[test]
fn without_protection_every_method_ends_at_the_optimum() {
    let problem = problem(7, 4, 200, Arc::new(Logistic));
    let optimum = reference::optimum(&problem).unwrap().coefficients;
    for entry in JOINT {
        let algorithm = Algorithm::named(entry.name, &Setting::default()).unwrap();
        let spec = RunSpec::new(algorithm, Mechanism::none());
        let estimate = ran(&spec, &problem, 1).estimate(0);
        let far = estimate.iter().zip(&optimum).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        // Values are differences over 2e-3: their error is that squared.
        let close = if entry.values_only { 1e-5 } else { 1e-7 };
        assert!(far < close, "{}: {far}", entry.name);
        // Zeros are exactly zero.
        let zeros = |b: &[f64]| b.iter().filter(|b| **b == 0.0).count();
        assert_eq!(zeros(&estimate), zeros(&optimum), "{}", entry.name);
    }
}

#[test]
fn the_spent_total_is_the_budget_and_no_agent_spends_more() {
    for entry in hidden() {
        let of =
            |loss: Arc<dyn Loss>| [Colluders::All, Colluders::AtMost(2)].map(|c| (loss.clone(), c));
        for (loss, colluders) in of(Arc::new(Logistic)).into_iter().chain(of(Arc::new(Squared))) {
            // Unequal agents: the smallest needs most noise.
            let mut problem = problem(3, 4, 60, loss);
            problem.agents[2] = Arc::new(problem.agents[2].select(&(0..25).collect::<Vec<_>>()));
            let spec = spec(entry.name, &keys(1.5, colluders));
            let plan = Plan::new(&spec, &Data::Rows(problem.clone()), &ring(4)).unwrap();
            let mut simulation = plan.simulation(Vec::new(), &Streams::from_seed(2)).unwrap();
            assert_eq!(simulation.run(&mut ()), Status::Finished);
            let mut most: f64 = 0.0;
            for k in 0..4 {
                assert_eq!(simulation.ledger(k).entries().len() as u64, plan.rounds());
                let statement = plan.statement(
                    k,
                    Circumstances {
                        ledger: simulation.ledger(k),
                        run: simulation.run_id(k),
                        earlier_runs: EarlierRuns::NotCounted,
                        void: vec![],
                        rests_on: vec![],
                    },
                );
                let (exact, charged) = (statement.epsilon_exact, statement.epsilon_charged);
                assert!(exact <= Some(1.5) && charged <= exact, "{exact:?} {charged:?}");
                most = most.max(exact.unwrap());
            }
            // And the one that needs most noise spends nearly all of it.
            assert!(most > 1.5 * (1.0 - 1e-6), "{} {colluders:?}: {most}", entry.name);
        }
    }
}

#[test]
fn no_row_moves_a_sum_farther_than_its_noise_is_for() {
    // The squared loss has no bound on its slopes: its clip counts whom it moves.
    let losses: [Arc<dyn Loss>; 5] = [
        Arc::new(Logistic),
        Arc::new(Hinge),
        Arc::new(Huber::default()),
        Arc::new(Absolute),
        Arc::new(Squared),
    ];
    for loss in losses {
        for entry in hidden().filter(|e| !e.smooth_loss || loss.smoothness().is_some()) {
            for rows_per_person in [1, 3] {
                let problem = problem(11, 3, 12, loss.clone());
                let keys = Keys {
                    rows_per_person: Some(rows_per_person),
                    ..keys(2.0, Colluders::AtMost(1))
                };
                let data = Data::Rows(problem.clone());
                let plan = Plan::new(&spec(entry.name, &keys), &data, &ring(3)).unwrap();
                let joint = plan.joint().unwrap();
                let attacked = Attacked { problem: &problem, k: 1, rows_per_person };
                let method = joint.method().unwrap();
                let worst = of_sums(&attacked, &*method, joint.weight("a1")).unwrap();
                let name = entry.name;
                assert!(worst.holds(), "{name} {}: {worst:?}", loss.name());
                // The claim is not idle: some pair moves it at least a third as far.
                assert!(worst.moved > 0.3 * worst.claimed, "{name} {}: {worst:?}", loss.name());
            }
        }
    }
}

#[test]
fn any_kernel_and_any_number_of_threads_give_the_same_public_bits() {
    let problem = problem(21, 3, 5000, Arc::new(Logistic));
    for entry in hidden() {
        let run = |level: Level, threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let spec = spec(entry.name, &keys(2.0, Colluders::AtMost(1)));
            kernels::at(level, || pool.install(|| ran(&spec, &problem, 4).estimate(0)))
        };
        let first = run(Level::Portable, 1);
        // Rows' answers may differ in the last place between processors, and so may the sums; the
        // same level gives the same bits for any number of threads.
        for level in Level::available() {
            let one = run(level, 1);
            assert_eq!(one, run(level, 2), "{} {}", entry.name, level.name());
            let far = first.iter().zip(&one).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(far < 1e-6, "{} {}: {far}", entry.name, level.name());
        }
    }
}

#[test]
fn pooled_rows_weigh_the_same_and_unequal_agents_share_their_noise() {
    let mut problem = problem(31, 4, 400, Arc::new(Logistic));
    problem.agents[0] = Arc::new(problem.agents[0].select(&(0..40).collect::<Vec<_>>()));
    problem.scale = Scale::Pooled;
    let optimum = reference::optimum(&problem).unwrap().coefficients;
    let simulation = ran(&spec("joint-gradient", &keys(8.0, Colluders::AtMost(1))), &problem, 5);
    let error = error_or_infinity(&optimum, (0..4).map(|k| simulation.estimate(k)));
    assert!(error < 0.05, "{error}");
}

#[test]
fn a_thousand_agents_share_masks_around_a_circle() {
    let problem = problem(41, 1024, 4, Arc::new(Logistic));
    let keys = keys(8.0, Colluders::AtMost(3));
    let spec = RunSpec { rounds: Auto::Given(2), ..spec("joint-gradient", &keys) };
    let simulation = ran(&spec, &problem, 6);
    assert_eq!(simulation.ledger(1023).entries().len(), 2);
}

#[test]
fn boxes_with_one_value_per_sample_are_protected_and_others_refused() {
    // f_k = mean over 50 samples of (b - c_i)^2/2, c_i around 0.5: the minimiser is their mean.
    let centre = |k: usize, i: usize| 0.5 + 0.2 * ((7 * i + 3 * k) as f64).sin();
    let known = |k: usize| {
        Arc::new(BlackBox::per_sample(2, 50, move |b: &[f64], out: &mut [f64]| {
            for (i, out) in out.iter_mut().enumerate() {
                let c = centre(k, i);
                *out = 0.5 * ((b[0] - c).powi(2) + (b[1] + c).powi(2));
            }
        }))
    };
    let boxes = Boxes::new((0..3).map(known).collect());
    let keys = Keys { clip: Some(1.0), ..keys(50.0, Colluders::AtMost(1)) };
    let plan = Plan::new(&spec("joint-values", &keys), &Data::Boxes(boxes), &ring(3)).unwrap();
    let mut simulation = plan.simulation(Vec::new(), &Streams::from_seed(3)).unwrap();
    assert_eq!(simulation.run(&mut ()), Status::Finished);
    let all = (0..3).flat_map(|k| (0..50).map(move |i| centre(k, i)));
    let mean = all.sum::<f64>() / 150.0;
    let b = simulation.estimate(0);
    // The noise of epsilon 50 on 150 samples is below a hundredth.
    assert!((b[0] - mean).abs() < 0.05 && (b[1] + mean).abs() < 0.05, "{b:?} {mean}");
    let whole = Arc::new(BlackBox::new(2, |b: &[f64]| b[0] * b[0]));
    let boxes = Boxes::new(vec![whole.clone(), whole.clone(), whole]);
    let refused = Plan::new(&spec("joint-values", &keys), &Data::Boxes(boxes), &ring(3));
    assert!(matches!(refused, Err(Refused::NotPerSample)));
}

#[test]
fn mechanisms_and_algorithms_that_do_not_fit_are_refused_by_name() {
    let problem = problem(51, 3, 20, Arc::new(Logistic));
    let data = Data::Rows(problem);
    let total = Keys { colluders: None, ..keys(1.0, Colluders::All) };
    let output = Mechanism::from_keys("output", &total).unwrap();
    let joint = Algorithm::named("joint-gradient", &Setting::default()).unwrap();
    let refused = Plan::new(&RunSpec::new(joint, output), &data, &ring(3)).unwrap_err();
    assert!(matches!(refused, Refused::NoSums { mechanism: "output", .. }), "{refused}");
    let mechanism = Mechanism::from_keys("joint", &total).unwrap();
    let refused = Plan::new(&RunSpec::new(Algorithm::Admm, mechanism), &data, &ring(3));
    assert!(matches!(refused, Err(Refused::OnlySums { algorithm: "admm", .. })));
}

#[test]
fn a_regression_needs_a_budget_and_no_clip() {
    // Regression on labels: residuals are as long as targets, so that a clip at a third of those is
    // wrong at every budget. The one that counts whom it moves is not.
    let mut problem = problem(61, 5, 2000, Arc::new(Logistic));
    problem.loss = Arc::new(Squared);
    let optimum = reference::optimum(&problem).unwrap().coefficients;
    let error = |algorithm: &str, keys: &Keys| {
        let simulation = ran(&spec(algorithm, keys), &problem, 7);
        error_or_infinity(&optimum, (0..5).map(|k| simulation.estimate(k)))
    };
    for entry in hidden() {
        let keys = keys(8.0, Colluders::AtMost(1));
        let found = error(entry.name, &keys);
        let fixed = error(entry.name, &Keys { clip: Some(2.0 / 3.0), ..keys });
        assert!(found < 0.01 && fixed > 0.1, "{}: {found} {fixed}", entry.name);
    }
}

#[test]
fn targets_of_classifiers_are_signs() {
    // The draws above rest on it.
    assert_eq!(Logistic.targets(), Targets::Signs);
}
