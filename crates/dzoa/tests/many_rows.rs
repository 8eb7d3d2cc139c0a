//! Guarantees on many rows: planned, certified, and as fast as they should be.

use dzoa::guarantee::BudgetTarget;
use dzoa::plan::{Algorithm, Auto, Data, Keys, Mechanism, OutputQuery, Plan, RunSpec};
use dzoa::prelude::*;
use dzoa::primal::Lagrangian;
use dzoa::privacy::calibrate::Schedule;
use dzoa::problem::Synthetic;
use dzoa::streams::Purpose;
use std::sync::Arc;

fn problem(loss: Arc<dyn Loss>, samples: usize, features: usize) -> Problem {
    let drawn = Synthetic { agents: 2, samples, features, ..Synthetic::default() };
    let mut rng = Streams::from_seed(3).rng(Purpose::Data, "data", 0);
    let agents = drawn.draw(loss.targets(), &mut rng);
    let agents = agents.into_iter().map(|mut samples| {
        samples.rows = samples.rows.into_unit_ball();
        Arc::new(samples)
    });
    Problem {
        loss,
        regularizer: Regularizer::L1,
        eta: 0.01,
        scale: Scale::Mean,
        intercept: false,
        agents: agents.collect(),
    }
}

/// The charges of one agent, of whom only the size matters: rows of one column, all alike.
fn sensitivity(loss: Arc<dyn Loss>, samples: usize) -> (f64, f64) {
    let rows = Rows::dense(1, vec![0.5; samples]).unwrap().into_unit_ball();
    let agent = Arc::new(Samples::new(rows, vec![1.0; samples]).unwrap());
    let problem = Problem { agents: vec![agent; 3], ..problem(loss, 2, 1) };
    let schedule = Schedule::Growth(1.03);
    let target = BudgetTarget { total_epsilon: 1.0, delta: 1e-7, schedule, rows_per_person: 1 };
    let (k, rho, neighbourhood, rounds) = (0, 0.01, 3, 60);
    let query = OutputQuery { problem: &problem.public(), k, rho, neighbourhood, rounds };
    let charges = query.charges(None, &target).unwrap();
    // Lemma 3, with c1 = 1 for both losses here.
    (charges.sensitivity, 0.5 / (rho * neighbourhood as f64 * samples as f64) * 2.0)
}

#[test]
fn ten_million_rows_an_agent_can_be_planned_and_pay_little_for_rounding() {
    for samples in [100_000, 1_000_000, 10_000_000] {
        let (charged, lemma3) = sensitivity(Arc::new(Logistic), samples);
        assert!(charged > lemma3 && charged < 1.2 * lemma3, "{samples}: {charged:e} {lemma3:e}");
    }
    // Kinks are told apart less well: at ten million rows rounding weighs as much as a row.
    for (samples, most) in [(100_000, 1.2), (1_000_000, 1.5), (10_000_000, 5.0)] {
        let (charged, lemma3) = sensitivity(Arc::new(Hinge), samples);
        assert!(charged > lemma3 && charged < most * lemma3, "{samples}: {charged:e} {lemma3:e}");
    }
}

/// `grad F_k` without the penalty, sample by sample.
fn gradient(problem: &Problem, lagrangian: &Lagrangian<'_>, b: &[f64]) -> Vec<f64> {
    let samples = &problem.agents[0];
    let mut sum: Vec<f64> = lagrangian.linear.clone();
    sum.iter_mut().zip(b).for_each(|(sum, b)| *sum += 2.0 * lagrangian.quadratic * b);
    for i in 0..samples.count() {
        let slope = problem.loss.slope(samples.rows.dot(i, b), samples.targets[i]);
        samples.rows.visit(i, |p, x| sum[p] += problem.sample_weight(0) * slope * x);
    }
    sum
}

#[test]
fn many_rows_of_a_smooth_loss_are_certified_at_a_point_that_is_stationary() {
    for loss in [Arc::new(Logistic) as Arc<dyn Loss>, Arc::new(Huber { delta: 0.3 })] {
        let many = problem(loss.clone(), 25_000, 9);
        let objective = many.local(0);
        let linear: Vec<f64> = (-4..=4).map(|p| 0.02 * f64::from(p)).collect();
        let lagrangian = Lagrangian { objective: &objective, linear, quadratic: 0.05 };
        let mut exact = Exact::new(many.risk(0), Some(1e-9)).until_certified();
        let (found, certified) = exact.solve(&lagrangian).unwrap();
        assert!(certified <= 1e-9, "{certified:e}");
        // b = prox(b - step gradient), and for some coordinates that is 0.
        let (mut moved, step) = (found.clone(), 0.5);
        let gradient = gradient(&many, &lagrangian, &found);
        moved.iter_mut().zip(&gradient).for_each(|(b, g)| *b -= step * g);
        objective.penalty.prox(&mut moved, step);
        for (b, moved) in found.iter().zip(&moved) {
            assert!((b - moved).abs() < 1e-9, "{}: {b} {moved}", loss.name());
        }
    }
}

/// Failed from 50,000 to 100,000 rows on: a tolerance that could not be certified.
#[test]
fn a_private_fit_of_many_rows_runs_to_its_end() {
    for loss in [Arc::new(Logistic) as Arc<dyn Loss>, Arc::new(Hinge)] {
        runs_to_its_end(loss);
    }
}

fn runs_to_its_end(loss: Arc<dyn Loss>) {
    let rows = Data::Rows(problem(loss, 150_000, 4));
    let graph = Graph::from_edges(vec!["a".into(), "b".into()], &[(0, 1)]).unwrap();
    let keys = Keys { total_epsilon: Some(1.0), delta: Some(1e-7), ..Keys::default() };
    let mechanism = Mechanism::from_keys("output", &keys).unwrap();
    let spec = RunSpec { rounds: Auto::Given(8), ..RunSpec::new(Algorithm::Admm, mechanism) };
    let plan = Plan::new(&spec, &rows, &graph).unwrap();
    let mut simulation = plan.simulation(Vec::new(), &Streams::from_seed(5)).unwrap();
    assert_eq!(simulation.run(&mut ()), Status::Finished);
}
