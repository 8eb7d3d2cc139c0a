//! Calibrated noise never overshoots its target and wastes less than a thousandth of it.

use dzoa_privacy::calibrate::{RoundQueries, Schedule, discrete_gaussian_events};
use dzoa_privacy::{Accountant, Budget, Event, ExactGaussian, ZeroConcentrated, gaussian};

#[test]
fn a_budget_is_met_from_below_to_a_thousandth() {
    for epsilon in [0.01, 0.5, 2.0, 8.0, 50.0] {
        for delta in [1e-12, 1e-5, 1e-2] {
            for rounds in [1, 7, 300] {
                for schedule in [Schedule::Constant, Schedule::Growth(1.03), Schedule::Growth(0.9)]
                {
                    for (coordinates, count) in [(1, 1), (10, 1), (30, 20)] {
                        let events = discrete_gaussian_events(
                            0.02,
                            Budget { epsilon, delta },
                            RoundQueries { coordinates, count },
                            rounds,
                            schedule,
                        )
                        .unwrap();
                        assert_eq!(events.len() as u64, rounds);
                        let (mut exact, mut zcdp) =
                            (ExactGaussian::default(), ZeroConcentrated::default());
                        for event in &events {
                            exact.compose(event).unwrap();
                            zcdp.compose(event).unwrap();
                        }
                        let total = exact.epsilon(delta);
                        assert!(total <= epsilon, "{total} overshoots {epsilon}");
                        assert!(total >= 0.999 * epsilon, "{total} wastes of {epsilon}");
                        // Where the grid costs too much, the exact accountant falls back on zCDP.
                        assert!(zcdp.epsilon(delta) * (1.0 + 1e-9) >= total);
                    }
                }
            }
        }
    }
}

#[test]
fn a_budget_below_the_grid_is_refused_and_does_not_hang() {
    let budget = Budget { epsilon: 1e-9, delta: 1e-9 };
    let queries = RoundQueries { coordinates: 1000, count: 1000 };
    let tiny = discrete_gaussian_events(1.0, budget, queries, 1000, Schedule::Constant);
    assert!(tiny.is_none());
}

#[test]
fn a_budget_near_the_grid_gets_the_largest_mu_of_the_ladder_that_is_within_it() {
    // Rounding costs some percent of these budgets, so that many rungs of the ladder are too high.
    let (coordinates, count, sensitivity, delta) = (1000, 30, 1.0, 1e-5);
    let mut rungs = Vec::new();
    let up = |bound: f64| bound * (1.0 + 8.0 * f64::EPSILON);
    for epsilon in [3e-6, 1e-5, 4e-5] {
        let queries = RoundQueries { coordinates, count };
        let budget = Budget { epsilon, delta };
        let found =
            discrete_gaussian_events(sensitivity, budget, queries, 2, Schedule::Constant).unwrap();
        // One rung after the other, as a person would look for it.
        let most = gaussian::mu(epsilon, delta) * (1.0 - 1e-9);
        let (mut mu, mut rung) = (most, 0);
        let expected = loop {
            let sigma = up(sensitivity / (mu * (0.5 / count as f64).sqrt()));
            let event = Event::discrete_gaussian(sensitivity, sigma, coordinates, count);
            let mut total = ExactGaussian::default();
            (0..2).for_each(|_| total.compose(&event).unwrap());
            if total.epsilon(delta) <= epsilon {
                break event;
            }
            (mu, rung) = (mu * (1.0 - 1e-5), rung + 1);
        };
        assert_eq!(found, [expected; 2]);
        rungs.push(rung);
    }
    assert!(rungs.iter().all(|rung| *rung > 100), "{rungs:?}: none of the first");
}

#[test]
fn where_every_rung_is_too_high_the_budget_is_refused() {
    let queries = RoundQueries { coordinates: 1000, count: 30 };
    let refused = |epsilon, delta| {
        let budget = Budget { epsilon, delta };
        discrete_gaussian_events(1.0, budget, queries, 2, Schedule::Constant).is_none()
    };
    assert!(refused(1e-9, 1e-9) && !refused(1e-5, 1e-5));
    assert!(refused(f64::NAN, 1e-5) && refused(1.0, f64::NAN));
}
