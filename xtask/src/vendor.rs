//! `cargo xtask vendor`: the chart library of the report, from its package into the repository, so
//! that a build needs no npm.

use super::{Outcome, output, root};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

const VERSION: &str = "1.6.32";

/// In the package, and here.
const FILES: [(&str, &str); 3] = [
    ("dist/uPlot.iife.min.js", "uPlot.iife.min.js"),
    ("dist/uPlot.min.css", "uPlot.min.css"),
    ("LICENSE", "LICENSE"),
];

/// Fetches the package, copies its built files and writes down where they come from. A test of the
/// program compares the digests with the files.
pub fn vendor() -> Outcome {
    let work = root().join("target/xtask-vendor");
    let _ = std::fs::remove_dir_all(&work);
    std::fs::create_dir_all(&work).map_err(|error| format!("{}: {error}", work.display()))?;
    let package = format!("uplot@{VERSION}");
    let mut pack = Command::new("npm");
    let packed =
        output("npm pack", pack.current_dir(&work).args(["pack", "--json", package.as_str()]))?;
    // npm has checked the tarball against this.
    let integrity = packed
        .split("\"integrity\": \"")
        .nth(1)
        .and_then(|rest| rest.split('"').next())
        .ok_or("npm pack: no integrity in its answer")?;
    let tarball = format!("uplot-{VERSION}.tgz");
    output("tar", Command::new("tar").current_dir(&work).args(["xzf", tarball.as_str()]))?;
    let here = root().join("crates/report/assets/uplot");
    let source = copy(&work.join("package"), &here, integrity)
        .map_err(|error| format!("{}: {error}", here.display()))?;
    println!("{source}");
    Ok(())
}

fn copy(package: &Path, here: &Path, integrity: &str) -> std::io::Result<String> {
    let mut source = format!(
        "# Written by `cargo xtask vendor`. MIT: see LICENSE.\n\
         package = \"uplot\"\nversion = \"{VERSION}\"\nintegrity = \"{integrity}\"\n\n[blake3]\n"
    );
    std::fs::create_dir_all(here)?;
    for (from, to) in FILES {
        let content = std::fs::read(package.join(from))?;
        let _ = writeln!(source, "\"{to}\" = \"{}\"", blake3::hash(&content).to_hex());
        std::fs::write(here.join(to), content)?;
    }
    std::fs::write(here.join("SOURCE.toml"), &source)?;
    Ok(source)
}
