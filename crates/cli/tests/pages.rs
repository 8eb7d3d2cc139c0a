//! The page for the holder of the rows, and the page for others.

mod common;
#[path = "common/private_run.rs"]
mod private_run;

use common::dzoa;
use private_run::private_run;
use serde_json::Value;
use std::path::Path;
use tempfile::tempdir;

/// Every number below a value.
fn numbers(value: &Value, found: &mut Vec<f64>) {
    match value {
        Value::Number(number) => found.extend(number.as_f64()),
        Value::Array(all) => all.iter().for_each(|value| numbers(value, found)),
        Value::Object(all) => all.values().for_each(|value| numbers(value, found)),
        _ => {}
    }
}

/// What a reader sees of a page, and the data of its charts; not the scripts of the library.
fn read(page: &Path) -> String {
    let text = std::fs::read_to_string(page).unwrap();
    let body = text.split_once("<body>").unwrap().1;
    let end = body.find("</script>").unwrap();
    body[..end].to_string()
}

/// Whether a number stands there by itself, in some usual way to write it.
fn shows(page: &str, value: f64) -> bool {
    let written = match value.fract() == 0.0 {
        true => vec![value.to_string()],
        false => [3, 4, 6, 9].iter().map(|digits| format!("{value:.digits$}")).collect(),
    };
    let alone = |at: usize, text: &str| {
        let near = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit() || c == '.');
        !near(page[..at].chars().next_back()) && !near(page[at + text.len()..].chars().next())
    };
    // Fewer than three digits say nothing by themselves.
    let telling = |text: &str| text.trim_matches(['-', '0', '.']).len() > 2;
    written
        .iter()
        .filter(|text| telling(text))
        .any(|text| page.match_indices(text.as_str()).any(|(at, _)| alone(at, text)))
}

#[test]
fn the_shared_page_has_no_number_that_was_measured_on_rows() {
    let dir = tempdir().unwrap();
    let out = private_run(dir.path());
    let file = |name: &str| -> Value {
        serde_json::from_str(&std::fs::read_to_string(out.join(name)).unwrap()).unwrap()
    };
    let (summary, local) = (file("summary.json"), file("local.json"));
    let mut secret = Vec::new();
    let measured =
        ["fit", "objective", "optimum", "final_error", "final_errors", "accuracies", "error"];
    measured.iter().for_each(|key| numbers(&summary[*key], &mut secret));
    numbers(&summary["seconds"], &mut secret);
    numbers(&local, &mut secret);
    let (own, shared) = (read(&out.join("report.html")), read(&out.join("report.shared.html")));
    let seen = secret.iter().filter(|value| shows(&own, **value)).count();
    assert!(seen > 10, "the search finds what is there: {seen} of {}", secret.len());
    for value in secret {
        assert!(!shows(&shared, value), "{value} is on the page that may be shared");
    }
    // Nor where the rows are.
    assert!(!shared.contains(".csv") && own.contains(".csv"));
    // The model is there.
    let model = file("model.json")["own_units"]["coefficients"][0]["name"].clone();
    assert!(shared.contains(model.as_str().unwrap()));
    // `dzoa report` writes the same pages from the files alone.
    assert!(dzoa(&out, &["report", "."]).status.success());
    assert_eq!(read(&out.join("report.shared.html")), shared);
}
