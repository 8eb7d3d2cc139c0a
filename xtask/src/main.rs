//! `cargo xtask ...`: the project's chores, the same on every machine.

mod browser;
mod build_time;
mod comparison;
mod deny;
mod dist;
mod documents;
mod examples;
mod house;
mod package;
mod shared_build;
mod site;
mod tools;
mod vendor;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

const USAGE: &str = "usage: cargo xtask COMMAND

  test      format check, clippy, the rules of the sources, all tests, the accountants against
            other libraries, the timing against numpy, the Python package with its tests, and all
            examples; installs what it needs
  house     the rules of the sources: no module cycles, no long functions, a thin program
  dist [--check]
            make every package in target/dist: wheel with the programs, sdist, Debian package,
            archive, container (where an engine runs), SBOM, checksums; with --check install them
            where nothing else is, and use them
  wheel     make the wheel alone, in target/dist
  publish   would crates.io take every crate as it is? Nothing is sent
  deny [DATABASE]
            licences, origins and known holes of other people's code; DATABASE is a clone of the
            advisories, where the network does not reach them
  figures   draw the pictures of the documentation anew
  bench     measure docs/performance.md anew: speed beside its floor, numpy and (with Python 3.13)
            decent-bench and nevergrad, in about fifteen minutes
  comparison [--quick | WORDS]
            measure the tables of docs/comparison.md anew, in about an hour; only those with WORDS
            in their heading; or with --quick few trials, without the large data sets
  black-box estimators
            measure the tables of docs/black-box.md (beside nevergrad), or docs/estimators.md
            (beside diffprivlib) anew, in some minutes
  build-time
            measure docs/build-time.md anew: a first build from nothing, twice, on an idle machine
  documents follow every link of the documents, and run their code with a new wheel
  site      make the site in target/site/book: all documents, the tutorial as a notebook with
            what it prints, the references of Rust and Python; with mdBook and pdoc from PyPI
  screenshots
            take the pictures of the report anew, with Chromium
  vendor    fetch the report's chart library anew, with npm";

type Outcome = Result<(), String>;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (command, flag) = (arguments.next(), arguments.next());
    let compares = command.as_deref() == Some("comparison");
    let quick = compares && flag.as_deref() == Some("--quick");
    let checks = flag.as_deref() == Some("--check");
    // Some of these take half an hour: nobody should learn only then that a word was ignored.
    let ignored = match command.as_deref() {
        Some("comparison" | "deny") => arguments.next(),
        Some("dist") if checks => arguments.next(),
        _ => flag.clone(),
    };
    if let Some(unknown) = ignored {
        eprintln!(
            "error: nothing is known of `{unknown}` here\n\nhint: `cargo xtask help` says what \
             takes a word"
        );
        return ExitCode::from(2);
    }
    let outcome = match command.as_deref() {
        Some("test") => test(),
        Some("house") => house::check(),
        Some("dist") if checks => dist::check(),
        Some("dist") => dist::make(),
        Some("wheel") => dist::wheel(),
        Some("publish") => publish(),
        Some("deny") => deny::check(flag.as_deref().map(Path::new)),
        Some("black-box") => package::measure_black_boxes(),
        Some("estimators") => package::measure_estimators(),
        Some("bench") => bench(),
        Some("figures") => figures(),
        Some("comparison") => comparison::run(quick, flag.as_deref().filter(|_| !quick)),
        Some("build-time") => build_time::measure(),
        Some("documents") => package::documents(),
        Some("site") => site::build(),
        Some("screenshots") => browser::screenshots(),
        Some("vendor") => vendor::vendor(),
        Some("help" | "--help" | "-h") => {
            println!("{USAGE}");
            Ok(())
        }
        Some(unknown) => {
            eprintln!(
                "error: no command is called `{unknown}`\n\nhint: `cargo xtask help` lists them"
            );
            return ExitCode::from(2);
        }
        None => {
            eprintln!("error: a command is missing\n\nhint: `cargo xtask help` lists them");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// The workspace.
fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_path_buf()
}

fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    command.current_dir(root());
    // What the outer cargo says about this package is an input of some build scripts (ring's): with
    // it, every change between `cargo xtask` and plain cargo would build the network stack anew.
    for (key, _) in std::env::vars_os() {
        let name = key.to_string_lossy();
        if name.starts_with("CARGO_PKG_")
            || name.starts_with("CARGO_MANIFEST_")
            || name == "LD_LIBRARY_PATH"
        {
            command.env_remove(&key);
        }
    }
    command
}

/// Runs one step, says how long it took, and stops at the first failure.
fn step(name: &str, command: &mut Command) -> Outcome {
    println!("== {name}");
    let started = Instant::now();
    let status = command.status().map_err(|error| format!("{name}: cannot start: {error}"))?;
    if !status.success() {
        return Err(format!("{name}: failed ({status})"));
    }
    println!("== {name}: {:.0} s", started.elapsed().as_secs_f64());
    Ok(())
}

/// Runs a command and returns what it printed.
fn output(name: &str, command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{name}: cannot start: {error}"))?;
    if !output.status.success() {
        return Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn test() -> Outcome {
    step("format", cargo().args(["fmt", "--all", "--check"]))?;
    // One profile and all packages at once: the dependencies are built once.
    step(
        "clippy",
        cargo().args([
            "clippy",
            "--release",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ]),
    )?;
    house::check()?;
    documents::check_links()?;
    browser::find()?;
    browser::find_valgrind()?;
    // This builds the program, too; `cargo build` would choose other features and build much of it
    // twice. The same generated cases in every run: what fails here fails for everybody, and can be
    // looked at.
    step(
        "tests",
        cargo().env("PROPTEST_RNG_SEED", "20261115").args(["test", "--release", "--workspace"]),
    )?;
    examples::rust()?;
    // Each instruction set that is not the best of this machine; one that it lacks becomes the next
    // plainer one.
    for level in ["portable", "avx2"] {
        let mut oracles = cargo();
        oracles.env("DZOA_KERNELS", level).args(["test", "--release", "--workspace", "--quiet"]);
        oracles.args([
            "--test",
            "oracle",
            "--test",
            "baselines",
            "--test",
            "kernels",
            "--test",
            "oracle_calls",
        ]);
        step(&format!("oracles, {level}"), &mut oracles)?;
    }
    step(
        "documentation",
        cargo().env("RUSTDOCFLAGS", "-D warnings").args([
            "doc",
            "--release",
            "--workspace",
            "--no-deps",
        ]),
    )?;
    crosscheck()?;
    against_numpy()?;
    package::test()
}

/// Packs every crate as `cargo publish` would, and sends nothing.
fn publish() -> Outcome {
    let mut publish = cargo();
    publish.args(["publish", "--workspace", "--dry-run", "--no-verify", "--locked"]);
    step("publish, without sending", &mut publish)
}

/// Our accountants against dp-accounting and opendp.
fn crosscheck() -> Outcome {
    let folder = root().join("tests/crosscheck");
    let python = python(&folder.join("requirements.txt"))?;
    let mut check = Command::new(python);
    check.arg(folder.join("accountants.py")).arg("--dzoa").arg(root().join("target/release/dzoa"));
    step("accountants against PyPI", &mut check)
}

/// One trial of the paper's example takes less than half the time of numpy, on one core.
fn against_numpy() -> Outcome {
    const MOST: f64 = 0.5;
    println!("== timing against numpy");
    let [samples, gram, single, ours] = trial_seconds()?;
    println!(
        "one trial, one core: dzoa {ours:.3} s, numpy {samples:.3} s (per sample), {gram:.3} s \
         (Gram form) and \
         {single:.3} s (directions in single precision): {:.1}, {:.1} and {:.1} times faster",
        samples / ours,
        gram / ours,
        single / ours
    );
    if ours > MOST * samples.min(gram).min(single) {
        return Err(format!("slower than {MOST} of numpy's time"));
    }
    Ok(())
}

/// docs/performance.md: everything that is measured about speed, beside its floor and numpy.
fn bench() -> Outcome {
    step("build", cargo().args(["test", "--release", "--workspace", "--no-run"]))?;
    let [samples, gram, single, _] = trial_seconds()?;
    let root = root();
    let data = std::env::var_os("DZOA_DATA").map_or(root.join("../shared/data"), Into::into);
    let a9a = data.join("libsvm/a9a");
    let mut bench = Command::new(root.join("target/release/dzoa-benches"));
    bench.current_dir(&root).args(["paper", "shapes"]);
    if a9a.exists() {
        bench.arg(format!("sparse={}", a9a.display()));
    } else {
        println!("== a9a: SKIPPED, no {}", a9a.display());
    }
    bench.args(["threads", "scaling", "memory"]);
    if let Some(measured) = others()? {
        bench.arg(format!("others={}", measured.display()));
    }
    bench.arg("normals=28");
    bench.arg(format!("numpy={samples},{gram},{single}")).arg("document=docs/performance.md");
    step("measuring", &mut bench)
}

/// decent-bench and nevergrad beside dzoa, where there is a Python that decent-bench runs on.
fn others() -> Result<Option<PathBuf>, String> {
    let new_enough = ["python3.14", "python3.13"]
        .into_iter()
        .find(|name| output(name, Command::new(name).arg("--version")).is_ok());
    let Some(interpreter) = new_enough else {
        println!("== decent-bench and nevergrad: SKIPPED, no Python 3.13");
        return Ok(None);
    };
    let folder = root().join("benches/others");
    let python = python_of(interpreter, &folder.join("requirements.txt"))?;
    let mut measure = Command::new(python);
    measure.arg(folder.join("measure.py")).arg("--dzoa").arg(root().join("target/release/dzoa"));
    println!("== decent-bench and nevergrad");
    let json = output("measure.py", &mut measure)?;
    let file = root().join("target/xtask-others.json");
    std::fs::write(&file, json).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(Some(file))
}

/// Seconds of one trial on one core: numpy per sample, in Gram form, that with directions in single
/// precision, and the program.
fn trial_seconds() -> Result<[f64; 4], String> {
    let python = python(&root().join("benches/peers/requirements.txt"))?;
    let script = root().join("benches/peers/dzoa_numpy.py");
    let seconds = |json: &str| -> Result<f64, String> {
        let after = json.split("\"seconds\":").nth(1).ok_or("no `seconds` in the output")?;
        let text = after.split([',', '}', '\n']).next().unwrap_or_default().trim();
        text.parse().map_err(|_| format!("`{text}` is not a number of seconds"))
    };
    let oracle = root().join("tests/oracle/inner_loop.json");
    output("numpy check", Command::new(&python).arg(&script).arg("--check").arg(&oracle))?;
    let mut best = [f64::INFINITY; 4];
    // Alternating, and the best of each: a busy moment then hits neither alone.
    for _ in 0..5 {
        let variants: [&[&str]; 3] = [&[], &["--gram"], &["--gram", "--single"]];
        for (slot, extra) in variants.into_iter().enumerate() {
            let mut command = Command::new(&python);
            command.arg(&script).args(["--json", "--trials", "1"]).args(extra);
            best[slot] = best[slot].min(seconds(&output("numpy", &mut command)?)?);
        }
        let out = root().join("target/xtask-timing");
        let _ = std::fs::remove_dir_all(&out);
        let mut command = Command::new(root().join("target/release/dzoa"));
        command.args(["run", "--json", "--set", "run.threads=1", "--out"]).arg(&out);
        best[3] = best[3].min(seconds(&output("dzoa", &mut command)?)?);
    }
    Ok(best)
}

/// A Python with these packages, in a virtual environment of their own under target/.
fn python(requirements: &Path) -> Result<PathBuf, String> {
    python_of(if cfg!(windows) { "python" } else { "python3" }, requirements)
}

fn python_of(interpreter: &str, requirements: &Path) -> Result<PathBuf, String> {
    let folder = requirements.parent().and_then(Path::file_name).unwrap_or_default();
    let venv = root().join("target/venv").join(folder);
    let python = venv.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    if !python.exists() {
        output("python3 -m venv", Command::new(interpreter).args(["-m", "venv"]).arg(&venv))
            .map_err(|error| format!("{error}\nPython 3 with its venv module is needed"))?;
    }
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--requirement"]).arg(requirements);
    output("pip install", &mut pip)?;
    Ok(python)
}

/// The pictures in docs/, from committed commands.
fn figures() -> Outcome {
    step("build", cargo().args(["build", "--release", "--workspace"]))?;
    let out = root().join("target/xtask-figures");
    let _ = std::fs::remove_dir_all(&out);
    let mut run = Command::new(root().join("target/release/dzoa"));
    run.args(["run", "--set", "run.trials=20", "--set", "name=\"paper\"", "--out"]).arg(&out);
    step("dzoa run", &mut run)?;
    let mut pictures = cargo();
    pictures.args(["run", "--release", "--package", "dzoa-lab", "--example", "pictures"]);
    step("pictures for people who decide", &mut pictures)?;
    let docs = root().join("docs");
    let reproduced = root().join("target/xtask-reproduce");
    let mut reproduce = Command::new(root().join("target/release/dzoa"));
    reproduce.args(["reproduce", "all", "--out"]).arg(&reproduced);
    step("dzoa reproduce", &mut reproduce)?;
    let page = docs.join("figures.md");
    let unreadable = |error: std::io::Error| format!("{}: {error}", page.display());
    let mut text = std::fs::read_to_string(&page).map_err(unreadable)?;
    for name in ["fig1", "fig2", "fig3", "fig3-honest", "noise", "rate"] {
        let (from, to) = (reproduced.join(format!("{name}.svg")), docs.join("figures"));
        let caption = std::fs::create_dir_all(&to)
            .and_then(|()| std::fs::copy(&from, to.join(format!("{name}.svg"))))
            .and_then(|_| std::fs::read_to_string(from.with_extension("md")))
            .map_err(|error| format!("{}: {error}", from.display()))?;
        text = with_caption(&text, name, caption.trim())
            .ok_or_else(|| format!("{}: has no picture {name}.svg", page.display()))?;
    }
    std::fs::write(&page, text).map_err(unreadable)?;
    let copied = std::fs::create_dir_all(&docs)
        .and_then(|()| std::fs::copy(out.join("convergence.svg"), docs.join("convergence.svg")));
    copied.map(|_| ()).map_err(|error| format!("docs/convergence.svg: {error}"))
}

/// The page with this caption as the paragraph after the picture.
fn with_caption(page: &str, name: &str, caption: &str) -> Option<String> {
    let picture = format!("](figures/{name}.svg)\n\n");
    let start = page.find(&picture)? + picture.len();
    let end = start + page[start..].find("\n\n")?;
    Some(format!("{}{caption}{}", &page[..start], &page[end..]))
}
