use super::words::{factor, printed};
use super::*;
use crate::{Begin, Header, Hex, LEDGER_FORMAT, Query};
use proptest::prelude::*;

const DELTA: f64 = 1e-5;
const RUN: RunId = Hex([7; 16]);
const EARLIER: RunId = Hex([1; 16]);

fn facts<'a>(ledger: &'a Ledger, planned: &'a [Event]) -> Facts<'a> {
    let earlier_runs = EarlierRuns::Counted;
    let (void, rests_on) = (Vec::new(), Vec::new());
    Facts { ledger, run: RUN, planned, delta: DELTA, earlier_runs, void, rests_on }
}

fn long_lived(budget: Option<Budget>) -> Ledger {
    let header =
        Header { ledger: LEDGER_FORMAT, id: Hex([3; 16]), dataset: "patients".into(), budget };
    Ledger::new(header)
}

fn charge(ledger: &mut Ledger, run: RunId, events: &[Event]) {
    for (round, event) in events.iter().enumerate() {
        ledger.charge(Query { run, ..event.query(round as u64 + 1) }).unwrap();
    }
}

fn epsilon(events: &[Event]) -> f64 {
    exact_total(events, DELTA)
}

const STEP: Event = Event::Gaussian { sensitivity: 1.0, sigma: 10.0 };

#[test]
fn a_run_that_ends_early_states_its_plan() {
    // Balle and Wang's formula, in closed form: four releases at mu 1/10 are one at mu 1/5.
    let plan = gaussian::epsilon(DELTA, 0.2);
    for done in 0..=4 {
        let mut ledger = Ledger::default();
        charge(&mut ledger, RUN, &[STEP; 4][..done]);
        let said = Statement::new(&facts(&ledger, &[STEP; 4]));
        assert!((said.epsilon_exact.unwrap() / plan - 1.0).abs() < 1e-9, "{done}");
        assert_eq!(said.epsilon_exact, said.planned_epsilon);
        assert_eq!(said.epsilon_charged, Some(ledger.epsilon(DELTA)));
        assert_eq!(said.sentence().contains("the run ended before"), done < 4, "{done}");
    }
}

#[test]
fn a_round_that_was_made_anew_is_counted_beside_the_plan() {
    let mut ledger = Ledger::default();
    charge(&mut ledger, RUN, &[STEP; 2]);
    // Round 2 again, from other inputs: two of four rounds are left to come.
    let again = Query { run: RUN, inputs: [9; 32].into(), ..STEP.query(2) };
    ledger.charge(again).unwrap();
    let said = Statement::new(&facts(&ledger, &[STEP; 4]));
    assert_eq!(said.epsilon_exact, Some(epsilon(&[STEP; 5])));
    assert_eq!(said.planned_epsilon, Some(epsilon(&[STEP; 4])));
}

#[test]
fn what_earlier_runs_charged_is_said() {
    let mut ledger = long_lived(Some(Budget { epsilon: 3.0, delta: DELTA }));
    charge(&mut ledger, EARLIER, &[STEP; 12]);
    charge(&mut ledger, RUN, &[STEP; 4]);
    let said = Statement::new(&facts(&ledger, &[STEP; 4]));
    assert_eq!(said.epsilon_exact, Some(epsilon(&[STEP; 4])));
    assert_eq!(said.epsilon_lifetime, Some(epsilon(&[STEP; 16])));
    let life = printed(said.epsilon_lifetime);
    let text = said.sentence();
    assert!(
        text.contains(&format!("of earlier runs, it is epsilon {life} of at most 3 ")),
        "{text}"
    );
}

#[test]
fn an_earlier_release_without_a_guarantee_takes_the_one_over_the_life_of_the_data_away() {
    for spoiling in [Event::Unprotected, Event::Nominal { epsilon: 0.1, delta: DELTA }] {
        let mut ledger = long_lived(None);
        charge(&mut ledger, EARLIER, &[spoiling]);
        charge(&mut ledger, RUN, &[STEP; 4]);
        let said = Statement::new(&facts(&ledger, &[STEP; 4]));
        assert_eq!(said.claim, Claim::Exact, "this run has its guarantee");
        assert_eq!(said.epsilon_lifetime, None);
        assert!(said.sentence().contains("Over the life of the data NOTHING is promised"));
    }
}

#[test]
fn without_a_ledger_nothing_is_said_about_the_life_of_the_data() {
    let mut ledger = Ledger::default();
    charge(&mut ledger, RUN, &[STEP; 4]);
    let earlier_runs = EarlierRuns::NotCounted;
    let said = Statement::new(&Facts { earlier_runs, ..facts(&ledger, &[STEP; 4]) });
    assert_eq!(said.epsilon_lifetime, None);
    let text = said.sentence();
    assert!(text.contains("what earlier runs released about the same rows is not counted"));
}

#[test]
fn a_weaker_claim_is_never_blurred() {
    let ledger = Ledger::default();
    let seeded = vec![Statement::SEEDED.to_string()];
    let said = Statement::new(&Facts { void: seeded, ..facts(&ledger, &[STEP; 4]) });
    assert_eq!(said.claim, Claim::None);
    assert!(said.sentence().starts_with("NONE: the run is seeded"), "{}", said.sentence());
    let nominal = [Event::Nominal { epsilon: 0.15, delta: 1e-3 }; 200];
    let paper = Statement::new(&Facts { delta: 1e-3, ..facts(&ledger, &nominal) });
    // The paper's Theorem 2 for its own example.
    assert_eq!(paper.epsilon_theorem2, Some(calibrate::theorem2_epsilon(0.15, 1e-3, 200)));
    let text = paper.sentence();
    assert!(text.starts_with("NOMINAL: epsilon 0.150 per round"), "{text}");
    assert!(text.contains("is not a guarantee") && !text.contains("EXACT"), "{text}");
    let exact = Statement::new(&facts(&ledger, &[STEP; 4]));
    let open = Statement::new(&facts(&ledger, &[Event::Unprotected; 4]));
    for (both, claim) in [([&exact, &open], Claim::None), ([&paper, &exact], Claim::Nominal)] {
        assert_eq!(Statement::together(both).claim, claim, "the weakest speaks for all");
    }
    // What has no price is no guarantee.
    let unknown = Event::SubsampledGaussian { sensitivity: 1.0, sigma: 1.0, batch: 1, samples: 9 };
    assert_eq!(Statement::new(&facts(&ledger, &[unknown])).claim, Claim::None);
}

#[test]
fn conditions_are_part_of_the_sentence() {
    let ledger = Ledger::default();
    let rests_on = vec![Statement::ROWS_DROPPED.into(), Statement::TRUSTED_SOLVER.into()];
    let said = Statement::new(&Facts { rests_on, ..facts(&ledger, &[STEP]) });
    let both = Statement::together([&said, &said]).sentence();
    assert_eq!(both.matches("schema.on_missing = \"drop\"").count(), 1, "{both}");
    assert!(both.contains("One solver is trusted with the rows of all agents"), "{both}");
}

#[test]
fn numbers_are_printed_rounded_up() {
    for (value, text) in
        [(1.1494, "1.150"), (1.1, "1.100"), (8.0, "8.000"), (7.999_903, "8.000"), (1e-9, "0.001")]
    {
        assert_eq!(printed(Some(value)), text);
    }
    assert_eq!(factor(2.711), "2.72");
}

/// A sum over five agents that draw once each.
fn joint_sum(sensitivity: f64, colluders: u32) -> Event {
    Event::JointSum {
        sensitivity,
        share: 9.0,
        step: 9.0 * 2f64.powi(-32),
        coordinates: 3,
        multiples: 1,
        honest: 5 - u64::from(colluders),
        least: 1,
        agents: 5,
        colluders,
        context: Default::default(),
    }
}

/// Every mechanism's kind of release.
fn event() -> impl Strategy<Value = Event> {
    let size = 0.01..2.0f64;
    prop_oneof![
        size.clone().prop_map(|s| Event::Gaussian { sensitivity: s, sigma: 4.0 }),
        (size.clone(), 1usize..40).prop_map(|(s, n)| Event::discrete_gaussian(s, 9.0, n, n)),
        (size.clone(), 0u32..5).prop_map(|(s, colluders)| joint_sum(s, colluders)),
        size.clone().prop_map(|epsilon| Event::Pure { epsilon: 0.1 * epsilon }),
        size.clone().prop_map(|s| Event::laplace(0.1 * s, 1.0, 3)),
        size.clone().prop_map(|s| Event::spherical_laplace(0.1 * s, 1.0, 3)),
        size.prop_map(|s| Event::ObjectivePerturbation {
            gradient: 0.1 * s,
            scale: 1.0,
            log_determinant: 0.01,
            tolerance: 1e-9,
            output_scale: 1e-6,
            coordinates: 3,
        }),
    ]
}

proptest! {
    /// A run is a plan and a point at which it ends, for whatever reason: before the first round,
    /// after the last, or between, with rounds that a restart made anew; on a ledger with earlier
    /// runs.
    #[test]
    fn what_is_printed_is_never_below_the_filter_or_the_plan(
        planned in prop::collection::vec(event(), 1..12),
        earlier in prop::collection::vec(event(), 0..5),
        share in 0.0..=1.0f64,
        anew in prop::collection::vec(any::<prop::sample::Index>(), 0..3),
    ) {
        let done = (share * planned.len() as f64).round() as usize;
        let (mut all, mut own) = (long_lived(None), Ledger::default());
        all.begin(Begin { run: RUN, rows: [0; 32].into(), planned: None, note: "run".into() });
        charge(&mut all, EARLIER, &earlier);
        for ledger in [&mut all, &mut own] {
            charge(ledger, RUN, &planned[..done]);
            for (which, index) in anew.iter().enumerate().filter(|_| done > 0) {
                let round = index.index(done);
                let inputs = [which as u8 + 1; 32].into();
                let event = planned[round];
                let query = Query { run: RUN, inputs, ..event.query(round as u64 + 1) };
                ledger.charge(query).unwrap();
            }
        }
        let said = Statement::new(&facts(&all, &planned));
        prop_assert_eq!(said.claim, Claim::Exact);
        let stated = said.epsilon_exact.unwrap();
        // The filter may order sums differently.
        let rounding = 1.0 - 1e-12;
        prop_assert!(stated >= own.epsilon(DELTA) * rounding);
        prop_assert!(stated >= epsilon(&planned) * rounding);
        prop_assert!(said.epsilon_lifetime.unwrap() >= all.epsilon(DELTA));
        prop_assert!(said.epsilon_lifetime.unwrap() >= stated);
        let text = said.sentence();
        let shown = text.split_once("together are (").unwrap().1.split_once(',').unwrap().0;
        prop_assert!(shown.parse::<f64>().unwrap() >= stated, "{}", text);
        let life = text.split_once("of earlier runs, it is epsilon ").unwrap().1;
        let life = life.split(',').next().unwrap().trim_end_matches('.').parse::<f64>().unwrap();
        prop_assert!(life >= all.epsilon(DELTA), "{}", text);
        // Joint sums among them: worth less without others, and said so.
        let conditional = planned.iter().any(|event| event.condition().is_some());
        prop_assert_eq!(text.contains("Whatever the others do"), conditional, "{}", text);
        if let Some(joint) = &said.joint {
            let alone = joint.epsilon_unconditional.unwrap();
            prop_assert!(alone >= own.epsilon_unconditional(DELTA) * rounding);
            prop_assert!(alone >= stated * rounding);
            let profile = &joint.epsilon_if_colluding;
            prop_assert!(profile.windows(2).all(|pair| pair[0] <= pair[1] * (1.0 + 1e-12)));
            let life = said.epsilon_lifetime_unconditional.unwrap_or(f64::INFINITY);
            prop_assert!(life >= all.epsilon_unconditional(DELTA));
        }
    }
}
