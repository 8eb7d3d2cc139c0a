//! `dzoa check --network`: one site, or all of them, before the day.

#[path = "../../cli/tests/common/mod.rs"]
mod common;

use common::dzoa;
use std::path::Path;
use tempfile::tempdir;

const PRIVATE: &str = "privacy={mechanism=\"joint\", total_epsilon=4.0, delta=1e-5}";

fn checked(dir: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let output = dzoa(dir, &[&["check"][..], args].concat());
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn one_site_of_a_network_is_checked_with_its_own_file() {
    let dir = tempdir().unwrap();
    assert!(dzoa(dir.path(), &["init", "."]).status.success());
    let config = std::fs::read_to_string(dir.path().join("run.toml")).unwrap();
    let places = ["north", "south", "west"]
        .map(|name| format!("{{ name = \"{name}\", address = \"127.0.0.1:0\" }}"))
        .join(", ");
    let network = config.replace("[network] ", &format!("[network]\nagents = [{places}]\n#"));
    assert_ne!(network, config);
    std::fs::write(dir.path().join("network.toml"), network).unwrap();
    let site = ["--network", "network.toml", "--name", "south", "--data", "south.csv"];
    let (status, text, said) = checked(dir.path(), &site);
    assert_eq!(status, Some(0), "{said}");
    assert!(text.contains("south.csv: 60 rows") && !text.contains("north.csv"), "{text}");
    assert!(text.contains("ready: `dzoa agent --network network.toml --name south`"), "{text}");
    let (status, text, said) = checked(dir.path(), &["--network", "network.toml"]);
    assert_eq!(status, Some(0), "{said}");
    assert!(text.contains("ready: `dzoa launch") && text.contains("west.csv: 40 rows"), "{text}");
    let (status, _, said) = checked(dir.path(), &[&site[..], &["--certs", "nowhere"]].concat());
    assert_eq!(status, Some(2), "{said}");
    // All rows of one class are told to their holder, and are no reason not to start.
    let south = std::fs::read_to_string(dir.path().join("south.csv")).unwrap();
    std::fs::write(dir.path().join("south.csv"), south.replace(",no\n", ",yes\n")).unwrap();
    let (status, text, _) = checked(dir.path(), &site);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("warning  south: all 60 rows have the label"), "{text}");
    // What was not looked at is said, and so is what rests on the rows of others.
    let (status, text, _) = checked(dir.path(), &[&site[..], &["--set", PRIVATE]].concat());
    assert_eq!(status, Some(0), "{text}");
    for part in ["not seen certificate: ", "not seen ledger: ", "as many rows as this site"] {
        assert!(text.contains(part), "no {part}: {text}");
    }
}
