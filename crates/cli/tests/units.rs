//! The model is the model it says: rows are scaled by one public number, the constant is constant,
//! and the formula in model.json gives what `predict` gives.

mod common;

use common::{dzoa, json};
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;
use tempfile::{TempDir, tempdir};

const CONFIG: &str = r#"
name = "units"
[problem]
loss = "logistic"
regularizer = "l2"
eta = 0.01
[data]
agents = [{ name = "a", file = "a.csv" }, { name = "b", file = "b.csv" }]
[network]
topology = "path"
[algorithm]
name = "admm"
rho = 0.05
rounds = 150
[privacy]
mechanism = "none"
[schema]
missing = ["?"]
on_missing = "indicator"
columns = [
  { name = "age", kind = "numeric", low = 20, high = 100 },
  { name = "blood pressure", kind = "numeric", bound = 200 },
  { name = "sex", kind = "categorical", levels = ["f", "m"], reference_level = "f" },
]
target = { name = "ill", positive = { equals = "yes" }, negative = { equals = "no" } }
"#;

fn study() -> TempDir {
    let dir = tempdir().unwrap();
    for (seed, name) in [3, 8].iter().zip(["a", "b"]) {
        let mut text = String::from("age,blood pressure,sex,ill\n");
        for i in 0..60 {
            let (age, pressure) = (20 + (i * 29 + seed) % 80, 90 + (i * 17 + seed * 5) % 110);
            let ill = age + pressure / 3 + 9 * (i % 4) > 115;
            let sex = ["f", "m", "?"][(i % 7 % 3) as usize];
            text += &format!("{age},{pressure},{sex},{}\n", if ill { "yes" } else { "no" });
        }
        std::fs::write(dir.path().join(format!("{name}.csv")), text).unwrap();
    }
    std::fs::write(dir.path().join("run.toml"), CONFIG).unwrap();
    dir
}

fn run(dir: &Path, out: &str, sets: &[&str]) -> Value {
    let mut args = vec!["run", "run.toml", "--json", "--out", out];
    sets.iter().for_each(|set| args.extend(["--set", set]));
    json(dir, &args)
}

fn model(dir: &Path, out: &str) -> Value {
    let text = std::fs::read_to_string(dir.join(out).join("model.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

const NEW: [[&str; 3]; 6] = [
    ["30", "120", "f"],
    ["95", "199", "m"],
    ["?", "110", "m"],
    ["150", "-900", "?"],
    ["60", "?", "?"],
    ["20", "0", "f"],
];

/// Scores of the rows in `NEW`, by the program.
fn scores(dir: &Path, out: &str) -> Vec<f64> {
    let lines: Vec<String> = NEW.iter().map(|row| row.join(",")).collect();
    let text = format!("age,blood pressure,sex\n{}\n", lines.join("\n"));
    std::fs::write(dir.join("new.csv"), text).unwrap();
    let model = format!("{out}/model.json");
    let output = dzoa(dir, &["predict", "--model", &model, "new.csv"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let score = |line: &str| line.split(',').nth(2).unwrap().parse().unwrap();
    text.lines().skip(1).map(score).collect()
}

#[test]
fn the_formula_of_a_model_gives_what_the_program_predicts() {
    let dir = study();
    for (out, sets) in [
        ("auto", &[][..]),
        ("wide", &["schema.row_norm=4.0"]),
        ("narrow", &["schema.row_norm=0.5"]),
        ("ball", &["schema.rows_to_unit_ball=true"]),
        ("free", &["schema.rows_to_unit_ball=false"]),
        ("without", &["problem.intercept=false"]),
    ] {
        run(dir.path(), out, sets);
        let own = &model(dir.path(), out)["own_units"];
        let formula = own["formula"].as_str().unwrap();
        for (row, score) in NEW.iter().zip(scores(dir.path(), out)) {
            let row = HashMap::from([("age", row[0]), ("blood pressure", row[1]), ("sex", row[2])]);
            let z = evaluate(formula, &row);
            assert!(
                (z - score).abs() < 1e-9 * (1.0 + score.abs()),
                "{out}: {z} {score}\n{formula}"
            );
        }
    }
}

#[test]
fn coefficients_are_per_unit_and_odds_ratios_their_exponentials() {
    let dir = study();
    run(dir.path(), "wide", &["schema.row_norm=4.0"]);
    let model = model(dir.path(), "wide");
    let own = &model["own_units"];
    let named = |list: &Value, name: &str, key: &str| {
        let found = list.as_array().unwrap().iter().find(|entry| entry["name"] == name).unwrap();
        number(&found[key])
    };
    // Half of 20 to 100 is 40; rows are divided by 4.
    let fitted = named(&model["coefficients"], "age", "value");
    let per_year = named(&own["coefficients"], "age", "value");
    assert!((per_year - fitted / (4.0 * 40.0)).abs() < 1e-15);
    let odds = named(&own["coefficients"], "age", "odds_ratio");
    assert!((odds - per_year.exp()).abs() < 1e-12);
    // The first and the last row differ in age by 10 and in pressure by 120, and none is cut.
    let per_point = named(&own["coefficients"], "blood pressure", "value");
    let found = scores(dir.path(), "wide");
    assert!((found[0] - found[5] - 10.0 * per_year - 120.0 * per_point).abs() < 1e-12);
    let output = dzoa(dir.path(), &["run", "run.toml", "--out", "shown"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("per unit of the column") && text.contains("odds x"), "{text}");
    let page = std::fs::read_to_string(dir.path().join("shown/report.html")).unwrap();
    assert!(page.contains("In the data's own units") || page.contains("own units"), "no table");
}

/// With every column ignored but one that is 0 in all rows, a fit has its intercept alone: the
/// log-odds of the base rate, which is the same for every row.
#[test]
fn a_model_of_the_intercept_alone_predicts_the_base_rate_for_every_row() {
    let dir = tempdir().unwrap();
    let row = |i: usize| format!("0,{}\n", if i.is_multiple_of(4) { "yes" } else { "no" });
    let rows: String = (0..40).map(row).collect();
    for name in ["a", "b"] {
        std::fs::write(dir.path().join(format!("{name}.csv")), format!("x,ill\n{rows}")).unwrap();
    }
    let (head, _) = CONFIG.split_once("columns = [").unwrap();
    let schema = "columns = [{ name = \"x\", kind = \"numeric\", bound = 1 }]\n\
                  target = { name = \"ill\", positive = { equals = \"yes\" } }\n";
    std::fs::write(dir.path().join("run.toml"), format!("{head}{schema}")).unwrap();
    run(dir.path(), "out", &["problem.eta=0.0", "problem.regularizer=l2"]);
    let own = &model(dir.path(), "out")["own_units"];
    let log_odds = (0.25_f64 / 0.75).ln();
    assert!((number(&own["intercept"]) - log_odds).abs() < 1e-6, "{own}");
    std::fs::write(dir.path().join("new.csv"), "x\n0\n1\n-7\n").unwrap();
    let output = dzoa(dir.path(), &["predict", "--model", "out/model.json", "new.csv"]);
    for line in String::from_utf8(output.stdout).unwrap().lines().skip(1) {
        let probability: f64 = line.split(',').nth(3).unwrap().parse().unwrap();
        assert!((probability - 0.25).abs() < 1e-6, "{line}");
    }
}

/// c1 is the loss's slope, 1 for the logistic, times the longest row there can be: features of
/// length 1 and the constant 1/R. `output` has the sensitivity 2 c1/(rho |N_k| N_k), up to what the
/// solver's tolerance adds, so that two settings compare like their bounds.
#[test]
fn a_sensitivity_holds_the_constant_column() {
    let dir = study();
    let exact = [
        "privacy.mechanism=output",
        "privacy.total_epsilon=4.0",
        "privacy.delta=1e-5",
        "algorithm.rounds=3",
    ];
    let sensitivity = |out: &str, more: &[&str]| {
        let summary = run(dir.path(), out, &[&exact[..], more].concat());
        number(&summary["privacy"][0]["sensitivity"])
    };
    let short = sensitivity("short", &["problem.intercept=false", "schema.row_norm=2.0"]);
    let ball = sensitivity("ball", &["schema.rows_to_unit_ball=true"]);
    assert!((short / ball - 1.0).abs() < 1e-9, "both have rows of at most 1");
    for (out, norm) in [("half", 0.5), ("two", 2.0)] {
        let found = sensitivity(out, &[&format!("schema.row_norm={norm:?}")]);
        let bound = (1.0_f64 + 1.0 / (norm * norm)).sqrt();
        assert!(found >= short * bound, "{found} {short} {bound}");
        assert!(found <= short * bound * (1.0 + 1e-9), "{found} {short} {bound}");
    }
    let refused = dzoa(
        dir.path(),
        &[
            "run",
            "run.toml",
            "--set",
            "schema.row_norm=1.0",
            "--set",
            "schema.rows_to_unit_ball=true",
        ],
    );
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("exclude each other"));
}

#[test]
fn counts_of_cut_rows_stay_on_the_terminal() {
    let dir = study();
    let output =
        dzoa(dir.path(), &["run", "run.toml", "--out", "o", "--set", "schema.row_norm=0.3"]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("60 rows longer than row_norm"), "{stderr}");
    for name in ["summary.json", "model.json", "report.html", "trace.csv", "local.json"] {
        let text = std::fs::read_to_string(dir.path().join("o").join(name)).unwrap();
        assert!(!text.contains("longer than row_norm"), "{name}");
    }
}

#[test]
fn all_levels_beside_an_intercept_are_judged_by_the_objective() {
    let dir = study();
    let columns = "schema.columns=[{name=\"age\",kind=\"numeric\",low=20,high=100},\
                   {name=\"blood pressure\",kind=\"numeric\",bound=200},\
                   {name=\"sex\",kind=\"categorical\",levels=[\"f\",\"m\"]}]";
    let shown = |out: &str, sets: &[&str]| {
        let mut args = vec!["run", "run.toml", "--out", out, "--set", "problem.regularizer=l1"];
        sets.iter().for_each(|set| args.extend(["--set", set]));
        String::from_utf8(dzoa(dir.path(), &args).stdout).unwrap()
    };
    let unique = shown("unique", &[]);
    assert!(unique.contains("normalised error"), "{unique}");
    let many = shown("many", &[columns]);
    assert!(!many.contains("normalised error") && many.contains("objective above its least"));
}

/// A row's score by the lines of a formula: `k = ...`, `z = ...`.
fn evaluate(formula: &str, row: &HashMap<&str, &str>) -> f64 {
    let mut names = HashMap::new();
    for line in formula.lines() {
        let (name, text) = line.split_once(" = ").unwrap();
        if name == "prediction" {
            break;
        }
        let mut parser = Parser { text, row, names: &names };
        let value = parser.sum();
        assert_eq!(parser.text, "", "{line}");
        names.insert(name.to_string(), value);
    }
    names["z"]
}

struct Parser<'a> {
    text: &'a str,
    row: &'a HashMap<&'a str, &'a str>,
    names: &'a HashMap<String, f64>,
}

impl<'a> Parser<'a> {
    fn take(&mut self, word: &str) -> bool {
        let text = self.text.trim_start();
        match text.strip_prefix(word) {
            Some(rest) => {
                self.text = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn sum(&mut self) -> f64 {
        let mut value = self.product();
        loop {
            if self.take("+") {
                value += self.product();
            } else if self.take("- ") {
                value -= self.product();
            } else {
                return value;
            }
        }
    }

    fn product(&mut self) -> f64 {
        let mut value = self.power();
        loop {
            if self.take("* ") {
                value *= self.power();
            } else if self.take("/ ") {
                value /= self.power();
            } else {
                return value;
            }
        }
    }

    fn power(&mut self) -> f64 {
        let value = self.atom();
        if self.take("** ") { value.powf(self.atom()) } else { value }
    }

    /// Values between brackets.
    fn arguments(&mut self) -> Vec<f64> {
        let mut values = vec![self.sum()];
        while self.take(",") {
            values.push(self.sum());
        }
        assert!(self.take(")"), "{}", self.text);
        values
    }

    fn quoted(&mut self) -> &'a str {
        assert!(self.take("\""), "{}", self.text);
        let (word, rest) = self.text.split_once('"').unwrap();
        self.text = rest;
        word
    }

    /// `x["column"]`
    fn cell(&mut self) -> &'a str {
        assert!(self.take("x["), "{}", self.text);
        let name = self.quoted();
        assert!(self.take("]"));
        self.row[name]
    }

    fn atom(&mut self) -> f64 {
        if self.take("between(") {
            let cell = self.cell();
            assert!(self.take(","));
            let ends = self.arguments();
            let middle = (ends[0] + ends[1]) / 2.0;
            return cell.parse().map_or(middle, |value: f64| value.clamp(ends[0], ends[1]));
        }
        if self.take("missing(") {
            let is_missing = self.cell() == "?";
            assert!(self.take(")"));
            return f64::from(u8::from(is_missing));
        }
        if self.take("max(") {
            return self.arguments().into_iter().fold(f64::MIN, f64::max);
        }
        if self.take("sqrt(") {
            return self.arguments()[0].sqrt();
        }
        if self.take("exp(-z)") {
            return (-self.names["z"]).exp();
        }
        if self.text.starts_with("(x[") {
            self.take("(");
            let cell = self.cell();
            assert!(self.take("=="));
            let same = cell == self.quoted();
            assert!(self.take(")"));
            return f64::from(u8::from(same));
        }
        if self.take("(") {
            return self.arguments()[0];
        }
        if self.take("k") {
            return self.names["k"];
        }
        let end = self.text.find([' ', ')', ',']).unwrap_or(self.text.len());
        let (digits, rest) = self.text.split_at(end);
        self.text = rest.trim_start();
        digits.parse().unwrap_or_else(|_| panic!("{digits}"))
    }
}
