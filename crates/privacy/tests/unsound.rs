//! What is no number, negative or infinite never passes as a price or under a budget.

use dzoa_privacy::{
    Accountant, Budget, ChargeRefused, Claim, Event, ExactGaussian, Header, LEDGER_FORMAT, Ledger,
    Renyi, RunId, Theorem2, ZeroConcentrated,
};

/// One event of each kind, all of its numbers in a row.
type Make = fn(&[f64]) -> Event;

/// Every kind of event, and numbers with which it is sound.
fn kinds() -> Vec<(Make, Vec<f64>)> {
    let objective: Make = |x| Event::ObjectivePerturbation {
        gradient: x[0],
        scale: x[1],
        log_determinant: x[2],
        tolerance: x[3],
        output_scale: x[4],
        coordinates: 3,
    };
    let discrete: Make = |x| Event::DiscreteGaussian {
        sensitivity: x[0],
        sigma: x[1],
        step: x[2],
        coordinates: 3,
        count: 2,
    };
    let drawn: Make =
        |x| Event::SubsampledGaussian { sensitivity: x[0], sigma: x[1], batch: 2, samples: 100 };
    let joint: Make = |x| Event::JointSum {
        sensitivity: x[0],
        share: x[1],
        step: x[2],
        coordinates: 3,
        multiples: 2,
        honest: 4,
        least: 1,
        agents: 5,
        colluders: 2,
        context: [1; 32].into(),
    };
    vec![
        (joint, vec![1.0, 50.0, 1e-6]),
        (|x| Event::Gaussian { sensitivity: x[0], sigma: x[1] }, vec![1.0, 50.0]),
        (discrete, vec![1.0, 50.0, 1e-6]),
        (|x| Event::Pure { epsilon: x[0] }, vec![0.1]),
        (|x| Event::Laplace { sensitivity: x[0], scale: x[1], coordinates: 3 }, vec![1.0, 50.0]),
        (
            |x| Event::SphericalLaplace { sensitivity: x[0], scale: x[1], coordinates: 3 },
            vec![1.0, 50.0],
        ),
        (objective, vec![0.1, 50.0, 0.01, 1e-6, 1.0]),
        (drawn, vec![1.0, 50.0]),
        (|x| Event::Nominal { epsilon: x[0], delta: x[1] }, vec![0.1, 1e-6]),
    ]
}

/// Every kind of event with each of its numbers spoilt in turn.
fn unsound() -> Vec<Event> {
    let mut events = Vec::new();
    for (make, sound) in kinds() {
        for place in 0..sound.len() {
            for bad in [f64::NAN, -f64::NAN, -1.0, -1e-300, f64::INFINITY, f64::NEG_INFINITY] {
                let mut numbers = sound.clone();
                numbers[place] = bad;
                events.push(make(&numbers));
            }
        }
    }
    events.extend(impossible_sums());
    events
}

/// Joint sums that count on more than is there.
fn impossible_sums() -> Vec<Event> {
    let sum = |multiples, honest, least, [agents, colluders]: [u32; 2]| Event::JointSum {
        sensitivity: 1.0,
        share: 50.0,
        step: 1e-6,
        coordinates: 3,
        multiples,
        honest,
        least,
        agents,
        colluders,
        context: [1; 32].into(),
    };
    assert!(sum(2, 4, 1, [5, 2]).is_sound());
    let coarse = Event::JointSum {
        sensitivity: 1.0,
        share: 1.0,
        // The sum of draws on so coarse a grid is not proven to be one draw.
        step: 0.1,
        coordinates: 3,
        multiples: 2,
        honest: 4,
        least: 1,
        agents: 5,
        colluders: 2,
        context: [1; 32].into(),
    };
    vec![
        coarse,
        // Nobody draws; the agent draws less than everybody; fewer are honest than must be.
        sum(0, 4, 0, [5, 2]),
        sum(1, 4, 2, [5, 2]),
        sum(2, 3, 1, [5, 2]),
        // The protected agent colludes; there is nobody; numbers that overflow.
        sum(2, 4, 1, [5, 5]),
        sum(2, 4, 1, [0, 0]),
        sum(2, 4, 1, [5, u32::MAX]),
        sum(u32::MAX, u64::from(u32::MAX), u32::MAX, [u32::MAX, 0]),
    ]
}

fn costs_everything_or_is_refused<A: Accountant + Default>(event: &Event) {
    let mut account = A::default();
    if account.compose(event).is_ok() {
        for delta in [0.0, 1e-300, 1e-5, 0.5] {
            assert_eq!(account.epsilon(delta), f64::INFINITY, "{event:?} at {delta}");
        }
    }
}

fn ledger(epsilon: f64, delta: f64) -> Ledger {
    let budget = Some(Budget { epsilon, delta });
    let (ledger, id, dataset) = (LEDGER_FORMAT, RunId::default(), String::new());
    Ledger::new(Header { ledger, id, dataset, budget })
}

#[test]
fn an_event_with_a_number_that_is_none_costs_everything() {
    for event in unsound() {
        costs_everything_or_is_refused::<ExactGaussian>(&event);
        costs_everything_or_is_refused::<ZeroConcentrated>(&event);
        costs_everything_or_is_refused::<Renyi>(&event);
        assert!(Theorem2::default().compose(&event).is_err(), "{event:?}");
        assert_eq!(event.claim(), Claim::None, "{event:?}");
        assert!(ledger(1e300, 1e-5).charge(event.query(1)).is_err(), "{event:?} within a budget");
        let mut free = Ledger::default();
        free.charge(event.query(1)).unwrap();
        assert_eq!(free.epsilon(1e-5), f64::INFINITY, "{event:?}");
    }
    // The same events, sound: nothing above was refused for another reason.
    for (make, numbers) in kinds() {
        assert!(make(&numbers).is_sound());
    }
}

#[test]
fn no_charge_passes_a_budget_that_is_no_number() {
    let event = Event::Pure { epsilon: 1e-9 };
    for (epsilon, delta) in [(f64::NAN, 1e-5), (f64::NAN, f64::NAN), (-1.0, 1e-5)] {
        let refused = ledger(epsilon, delta).charge(event.query(1));
        assert!(matches!(refused, Err(ChargeRefused::Budget { .. })), "{epsilon} {delta}");
    }
    let gaussian = Event::Gaussian { sensitivity: 1e-9, sigma: 1.0 };
    for delta in [f64::NAN, 0.0, -1e-5, f64::NEG_INFINITY] {
        assert!(ledger(1e300, delta).charge(gaussian.query(1)).is_err(), "delta {delta}");
    }
}

#[test]
fn at_delta_zero_pure_events_cost_their_sum_and_all_others_everything() {
    let total = |events: &[Event]| {
        let mut account = ExactGaussian::default();
        events.iter().for_each(|event| account.compose(event).unwrap());
        account.epsilon(0.0)
    };
    let pure = Event::Pure { epsilon: 0.25 };
    let sum = total(&[pure, pure]);
    assert!((0.5..0.5 + 1e-14).contains(&sum), "{sum}");
    for event in [
        Event::Unprotected,
        Event::Gaussian { sensitivity: 1e-6, sigma: 1e6 },
        Event::discrete_gaussian(1e-6, 1e6, 1, 1),
    ] {
        assert_eq!(total(&[event]), f64::INFINITY, "{event:?}");
        assert_eq!(total(&[pure, event]), f64::INFINITY, "{event:?} after a pure one");
    }
    // No vectors, even without noise, are no release.
    let none = Event::DiscreteGaussian {
        sensitivity: 1.0,
        sigma: 0.0,
        step: 0.0,
        coordinates: 1,
        count: 0,
    };
    assert_eq!(total(&[none]), 0.0);
}
