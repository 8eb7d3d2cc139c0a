//! Measures of a fit, against closed forms. python/tests/test_evaluate.py has them against
//! scikit-learn's.

use dzoa::prelude::*;
use dzoa::run::evaluate::{Confusion, Fit};

/// Sums of a few doubles in another order.
const ROUNDING: f64 = 1e-12;

fn close(a: Option<f64>, b: f64) -> bool {
    a.is_some_and(|a| (a - b).abs() <= ROUNDING)
}

#[test]
fn equal_scores_count_half_in_the_area_and_one_class_has_none() {
    // Pairs of (+, -): (2, 1) right, (2, 2) equal, (1, 1) equal, (1, 2) wrong: (1 + 1/2 + 1/2)/4.
    let fit = Fit::new(&Hinge, &[2.0, 1.0, 1.0, 2.0], &[1.0, -1.0, 1.0, -1.0], 1.0);
    assert!(close(fit.auc, 0.5), "{fit:?}");
    // The best order has 1, the worst 0.
    assert!(close(Fit::new(&Hinge, &[3.0, 1.0], &[1.0, -1.0], 1.0).auc, 1.0));
    assert!(close(Fit::new(&Hinge, &[-3.0, 1.0], &[1.0, -1.0], 1.0).auc, 0.0));
    let single = Fit::new(&Logistic, &[3.0, 1.0], &[1.0, 1.0], 1.0);
    assert_eq!((single.auc, single.base_rate), (None, Some(1.0)));
    // Nothing finite fits a single class best.
    let calibration = single.calibration.unwrap();
    assert_eq!((calibration.intercept, calibration.slope), (None, None));
    assert_eq!(Fit::new(&Hinge, &[3.0], &[1.0], 1.0).calibration, None);
}

#[test]
fn a_confusion_counts_every_row_once_and_zero_predicts_the_negative_class() {
    let scores = [1.0, 2.0, 0.0, -1.0, 3.0];
    let fit = Fit::new(&Logistic, &scores, &[1.0, -1.0, 1.0, -1.0, 1.0], 1.0);
    let expected =
        Confusion { true_positives: 2, false_positives: 1, true_negatives: 1, false_negatives: 1 };
    assert_eq!(fit.confusion, Some(expected));
    assert_eq!((expected.sensitivity(), expected.specificity()), (Some(2.0 / 3.0), Some(0.5)));
    assert!(close(fit.accuracy, 0.6) && close(fit.base_rate, 0.6));
}

#[test]
fn a_line_through_two_logits_has_the_calibration_of_its_shares() {
    // At logit l, 3 of 4 are positive; at -l, 1 of 4: a + b l = log 3 and a - b l = -log 3.
    let l = 0.5;
    let scores: Vec<f64> = [[l; 4], [-l; 4]].concat();
    let targets = [1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0, 1.0];
    let calibration = Fit::new(&Logistic, &scores, &targets, 1.0).calibration.unwrap();
    let slope = calibration.slope.unwrap();
    assert!((slope - 3.0_f64.ln() / l).abs() < 1e-9, "{slope}");
    assert!(calibration.intercept.unwrap().abs() < 1e-9, "right on average");
    // Two groups, each |sigmoid(l) - 3/4| off.
    let expected = (1.0 / (1.0 + (-l).exp()) - 0.75).abs();
    assert!((calibration.error - expected).abs() < ROUNDING, "{calibration:?}");
    assert_eq!(calibration.groups.iter().map(|group| group.rows).collect::<Vec<_>>(), [4, 4]);
}

#[test]
fn logits_that_separate_the_classes_have_no_slope() {
    let scores = [3.0, 2.0, 1.0, -1.0, -2.0, 40.0];
    let fit = Fit::new(&Logistic, &scores, &[1.0, 1.0, 1.0, -1.0, -1.0, 1.0], 1.0);
    let calibration = fit.calibration.unwrap();
    assert_eq!(calibration.slope, None, "{calibration:?}");
    assert!(calibration.intercept.unwrap().is_finite());
}
