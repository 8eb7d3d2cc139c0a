//! The rules of the house, checked on the sources.
//!
//! No crate has a cycle among its top-level modules. No function has more than [`LONGEST`] lines,
//! more than [`WIDEST`] parameters, or a parameter that is a tuple without a name. The program is
//! thin, and what a mechanism means is decided in one file of the library.

mod cycles;
mod source;

use crate::{Outcome, root};
use source::SourceFile;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Lines of a function, from `fn` to its closing brace.
const LONGEST: usize = 70;
/// Parameters of a function, beside `self`.
const WIDEST: usize = 5;
/// Lines of the program's own sources, without tests.
const THIN: usize = 6_000;
/// The program, which decides nothing.
const PROGRAM: &str = "crates/cli";
/// Its variants are matched in one file.
const MECHANISM: &str = "Mechanism";

/// Checks all crates; fails with every complaint.
pub fn check() -> Outcome {
    println!("== house");
    let complaints = complaints(&read(&root())?);
    if complaints.is_empty() {
        println!("the house stands");
        return Ok(());
    }
    Err(format!("{}\nhouse: {} complaints", complaints.join("\n"), complaints.len()))
}

/// Every source file of every crate, parsed.
fn read(root: &Path) -> Result<Vec<SourceFile>, String> {
    let members = std::fs::read_dir(root.join("crates")).map_err(|error| error.to_string())?;
    let mut crates: Vec<String> = members
        .filter_map(|entry| Some(format!("crates/{}", entry.ok()?.file_name().display())))
        .chain(["benches", "python", "xtask"].map(String::from))
        .collect();
    crates.sort();
    let mut sources = Vec::new();
    for name in crates {
        walk(root, &format!("{name}/src"), &name, &mut sources)?;
    }
    Ok(sources)
}

fn walk(root: &Path, dir: &str, name: &str, sources: &mut Vec<SourceFile>) -> Outcome {
    let failed = |path: &str, why: &dyn std::fmt::Display| format!("{path}: {why}");
    let entries = std::fs::read_dir(root.join(dir)).map_err(|error| failed(dir, &error))?;
    let mut names: Vec<String> =
        entries.filter_map(|entry| Some(entry.ok()?.file_name().display().to_string())).collect();
    names.sort();
    for entry in names {
        let path = format!("{dir}/{entry}");
        if root.join(&path).is_dir() {
            walk(root, &path, name, sources)?;
        } else if entry.ends_with(".rs") && entry != "tests.rs" {
            let text =
                std::fs::read_to_string(root.join(&path)).map_err(|error| failed(&path, &error))?;
            let module = path[name.len() + "/src/".len()..].to_string();
            let source = SourceFile::parse(name, &module, &text);
            sources.push(source.map_err(|error| failed(&path, &error))?);
        }
    }
    Ok(())
}

/// Everything that is against the rules, one line each.
fn complaints(sources: &[SourceFile]) -> Vec<String> {
    let mut found: Vec<String> = sources.iter().flat_map(about_functions).collect();
    let mut crates: BTreeMap<&str, Vec<&SourceFile>> = BTreeMap::new();
    for source in sources {
        crates.entry(&source.package).or_default().push(source);
    }
    for (package, sources) in &crates {
        for (parent, names) in cycles::modules_in_cycles(sources) {
            let place = if parent.is_empty() { String::new() } else { format!(", in {parent}") };
            found.push(format!("{package}{place}: modules in a cycle: {}", names.join(", ")));
        }
        let lines: usize = sources.iter().map(|source| source.lines).sum();
        if *package == PROGRAM && lines > THIN {
            found.push(format!("{package}: {lines} lines, {THIN} are allowed"));
        }
    }
    found.extend(about_mechanisms(sources));
    found
}

fn about_functions(source: &SourceFile) -> Vec<String> {
    let mut found = Vec::new();
    for function in &source.functions {
        let at = format!("{}/src/{}: fn {}", source.package, source.module, function.name);
        if function.lines > LONGEST {
            found.push(format!("{at} has {} lines, {LONGEST} are allowed", function.lines));
        }
        if function.parameters > WIDEST {
            let got = function.parameters;
            found.push(format!("{at} has {got} parameters, {WIDEST} are allowed"));
        }
        if function.tuples > 0 {
            found.push(format!("{at} takes a tuple without a name"));
        }
    }
    found
}

/// One file of the libraries may match on the mechanism, and nobody else.
fn about_mechanisms(sources: &[SourceFile]) -> Vec<String> {
    let matching = sources.iter().filter(|source| source.matched.contains(MECHANISM));
    let files: BTreeSet<(&str, &str)> =
        matching.map(|source| (source.package.as_str(), source.module.as_str())).collect();
    let is_front = |package: &str| package == PROGRAM || !package.starts_with("crates/");
    let front = files.iter().filter(|(package, _)| is_front(package));
    let mut found: Vec<String> = front
        .map(|(package, file)| format!("{package}/src/{file}: matches on the mechanism"))
        .collect();
    let library: Vec<String> = files
        .iter()
        .filter(|(package, _)| !is_front(package))
        .map(|(package, file)| format!("{package}/src/{file}"))
        .collect();
    if library.len() > 1 {
        found.push(format!(
            "the mechanism is matched in {} files: {}",
            library.len(),
            library.join(", ")
        ));
    }
    found
}

#[cfg(test)]
mod tests;
