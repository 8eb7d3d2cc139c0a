//! Runs the real program in a directory of its own.
#![allow(dead_code)]

#[path = "../../../../tests/skip.rs"]
mod skip;

pub use skip::skip;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The program under test: `dzoa`, or `dzoa-agent` in its own tests, which does all of it as well.
pub const PROGRAM: &str =
    match (option_env!("CARGO_BIN_EXE_dzoa"), option_env!("CARGO_BIN_EXE_dzoa-agent")) {
        (Some(program), _) | (None, Some(program)) => program,
        (None, None) => panic!("a test of another package"),
    };

pub fn dzoa(dir: &Path, args: &[&str]) -> Output {
    Command::new(PROGRAM).args(args).current_dir(dir).output().unwrap()
}

/// Runs, expects success, and parses what `--json` printed.
pub fn json(dir: &Path, args: &[&str]) -> serde_json::Value {
    let output = dzoa(dir, args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {stderr}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Names of what is in a directory.
pub fn listing(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// The workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The real data sets: beside the repository, or where DZOA_DATA says.
pub fn data(what: &str) -> Option<PathBuf> {
    let dir =
        std::env::var_os("DZOA_DATA").map_or_else(|| root().join("../shared/data"), PathBuf::from);
    if dir.join("reference.json").exists() {
        return Some(dir.canonicalize().unwrap());
    }
    skip(what, &format!("no data sets in {} (set DZOA_DATA)", dir.display()));
    None
}
