//! `dzoa init`: something that runs, to change from there.

use crate::terminal;
use dzoa_table::{Error, Result, StudyDraft, draft_study, starter_study};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Writes run.toml and three small data files. Overwrites nothing.
pub fn init(dir: &Path) -> Result<()> {
    write(dir, starter_study())
}

/// Writes run.toml for these files, one per site.
pub fn init_from(dir: &Path, from: &[PathBuf], target: Option<&str>) -> Result<()> {
    let StudyDraft { config, notes } = draft_study(from, target, dir)?;
    terminal::print_words(&notes)?;
    write(dir, vec![("run.toml".to_string(), config)])
}

fn write(dir: &Path, files: Vec<(String, String)>) -> Result<()> {
    for (name, _) in &files {
        let path = dir.join(name);
        if path.exists() {
            return Err(Error::input(format!("{}: exists already", path.display()))
                .hint("give another directory: dzoa init my-study"));
        }
    }
    std::fs::create_dir_all(dir).map_err(|error| {
        Error::input(format!("{}: cannot be made: {error}", dir.display()))
            .hint("give a directory that you may write to")
    })?;
    let mut text = String::new();
    for (name, content) in files {
        let path = dir.join(name);
        std::fs::write(&path, content)
            .map_err(|error| Error::run(format!("{}: {error}", path.display())))?;
        let _ = writeln!(text, "wrote {}", path.display());
    }
    let config = dir.join("run.toml").display().to_string();
    let _ = writeln!(text, "\nnext: dzoa check {config}, then dzoa run {config}");
    terminal::print_words(&text)
}
