//! A study is what all sites have signed, and no site takes part in what is beyond its limits.

mod agents;
#[path = "../../cli/tests/common/mod.rs"]
mod common;

use agents::{on_loopback, start_with};
use common::{dzoa, json};
use dzoa_node::certs::{Authority, CertFiles};
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::{TempDir, tempdir};

const NAMES: [&str; 2] = ["north", "south"];
const LIMIT: Duration = Duration::from_secs(120);
const JOINT: &str = "{ mechanism = \"joint\", total_epsilon = 2.0, delta = 1e-5 }";

fn network(places: &str, privacy: &str) -> String {
    format!(
        "name = \"signed\"\n\
         problem = {{ loss = \"logistic\", eta = 0.1 }}\n\
         data = {{ synthetic = {{ agents = 2, samples = 30, features = 3 }} }}\n\
         network = {{ {places}, topology = \"complete\" }}\n\
         algorithm = {{ name = \"joint-gradient\", rounds = 10 }}\n\
         privacy = {privacy}\n\
         run = {{ seed = 5 }}\n"
    )
}

/// The same over files of the sites, with nothing that is only for trials.
fn over_files(places: &str, privacy: &str) -> String {
    let schema = "[schema]\ncolumns = [{ name = \"age\", kind = \"numeric\", low = 18, high = 99 }, \
                  { name = \"sex\", kind = \"categorical\", levels = [\"f\", \"m\"] }, \
                  { name = \"nr\", kind = \"id\" }]\n\
                  target = { name = \"ill\", positive = { equals = \"yes\" }, negative = { equals \
                  = \"no\" } }\n";
    let text = network(places, privacy).replace("run = { seed = 5 }\n", schema);
    let kept: Vec<&str> = text.lines().filter(|line| !line.starts_with("data")).collect();
    kept.join("\n")
}

/// What a command printed; it must end like this.
fn said(dir: &Path, args: &[&str], status: i32) -> String {
    let output = dzoa(dir, args);
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert_eq!(output.status.code(), Some(status), "{args:?}: {text}");
    text
}

/// A network file and certificates; nobody has signed.
fn study() -> TempDir {
    let dir = tempdir().unwrap();
    std::fs::write(dir.path().join("net.toml"), network(&on_loopback(&NAMES), JOINT)).unwrap();
    said(dir.path(), &["certs", "--network", "net.toml", "--out", "certs"], 0);
    dir
}

fn sign(dir: &Path, name: &str) {
    let args = ["study", "sign", "--network", "net.toml", "--name", name, "--certs", "certs"];
    assert!(said(dir, &args, 0).contains("has signed study"));
}

/// Starts the agent of north, which must be refused before anything is written or charged.
fn refused(dir: &Path, more: &[&str]) -> String {
    let agent = ["agent", "--network", "net.toml", "--name", "north", "--certs", "certs"];
    let state = ["--state", "state", "--ledger", "rows.ledger", "--new-ledger"];
    let text = said(dir, &[&agent[..], &state, more].concat(), 2);
    for path in ["state", "rows.ledger"] {
        assert!(!dir.join(path).exists(), "{path}: {text}");
    }
    assert!(text.contains("hint:"), "{text}");
    text
}

#[test]
fn sites_that_have_all_signed_run_and_others_do_not() {
    let dir = study();
    let dir = dir.path();
    let verify = ["study", "verify", "--network", "net.toml", "--certs", "certs"];
    let asked = ["--signatures", "certs"];
    sign(dir, "north");
    let text = said(dir, &verify, 2);
    assert!(text.contains("signed  north") && text.contains("open    south: has not signed"));
    assert!(refused(dir, &asked).contains("`south` has not signed"));
    sign(dir, "south");
    said(dir, &verify, 0);
    let check = ["check", "--network", "net.toml", "--name", "north", "--certs", "certs"];
    assert!(said(dir, &[&check[..], &asked].concat(), 0).contains("study: all sites have signed"));

    let started: Vec<_> = NAMES
        .iter()
        .map(|name| start_with(dir, name, &format!("state-{name}"), "certs", &asked))
        .collect();
    for mut agent in started {
        let begun = Instant::now();
        while agent.0.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(20));
            assert!(begun.elapsed() < LIMIT);
        }
        let log = |name| std::fs::read_to_string(dir.join(format!("log-{name}"))).unwrap();
        assert!(agent.0.wait().unwrap().success(), "{}", NAMES.map(log).join("\n"));
    }
    let simulated = json(dir, &["run", "net.toml", "--json", "--out", "simulated"]);
    let text = std::fs::read_to_string(dir.join("state-south/summary.json")).unwrap();
    let real: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(real["coefficients"][0], simulated["coefficients"][1]);

    // What was signed cannot be changed on a command line, and no byte of the file either.
    assert!(refused(dir, &["--signatures", "certs", "--set", "problem.eta=0.2"]).contains("--set"));
    let text = std::fs::read_to_string(dir.join("net.toml")).unwrap();
    std::fs::write(dir.join("net.toml"), text + "# a comment\n").unwrap();
    assert!(refused(dir, &asked).contains("has signed another file"));
}

#[test]
fn a_signature_of_somebody_else_is_none() {
    let dir = study();
    let dir = dir.path();
    NAMES.iter().for_each(|name| sign(dir, name));
    let path = dir.join("certs/south.signature.json");
    let good = std::fs::read_to_string(&path).unwrap();
    let refused_with = |text: &str, why: &str| {
        std::fs::write(&path, text).unwrap();
        let said = refused(dir, &["--signatures", "certs"]);
        assert!(said.contains("`south`") && said.contains(why), "{why}: {said}");
    };
    // North's under the name of south.
    let north = std::fs::read_to_string(dir.join("certs/north.signature.json")).unwrap();
    refused_with(&north, "that of `north`");
    refused_with("", "is not a signature");
    refused_with("{\"certificate\": 1}", "is not a signature");
    // Any digit of it.
    let begins = good.find("\"signature\": \"").unwrap() + "\"signature\": \"".len();
    for at in [begins + 20, begins + 60, begins + 100] {
        let mut bad = good.clone().into_bytes();
        bad[at] = if bad[at] == b'0' { b'1' } else { b'0' };
        refused_with(&String::from_utf8(bad).unwrap(), "south.signature.json");
    }
    // By a key of that name from another authority.
    let other = dir.join("other");
    std::fs::create_dir(&other).unwrap();
    let authority = Authority::new("other").unwrap();
    authority.write(&other).unwrap();
    let identity = authority.issue("south", "127.0.0.1", time::Duration::days(1)).unwrap();
    identity.write(&other).unwrap();
    let args = ["study", "sign", "--network", "net.toml", "--name", "south", "--certs", "other"];
    said(dir, &args, 0);
    let foreign = std::fs::read_to_string(other.join("south.signature.json")).unwrap();
    refused_with(&foreign, "a certificate that does not hold");
    std::fs::write(&path, good).unwrap();
    said(dir, &["study", "verify", "--network", "net.toml", "--certs", "certs"], 0);
}

#[test]
fn a_signature_outlives_the_certificate_that_it_was_made_with() {
    let dir = study();
    let dir = dir.path();
    let brief = Authority::open(&dir.join("certs")).unwrap().unwrap();
    let issue = |seconds| {
        let valid = time::Duration::seconds(seconds);
        brief.issue("north", "127.0.0.1", valid).unwrap().write(&dir.join("certs")).unwrap();
    };
    issue(3);
    NAMES.iter().for_each(|name| sign(dir, name));
    let expiry = || CertFiles::of(&dir.join("certs"), "north").check("north");
    while expiry().is_ok() {
        std::thread::sleep(Duration::from_millis(100));
    }
    said(dir, &["study", "verify", "--network", "net.toml", "--certs", "certs"], 0);
    // But nobody signs, or starts, with one that has expired.
    let args = ["study", "sign", "--network", "net.toml", "--name", "north", "--certs", "certs"];
    assert!(said(dir, &args, 2).contains("expired"));
}

#[test]
fn beyond_loopback_signatures_are_asked_for() {
    let dir = tempdir().unwrap();
    let dir = dir.path();
    let places = "agents = [{ name = \"north\", address = \"192.0.2.1:7701\" }, { name = \
                  \"south\", address = \"192.0.2.2:7701\" }]";
    std::fs::write(dir.join("net.toml"), over_files(places, JOINT)).unwrap();
    said(dir, &["certs", "--network", "net.toml", "--out", "certs"], 0);
    assert!(refused(dir, &[]).contains("is not signed by all sites: `north` has not signed"));
}

#[test]
fn a_study_beyond_the_policy_is_refused_by_name_line_and_value() {
    let dir = study();
    let dir = dir.path();
    let with = |policy: &str| {
        std::fs::write(dir.join("policy.toml"), policy).unwrap();
        ["--policy", "policy.toml"]
    };
    for (policy, expected) in [
        ("# limits\nepsilon = 1.0\n", "policy.toml:2: `epsilon` is at most 1, and the study asks"),
        ("delta = 1e-6", "policy.toml:1: `delta` is at most 0.000001"),
        ("mechanisms = [\"output\"]", "`mechanisms` allows output, and the study asks for `joint`"),
        ("mechanisms = [\"joind\"]", "did you mean `joint`?"),
        ("partners = [\"west\"]", "`partners` does not have `south`"),
        ("epsilom = 4.0", "`epsilom` is not a key"),
        ("epsilon = \"two\"", "policy.toml:1: `epsilon`"),
        ("columns = 3", "must be a list of texts"),
    ] {
        let text = refused(dir, &with(policy));
        assert!(text.contains(expected), "{policy}: {text}");
        let sign = ["study", "sign", "--network", "net.toml", "--name", "north"];
        let sign = [&sign[..], &["--certs", "certs"], &with(policy)].concat();
        assert_eq!(said(dir, &sign, 2), text);
        assert!(!dir.join("certs/north.signature.json").exists());
    }
    assert!(refused(dir, &["--policy", "nowhere.toml"]).contains("cannot be read"));
    let within = "epsilon = 2.0\ndelta = 1e-5\nmechanisms = [\"joint\", \"output\"]\n\
                  least_colluders = \"all\"\npartners = [\"south\"]\n";
    let check = ["check", "--network", "net.toml", "--name", "north", "--certs", "certs"];
    let text = said(dir, &[&check[..], &with(within)].concat(), 0);
    assert!(text.contains("study: it is within the policy"), "{text}");
    // Against one colluder only is less than all, and one is less than two.
    let net = std::fs::read_to_string(dir.join("net.toml")).unwrap();
    let weaker = net.replace("delta = 1e-5", "delta = 1e-5, colluders = 0");
    std::fs::write(dir.join("net.toml"), &weaker).unwrap();
    let text = refused(dir, &with(within));
    assert!(text.contains("`least_colluders` is all, and the study protects against 0"), "{text}");
    // A policy that does not speak of mechanisms takes part in guarantees only.
    let none = net.replace(JOINT, "{ mechanism = \"none\" }");
    std::fs::write(dir.join("net.toml"), &none).unwrap();
    assert!(refused(dir, &with("epsilon = 2.0")).contains("`none` guarantees nothing"));
    let allowed = [&check[..], &with("mechanisms = [\"none\"]")].concat();
    said(dir, &allowed, 0);
}

#[test]
fn the_page_for_a_board_says_what_is_sent_and_promised() {
    let dir = tempdir().unwrap();
    let dir = dir.path();
    let draft = |privacy: &str| {
        let agents = "agents = [{ name = \"north\", address = \"192.0.2.1:7701\" }, { name = \
                      \"south\", address = \"192.0.2.2:7701\" }, { name = \"west\", address = \
                      \"192.0.2.3:7701\" }]";
        std::fs::write(dir.join("net.toml"), over_files(agents, privacy)).unwrap();
        said(dir, &["study", "draft", "--network", "net.toml"], 0)
    };
    let exact = draft(&JOINT.replace("1e-5", "1e-5, colluders = 1"));
    for part in [
        "# Study signed",
        "- west (192.0.2.3:7701)",
        "ill, whether it is yes and not no",
        "age from 18 to 99; sex: ",
        "at most 10 times: sums over all its rows, with its share of the noise, hidden",
        "EXACT: what is sent in the whole study is (epsilon 2, delta 1e-5)",
        "at most 7.390 times as likely",
        "any 1 of the 2 other sites together",
    ] {
        assert!(exact.contains(part), "no {part}: {exact}");
    }
    assert!(!exact.contains("nr"), "what is not used is not listed: {exact}");
    let none = draft("{ mechanism = \"none\" }");
    assert!(none.contains("NOTHING: whoever sees") && !none.contains("EXACT"), "{none}");
}
