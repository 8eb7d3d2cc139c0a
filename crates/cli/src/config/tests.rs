//! The reference of keys and the readers know the same keys.

use super::*;
use dzoa::baselines;
use dzoa::plan::JOINT;
use dzoa_table::{keys_asked_for, known_keys, plain_path};
use std::collections::BTreeSet;

const FILES: &str = r#"
data = { agents = [{ name = "a", file = "a.csv" }, { name = "b", file = "b.csv" }] }
problem = { loss = "logistic", eta = 0.1, regularizer = "group-l1", groups = [["age"]] }
algorithm = { rho = 1.0, rounds = 2 }
privacy = { mechanism = "output", total_epsilon = 1.0, delta = 1e-5, schedule = { growth = 1.1 } }
[network]
edges = [["a", "b"]]
agents = [{ name = "a", address = "127.0.0.1:1" }, { name = "b", address = "127.0.0.1:2" }]
routers = [{ name = "r", address = "127.0.0.1:3" }]
[schema]
columns = [
  { name = "age", kind = "numeric", bound = 1 },
  { name = "sex", kind = "categorical", levels = ["f", "m"] },
]
target = { name = "y", positive = { equals = "1" }, negative = { equals = "0" } }
"#;

const PROGRAMS: &str = r#"
problem = { loss = "external", features = 2 }
data = { agents = [{ name = "a", command = ["a"] }, { name = "b", command = ["b"] }] }
network = { topology = "path" }
privacy = { mechanism = "none" }
"#;

const VARIABLES: &str = r#"
[problem]
loss = "external"
variables = [{ name = "rate", start = 0.1, low = 1e-3, high = 1.0, scale = "log", integer = false }]
[data]
agents = [{ name = "a", command = ["a"] }, { name = "b", command = ["b"] }]
[network]
topology = "path"
[privacy]
mechanism = "none"
"#;

const JOINT_SUMS: &str = r#"
problem = { loss = "logistic", eta = 0.1 }
data = { synthetic = { agents = 3, samples = 9, features = 2 } }
network = { topology = "path" }
algorithm = { name = "auto" }
privacy = { mechanism = "joint", total_epsilon = 1.0, delta = 1e-5, colluders = 1 }
"#;

/// Reads a config; what is asked for counts, and not whether it can be run.
fn read(text: &str) {
    let node = TomlNode::parse(text, "run.toml").unwrap();
    let outcome = match external::is_external(&node) {
        true => Config::read(&node, Path::new(""), Programs::read).map(|_| ()),
        false => Config::of_rows(&node, Path::new("")).map(|_| ()),
    };
    outcome.unwrap_or_else(|error| panic!("{error}\n{text}"));
}

#[test]
fn the_reference_has_every_key_that_is_read_and_no_other() {
    let asked = keys_asked_for(|| {
        read(PAPER);
        read(FILES);
        read(PROGRAMS);
        read(VARIABLES);
        for entry in baselines::ENTRIES {
            let named = format!("algorithm = {{ name = \"{}\", ", entry.name);
            read(
                &FILES
                    .replace("algorithm = { ", &named)
                    .replace(", schedule = { growth = 1.1 }", ""),
            );
        }
        for entry in JOINT {
            let named = format!("algorithm = {{ name = \"{}\" }}", entry.name);
            read(&JOINT_SUMS.replace("algorithm = { name = \"auto\" }", &named));
        }
    });
    let asked: BTreeSet<String> = asked.iter().map(|path| plain_path(path)).collect();
    let tables =
        ["problem", "data", "network", "algorithm", "privacy", "run", "schema", "external"];
    let asked: BTreeSet<&str> =
        asked.iter().map(String::as_str).filter(|path| !tables.contains(path)).collect();
    let known = known_keys();
    let known: BTreeSet<&str> = known.iter().map(String::as_str).collect();
    let lacking: Vec<_> = asked.difference(&known).collect();
    let unread: Vec<_> = known.difference(&asked).collect();
    assert!(lacking.is_empty(), "not in the reference: {lacking:?}");
    assert!(unread.is_empty(), "nobody reads: {unread:?}");
}
