//! The ledger accompanies its data set: through versions, state directories, backups and typing errors.

mod agents;
#[path = "../../cli/tests/common/mod.rs"]
mod common;

use agents::Agent;
use common::{dzoa, json, root};
use dzoa_node::wire::{Frame, Received};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tempfile::tempdir;

const NAMES: [&str; 3] = ["a", "b", "c"];
const LIMIT: Duration = Duration::from_secs(60);

fn fixture(name: &str) -> PathBuf {
    root().join("crates/cli/tests/fixtures/0.2.3").join(name)
}

/// Three sites on a ring with files of their own, no seed, an exact mechanism: the real thing, on loopback.
fn study(dir: &Path, rounds: u64, more: &str) {
    for (k, name) in NAMES.iter().enumerate() {
        let row =
            |i: usize| format!("{},{},{}\n", i % 7, (i * i + k) % 5, ["no", "yes"][(i + k) % 2]);
        let rows: String = (0..40).map(row).collect();
        std::fs::write(dir.join(format!("{name}.csv")), format!("x,y,ill\n{rows}")).unwrap();
    }
    let text = format!(
        r#"
name = "study"
[problem]
loss = "logistic"
eta = 0.1
[network]
topology = "ring"
{}
{more}
[algorithm]
name = "admm"
rho = 0.1
rounds = {rounds}
[privacy]
mechanism = "output"
total_epsilon = 1.0
delta = 1e-5
[schema]
columns = [
  {{ name = "x", kind = "numeric", low = 0, high = 7 }},
  {{ name = "y", kind = "numeric", low = 0, high = 5 }},
]
target = {{ name = "ill", positive = {{ equals = "yes" }} }}
"#,
        agents::on_loopback(&NAMES)
    );
    std::fs::write(dir.join("net.toml"), text).unwrap();
    assert!(dzoa(dir, &["certs", "--network", "net.toml", "--out", "certs"]).status.success());
}

fn flags(name: &str) -> [String; 6] {
    let data = format!("{name}.csv");
    let ledger = format!("{name}.ledger");
    let frames = format!("frames-{name}");
    ["--data".into(), data, "--ledger".into(), ledger, "--record-frames".into(), frames]
}

fn start(dir: &Path, name: &str, state: &str, extra: &[&str]) -> Agent {
    let flags = flags(name);
    let given: Vec<&str> = flags.iter().map(String::as_str).chain(extra.iter().copied()).collect();
    agents::start_in(dir, name, state, &given)
}

fn ended(agent: &mut Agent) -> ExitStatus {
    let begun = Instant::now();
    loop {
        if let Some(status) = agent.0.try_wait().unwrap() {
            return status;
        }
        assert!(begun.elapsed() < LIMIT, "still running");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn log(dir: &Path, name: &str) -> String {
    std::fs::read_to_string(dir.join(format!("log-{name}"))).unwrap_or_default()
}

/// A whole run of the study, in state directories of this name.
fn run_all(dir: &Path, states: &str, extra: &[&str]) {
    let mut all: Vec<Agent> =
        NAMES.iter().map(|name| start(dir, name, &format!("{states}-{name}"), extra)).collect();
    for (agent, name) in all.iter_mut().zip(NAMES) {
        assert!(ended(agent).success(), "{name}: {}", log(dir, name));
    }
}

fn releases(dir: &Path, name: &str) -> u64 {
    let ledger = format!("{name}.ledger");
    json(dir, &["ledger", "show", &ledger, "--json"])["releases"].as_u64().unwrap()
}

/// What 0.2.3 printed for these files (`dzoa ledger show FILE --json`): entries and epsilon_spent.
const OLD: [(&str, u64, Option<f64>); 3] = [
    ("gaussian.ledger", 10, Some(1.4651537594366584)),
    ("pure.ledger", 5, Some(0.9999999990002977)),
    ("open.ledger", 3, None),
];

#[test]
fn an_old_ledger_is_refused_with_the_way_out_and_carried_over_without_losing_a_charge() {
    let dir = tempdir().unwrap();
    for (name, entries, spent) in OLD {
        std::fs::copy(fixture(name), dir.path().join(name)).unwrap();
        let refused = dzoa(dir.path(), &["ledger", "show", name]);
        let error = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{error}");
        assert!(error.contains("format 1") && error.contains("dzoa ledger migrate"), "{error}");
        let args = ["ledger", "migrate", name, "--dataset", "north", "--json"];
        let migrated = json(dir.path(), &args);
        let shown = json(dir.path(), &["ledger", "show", name, "--json"]);
        assert_eq!(migrated, shown, "{name}");
        assert_eq!(shown["releases"], entries, "{name}");
        assert_eq!(shown["dataset"], "north");
        match (shown["epsilon_spent"].as_f64(), spent) {
            // Never less than it was; the account of today rounds at other places.
            (Some(now), Some(before)) => {
                assert!(
                    now >= before * (1.0 - 1e-12) && now <= before * (1.0 + 1e-9),
                    "{name}: {now}"
                );
            }
            (now, before) => assert_eq!(now, before, "{name}"),
        }
        let kept = std::fs::read(dir.path().join(format!("{name}.format-1"))).unwrap();
        assert_eq!(kept, std::fs::read(fixture(name)).unwrap(), "the old one is kept as it was");
        let again = dzoa(dir.path(), &args);
        assert_eq!(again.status.code(), Some(2));
        let mode = std::fs::metadata(dir.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn an_old_ledger_that_was_changed_is_not_carried_over() {
    let dir = tempdir().unwrap();
    let text = std::fs::read_to_string(fixture("gaussian.ledger")).unwrap();
    let cases = [
        ("a charge", text.replacen("round 3", "round 4", 1)),
        (
            "a line less",
            text.lines()
                .filter(|l| !l.contains("\"index\":4,"))
                .map(|l| format!("{l}\n"))
                .collect(),
        ),
        ("a torn end", text[..text.len() - 20].to_string()),
    ];
    for (what, changed) in cases {
        std::fs::write(dir.path().join("x.ledger"), &changed).unwrap();
        let output = dzoa(dir.path(), &["ledger", "migrate", "x.ledger", "--dataset", "x"]);
        assert_eq!(output.status.code(), Some(2), "{what}");
        assert_eq!(
            std::fs::read_to_string(dir.path().join("x.ledger")).unwrap(),
            changed,
            "{what}"
        );
    }
}

#[test]
fn an_old_journal_is_refused_by_its_format() {
    let dir = tempdir().unwrap();
    study(dir.path(), 3, "");
    std::fs::create_dir(dir.path().join("state-a")).unwrap();
    std::fs::copy(fixture("journal"), dir.path().join("state-a/journal")).unwrap();
    // Its ledger is there: the journal is what is refused.
    let mut first = start(dir.path(), "a", "other", &["--new-ledger", "--budget", "1"]);
    while !dir.path().join("other/journal").metadata().is_ok_and(|file| file.len() > 0) {
        std::thread::sleep(Duration::from_millis(20));
    }
    first.0.kill().unwrap();
    drop(first);
    let mut agent = start(dir.path(), "a", "state-a", &[]);
    assert!(!ended(&mut agent).success());
    let log = log(dir.path(), "a");
    assert!(log.contains("the journal is of format 2, and this version reads format 4"), "{log}");
    assert!(log.contains("hint: start a new run in a new state directory"), "{log}");
}

/// Break 7: a typing error, or a new state directory, gave the whole budget anew.
#[test]
fn a_guarantee_needs_a_ledger_that_is_there_or_is_begun_on_purpose() {
    let dir = tempdir().unwrap();
    study(dir.path(), 3, "");
    let base = ["agent", "--network", "net.toml", "--name", "a", "--data", "a.csv"];
    let run = |state: &str, more: &[&str]| {
        let args = [&base[..], &["--certs", "certs", "--state", state], more].concat();
        let output = dzoa(dir.path(), &args);
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, error) = run("s1", &[]);
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("--ledger is missing") && error.contains("--dataset"), "{error}");
    let (code, error) = run("s2", &["--ledger", "tpyo.ledger"]);
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("tpyo.ledger") && error.contains("--new-ledger begins one"), "{error}");
    let (code, error) = run("s3", &["--dataset", "../up"]);
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("cannot name a file"), "{error}");
    assert!(!dir.path().join("tpyo.ledger").exists());
    // A budget that does not last is refused before anything is charged.
    let small = ["--ledger", "small.ledger", "--new-ledger", "--budget", "0.5"];
    let (code, error) = run("s4", &small);
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("does not last") && error.contains("--spend-what-is-left"), "{error}");
}

/// Break 2: two state directories begun on one ledger made equal entries: 12 releases, 6 charges. And break 8: the
/// budget belongs to the data set's name, not to its encoded rows.
#[test]
fn a_second_state_directory_and_other_rows_go_on_with_the_same_budget() {
    let dir = tempdir().unwrap();
    study(dir.path(), 6, "");
    run_all(dir.path(), "one", &["--new-ledger", "--budget", "3"]);
    let rows = std::fs::read_to_string(dir.path().join("a.csv")).unwrap();
    std::fs::write(dir.path().join("a.csv"), rows + "3,3,yes\n").unwrap();
    run_all(dir.path(), "two", &[]);
    for name in NAMES {
        assert_eq!(releases(dir.path(), name), 12, "{name}");
        let text = std::fs::read_to_string(dir.path().join(format!("{name}.ledger"))).unwrap();
        let key = std::fs::read_to_string(dir.path().join(format!("{name}.ledger.key"))).unwrap();
        assert!(!text.contains(key.trim()), "the key of the digests is not beside them");
        for file in [format!("{name}.ledger"), format!("{name}.ledger.key")] {
            let mode = dir.path().join(&file).metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{file}");
        }
        for file in ["summary.json", "local.json"] {
            let path = dir.path().join(format!("two-{name}/{file}"));
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{file}");
        }
    }
    assert!(log(dir.path(), "a").contains("its budget goes on from what was spent"));
    assert!(!log(dir.path(), "b").contains("its budget goes on"));
    let spent = json(dir.path(), &["ledger", "show", "a.ledger", "--json"]);
    assert!(spent["epsilon_spent"].as_f64().unwrap() > 1.4, "both runs count: {spent}");
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// The vectors that an agent ever sent, over all its lives; fails if a round has two.
fn sent(dir: &Path, name: &str, rounds: u64) -> usize {
    let mut known: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for line in std::fs::read_to_string(dir.join(format!("frames-{name}"))).unwrap().lines() {
        let hex = line.split_once(' ').unwrap_or_default().1;
        let byte = |i: usize| u8::from_str_radix(hex.get(2 * i..2 * i + 2)?, 16).ok();
        let bytes: Option<Vec<u8>> = (0..hex.len() / 2).map(byte).collect();
        // A kill may cut a line off; that frame was never sent.
        let Some(Ok(frame)) = bytes.map(|bytes| Frame::decode(&bytes, usize::MAX)) else {
            continue;
        };
        if let Received::Vector { round, values } = frame.body {
            let values: Vec<u64> = values.iter().map(|value| value.to_bits()).collect();
            assert_eq!(
                *known.entry(round).or_insert_with(|| values.clone()),
                values,
                "{name} {round}"
            );
        }
    }
    known.keys().filter(|round| **round <= rounds).count()
}

/// Break 1, with real processes: an old state directory, an old ledger, or both, restored again and again in the middle
/// of a run. Every one is refused before anything is released; the newest goes on to the end.
#[test]
fn a_hundred_restored_backups_are_refused_and_the_run_ends_with_one_vector_a_round() {
    const ROUNDS: u64 = 400;
    const RESTORES: usize = 100;
    let temp = tempdir().unwrap();
    let dir = temp.path();
    study(dir, ROUNDS, "patience = 300");
    let mut all: Vec<Option<Agent>> = NAMES
        .iter()
        .map(|name| {
            Some(start(dir, name, &format!("state-{name}"), &["--new-ledger", "--budget", "1"]))
        })
        .collect();
    let length = |path: &str| dir.join(path).metadata().map_or(0, |file| file.len());
    let (state, ledger) = (dir.join("state-a"), dir.join("a.ledger"));
    let begun = Instant::now();
    while length("state-a/journal") < 6000 {
        assert!(begun.elapsed() < LIMIT, "{}", log(dir, "a"));
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut told = [0; 2];
    for restore in 0..RESTORES {
        all[0] = None;
        let old = dir.join("old");
        let newest = dir.join("newest");
        let _ = std::fs::remove_dir_all(&newest);
        copy(&state, &newest);
        std::fs::copy(&ledger, dir.join("newest.ledger")).unwrap();
        if restore % 10 == 0 {
            // A backup, older and older until the next one is made.
            let _ = std::fs::remove_dir_all(&old);
            copy(&state, &old);
            std::fs::copy(&ledger, dir.join("old.ledger")).unwrap();
            all[0] = Some(start(dir, "a", "state-a", &[]));
            let from = length("state-a/journal");
            while length("state-a/journal") < from + 6000 {
                let done = all[0].as_mut().unwrap().0.try_wait().unwrap();
                assert!(done.is_none() && begun.elapsed() < LIMIT, "{}", log(dir, "a"));
                std::thread::sleep(Duration::from_millis(2));
            }
            continue;
        }
        let which = restore % 2;
        copy(&old, &state);
        if which == 0 {
            std::fs::copy(dir.join("old.ledger"), &ledger).unwrap();
        }
        let before = log(dir, "a").len();
        let mut agent = start(dir, "a", "state-a", &[]);
        let begun = Instant::now();
        let status = loop {
            let said = &log(dir, "a")[before..];
            assert!(
                begun.elapsed() < LIMIT,
                "restore {restore} is not refused: {said}\n{}\n{}",
                log(dir, "b"),
                log(dir, "c")
            );
            std::thread::sleep(Duration::from_millis(20));
            if let Some(status) = agent.0.try_wait().unwrap() {
                break status;
            }
        };
        let said = log(dir, "a")[before..].to_string();
        assert!(!status.success(), "{said}");
        let words = ["remembers more of this agent", "the state is an old one"];
        assert!(said.contains(words[which]), "restore {restore}: {said}");
        told[which] += 1;
        copy(&newest, &state);
        std::fs::copy(dir.join("newest.ledger"), &ledger).unwrap();
        all[0] = Some(start(dir, "a", "state-a", &[]));
    }
    assert!(told[0] >= 40 && told[1] >= 40, "{told:?}");
    for (agent, name) in all.iter_mut().zip(NAMES) {
        assert!(ended(agent.as_mut().unwrap()).success(), "{name}: {}", log(dir, name));
        assert_eq!(sent(dir, name, ROUNDS) as u64, ROUNDS);
        assert_eq!(releases(dir, name), ROUNDS);
    }
}

/// Starts an agent that may write no file longer than so many KiB: a disk that gets full. Without
/// the record of its frames, which would be cut off as well.
fn start_in_little_room(dir: &Path, name: &str, state: &str, kib: u32) -> Agent {
    let program = env!("CARGO_BIN_EXE_dzoa-agent");
    let (data, ledger) = (format!("{name}.csv"), format!("{name}.ledger"));
    let mut command = Command::new("bash");
    command.current_dir(dir).arg("-c");
    command.arg(format!("trap '' XFSZ; ulimit -f {kib}; exec \"$0\" \"$@\"")).arg(program);
    command.args(["agent", "--network", "net.toml", "--name", name, "--state", state]);
    command.args(["--certs", "certs", "--data", &data, "--ledger", &ledger, "--stop-with-stdin"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    let log =
        std::fs::OpenOptions::new().append(true).create(true).open(dir.join(format!("log-{name}")));
    Agent(command.stderr(log.unwrap()).spawn().unwrap())
}

/// A full disk leaves a part of an entry, and the same command goes on once there is room.
#[test]
fn a_disk_that_gets_full_ends_an_agent_with_a_sentence_and_the_same_command_goes_on() {
    const ROUNDS: u64 = 20;
    let temp = tempdir().unwrap();
    let dir = temp.path();
    study(dir, ROUNDS, "");
    // The ledger is the longer file: it holds an earlier run.
    run_all(dir, "one", &["--new-ledger", "--budget", "3"]);
    let before = dir.join("a.ledger").metadata().unwrap().len();
    let room = u32::try_from(before / 1024 + 4).unwrap();
    let mut others: Vec<Agent> =
        ["b", "c"].iter().map(|name| start(dir, name, &format!("two-{name}"), &[])).collect();
    let mut full = start_in_little_room(dir, "a", "two-a", room);
    assert_eq!(ended(&mut full).code(), Some(1), "{}", log(dir, "a"));
    let said = log(dir, "a");
    assert!(said.contains("a.ledger: cannot be written") && said.contains("make room"), "{said}");
    let text = std::fs::read_to_string(dir.join("a.ledger")).unwrap();
    assert!(text.ends_with('\n'), "what could not be written whole is not there in part");
    let mut agent = start(dir, "a", "two-a", &[]);
    for agent in others.iter_mut().chain([&mut agent]) {
        assert!(ended(agent).success(), "{}", log(dir, "a"));
    }
    for name in NAMES {
        assert_eq!(releases(dir, name), 2 * ROUNDS, "{name}");
    }
}

/// A power failure in the midst of an entry: the journal has the charge, or nothing was released.
#[test]
fn a_ledger_that_was_torn_in_the_last_charge_is_mended_from_the_journal_and_no_other_is() {
    const ROUNDS: u64 = 30;
    let temp = tempdir().unwrap();
    let dir = temp.path();
    study(dir, ROUNDS, "patience = 300");
    let mut all: Vec<Option<Agent>> = NAMES
        .iter()
        .map(|name| {
            Some(start(dir, name, &format!("state-{name}"), &["--new-ledger", "--budget", "1"]))
        })
        .collect();
    let begun = Instant::now();
    while dir.join("state-a/journal").metadata().map_or(0, |file| file.len()) < 6000 {
        assert!(begun.elapsed() < LIMIT, "{}", log(dir, "a"));
        std::thread::sleep(Duration::from_millis(2));
    }
    all[0] = None;
    let whole = std::fs::read(dir.join("a.ledger")).unwrap();
    let line = |back: usize| {
        let ends =
            whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
        let ends: Vec<usize> = ends.collect();
        ends[ends.len() - 1 - back]
    };
    // Two charges are gone, and a part of the second is there; or the end is another run's.
    let other =
        [&whole[..], b"{\"index\":99,\"version\":1,\"record\":{\"charge\":{\"run\":\"00"].concat();
    for (torn, words) in [
        (whole[..line(2) + 40].to_vec(), "the ledger is an old one"),
        (other, "the last entry is cut off"),
    ] {
        std::fs::write(dir.join("a.ledger"), torn).unwrap();
        let before = log(dir, "a").len();
        let mut refused = start(dir, "a", "state-a", &[]);
        assert!(!ended(&mut refused).success());
        assert!(log(dir, "a")[before..].contains(words), "{}", &log(dir, "a")[before..]);
    }
    for kept in [line(1) + 1, line(1) + 60, line(0) - 2] {
        std::fs::write(dir.join("a.ledger"), &whole[..kept]).unwrap();
        // Nobody opens a ledger in which something is missing but the run that it belongs to.
        let shown = dzoa(dir, &["ledger", "show", "a.ledger"]);
        assert_eq!(shown.status.code(), Some(2));
    }
    all[0] = Some(start(dir, "a", "state-a", &[]));
    for (agent, name) in all.iter_mut().zip(NAMES) {
        assert!(ended(agent.as_mut().unwrap()).success(), "{name}: {}", log(dir, name));
        assert_eq!(releases(dir, name), ROUNDS, "{name}");
        assert_eq!(sent(dir, name, ROUNDS) as u64, ROUNDS);
    }
    assert!(log(dir, "a").contains("the last entry of the ledger was not finished"));
}
