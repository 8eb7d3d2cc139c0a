//! Objectives that only give values: what is counted, what is refused, and how a run ends.

use dzoa::agent::Average;
use dzoa::guarantee::BudgetTarget;
use dzoa::plan::ScalarQuery;
use dzoa::prelude::*;
use dzoa::primal::Scalar;
use dzoa::privacy::Event;
use dzoa::privacy::calibrate::Schedule;
use dzoa::problem::regularizer::Penalty;
use dzoa::problem::{Directions, Failure, Limits, PerSample, Probe, Scratch};
use dzoa::run::{Releases, ValueRecorder, agents_of};
use dzoa::streams::{Purpose, fill_normal};
use std::ops::ControlFlow;
use std::sync::Arc;

const P: usize = 3;

fn free() -> Penalty {
    Penalty { regularizer: Regularizer::None, weight: 0.0, penalized: P }
}

fn ring() -> Graph {
    Graph::from_edges(["a", "b", "c"].map(String::from).to_vec(), &[(0, 1), (1, 2), (0, 2)])
        .unwrap()
}

/// `||b - centre||^2`
fn bowl(centre: f64) -> impl Fn(&[f64]) -> f64 + Send + Sync + 'static {
    move |b| b.iter().map(|b| (b - centre).powi(2)).sum()
}

fn settings(rounds: u64) -> (Admm, ZerothOrder) {
    let admm = Admm { rho: 0.5, rounds, self_loop: true, warm_start: true };
    let inner = ZerothOrder {
        inner_steps: 20,
        directions: 10,
        smoothing: 0.1,
        alpha0_times_r: 0.5,
        ..Default::default()
    };
    (admm, inner)
}

fn run(boxes: &[Arc<BlackBox>], rounds: u64, observer: &mut dyn Observer) -> (Vec<Agent>, Status) {
    let (admm, inner) = settings(rounds);
    let objectives =
        boxes.iter().map(|data| LocalObjective { data: data.clone(), penalty: free() }).collect();
    let releases = Releases::all(Event::Unprotected, boxes.len(), &Streams::from_seed(5));
    let build = |_| -> Box<dyn dzoa::primal::PrimalStep> { Box::new(inner) };
    let mut agents = agents_of(objectives, &ring(), admm, releases, build).unwrap();
    let status = simulate(&mut agents, observer);
    (agents, status)
}

#[test]
fn agents_with_three_bowls_meet_in_the_middle() {
    let boxes: Vec<_> =
        [-1.0, 0.5, 2.0].into_iter().map(|c| Arc::new(BlackBox::new(P, bowl(c)))).collect();
    let mut recorder = ValueRecorder::new(boxes.clone(), free(), 10, 120);
    let (agents, status) = run(&boxes, 120, &mut recorder);
    assert_eq!(status, Status::Finished);
    // The mean of the centres minimises the sum: a closed form.
    for agent in &agents {
        assert!(agent.beta().iter().all(|b| (b - 0.5).abs() < 5e-3), "{:?}", agent.beta());
    }
    // 2 T J values a round, and the recorder's are counted apart: 13 rounds and the start.
    assert_eq!(boxes[0].evaluations(), 120 * 2 * 20 * 10);
    assert_eq!(boxes[0].watched(), 14);
    // sum_k 3 (0.5 - c_k)^2 = 3 (2.25 + 0 + 2.25)
    let last = recorder.records.last().unwrap().objective.unwrap();
    assert!((last - 13.5).abs() < 1e-3, "{last}");
}

#[test]
fn a_value_that_is_not_a_number_ends_the_run_with_agent_round_and_point() {
    let poisoned = |b: &[f64]| if b[0] > 0.3 { f64::NAN } else { bowl(1.0)(b) };
    let boxes: Vec<_> =
        [BlackBox::new(P, bowl(1.0)), BlackBox::new(P, poisoned), BlackBox::new(P, bowl(1.0))]
            .into_iter()
            .map(Arc::new)
            .collect();
    let (_, status) = run(&boxes, 50, &mut ());
    let Status::ObjectiveFailed { agent, round, failure, .. } = &status else {
        panic!("{status:?}");
    };
    assert_eq!((agent.as_str(), *round), ("b", 1));
    let Failure::NotFinite { point, value, sample: None } = failure else { panic!("{failure:?}") };
    assert!(point[0] > 0.3 && point.len() == P && value.is_nan());
    let text = status.to_string();
    assert!(text.starts_with("agent b, round 1, inner step "), "{text}");
    assert!(text.contains("the objective is NaN at [0."), "{text}");
}

#[test]
fn a_panic_ends_the_run_with_its_message_and_the_next_run_works() {
    let calls = std::sync::atomic::AtomicUsize::new(0);
    let fragile = move |b: &[f64]| {
        // The 1001st value: in round 3, since a round takes 400.
        assert!(calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed) != 1000, "out of paper");
        bowl(0.0)(b)
    };
    let boxes: Vec<_> =
        [BlackBox::new(P, fragile), BlackBox::new(P, bowl(0.0)), BlackBox::new(P, bowl(0.0))]
            .into_iter()
            .map(Arc::new)
            .collect();
    let (_, status) = run(&boxes, 50, &mut ());
    let text = status.to_string();
    assert!(text.starts_with("agent a, round 3"), "{text}");
    assert!(text.contains("it panicked: out of paper"), "{text}");
    assert_eq!(run(&boxes, 2, &mut ()).1, Status::Finished);
}

#[test]
fn a_budget_of_evaluations_is_never_exceeded() {
    let boxes: Vec<_> = (0..3)
        .map(|_| {
            let limits = Limits { budget: Some(1_234), ..Limits::default() };
            Arc::new(BlackBox::new(P, bowl(1.0)).with_limits(limits))
        })
        .collect();
    let (_, status) = run(&boxes, 50, &mut ());
    assert_eq!(status.word(), "out-of-evaluations");
    for used in boxes.iter().map(|known| known.evaluations()) {
        // Batches of 20: the last one that fits is asked.
        assert_eq!(used, 1_220);
    }
}

#[test]
fn a_known_point_is_not_asked_again() {
    let limits = Limits { cache: 1, ..Limits::default() };
    let kept = BlackBox::new(P, bowl(1.0)).with_limits(limits);
    for _ in 0..3 {
        assert_eq!(kept.value(&[0.0; P]), 3.0);
    }
    assert_eq!(kept.evaluations(), 1);
    // The cache is full: a second point is asked for every time.
    kept.value(&[1.0; P]);
    kept.value(&[1.0; P]);
    assert_eq!(kept.evaluations(), 3);
}

#[test]
fn the_measured_curvature_bounds_that_of_a_stretched_bowl() {
    // Curvatures 2 and 200: the largest is 200, their sum 204.
    let stretched = BlackBox::new(2, |b: &[f64]| b[0] * b[0] + 100.0 * b[1] * b[1]);
    for seed in 0..20 {
        let mut rng = Streams::from_seed(seed).rng(Purpose::Curvature, "", 0);
        let h = stretched.measure_curvature(&[0.3, -0.2], 0.5, 8, &mut rng).unwrap();
        assert!(h > 100.0 && h < 600.0, "{h}");
    }
}

/// The logistic loss of sample i at b, as anybody would write it.
fn sample_loss(samples: &Samples, i: usize, b: &[f64]) -> f64 {
    (1.0 + (-samples.targets[i] * samples.rows.dot(i, b)).exp()).ln()
}

fn samples() -> Arc<Samples> {
    let mut rng = Streams::from_seed(3).rng(Purpose::Data, "", 0);
    let mut rows = vec![0.0; 40 * P];
    fill_normal(&mut rng, &mut rows);
    let targets = rows.chunks(P).map(|x| if x[0] > 0.2 { 1.0 } else { -1.0 }).collect();
    Arc::new(Samples::new(Rows::dense(P, rows).unwrap().into_unit_ball(), targets).unwrap())
}

fn per_sample(samples: &Arc<Samples>) -> BlackBox {
    let known = samples.clone();
    BlackBox::per_sample(P, known.count(), move |b, out| {
        out.iter_mut().enumerate().for_each(|(i, out)| *out = sample_loss(&known, i, b));
    })
}

#[test]
fn clipped_means_per_sample_agree_with_the_known_loss() {
    let samples = samples();
    let known = dzoa::problem::EmpiricalRisk {
        samples: samples.clone(),
        loss: Arc::new(Logistic),
        weight: 1.0 / 40.0,
    };
    let opaque = per_sample(&samples);
    let mut directions = Directions::default();
    directions.resize(P, 12);
    fill_normal(
        &mut Streams::from_seed(1).rng(Purpose::Directions, "", 0),
        directions.values_mut(),
    );
    let probe = Probe { point: &[0.3, -0.2, 0.1], u1: 0.5, u2: 1e-4, directions: &directions };
    let means = |risk: &dyn PerSample| {
        let (mut scratch, mut out) = (Scratch::default(), vec![0.0; 12]);
        let clipped = risk.clipped_means(&probe, 0.4, &mut scratch, &mut out);
        (out, clipped)
    };
    let ((white, clipped_white), (black, clipped_black)) = (means(&known), means(&opaque));
    assert!(clipped_white > 0, "the clip must bite for this test to say anything");
    assert_eq!(clipped_white, clipped_black);
    for (a, b) in white.iter().zip(&black) {
        // Cancellation, 1e-16 over u2, may take a value across a step of the grid.
        assert!((a - b).abs() < 1e-12 + 0.4 / (1u64 << 31) as f64, "{a} {b}");
    }
}

#[test]
fn under_a_guarantee_a_nan_counts_as_nothing_and_ends_nothing() {
    let samples = samples();
    let target = BudgetTarget {
        total_epsilon: 50.0,
        delta: 1e-5,
        schedule: Schedule::Constant,
        rows_per_person: 1,
    };
    let (admm, inner) = settings(30);
    let inner = ZerothOrder { inner_steps: 1, ..inner };
    let query = ScalarQuery { clip: 1.0, directions: 10, inner_steps: 1, samples: 40 };
    let events = query.charges(30, &target).unwrap().events;
    let boxes: Vec<Arc<BlackBox>> = (0..3)
        .map(|_| {
            let known = samples.clone();
            Arc::new(BlackBox::per_sample(P, 40, move |b, out| {
                let fill = |(i, out): (usize, &mut f64)| {
                    *out = if i == 7 { f64::NAN } else { sample_loss(&known, i, b) };
                };
                out.iter_mut().enumerate().for_each(fill);
            }))
        })
        .collect();
    let objectives =
        boxes.iter().map(|data| LocalObjective { data: data.clone(), penalty: free() }).collect();
    let releases = Releases {
        events: vec![events; 3],
        ledgers: Vec::new(),
        average: Average::LastHalf,
        streams: Streams::from_seed(2),
    };
    let mut agents = agents_of(objectives, &ring(), admm, releases, |k| {
        Box::new(Scalar { inner, clip: 1.0, samples: boxes[k].clone() })
    })
    .unwrap();
    let mut rounds = 0;
    let status = simulate(&mut agents, &mut |_: &RoundView<'_>| {
        rounds += 1;
        ControlFlow::Continue(())
    });
    assert_eq!((status, rounds), (Status::Finished, 30));
    // The first column decides the labels.
    assert!(agents[0].estimate()[0] > 0.0);
    assert!(agents[0].ledger().epsilon(1e-5) <= 50.0);
}
