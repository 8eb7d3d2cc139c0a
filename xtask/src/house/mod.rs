//! The rules of the house, checked on the sources.
//!
//! No crate has a cycle among modules that share a parent, and no file that no module declares. No
//! function has more than [`LONGEST`] lines, more than [`WIDEST`] parameters, or a parameter that
//! is a tuple without a name; no line more than [`COLUMNS`] characters. A public type has a name of
//! its own. The program is thin, and what a mechanism means is decided in one room of the library.

mod cycles;
mod source;

use crate::{Outcome, root};
use source::{COLUMNS, SourceFile};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Lines of a function, from `fn` to its closing brace.
const LONGEST: usize = 70;
/// Parameters of a function, beside `self`.
const WIDEST: usize = 5;
/// Lines of a program's own sources, without tests.
const THIN: usize = 5_000;
/// The programs, which decide nothing.
const PROGRAMS: [&str; 2] = ["crates/cli", "crates/agent"];
/// The room that may ask which mechanism it is.
const DECIDES: (&str, &str) = ("crates/dzoa", "plan/");
/// Names of mechanisms. `none` is missing: it is a word of many keys.
const MECHANISMS: [&str; 3] = ["intrinsic", "output", "scalar"];

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
    found.extend(sources.iter().flat_map(about_lines));
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
        if PROGRAMS.contains(package) && lines > THIN {
            found.push(format!("{package}: {lines} lines, {THIN} are allowed"));
        }
    }
    found.extend(crates.values().flat_map(|sources| about_orphans(sources)));
    found.extend(sources.iter().flat_map(about_mechanisms));
    found.extend(about_names(sources));
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

fn about_lines(source: &SourceFile) -> Option<String> {
    let first = source.wide.first()?;
    let at = format!("{}/src/{}:{first}", source.package, source.module);
    Some(format!("{at}: more than {COLUMNS} columns, in {} lines", source.wide.len()))
}

/// Files that no `mod` leads to: nobody compiles them.
fn about_orphans(sources: &[&SourceFile]) -> Vec<String> {
    let declared: BTreeSet<Vec<String>> = sources
        .iter()
        .flat_map(|source| {
            let own = source.module_path();
            source.modules.iter().map(move |name| [&own[..], std::slice::from_ref(name)].concat())
        })
        .collect();
    let is_orphan = |source: &&&SourceFile| {
        let path = source.module_path();
        !path.is_empty() && !declared.contains(&path)
    };
    let orphans = sources.iter().filter(is_orphan);
    orphans.map(|s| format!("{}/src/{}: no module declares it", s.package, s.module)).collect()
}

/// Only the room that decides may ask which mechanism it is.
fn about_mechanisms(source: &SourceFile) -> Option<String> {
    let decides = source.package == DECIDES.0 && source.module.starts_with(DECIDES.1);
    let word = source.words.iter().find(|word| MECHANISMS.contains(&word.as_str()))?;
    let at = format!("{}/src/{}", source.package, source.module);
    (!decides).then(|| format!("{at}: asks whether the mechanism is `{word}`"))
}

/// One public type per name, over all libraries: a newcomer searches for the name.
fn about_names(sources: &[SourceFile]) -> Vec<String> {
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for source in sources {
        for name in &source.types {
            let at = format!("{}/src/{}", source.package, source.module);
            places.entry(name).or_default().push(at);
        }
    }
    let twice = places.into_iter().filter(|(_, at)| at.len() > 1);
    twice.map(|(name, at)| format!("`{name}` is declared in {}", at.join(" and "))).collect()
}

#[cfg(test)]
mod tests;
