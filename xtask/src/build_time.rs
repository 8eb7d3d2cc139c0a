//! `cargo xtask build-time`: what a first result costs on a fresh machine, for docs/build-time.md.

use crate::shared_build::{TESTS, built_again};
use crate::{Outcome, cargo, output, root, step};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// The goals, with nothing else running on two cores.
const MOST_SECONDS: f64 = 210.0;
const MOST_CRATES: usize = 220;
const MOST_MB: f64 = 25.0;
/// How many crates are listed.
const LISTED: usize = 12;

/// One build from nothing.
struct Build {
    seconds: f64,
    crates: usize,
    /// Seconds of compilers by crate, the longest first.
    longest: Vec<(String, f64)>,
    /// MB of the program without its symbols.
    size: f64,
}

/// Builds what `cargo run --release -- run` builds, twice from nothing, and writes the document.
pub fn measure() -> Outcome {
    let builds = [build()?, build()?];
    let again = built_again(&["build"], &TESTS)?;
    let text = document(&builds, &again);
    let path = root().join("docs/build-time.md");
    std::fs::write(&path, &text).map_err(|error| format!("{}: {error}", path.display()))?;
    print!("{text}");
    let good = |build: &Build| {
        build.seconds <= MOST_SECONDS && build.crates <= MOST_CRATES && build.size <= MOST_MB
    };
    match builds.iter().all(good) {
        true => Ok(()),
        false => Err(format!(
            "beyond {MOST_SECONDS} s, {MOST_CRATES} crates or {MOST_MB} MB; was the machine idle?"
        )),
    }
}

fn build() -> Result<Build, String> {
    let target = root().join("target/build-time");
    let failed = |path: &Path, why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
    if target.exists() {
        std::fs::remove_dir_all(&target).map_err(|error| failed(&target, &error))?;
    }
    step("fetch", cargo().args(["fetch", "--quiet"]))?;
    let begun = Instant::now();
    let mut command = cargo();
    command.args(["build", "--release", "--quiet", "--timings", "--target-dir"]).arg(&target);
    step("build", &mut command)?;
    let seconds = begun.elapsed().as_secs_f64();
    let report = target.join("cargo-timings/cargo-timing.html");
    let text = std::fs::read_to_string(&report).map_err(|error| failed(&report, &error))?;
    let (crates, longest) =
        by_crate(&text).ok_or_else(|| failed(&report, &"has no list of units"))?;
    let (program, stripped) = (target.join("release/dzoa"), target.join("dzoa"));
    output("strip", Command::new("strip").arg(&program).arg("-o").arg(&stripped))?;
    let size = std::fs::metadata(&stripped).map_err(|error| failed(&stripped, &error))?.len();
    Ok(Build { seconds, crates, longest, size: size as f64 / 1e6 })
}

/// How many crates a timing report has, and how long each took.
fn by_crate(report: &str) -> Option<(usize, Vec<(String, f64)>)> {
    let (_, rest) = report.split_once("UNIT_DATA = ")?;
    let (list, _) = rest.split_once(";\n")?;
    let units: Vec<serde_json::Value> = serde_json::from_str(list).ok()?;
    let (mut crates, mut seconds) = (BTreeSet::new(), BTreeMap::<String, f64>::new());
    for unit in &units {
        let name = format!("{} {}", unit["name"].as_str()?, unit["version"].as_str()?);
        crates.insert(name.clone());
        *seconds.entry(name).or_default() += unit["duration"].as_f64()?;
    }
    let mut longest: Vec<(String, f64)> = seconds.into_iter().collect();
    longest.sort_by(|a, b| b.1.total_cmp(&a.1));
    Some((crates.len(), longest))
}

fn document([first, second]: &[Build; 2], again: &[String]) -> String {
    let mut text = format!(
        "# What a build costs\n\nMade by `cargo xtask build-time`: what `cargo run --release -- \
         run` builds before its first number, from nothing, sources fetched before. At most \
         {MOST_SECONDS:.0} s, {MOST_CRATES} crates and {MOST_MB:.0} MB (without symbols) are \
         allowed on two idle cores.\n\n| | seconds | crates | program, MB |\n| --- | ---: | ---: | \
         ---: |\n"
    );
    for (name, build) in [("first", first), ("second", second)] {
        let Build { seconds, crates, size, .. } = build;
        let _ = writeln!(text, "| {name} | {seconds:.0} | {crates} | {size:.1} |");
    }
    let _ = writeln!(
        text,
        "\n`cargo xtask test` after it builds these crates again, with other features, and no \
         other: {}.",
        again.join(", ")
    );
    text.push_str(
        "\nThe crates that take longest (seconds of the second build, of which two run at a \
         time):\n\n| crate | seconds |\n| --- | ---: |\n",
    );
    for (name, seconds) in second.longest.iter().take(LISTED) {
        let _ = writeln!(text, "| {name} | {seconds:.1} |");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::by_crate;

    #[test]
    fn units_of_one_crate_are_added_up() {
        let report = "x\nconst UNIT_DATA = [\
            {\"name\": \"a\", \"version\": \"1\", \"duration\": 1.5},\
            {\"name\": \"b\", \"version\": \"1\", \"duration\": 2.0},\
            {\"name\": \"a\", \"version\": \"1\", \"duration\": 1.0}];\nmore";
        let (crates, longest) = by_crate(report).unwrap();
        assert_eq!((crates, longest[0].clone()), (2, ("a 1".into(), 2.5)));
        assert_eq!(by_crate("nothing"), None);
    }
}
