//! `cargo xtask dist --check`: every package is installed where nothing else is, and used.

use super::{emptied, made};
use crate::{Outcome, output, root, step, tools};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// The most that the Debian package and the wheel may take together, from installing to a report,
/// seconds.
const MOST_SECONDS: f64 = 60.0;
/// The oldest that are declared in python/pyproject.toml.
const OLDEST: [&str; 2] = ["numpy==1.23.*", "scikit-learn==1.6.*"];
const OLDEST_PYTHON: &str = "3.10";

/// Tries all packages in target/dist, and leaves nothing behind.
pub fn check() -> Outcome {
    let work = root().join("target/dist-check");
    emptied(&work)?;
    let done = all(&work);
    std::fs::remove_dir_all(&work).map_err(|error| format!("{}: {error}", work.display()))?;
    done
}

fn all(work: &Path) -> Outcome {
    let mut sums = shell("sha256sum --check --quiet SHA256SUMS");
    step("checksums", sums.current_dir(super::folder()))?;
    archive(work)?;
    let seconds = match tools::is_debian() {
        true => debian(work)?,
        false => {
            println!("== Debian package: SKIPPED, this is not Debian");
            0.0
        }
    };
    let seconds = seconds + wheel(work)?;
    println!("== Debian package and wheel, from installing to a report: {seconds:.0} s");
    if seconds > MOST_SECONDS {
        return Err(format!("more than {MOST_SECONDS} s; was the machine idle?"));
    }
    oldest(work)
}

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-ec", script]);
    command
}

/// The archive's programs start, and need nothing but glibc; its completions are read by their
/// shells.
fn archive(work: &Path) -> Outcome {
    let tar = made("linux-gnu.tar.gz")?;
    let mut unpack = Command::new("tar");
    let place = work.join("archive");
    emptied(&place)?;
    unpack.arg("--extract").arg("--strip-components=1").arg("--directory").arg(&place);
    output("tar", unpack.arg("--file").arg(tar))?;
    let script = r#"
        for program in bin/dzoa bin/dzoa-agent; do
            $program --version
            needed=$(readelf --dynamic $program | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p')
            strange=$(echo "$needed" | grep -Ev '^(libc|libm|libgcc_s|ld-linux.*)\.so' || true)
            test -z "$strange" || { echo "$program needs $strange"; exit 1; }
        done
        for each in "bash share/bash-completion/completions/dzoa" \
            "zsh share/zsh/vendor-completions/_dzoa" \
            "fish share/fish/vendor_completions.d/dzoa.fish"; do
            set -- $each
            if command -v $1 >/dev/null; then $1 -n $2; else echo "$1: NOT CHECKED, not here"; fi
        done"#;
    step("archive", shell(script).current_dir(&place))
}

/// An empty root without a compiler: install, run, trial of agents, remove. The seconds of that,
/// without the making of the root.
fn debian(work: &Path) -> Result<f64, String> {
    tools::of_debian(&[("debootstrap", "debootstrap"), ("systemd-analyze", "systemd")])?;
    let place = work.join("root");
    let release = output("release", &mut shell(". /etc/os-release; echo $VERSION_CODENAME"))?;
    let mut empty = Command::new("debootstrap");
    empty.args(["--variant=minbase", "--include=adduser", release.trim()]).arg(&place);
    output("debootstrap", &mut empty)?;
    super::copy(&made(".deb")?, &place, "dzoa.deb")?;
    let begun = Instant::now();
    step("Debian package: install and run", &mut inside(&place, INSTALL))?;
    let seconds = begun.elapsed().as_secs_f64();
    step("Debian package: agents", &mut inside(&place, AGENTS))?;
    unit(&place)?;
    step("Debian package: remove", &mut inside(&place, REMOVE))?;
    Ok(seconds)
}

const INSTALL: &str = r#"
    for tool in cc gcc rustc cargo; do ! command -v $tool; done
    dpkg --install dzoa.deb
    cd /tmp
    dzoa run
    grep --quiet --ignore-case nominal runs/paper/report.html
    ls -l runs/paper"#;

const AGENTS: &str = r#"
    cd /tmp
    for flag in "--version" "help exit-codes" "help config privacy"; do
        dzoa $flag >/dev/null
    done
    dzoa check --network /usr/share/doc/dzoa/examples/network.toml
    dzoa launch --network /usr/share/doc/dzoa/examples/network.toml --out trial
    test -s trial/report.html"#;

/// State and ledger outlive the package; the user does, too.
const REMOVE: &str = r#"
    touch /var/lib/dzoa-ledger/north.ledger
    dpkg --remove dzoa
    test -d /var/lib/dzoa
    dpkg --purge dzoa
    test -f /var/lib/dzoa-ledger/north.ledger
    test ! -e /usr/bin/dzoa
    getent passwd dzoa"#;

/// A command in the root, with processes and mounts of its own.
fn inside(place: &Path, script: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--pid", "--fork", "--kill-child", "sh", "-ec"]);
    command.arg(
        "mount -t proc proc \"$0/proc\"; exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \
         HOME=/root LC_ALL=C.UTF-8 chroot \"$0\" sh -ec \"$1\"",
    );
    command.arg(place).arg(script);
    command
}

/// The unit is one that systemd understands, and may do little.
fn unit(place: &Path) -> Outcome {
    let instance = "dzoa-agent@north.service";
    let mut verify = Command::new("systemd-analyze");
    verify.args(["verify", "--man=no", "--recursive-errors=no", "--root"]).arg(place).arg(instance);
    step("systemd-analyze verify", &mut verify)?;
    let mut security = Command::new("systemd-analyze");
    security.args(["security", "--offline=true", "--threshold=25", "--no-pager", "--root"]);
    let said = output("systemd-analyze security", security.arg(place).arg(instance))?;
    println!("{}", said.trim().lines().last().unwrap_or_default());
    Ok(())
}

/// A new environment: install the wheel, README's lines, the programs. The seconds of that.
fn wheel(work: &Path) -> Result<f64, String> {
    let place = work.join("venv");
    output("venv", Command::new("python3").args(["-m", "venv"]).arg(&place))?;
    let readme = work.join("readme.py");
    std::fs::write(&readme, readme_lines()?).map_err(|error| format!("readme.py: {error}"))?;
    let begun = Instant::now();
    install(&place, &["scikit-learn"])?;
    let script = r#"
        python "$0"
        dzoa run
        python -m dzoa --version
        dzoa agent --help >/dev/null
        python -c 'import dzoa; print("dzoa", dzoa.__version__)'"#;
    let mut use_it = shell(script);
    use_it.current_dir(work).arg(&readme).env("PATH", tools::path_with(&[&place.join("bin")])?);
    step("wheel: README's lines, and the programs", &mut use_it)?;
    Ok(begun.elapsed().as_secs_f64())
}

/// The wheel and what it is used with.
fn install(environment: &Path, others: &[&str]) -> Outcome {
    let mut pip = Command::new(environment.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    step("wheel: install", pip.arg(made(".whl")?).args(others))
}

/// The first block of Python in the README.
fn readme_lines() -> Result<String, String> {
    let file = root().join("README.md");
    let text = std::fs::read_to_string(&file).map_err(|error| format!("README.md: {error}"))?;
    let block = text.split("```python\n").nth(1).and_then(|rest| rest.split("```").next());
    block.map(str::to_string).ok_or_else(|| "README.md: has no lines of Python".into())
}

/// The oldest Python, numpy and scikit-learn that are declared, where this Python can be had.
fn oldest(work: &Path) -> Outcome {
    let Some(python) = oldest_python() else {
        println!("== oldest Python: NOT CHECKED, no {OLDEST_PYTHON} here");
        return Ok(());
    };
    let place = work.join("oldest");
    output("venv", Command::new(python).args(["-m", "venv"]).arg(&place))?;
    let tests_want = ["pytest", "jsonschema", "matplotlib", "networkx", "pandas", "tomli"];
    install(&place, &[&OLDEST[..], &tests_want].concat())?;
    let mut tests = Command::new(place.join("bin/python"));
    tests.current_dir(work).env("DZOA_PROGRAM", place.join("bin/dzoa"));
    tests.args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]);
    let folder = root().join("python/tests");
    // What it compares with speaks the language of scikit-learn 1.8.
    tests.arg("--ignore").arg(folder.join("test_optima.py")).arg(folder);
    step(&format!("Python {OLDEST_PYTHON}, {}, {}", OLDEST[0], OLDEST[1]), &mut tests)
}

/// On the path, or beside others in pyenv's folder.
fn oldest_python() -> Option<PathBuf> {
    let find = format!(
        "{{ command -v python{OLDEST_PYTHON}; ls \"${{PYENV_ROOT:-$HOME/.pyenv}}\"/versions/\
         {OLDEST_PYTHON}.*/bin/python3; }} || true"
    );
    let found = output("python", &mut shell(&find)).ok()?;
    let starts = |path: &PathBuf| output("python", Command::new(path).arg("--version")).is_ok();
    found.lines().map(PathBuf::from).find(starts)
}
