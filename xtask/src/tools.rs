//! Programs that single commands need: from the registry of crates, or Debian's.

use crate::{Outcome, cargo, output, root, step};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program from the registry, in target/tools: the one that is there, or built now, which takes
/// minutes.
pub fn installed(name: &str, version: &str) -> Result<PathBuf, String> {
    let tools = root().join("target/tools");
    // Cargo leaves what has this version as it is.
    let mut install = cargo();
    install.args(["install", "--quiet", "--locked", "--version", version, "--root"]).arg(&tools);
    step(&format!("{name} {version}"), install.arg(name))?;
    Ok(tools.join("bin").join(format!("{name}{}", std::env::consts::EXE_SUFFIX)))
}

/// Whether this is Debian or one of its children.
pub fn is_debian() -> bool {
    Path::new("/etc/debian_version").exists()
}

/// Sees to programs, each with the Debian package that has it.
pub fn of_debian(programs: &[(&str, &str)]) -> Outcome {
    let missing = programs.iter().filter(|(program, _)| !on_the_path(program));
    let packages: Vec<&str> = missing.map(|(_, package)| *package).collect();
    if packages.is_empty() {
        return Ok(());
    }
    let is_root = output("id", Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0");
    if !is_debian() || !is_root {
        return Err(format!("install these packages of Debian first: {}", packages.join(" ")));
    }
    step("apt-get update", Command::new("apt-get").args(["update", "--quiet"]))?;
    let mut install = Command::new("apt-get");
    install.env("DEBIAN_FRONTEND", "noninteractive");
    install.args(["install", "--yes", "--quiet", "--no-install-recommends"]);
    step("apt-get install", install.args(packages))
}

/// The search path with these folders first.
pub fn path_with(folders: &[&Path]) -> Result<OsString, String> {
    let given = std::env::var_os("PATH").unwrap_or_default();
    let first = folders.iter().map(|folder| folder.to_path_buf());
    let all = first.chain(std::env::split_paths(&given));
    std::env::join_paths(all).map_err(|error| format!("PATH: {error}"))
}

fn on_the_path(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.push("/usr/sbin".into());
    folders.iter().any(|folder| folder.join(name).is_file())
}
