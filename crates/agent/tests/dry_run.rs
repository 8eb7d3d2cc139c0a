//! `--dry-run`: the plan is printed, nothing is written, and nothing is charged.

#[path = "../../cli/tests/common/mod.rs"]
mod common;

use common::{dzoa, json};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tempfile::{TempDir, tempdir};

/// Three agents under an exact mechanism, everything that can be left to the rules left to them.
const NETWORK: &str = r#"
name = "three"
[problem]
loss = "logistic"
regularizer = "l2"
eta = 0.1
[data]
synthetic = { agents = 3, samples = 200, features = 4 }
[network]
topology = "path"
agents = [
  { name = "a", address = "127.0.0.1:0" },
  { name = "b", address = "127.0.0.1:0" },
  { name = "c", address = "127.0.0.1:0" },
]
[algorithm]
name = "admm"
rho = "auto"
rounds = "auto"
[privacy]
mechanism = "output"
total_epsilon = 4.0
delta = 1e-5
"#;

/// Real agents draw generated rows from a seed; a run that charges ledgers has none.
const SEEDED: &str = "[run]\nseed = 1\n";

/// A directory with the network file.
fn directory(end: &str) -> TempDir {
    let dir = tempdir().unwrap();
    std::fs::write(dir.path().join("net.toml"), format!("{NETWORK}{end}")).unwrap();
    dir
}

/// Every file below a directory with its bytes, and every directory with none.
fn contents(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(contents(&path));
            found.insert(path, Vec::new());
        } else {
            found.insert(path.clone(), std::fs::read(&path).unwrap());
        }
    }
    found
}

/// Runs the program with `--dry-run`; whatever it is told, the directory stays as it was.
fn dry(dir: &Path, args: &[&str]) -> String {
    let before = contents(dir);
    let output = dzoa(dir, &[args, &["--dry-run"]].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {stderr}");
    let after = contents(dir);
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>(), "{args:?}");
    assert!(before == after, "{args:?}: a file was changed");
    String::from_utf8(output.stdout).unwrap()
}

/// What a person reads: the algorithm, the rounds of the rule and the total.
fn says_the_plan(text: &str) {
    assert!(text.starts_with("three: the plan; nothing was computed or released\n"), "{text}");
    for part in ["admm", "output (exact)", "rounds        60, rho", "at delta 1e-5, exact"] {
        assert!(text.contains(part), "no `{part}` in:\n{text}");
    }
}

/// What a script reads: one object with every number that the rules chose.
fn has_the_numbers(plan: &Value) {
    assert_eq!(plan["algorithm"], "admm");
    assert_eq!((&plan["mechanism"], &plan["claim"]), (&"output".into(), &"exact".into()));
    assert_eq!((&plan["rounds"], &plan["features"]), (&60.into(), &4.into()));
    // The rule of `output`: 0.028 over the cube root of rows times epsilon over 1000.
    let rho = 0.028 / (200.0 * 4.0 / 1000.0_f64).cbrt();
    assert!((plan["rho"].as_f64().unwrap() / rho - 1.0).abs() < 1e-12, "{plan}");
    // A path has four directed links, and its mixing matrix the second eigenvalue 2/3: 18 rounds
    // of gossip bring the disagreement below a thousandth.
    assert_eq!((&plan["gossip_rounds"], &plan["messages"]), (&18.into(), &(4 * 78).into()));
    let total = plan["epsilon_total"].as_f64().unwrap();
    assert!((0.99 * 4.0..=4.0).contains(&total), "{total}");
    let agents = plan["agents"].as_array().unwrap();
    let names: Vec<&str> = agents.iter().filter_map(|agent| agent["name"].as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    for (agent, near) in agents.iter().zip([2, 3, 2]) {
        assert_eq!((&agent["samples"], &agent["neighbourhood"]), (&200.into(), &near.into()));
        let number = |key: &str| agent[key].as_f64().unwrap();
        assert!(number("noise_first") > 0.0 && number("sensitivity") > 0.0);
        assert!(number("epsilon_first_round") > 0.0 && number("epsilon_total") <= 4.0);
    }
}

#[test]
fn a_dry_run_prints_the_plan_and_neither_writes_nor_charges() {
    let dir = directory("");
    // Ledgers that are there keep their bytes, and new ones are not begun.
    let quick = ["--set", "algorithm.rounds=3", "--set", "privacy.total_epsilon=1.0"];
    let charged = ["run", "net.toml", "--out", "first", "--ledger", "ledgers", "--new-ledger"];
    json(dir.path(), &[&charged[..], &["--budget", "9", "--json"], &quick].concat());
    says_the_plan(&dry(dir.path(), &["run", "net.toml", "--ledger", "ledgers"]));
    dry(dir.path(), &["run", "net.toml", "--ledger", "others", "--new-ledger", "--out", "second"]);
    let printed = dry(dir.path(), &["run", "net.toml", "--json"]);
    has_the_numbers(&serde_json::from_str(&printed).unwrap());
    // The plan does not depend on the noise: the same words again.
    assert_eq!(printed, dry(dir.path(), &["run", "net.toml", "--json"]));
}

#[test]
fn a_dry_agent_prints_its_own_plan_and_neither_writes_nor_charges() {
    let dir = directory(SEEDED);
    let made = dzoa(dir.path(), &["certs", "--network", "net.toml", "--out", "certs"]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let all = dry(dir.path(), &["run", "net.toml"]);
    for name in ["a", "b", "c"] {
        let agent = ["agent", "--network", "net.toml", "--name", name];
        let state = ["--state", "state", "--certs", "certs", "--ledger", "rows.ledger"];
        let text = dry(dir.path(), &[&agent[..], &state, &["--new-ledger"]].concat());
        says_the_plan(&text);
        // Its line is that of the plan of all, and no other agent has one.
        let lines = |text: &str, name: &str| {
            let begins = format!("  {name} ");
            text.lines()
                .filter(|line| line.starts_with(&begins))
                .map(String::from)
                .collect::<Vec<_>>()
        };
        assert_eq!(lines(&text, name), lines(&all, name), "{text}");
        let others = ["a", "b", "c"].into_iter().filter(|other| *other != name);
        assert!(others.flat_map(|other| lines(&text, other)).next().is_none(), "{text}");
    }
}

#[test]
fn a_dry_launch_prints_the_plan_of_the_run_and_starts_nobody() {
    let dir = directory(SEEDED);
    says_the_plan(&dry(dir.path(), &["launch", "--network", "net.toml"]));
    let launched = dry(dir.path(), &["launch", "--network", "net.toml", "--out", "out", "--json"]);
    has_the_numbers(&serde_json::from_str(&launched).unwrap());
    assert_eq!(launched, dry(dir.path(), &["run", "net.toml", "--json"]), "one plan for both");
}
