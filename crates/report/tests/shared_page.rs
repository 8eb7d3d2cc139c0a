//! report.shared.html holds protected quantities and what was public before, and nothing else.

use dzoa::privacy::Statement;
use dzoa::run::evaluate::{Calibration, CalibrationGroup, Confusion, Fit};
use dzoa_report::{PrivacyEntry, Summary, Trace, run_html, shared_html};

/// A number for every quantity that is measured on rows or on a machine, each with digits of its
/// own.
fn fit() -> Fit {
    Fit {
        rows: 91_801,
        loss: 0.918_11,
        accuracy: Some(0.918_21),
        base_rate: Some(0.918_31),
        auc: Some(0.918_41),
        confusion: Some(Confusion {
            true_positives: 91_851,
            false_positives: 91_852,
            true_negatives: 91_853,
            false_negatives: 91_854,
        }),
        calibration: Some(Calibration {
            error: 0.918_61,
            intercept: Some(0.918_62),
            slope: Some(0.918_63),
            groups: vec![CalibrationGroup {
                rows: 91_864,
                predicted: 0.918_65,
                observed: 0.918_66,
            }],
        }),
        r2: Some(0.918_71),
        mean_absolute_error: Some(0.918_72),
    }
}

fn summary(exact: bool) -> Summary {
    let mut statement = Statement::none();
    if exact {
        statement.claim = dzoa::privacy::Claim::Exact;
        (statement.epsilon_exact, statement.delta) = (Some(1.25), Some(1e-5));
    }
    let entry = PrivacyEntry {
        sigma_assumed: Some(91_871.0),
        sigma_measured: Some(91_872.0),
        sigma_measured_how: Some("how-91873".into()),
        epsilon_if_measured_noise_were_gaussian: Some(91_874.0),
        sensitivity: Some(91_875.0),
        c1: Some(91_876.0),
        ..PrivacyEntry::from(statement)
    };
    Summary {
        name: "study".into(),
        loss: "logistic".into(),
        agent_names: vec!["north".into(), "south".into()],
        agents: 2,
        edges: vec![(0, 1)],
        features: 1,
        rounds: 40,
        rounds_done: 40,
        trials: 1,
        seed: Some(91_880),
        error_rounds: vec![1],
        error: vec![Some(0.918_81)],
        error_low: vec![Some(0.918_82)],
        error_high: vec![Some(0.918_83)],
        final_error: Some(0.918_84),
        final_errors: vec![Some(0.918_85)],
        accuracies: vec![0.918_86],
        fit: Some(fit()),
        objective: Some(0.918_87),
        optimum: Some(0.918_88),
        optimum_gap: Some(0.918_89),
        optimum_stationarity: Some(0.918_90),
        consensus: Some(0.918_91),
        coefficients: vec![vec![0.625], vec![0.625]],
        columns: vec!["age".into()],
        oracle_calls: 91_892,
        moved_inside: 91_893,
        seconds: 91.894,
        reached: vec![(1, 91.895), (2, 918.96), (3, 9189.7)],
        privacy: vec![entry.clone(), entry],
        config: serde_json::json!({
            "name": "study", "data": { "agents": [{ "name": "north", "file": "secret-91898.csv" }] },
            "privacy": { "mechanism": "output" }, "run": { "seed": 91_899 },
        }),
        ..Summary::default()
    }
}

fn trace() -> Trace {
    let curve = |value: f64| vec![vec![(1.0, value), (2.0, value)]; 2];
    Trace {
        error: curve(0.918_01),
        objective_gap: curve(0.918_02),
        consensus: curve(0.918_03),
        epsilon_spent: curve(1.25),
        objective: curve(0.918_04),
    }
}

#[test]
fn nothing_that_was_measured_on_rows_is_on_the_page_that_may_be_shared() {
    for exact in [true, false] {
        let page = shared_html(&summary(exact), &trace()).unwrap();
        // Every sentinel has these digits, however it is written: 0.918..., 918.., 91.8.., 9189.7.
        let digits: String = page.chars().filter(|c| *c != '.' && *c != '\u{202f}').collect();
        let place = digits.find("918").map(|at| digits[at.saturating_sub(60)..].to_string());
        assert_eq!(place.map(|text| text.chars().take(120).collect::<String>()), None);
        assert!(page.contains("This page may be shared."));
        // Protected: the model, only under the guarantee.
        assert_eq!(page.contains("0.6250"), exact);
        assert_eq!(page.contains("Privacy: exact guarantee"), exact);
    }
    // The sentinels can be seen: the other page has them.
    let page = run_html(&summary(true), &trace(), &[]).unwrap();
    for there in ["0.9182", "0.9184", "91801", "91851", "0.91887", "secret-91898"] {
        assert!(page.contains(there), "{there}");
    }
}

#[test]
fn each_page_says_at_its_top_what_it_is_and_no_claim_stands_over_unprotected_numbers() {
    let page = run_html(&summary(true), &trace(), &[]).unwrap();
    let place = |page: &str, text: &str| page.find(text).unwrap_or_else(|| panic!("no {text}"));
    let top = place(&page, "For the holder of the rows: do not share.");
    let (fit, claim) = (place(&page, "How well it fits"), place(&page, "<aside class=\"claim"));
    assert!(top < place(&page, "<section") && fit < claim, "the claim is about what was exchanged");
    assert!(page.contains("Privacy of what was exchanged"));
    let shared = shared_html(&summary(true), &trace()).unwrap();
    let top = place(&shared, "This page may be shared.");
    assert!(top < place(&shared, "<aside class=\"claim") && !shared.contains("How well it fits"));
}
