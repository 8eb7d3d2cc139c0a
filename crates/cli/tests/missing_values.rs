//! Missing cells: with indicators the number of rows, which is public, depends on no private cell.

mod common;

use common::{dzoa, json};
use serde_json::Value;
use std::path::Path;
use tempfile::{TempDir, tempdir};

const SCHEMA: &str = r#"
[schema]
missing = ["?"]
on_missing = "indicator"
rows_to_unit_ball = true
columns = [
  { name = "age", kind = "numeric", low = 0, high = 100 },
  { name = "sex", kind = "categorical", levels = ["f", "m"] },
]
"#;

/// Two agents, `north` and `south`, with these rows below `age,sex,y`.
fn study(loss: &str, target: &str, north: &str, south: &str) -> TempDir {
    let dir = tempdir().unwrap();
    let config = format!(
        r#"
name = "study"
[problem]
loss = "{loss}"
regularizer = "l2"
eta = 0.25
intercept = true
[data]
agents = [{{ name = "north", file = "north.csv" }}, {{ name = "south", file = "south.csv" }}]
[network]
topology = "path"
[algorithm]
name = "admm"
rho = 0.1
rounds = 60
[privacy]
mechanism = "none"
{SCHEMA}
target = {target}
"#
    );
    std::fs::write(dir.path().join("run.toml"), config).unwrap();
    for (name, rows) in [("north", north), ("south", south)] {
        let text = format!("age,sex,y\n{rows}");
        std::fs::write(dir.path().join(format!("{name}.csv")), text).unwrap();
    }
    dir
}

const LABEL: &str = "{ name = \"y\", positive = { above = 0 } }";
const NORTH: &str = "30,f,0\n70,m,1\n50,m,1\n20,f,0\n";
const SOUTH: &str = "60,f,1\n40,m,0\n80,f,1\n10,m,0\n";

fn run(dir: &Path, out: &str, sets: &[&str]) -> Value {
    let mut args = vec!["run", "run.toml", "--json", "--out", out];
    for set in sets {
        args.extend(["--set", set]);
    }
    json(dir, &args)
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

const EXACT: [&str; 6] = [
    "privacy.mechanism=output",
    "privacy.total_epsilon=4.0",
    "privacy.delta=1e-5",
    "algorithm.name=d-zoa",
    "algorithm.rho=0.02",
    "algorithm.rounds=5",
];

/// What the first agent's noise is made for: 2 c1/(rho n N_k), so that it tells N_k.
fn sensitivity(north: &str, sets: &[&str]) -> f64 {
    let dir = study("logistic", LABEL, north, SOUTH);
    let summary = run(dir.path(), "out", &[&EXACT[..], sets].concat());
    number(&summary["privacy"][0]["sensitivity"])
}

#[test]
fn the_number_of_rows_does_not_change_when_a_private_cell_goes_missing() {
    let complete = sensitivity(NORTH, &[]);
    for cell in ["30,?,0", "?,f,0", "?,?,0", "30,f,?", "?,?,?"] {
        let rows = NORTH.replace("30,f,0", cell);
        assert_eq!(sensitivity(&rows, &[]), complete, "{cell}");
        // Four rows of four, or three: dropping one tells.
        let dropped = sensitivity(&rows, &["schema.on_missing=drop"]);
        assert!((dropped / complete - 4.0 / 3.0).abs() < 1e-9, "{cell}: {dropped} {complete}");
    }
}

#[test]
fn the_columns_are_the_same_whether_or_not_a_cell_is_missing_anywhere() {
    let names = |north: &str| -> Vec<String> {
        let dir = study("logistic", LABEL, north, SOUTH);
        run(dir.path(), "out", &["algorithm.rounds=1"]);
        let text = std::fs::read_to_string(dir.path().join("out/model.json")).unwrap();
        let model: Value = serde_json::from_str(&text).unwrap();
        let names = model["coefficients"].as_array().unwrap().iter();
        names.map(|coefficient| coefficient["name"].as_str().unwrap().to_string()).collect()
    };
    let expected = ["age", "age:missing", "sex=f", "sex=m", "sex:missing", "(intercept)"];
    assert_eq!(names(NORTH), expected);
    assert_eq!(names(&NORTH.replace("30,f", "?,?")), expected);
}

/// A row of zeros has the loss of a prediction of 0 whatever the model is: with one beside N rows
/// the objective at eta N/(N + 1) is N/(N + 1) times the old one, and that constant.
#[test]
fn a_row_without_a_target_moves_no_optimum() {
    let real = "{ name = \"y\", kind = \"numeric\", bound = 2 }";
    // The youngest is ill, too, which no line between the ages tells.
    let south = SOUTH.replace("10,m,0", "10,m,1");
    for (loss, target, at_zero) in [
        ("logistic", LABEL, std::f64::consts::LN_2),
        ("hinge", LABEL, 1.0),
        ("squared", real, 0.0),
        ("absolute", real, 0.0),
    ] {
        let without = study(loss, target, NORTH, &south);
        let before = run(without.path(), "out", &[]);
        let blank = |rows: &str| format!("{rows}90,m,?\n");
        let with = study(loss, target, &blank(NORTH), &blank(&south));
        let after = run(with.path(), "out", &["problem.eta=0.2"]);
        let expected = 0.8 * number(&before["optimum"]) + 2.0 * at_zero / 5.0;
        let (optimum, objective) = (number(&after["optimum"]), number(&after["objective"]));
        assert!((optimum - expected).abs() < 1e-7, "{loss}: {optimum} {expected}");
        assert!(objective < optimum * 1.02, "{loss}: {objective} {optimum}");
        // Nor is it counted as a right or wrong prediction, of which there are both.
        assert_eq!(before["accuracies"], after["accuracies"], "{loss}");
        if target == LABEL {
            let accuracy = number(&before["accuracies"][0]);
            assert!(accuracy > 0.0 && accuracy < 1.0, "{loss}: {accuracy}");
        }
    }
}

#[test]
fn a_model_predicts_rows_with_missing_cells_and_judges_rows_with_targets() {
    let dir = study("logistic", LABEL, &NORTH.replace("30,f", "?,f"), SOUTH);
    run(dir.path(), "out", &[]);
    let text = std::fs::read_to_string(dir.path().join("out/model.json")).unwrap();
    let model: Value = serde_json::from_str(&text).unwrap();
    let weight = |name: &str| {
        let found = model["coefficients"].as_array().unwrap().iter();
        number(&found.clone().find(|entry| entry["name"] == name).unwrap()["value"])
    };
    std::fs::write(dir.path().join("new.csv"), "age,sex,y\n?,m,1\n75,?,?\n").unwrap();
    let output = dzoa(dir.path(), &["predict", "--model", "out/model.json", "new.csv"]);
    let predictions = String::from_utf8(output.stdout).unwrap();
    // (0, 1, 0, 1, 0, 1)/sqrt(3) and (1/2, 0, 0, 0, 1, 1)/(3/2).
    let missing = weight("age:missing") + weight("sex=m") + weight("(intercept)");
    let expected = [
        missing / 3.0_f64.sqrt(),
        (0.5 * weight("age") + weight("sex:missing") + weight("(intercept)")) / 1.5,
    ];
    let lines: Vec<&str> = predictions.lines().skip(1).collect();
    assert_eq!(lines.len(), expected.len(), "{predictions}");
    for (line, expected) in lines.iter().zip(expected) {
        let score: f64 = line.split(',').nth(2).unwrap().parse().unwrap();
        assert!((score - expected).abs() < 1e-12, "{line}: {expected}");
    }
    let judged = json(dir.path(), &["evaluate", "--model", "out/model.json", "new.csv", "--json"]);
    assert_eq!(judged["rows"], 1, "{judged}");
}

#[test]
fn what_init_and_infer_write_keeps_every_row() {
    let dir = tempdir().unwrap();
    assert!(dzoa(dir.path(), &["init", "."]).status.success());
    let config = std::fs::read_to_string(dir.path().join("run.toml")).unwrap();
    assert!(config.contains("\non_missing = \"indicator\"\n"), "{config}");
    let west = std::fs::read_to_string(dir.path().join("west.csv")).unwrap();
    assert!(west.contains(",,"), "the starter has a missing cell");
    let draft = dzoa(dir.path(), &["schema", "infer", "west.csv"]);
    let draft = String::from_utf8(draft.stdout).unwrap();
    assert!(draft.contains("\non_missing = \"indicator\"\n"), "{draft}");
    let sensitivities = || {
        let summary = run(dir.path(), "out", &EXACT);
        std::fs::remove_dir_all(dir.path().join("out")).unwrap();
        summary["privacy"].as_array().unwrap().iter().map(|a| number(&a["sensitivity"])).collect()
    };
    let before: Vec<f64> = sensitivities();
    // Every cell of the last patient goes missing, the target included.
    let (rest, _) = west.trim_end().rsplit_once('\n').unwrap();
    std::fs::write(dir.path().join("west.csv"), format!("{rest}\n?,?,?,?,?\n")).unwrap();
    assert_eq!(before, sensitivities());
}
