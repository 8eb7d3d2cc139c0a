//! Random charges, replays and tampering: the ledger never under-counts.

use dzoa_privacy::{Accountant, Budget, Entry, Event, ExactGaussian, Header, Ledger, Refused};
use proptest::prelude::*;

fn header(epsilon: f64) -> Header {
    let budget = Some(Budget { epsilon, delta: 1e-6 });
    Header { ledger: 1, data: "digest".into(), key: "key".into(), budget }
}

fn event(multiplier: f64) -> Event {
    Event::discrete_gaussian(1.0, multiplier, 5, 2)
}

fn lines(ledger: &Ledger) -> Vec<String> {
    ledger.entries().iter().map(|entry| serde_json::to_string(entry).unwrap()).collect()
}

fn parse(lines: &[String]) -> Option<Vec<Entry>> {
    lines.iter().map(|line| serde_json::from_str(line).ok()).collect()
}

proptest! {
    #[test]
    fn no_order_of_charges_spends_more_than_the_budget(multipliers in prop::collection::vec(1.0..60.0f64, 1..60)) {
        let mut ledger = Ledger::new(header(2.0));
        let mut refused = 0;
        for multiplier in &multipliers {
            let before = (ledger.entries().len(), ledger.head());
            match ledger.charge(event(*multiplier), "charge") {
                Ok(_) => prop_assert_eq!(ledger.entries().len(), before.0 + 1),
                Err(Refused::Budget { would, .. }) => {
                    refused += 1;
                    prop_assert!(would > 2.0);
                    prop_assert_eq!((ledger.entries().len(), ledger.head()), before, "a refusal changes nothing");
                }
                Err(other) => prop_assert!(false, "{other}"),
            }
            prop_assert!(ledger.epsilon(1e-6) <= 2.0);
        }
        prop_assert_eq!(ledger.entries().len() + refused, multipliers.len());
        // Independently: compose what was accepted.
        let mut account = ExactGaussian::default();
        for entry in ledger.entries() {
            account.compose(&entry.event).unwrap();
        }
        prop_assert_eq!(account.epsilon(1e-6), ledger.epsilon(1e-6));
    }

    #[test]
    fn a_crash_after_any_entry_replays_to_what_was_spent(multipliers in prop::collection::vec(5.0..60.0f64, 1..20), cut in 0usize..20) {
        let mut ledger = Ledger::new(header(50.0));
        let mut spent = vec![0.0];
        for multiplier in &multipliers {
            ledger.charge(event(*multiplier), "charge").unwrap();
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
            ledger.charge(event(20.0 + f64::from(round)), &format!("round {round}")).unwrap();
        }
        let mut text = lines(&ledger).join("\n").into_bytes();
        let at = at % text.len();
        prop_assume!(text[at] != byte && text[at] != b'\n');
        text[at] = byte;
        let changed: Vec<String> = String::from_utf8(text).unwrap().lines().map(String::from).collect();
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
            ledger.charge(event(20.0 + f64::from(round)), "").unwrap();
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
    assert!(Ledger::new(header(50.0)).charge(nominal, "").is_err());
    let mut free = Ledger::default();
    free.charge(nominal, "").unwrap();
    assert_eq!(free.epsilon(1e-6), f64::INFINITY);
    // A release that this accountant cannot price is not counted as free.
    let mut sampled = Ledger::default();
    let event = Event::SubsampledGaussian { sensitivity: 1.0, sigma: 5.0, batch: 1, samples: 9 };
    sampled.charge(event, "").unwrap();
    assert_eq!(sampled.epsilon(1e-6), f64::INFINITY);
}
