//! What joint sums cost: under the plan, under other numbers of colluders, and alone.

use dzoa_privacy::joint::{JointQuery, Region, Shares, Silo};
use dzoa_privacy::{
    Accountant, Budget, ChargeRefused, Claim, Colluders, Condition, EarlierRuns, Event,
    ExactGaussian, Facts, Header, LEDGER_FORMAT, Ledger, Query, Renyi, RunId, Statement,
    ZeroConcentrated, gaussian,
};

const DELTA: f64 = 1e-5;

fn equal(agents: usize, colluders: Colluders, mu: f64) -> JointQuery {
    let silos = vec![Silo { rows: 2000, weight: 1.0 / 2000.0 }; agents];
    let shares = Shares::new(&silos, colluders).unwrap();
    shares.query(Region::ball(10, 1.0).unwrap(), mu).unwrap()
}

fn cost<A: Accountant + Default>(events: &[Event]) -> f64 {
    let mut account = A::default();
    events.iter().for_each(|event| account.compose(event).unwrap());
    account.epsilon(DELTA)
}

/// A look of a run in which every round has a context of its own.
fn in_round(event: Event, round: u64, run: RunId) -> Query {
    let mut event = event;
    if let Event::JointSum { context, .. } = &mut event {
        let mut id = [1; 32];
        id[..8].copy_from_slice(&round.to_le_bytes());
        id[8..24].copy_from_slice(&run.0);
        *context = id.into();
    }
    Query { run, ..event.query(round) }
}

fn stated(events: &[Event], ledger: &Ledger) -> Statement {
    Statement::new(&Facts {
        ledger,
        run: RunId::default(),
        planned: events,
        delta: DELTA,
        earlier_runs: EarlierRuns::Counted,
        void: vec![],
        rests_on: vec![],
    })
}

#[test]
fn against_everybody_a_sum_costs_what_a_release_with_that_noise_costs_today() {
    for agents in [1, 2, 5, 50] {
        for colluders in [Colluders::All, Colluders::AtMost(agents as u32 - 1)] {
            let query = equal(agents, colluders, 0.3);
            let event = query.event(0);
            let mut today =
                Event::discrete_gaussian(query.region().diameter() / 2000.0, query.share(), 10, 1);
            assert_eq!(event.noise(), today.noise());
            // Rows are cut to the grid as whole numbers: two of the six steps that a release counts.
            let Event::DiscreteGaussian { sensitivity, step, .. } = &mut today else {
                panic!("{today:?}")
            };
            let more = 4.0 * *step * 10f64.sqrt();
            assert!((*sensitivity - event.sensitivity() - more).abs() < 1e-6 * more);
            *sensitivity = event.sensitivity();
            for many in [1, 7] {
                let (joint, plain) = (vec![event; many], vec![today; many]);
                assert_eq!(cost::<ExactGaussian>(&joint), cost::<ExactGaussian>(&plain));
                assert_eq!(cost::<ZeroConcentrated>(&joint), cost::<ZeroConcentrated>(&plain));
                assert_eq!(cost::<Renyi>(&joint), cost::<Renyi>(&plain));
            }
            assert_eq!((event.condition(), event.unconditional()), (None, event));
            assert!((0..agents as u32).all(|others| event.if_colluding(others) == event));
            assert_eq!(event.claim(), Claim::Exact);
        }
    }
}

#[test]
fn the_profile_is_the_designs() {
    // The design's table, computed there with scipy's log_ndtr: delta 1e-5, five agents. Planned
    // for epsilon at t colluders, what it is if 0 to 4 collude in truth.
    let table = [
        (2.0, 1, &[1.77, 2.00, 2.35, 2.95, 4.39][..], 5e-3),
        (2.0, 2, &[1.51, 1.70, 2.00, 2.51, 3.72], 5e-3),
        (8.0, 1, &[7.0, 8.0, 9.5, 12.3, 19.1], 5e-2),
    ];
    for (epsilon, t, expected, digits) in table {
        let sums = 10;
        let mu = gaussian::mu(epsilon, DELTA) / f64::from(sums).sqrt();
        let event = equal(5, Colluders::AtMost(t), mu).event(3);
        let said = stated(&[event; 10], &Ledger::default());
        let joint = said.joint.clone().unwrap();
        assert_eq!(joint.epsilon_if_colluding.len(), 5);
        for (found, expected) in joint.epsilon_if_colluding.iter().zip(expected) {
            // The grid of ten sums shows in the last of nineteen epsilons only.
            assert!((found - expected).abs() <= digits, "{epsilon} {t}: {joint:?}");
        }
        assert_eq!(said.epsilon_exact, Some(joint.epsilon_if_colluding[t as usize]));
        assert_eq!(joint.epsilon_unconditional, joint.epsilon_if_colluding.last().copied());
    }
    // Fifty agents, t = 5: 2.7 if 24 collude, 4.7 if 40, 19.4 if all.
    let event = equal(50, Colluders::AtMost(5), gaussian::mu(2.0, DELTA)).event(0);
    let said = stated(&[event], &Ledger::default()).joint.unwrap();
    for (others, expected) in [(24, 2.7), (40, 4.7), (49, 19.4)] {
        let found = said.epsilon_if_colluding[others];
        assert!((found - expected).abs() < 0.05, "{others}: {found}");
    }
}

#[test]
fn unequal_shares_are_charged_by_who_may_be_left() {
    // Hospitals: the profile from the event alone is that of the plan, or above.
    let rows = [303u64, 261, 46, 130];
    let silos = rows.map(|rows| Silo { rows, weight: 1.0 / rows as f64 });
    for colluders in 0..3u32 {
        let shares = Shares::new(&silos, Colluders::AtMost(colluders)).unwrap();
        let query = shares.query(Region::ball(4, 1.0).unwrap(), 0.5).unwrap();
        for k in 0..4 {
            let event = query.event(k);
            let mut last = 0.0;
            for others in 0..4u32 {
                let Event::JointSum { honest, .. } = event.if_colluding(others) else {
                    unreachable!()
                };
                let plan = shares.honest_if(k, others as usize);
                assert!(honest <= plan, "never more than is there");
                assert!(honest == plan || others < colluders, "exact from the plan on");
                let epsilon = cost::<ExactGaussian>(&[event.if_colluding(others)]);
                assert!(epsilon >= last, "more colluders never help");
                last = epsilon;
            }
            assert_eq!(last, cost::<ExactGaussian>(&[event.unconditional()]));
        }
    }
}

#[test]
fn the_ledger_keeps_two_totals_and_its_budget_is_about_the_conditional_one() {
    let budget = Budget { epsilon: 2.0, delta: DELTA };
    let header = Header {
        ledger: LEDGER_FORMAT,
        id: RunId::default(),
        dataset: "rows".into(),
        budget: Some(budget),
    };
    let mut ledger = Ledger::new(header.clone());
    let mu = gaussian::mu(2.0, DELTA) / 2.0 * (1.0 - 1e-6);
    let event = equal(5, Colluders::AtMost(1), mu).event(0);
    for round in 1..=4 {
        ledger.charge(in_round(event, round, RunId::default())).unwrap();
    }
    // Four sums at a half of mu: the budget is used up, and a fifth is refused.
    let refused = ledger.charge(in_round(event, 5, RunId::default()));
    assert!(matches!(refused, Err(ChargeRefused::Budget { .. })), "{refused:?}");
    assert!(ledger.epsilon(DELTA) <= 2.0 && ledger.epsilon(DELTA) > 1.999);
    // One of four shares: mu doubles.
    let alone = gaussian::epsilon(DELTA, 4.0 * mu);
    assert!((ledger.epsilon_unconditional(DELTA) / alone - 1.0).abs() < 1e-6);
    let condition = Condition { agents: 5, colluders: 1 };
    assert_eq!(ledger.conditions().collect::<Vec<_>>(), [condition]);
    // Replayed from its text: the same totals.
    let text: Vec<String> =
        ledger.entries().iter().map(|entry| serde_json::to_string(entry).unwrap()).collect();
    let entries = text.iter().map(|line| serde_json::from_str(line).unwrap());
    let again = Ledger::replay(header, entries).unwrap();
    assert_eq!(again.epsilon(DELTA), ledger.epsilon(DELTA));
    assert_eq!(again.epsilon_unconditional(DELTA), ledger.epsilon_unconditional(DELTA));
}

#[test]
fn an_old_ledger_has_one_total() {
    let mut ledger = Ledger::default();
    for event in [Event::discrete_gaussian(1.0, 9.0, 3, 2), Event::Pure { epsilon: 0.1 }] {
        ledger.charge(event.query(1)).unwrap();
    }
    assert_eq!(ledger.epsilon(DELTA), ledger.epsilon_unconditional(DELTA));
    assert_eq!(ledger.conditions().count(), 0);
    ledger.charge(Event::Unprotected.query(2)).unwrap();
    assert_eq!(ledger.epsilon_unconditional(DELTA), f64::INFINITY);
}

#[test]
fn the_event_is_written_as_it_is_read_for_ever() {
    // Literally: a ledger of today must be read by every later version.
    let text = "{\"event\":\"joint-sum\",\"sensitivity\":0.5,\"share\":2.0,\"step\":1e-6,\
        \"coordinates\":10,\"multiples\":2,\"honest\":5,\"least\":1,\"agents\":5,\"colluders\":1,\
        \"context\":\"0101010101010101010101010101010101010101010101010101010101010101\"}";
    let event: Event = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&event).unwrap(), text);
    let Event::JointSum { honest, context, .. } = event else { unreachable!() };
    assert_eq!((honest, context), (5, [1; 32].into()));
    // mu^2 = (0.5/2)^2/5 by hand, and (0.5/2)^2/2 alone.
    let by_hand = |draws: f64| gaussian::epsilon(DELTA, 0.25 / draws.sqrt());
    assert!((cost::<ExactGaussian>(&[event]) / by_hand(5.0) - 1.0).abs() < 1e-6);
    assert!((cost::<ExactGaussian>(&[event.unconditional()]) / by_hand(2.0) - 1.0).abs() < 1e-6);
}

#[test]
fn a_condition_is_a_part_of_the_sentence_in_plain_words() {
    let said = |agents: usize, colluders: Colluders| {
        stated(&[equal(agents, colluders, 0.5).event(0)], &Ledger::default())
    };
    let two = said(5, Colluders::AtMost(2));
    let text = two.sentence();
    assert!(text.starts_with("EXACT: "), "{text}");
    let condition =
        "holds against any 2 of the other 4 agents together, if the rest run this program";
    assert_eq!(two.joint.as_ref().unwrap().condition.as_deref(), Some(condition));
    assert!(text.contains(condition) && !text.contains("against anybody"), "{text}");
    assert!(text.contains("X25519") && text.contains("Whatever the others do"), "{text}");
    assert!(text.contains("If 0, 1, 2, 3, 4 of the other agents collude"), "{text}");
    assert!(two.in_plain_words().contains("any 2 of the other 4 agents together"));
    assert_eq!(two.headline(), "Privacy: exact guarantee, on a condition");
    // One, none, and everybody.
    assert!(said(5, Colluders::AtMost(1)).sentence().contains("any one of the other 4 agents"));
    let nobody = said(5, Colluders::AtMost(0));
    assert!(nobody.sentence().contains("outsiders only, if all 5 agents run this program"));
    assert!(nobody.in_plain_words().contains("outsiders, who are none of the agents"));
    let all = said(5, Colluders::All);
    let today = stated(&[Event::discrete_gaussian(1e-3, 2e-3, 10, 1)], &Ledger::default());
    let words = |said: &Statement| {
        let letters = |c: char| !(c.is_ascii_digit() || c == '.');
        said.sentence().chars().filter(|c| letters(*c)).collect::<String>()
    };
    assert_eq!(words(&all), words(&today), "today's wording");
    assert_eq!(all.headline(), today.headline());
    let joint = all.joint.unwrap();
    assert_eq!((joint.colluders, joint.condition), (Colluders::All, None));
    assert_eq!(joint.epsilon_if_colluding, vec![all.epsilon_exact.unwrap(); 5]);
    assert_eq!(joint.epsilon_unconditional, all.epsilon_exact);
    // Many agents: a few numbers of fifty.
    let many = said(50, Colluders::AtMost(5)).sentence();
    assert!(many.contains("If 5, 24, 49 of the other agents collude in truth"), "{many}");
}

#[test]
fn a_joint_statement_is_written_with_its_names_and_others_without() {
    let event = equal(4, Colluders::AtMost(1), 0.5).event(0);
    let said = stated(&[event; 3], &Ledger::default());
    let json = serde_json::to_value(&said).unwrap();
    assert_eq!(json["colluders"], 1);
    assert_eq!(json["epsilon_if_colluding"].as_array().unwrap().len(), 4);
    assert!(json["condition"].is_string() && json["epsilon_unconditional"].is_number());
    assert!(json["planned_epsilon"].is_number());
    assert_eq!(serde_json::from_value::<Statement>(json).unwrap(), said);
    let plain = stated(&[Event::discrete_gaussian(1.0, 9.0, 3, 1)], &Ledger::default());
    let json = serde_json::to_value(&plain).unwrap();
    for name in ["condition", "colluders", "epsilon_if_colluding", "epsilon_unconditional"] {
        assert!(json.get(name).is_none(), "{name}");
    }
    assert_eq!(serde_json::from_value::<Statement>(json).unwrap(), plain);
    // All agents together: the largest numbers, the condition once.
    let louder = stated(&[event; 2], &Ledger::default());
    let together = Statement::together([&said, &louder, &plain]);
    let joint = together.joint.clone().unwrap();
    assert_eq!(joint.condition, said.joint.clone().unwrap().condition);
    assert_eq!(joint.epsilon_if_colluding, said.joint.clone().unwrap().epsilon_if_colluding);
    let alone = said.joint.unwrap().epsilon_unconditional.unwrap();
    assert_eq!(joint.epsilon_unconditional, Some(alone.max(plain.epsilon_exact.unwrap())));
}

#[test]
fn the_life_of_the_data_names_the_conditions_of_all_runs_and_the_total_without() {
    let header = Header {
        ledger: LEDGER_FORMAT,
        id: RunId::default(),
        dataset: "rows".into(),
        budget: None,
    };
    let mut ledger = Ledger::new(header);
    let earlier = equal(5, Colluders::AtMost(2), 0.2).event(0);
    let now = equal(9, Colluders::AtMost(3), 0.1).event(0);
    ledger.charge(in_round(earlier, 1, [9; 16].into())).unwrap();
    ledger.charge(in_round(now, 1, RunId::default())).unwrap();
    let said = stated(&[now], &ledger);
    assert_eq!(said.lifetime_conditions.len(), 2);
    let total = gaussian::epsilon(DELTA, (0.04f64 + 0.01).sqrt());
    assert!((said.epsilon_lifetime.unwrap() / total - 1.0).abs() < 1e-6);
    // Three of five and six of nine shares are others'.
    let alone = gaussian::epsilon(DELTA, (0.04f64 * 3.0 + 0.01 * 6.0).sqrt());
    assert!((said.epsilon_lifetime_unconditional.unwrap() / alone - 1.0).abs() < 1e-6);
    assert!(said.epsilon_lifetime_unconditional.unwrap() >= ledger.epsilon_unconditional(DELTA));
    let text = said.sentence();
    assert!(text.contains("it holds against any 2 of the other 4 agents together"), "{text}");
    assert!(text.contains("it holds against any 3 of the other 8 agents together"), "{text}");
    assert!(text.contains("whatever other agents do"), "{text}");
}

#[test]
fn a_seeded_joint_run_names_its_condition_too() {
    let event = equal(5, Colluders::AtMost(2), 0.5).event(0);
    let said = stated(&[event], &Ledger::default());
    let seeded = said.with(vec![Statement::SEEDED.into()], vec![]);
    assert_eq!(seeded.claim, Claim::None);
    let text = seeded.sentence();
    assert!(text.starts_with("NONE: the run is seeded"), "{text}");
    assert!(text.contains(", which holds against any 2 of the other 4 agents together"), "{text}");
}
