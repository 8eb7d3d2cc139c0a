//! Properties that hold for every loss, regulariser and network.

mod common;

use dzoa::prelude::*;
use dzoa::primal::{Lagrangian, RoundContext};
use dzoa::problem::regularizer::Penalty;
use dzoa::problem::{Closed, Directions, EmpiricalRisk, Probe, Scratch};
use dzoa::streams::{Purpose, fill_normal};
use proptest::prelude::*;
use std::sync::Arc;

fn losses() -> Vec<Arc<dyn Loss>> {
    common::losses(0.3)
}

fn regularizers() -> Vec<Regularizer> {
    common::regularizers(0.4, &[vec![0, 2], vec![1], vec![3, 4]])
}

/// A target that the loss understands.
fn target(loss: &dyn Loss, y: f64) -> f64 {
    match loss.targets() {
        dzoa::problem::loss::Targets::Real => y,
        dzoa::problem::loss::Targets::Signs => {
            if y < 0.0 {
                -1.0
            } else {
                1.0
            }
        }
    }
}

const P: usize = 5;

proptest! {
    #[test]
    fn a_loss_difference_is_the_difference_of_two_values(
        z in -20.0..20.0f64, step in -50.0..50.0f64, y in -3.0..3.0f64, small in -9..0i32,
    ) {
        let step = step * 10f64.powi(small);
        for loss in losses() {
            let y = target(&*loss, y);
            let (there, here) = (loss.value(z + step, y), loss.value(z, y));
            // z + step rounds, and both values round: that, and no more, may separate the two.
            let slope = loss.slope(z + step, y).abs().max(loss.slope(z, y).abs()).max(1.0);
            let rounding = 8.0
                * f64::EPSILON
                * (there.abs() + here.abs() + slope * (z.abs() + y.abs() + step.abs()));
            let difference = loss.difference(z, step, y);
            prop_assert!(
                (difference - (there - here)).abs() <= rounding,
                "{}: {difference} {}",
                loss.name(),
                there - here
            );
        }
    }

    #[test]
    fn tiny_loss_differences_keep_their_digits(
        z in -5.0..5.0f64,
        y in -2.0..2.0f64,
        h in 1e-14..1e-10f64,
    ) {
        // Away from kinks, and from where the slope is zero, the difference is slope times step;
        // subtraction would have lost all digits.
        for loss in losses() {
            let y = target(&*loss, y);
            let (before, after) = (loss.slope(z - 1e-3, y), loss.slope(z + 1e-3, y));
            let is_near_kink = (after - before).abs() > 0.5 * loss.slope(z, y).abs();
            if is_near_kink {
                continue;
            }
            let (difference, expected) = (loss.difference(z, h, y), loss.slope(z, y) * h);
            prop_assert!(
                (difference - expected).abs() <= 1e-6 * expected.abs() + 1e-24,
                "{} {difference} {expected}",
                loss.name()
            );
        }
    }

    #[test]
    fn fenchel_gaps_are_non_negative_and_vanish_at_subgradients(
        z in -8.0..8.0f64, other in -8.0..8.0f64, y in -3.0..3.0f64,
    ) {
        for loss in losses() {
            let y = target(&*loss, y);
            prop_assert!(loss.fenchel_gap(z, loss.slope(z, y), y).abs() <= 1e-14);
            let a = loss.slope(other, y);
            let gap = loss.fenchel_gap(z, a, y);
            // By convexity it is the Bregman distance loss(z) - loss(other) - a (z - other).
            let bregman = loss.value(z, y) - loss.value(other, y) - a * (z - other);
            prop_assert!(
                gap >= 0.0 && (gap - bregman).abs() <= 1e-12 * (1.0 + z * z + other * other),
                "{}: {gap} {bregman}",
                loss.name()
            );
        }
    }

    #[test]
    fn a_gap_is_never_hidden_by_underflow(
        z in -800.0..800.0f64,
        other in -800.0..800.0f64,
        y in -3.0..3.0f64,
    ) {
        // A certificate of zero for a point that is far away would break a guarantee.
        for loss in losses() {
            let y = target(&*loss, y);
            let a = loss.slope(other, y);
            let gap = loss.fenchel_gap(z, a, y);
            let bregman = loss.value(z, y) - loss.value(other, y) - a * (z - other);
            let rounding = 1e-12 * (1.0 + z.abs() + other.abs()).powi(2);
            prop_assert!(
                gap >= bregman - rounding && gap <= bregman + rounding,
                "{}: {gap} {bregman}",
                loss.name()
            );
        }
    }

    #[test]
    fn the_dual_step_solves_its_equation(
        w in -8.0..8.0f64,
        kappa in 1e-3..50.0f64,
        y in -3.0..3.0f64,
    ) {
        for loss in losses() {
            let y = target(&*loss, y);
            let a = loss.dual_prox(w, kappa, y);
            // a is a subgradient at the prox w - kappa a.
            prop_assert!(loss.fenchel_gap(w - kappa * a, a, y) <= 1e-12, "{}", loss.name());
            // From the slope of any last step, near or far.
            for last in [loss.slope(w, y), loss.slope(-3.0 * w, y), a, 0.0] {
                let next = loss.next_dual(w - kappa * last, last, kappa, y);
                prop_assert!(
                    loss.fenchel_gap(w - kappa * next, next, y) <= 1e-12,
                    "{}",
                    loss.name()
                );
            }
        }
    }

    #[test]
    fn a_regulariser_quotient_is_the_difference_of_two_values(
        b in prop::collection::vec(-2.0..2.0f64, P),
        seed in 0u64..1000,
        u2 in 1e-6..0.5f64,
        penalized in 5usize..=5,
    ) {
        let mut directions = Directions::default();
        directions.resize(P, 4);
        fill_normal(
            &mut Streams::from_seed(seed).rng(Purpose::Directions, "", 0),
            directions.values_mut(),
        );
        for regularizer in regularizers() {
            let penalty = Penalty { regularizer, weight: 0.7, penalized };
            let probe = Probe { point: &b, u1: 0.3, u2, directions: &directions };
            let mut out = vec![0.0; 4];
            Closed { penalty: &penalty, linear: &[0.0; P], quadratic: 0.0 }
                .add_quotients(&probe, &mut out);
            for (j, quotient) in out.iter().enumerate() {
                let at = |u2: f64| -> Vec<f64> {
                    (0..P)
                        .map(|p| {
                            let (n1, n2) = directions.feature(p);
                            b[p] + 0.3 * n1[j] + u2 * n2[j]
                        })
                        .collect()
                };
                let (there, here) = (penalty.value(&at(u2)), penalty.value(&at(0.0)));
                prop_assert!(
                    (quotient * u2 - (there - here)).abs()
                        <= 64.0 * f64::EPSILON * (1.0 + there + here),
                    "{:?}",
                    penalty.regularizer
                );
            }
        }
    }

    #[test]
    fn the_prox_is_the_minimiser(
        v in prop::collection::vec(-3.0..3.0f64, P),
        other in prop::collection::vec(-3.0..3.0f64, P),
        scale in 0.01..3.0f64,
    ) {
        for regularizer in regularizers() {
            let penalty = Penalty { regularizer, weight: 0.8, penalized: P };
            let cost = |b: &[f64]| {
                scale * penalty.value(b)
                    + 0.5 * b.iter().zip(&v).map(|(b, v)| (b - v) * (b - v)).sum::<f64>()
            };
            let mut b = v.clone();
            penalty.prox(&mut b, scale);
            // 1-strong convexity: any other point costs at least half its squared distance more.
            let distance: f64 = b.iter().zip(&other).map(|(a, b)| (a - b) * (a - b)).sum();
            prop_assert!(
                cost(&other) >= cost(&b) + 0.5 * distance - 1e-12,
                "{:?}",
                penalty.regularizer
            );
        }
    }

    #[test]
    fn dense_and_sparse_rows_agree(seed in 0u64..500, keep in 0.1..0.9f64) {
        let mut rng = Streams::from_seed(seed).rng(Purpose::Data, "", 0);
        let mut values = vec![0.0; 7 * P];
        fill_normal(&mut rng, &mut values);
        values.iter_mut().for_each(|v| {
            if v.abs() < keep {
                *v = 0.0
            }
        });
        let dense = Rows::dense(P, values).unwrap();
        let sparse = dense.to_sparse();
        prop_assert!(sparse.is_sparse() && sparse.stored() <= dense.stored());
        prop_assert_eq!(&sparse.to_dense(), &dense);
        let mut directions = Directions::default();
        directions.resize(P, 3);
        fill_normal(&mut rng, directions.values_mut());
        let b = [0.1, -0.2, 0.3, 0.0, 1.0];
        let probe = Probe { point: &b, u1: 0.5, u2: 0.01, directions: &directions };
        for loss in losses() {
            let targets: Vec<f64> =
                (0..7).map(|i| target(&*loss, (i as f64 - 3.0) * 0.5)).collect();
            let ask = |rows: Rows| {
                let risk = EmpiricalRisk {
                    samples: Arc::new(Samples::new(rows, targets.clone()).unwrap()),
                    loss: loss.clone(),
                    weight: 0.2,
                };
                let mut out = vec![0.0; 3];
                risk.quotients(&probe, &mut Scratch::default(), &mut out);
                (out, risk.value(&b))
            };
            let ((from_dense, a), (from_sparse, c)) = (ask(dense.clone()), ask(sparse.clone()));
            prop_assert!((a - c).abs() <= 1e-13 * (1.0 + a.abs()));
            for (a, c) in from_dense.iter().zip(&from_sparse) {
                prop_assert!((a - c).abs() <= 1e-12 * (1.0 + a.abs()), "{}", loss.name());
            }
        }
        let mut with_constant = dense.with_constant_column();
        prop_assert_eq!(&sparse.with_constant_column().to_dense(), &with_constant);
        with_constant = with_constant.into_unit_ball();
        prop_assert!((0..7).all(|i| with_constant.norm_squared(i) <= 1.0 + 1e-12));
    }
}

/// A small problem for every loss and regulariser.
fn problem(loss: Arc<dyn Loss>, regularizer: Regularizer, seed: u64, intercept: bool) -> Problem {
    let data =
        dzoa::problem::Synthetic { agents: 4, samples: 12, features: P, ..Default::default() };
    let mut rng = Streams::from_seed(seed).rng(Purpose::Data, "", 0);
    let agents = data.draw(loss.targets(), &mut rng);
    let agents = agents
        .into_iter()
        .map(|mut samples| {
            if intercept {
                samples.rows = samples.rows.with_constant_column().into_unit_ball();
            }
            Arc::new(samples)
        })
        .collect();
    Problem { loss, regularizer, eta: 0.3, scale: Scale::Mean, intercept, agents }
}

fn ring() -> Graph {
    let names = ["a", "b", "c", "d"].map(String::from).to_vec();
    Graph::from_edges(names, &[(0, 1), (1, 2), (2, 3), (3, 0)]).unwrap()
}

#[test]
fn the_exact_step_is_certified_for_every_loss_and_regulariser() {
    for loss in losses() {
        for regularizer in regularizers() {
            for intercept in [false, true] {
                let problem = problem(loss.clone(), regularizer.clone(), 3, intercept);
                let objective = problem.local(0);
                let dim = problem.dim();
                let linear = (0..dim).map(|i| (i as f64 - 2.0) * 0.1).collect();
                let lagrangian = Lagrangian { objective: &objective, linear, quadratic: 0.2 };
                let tolerance = 1e-6;
                let (b, distance) =
                    Exact::new(problem.risk(0), Some(tolerance)).solve(&lagrangian).unwrap();
                assert!(distance <= tolerance);
                // The certificate is honest: F grows at least as strong convexity says.
                for i in 0..dim {
                    for step in [-0.01, 0.01] {
                        let mut other = b.clone();
                        other[i] += step;
                        let growth = lagrangian.value(&other) - lagrangian.value(&b);
                        let least =
                            0.2 * (step.abs() - tolerance).powi(2) - 0.2 * tolerance * tolerance;
                        assert!(
                            growth >= least - 1e-12,
                            "{} {:?}: {growth:e} < {least:e}",
                            loss.name(),
                            problem.regularizer
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn duals_of_a_far_away_round_do_not_certify_a_wrong_point() {
    // All rows alike; the linear part throws the minimiser from 0 to 60 and back. The duals of the
    // round at 60 are tiny, and must not pass for those of the last round.
    let rows = Rows::dense(1, vec![1.0; 200]).unwrap();
    let samples = Arc::new(Samples::new(rows, vec![1.0; 200]).unwrap());
    let risk = EmpiricalRisk { samples, loss: Arc::new(Logistic), weight: 1.0 / 200.0 };
    let penalty = Penalty { regularizer: Regularizer::None, weight: 0.0, penalized: 1 };
    let objective = LocalObjective { data: Arc::new(risk.clone()), penalty };
    let mut warm = Exact::new(risk.clone(), Some(1e-8)).until_certified();
    for centre in [0.0, 60.0, 0.0] {
        let linear = vec![-2.0 * 0.09 * centre];
        let lagrangian = Lagrangian { objective: &objective, linear, quadratic: 0.09 };
        let (b, _) = warm.solve(&lagrangian).unwrap();
        let (cold, _) = Exact::new(risk.clone(), Some(1e-8)).solve(&lagrangian).unwrap();
        assert!((b[0] - cold[0]).abs() <= 2e-8, "{} {}", b[0], cold[0]);
    }
}

#[test]
fn exact_admm_reaches_the_reference_for_every_loss_and_regulariser() {
    for loss in losses() {
        for regularizer in regularizers() {
            // A separable classification problem without regulariser has no minimiser.
            let problem = problem(loss.clone(), regularizer.clone(), 5, false);
            let optimum = reference::optimum(&problem).unwrap();
            if let Some(gap) = optimum.certificate.duality_gap {
                assert!(
                    gap <= 1e-8 * (1.0 + optimum.objective),
                    "{} {regularizer:?}: gap {gap:e}",
                    loss.name()
                );
            }
            let settings = Admm { rho: 0.1, rounds: 6000, ..Admm::default() };
            let mut agents =
                exact_agents(&problem, &ring(), settings, Some(1e-6), &Streams::from_seed(0))
                    .unwrap();
            assert_eq!(simulate(&mut agents, &mut ()), Status::Finished);
            let reached = problem.value(agents[2].beta());
            let relative = (reached - optimum.objective) / optimum.objective;
            assert!(
                (-1e-8..1e-4).contains(&relative),
                "{} {regularizer:?}: {relative:e}",
                loss.name()
            );
        }
    }
}

fn run(problem: &Problem, graph: &Graph, rounds: u64, seed: u64) -> Vec<Agent> {
    let inner = vec![
        ZerothOrder {
            inner_steps: 20,
            directions: 5,
            alpha0_times_r: 0.5,
            ..Default::default()
        };
        graph.len()
    ];
    let settings = Admm { rho: 1.0, rounds, ..Admm::default() };
    let (event, streams) = (dzoa::privacy::Event::Unprotected, Streams::from_seed(seed));
    let releases = dzoa::run::Releases::all(event, graph.len(), &streams);
    let mut agents = zeroth_order_agents(problem, graph, settings, &inner, releases).unwrap();
    assert_eq!(simulate(&mut agents, &mut ()), Status::Finished);
    agents
}

#[test]
fn relabelling_agents_permutes_the_results() {
    let problem = problem(Arc::new(Logistic), Regularizer::L1, 8, false);
    let graph = Graph::from_edges(
        ["a", "b", "c", "d"].map(String::from).to_vec(),
        &[(0, 1), (1, 2), (2, 3), (0, 2)],
    )
    .unwrap();
    let order = [2, 0, 3, 1]; // new position -> old position
    let position = |old: usize| order.iter().position(|&o| o == old).unwrap();
    let mut relabelled = problem.clone();
    relabelled.agents = order.iter().map(|&old| problem.agents[old].clone()).collect();
    let edges: Vec<_> = graph.edges().map(|(a, b)| (position(a), position(b))).collect();
    let names = order.iter().map(|&old| graph.names()[old].clone()).collect();
    let other = Graph::from_edges(names, &edges).unwrap();
    let (first, second) = (run(&problem, &graph, 30, 4), run(&relabelled, &other, 30, 4));
    for (new, &old) in order.iter().enumerate() {
        for (a, b) in first[old].beta().iter().zip(second[new].beta()) {
            // Sums over neighbours run in another order: rounding, nothing else.
            assert!((a - b).abs() <= 1e-10, "{a} {b}");
        }
    }
}

#[test]
fn the_duals_sum_to_zero() {
    let agents = run(&problem(Arc::new(Hinge), Regularizer::L1, 9, false), &ring(), 40, 2);
    for p in 0..P {
        let sum: f64 = agents.iter().map(|agent| agent.gamma()[p]).sum();
        assert!(sum.abs() <= 1e-12, "{sum}");
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let problem = problem(Arc::new(Logistic), Regularizer::L1, 10, false);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let agents = pool.install(|| run(&problem, &ring(), 25, 6));
        agents.iter().flat_map(|agent| agent.beta().to_vec()).map(f64::to_bits).collect::<Vec<_>>()
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(7));
}

#[test]
fn a_black_box_reaches_what_the_known_loss_reaches_and_says_that_it_raised_the_step() {
    let known = problem(Arc::new(Logistic), Regularizer::L1, 11, false);
    let risk = known.risk(1);
    let opaque = LocalObjective {
        data: Arc::new(BlackBox::new(P, move |b: &[f64]| risk.value(b))),
        penalty: known.penalty(0.1),
    };
    let transparent = LocalObjective { data: Arc::new(known.risk(1)), penalty: known.penalty(0.1) };
    let inner =
        ZerothOrder { inner_steps: 400, directions: 10, alpha0_times_r: 1.0, ..Default::default() };
    let solve = |objective: &LocalObjective| {
        use dzoa::primal::{PrimalStep, PrimalTask};
        let lagrangian = Lagrangian { objective, linear: vec![0.1; P], quadratic: 0.5 };
        let streams = Streams::from_seed(1);
        let context = RoundContext { agent: "a", round: 1, streams: &streams };
        let mut step = inner;
        let query = dzoa::privacy::Event::Unprotected.query(1);
        let receipt = dzoa::privacy::Ledger::default().charge(query).unwrap();
        let (lagrangian, start) = (&lagrangian, &[0.0; P]);
        let task = PrimalTask { lagrangian, start, receipt, context };
        let primal = step.update(task, &mut Default::default()).unwrap();
        (primal.release.to_vec(), primal.step_raised)
    };
    let ((black, raised), (white, exact)) = (solve(&opaque), solve(&transparent));
    assert!(!exact, "a known loss needs no floor");
    // u2 falls to 1/(5 400)^2 = 2.5e-7 > 1e-8: here the floor is not reached either.
    assert!(!raised);
    for (a, b) in black.iter().zip(&white) {
        assert!((a - b).abs() < 1e-6, "{a} {b}");
    }
}
