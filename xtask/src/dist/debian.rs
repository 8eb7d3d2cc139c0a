//! The Debian package: the tree, with what is done when it is installed and removed, by debhelper.

use super::{VERSION, copy, emptied, write};
use crate::{Outcome, output, root, step, tools};
use std::path::Path;
use std::process::Command;

/// Who answers for the package, as Debian's files want it.
const MAINTAINER: &str = "dzoa authors <dzoa@users.noreply.invalid>";
/// What systemd starts.
const UNIT: &str = "dzoa-agent@.service";

/// Makes the package from the tree, and has lintian look at it.
pub fn package(tree: &Path, out: &Path) -> Outcome {
    if !tools::is_debian() {
        println!("== Debian package: SKIPPED, this is not Debian");
        return Ok(());
    }
    tools::of_debian(&[("dpkg-buildpackage", "dpkg-dev"), ("dh", "debhelper")])?;
    tools::of_debian(&[("lintian", "lintian")])?;
    let source = root().join("target/dist-debian/dzoa");
    emptied(&source)?;
    let (from, to) = (root().join("packages/debian"), source.join("debian"));
    output("cp", Command::new("cp").arg("-a").arg(&from).arg(&to))?;
    output("cp", Command::new("cp").arg("-a").arg(tree).arg(source.join("tree")))?;
    copy(&root().join("packages").join(UNIT), &to, &format!("dzoa.{UNIT}"))?;
    copy(&root().join("CHANGELOG.md"), &source, "CHANGELOG.md")?;
    write(&to, "changelog", changelog()?.as_bytes())?;
    let mut build = Command::new("dpkg-buildpackage");
    build.current_dir(&source).args(["--build=binary", "--no-sign", "--no-check-builddeps"]);
    step("Debian package", &mut build)?;
    let architecture = output("dpkg", Command::new("dpkg").arg("--print-architecture"))?;
    let name = format!("dzoa_{VERSION}-1_{}.deb", architecture.trim());
    let made = source.with_file_name(&name);
    let mut lintian = Command::new("lintian");
    lintian.args(["--allow-root", "--fail-on", "error,warning", "--tag-display-limit", "0"]);
    step("lintian", lintian.arg(&made))?;
    copy(&made, out, &name)
}

/// One entry, with the date of the last commit, so that the same source makes the same package.
fn changelog() -> Result<String, String> {
    let mut log = Command::new("git");
    let date = log.current_dir(root()).args(["log", "-1", "--format=%cD"]);
    let date = output("git log", date)?;
    Ok(format!(
        "dzoa ({VERSION}-1) unstable; urgency=medium\n\n  * See \
         /usr/share/doc/dzoa/changelog.gz.\n\n -- {MAINTAINER}  {date}"
    ))
}
