//! The browser that the report is tested in, and the pictures taken with it.

use super::{Outcome, cargo, output, root, step};
use std::process::Command;

/// Finds Chromium, installs Debian's where that is possible, and says what is missing where it is
/// not: the test then says what it skipped.
pub fn find() -> Outcome {
    println!("== browser");
    if let Some(version) = version() {
        println!("{version}");
        return Ok(());
    }
    install("chromium", "the report's browser test")
}

/// Finds valgrind, or installs it.
pub fn find_valgrind() -> Outcome {
    match output("valgrind", Command::new("valgrind").arg("--version")) {
        Ok(_) => Ok(()),
        Err(_) => install("valgrind", "the count of instructions"),
    }
}

fn install(package: &str, needed_by: &str) -> Outcome {
    let debian = std::path::Path::new("/etc/debian_version").exists();
    let is_root = output("id", Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0");
    if debian && is_root {
        step("apt-get update", Command::new("apt-get").args(["update", "--quiet"]))?;
        let mut install = Command::new("apt-get");
        install.env("DEBIAN_FRONTEND", "noninteractive");
        return step("apt-get install", install.args(["install", "--yes", "--quiet", package]));
    }
    println!(
        "no {package}: {needed_by} will be skipped. Install it (`sudo apt-get install \
         {package}`); a Chromium elsewhere can be \
         named in DZOA_CHROMIUM."
    );
    Ok(())
}

fn version() -> Option<String> {
    let named = std::env::var("DZOA_CHROMIUM").ok();
    named
        .into_iter()
        .chain(["chromium", "chromium-browser", "google-chrome"].map(String::from))
        .find_map(|name| {
            let version = output(&name, Command::new(&name).arg("--version")).ok()?;
            Some(format!("{name}: {}", version.trim()))
        })
}

/// The pictures of the report in docs/, taken by the browser test.
pub fn screenshots() -> Outcome {
    find()?;
    let mut test = cargo();
    test.args(["test", "--release", "--workspace", "--test", "browser"]);
    step("screenshots", test.env("DZOA_SCREENSHOTS", root().join("docs")))
}
