//! Random charges, replays and tampering: the ledger never under-counts.

use dzoa_privacy::{
    Accountant, Begin, Budget, ChargeRefused, Entry, Event, ExactGaussian, Header, LEDGER_FORMAT,
    Ledger, Query, RunId, Seen,
};
use proptest::prelude::*;

fn header(epsilon: f64) -> Header {
    let budget = Some(Budget { epsilon, delta: 1e-6 });
    Header { ledger: LEDGER_FORMAT, id: [3; 16].into(), dataset: "rows".into(), budget }
}

fn event(multiplier: f64) -> Event {
    Event::discrete_gaussian(1.0, multiplier, 5, 2)
}

/// The next round's query.
fn next(ledger: &Ledger, multiplier: f64) -> Query {
    event(multiplier).query(ledger.entries().len() as u64 + 1)
}

fn lines(ledger: &Ledger) -> Vec<String> {
    ledger.entries().iter().map(|entry| serde_json::to_string(entry).unwrap()).collect()
}

fn parse(lines: &[String]) -> Option<Vec<Entry>> {
    lines.iter().map(|line| serde_json::from_str(line).ok()).collect()
}

proptest! {
    #[test]
    fn no_order_of_charges_spends_more_than_the_budget(
        multipliers in prop::collection::vec(1.0..60.0f64, 1..60),
    ) {
        let mut ledger = Ledger::new(header(2.0));
        let mut refused = 0;
        for multiplier in &multipliers {
            let before = (ledger.entries().len(), ledger.head());
            match ledger.charge(next(&ledger, *multiplier)) {
                Ok(_) => prop_assert_eq!(ledger.entries().len(), before.0 + 1),
                Err(ChargeRefused::Budget { would, .. }) => {
                    refused += 1;
                    prop_assert!(would > 2.0);
                    let after = (ledger.entries().len(), ledger.head());
                    prop_assert_eq!(after, before, "a refusal changes nothing");
                }
                Err(other) => prop_assert!(false, "{other}"),
            }
            prop_assert!(ledger.epsilon(1e-6) <= 2.0);
        }
        prop_assert_eq!(ledger.entries().len() + refused, multipliers.len());
        // Independently: compose what was accepted.
        let mut account = ExactGaussian::default();
        for charge in ledger.charges() {
            account.compose(&charge.event).unwrap();
        }
        prop_assert_eq!(account.epsilon(1e-6), ledger.epsilon(1e-6));
    }

    #[test]
    fn a_crash_after_any_entry_replays_to_what_was_spent(
        multipliers in prop::collection::vec(5.0..60.0f64, 1..20),
        cut in 0usize..20,
    ) {
        let mut ledger = Ledger::new(header(50.0));
        let mut spent = vec![0.0];
        for multiplier in &multipliers {
            ledger.charge(next(&ledger, *multiplier)).unwrap();
            spent.push(ledger.epsilon(1e-6));
        }
        let cut = cut.min(multipliers.len());
        let entries = parse(&lines(&ledger)[..cut]).unwrap();
        let replayed = Ledger::replay(header(50.0), entries).unwrap();
        prop_assert_eq!(replayed.epsilon(1e-6), spent[cut]);
    }

    #[test]
    fn a_changed_byte_is_found(at in 0usize..4000, byte in 0x20u8..0x7f) {
        let mut ledger = Ledger::new(header(50.0));
        for round in 0..8 {
            ledger.charge(next(&ledger, 20.0 + f64::from(round))).unwrap();
        }
        let mut text = lines(&ledger).join("\n").into_bytes();
        let at = at % text.len();
        prop_assume!(text[at] != byte && text[at] != b'\n');
        text[at] = byte;
        let text = String::from_utf8(text).unwrap();
        let changed: Vec<String> = text.lines().map(String::from).collect();
        // Either the line is no longer an entry, or the chain does not fit.
        if let Some(entries) = parse(&changed) {
            let same = entries == ledger.entries();
            prop_assert!(same || Ledger::replay(header(50.0), entries).is_err());
        }
    }

    #[test]
    fn a_missing_or_moved_entry_is_found(first in 0usize..7, second in 0usize..7) {
        let mut ledger = Ledger::new(header(50.0));
        for round in 0..8 {
            ledger.charge(next(&ledger, 20.0 + f64::from(round))).unwrap();
        }
        let mut removed = ledger.entries().to_vec();
        removed.remove(first);
        prop_assert!(Ledger::replay(header(50.0), removed).is_err());
        if first != second {
            let mut moved = ledger.entries().to_vec();
            moved.swap(first, second);
            prop_assert!(Ledger::replay(header(50.0), moved).is_err());
        }
        // Another header is another ledger.
        prop_assert!(Ledger::replay(header(51.0), ledger.entries().to_vec()).is_err());
    }
}

#[test]
fn a_nominal_release_has_no_price_and_is_refused_where_a_budget_must_be_kept() {
    let nominal = Event::Nominal { epsilon: 0.1, delta: 1e-6 };
    assert!(Ledger::new(header(50.0)).charge(nominal.query(1)).is_err());
    let mut free = Ledger::default();
    free.charge(nominal.query(1)).unwrap();
    assert_eq!(free.epsilon(1e-6), f64::INFINITY);
    // A release that this accountant cannot price is not counted as free.
    let mut sampled = Ledger::default();
    let event = Event::SubsampledGaussian { sensitivity: 1.0, sigma: 5.0, batch: 1, samples: 9 };
    sampled.charge(event.query(1)).unwrap();
    assert_eq!(sampled.epsilon(1e-6), f64::INFINITY);
}

/// Break 2: two state directories that began at the same entry of one ledger made equal entries,
/// and twelve releases were charged as six.
#[test]
fn two_runs_never_share_a_charge() {
    let mut ledger = Ledger::new(header(50.0));
    let of =
        |run: u8, round: u64| Query { run: RunId::from([run; 16]), ..event(20.0).query(round) };
    for run in 1..=2 {
        for round in 1..=6 {
            ledger.charge(of(run, round)).unwrap();
        }
    }
    assert_eq!(ledger.charges().count(), 12);
    assert_eq!(ledger.events_of([1; 16].into()).count(), 6);
    assert_eq!(ledger.last_round([2; 16].into()), 6);
}

/// Break 1: a second release of a round from other inputs counted as already charged.
#[test]
fn a_round_made_anew_from_other_inputs_is_charged_anew_and_the_same_round_again_is_not() {
    let mut ledger = Ledger::new(header(50.0));
    let first = event(20.0).query(1);
    let other = Query { inputs: [9; 32].into(), ..first.clone() };
    for query in [&first, &first, &other, &first, &other] {
        ledger.charge(query.clone()).unwrap();
    }
    let attempts: Vec<u32> = ledger.charges().map(|charge| charge.attempt).collect();
    assert_eq!(attempts, [0, 1]);
}

#[test]
fn a_charge_that_only_the_journal_has_is_taken_in_once() {
    let mut ledger = Ledger::new(header(50.0));
    ledger.charge(event(20.0).query(1)).unwrap();
    let charge = ledger.charges().next().unwrap().clone();
    let mut lost = Ledger::new(header(50.0));
    lost.recover(charge.clone());
    lost.recover(charge.clone());
    assert_eq!(lost.charges().collect::<Vec<_>>(), [&charge]);
}

#[test]
fn a_run_that_does_not_fit_is_refused_as_a_whole() {
    let mut ledger = Ledger::new(header(1.0));
    let plan = vec![event(60.0); 10];
    assert_eq!(ledger.affords(&plan), Ok(()));
    ledger.charge(event(10.0).query(1)).unwrap();
    let large = vec![event(10.0); 10];
    assert!(matches!(ledger.affords(&large), Err(ChargeRefused::Run { would, .. }) if would > 1.0));
    let unpriced = [Event::Nominal { epsilon: 0.1, delta: 1e-6 }];
    assert!(matches!(ledger.affords(&unpriced), Err(ChargeRefused::Unsupported(_))));
}

#[test]
fn a_ledger_that_went_backwards_or_was_replaced_contradicts_what_was_seen() {
    let mut ledger = Ledger::new(header(50.0));
    let at: Vec<Seen> = (0..4)
        .map(|_| {
            ledger.charge(next(&ledger, 20.0)).unwrap();
            ledger.seen()
        })
        .collect();
    assert!(!at[1].contradicts(&at[3]) && !at[1].contradicts(&at[1]));
    assert!(at[3].contradicts(&at[1]), "shorter than it was");
    let forked = Seen { head: [1; 32].into(), ..at[3] };
    assert!(at[3].contradicts(&forked), "as long, with other entries");
    let another = Seen { ledger: [1; 16].into(), ..at[1] };
    assert!(!at[3].contradicts(&another), "another ledger");
    // What was seen of others is part of the chain, and is written down only when it is news.
    assert!(
        ledger.witness("b", at[0]) && !ledger.witness("b", at[0]) && ledger.witness("b", at[2])
    );
    assert_eq!(ledger.witnessed("b", at[2].ledger), Some(at[2]));
    let again = Ledger::replay(header(50.0), ledger.entries().to_vec()).unwrap();
    assert_eq!(again.head(), ledger.head());
    assert_eq!(again.epsilon(1e-6), ledger.epsilon(1e-6));
}

#[test]
fn a_run_begins_once() {
    let mut ledger = Ledger::new(header(50.0));
    let planned = Some(Budget { epsilon: 2.0, delta: 1e-6 });
    let rows = [4; 32].into();
    let begin = Begin { run: [7; 16].into(), rows, planned, note: "study".into() };
    ledger.begin(begin.clone());
    ledger.begin(begin.clone());
    assert_eq!((ledger.entries().len(), ledger.begun([7; 16].into())), (1, Some(&begin)));
    assert_eq!(ledger.epsilon(1e-6), 0.0, "nothing was released yet");
}
