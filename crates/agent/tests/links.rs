//! Links that do not come about say why, and what leaves for other machines was permitted.

mod agents;
#[path = "../../cli/tests/common/mod.rs"]
mod common;

use agents::Agent;
use common::dzoa;
use dzoa_node::certs::{Authority, CertFiles};
use dzoa_node::transport::{LinkSettings, Place, ZenohLink};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

/// Long enough for a slow machine.
const LIMIT: Duration = Duration::from_secs(90);

fn network_file(agents: &str) -> String {
    format!(
        r#"
name = "links"
[problem]
loss = "logistic"
eta = 0.1
[data]
synthetic = {{ agents = 2, samples = 20, features = 3 }}
[network]
topology = "path"
{agents}
[algorithm]
rho = 0.1
rounds = 3
[run]
seed = 3
[privacy]
mechanism = "none"
"#
    )
}

fn log(dir: &Path, name: &str) -> String {
    std::fs::read_to_string(dir.join(format!("log-{name}"))).unwrap_or_default()
}

fn says(dir: &Path, name: &str, words: &str) {
    let begun = Instant::now();
    while !log(dir, name).contains(words) {
        assert!(begun.elapsed() < LIMIT, "{name} does not say `{words}`: {}", log(dir, name));
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn certs(dir: &Path, out: &str) {
    let made = dzoa(dir, &["certs", "--network", "net.toml", "--out", out]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

fn metrics(port: u16) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn another_authority_is_named_on_both_sides_and_in_the_metrics() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    std::fs::write(dir.join("net.toml"), network_file(&agents::on_loopback(&["a", "b"]))).unwrap();
    certs(dir, "certs");
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let _a: Agent = agents::start(dir, "a", &["--metrics", &port.to_string()]);
    says(dir, "a", "not yet met: b");
    // The directory is read at the start: b gets another authority.
    std::fs::rename(dir.join("certs"), dir.join("of-a")).unwrap();
    certs(dir, "certs");
    let _b: Agent = agents::start(dir, "b", &[]);
    let words = "its certificate is of another authority than ca.pem here";
    says(dir, "a", &format!("no link to b: {words}"));
    says(dir, "b", &format!("no link to a: {words}"));
    says(dir, "a", &format!("not yet met: b ({words})"));
    let text = metrics(port);
    assert!(text.contains("dzoa_link_failures_total{neighbour=\"b\""), "{text}");
}

/// b is this process: no agent starts with a certificate that has expired.
#[test]
fn an_expired_certificate_is_named() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    let listed = agents::on_loopback(&["a", "b"]);
    std::fs::write(dir.join("net.toml"), network_file(&listed)).unwrap();
    certs(dir, "certs");
    let authority = Authority::open(&dir.join("certs")).unwrap().unwrap();
    let old = authority.issue("b", "127.0.0.1", time::Duration::hours(-1)).unwrap();
    old.write(&dir.join("certs")).unwrap();
    let address = |name: &str| {
        let rest = listed.split(&format!("name = \"{name}\", address = \"")).nth(1).unwrap();
        rest.split('"').next().unwrap().to_string()
    };
    let place = |index, name: &str| Place { index, name: name.into(), address: address(name) };
    let _b = ZenohLink::open(&LinkSettings {
        own: place(1, "b"),
        listen: None,
        neighbours: vec![place(0, "a")],
        routers: Vec::new(),
        certs: CertFiles::of(&dir.join("certs"), "b"),
        longest_frame: 4096,
    })
    .unwrap();
    let _a: Agent = agents::start(dir, "a", &[]);
    says(dir, "a", "no link to b: its certificate has expired, or the clock here is wrong");
    says(dir, "a", "no link to somebody who dialled: its certificate has expired");
}

#[test]
fn an_agent_has_neither_the_name_of_the_authority_nor_one_that_the_public_web_certifies() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    for (name, words) in [
        ("ca", "which is the authority's"),
        ("CA", "which is the authority's"),
        ("clinic.example", "must be 1 to 64 letters, digits, `-` and `_`"),
    ] {
        let listed = agents::on_loopback(&[name, "b"]);
        std::fs::write(dir.join("net.toml"), network_file(&listed)).unwrap();
        let refused = dzoa(dir, &["certs", "--network", "net.toml", "--out", "certs"]);
        let error = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{error}");
        assert!(error.contains(words) && error.contains("hint:"), "{error}");
        assert!(!dir.join("certs").exists(), "nothing is written");
    }
}

/// Over a real network a mechanism without a guarantee needs the owner's word.
#[test]
fn nothing_unprotected_leaves_for_other_machines_unasked() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    let schema = "columns = [{ name = \"x\", kind = \"numeric\", low = 0, high = 7 }]\n\
                  target = { name = \"ill\", positive = { equals = \"yes\" } }";
    let listed = "agents = [{ name = \"a\", address = \"127.0.0.1:7701\" }, \
                  { name = \"b\", address = \"b.invalid:7701\" }]";
    let rows: String = (0..9).map(|i| format!("{},{}\n", i % 7, ["no", "yes"][i % 2])).collect();
    std::fs::write(dir.join("a.csv"), format!("x,ill\n{rows}")).unwrap();
    let text = network_file(listed)
        .replace("[run]\nseed = 3\n", &format!("[schema]\n{schema}\n"))
        .replace("[data]\nsynthetic = { agents = 2, samples = 20, features = 3 }\n", "");
    std::fs::write(dir.join("net.toml"), text).unwrap();
    certs(dir, "certs");
    for name in ["a", "b"] {
        let sign = ["study", "sign", "--network", "net.toml", "--name", name, "--certs", "certs"];
        assert!(dzoa(dir, &sign).status.success());
    }
    let site = ["--network", "net.toml", "--name", "a", "--data", "a.csv", "--certs", "certs"];
    let run = |more: &[&str]| {
        let args = [&["agent"], &site[..], &["--state", "state"], more].concat();
        let output = dzoa(dir, &args);
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, error) = run(&[]);
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("`none` guarantees nothing, and `b` is at b.invalid:7701"), "{error}");
    assert!(error.contains("hint:") && error.contains("--allow-unprotected"), "{error}");
    assert!(!dir.join("state").exists(), "nothing is written");
    let checked = dzoa(dir, &[&["check"], &site[..]].concat());
    assert!(String::from_utf8_lossy(&checked.stdout).contains("--allow-unprotected"));
    // With it the next thing is looked at: here a ledger that is not there.
    let (code, error) = run(&["--allow-unprotected", "--ledger", "no.ledger"]);
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("no.ledger: the ledger cannot be opened"), "{error}");
}

/// The budget of the first study is not that of all that come after it.
#[test]
fn a_new_ledger_asks_for_the_budget_of_its_life() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    assert!(dzoa(dir, &["init", "study"]).status.success());
    let private = "privacy={mechanism=\"joint\", total_epsilon=4.0, delta=1e-5}";
    let run = ["run", "study/run.toml", "--set", private, "--ledger", "l", "--new-ledger"];
    let refused = dzoa(dir, &[&run[..], &["--out", "first"]].concat());
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{error}");
    assert!(error.contains("--budget is missing") && error.contains("this run costs 4"), "{error}");
    assert!(!dir.join("l").exists() && !dir.join("first").exists(), "nothing is written");
    for (flags, out) in [(&["--new-ledger", "--budget", "9"][..], "first"), (&[], "second")] {
        let args = [&run[..run.len() - 1], flags, &["--out", out]].concat();
        let output = dzoa(dir, &args);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{out}: {error}");
    }
}
