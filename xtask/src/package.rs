//! The Python package: its wheel and its tests.

use crate::{Outcome, documents, examples, output, python, root, step};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A wheel for every Python from 3.10 on, with the tools of a virtual environment of their own.
pub fn wheel() -> Result<PathBuf, String> {
    let python = environment()?;
    let wheels = root().join("target/wheels");
    // Only the new one may be there afterwards.
    let _ = std::fs::remove_dir_all(&wheels);
    let mut build = Command::new(python);
    build.current_dir(root().join("python"));
    build.args(["-m", "maturin", "build", "--release", "--locked", "--out"]).arg(&wheels);
    step("wheel", &mut build)?;
    std::fs::read_dir(&wheels)
        .map_err(|error| format!("{}: {error}", wheels.display()))?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .find(|path| path.extension().is_some_and(|extension| extension == "whl"))
        .ok_or_else(|| format!("maturin left no wheel in {}", wheels.display()))
}

/// Installs the wheel, then runs pytest (scikit-learn's checks among it) and the examples.
pub fn test() -> Outcome {
    let wheel = wheel()?;
    let python = environment()?;
    install(&python, &wheel)?;
    let mut pytest = Command::new(&python);
    pytest.current_dir(root()).env("DZOA_PROGRAM", root().join("target/release/dzoa"));
    pytest.args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "python/tests"]);
    step("pytest", &mut pytest)?;
    examples::python(&python)?;
    documents::run(&python)
}

/// The links of the documents, and their code.
pub fn documents() -> Outcome {
    documents::check_links()?;
    let (wheel, python) = (wheel()?, environment()?);
    install(&python, &wheel)?;
    documents::run(&python)
}

/// The tables of docs/black-box.md, beside nevergrad.
pub fn measure_black_boxes() -> Outcome {
    measure("black_box", "docs/black-box.md")
}

/// docs/estimators.md, beside diffprivlib.
pub fn measure_estimators() -> Outcome {
    measure("estimators", "docs/estimators.md")
}

fn measure(folder: &str, document: &str) -> Outcome {
    let wheel = wheel()?;
    let folder = root().join("benches").join(folder);
    let python = python(&folder.join("requirements.txt"))?;
    install(&python, &wheel)?;
    let mut script = Command::new(python);
    script.arg(folder.join("measure.py")).arg(root().join(document));
    step(document, &mut script)
}

/// Puts the wheel into an environment that has what it needs.
pub fn install(python: &Path, wheel: &Path) -> Outcome {
    let mut install = Command::new(python);
    install.args(["-m", "pip", "install", "--quiet", "--force-reinstall", "--no-deps"]).arg(wheel);
    output("pip install", &mut install).map(|_| ())
}

fn environment() -> Result<PathBuf, String> {
    python(&root().join("python/tests/requirements.txt"))
}
