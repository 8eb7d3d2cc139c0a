//! Keys are made at the sites, and only requests for certificates travel.

mod agents;
#[path = "../../cli/tests/common/mod.rs"]
mod common;

use agents::{Agent, on_loopback, start_with};
use common::{dzoa, json};
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::tempdir;

const NAMES: [&str; 2] = ["north", "south"];
const LIMIT: Duration = Duration::from_secs(120);

fn network(dir: &Path) {
    let config = format!(
        "name = \"keys\"\n\
         problem = {{ loss = \"logistic\", eta = 0.1 }}\n\
         data = {{ synthetic = {{ agents = 2, samples = 30, features = 3 }} }}\n\
         network = {{ {}, topology = \"complete\" }}\n\
         algorithm = {{ name = \"admm\", rho = 0.1, rounds = 20 }}\n\
         privacy = {{ mechanism = \"none\" }}\n\
         run = {{ seed = 5 }}\n",
        on_loopback(&NAMES)
    );
    std::fs::write(dir.join("net.toml"), config).unwrap();
}

/// What a command printed, on a terminal so wide that nothing is broken; it must end like this.
fn said(dir: &Path, args: &[&str], status: i32) -> String {
    let output = dzoa(dir, args);
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert_eq!(output.status.code(), Some(status), "{args:?}: {text}");
    text
}

/// The line in which two people compare a key, as one of them sees it.
fn fingerprint(text: &str) -> String {
    let words = text.split_whitespace();
    let groups: Vec<&str> =
        words.filter(|w| w.len() == 4 && w.chars().all(|c| c.is_ascii_hexdigit())).collect();
    assert_eq!(groups.len(), 10, "{text}");
    groups.join(" ")
}

#[test]
fn sites_run_with_keys_that_never_left_them() {
    let dir = tempdir().unwrap();
    let dir = dir.path();
    network(dir);
    let mut seen = Vec::new();
    for name in NAMES {
        let made = said(dir, &["key", "--name", name, "--out", &format!("site-{name}")], 0);
        seen.push(fingerprint(&made));
        let path = format!("site-{name}/{name}.request.pem");
        let signed =
            said(dir, &["certs", "--network", "net.toml", "--out", "ca", "--sign", &path], 0);
        assert_eq!(fingerprint(&signed), seen[seen.len() - 1]);
        for file in ["ca.pem", &format!("{name}.pem")] {
            std::fs::copy(dir.join("ca").join(file), dir.join(format!("site-{name}/{file}")))
                .unwrap();
        }
        assert!(!dir.join(format!("ca/{name}.key")).exists(), "the key of {name} travelled");
    }
    assert_ne!(seen[0], seen[1]);
    let agents: Vec<Agent> = NAMES
        .iter()
        .map(|name| start_with(dir, name, &format!("state-{name}"), &format!("site-{name}"), &[]))
        .collect();
    for mut agent in agents {
        // Waiting closes an agent's stdin, at whose end it stops: one asks instead.
        let begun = Instant::now();
        let status = loop {
            match agent.0.try_wait().unwrap() {
                Some(status) => break status,
                None => std::thread::sleep(Duration::from_millis(20)),
            }
            assert!(begun.elapsed() < LIMIT, "{}", log(dir));
        };
        assert!(status.success(), "{}", log(dir));
    }
    let simulated = json(dir, &["run", "net.toml", "--json", "--out", "simulated"]);
    for (k, name) in NAMES.iter().enumerate() {
        let text = std::fs::read_to_string(dir.join(format!("state-{name}/summary.json"))).unwrap();
        let real: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(real["coefficients"][0], simulated["coefficients"][k]);
    }

    // The same key asks again, and renewal says nothing of a new one.
    let again = said(dir, &["key", "--name", "north", "--out", "site-north"], 0);
    assert!(again.contains("the key that was there"), "{again}");
    assert_eq!(fingerprint(&again), seen[0]);
    let sign = |request: &str| {
        said(dir, &["certs", "--network", "net.toml", "--out", "ca", "--sign", request], 0)
    };
    assert!(!sign("site-north/north.request.pem").contains("a new key"));
    // Another key in the same name is pointed out.
    said(dir, &["key", "--name", "north", "--out", "elsewhere"], 0);
    let other = sign("elsewhere/north.request.pem");
    assert!(other.contains(&format!("before it was {}", seen[0])), "{other}");
}

fn log(dir: &Path) -> String {
    NAMES.map(|name| std::fs::read_to_string(dir.join(format!("log-{name}"))).unwrap()).join("\n")
}

#[test]
fn a_request_that_is_not_in_order_is_refused_and_nothing_is_written() {
    let dir = tempdir().unwrap();
    let dir = dir.path();
    network(dir);
    for name in ["north", "west"] {
        said(dir, &["key", "--name", name, "--out", "site"], 0);
    }
    let north = dir.join("site/north.request.pem");
    let good = std::fs::read(&north).unwrap();
    let refused = |request: &str| {
        let args = ["certs", "--network", "net.toml", "--out", "ca", "--sign", request];
        let text = said(dir, &args, 2);
        assert!(!dir.join("ca").exists(), "{text}");
        text
    };
    // Somebody who is not in the network.
    let text = refused("site/west.request.pem");
    assert!(text.contains("no agent or router is called `west`") && text.contains("hint:"));
    assert!(refused("site/north.key").contains("not a request"));
    assert!(refused("nowhere.pem").contains("cannot be read"));
    // Any changed character: another key, another name, or no request any more.
    let begins = good.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let ends = good.windows(5).rposition(|end| end == b"-----").unwrap() - 30;
    for at in (begins..ends).step_by(7).filter(|at| good[*at] != b'\n') {
        let mut bad = good.clone();
        bad[at] = if bad[at] == b'A' { b'B' } else { b'A' };
        std::fs::write(dir.join("bad.pem"), &bad).unwrap();
        refused("bad.pem");
    }
    for name in ["../x", "", "ca", ".x", "a b"] {
        let text = said(dir, &["key", "--name", name, "--out", "site2"], 2);
        assert!(text.contains("--name") && !dir.join("site2").exists(), "{text}");
    }
}

#[cfg(unix)]
#[test]
fn an_agent_does_not_start_with_a_key_that_everybody_can_read() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempdir().unwrap();
    let dir = dir.path();
    network(dir);
    said(dir, &["certs", "--network", "net.toml", "--out", "certs"], 0);
    let mode = |mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(dir.join("certs/north.key"), permissions).unwrap();
    };
    let check = ["check", "--network", "net.toml", "--name", "north", "--certs", "certs"];
    said(dir, &check, 0);
    mode(0o644);
    let text = said(dir, &check, 2);
    assert!(text.contains("every user") && text.contains("chmod 600"), "{text}");
    let agent = ["agent", "--network", "net.toml", "--name", "north", "--certs", "certs"];
    let text = said(dir, &[&agent[..], &["--state", "state"]].concat(), 2);
    assert!(text.contains("every user"), "{text}");
    // A group of one's own, as for system services, is.
    mode(0o640);
    said(dir, &check, 0);
}
