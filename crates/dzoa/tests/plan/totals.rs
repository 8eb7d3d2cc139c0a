//! What a plan costs: the outline's totals are those of the accountant, and the budget is used.

use super::{
    DELTA, EPSILON, FEATURES, exact, guaranteed, intrinsic, named, others, own, path, planned,
    rows, spec,
};
use dzoa::plan::{Auto, Keys, Mechanism, Plan, RunSpec};
use dzoa::privacy::calibrate::Schedule;
use dzoa::privacy::{
    Accountant, Budget, Event, ExactGaussian, Header, LEDGER_FORMAT, Ledger, ZeroConcentrated,
    gaussian,
};

/// What the documentation of calibration says of every budget, with room for shares in mu.
const LEAST_USED: f64 = 0.99;

/// What an accountant says about all charges of agent k.
fn composed<A: Accountant + Default>(plan: &Plan, k: usize) -> f64 {
    let mut total = A::default();
    for event in plan.at(k).charges.planned(plan.rounds()) {
        total.compose(&event).unwrap();
    }
    total.epsilon(DELTA)
}

#[test]
fn the_outlines_totals_are_the_charges_composed_by_the_accountant() {
    for spec in guaranteed(EPSILON) {
        let plan = planned(&spec);
        let (outline, spending) = (plan.outline(), plan.spending());
        for (k, agent) in outline.agents.iter().enumerate() {
            let total = composed::<ExactGaussian>(&plan, k);
            assert_eq!(agent.epsilon_total, Some(total), "{}", named(&spec));
            assert_eq!(spending.after(k, plan.rounds()), Some(total), "{}", named(&spec));
            let first = agent.epsilon_first_round.unwrap();
            assert!(first > 0.0 && first <= total, "{}: {first} of {total}", named(&spec));
        }
        let largest = outline.agents.iter().filter_map(|agent| agent.epsilon_total);
        assert_eq!(outline.epsilon_total, largest.reduce(f64::max), "{}", named(&spec));
        assert_eq!(
            (outline.claim.word(), outline.delta),
            ("exact", Some(DELTA)),
            "{}",
            named(&spec)
        );
    }
}

#[test]
fn gaussian_totals_are_those_of_one_mechanism_with_the_root_of_all_squares() {
    for spec in guaranteed(EPSILON) {
        let plan = planned(&spec);
        for (k, agent) in plan.agents().iter().enumerate() {
            let square = |event: &Event| match *event {
                Event::DiscreteGaussian { sensitivity, sigma, count, .. } => {
                    Some(count as f64 * (sensitivity / sigma).powi(2))
                }
                _ => None,
            };
            let squares: Option<Vec<f64>> =
                agent.charges.planned(plan.rounds()).iter().map(square).collect();
            // Pure charges have no mu.
            let Some(squares) = squares else { continue };
            let closed = gaussian::epsilon(DELTA, squares.iter().sum::<f64>().sqrt());
            let total = composed::<ExactGaussian>(&plan, k);
            // The grid of the noise is paid for: a bound from below, then tight.
            assert!(total >= closed && total < closed * (1.0 + 1e-6), "{total} {closed}");
            assert!(total <= composed::<ZeroConcentrated>(&plan, k), "{}", named(&spec));
        }
    }
}

/// Asserts that no agent spends more than the budget, and one at least 99 % of it.
fn uses_its_budget(spec: &RunSpec, epsilon: f64) {
    let plan = planned(spec);
    for agent in plan.outline().agents {
        let total = agent.epsilon_total.unwrap();
        assert!(total <= epsilon, "{}: {total} of {epsilon}", named(spec));
        assert!(total >= LEAST_USED * epsilon, "{}: {total} of {epsilon}", named(spec));
    }
}

#[test]
fn a_plan_never_exceeds_its_budget_and_uses_at_least_99_percent_of_it() {
    for epsilon in [1.0, EPSILON, 8.0] {
        for spec in guaranteed(epsilon) {
            uses_its_budget(&spec, epsilon);
            // One release, and an odd number where two rounds share a query.
            for rounds in [1, 7] {
                uses_its_budget(&RunSpec { rounds: Auto::Given(rounds), ..spec.clone() }, epsilon);
            }
        }
    }
}

#[test]
fn people_with_several_rows_and_rounds_of_unequal_shares_cost_no_more() {
    for (rows_per_person, growth) in [(3, 1.0), (1, 1.1), (2, 0.95)] {
        let keys = Keys {
            total_epsilon: Some(EPSILON),
            delta: Some(DELTA),
            rows_per_person: Some(rows_per_person),
            schedule: Some(Auto::Given(Schedule::Growth(growth))),
            ..Keys::default()
        };
        for mechanism in ["output", "scalar"] {
            let budgeted = Mechanism::from_keys(mechanism, &keys).unwrap();
            let several = spec("d-zoa", budgeted);
            uses_its_budget(&several, EPSILON);
            uses_its_budget(&RunSpec { inner_steps: Auto::Given(5), ..several.clone() }, EPSILON);
            let per_person = planned(&several).at(0).charges.sensitivity;
            let per_row =
                planned(&spec("d-zoa", exact(mechanism, EPSILON))).at(0).charges.sensitivity;
            let ratio = per_person / per_row / rows_per_person as f64;
            assert!((ratio - 1.0).abs() < 1e-12, "{mechanism}: {per_person} {per_row}");
        }
    }
}

#[test]
fn a_ledger_of_the_budget_affords_the_plan_and_not_one_release_more() {
    let header = Header {
        ledger: LEDGER_FORMAT,
        id: [1; 16].into(),
        dataset: "rows".into(),
        budget: Some(Budget { epsilon: EPSILON, delta: DELTA }),
    };
    let ledger = Ledger::new(header);
    for spec in guaranteed(EPSILON) {
        let plan = planned(&spec);
        for agent in plan.agents() {
            let events = agent.charges.planned(plan.rounds());
            ledger.affords(&events).unwrap_or_else(|no| panic!("{}: {no}", named(&spec)));
            let more = events.iter().chain(events.last());
            assert!(ledger.affords(more).is_err(), "{}", named(&spec));
        }
    }
}

#[test]
fn what_is_nominal_costs_what_theorem_2_says_and_what_is_not_private_costs_nothing() {
    let oracle = std::fs::read_to_string("../../tests/oracle/privacy.json").unwrap();
    let oracle: serde_json::Value = serde_json::from_str(&oracle).unwrap();
    let rows = oracle["composition"].as_array().unwrap();
    let row = rows
        .iter()
        .find(|row| row["epsilon"] == 0.15 && row["delta"] == 1e-3 && row["rounds"] == 200)
        .unwrap();
    let expected = row["epsilon_theorem2"].as_f64().unwrap();
    let outline = planned(&spec("d-zoa", intrinsic())).outline();
    assert_eq!((outline.claim.word(), outline.delta), ("nominal", Some(1e-3)));
    for agent in &outline.agents {
        assert!((agent.epsilon_total.unwrap() / expected - 1.0).abs() < 1e-12);
        assert_eq!(agent.epsilon_first_round, Some(0.15));
        // Theorem 1: the noise that the claim assumes, and nobody adds.
        let multiplier = row["noise_multiplier"].as_f64().unwrap();
        let sigma = agent.sensitivity.unwrap() * multiplier;
        assert!((agent.noise_first.unwrap() / sigma - 1.0).abs() < 1e-12);
    }
    let nothing = planned(&spec("d-zoa", Mechanism::none())).outline();
    assert_eq!((nothing.claim.word(), nothing.epsilon_total, nothing.delta), ("none", None, None));
    let spent = nothing.agents.iter().any(|agent| agent.epsilon_total.is_some());
    assert!(!spent && nothing.agents.iter().all(|agent| agent.sensitivity.is_none()));
}

#[test]
fn messages_bytes_and_values_follow_from_the_network_and_the_rounds() {
    // A path of three has four directed links; 18 rounds of gossip follow under noise.
    for (spec, gossip) in own().into_iter().zip([0, 0, 18, 18, 0, 18]) {
        let plan = planned(&spec);
        let outline = plan.outline();
        assert_eq!(outline.gossip_rounds, gossip, "{}", named(&spec));
        assert_eq!(outline.messages, 4 * (plan.rounds() + gossip), "{}", named(&spec));
        assert_eq!(outline.bytes, 8 * FEATURES as u64 * outline.messages);
        let loops = outline.inner_steps.zip(outline.directions);
        // Two values a direction, at three agents.
        let calls = loops.map(|(t, j)| 2 * 3 * (t * j) as u64 * plan.rounds());
        assert_eq!(outline.oracle_calls, calls, "{}", named(&spec));
    }
}

#[test]
fn the_plan_of_one_agent_is_its_part_of_the_plan_of_all() {
    for spec in own() {
        let all = planned(&spec);
        for k in 0..3 {
            let one = Plan::of_one(&spec, &rows(), &path(), k).unwrap();
            assert_eq!(one.agents().len(), 1);
            let (own, part) = (one.at(k), all.at(k));
            assert_eq!(own.neighbourhood, part.neighbourhood, "{}", named(&spec));
            assert_eq!((own.inner, &own.charges), (part.inner, &part.charges), "{}", named(&spec));
            assert_eq!((one.admm(), one.average()), (all.admm(), all.average()));
            let (own, part) = (one.outline(), all.outline());
            let agent = |outline: &dzoa::plan::AgentOutline| serde_json::to_value(outline).unwrap();
            assert_eq!(agent(&own.agents[0]), agent(&part.agents[k]), "{}", named(&spec));
            // What one agent sends and asks for is its part of what all do.
            let degree = [1, 2, 1][k];
            assert_eq!(4 * own.messages, degree * part.messages, "{}", named(&spec));
            assert_eq!(own.oracle_calls.map(|calls| 3 * calls), part.oracle_calls);
        }
    }
}

#[test]
fn an_agent_that_loses_a_neighbour_plans_as_if_it_never_had_it() {
    for spec in own() {
        let plan = planned(&spec);
        // Agent b, with c gone, stands where a stands, but for its rows.
        let smaller = plan.for_neighbourhood(1, 2).unwrap();
        let ends = dzoa::network::Graph::from_edges(
            ["c", "b", "a"].map(String::from).to_vec(),
            &[(1, 2), (2, 0)],
        );
        let elsewhere = Plan::new(&spec, &rows(), &ends.unwrap()).unwrap();
        let (own, there) = (smaller.at(1), elsewhere.at(1));
        assert_eq!((own.inner, &own.charges), (there.inner, &there.charges), "{}", named(&spec));
    }
}

#[test]
fn every_other_algorithm_says_how_far_a_row_moves_its_first_query() {
    for spec in others(EPSILON) {
        for agent in planned(&spec).outline().agents {
            let noise = agent.noise_first.unwrap();
            assert!(agent.sensitivity.unwrap() > 0.0 && noise > 0.0, "{}", named(&spec));
        }
    }
}
