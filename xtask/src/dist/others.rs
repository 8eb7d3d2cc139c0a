//! The archive, the container and the checksums.

use super::{VERSION, copy};
use crate::{Outcome, output, python, root, step};
use std::path::Path;
use std::process::Command;

/// The tree as an archive for any Linux whose glibc is not older: unpack it anywhere.
pub fn archive(tree: &Path, out: &Path) -> Outcome {
    let name = format!("dzoa-{VERSION}-{}-linux-gnu", std::env::consts::ARCH);
    let work = root().join("target/dist-archive").join(&name);
    super::emptied(&work)?;
    output("cp", Command::new("cp").arg("-a").arg(tree.join("usr/.")).arg(&work))?;
    for license in ["LICENSE", "LICENSE-MIT", "LICENSE-APACHE", "CHANGELOG.md"] {
        copy(&root().join(license), &work, license)?;
    }
    let unit = "dzoa-agent@.service";
    copy(&root().join("packages").join(unit), &work.join("share/dzoa"), unit)?;
    let mut log = Command::new("git");
    let time = output("git log", log.current_dir(root()).args(["log", "-1", "--format=%ct"]))?;
    let mut tar = Command::new("tar");
    // The same files make the same bytes.
    tar.args([
        "--sort=name",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        "--use-compress-program",
    ])
    .args(["gzip -n9", "--mtime", &format!("@{}", time.trim()), "--create", "--file"])
    .arg(out.join(format!("{name}.tar.gz")))
    .arg("--directory")
    .args([work.with_file_name(""), name.into()]);
    step("archive", &mut tar)
}

/// Looks at the Containerfile, and builds it where an engine runs.
pub fn container() -> Outcome {
    let file = root().join("packages/Containerfile");
    let python = python(&root().join("packages/requirements.txt"))?;
    step("hadolint", Command::new(python.with_file_name("hadolint")).arg(&file))?;
    let answers = |engine: &&str| output(engine, Command::new(engine).arg("info")).is_ok();
    let Some(engine) = ["podman", "docker"].into_iter().find(answers) else {
        println!("== container: NOT BUILT, no engine runs here (podman or docker)");
        return Ok(());
    };
    let mut build = Command::new(engine);
    build.current_dir(root()).arg("build").arg("--file").arg(&file);
    step("container", build.args(["--tag", &format!("dzoa:{VERSION}"), "."]))
}

/// SHA256SUMS of everything that was made.
pub fn checksums(out: &Path) -> Outcome {
    let sums = "sha256sum * > ../SHA256SUMS && mv ../SHA256SUMS .";
    output("sha256sum", Command::new("sh").current_dir(out).args(["-c", sums])).map(|_| ())
}
