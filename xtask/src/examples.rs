//! The examples: run as a newcomer would, so that none of them rots.

use crate::{Outcome, root, step, tools};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Every example in examples/rust; `cargo test` has built them.
pub fn rust() -> Outcome {
    for example in listed("rust")? {
        let name = stem(&example);
        let mut run = Command::new(root().join("target/release/examples").join(&name));
        step(&format!("example {name}"), run.current_dir(root()))?;
    }
    Ok(())
}

/// Every example in examples/python, the tutorial among them, with the package installed.
pub fn python(python: &Path) -> Outcome {
    for example in listed("python")? {
        let mut run = Command::new(python);
        // One of them starts the program, and finds it as a user's shell would.
        run.current_dir(root())
            .env("PATH", tools::path_with(&[&root().join("target/release")])?)
            .arg(&example);
        step(&format!("example {}.py", stem(&example)), &mut run)?;
    }
    Ok(())
}

/// What is in one directory of examples, in the order of the names: files, or directories with a
/// file for each part.
fn listed(language: &str) -> Result<Vec<PathBuf>, String> {
    let folder = root().join("examples").join(language);
    let entries =
        std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let mut found: Vec<PathBuf> = paths.filter(|path| !stem(path).starts_with('_')).collect();
    found.sort();
    Ok(found)
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_languages_have_the_same_examples_but_for_the_transport_and_the_tutorial() {
        let names = |language: &str| -> Vec<String> {
            listed(language).unwrap().iter().map(|path| stem(path)).collect()
        };
        let differ = ["own_network", "own_transport", "tutorial"];
        let same = |language: &str| -> Vec<String> {
            names(language).into_iter().filter(|name| !differ.contains(&name.as_str())).collect()
        };
        assert_eq!(same("rust"), same("python"));
        assert_eq!(same("rust").len() + 1, names("rust").len());
    }

    #[test]
    fn no_example_is_longer_than_80_lines() {
        let rust = listed("rust").unwrap().into_iter().flat_map(|path| match path.is_dir() {
            true => std::fs::read_dir(&path).unwrap().map(|part| part.unwrap().path()).collect(),
            false => vec![path],
        });
        let python = listed("python").unwrap().into_iter();
        for path in rust.chain(python.filter(|path| stem(path) != "tutorial")) {
            let lines = std::fs::read_to_string(&path).unwrap().lines().count();
            assert!(lines <= 80, "{}: {lines} lines", path.display());
        }
    }
}
