//! Many rows in a file: what they take, and that they can be fitted.

mod common;

use common::{dzoa, json};
use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};

const ROWS: usize = 100_000;
const COLUMNS: usize = 20;

/// A file of numbers that repeat late, and a config for it.
fn written(dir: &Path, rows: usize) {
    let mut text: String = (0..COLUMNS).map(|p| format!("x{p},")).collect();
    text.push_str("y\n");
    let mut state = 1u64;
    let mut next = || {
        // Knuth's MMIX generator; its high bits are good enough.
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f64 / (1u64 << 23) as f64 - 1.0
    };
    for _ in 0..rows {
        let row: Vec<f64> = (0..COLUMNS).map(|_| next()).collect();
        row.iter().for_each(|value| write!(text, "{value:.4},").unwrap());
        writeln!(text, "{}", u8::from(row[0] - row[1] + next() > 0.0)).unwrap();
    }
    std::fs::write(dir.join("rows.csv"), text).unwrap();
    let column = |p: usize| format!("{{ name = \"x{p}\", kind = \"numeric\", bound = 1 }}");
    let columns: Vec<String> = (0..COLUMNS).map(column).collect();
    let config = format!(
        "name = \"large\"\nrun = {{ seed = 1 }}\n\
         problem = {{ loss = \"logistic\", eta = 0.001, scale = \"pooled\", intercept = false }}\n\
         data = {{ file = \"rows.csv\", partition = \"contiguous\", agents = 2 }}\n\
         network = {{ topology = \"complete\" }}\n\
         algorithm = {{ name = \"admm\", rho = \"auto\", rounds = 3 }}\n\
         privacy = {{ mechanism = \"output\", total_epsilon = 1.0, delta = 1e-6 }}\n\
         [schema]\ncolumns = [{}]\ntarget = {{ name = \"y\", positive = {{ above = 0 }} }}\n",
        columns.join(", ")
    );
    std::fs::write(dir.join("run.toml"), config).unwrap();
}

/// The most memory that a process has had, in bytes, as the kernel counts it.
fn high_water(process: u32) -> Option<usize> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(1024 * line.split_whitespace().nth(1)?.parse::<usize>().ok()?)
}

/// A megabyte of text is less than one of numbers, and a run took fifty of it.
#[test]
fn a_run_takes_three_times_its_rows_at_most() {
    let dir = tempfile::tempdir().unwrap();
    written(dir.path(), ROWS);
    let mut run = Command::new(env!("CARGO_BIN_EXE_dzoa"))
        .current_dir(dir.path())
        .args(["run", "run.toml", "--out", "out"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut most = 0;
    let status = loop {
        most = high_water(run.id()).unwrap_or(0).max(most);
        match run.try_wait().unwrap() {
            Some(status) => break status,
            None => std::thread::sleep(std::time::Duration::from_millis(2)),
        }
    };
    assert!(status.success());
    if cfg!(target_os = "linux") {
        let (rows, program) = (ROWS * (COLUMNS + 1) * 8, 24 << 20);
        assert!(most > rows && most < 3 * rows + program, "{} MB", most >> 20);
    }
    let summary = std::fs::read_to_string(dir.path().join("out/summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    let (gap, optimum) = (&summary["optimum_gap"], summary["optimum"].as_f64().unwrap());
    assert!(gap.as_f64().unwrap().abs() < 1e-9 * optimum, "{gap}");
}

#[test]
fn the_optimum_is_left_out_where_nobody_wants_it() {
    let dir = tempfile::tempdir().unwrap();
    written(dir.path(), 2000);
    let run = |wish: &str, out: &str| {
        let wish = format!("run.reference={wish}");
        json(dir.path(), &["run", "run.toml", "--json", "--out", out, "--set", &wish])
    };
    let (without, with) = (run("never", "a"), run("always", "b"));
    assert!(without["optimum"].is_null() && without["final_error"].is_null());
    assert!(with["optimum"].as_f64().unwrap() > 0.0 && with["final_error"].is_number());
    // Nothing else depends on it.
    assert_eq!(without["coefficients"], with["coefficients"]);
    let output = dzoa(dir.path(), &["run", "--set", "run.reference=never"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("`run.reference` is \"never\"") && error.contains("hint:"), "{error}");
}
