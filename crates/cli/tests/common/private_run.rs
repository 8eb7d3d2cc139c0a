//! A run with an exact guarantee and rows of its own.

use super::common::{dzoa, json};
use std::path::{Path, PathBuf};

/// A private run over three files; its directory.
pub fn private_run(dir: &Path) -> PathBuf {
    assert!(dzoa(dir, &["init", "study"]).status.success());
    // Other sizes than any public number of the run: 57, 41 and 33 rows.
    for (name, rows) in [("north", 57), ("south", 41), ("west", 33)] {
        let file = dir.join("study").join(format!("{name}.csv"));
        if let Ok(text) = std::fs::read_to_string(&file) {
            let kept: Vec<&str> = text.lines().take(rows + 1).collect();
            std::fs::write(file, kept.join("\n") + "\n").unwrap();
        }
    }
    let private = "privacy={mechanism=\"joint\", total_epsilon=4.0, delta=1e-5}";
    let args = ["run", "study/run.toml", "--out", "o", "--json", "--set", private];
    let summary = json(dir, &args);
    assert_eq!(summary["privacy"][0]["claim"], "exact", "{}", summary["privacy"]);
    dir.join("o")
}
