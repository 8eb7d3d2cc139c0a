//! What a user meets on a terminal: first steps, words that were mistyped, counts that end, Ctrl-C.

mod common;

use common::dzoa;
use tempfile::tempdir;

fn stderr(args: &[&str]) -> (Option<i32>, String) {
    let dir = tempdir().unwrap();
    let output = dzoa(dir.path(), args);
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn dzoa_alone_says_what_to_do_first() {
    let (status, text) = stderr(&[]);
    assert_eq!(status, Some(2));
    assert!(!text.contains("error:") && text.contains("dzoa init --from"), "{text}");
    assert!(text.lines().count() <= 10 && text.lines().all(|line| line.len() <= 80), "{text}");
    // A command that needs one more word shows its own help.
    let (status, text) = stderr(&["privacy"]);
    assert_eq!(status, Some(2));
    assert!(text.contains("Usage: dzoa privacy") && !text.contains("error:"), "{text}");
}

#[test]
fn a_mistyped_word_is_answered_with_a_near_one_or_with_none() {
    for (typed, meant) in [("rnu", "run"), ("audti", "audit"), ("leger", "ledger")] {
        let (status, text) = stderr(&[typed]);
        assert_eq!(status, Some(2));
        assert!(text.contains(&format!("hint: did you mean `{meant}`?")), "{text}");
    }
    let (_, text) = stderr(&["run", "--set", "algorithm.foo=1"]);
    assert!(!text.contains("did you mean"), "nothing is near `foo`: {text}");
    let (_, text) = stderr(&["run", "--set", "algorithm.rh0=1"]);
    assert!(text.contains("did you mean `rho`?"), "{text}");
}

/// The last count that was told, where there is no terminal.
fn last_count(text: &str) -> (u64, u64) {
    let mut lines = text.lines().filter_map(|line| line.strip_suffix(" runs")?.split_once('/'));
    let (done, all) = lines.next_back().unwrap_or_else(|| panic!("no count: {text}"));
    (done.parse().unwrap(), all.parse().unwrap())
}

#[test]
fn an_audit_and_a_comparison_count_to_their_end() {
    for args in [
        vec!["audit", "--trials", "60"],
        vec!["audit", "--trials", "60", "--no-controls"],
        // Refused ones and those with one setting are in it.
        vec!["compare", "--trials", "2", "--tuning-trials", "1", "--epsilon", "1", "4"],
    ] {
        let (status, text) = stderr(&args);
        assert_eq!(status, Some(0), "{text}");
        let (done, all) = last_count(&text);
        assert_eq!(done, all, "{args:?}");
    }
}

#[test]
fn the_table_of_a_comparison_fits_eighty_columns() {
    let dir = tempdir().unwrap();
    let args = ["compare", "--trials", "2", "--tuning-trials", "1", "--epsilon", "1"];
    let output = dzoa(dir.path(), &args);
    let text = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<&str> =
        text.lines().filter(|l| l.starts_with("  algorithm") || l.contains(" to ")).collect();
    assert!(rows.len() > 4, "{text}");
    for row in rows.iter().take_while(|row| !row.contains("errs least")) {
        assert!(row.chars().count() <= 80, "{row}");
    }
}

/// Long trials after a Ctrl-C: those that ended are summarised, and the others leave nothing.
#[cfg(unix)]
#[test]
fn ctrl_c_in_many_trials_summarises_those_that_ended() {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};
    let dir = tempdir().unwrap();
    let child = Command::new(env!("CARGO_BIN_EXE_dzoa"))
        .args(["run", "--out", "r", "--set", "run.trials=100000", "--set", "run.threads=2"])
        .args(["--set", "algorithm.inner_steps=20", "--set", "algorithm.lipschitz=3"])
        .current_dir(dir.path())
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // A second trial of its own has begun only where one of the first two has ended.
    let begun = Instant::now();
    let traces = || std::fs::read_dir(dir.path().join("r")).map_or(0, |files| files.count());
    while traces() < 6 {
        assert!(begun.elapsed() < Duration::from_secs(60), "no trials after a minute");
        std::thread::sleep(Duration::from_millis(5));
    }
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let said = String::from_utf8(output.stderr).unwrap();
    let text = std::fs::read_to_string(dir.path().join("r/summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&text).unwrap();
    let ended = summary["trials"].as_u64().unwrap();
    assert!((1..100_000).contains(&ended), "{ended}");
    assert!(said.contains(&format!("{ended} of 100000 trials ended")), "{said}");
    assert_eq!(
        (&summary["trials_asked"], &summary["status"]),
        (&100_000.into(), &"stopped".into())
    );
    // Whole trials only: each has its last round in the trace.
    assert_eq!(summary["rounds_done"], summary["rounds"]);
    assert_eq!(summary["final_errors"].as_array().unwrap().len() as u64, ended);
    let trace = std::fs::read_to_string(dir.path().join("r/trace.csv")).unwrap();
    let last = format!(",{},1,", summary["rounds"]);
    assert_eq!(trace.lines().filter(|line| line.contains(&last)).count() as u64, ended);
    let left: Vec<_> = std::fs::read_dir(dir.path().join("r")).unwrap().flatten().collect();
    assert!(left.iter().all(|file| !file.file_name().to_string_lossy().starts_with("trace-")));
}

#[test]
fn the_demo_goes_straight_through_where_there_is_no_terminal() {
    let dir = tempdir().unwrap();
    let output = dzoa(dir.path(), &["demo", "--dir", "talk", "--quiet"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.as_str()), (Some(0), ""));
    let told = String::from_utf8(output.stdout).unwrap();
    // The open model, the promise, its condition, the false claim refuted, ours not.
    let order = ["NONE", "EXACT", "at most one of the others", "VIOLATED", "consistent"];
    let mut rest = told.as_str();
    for word in order {
        rest = rest.split_once(word).unwrap_or_else(|| panic!("{word}, in order: {told}")).1;
    }
    for file in ["private/report.html", "private/report.shared.html", "audit-paper/audit.svg"] {
        assert!(dir.path().join("talk").join(file).is_file(), "{file}");
    }
    assert!(!told.contains("DIR"), "{told}");
    let (status, text) = (dzoa(dir.path(), &["demo", "--dir", "talk"]), "exists already");
    assert_eq!(status.status.code(), Some(2));
    assert!(String::from_utf8(status.stderr).unwrap().contains(text));
}

/// On a terminal it waits for Enter; Ctrl-C ends it there, and nothing is left half told.
#[cfg(target_os = "linux")]
#[test]
fn the_demo_waits_on_a_terminal_and_ctrl_c_ends_it() {
    use std::io::Write;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};
    let dir = tempdir().unwrap();
    // util-linux's `script` gives a program a terminal, and passes on how it ends.
    let mut child = Command::new("script")
        .args(["--quiet", "--flush", "--return", "--command"])
        .arg(format!("{} demo", env!("CARGO_BIN_EXE_dzoa")))
        .arg("told")
        .current_dir(dir.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let told = || std::fs::read_to_string(dir.path().join("told")).unwrap_or_default();
    let until = |what: &dyn Fn() -> bool| {
        let begun = Instant::now();
        while !what() {
            assert!(begun.elapsed() < Duration::from_secs(60), "after a minute: {}", told());
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let waits = |times: usize| told().matches("Enter goes on").count() == times;
    let mut keys = child.stdin.take().unwrap();
    until(&|| waits(1));
    keys.write_all(b"\r").unwrap();
    until(&|| waits(2));
    assert!(dir.path().join("dzoa-demo/open/report.html").is_file(), "{}", told());
    keys.write_all(b"\x03").unwrap();
    until(&|| told().contains("error: stopped; what was shown is in dzoa-demo"));
    assert_eq!(child.wait().unwrap().code(), Some(130), "{}", told());
}

#[test]
fn quiet_leaves_the_result_and_verbose_tells_the_plan() {
    let quick = ["--set", "algorithm.rounds=3", "--set", "algorithm.inner_steps=5"];
    let dir = tempdir().unwrap();
    let run = |word: &str| {
        let output = dzoa(dir.path(), &[&["run", word][..], &quick].concat());
        assert!(output.status.success());
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(output.stdout), text(output.stderr))
    };
    let (result, beside) = run("-q");
    assert!(result.contains("NOMINAL") && beside.is_empty(), "{beside}");
    let (result, beside) = run("-v");
    assert!(result.contains("NOMINAL") && beside.contains("rounds"), "{beside}");
    assert!(beside.contains("messages"), "the plan: {beside}");
    let (status, text) = stderr(&["run", "-q", "-v"]);
    assert_eq!((status, text.lines().count() < 5), (Some(2), true), "{text}");
}
