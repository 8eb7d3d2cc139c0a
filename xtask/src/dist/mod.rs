//! `cargo xtask dist`: everything that is handed out, in target/dist, with checksums.

mod check;
mod debian;
mod others;
mod tree;

pub use check::check;

use crate::{Outcome, output, package, root};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The version of all packages.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Makes every package.
pub fn make() -> Outcome {
    let out = folder();
    emptied(&out)?;
    let tree = tree::lay_out()?;
    package::wheel_with_programs(&tree.join("usr/bin"), &out)?;
    package::sdist(&out)?;
    others::archive(&tree, &out)?;
    debian::package(&tree, &out)?;
    others::container()?;
    others::checksums(&out)?;
    println!("== packages, in {}", out.display());
    print!("{}", output("ls", Command::new("ls").arg("-sh").arg(&out))?);
    Ok(())
}

/// Makes the wheel alone, on any system.
pub fn wheel() -> Outcome {
    let (programs, out) = (root().join("target/dist-programs"), folder());
    emptied(&out)?;
    tree::programs(&programs)?;
    package::wheel_with_programs(&programs, &out)
}

/// Where packages end up.
fn folder() -> PathBuf {
    root().join("target/dist")
}

/// Makes a directory, or empties it.
fn emptied(directory: &Path) -> Outcome {
    let failed = |error: std::io::Error| format!("{}: {error}", directory.display());
    if directory.exists() {
        std::fs::remove_dir_all(directory).map_err(failed)?;
    }
    std::fs::create_dir_all(directory).map_err(failed)
}

/// Copies a file into a directory, which is made, under a name.
fn copy(from: &Path, directory: &Path, name: &str) -> Outcome {
    std::fs::create_dir_all(directory)
        .and_then(|()| std::fs::copy(from, directory.join(name)))
        .map(|_| ())
        .map_err(|error| format!("{} -> {}: {error}", from.display(), directory.display()))
}

fn write(directory: &Path, name: &str, text: &[u8]) -> Outcome {
    std::fs::create_dir_all(directory)
        .and_then(|()| std::fs::write(directory.join(name), text))
        .map_err(|error| format!("{}: {error}", directory.join(name).display()))
}

/// The one file of target/dist that ends so.
fn made(ending: &str) -> Result<PathBuf, String> {
    let out = folder();
    let entries = std::fs::read_dir(&out).map_err(|error| {
        format!("{}: {error}\n\nhint: `cargo xtask dist` makes the packages", out.display())
    })?;
    let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let found: Vec<PathBuf> =
        paths.filter(|path| path.to_string_lossy().ends_with(ending)).collect();
    match &found[..] {
        [path] => Ok(path.clone()),
        _ => Err(format!("{}: {} files end in {ending}, not 1", out.display(), found.len())),
    }
}
