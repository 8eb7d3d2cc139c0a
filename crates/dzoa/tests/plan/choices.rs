//! Numbers that are given are taken; the others follow the documented rules.

use super::{
    EPSILON, FEATURES, NEAR, exact, intrinsic, named, others, own, path, planned, problem, spec,
};
use dzoa::agent::Average;
use dzoa::plan::rules::{self, LoopShape, PAPER_LOOP, scalar_loop};
use dzoa::plan::{Algorithm, Auto, Data, MECHANISMS, Mechanism, PerAgent, Plan, Reported, RunSpec};
use dzoa::prelude::*;
use dzoa::tuning::Setting;

/// Three roundings of a closed form.
const ROUNDING: f64 = 1e-12;

/// T, J and u1 of a plan's first agent.
fn shape(plan: &Plan) -> Option<LoopShape> {
    plan.agents()[0].inner.map(|inner| LoopShape {
        inner_steps: inner.inner_steps,
        directions: inner.directions,
        smoothing: inner.smoothing,
    })
}

/// A spec that gives everything that the rules chose for another.
fn spelled_out(plan: &Plan) -> RunSpec {
    let admm = plan.admm();
    let given =
        |flag: fn(&ZerothOrder) -> bool| Auto::from(plan.agents()[0].inner.as_ref().map(flag));
    let loops = shape(plan);
    let steps: Vec<f64> =
        plan.agents().iter().filter_map(|agent| Some(agent.inner?.alpha0_times_r)).collect();
    RunSpec {
        rho: Auto::Given(admm.rho),
        rounds: Auto::Given(admm.rounds),
        inner_steps: loops.map(|chosen| chosen.inner_steps).into(),
        directions: loops.map(|chosen| chosen.directions).into(),
        smoothing: loops.map(|chosen| chosen.smoothing).into(),
        step: loops.map(|_| PerAgent::Each(steps)).into(),
        antithetic: given(|inner| inner.antithetic),
        orthogonal: given(|inner| inner.orthogonal),
        warm_start: Auto::Given(admm.warm_start),
        reported: Auto::Given(match plan.average() {
            Average::None => Reported::Last,
            Average::LastHalf => Reported::LastHalf,
            Average::Network { .. } => Reported::Network,
        }),
        tolerance: Auto::Given(None),
        ..plan.spec().clone()
    }
}

#[test]
fn these_tests_know_every_mechanism() {
    let tested: Vec<&str> = own().iter().map(|spec| spec.mechanism.name()).collect();
    // `joint` protects sums, which `crates/dzoa/tests/joint.rs` plans.
    for entry in MECHANISMS.iter().filter(|entry| !entry.only_sums) {
        assert!(tested.contains(&entry.name), "no test plans with `{}`", entry.name);
    }
}

#[test]
fn giving_what_the_rules_chose_changes_nothing() {
    for spec in own().into_iter().chain(others(EPSILON)) {
        let chosen = planned(&spec);
        let given = planned(&spelled_out(&chosen));
        let json = |plan: &Plan| serde_json::to_value(plan.outline()).unwrap();
        assert_eq!(json(&chosen), json(&given), "{}", named(&spec));
        for (a, b) in chosen.agents().iter().zip(given.agents()) {
            assert_eq!((a.inner, &a.charges), (b.inner, &b.charges), "{}", named(&spec));
        }
    }
}

#[test]
fn what_is_given_is_taken_and_the_rest_stays_with_the_rules() {
    let steps = [0.3, 0.2, 0.1];
    for auto in own() {
        let spec = RunSpec {
            rho: Auto::Given(0.7),
            rounds: Auto::Given(11),
            inner_steps: Auto::Given(3),
            smoothing: Auto::Given(0.25),
            step: Auto::Given(PerAgent::Each(steps.to_vec())),
            lipschitz: PerAgent::Each(vec![1.0, 2.0, 3.0]),
            warm_start: Auto::Given(false),
            reported: Auto::Given(Reported::LastHalf),
            ..auto.clone()
        };
        let (rule, plan) = (planned(&auto), planned(&spec));
        assert_eq!((plan.admm().rho, plan.rounds()), (0.7, 11), "{}", named(&spec));
        assert!(!plan.admm().warm_start && plan.average() == Average::LastHalf);
        for (k, agent) in plan.agents().iter().enumerate() {
            assert_eq!(agent.neighbourhood, NEAR[k]);
            let Some(inner) = agent.inner else { continue };
            assert_eq!((inner.inner_steps, inner.smoothing), (3, 0.25));
            assert_eq!((inner.alpha0_times_r, inner.lipschitz), (steps[k], k as f64 + 1.0));
            let left = rule.agents()[k].inner.map(|inner| inner.directions);
            assert_eq!(Some(inner.directions), left, "{}: nobody gave J", named(&spec));
        }
    }
    for auto in others(EPSILON) {
        let spec = RunSpec { rho: Auto::Given(0.7), rounds: Auto::Given(11), ..auto };
        let (plan, entry) = (planned(&spec), spec.algorithm.entry().unwrap());
        assert_eq!(plan.rounds(), entry.rounds.unwrap_or(11), "{}", entry.name);
        assert_eq!(plan.outline().rho, entry.reads_rho.then_some(0.7), "{}", entry.name);
    }
}

#[test]
fn every_mechanism_has_the_rho_rounds_and_loop_of_its_rule() {
    // The smallest agent has 300 rows; the output rule's signal is rows times epsilon over 1000.
    let output = 0.028 / (300.0 * EPSILON / 1000.0_f64).cbrt();
    let scalar = 0.02 / (300.0 * EPSILON / 1000.0_f64).cbrt();
    // 57 times the fourth root of 0.6, which is 0.880; and a whole frame.
    let frame = LoopShape { inner_steps: 1, directions: FEATURES, smoothing: 0.01 };
    let paper = LoopShape { inner_steps: 100, directions: 30, smoothing: 1.0 };
    let expected = [
        (1e-3, 500, Some(paper)),
        (4.0, 200, Some(paper)),
        (output, 60, Some(paper)),
        (scalar, 50, Some(frame)),
        (1e-3, 500, None),
        (output, 60, None),
    ];
    for (spec, (rho, rounds, inner)) in own().iter().zip(expected) {
        let plan = planned(spec);
        let near = (plan.admm().rho / rho - 1.0).abs() < ROUNDING;
        assert!(near, "{}: rho {}", named(spec), plan.admm().rho);
        assert_eq!((plan.rounds(), shape(&plan)), (rounds, inner), "{}", named(spec));
    }
    for spec in others(EPSILON) {
        let (plan, entry) = (planned(&spec), spec.algorithm.entry().unwrap());
        assert_eq!(plan.rounds(), entry.rounds.unwrap_or(60), "{}", entry.name);
        let rho = plan.outline().rho;
        assert_eq!(rho.is_some(), entry.reads_rho, "{}", entry.name);
        assert!(rho.is_none_or(|rho| (rho / output - 1.0).abs() < ROUNDING), "{}", entry.name);
    }
}

#[test]
fn a_run_without_a_budget_that_leaves_its_rounds_to_the_rule_has_hundreds() {
    let names = Algorithm::names().into_iter();
    // Newton's steps are few, and the points of a search are counted, not its rounds.
    let others = ["objective-perturbation", "joint-newton", "joint-models"];
    for name in names.filter(|name| !others.contains(name)) {
        let plan = planned(&spec(name, Mechanism::none()));
        assert_eq!((plan.rounds(), rules::PLAIN_ROUNDS), (500, 500), "{name}");
    }
    // It releases once: its number of rounds is no choice.
    assert_eq!(planned(&spec("objective-perturbation", Mechanism::none())).rounds(), 1);
}

#[test]
fn t_j_and_u1_are_the_papers_where_the_paper_loop_is_asked_for_and_not_given() {
    let scalar = spec("d-zoa", exact("scalar", EPSILON));
    assert_eq!(shape(&planned(&scalar)), Some(scalar_loop(FEATURES)), "rounds auto");
    let given = RunSpec { rounds: Auto::Given(80), ..scalar.clone() };
    assert_eq!(
        shape(&planned(&given)),
        Some(scalar_loop(FEATURES)),
        "the loop does not go by the rounds"
    );
    assert_eq!(shape(&planned(&given.with_paper_loop())), Some(PAPER_LOOP));
    let own = RunSpec { directions: Auto::Given(7), ..scalar };
    let kept = LoopShape { directions: 7, ..PAPER_LOOP };
    assert_eq!(shape(&planned(&own.with_paper_loop())), Some(kept), "a given J stays");
}

#[test]
fn a_tuner_that_gives_the_rounds_gets_the_paper_loop_and_one_that_does_not_the_rules() {
    let base = spec("d-zoa", exact("output", EPSILON));
    let scalar = exact("scalar", EPSILON);
    let tuned = |setting: &Setting| base.with_setting(Algorithm::DZoa, scalar.clone(), setting);
    let plan = planned(&tuned(&Setting::default()));
    assert_eq!((plan.rounds(), shape(&plan)), (50, Some(scalar_loop(FEATURES))));
    let plan = planned(&tuned(&Setting { rounds: Some(30), ..Setting::default() }));
    assert_eq!((plan.rounds(), shape(&plan)), (30, Some(PAPER_LOOP)));
    let inner = Some((2, 9, 0.5));
    let plan = planned(&tuned(&Setting { rounds: Some(30), inner, ..Setting::default() }));
    let tried = LoopShape { inner_steps: 2, directions: 9, smoothing: 0.5 };
    assert_eq!(shape(&plan), Some(tried));
}

#[test]
fn what_agents_report_is_the_last_release_unless_noise_is_averaged() {
    let averaged = |spec: &RunSpec| planned(spec).average();
    assert_eq!(averaged(&spec("d-zoa", Mechanism::none())), Average::None);
    assert_eq!(averaged(&spec("d-zoa", intrinsic())), Average::None);
    // The second eigenvalue of the path's mixing matrix is 2/3: (2/3)^18 < 1/1000 < (2/3)^17.
    for mechanism in ["output", "scalar"] {
        let noisy = spec("d-zoa", exact(mechanism, EPSILON));
        assert_eq!(averaged(&noisy), Average::Network { gossip: 18 }, "{mechanism}");
    }
}

#[test]
fn intrinsic_steps_are_those_of_corollary_1_at_every_agent() {
    let spec = spec("d-zoa", intrinsic());
    let plan = planned(&spec);
    for (agent, samples) in plan.agents().iter().zip(super::SAMPLES) {
        let (near, inner) = (agent.neighbourhood, agent.inner.unwrap());
        // Lemma 3 with the logistic loss's c1 = 1.
        let sensitivity = 1.0 / (4.0 * near as f64 * samples as f64);
        assert!((agent.charges.sensitivity / sensitivity - 1.0).abs() < ROUNDING);
        let corollary = dzoa::privacy::calibrate::Corollary1 {
            sensitivity,
            delta: 1e-3,
            features: FEATURES,
            directions: 30,
            inner_steps: 100,
            c: 0.5,
            optimum_norm_squared: 0.0,
        };
        // The step's epsilon is what the claim says.
        let epsilon = corollary.epsilon(inner.alpha0_times_r).unwrap();
        assert!((epsilon / 0.15 - 1.0).abs() < 1e-9, "{epsilon}");
    }
}

#[test]
fn a_higher_clip_and_a_softer_pull_go_with_more_rows_or_budget() {
    // 300 rows: the cube root of 27 is 3, the fourth root of 16 is 2. The logistic loss has c1 = 1,
    // and squares have none.
    for (signal, rho, clip, free) in
        [(1.0, 0.02, 0.5, 0.5), (27.0, 0.02 / 3.0, 1.0, 1.139_753_528), (1000.0, 2e-3, 1.0, 2.0)]
    {
        let spec = spec("d-zoa", exact("scalar", signal * 1000.0 / 300.0));
        let plan = planned(&spec);
        assert!((plan.admm().rho / rho - 1.0).abs() < ROUNDING, "{signal}");
        assert!((plan.clip().unwrap() / clip - 1.0).abs() < ROUNDING, "{signal}");
        let squares = Data::Rows(problem(Squared, Regularizer::L1));
        let found = Plan::new(&spec, &squares, &path()).unwrap().clip().unwrap();
        assert!((found / free - 1.0).abs() < 1e-9, "{signal}: {found}");
    }
}

#[test]
fn one_agent_without_neighbours_is_pulled_less() {
    let mut alone = problem(Squared, Regularizer::L1);
    alone.agents.truncate(1);
    let graph = Graph::from_edges(vec!["a".into()], &[]).unwrap();
    let rho = |problem: &Problem| {
        let spec = spec("admm", Mechanism::none());
        Plan::new(&spec, &Data::Rows(problem.clone()), &graph).unwrap().admm().rho
    };
    assert_eq!(rho(&alone), 1e-4);
    // With kinks the exact solver needs a firmer pull.
    let mut kinks = problem(Absolute, Regularizer::L1);
    kinks.agents.truncate(1);
    assert_eq!(rho(&kinks), 1e-3);
}
