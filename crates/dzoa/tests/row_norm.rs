//! Rows that are divided by one public number: the constant stays constant, and no claim that rests
//! on their bound is smaller than what an adversary's rows do.

use dzoa::guarantee::{BudgetTarget, c1};
use dzoa::plan::OutputQuery;
use dzoa::prelude::*;
use dzoa::privacy::calibrate::Schedule;
use dzoa::worst_case::{Attacked, of_output};
use proptest::prelude::*;
use std::sync::Arc;

const FEATURES: usize = 3;

/// Rows with a constant of 1 behind them; a row of zeros has none, as one without a target.
fn rows(values: &[[f64; FEATURES]]) -> Rows {
    let row = |values: &[f64; FEATURES]| {
        let constant = if *values == [0.0; FEATURES] { 0.0 } else { 1.0 };
        [&values[..], &[constant]].concat()
    };
    Rows::dense(FEATURES + 1, values.iter().flat_map(row).collect()).unwrap()
}

fn entries(rows: &Rows, row: usize) -> Vec<f64> {
    let mut entries = vec![0.0; rows.width()];
    rows.visit(row, |column, value| entries[column] = value);
    entries
}

proptest! {
    #[test]
    fn the_constant_stays_constant_and_only_longer_features_are_cut(
        values in prop::collection::vec(prop::array::uniform3(-1.0..1.0_f64), 1..20),
        row_norm in 0.05..8.0_f64,
        sparse: bool,
    ) {
        let given = rows(&values);
        let given = if sparse { given.to_sparse() } else { given };
        let (scaled, cut) = given.clone().over_row_norm(row_norm, true);
        let bound = scaled.norm_bound().unwrap();
        prop_assert!((bound - (1.0 + row_norm.powi(-2)).sqrt()).abs() <= 4.0 * f64::EPSILON * bound);
        let mut longer = 0;
        for (row, values) in values.iter().enumerate() {
            let found = entries(&scaled, row);
            let length = values.iter().map(|v| v * v).sum::<f64>().sqrt() / row_norm;
            longer += usize::from(length > 1.0);
            let shrink = length.max(1.0) * row_norm;
            for (found, value) in found.iter().zip(values) {
                prop_assert!((found - value / shrink).abs() < 1e-14);
            }
            prop_assert_eq!(found[FEATURES], 1.0 / row_norm);
            // What rounding adds is counted by c1.
            prop_assert!(scaled.norm(row) <= bound * (1.0 + 12.0 * f64::EPSILON));
        }
        prop_assert_eq!(cut, longer);
    }
}

#[test]
fn a_row_without_a_target_stays_without_a_constant() {
    for rows in [rows(&[[0.0; FEATURES]]), rows(&[[0.0; FEATURES]]).to_sparse()] {
        let (scaled, cut) = rows.over_row_norm(0.5, true);
        assert_eq!((entries(&scaled, 0), cut), (vec![0.0; FEATURES + 1], 0));
    }
}

/// c1 is 1 times the bound for the logistic loss, and an adversary's rows move the exact update
/// nearly as far as is claimed, and never farther.
#[test]
fn a_claim_holds_the_constant_column_and_is_not_much_too_large() {
    for row_norm in [0.4, 1.0, 3.0] {
        let agent = |sign: f64| {
            let values: Vec<[f64; FEATURES]> =
                (0..12).map(|i| [0.1 * f64::from(i), sign * 0.3, -0.05 * f64::from(i)]).collect();
            let targets = (0..12).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect();
            let (rows, _) = rows(&values).over_row_norm(row_norm, true);
            Arc::new(Samples::new(rows, targets).unwrap())
        };
        let problem = Problem {
            loss: Arc::new(Logistic),
            regularizer: Regularizer::L2,
            eta: 0.05,
            scale: Scale::Mean,
            intercept: true,
            agents: vec![agent(1.0), agent(-1.0)],
        };
        let public = problem.public();
        let bound = (1.0 + row_norm.powi(-2)).sqrt();
        let slope = c1(&public, 0).unwrap();
        assert!(slope >= bound && slope <= bound * (1.0 + 1e-12), "{slope} {bound}");
        let query = OutputQuery { problem: &public, k: 0, rho: 0.5, neighbourhood: 2, rounds: 3 };
        let target = BudgetTarget {
            total_epsilon: 8.0,
            delta: 1e-5,
            schedule: Schedule::Constant,
            rows_per_person: 1,
        };
        let charges = query.charges(None, &target).unwrap();
        let attacked = Attacked { problem: &problem, k: 0, rows_per_person: 1 };
        let found = of_output(&attacked, &charges.events[0], 1.0, None, charges.tau).unwrap();
        assert!(found.holds(), "{row_norm}: {found:?}");
        assert!(found.moved >= 0.7 * found.claimed, "{row_norm}: {found:?}");
    }
}
