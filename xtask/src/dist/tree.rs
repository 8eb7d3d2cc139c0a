//! What every package holds, laid out as below `/`: programs without symbols, manual pages,
//! completions, documents, an example network and the list of what is inside.

use super::{copy, emptied, write};
use crate::{Outcome, cargo, output, root, step, tools};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The most that the two programs may be without their symbols, MB.
const PROGRAMS: [(&str, f64); 2] = [("dzoa", 25.0), ("dzoa-agent", 40.0)];
/// For each shell: its name, where its completions lie, and the file.
const SHELLS: [(&str, &str, &str); 4] = [
    ("bash", "usr/share/bash-completion/completions", "dzoa"),
    ("zsh", "usr/share/zsh/vendor-completions", "_dzoa"),
    ("fish", "usr/share/fish/vendor_completions.d", "dzoa.fish"),
    ("powershell", "usr/share/dzoa/completions", "dzoa.ps1"),
];
/// Where documents lie.
const DOCUMENTS: &str = "usr/share/doc/dzoa";

/// Builds the programs and lays everything out anew.
pub fn lay_out() -> Result<PathBuf, String> {
    let tree = root().join("target/dist-tree");
    emptied(&tree)?;
    programs(&tree.join("usr/bin"))?;
    let program = tree.join("usr/bin/dzoa");
    let pages = tree.join("usr/share/man/man1");
    output("dzoa man", Command::new(&program).arg("man").arg(&pages))?;
    for (shell, directory, name) in SHELLS {
        let mut completions = Command::new(&program);
        let script = output("dzoa completions", completions.args(["completions", shell]))?;
        write(&tree.join(directory), name, script.as_bytes())?;
    }
    documents(&tree, &program)?;
    Ok(tree)
}

/// Both programs with everything, since nobody can add a feature to a package.
pub fn programs(bin: &Path) -> Outcome {
    let mut build = cargo();
    build.args(["build", "--release", "--locked", "--package", "dzoa-cli"]);
    build.args(["--package", "dzoa-agent", "--features", "dzoa-cli/full"]);
    step("programs", &mut build)?;
    for (name, most) in PROGRAMS {
        let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
        copy(&root().join("target/release").join(&file), bin, &file)?;
        // On Windows symbols are in a file of their own.
        if !cfg!(windows) {
            output("strip", Command::new("strip").arg(bin.join(&file)))?;
        }
        let length =
            std::fs::metadata(bin.join(&file)).map_err(|error| format!("{name}: {error}"))?;
        let size = length.len() as f64 / 1e6;
        println!("{name}: {size:.1} MB without symbols");
        if size > most {
            return Err(format!("{name}: more than {most} MB"));
        }
    }
    Ok(())
}

fn documents(tree: &Path, program: &Path) -> Outcome {
    let documents = tree.join(DOCUMENTS);
    for name in ["README.md", "SECURITY.md", "CITATION.cff"] {
        copy(&root().join(name), &documents, name)?;
    }
    for name in ["deployment.md", "privacy.md", "reference.md"] {
        copy(&root().join("docs").join(name), &documents, name)?;
    }
    for name in ["network.toml", "site.toml"] {
        copy(&root().join("packages").join(name), &documents.join("examples"), name)?;
    }
    let schema = output("dzoa schema json", Command::new(program).args(["schema", "json"]))?;
    write(&tree.join("usr/share/dzoa"), "dzoa.schema.json", schema.as_bytes())?;
    write(&documents, "sbom.cdx.json", bill_of_materials()?.as_bytes())
}

/// CycloneDX: every crate in the programs, with version, license and origin.
fn bill_of_materials() -> Result<String, String> {
    let mut bill = Command::new(tools::installed("cargo-sbom", "0.10.0")?);
    bill.current_dir(root()).args(["sbom", "--cargo-package", "dzoa-agent"]);
    output("cargo sbom", bill.args(["--output-format", "cyclone_dx_json_1_6"]))
}
