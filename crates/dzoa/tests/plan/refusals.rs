//! What cannot be planned is refused, with its cause.

use super::{EPSILON, FEATURES, exact, intrinsic, named, path, planned, problem, rows, spec};
use dzoa::baselines::{Broken, Options, entry};
use dzoa::guarantee::NoGuarantee;
use dzoa::plan::{
    Algorithm, Auto, Data, Decider, Intrinsic, Keys, Mechanism, MechanismEntry, OptimumNorm,
    PerAgent, Plan, Refused, RunSpec,
};
use dzoa::prelude::*;
use dzoa::run::BuildError;
use std::sync::Arc;

/// Why there is no plan on these rows.
fn refusal(spec: &RunSpec, problem: Problem) -> Refused {
    no_plan(Plan::new(spec, &Data::Rows(problem), &path()))
}

/// Why there is no plan. `unwrap_err` would print the plan, and with it every row.
pub fn no_plan(planned: Result<Plan, Refused>) -> Refused {
    match planned {
        Err(refused) => refused,
        Ok(plan) => panic!("{} was planned", named(plan.spec())),
    }
}

fn smooth() -> Problem {
    problem(Logistic, Regularizer::L2)
}

/// One more agent than the network has, or other rows for one.
fn with_rows(k: usize, rows: Rows) -> Problem {
    let mut problem = smooth();
    let targets = vec![1.0; rows.count()];
    let samples = Arc::new(Samples::new(rows, targets).unwrap());
    match problem.agents.get_mut(k) {
        Some(place) => *place = samples,
        None => problem.agents.push(samples),
    }
    problem
}

/// A baseline with one option.
fn with_option(name: &str, key: &'static str, value: f64) -> RunSpec {
    let mut options = Options::default();
    options.set(key, value);
    let entry = dzoa::baselines::entry(name).unwrap();
    RunSpec::new(Algorithm::Baseline(entry, options), exact("output", EPSILON))
}

fn no_guarantee(refused: Refused) -> (Decider, NoGuarantee) {
    match refused {
        Refused::NoGuarantee { decider, error } => (decider, error),
        other => panic!("{other:?}"),
    }
}

fn broken(refused: Refused) -> (Broken, bool) {
    match refused {
        Refused::Broken { broken, clips } => (broken, clips),
        other => panic!("{other:?}"),
    }
}

#[test]
fn data_and_network_must_fit_together() {
    let plain = spec("d-zoa", Mechanism::none());
    let four = with_rows(3, Rows::dense(FEATURES, vec![0.1; FEATURES]).unwrap());
    let count = BuildError::Count { data: 4, graph: 3 };
    assert_eq!(refusal(&plain, four), Refused::Build(count));
    let nobody = with_rows(1, Rows::dense(FEATURES, vec![]).unwrap());
    assert_eq!(refusal(&plain, nobody), Refused::Build(BuildError::NoRows("b".into())));
    let wider = with_rows(2, Rows::dense(5, vec![0.1; 5]).unwrap());
    let columns = BuildError::Columns { name: "c".into(), got: 5, expected: FEATURES };
    assert_eq!(refusal(&plain, wider), Refused::Build(columns));
    let mut alone = smooth();
    alone.agents.truncate(1);
    let graph = Graph::from_edges(vec!["a".into()], &[]).unwrap();
    let apart = RunSpec { self_loop: false, ..plain };
    let refused = no_plan(Plan::new(&apart, &Data::Rows(alone), &graph));
    assert_eq!(refused, Refused::Build(BuildError::Alone("a".into())));
}

#[test]
fn one_agent_needs_rows_and_somebody_near() {
    let plain = spec("d-zoa", Mechanism::none());
    let nobody = with_rows(1, Rows::dense(FEATURES, vec![]).unwrap());
    let refused = no_plan(Plan::of_one(&plain, &Data::Rows(nobody), &path(), 1));
    let empty = Refused::Empty { agent: "b".into(), samples: 0, neighbourhood: 3 };
    assert_eq!(refused, empty);
    let mut alone = smooth();
    alone.agents.truncate(1);
    let graph = Graph::from_edges(vec!["a".into()], &[]).unwrap();
    let apart = RunSpec { self_loop: false, ..plain };
    let refused = no_plan(Plan::of_one(&apart, &Data::Rows(alone), &graph, 0));
    assert_eq!(refused, Refused::Empty { agent: "a".into(), samples: 300, neighbourhood: 0 });
}

#[test]
fn an_array_has_one_number_for_each_agent() {
    let plain = spec("d-zoa", Mechanism::none());
    let two = PerAgent::Each(vec![1.0; 2]);
    let lipschitz = RunSpec { lipschitz: two.clone(), ..plain.clone() };
    let step = RunSpec { step: Auto::Given(two.clone()), ..plain };
    let keys = Keys { epsilon: Some(0.15), delta: Some(1e-3), c: Some(two), ..Keys::default() };
    let c = spec("d-zoa", Mechanism::from_keys("intrinsic", &keys).unwrap());
    let cases = [("algorithm.lipschitz", lipschitz), ("algorithm.step", step), ("privacy.c", c)];
    for (key, spec) in cases {
        let expected = Refused::PerAgent { key, got: 2, agents: 3 };
        assert_eq!(refusal(&spec, smooth()), expected);
        assert_eq!(no_plan(Plan::of_one(&spec, &rows(), &path(), 0)), expected);
    }
}

#[test]
fn a_claim_that_counts_on_independent_directions_gets_no_others() {
    let free = spec("d-zoa", intrinsic());
    let pairs = RunSpec { antithetic: Auto::Given(true), ..free.clone() };
    assert_eq!(refusal(&pairs, smooth()), Refused::Arranged);
    let angles = RunSpec { orthogonal: Auto::Given(true), ..free };
    assert_eq!(refusal(&angles, smooth()), Refused::Arranged);
    // Where the claim rests on added noise, or there is none, they are free.
    for mechanism in [exact("scalar", EPSILON), exact("output", EPSILON), Mechanism::none()] {
        let arranged = Auto::Given(true);
        planned(&RunSpec {
            antithetic: arranged,
            orthogonal: arranged,
            ..spec("d-zoa", mechanism)
        });
    }
}

#[test]
fn corollary_1_with_the_optimums_norm_needs_an_optimum_or_a_step() {
    let replicate = Mechanism::new(Intrinsic {
        epsilon: 0.15,
        delta: 1e-3,
        c: PerAgent::All(0.5),
        optimum_norm: OptimumNorm::Replicate,
    });
    let open = spec("d-zoa", replicate.clone());
    assert_eq!(refusal(&open, smooth()), Refused::NoOptimum);
    let step = Auto::Given(PerAgent::All(0.5));
    planned(&RunSpec { step, ..open });
    planned(&spec("d-zoa", replicate.with_optimum(&[3.0, 4.0, 0.0, 0.0])));
}

#[test]
fn noise_on_a_minimiser_needs_a_bounded_slope_and_bounded_rows() {
    for algorithm in ["d-zoa", "admm"] {
        let output = spec(algorithm, exact("output", EPSILON));
        let squared = refusal(&output, problem(Squared, Regularizer::L1));
        let decider = Decider::Mechanism { name: "output", in_loop: false };
        assert_eq!(no_guarantee(squared), (decider, NoGuarantee::NoLipschitz("squared")));
        let unbounded = with_rows(1, Rows::dense(FEATURES, vec![0.1; FEATURES]).unwrap());
        let refused = no_guarantee(refusal(&output, unbounded));
        assert_eq!(refused, (decider, NoGuarantee::UnboundedRows("logistic")));
    }
}

#[test]
fn a_gradient_needs_bounded_rows_or_a_clip() {
    let unbounded = || with_rows(1, Rows::dense(FEATURES, vec![0.1; FEATURES]).unwrap());
    let refused = refusal(&spec("dp-gd", exact("output", EPSILON)), unbounded());
    let expected =
        (Decider::Algorithm(entry("dp-gd").unwrap()), NoGuarantee::UnboundedRows("logistic"));
    assert_eq!(no_guarantee(refused), expected);
    let clipped = with_option("dp-gd", "clip", 1.0);
    Plan::new(&clipped, &Data::Rows(unbounded()), &path()).unwrap();
}

#[test]
fn a_budget_finer_than_the_grid_of_the_noise_is_refused() {
    // Rounding moves a value by about 2^-32 sigma, more than the first budget lets one row move it;
    // with a delta of 0 no Gaussian noise is enough.
    let cases = [
        ("d-zoa", "output", 1e-12, 1e-13),
        ("d-zoa", "scalar", EPSILON, 0.0),
        ("dp-gd", "output", EPSILON, 0.0),
    ];
    for (algorithm, mechanism, epsilon, delta) in cases {
        let keys = Keys { total_epsilon: Some(epsilon), delta: Some(delta), ..Keys::default() };
        let spec = spec(algorithm, Mechanism::from_keys(mechanism, &keys).unwrap());
        let decider = match spec.algorithm.entry() {
            Some(entry) => Decider::Algorithm(entry),
            None => Decider::Mechanism {
                name: mechanism,
                in_loop: MechanismEntry::named(mechanism).unwrap().in_loop,
            },
        };
        let spec = RunSpec { rounds: Auto::Given(2), ..spec };
        let expected = (decider, NoGuarantee::BudgetTooSmall { epsilon });
        assert_eq!(no_guarantee(refusal(&spec, smooth())), expected);
    }
}

#[test]
fn a_tolerance_that_no_double_can_certify_is_refused() {
    let keys = Keys {
        total_epsilon: Some(EPSILON),
        delta: Some(super::DELTA),
        tolerance: Some(1e-30),
        ..Keys::default()
    };
    let spec = spec("admm", Mechanism::from_keys("output", &keys).unwrap());
    let (decider, error) = no_guarantee(refusal(&spec, smooth()));
    assert_eq!(decider, Decider::Mechanism { name: "output", in_loop: false });
    let NoGuarantee::Tolerance { tolerance, least } = error else { panic!("{error:?}") };
    assert!(tolerance == 1e-30 && least > tolerance);
}

#[test]
fn a_release_that_cannot_pay_for_its_hessian_is_refused() {
    let many = RunSpec { rounds: Auto::Given(5000), ..spec("dvp", exact("output", 1.0)) };
    let (decider, error) = no_guarantee(refusal(&many, smooth()));
    assert_eq!(decider, Decider::Algorithm(entry("dvp").unwrap()));
    let NoGuarantee::Hessian { epsilon, costs } = error else { panic!("{error:?}") };
    assert!(costs > epsilon && epsilon <= 1.0 / 5000.0, "{epsilon} {costs}");
}

#[test]
fn a_minimiser_that_cannot_be_found_near_enough_or_soon_enough_is_refused() {
    let soft = |ridge: f64, problem: Problem| {
        let spec = with_option("objective-perturbation", "ridge", ridge);
        // The Hessian alone costs a lot where the ridge is so small: a budget that can pay for it.
        let spec = RunSpec { mechanism: exact("output", 100.0), ..spec };
        let (decider, error) = no_guarantee(refusal(&spec, problem));
        assert_eq!(decider, Decider::Algorithm(entry("objective-perturbation").unwrap()));
        error
    };
    // Rows that weigh 1 each may carry the minimiser so far out that its last digits are lost.
    let far = soft(1e-6, Problem { scale: Scale::Sum, ..smooth() });
    assert!(matches!(far, NoGuarantee::Tolerance { .. }), "{far:?}");
    // A bend of 1 in a slope of 1e-6: near, but down a valley that takes millions of steps.
    let slow = soft(3e-9, problem(Huber { delta: 1e-6 }, Regularizer::L2));
    let NoGuarantee::Steps { steps, most } = slow else { panic!("{slow:?}") };
    assert!(steps > most as f64);
}

#[test]
fn an_assumption_that_the_problem_breaks_is_named() {
    let private = |name: &str| spec(name, exact("output", EPSILON));
    let kinks = broken(refusal(&private("pvp"), problem(Hinge, Regularizer::L2)));
    assert_eq!(kinks, (Broken::Kinks { algorithm: "pvp", loss: "hinge" }, false));
    let corners = broken(refusal(&private("pvp"), problem(Logistic, Regularizer::L1)));
    assert_eq!(corners, (Broken::RegularizerKinks { algorithm: "pvp" }, false));
    let flat = broken(refusal(&private("dvp"), problem(Logistic, Regularizer::None)));
    assert_eq!(flat, (Broken::NotStronglyConvex { algorithm: "dvp" }, false));
    let squared = || problem(Squared, Regularizer::L1);
    let steep = Broken::NoBound { algorithm: "p-admm", loss: "squared" };
    assert_eq!(broken(refusal(&private("p-admm"), squared())), (steep, false));
    // Whoever can clip is told so.
    let steep = Broken::NoBound { algorithm: "dp-gd", loss: "squared" };
    assert_eq!(broken(refusal(&private("dp-gd"), squared())), (steep, true));
    // Without a guarantee nobody needs a bound.
    let open = spec("dp-gd", Mechanism::none());
    Plan::new(&open, &Data::Rows(squared()), &path()).unwrap();
}

#[test]
fn numbers_that_nothing_can_be_planned_with_are_refused_by_name() {
    let plain = || spec("d-zoa", Mechanism::none());
    let cases = [
        ("algorithm.rho", RunSpec { rho: Auto::Given(0.0), ..plain() }),
        ("algorithm.rho", RunSpec { rho: Auto::Given(f64::NAN), ..plain() }),
        ("algorithm.rounds", RunSpec { rounds: Auto::Given(0), ..plain() }),
        ("algorithm.inner_steps", RunSpec { inner_steps: Auto::Given(0), ..plain() }),
        ("algorithm.directions", RunSpec { directions: Auto::Given(0), ..plain() }),
        ("algorithm.smoothing", RunSpec { smoothing: Auto::Given(-1.0), ..plain() }),
    ];
    for (expected, spec) in cases {
        let refused = refusal(&spec, smooth());
        assert!(matches!(refused, Refused::NotPositive { key, .. } if key == expected));
    }
}

#[test]
fn a_mechanism_of_an_inner_loop_is_refused_to_algorithms_without_one() {
    for mechanism in [exact("scalar", EPSILON), intrinsic()] {
        let refused = refusal(&spec("admm", mechanism), smooth());
        assert!(matches!(refused, Refused::NoLoop { algorithm: "admm", .. }), "{refused}");
    }
    let refused = refusal(&spec("dp-gd", exact("scalar", EPSILON)), smooth());
    assert!(matches!(refused, Refused::NoLoop { algorithm: "dp-gd", .. }), "{refused}");
}

#[test]
fn one_agent_of_an_algorithm_that_runs_together_is_refused() {
    let data = Data::Rows(smooth());
    let refused =
        no_plan(Plan::of_one(&spec("dp-gd", exact("output", EPSILON)), &data, &path(), 0));
    assert_eq!(refused, Refused::OnlyTogether("dp-gd"));
}

#[test]
fn a_plan_prints_nobodys_rows() {
    let (problem, graph) = (smooth(), path());
    let plan = Plan::new(&spec("d-zoa", Mechanism::none()), &Data::Rows(problem.clone()), &graph);
    let text = format!("{plan:?}");
    assert!(text.contains("hidden"));
    for target in &problem.agents[0].targets {
        assert!(!text.contains(&format!("targets: [{target}")), "{text}");
    }
    let mut cells = Vec::new();
    problem.agents[0].rows.visit(0, |_, value| cells.push(value));
    assert!(cells.iter().all(|cell| !text.contains(&cell.to_string())), "{text}");
}
