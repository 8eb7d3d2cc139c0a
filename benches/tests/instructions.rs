//! Instructions that three small runs take, counted by callgrind: seconds lie on a busy machine,
//! these do not.
//!
//! `DZOA_INSTRUCTIONS=update cargo test --release --workspace --test instructions` writes
//! benches/instructions.txt anew.

#[path = "../../tests/skip.rs"]
mod skip;

use std::path::{Path, PathBuf};
use std::process::Command;

const RUNS: [&str; 3] = ["squares", "logistic", "sparse"];
/// A count may grow by so much before somebody has to look.
const TOLERANCE: f64 = 1.03;

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("instructions.txt")
}

/// The compiler that this test was built with.
fn compiler() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or("rustc".into());
    let version = Command::new(rustc).arg("--version").output().expect("rustc runs");
    String::from_utf8_lossy(&version.stdout).trim().to_string()
}

/// The count of one run, and the level of the kernels in it.
fn counted(run: &str) -> (u64, String) {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(env!("CARGO_BIN_EXE_dzoa-benches"))
        .arg(format!("count={run}"))
        .output()
        .expect("valgrind runs");
    let (stdout, stderr) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{run}: {stderr}");
    let count = stderr.lines().find_map(|line| line.split("Collected :").nth(1));
    let count = count.and_then(|text| text.trim().parse().ok()).expect("callgrind counts");
    let level = stdout.split("\"level\":\"").nth(1).and_then(|rest| rest.split('"').next());
    (count, level.unwrap_or_default().to_string())
}

#[test]
fn three_small_runs_take_no_more_instructions_than_before() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        return skip::skip(
            "the count of instructions",
            "no valgrind (cargo xtask test installs it)",
        );
    }
    let counts: Vec<(&str, u64)> = RUNS.iter().map(|run| (*run, counted(run).0)).collect();
    let machine = format!("{}, {}", std::env::consts::ARCH, counted(RUNS[0]).1);
    let compiler = compiler();
    if std::env::var_os("DZOA_INSTRUCTIONS").is_some_and(|value| value == "update") {
        let lines =
            counts.iter().map(|(run, count)| format!("{run} {count}\n")).collect::<String>();
        std::fs::write(file(), format!("{compiler}, {machine}\n{lines}")).unwrap();
    }
    let recorded = std::fs::read_to_string(file()).unwrap();
    let mut lines = recorded.lines();
    println!("{compiler}, {machine}: {counts:?}");
    // The version has no comma, and may have brackets.
    let (recorded_with, recorded_on) = lines.next().unwrap().split_once(", ").unwrap();
    assert_eq!(
        recorded_with, compiler,
        "the counts are of another compiler than this one: record them anew with \
         DZOA_INSTRUCTIONS=update cargo test --release --workspace --test instructions"
    );
    if recorded_on != machine {
        return skip::skip(
            "the count of instructions",
            &format!("the counts are of {recorded_on}"),
        );
    }
    for ((run, count), line) in counts.iter().zip(lines) {
        let (name, before) = line.split_once(' ').unwrap();
        let before: f64 = before.parse().unwrap();
        assert_eq!(name, *run);
        assert!(
            (*count as f64) <= TOLERANCE * before,
            "{run}: {count} instructions, {before} before; if that is meant, update \
             benches/instructions.txt"
        );
    }
}
