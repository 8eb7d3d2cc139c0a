//! `joint-models` over programs: variables with bounds, and runs that go on from a journal.

mod common;

use common::{dzoa, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use tempfile::tempdir;

/// Two programs of three variables, which log every point they are asked for.
fn study(dir: &Path) {
    let program = r#"import json, math, sys, time
name, centre = sys.argv[1], float(sys.argv[2])
sys.stdin.readline()
for line in sys.stdin:
    question = json.loads(line)
    values = []
    for rate, servers, offset in question["points"]:
        with open(name + ".log", "a") as log:
            log.write(json.dumps([rate, servers, offset]) + "\n")
        time.sleep(0.003)
        values.append((math.log10(rate) + 2) ** 2 + (servers - 6.6) ** 2 + (offset - centre) ** 4)
    print(json.dumps({"id": question["id"], "values": values}), flush=True)
"#;
    std::fs::write(dir.join("site.py"), program).unwrap();
    let config = r#"name = "study"
[problem]
loss = "external"
variables = [
  { name = "rate", low = 1e-6, high = 1.0, scale = "log" },
  { name = "servers", low = 1, high = 40, integer = true, start = 30 },
  { name = "offset", high = 0.25 },
]
[data]
agents = [
  { name = "a", command = ["python3", "site.py", "a", "1"] },
  { name = "b", command = ["python3", "site.py", "b", "2"] },
]
[network]
topology = "path"
[algorithm]
name = "auto"
[privacy]
mechanism = "none"
"#;
    std::fs::write(dir.join("run.toml"), config).unwrap();
}

/// How often every point was asked of a site.
fn asked(dir: &Path, site: &str) -> BTreeMap<String, usize> {
    let text = std::fs::read_to_string(dir.join(format!("{site}.log"))).unwrap_or_default();
    let mut asked = BTreeMap::new();
    text.lines().for_each(|line| *asked.entry(line.to_string()).or_default() += 1);
    asked
}

#[test]
fn programs_are_asked_inside_their_bounds_only_and_the_best_is_found() {
    let dir = tempdir().unwrap();
    study(dir.path());
    let summary = json(dir.path(), &["run", "run.toml", "--json", "--out", "out"]);
    assert_eq!(summary["algorithm"], "joint-models");
    assert_eq!(summary["columns"][1], "servers");
    let found: Vec<f64> = summary["coefficients"][0]
        .as_array()
        .unwrap()
        .iter()
        .map(|x| x.as_f64().unwrap())
        .collect();
    assert!((found[0] / 1e-2 - 1.0).abs() < 1e-3, "{found:?}");
    assert_eq!(&found[1..], [7.0, 0.25]);
    for point in asked(dir.path(), "a").keys() {
        let point: Vec<f64> = serde_json::from_str(point).unwrap();
        assert!((1e-6..=1.0).contains(&point[0]) && point[2] <= 0.25, "{point:?}");
        assert!((1.0..=40.0).contains(&point[1]) && point[1].fract() == 0.0, "{point:?}");
    }
}

#[test]
fn a_killed_run_goes_on_from_its_journal_and_ends_alike() {
    let (whole, killed) = (tempdir().unwrap(), tempdir().unwrap());
    study(whole.path());
    study(killed.path());
    let args =
        |out: &'static str| ["run", "run.toml", "--json", "--resume", "values", "--out", out];
    let expected = json(whole.path(), &args("out"));
    let mut kills = 0;
    for wait in [120, 250, 180, 300, 150] {
        let mut process = std::process::Command::new(env!("CARGO_BIN_EXE_dzoa"))
            .current_dir(killed.path())
            .args(["run", "run.toml", "--resume", "values", "--out"])
            .arg(format!("out{kills}"))
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(wait));
        kills += usize::from(process.try_wait().unwrap().is_none());
        process.kill().ok();
        process.wait().unwrap();
    }
    let again = json(killed.path(), &args("last"));
    assert_eq!(again["coefficients"], expected["coefficients"]);
    assert_eq!(again["objective"], expected["objective"]);
    for site in ["a", "b"] {
        let (all, once) = (asked(killed.path(), site), asked(whole.path(), site));
        assert!(all.keys().eq(once.keys()));
        // What was under way had no answer yet.
        let twice: usize = all.values().map(|count| count - 1).sum();
        assert!(twice <= kills, "{twice} points again in {kills} kills");
    }
}

#[test]
fn bad_variables_and_journals_are_met_at_the_door() {
    let dir = tempdir().unwrap();
    study(dir.path());
    let refusal = |sets: &[&str]| {
        let mut args = vec!["run", "run.toml", "--out", "out"];
        sets.iter().for_each(|set| args.extend(["--set", set]));
        let output = dzoa(dir.path(), &args);
        assert_eq!(output.status.code(), Some(2), "{sets:?}");
        assert!(!dir.path().join("out").exists() && !dir.path().join("a.log").exists());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let variables = |text: &str| refusal(&[&format!("problem.variables=[{text}]")]);
    let text = variables(r#"{ name = "x", low = 2, high = 1 }"#);
    assert!(text.contains("high") && text.contains("is 1, below `low`, which is 2"), "{text}");
    let text = variables(r#"{ name = "x", low = -1, scale = "log" }"#);
    assert!(text.contains("needs more than 0"), "{text}");
    let text = variables(r#"{ name = "x" }, { name = "x" }"#);
    assert!(text.contains("twice"), "{text}");
    let text = variables(r#"{ name = "x", low = 1, high = 1 }"#);
    assert!(text.contains("all fixed"), "{text}");
    let text = refusal(&["problem.features=3"]);
    assert!(text.contains("has no effect"), "{text}");
    let text = refusal(&["problem.regularizer=\"l2\"", "problem.eta=1.0"]);
    assert!(text.contains("pulls variables to zero"), "{text}");
}
