//! Real agents of which one is killed for good: the others finish, and say who is missing.

mod agents;
#[path = "../../cli/tests/common/mod.rs"]
mod common;

use agents::Agent;
use common::{dzoa, json};
use std::path::Path;
use std::time::{Duration, Instant};

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
/// Long enough for a slow machine; a hang ends here.
const LIMIT: Duration = Duration::from_secs(200);
/// Sums: more than are taken before the kill.
const SUMS: u64 = 1000;

fn network_file() -> String {
    format!(
        r#"
name = "losses"
[problem]
loss = "logistic"
eta = 0.1
[data]
synthetic = {{ agents = 5, samples = 40, features = 4 }}
[network]
topology = "paper"
patience = 4
on_loss = "continue"
{}
[algorithm]
name = "joint-gradient"
rounds = {SUMS}
[privacy]
mechanism = "joint"
colluders = 2
total_epsilon = 8.0
delta = 1e-5
[run]
seed = 7
"#,
        agents::on_loopback(&NAMES)
    )
}

fn read(dir: &Path, name: &str, file: &str) -> serde_json::Value {
    let text = std::fs::read_to_string(dir.join(format!("state-{name}/{file}"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn four_of_five_processes_finish_without_one_that_is_killed_for_good() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    std::fs::write(dir.join("net.toml"), network_file()).unwrap();
    assert!(dzoa(dir, &["certs", "--network", "net.toml", "--out", "certs"]).status.success());
    let mut agents: Vec<Option<Agent>> =
        NAMES.iter().map(|name| Some(agents::start(dir, name, &[]))).collect();
    let begun = Instant::now();
    // Once it has said some parts.
    let journal = dir.join("state-c/journal");
    while std::fs::metadata(&journal).map_or(0, |file| file.len()) < 100_000 {
        assert!(begun.elapsed() < LIMIT, "it does not begin");
        std::thread::sleep(Duration::from_millis(5));
    }
    agents[2] = None;
    for (k, name) in NAMES.iter().enumerate().filter(|(k, _)| *k != 2) {
        let agent = agents[k].as_mut().unwrap();
        let status = loop {
            assert!(begun.elapsed() < LIMIT, "{name} does not end");
            match agent.0.try_wait().unwrap() {
                Some(status) => break status,
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        };
        let log = std::fs::read_to_string(dir.join(format!("log-{name}"))).unwrap();
        assert!(status.success(), "{name}: {log}");
        assert!(log.contains("goes on without c from round"), "{name}: {log}");
    }
    let first = read(dir, "a", "summary.json");
    let gone = first["went_on_without"]["c"].as_u64().unwrap();
    assert!(gone > 1 && gone < SUMS, "{gone}");
    for name in ["a", "b", "d", "e"] {
        let (summary, model) = (read(dir, name, "summary.json"), read(dir, name, "model.json"));
        assert_eq!(summary["status"], "finished", "{name}");
        assert_eq!(summary["rounds_done"], SUMS, "{name}");
        assert_eq!(summary["coefficients"], first["coefficients"], "{name}");
        assert_eq!(summary["went_on_without"], serde_json::json!({ "c": gone }), "{name}");
        assert_eq!(model["went_on_without"], serde_json::json!({ "c": gone }), "{name}");
        assert!(!dir.join(format!("state-{name}/root.key")).exists(), "{name}");
        // The sum that was given up was charged, and the whole run costs no more than was planned.
        let ledger = format!("state-{name}/ledger.seeded-for-tests");
        let ledger = json(dir, &["ledger", "show", &ledger, "--json"]);
        assert_eq!(ledger["releases"], SUMS + 1, "{name}");
        let spent = summary["privacy"][0]["epsilon_charged"].as_f64().unwrap();
        assert!(spent > 7.9 && spent <= 8.0, "{name}: {spent}");
    }
}
