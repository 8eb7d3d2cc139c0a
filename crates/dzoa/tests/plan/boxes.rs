//! Plans for functions that only give values.

use super::refusals::no_plan;
use super::{DELTA, EPSILON, FEATURES, NEAR, exact, intrinsic, path, spec};
use dzoa::plan::{Auto, Boxes, Data, Keys, Mechanism, PerAgent, Plan, Refused, RunSpec};
use dzoa::prelude::*;
use dzoa::problem::Failure;
use dzoa::run::BuildError;
use std::sync::Arc;

/// The curvature of [`bowls`].
const CURVATURE: f64 = 2.0;
/// Samples of every box of [`counted`].
const SAMPLES: usize = 250;

/// `||b||^2` at every agent.
fn bowls(agents: usize) -> Boxes {
    let bowl = |b: &[f64]| 0.5 * CURVATURE * b.iter().map(|b| b * b).sum::<f64>();
    Boxes::new((0..agents).map(|_| Arc::new(BlackBox::new(FEATURES, bowl))).collect())
}

/// Boxes with a value for each sample.
fn counted() -> Boxes {
    let fill = |b: &[f64], out: &mut [f64]| out.fill(b.iter().map(|b| b * b).sum());
    let known = |_| Arc::new(BlackBox::per_sample(FEATURES, SAMPLES, fill));
    Boxes::new((0..3).map(known).collect())
}

fn measured(spec: &RunSpec, boxes: Boxes) -> Result<Boxes, Refused> {
    boxes.measured(spec, &path(), &Streams::from_seed(2))
}

fn refusal(spec: &RunSpec, boxes: Boxes) -> Refused {
    no_plan(Plan::new(spec, &Data::Boxes(boxes), &path()))
}

fn asked(data: &Data) -> u64 {
    let Data::Boxes(boxes) = data else { return 0 };
    boxes.boxes.iter().map(|known| known.evaluations()).sum()
}

#[test]
fn steps_and_rho_of_boxes_without_protection_follow_from_the_measured_curvature() {
    let plain = spec("d-zoa", Mechanism::none());
    let data = Data::Boxes(measured(&plain, bowls(3)).unwrap());
    let before = asked(&data);
    // Eight directions there and back, and the middle, at each of three boxes.
    assert_eq!(before, 3 * (2 * 8 + 1));
    let plan = Plan::new(&plain, &data, &path()).unwrap();
    assert_eq!(asked(&data), before, "a plan asks for nothing");
    // Along every direction a bowl has the same curvature h: the margin makes it 3 h, in four
    // dimensions. rho is that over six times the mean neighbourhood.
    let curvature = 3.0 * CURVATURE;
    let rho = curvature / (6.0 * 7.0 / 3.0);
    assert!((plan.admm().rho / rho - 1.0).abs() < 1e-9, "{}", plan.admm().rho);
    let outline = plan.outline();
    assert_eq!((outline.rounds, outline.loss, outline.features), (100, "external", FEATURES));
    let shape = (outline.inner_steps, outline.directions, outline.smoothing);
    assert_eq!(shape, (Some(10), Some(10), Some(1.0)));
    for (agent, near) in plan.agents().iter().zip(NEAR) {
        let inner = agent.inner.unwrap();
        // Half of the longest step that contracts, with ten directions at right angles in four
        // dimensions.
        let length = 1.0 / (curvature + 2.0 * rho * near as f64);
        assert!(inner.orthogonal && !inner.antithetic);
        assert!((inner.step_size(1, FEATURES) / length - 1.0).abs() < 1e-9);
    }
}

#[test]
fn a_step_that_is_given_spares_the_measurement() {
    let step = Auto::Given(PerAgent::All(0.4));
    let given = RunSpec { step, ..spec("d-zoa", Mechanism::none()) };
    let data = Data::Boxes(measured(&given, bowls(3)).unwrap());
    let plan = Plan::new(&given, &data, &path()).unwrap();
    assert_eq!(asked(&data), 0);
    assert_eq!(plan.admm().rho, 1.0);
    assert!(plan.agents().iter().all(|agent| agent.inner.unwrap().alpha0_times_r == 0.4));
}

#[test]
fn no_box_is_asked_before_a_run_with_a_claim() {
    let scalar = spec("d-zoa", exact("scalar", EPSILON));
    let data = Data::Boxes(measured(&scalar, counted()).unwrap());
    let plan = Plan::new(&scalar, &data, &path()).unwrap();
    assert_eq!(asked(&data), 0);
    // 2 C/N_k with C half of the fourth root of rows times epsilon over 1000, and at least 1/4.
    let signal = SAMPLES as f64 * EPSILON / 1000.0;
    let sensitivity = 2.0 * (0.5 * signal.powf(0.25)).max(0.25) / SAMPLES as f64;
    for agent in plan.outline().agents {
        assert_eq!(agent.samples, SAMPLES);
        assert!((agent.sensitivity.unwrap() / sensitivity - 1.0).abs() < 1e-12);
        let total = agent.epsilon_total.unwrap();
        assert!((0.99 * EPSILON..=EPSILON).contains(&total), "{total}");
    }
    let mut nominal = bowls(3);
    nominal.samples = Some(vec![10, 20, 30]);
    let claim = spec("d-zoa", intrinsic());
    let data = Data::Boxes(measured(&claim, nominal).unwrap());
    let plan = Plan::new(&claim, &data, &path()).unwrap();
    assert_eq!(asked(&data), 0);
    let samples: Vec<usize> = plan.outline().agents.iter().map(|agent| agent.samples).collect();
    assert_eq!(samples, [10, 20, 30]);
}

#[test]
fn what_a_box_counts_itself_comes_before_what_is_said_about_it() {
    let mut boxes = counted();
    boxes.samples = Some(vec![1_000_000; 3]);
    let scalar = spec("d-zoa", exact("scalar", EPSILON));
    let plan = Plan::new(&scalar, &Data::Boxes(boxes), &path()).unwrap();
    assert!(plan.outline().agents.iter().all(|agent| agent.samples == SAMPLES));
}

#[test]
fn boxes_that_a_mechanism_cannot_protect_are_refused() {
    let output = spec("d-zoa", exact("output", EPSILON));
    assert_eq!(refusal(&output, counted()), Refused::NoCertificate);
    let scalar = spec("d-zoa", exact("scalar", EPSILON));
    assert_eq!(refusal(&scalar, bowls(3)), Refused::NotPerSample);
    assert_eq!(refusal(&spec("d-zoa", intrinsic()), bowls(3)), Refused::NotCounted);
    let mut two = bowls(3);
    two.samples = Some(vec![10, 20]);
    let samples = Refused::Samples { got: 2, agents: 3 };
    assert_eq!(refusal(&spec("d-zoa", intrinsic()), two), samples);
}

#[test]
fn algorithms_that_work_on_rows_refuse_boxes() {
    for name in std::iter::once("admm").chain(dzoa::baselines::names()) {
        let refused = refusal(&spec(name, Mechanism::none()), bowls(3));
        assert_eq!(refused, Refused::NeedsRows(name));
    }
}

#[test]
fn as_many_boxes_as_agents_are_needed_and_each_must_give_a_value() {
    let plain = spec("d-zoa", Mechanism::none());
    let count = Refused::Build(BuildError::Count { data: 2, graph: 3 });
    assert_eq!(refusal(&plain, bowls(2)), count);
    assert_eq!(measured(&plain, bowls(2)).unwrap_err(), count);
    assert_eq!(refusal(&plain, bowls(3)), Refused::Unmeasured);
    let mut broken = bowls(3);
    broken.boxes[1] = Arc::new(BlackBox::new(FEATURES, |_: &[f64]| f64::NAN));
    let Refused::Failed { agent, failure } = measured(&plain, broken).unwrap_err() else {
        panic!("not the box");
    };
    assert_eq!(agent, "b");
    assert!(matches!(failure, Failure::NotFinite { value, .. } if value.is_nan()), "{failure}");
}

#[test]
fn the_plan_of_one_box_is_its_part_of_the_plan_of_all() {
    let keys = Keys { total_epsilon: Some(EPSILON), delta: Some(DELTA), ..Keys::default() };
    let scalar = spec("d-zoa", Mechanism::from_keys("scalar", &keys).unwrap());
    let data = Data::Boxes(counted());
    let all = Plan::new(&scalar, &data, &path()).unwrap();
    for k in 0..3 {
        let one = Plan::of_one(&scalar, &data, &path(), k).unwrap();
        let (own, part) = (one.at(k), all.at(k));
        assert_eq!((own.inner, &own.charges), (part.inner, &part.charges));
    }
}
