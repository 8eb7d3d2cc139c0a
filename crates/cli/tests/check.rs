//! `dzoa check`: everything that is wrong, before anything is released; and `--private`.

mod common;

use common::{dzoa, json, listing};
use std::path::Path;
use tempfile::tempdir;

fn checked(dir: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let output = dzoa(dir, &[&["check"][..], args].concat());
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// Three clinics as `dzoa init` writes them.
fn study(dir: &Path) {
    assert!(dzoa(dir, &["init", "."]).status.success());
}

const PRIVATE: &str = "privacy={mechanism=\"joint\", total_epsilon=4.0, delta=1e-5}";

#[test]
fn a_study_that_is_ready_is_said_to_be_and_nothing_is_written() {
    let dir = tempdir().unwrap();
    study(dir.path());
    let before = listing(dir.path());
    let (status, text, said) = checked(dir.path(), &["run.toml"]);
    assert_eq!(status, Some(0), "{said}");
    assert!(text.contains("ready: `dzoa run run.toml` can start"), "{text}");
    // 80, 60 and 40 rows, with their labels, for whoever holds them.
    for part in ["north.csv: 80 rows", "south.csv: 60 rows", "labels: yes ", "ok       plan: "] {
        assert!(text.contains(part), "no {part}: {text}");
    }
    assert!(said.is_empty(), "{said}");
    assert_eq!(listing(dir.path()), before);
    assert!(dzoa(dir.path(), &["run", "run.toml", "--out", "o"]).status.success());
}

#[test]
fn everything_that_is_wrong_is_listed_and_the_first_is_the_reason() {
    let dir = tempdir().unwrap();
    study(dir.path());
    std::fs::remove_file(dir.path().join("south.csv")).unwrap();
    let west = std::fs::read_to_string(dir.path().join("west.csv")).unwrap();
    // A label that nobody knows, in the first row.
    let (head, rows) = west.split_once('\n').unwrap();
    let (first, rest) = rows.split_once('\n').unwrap();
    let cells = first.rsplit_once(',').unwrap().0;
    std::fs::write(dir.path().join("west.csv"), format!("{head}\n{cells},perhaps\n{rest}"))
        .unwrap();
    std::fs::create_dir(dir.path().join("o")).unwrap();
    std::fs::write(dir.path().join("o/summary.json"), "{}").unwrap();
    let (status, text, said) = checked(dir.path(), &["run.toml", "--out", "o"]);
    assert_eq!(status, Some(2), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("PROBLEM")).count(), 3, "{text}");
    assert!(text.contains("PROBLEM  south: ") && text.contains("`perhaps`"), "{text}");
    assert!(text.contains("ok       north: "), "{text}");
    assert!(said.starts_with("error: first of 3 problems: --out o: holds another run"), "{said}");
    assert!(said.contains("hint: "), "{said}");
}

#[test]
fn a_plan_that_cannot_be_and_a_ledger_that_does_not_last_are_found() {
    let dir = tempdir().unwrap();
    study(dir.path());
    let hinge = ["run.toml", "--set", "problem.loss=hinge", "--set", "algorithm.name=joint-newton"];
    let (status, text, _) = checked(dir.path(), &hinge);
    assert_eq!(status, Some(2), "{text}");
    // The first run takes the whole budget.
    let run = [
        "run",
        "run.toml",
        "--set",
        PRIVATE,
        "--ledger",
        "l",
        "--new-ledger",
        "--budget",
        "4",
        "--out",
        "a",
    ];
    assert!(dzoa(dir.path(), &run).status.success());
    let ledger = std::fs::read(dir.path().join("l/north.ledger")).unwrap();
    let (status, text, _) = checked(dir.path(), &["run.toml", "--set", PRIVATE, "--ledger", "l"]);
    assert_eq!(status, Some(2), "{text}");
    assert_eq!(text.matches("PROBLEM  ledger").count(), 3, "{text}");
    assert_eq!(std::fs::read(dir.path().join("l/north.ledger")).unwrap(), ledger);
    let (status, text, _) =
        checked(dir.path(), &["run.toml", "--set", PRIVATE, "--ledger", "none"]);
    assert_eq!(status, Some(2), "{text}");
}

#[test]
fn one_config_runs_with_its_mechanism_and_without() {
    let dir = tempdir().unwrap();
    study(dir.path());
    let private = ["run", "run.toml", "--json", "--set", PRIVATE];
    let with = json(dir.path(), &[&private[..], &["--private", "--out", "a"]].concat());
    let without = json(dir.path(), &[&private[..], &["--not-private"]].concat());
    assert_eq!((&with["mechanism"], &without["mechanism"]), (&"joint".into(), &"none".into()));
    assert_eq!(without["privacy"][0]["claim"], "none");
    assert_eq!(without["name"], "first-study-not-private");
    assert!(dir.path().join("runs/first-study-not-private/report.html").exists());
    // What privacy costs: the distance from the optimum of the same rows.
    let error = |summary: &serde_json::Value| summary["final_error"].as_f64().unwrap();
    assert!(error(&without) < 1e-6 && error(&with) > 1e-6, "{} {}", error(&without), error(&with));
    let refused = dzoa(dir.path(), &["run", "run.toml", "--private"]);
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("--private: the config's mechanism `none` has no guarantee"), "{said}");
    assert!(said.contains("total_epsilon"), "{said}");
}

#[test]
fn a_word_behind_from_that_is_no_file_is_named_as_that() {
    let dir = tempdir().unwrap();
    study(dir.path());
    let output = dzoa(dir.path(), &["init", "--from", "north.csv", "x"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("error: x: is no file") && said.contains("dzoa init DIR"), "{said}");
}

#[test]
fn a_bound_that_no_noise_can_hide_ends_with_a_named_status() {
    let dir = tempdir().unwrap();
    study(dir.path());
    let scalar = "privacy={mechanism=\"scalar\", total_epsilon=4.0, delta=1e-4, clip=5e307}";
    let sets = [scalar, "algorithm={name=\"d-zoa\", rho=\"auto\", rounds=\"auto\"}"];
    let sets: Vec<&str> = sets.iter().flat_map(|set| ["--set", *set]).collect();
    let output = dzoa(dir.path(), &[&["run", "run.toml", "--out", "o"], &sets[..]].concat());
    let said = String::from_utf8(output.stderr).unwrap();
    assert_ne!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("error: ") && said.contains("hint: "), "{said}");
}
