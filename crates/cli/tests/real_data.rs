//! Real data against optima computed elsewhere (reference.json, with duality gaps below 1e-13).

mod common;

use common::{data, dzoa, json, root};
use serde_json::Value;
use std::path::Path;
use tempfile::tempdir;

/// Runs a committed example on the data beside the repository.
fn example(data: &Path, name: &str, folder: &str, sets: &[&str]) -> (Value, tempfile::TempDir) {
    let dir = tempdir().unwrap();
    let config = root().join("examples").join(name).join("run.toml");
    let data_root = format!("data.root={}", data.join(folder).display());
    let mut args = vec!["run", config.to_str().unwrap(), "--json", "--out", "out"];
    args.extend(["--set", &data_root]);
    for set in sets {
        args.extend(["--set", set]);
    }
    (json(dir.path(), &args), dir)
}

fn reference(data: &Path, problem: &str) -> Value {
    let text = std::fs::read_to_string(data.join("reference.json")).unwrap();
    serde_json::from_str::<Value>(&text).unwrap()["problems"][problem].clone()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

/// What the task allows between our optimum and the reference.
const OPTIMUM: f64 = 1e-7;

fn optimum_agrees(problem: &str, name: &str, folder: &str, sets: &[&str]) {
    let Some(data) = data(problem) else { return };
    let reference = reference(&data, problem);
    let sets = [&["algorithm.rounds=1", "algorithm.name=admm"], sets].concat();
    let (summary, _dir) = example(&data, name, folder, &sets);
    let (ours, theirs) = (number(&summary["optimum"]), number(&reference["objective"]));
    assert!((ours / theirs - 1.0).abs() <= OPTIMUM, "{problem}: {ours} {theirs}");
    assert!(number(&summary["optimum_gap"]) <= OPTIMUM * theirs);
    assert_eq!(summary["features"], reference["d"]);
    assert_eq!(summary["agents"], reference["K"]);
}

#[test]
fn the_lasso_on_diabetes_has_the_reference_optimum() {
    optimum_agrees("lasso_diabetes", "diabetes", "diabetes", &[]);
}

#[test]
fn the_four_hospitals_have_the_reference_optima() {
    for (problem, eta) in [
        ("logistic_heart_disease_4_hospitals_eta_0.1", "problem.eta=0.1"),
        ("logistic_heart_disease_4_hospitals_eta_0.01", "problem.eta=0.01"),
    ] {
        optimum_agrees(problem, "hospitals", "heart_disease", &[eta]);
    }
}

#[test]
fn adult_over_5_agents_has_the_reference_optima() {
    for (problem, eta) in [
        ("logistic_adult_K5_eta_0.1", "problem.eta=0.1"),
        ("logistic_adult_K5_eta_0.01", "problem.eta=0.01"),
        ("logistic_adult_K5_eta_0.001", "problem.eta=0.001"),
    ] {
        optimum_agrees(problem, "adult", "adult", &[eta]);
    }
}

#[test]
fn adult_over_100_agents_has_the_reference_optimum() {
    let sets = ["problem.eta=1.0", "data.agents=100", "network.topology=ring"];
    optimum_agrees("logistic_adult_K100_eta_1.0", "adult", "adult", &sets);
}

#[test]
fn the_svm_on_breast_cancer_has_the_reference_optimum() {
    optimum_agrees("hinge_breast_cancer_eta_0.1", "breast_cancer", "breast_cancer", &[]);
}

#[test]
fn exact_admm_reaches_the_optimum_within_2000_rounds() {
    let Some(data) = data("exact ADMM on real data") else { return };
    for (name, folder, sets) in [
        ("diabetes", "diabetes", &[][..]),
        (
            "hospitals",
            "heart_disease",
            &["algorithm.name=admm", "algorithm.rho=0.003", "algorithm.rounds=400"][..],
        ),
    ] {
        let (summary, _dir) = example(&data, name, folder, sets);
        assert!(summary["rounds_done"].as_u64().unwrap() <= 2000);
        let relative = number(&summary["objective"]) / number(&summary["optimum"]) - 1.0;
        assert!((-1e-9..1e-5).contains(&relative), "{name}: {relative:e}");
    }
}

#[test]
fn d_zoa_on_the_four_hospitals_comes_within_one_percent_and_predicts_as_well() {
    let Some(data) = data("D-ZOA on the four hospitals") else { return };
    let (summary, dir) = example(&data, "hospitals", "heart_disease", &[]);
    let relative = number(&summary["objective"]) / number(&summary["optimum"]) - 1.0;
    assert!((0.0..0.01).contains(&relative), "{relative:e}");
    let (mut right, mut rows) = (0.0, 0.0);
    for hospital in ["cleveland", "hungarian", "switzerland", "va"] {
        let file = data.join(format!("heart_disease/processed.{hospital}.data"));
        let args = ["evaluate", "--model", "out/model.json", file.to_str().unwrap(), "--json"];
        let evaluation = json(dir.path(), &args);
        rows += number(&evaluation["rows"]);
        right += number(&evaluation["rows"]) * number(&evaluation["accuracy"]);
    }
    let problem = reference(&data, "logistic_heart_disease_4_hospitals_eta_0.01");
    assert_eq!(rows, number(&problem["N"]));
    let accuracy = right / rows;
    assert!((accuracy - number(&problem["train_accuracy"])).abs() <= 0.02, "{accuracy}");
}

#[test]
fn a_model_of_adult_scores_the_held_out_rows() {
    let Some(data) = data("held-out rows of Adult") else { return };
    let (_, dir) = example(
        &data,
        "adult",
        "adult",
        &["problem.eta=0.1", "algorithm.rho=0.01", "algorithm.rounds=100"],
    );
    let test = data.join("adult/adult.test");
    let args = ["evaluate", "--model", "out/model.json", test.to_str().unwrap(), "--json"];
    let evaluation = json(dir.path(), &args);
    let reference = reference(&data, "logistic_adult_K5_eta_0.1");
    assert_eq!(evaluation["rows"], reference["N_test"]);
    // The consensus model is near the optimum, not at it.
    let accuracy = number(&evaluation["accuracy"]);
    assert!((accuracy - number(&reference["test_accuracy"])).abs() <= 0.02, "{accuracy}");
}

#[test]
fn a9a_is_read_from_libsvm_and_never_densified() {
    let Some(data) = data("a9a") else { return };
    let sets = ["algorithm.rounds=3", "data.agents=5"];
    let (summary, _dir) = example(&data, "a9a", "libsvm", &sets);
    assert_eq!(summary["features"], 123);
    assert!(number(&summary["objective"]) < 5.0 * std::f64::consts::LN_2);
    // The program's memory would not tell; the rows' own tests do. Here: the same rows inferred.
    let file = data.join("libsvm/heart_scale");
    let draft = dzoa(&root(), &["schema", "infer", file.to_str().unwrap()]);
    let text = String::from_utf8(draft.stdout).unwrap();
    assert!(text.contains("features = 13"), "{text}");
}
