//! `inference = true`: intervals in the data's own units, in all files and on the terminal, against
//! closed forms.

mod common;

use common::{dzoa, json};
use serde_json::Value;
use std::path::Path;
use tempfile::{TempDir, tempdir};

const CONFIG: &str = r#"
name = "intervals"
inference = true
[problem]
loss = "LOSS"
eta = 0.1
[data]
agents = [{ name = "a", file = "a.csv" }, { name = "b", file = "b.csv" }]
[network]
topology = "path"
[algorithm]
name = "auto"
[privacy]
mechanism = "none"
[schema]
COLUMNS
"#;

const SMOKING: &str = r#"
columns = [
  { name = "smoker", kind = "categorical", levels = ["no", "yes"], reference_level = "no" },
]
target = { name = "ill", positive = { equals = "yes" }, negative = { equals = "no" } }
"#;

const LINE: &str = r#"
columns = [{ name = "x", kind = "numeric", low = -5, high = 20 }]
target = { name = "y", kind = "numeric", bound = 40 }
"#;

fn study(loss: &str, columns: &str, [a, b]: [&str; 2]) -> TempDir {
    let dir = tempdir().unwrap();
    let text = CONFIG.replace("LOSS", loss).replace("COLUMNS", columns);
    for (name, text) in [("run.toml", text.as_str()), ("a.csv", a), ("b.csv", b)] {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    dir
}

/// Rows of a table: exposed and ill, exposed and well, and the others.
fn cells([a, b, c, d]: [usize; 4]) -> String {
    let cells = [(a, "yes,yes\n"), (b, "yes,no\n"), (c, "no,yes\n"), (d, "no,no\n")];
    let rows: String = cells.iter().map(|(count, row)| row.repeat(*count)).collect();
    format!("smoker,ill\n{rows}")
}

fn close(value: &Value, expected: f64) -> bool {
    value.as_f64().is_some_and(|v| (v - expected).abs() <= 1e-8 * (1.0 + expected.abs()))
}

fn read(dir: &Path, file: &str) -> String {
    std::fs::read_to_string(dir.join(file)).unwrap()
}

#[test]
fn an_odds_ratio_has_the_interval_of_woolf_in_every_file_and_on_the_terminal() {
    let dir = study("logistic", SMOKING, [&cells([4, 1, 5, 8]), &cells([8, 4, 2, 22])]);
    let output = dzoa(dir.path(), &["run", "run.toml", "--out", "out"]);
    let terminal = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let [a, b, c, d] = [12.0, 5.0, 7.0, 30.0_f64];
    let (log, error) = ((a * d / (b * c)).ln(), (1.0 / a + 1.0 / b + 1.0 / c + 1.0 / d).sqrt());
    // The quantile of the normal distribution at 97.5 %.
    let reach = 1.959963984540054 * error;
    for file in ["out/summary.json", "out/model.json"] {
        let found: Value = serde_json::from_str(&read(dir.path(), file)).unwrap();
        let found = &found["intervals"];
        assert_eq!((&found["rows"], &found["refused"]), (&54.into(), &Value::Null));
        let [constant, smoker] = [0, 1].map(|at| &found["coefficients"][at]);
        assert_eq!(
            (&constant["name"], &smoker["name"]),
            (&"(intercept)".into(), &"smoker=yes".into())
        );
        assert!(close(&constant["estimate"], (c / d).ln()), "{constant}");
        assert!(close(&constant["standard_error"], (1.0 / c + 1.0 / d).sqrt()), "{constant}");
        for (key, expected) in [
            ("estimate", log),
            ("standard_error", error),
            ("statistic", log / error),
            ("low", log - reach),
            ("high", log + reach),
        ] {
            assert!(close(&smoker[key], expected), "{key}: {smoker}");
        }
        let odds = [log, log - reach, log + reach].map(f64::exp);
        odds.iter()
            .enumerate()
            .for_each(|(i, odds)| assert!(close(&smoker["odds_ratio"][i], *odds)));
    }
    let line = terminal.lines().rfind(|line| line.contains("smoker=yes")).unwrap();
    // log(360/35), its error, and exp of the ends.
    assert!(line.contains("2.331") && line.contains("0.6779"), "{line}");
    assert!(line.contains("<0.001") && line.contains("2.724 to 38.84"), "{line}");
    // Sentences are broken on a terminal; tables are not.
    let mut table = terminal.lines().skip_while(|line| !line.contains("std. error"));
    assert!(table.by_ref().take(3).all(|line| line.chars().count() <= 80), "{terminal}");
    let page = read(dir.path(), "out/report.html");
    assert!(
        page.contains("Coefficients with their intervals") && page.contains("(2.724 to 38.84)")
    );
    // Nothing protects them.
    assert!(!read(dir.path(), "out/report.shared.html").contains("38.84"));
    let again = dzoa(dir.path(), &["report", "out"]);
    assert!(again.status.success());
    assert_eq!(read(dir.path(), "out/report.html"), page);
}

#[test]
fn a_line_has_the_standard_errors_of_the_textbook_in_the_units_of_the_file() {
    let (x, y) = ([1.0, 2.0, 4.0, 7.0, 11.0_f64], [2.0, 1.0, 5.0, 6.0, 11.0_f64]);
    let rows = |part: std::ops::Range<usize>| {
        let rows: String = part.map(|i| format!("{},{}\n", x[i], y[i])).collect();
        format!("x,y\n{rows}")
    };
    let dir = study("squared", LINE, [&rows(0..2), &rows(2..5)]);
    let found = &json(dir.path(), &["run", "run.toml", "--out", "out", "--json"])["intervals"];
    let (mean_x, mean_y) = (5.0, 5.0);
    let sxx: f64 = x.iter().map(|x| (x - mean_x).powi(2)).sum();
    let slope = x.iter().zip(y).map(|(x, y)| (x - mean_x) * (y - mean_y)).sum::<f64>() / sxx;
    let constant = mean_y - slope * mean_x;
    let rest: f64 = x.iter().zip(y).map(|(x, y)| (y - constant - slope * x).powi(2)).sum();
    let s = (rest / 3.0).sqrt();
    let [first, second] = [0, 1].map(|at| &found["coefficients"][at]);
    assert!(close(&first["estimate"], constant) && close(&second["estimate"], slope), "{found}");
    let error = s * (0.2 + mean_x * mean_x / sxx).sqrt();
    assert!(close(&first["standard_error"], error), "{found}");
    assert!(close(&second["standard_error"], s / sxx.sqrt()), "{found}");
    assert_eq!(found["degrees_of_freedom"], 3.0);
    assert_eq!(second.get("odds_ratio"), None);
    // The quantile of Student's t with three degrees of freedom at 97.5 %.
    let high = slope + 3.182446305284263 * s / sxx.sqrt();
    assert!(close(&second["high"], high), "{found}");
}

#[test]
fn intervals_that_nobody_knows_are_refused_before_and_those_that_do_not_exist_after() {
    let dir = study("logistic", SMOKING, [&cells([4, 0, 0, 8]), &cells([8, 0, 0, 22])]);
    for (sets, problem) in [
        (
            "privacy={mechanism=\"joint\",total_epsilon=1.0,delta=1e-5}",
            "nobody knows intervals that count the noise of `joint`",
        ),
        ("problem.loss=hinge", "the loss `hinge` says nothing about how targets scatter"),
        ("inference=perhaps", "`inference` must be true or false"),
    ] {
        let output = dzoa(dir.path(), &["run", "run.toml", "--out", "out", "--set", sets]);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(problem) && stderr.contains("hint: "), "{stderr}");
        assert!(!dir.path().join("out").exists());
    }
    // One class alone, whatever the column: the run has its model, and says so.
    std::fs::write(dir.path().join("a.csv"), cells([4, 0, 3, 0])).unwrap();
    std::fs::write(dir.path().join("b.csv"), cells([8, 0, 1, 0])).unwrap();
    let output = dzoa(dir.path(), &["run", "run.toml", "--out", "out"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let words = "no intervals: without a penalty there are no coefficients";
    assert!(output.status.success() && text.contains(words), "{text}");
    assert!(read(dir.path(), "out/report.html").contains("There are none: without a penalty"));
    // All smokers are ill: their odds have no end, and those of the others are theirs alone.
    std::fs::write(dir.path().join("a.csv"), cells([4, 0, 3, 8])).unwrap();
    std::fs::write(dir.path().join("b.csv"), cells([8, 0, 1, 22])).unwrap();
    let found = &json(dir.path(), &["run", "run.toml", "--out", "rare", "--json"])["intervals"];
    let [constant, smoker] = [0, 1].map(|at| &found["coefficients"][at]);
    assert!(close(&constant["estimate"], (4.0 / 30.0_f64).ln()), "{found}");
    assert_eq!(smoker["lacks"], "grows for ever: all its rows are of one class");
    assert_eq!((&smoker["estimate"], &found["rows"]), (&Value::Null, &34.into()));
}
