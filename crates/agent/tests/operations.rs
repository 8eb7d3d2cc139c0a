//! What whoever operates a site relies on: SIGTERM and a second start, metrics, logs, renewed certificates.

mod agents;
#[path = "../../cli/tests/common/mod.rs"]
mod common;

use agents::{Agent, start};
use common::{dzoa, json};
use dzoa::agent::Inputs;
use dzoa_node::journal::JournalRecord;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const NAMES: [&str; 3] = ["a", "b", "c"];
const LIMIT: Duration = Duration::from_secs(120);

/// Three agents on loopback, with what a test needs of them.
fn network_file(topology: &str, regularizer: &str, algorithm: &str, privacy: &str) -> String {
    format!(
        r#"
name = "operations"
[problem]
loss = "logistic"
regularizer = "{regularizer}"
eta = 0.1
[data]
synthetic = {{ agents = 3, samples = 200, features = 6 }}
[network]
topology = "{topology}"
{}
[algorithm]
{algorithm}
[privacy]
{privacy}
[run]
seed = 3
"#,
        agents::on_loopback(&NAMES)
    )
}

fn log(dir: &Path, name: &str) -> String {
    std::fs::read_to_string(dir.join(format!("log-{name}"))).unwrap()
}

/// The lines of a log that are JSON.
fn records(dir: &Path, name: &str) -> Vec<serde_json::Value> {
    log(dir, name).lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// The last round that an agent's log speaks of.
fn round(dir: &Path, name: &str) -> u64 {
    records(dir, name).iter().filter_map(|line| line["fields"]["round"].as_u64()).max().unwrap_or(0)
}

fn wait_for(what: &str, mut held: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !held() {
        assert!(begun.elapsed() < LIMIT, "still not: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn ended(agent: &mut Agent) -> std::process::ExitStatus {
    let mut status = None;
    wait_for("the agent's end", || {
        status = agent.0.try_wait().unwrap();
        status.is_some()
    });
    status.unwrap()
}

/// What Prometheus would see.
fn metrics(port: u16) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// The value of a metric, with its labels as they are written.
fn value(metrics: &str, name: &str) -> f64 {
    let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in {metrics}")).parse().unwrap()
}

#[test]
fn sigterm_renewal_and_a_second_start_change_no_bit_and_metrics_and_logs_tell_of_it() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    // A path: b is between the others. Some seconds long.
    let algorithm = "rho = 0.1\nrounds = 2000\ninner_steps = 20\ndirections = 10";
    let privacy = "mechanism = \"output\"\ntotal_epsilon = 8.0\ndelta = 1e-5";
    let file = network_file("path", "l1", algorithm, privacy);
    std::fs::write(dir.join("net.toml"), file).unwrap();
    let simulated = json(dir, &["run", "net.toml", "--out", "simulated", "--json"]);
    let certs = ["certs", "--network", "net.toml", "--out", "certs"];
    assert!(dzoa(dir, &certs).status.success());
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let json_logs = ["--log-format", "json"];
    let mut a = start(dir, "a", &["--log-format", "json", "--metrics", &port.to_string()]);
    // b is not there yet.
    let mut c = start(dir, "c", &json_logs);
    wait_for("a says whom it waits for", || log(dir, "a").contains("not yet met: b"));
    let mut b = start(dir, "b", &json_logs);
    wait_for("some rounds", || round(dir, "b") > 50);

    // In the midst of it: Prometheus' view of a.
    let text = metrics(port);
    assert!(text.starts_with("HTTP/1.1 200"), "{text}");
    assert!(value(&text, "dzoa_rounds_done") > 0.0 && value(&text, "dzoa_rounds") == 2000.0);
    assert!(value(&text, "dzoa_sent_bytes_total") > 1000.0);
    assert!(value(&text, "dzoa_received_frames_total") > 10.0);
    assert!(value(&text, "dzoa_waiting_seconds{neighbour=\"b\"}") > 0.0);
    assert_eq!(value(&text, "dzoa_refused_frames_total"), 0.0);
    // Seeded: there is no epsilon to show.
    assert!(!text.contains("dzoa_epsilon"), "{text}");

    // SIGTERM, by its id.
    let killed = Command::new("kill").arg("-TERM").arg(b.0.id().to_string()).status().unwrap();
    assert!(killed.success());
    assert_eq!(ended(&mut b).code(), Some(130));
    let words = log(dir, "b");
    assert!(words.contains("everything is kept in state-b"), "{words}");
    assert!(words.contains("hint: the same command goes on from there"), "{words}");
    let stopped = round(dir, "b");
    assert!(stopped < 2000, "it was over before it was stopped");

    // Renewed under the same authority; a and c go on with what they have.
    let old = std::fs::read(dir.join("certs/b.pem")).unwrap();
    let authority = std::fs::read(dir.join("certs/ca.pem")).unwrap();
    let renewed = dzoa(dir, &certs);
    assert!(String::from_utf8_lossy(&renewed.stdout).contains("renewed with the authority"));
    assert_ne!(std::fs::read(dir.join("certs/b.pem")).unwrap(), old);
    assert_eq!(std::fs::read(dir.join("certs/ca.pem")).unwrap(), authority);
    let mut b = start(dir, "b", &json_logs);
    wait_for("b goes on", || log(dir, "b").contains("goes on in round"));
    for (name, agent) in NAMES.iter().zip([&mut a, &mut b, &mut c]) {
        let status = ended(agent);
        assert!(status.success(), "{name}: {status}: {}", log(dir, name));
        // The last word is where the model is.
        let said = log(dir, name);
        let last = said.trim_end().lines().next_back().unwrap_or_default();
        assert!(last.contains("done: the model is ") && last.contains("model.json"), "{said}");
    }
    for (k, name) in NAMES.iter().enumerate() {
        let summary =
            std::fs::read_to_string(dir.join(format!("state-{name}/summary.json"))).unwrap();
        let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
        assert_eq!(summary["coefficients"][0], simulated["coefficients"][k], "agent {name}");
    }

    // Every line of a finished agent's log is a record, with what a log collector looks for.
    let lines = records(dir, "a");
    assert_eq!(lines.len(), log(dir, "a").lines().count(), "{}", log(dir, "a"));
    let last = lines.iter().rfind(|line| line["fields"]["message"] == "round").unwrap();
    assert!(last["timestamp"].is_string() && last["level"] == "INFO", "{last}");
    assert_eq!(last["fields"]["agent"], "a");
    assert_eq!(last["fields"]["round"], 2000);
    assert!(last["fields"]["ms_per_round"].as_f64().unwrap() > 0.0);
    // No log ever holds a private key.
    for name in NAMES {
        assert!(!log(dir, name).contains("PRIVATE KEY"));
    }
}

/// Whether colours are in it: `ESC [ ... m`, and not what moves a progress bar.
fn coloured(text: &str) -> bool {
    let ends = |rest: &str| {
        rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').starts_with('m')
    };
    text.split("\x1b[").skip(1).any(ends)
}

/// An agent alone for some seconds, with a certificate that is worth a warning: its status, and what
/// it said. On a terminal if that is asked for.
fn alone(variable: &str, value: &str, terminal: bool) -> (Option<i32>, String) {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    let algorithm = "rho = 0.1\nrounds = 20\ninner_steps = 20";
    let file = network_file("path", "l1", algorithm, "mechanism = \"none\"");
    let impatient = file.replace("[network]", "[network]\npatience = 1.0");
    std::fs::write(dir.join("net.toml"), impatient).unwrap();
    let certs = ["certs", "--network", "net.toml", "--out", "certs", "--days", "1"];
    assert!(dzoa(dir, &certs).status.success());
    let agent = "agent --network net.toml --name a --certs certs --state state";
    // In the foreground: else it signals its whole group, the agent twice.
    let args = format!("--signal=TERM 8 {} {agent}", env!("CARGO_BIN_EXE_dzoa-agent"));
    let mut command = Command::new(if terminal { "script" } else { "timeout" });
    match terminal {
        true => command.args(["-qec", &format!("timeout --foreground {args}"), "/dev/null"]),
        false => command.args(["--foreground", "--preserve-status"]).args(args.split(' ')),
    };
    command.env_remove("RUST_LOG").env_remove("NO_COLOR").env(variable, value);
    let output = command.current_dir(dir).stdin(std::process::Stdio::null()).output().unwrap();
    let words = [output.stdout, output.stderr].concat();
    let words = String::from_utf8_lossy(&words).into_owned();
    // However much is asked for, no line of the key is in it.
    let key = std::fs::read_to_string(dir.join("certs/a.key")).unwrap();
    assert!(key.lines().count() > 2 && key.lines().all(|line| !words.contains(line)));
    assert_eq!(dir.join("state").exists(), output.status.code() != Some(2), "{words}");
    (output.status.code(), words)
}

#[test]
fn an_agent_waits_for_neighbours_that_were_never_there_and_obeys_rust_log() {
    std::thread::scope(|scope| {
        for (level, warned) in [("", true), ("error", false), ("trace", true)] {
            scope.spawn(move || {
                let (code, words) = alone("RUST_LOG", level, false);
                assert_eq!(code, Some(130), "{words}");
                assert!(words.contains("everything is kept in state"), "{words}");
                let warning = words.contains("WARN the certificate expires on");
                assert_eq!(warning, warned, "RUST_LOG={level}: {words}");
                assert_eq!(words.contains("zenoh"), level == "trace", "RUST_LOG={level}");
                assert!(!coloured(&words), "there is no terminal");
            });
        }
    });
    let (code, words) = alone("RUST_LOG", "dzoa=loud", false);
    assert_eq!(code, Some(2), "{words}");
    assert!(words.starts_with("error: RUST_LOG: `dzoa=loud` cannot be read"), "{words}");
    assert!(words.contains("\n\nhint: "), "{words}");
}

/// `script` of util-linux gives the agent a terminal.
#[cfg(target_os = "linux")]
#[test]
fn an_agent_on_a_terminal_obeys_no_color() {
    if Command::new("script").arg("--version").output().is_err() {
        return common::skip("colours on a terminal", "no program `script`");
    }
    std::thread::scope(|scope| {
        for (value, expected) in [("", true), ("1", false)] {
            scope.spawn(move || {
                let (code, words) = alone("NO_COLOR", value, true);
                assert_eq!(code, Some(124), "{words}");
                assert!(words.contains("the certificate expires on"), "{words}");
                assert_eq!(coloured(&words), expected, "NO_COLOR={value}: {words:?}");
            });
        }
    });
}

/// Rounds that were completed without the straggler's vector of that round.
fn rounds_without(journal: &Path, straggler: usize) -> usize {
    let records = dzoa_node::journal::read(journal).unwrap();
    let completed = records.into_iter().filter_map(|record| match record {
        JournalRecord::Round { inputs, .. } => Some(inputs),
        _ => None,
    });
    let alone = |inputs: &Inputs| {
        !inputs.vectors.iter().any(|(from, round, _)| (*from, *round) == (straggler, inputs.round))
    };
    completed.flatten().map(Inputs::from).filter(alone).count()
}

#[test]
fn with_a_straggler_the_partial_mode_goes_on_and_ends_at_the_same_optimum() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    // Exact ADMM that does not wait for whoever is late.
    let partial = "mode = \"partial\"\nround_limit = 0.02\nlag = 5";
    let algorithm = format!("name = \"admm\"\n{partial}\nrho = 0.2\nrounds = 900");
    let file = network_file("complete", "l2", &algorithm, "mechanism = \"none\"");
    std::fs::write(dir.join("net.toml"), file).unwrap();
    // In a simulation nobody is late: where it must end.
    let simulated = json(dir, &["run", "net.toml", "--out", "simulated", "--json"]);
    assert!(dzoa(dir, &["certs", "--network", "net.toml", "--out", "certs"]).status.success());
    let json_logs = ["--log-format", "json"];
    let mut agents: Vec<Agent> = NAMES.iter().map(|name| start(dir, name, &json_logs)).collect();
    // c is held up four fifths of the time, by its id, until it is done.
    let late = agents[2].0.id().to_string();
    let signal = |what: &str| Command::new("kill").args([what, &late]).status().unwrap();
    let begun = Instant::now();
    while agents[2].0.try_wait().unwrap().is_none() {
        assert!(begun.elapsed() < LIMIT, "{:?}", NAMES.map(|name| round(dir, name)));
        signal("-STOP");
        std::thread::sleep(Duration::from_millis(200));
        signal("-CONT");
        std::thread::sleep(Duration::from_millis(50));
    }
    for (name, agent) in NAMES.iter().zip(&mut agents) {
        let status = ended(agent);
        assert!(status.success(), "{name}: {status}: {}", log(dir, name));
        // The last word is where the model is.
        let said = log(dir, name);
        let last = said.trim_end().lines().next_back().unwrap_or_default();
        assert!(last.contains("done: the model is ") && last.contains("model.json"), "{said}");
    }
    let alone = rounds_without(&dir.join("state-a/journal"), 2);
    assert!(alone > 0, "a always waited for c");
    for (k, name) in NAMES.iter().enumerate() {
        let summary =
            std::fs::read_to_string(dir.join(format!("state-{name}/summary.json"))).unwrap();
        let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
        let numbers = |values: &serde_json::Value| -> Vec<f64> {
            values.as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
        };
        let (found, expected) =
            (numbers(&summary["coefficients"][0]), numbers(&simulated["coefficients"][k]));
        let distance: f64 = found.iter().zip(&expected).map(|(a, b)| (a - b).powi(2)).sum();
        let size: f64 = expected.iter().map(|b| b * b).sum();
        assert!(distance <= 1e-12 * size, "{name}: off by {:e}", (distance / size).sqrt());
    }
}
