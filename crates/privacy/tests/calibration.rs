//! Calibrated noise never overshoots its target and wastes less than a thousandth of it.

use dzoa_privacy::calibrate::{RoundQueries, Schedule, discrete_gaussian_events};
use dzoa_privacy::{Accountant, Budget, ExactGaussian, ZeroConcentrated};

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
