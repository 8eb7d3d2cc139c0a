//! `cargo xtask comparison`: the measured tables of docs/comparison.md, from one command.

use crate::{Outcome, cargo, root, step};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

const OUR_OWN: &str = "joint-gradient,joint-gradient:1,joint-newton:1,joint-values:1,\
    d-zoa:output,d-zoa:scalar,dp-admm,p-admm,ps-admm,dp-gd,projected-gradient,admm";
const KINKS: &str = "joint-gradient,joint-gradient:1,joint-values:1,\
    d-zoa:output,d-zoa:scalar,dp-admm,p-admm,ps-admm,dp-gd,projected-gradient,admm";
const SQUARES: &str = "joint-gradient,joint-gradient:1,joint-newton:1,joint-values:1,\
    d-zoa:scalar,dp-admm,ps-admm,dp-gd,admm";
const MANY: &str = "joint-gradient,joint-gradient:5,joint-gradient:49,joint-newton:49,\
    d-zoa:output,d-zoa:scalar,dp-admm,p-admm,ps-admm,dp-gd,projected-gradient,admm";
const SMOOTH: &str = "joint-gradient,joint-gradient:1,joint-newton:1,joint-values:1,\
    d-zoa:output,dp-admm,pvp,dvp,p-admm,m-admm,r-admm,dp-gd,objective-perturbation,admm";

/// A comparison: its heading, config, data set, further arguments, and trials (in full, and quick).
struct Case {
    heading: &'static str,
    config: &'static str,
    data: Option<&'static str>,
    arguments: &'static [&'static str],
    trials: (usize, usize),
}

/// d-zoa:output asks for few values and lets its exact finish do the rest: the release lies within
/// the same tolerance of the same point, and an hour is enough for all tables.
const SHORT: [&str; 4] = ["--set", "algorithm.inner_steps=1", "--set", "algorithm.directions=1"];

const CASES: [Case; 9] = [
    Case {
        heading: "Generated data: L1 logistic, K = 5, N_k = 2000, P = 10",
        config: "examples/generated/logistic.toml",
        data: None,
        arguments: &["--algorithms", OUR_OWN, "--epsilon", "0.5", "2", "8"],
        trials: (20, 2),
    },
    Case {
        heading: "Four hospitals",
        config: "examples/hospitals/run.toml",
        data: Some("heart_disease"),
        arguments: &["--algorithms", OUR_OWN, "--epsilon", "1", "4", "16"],
        trials: (20, 2),
    },
    Case {
        heading: "Adult, K = 5",
        config: "examples/adult/run.toml",
        data: Some("adult"),
        arguments: &["--algorithms", OUR_OWN, "--epsilon", "0.5", "2"],
        trials: (5, 0),
    },
    Case {
        heading: "a9a, sparse",
        config: "examples/a9a/run.toml",
        data: Some("libsvm"),
        arguments: &["--algorithms", OUR_OWN, "--epsilon", "0.5", "2"],
        trials: (5, 0),
    },
    Case {
        heading: "Breast cancer",
        config: "examples/breast_cancer/run.toml",
        data: Some("breast_cancer"),
        arguments: &["--algorithms", KINKS, "--epsilon", "1", "4", "16"],
        trials: (20, 2),
    },
    Case {
        heading: "Generated data: L2 logistic, where every algorithm's assumptions hold",
        config: "examples/generated/smooth.toml",
        data: None,
        arguments: &["--algorithms", SMOOTH, "--epsilon", "0.5", "2", "8"],
        trials: (20, 2),
    },
    Case {
        heading: "The paper's example: lasso, K = 5, N_k = 20, P = 10",
        config: "",
        data: None,
        arguments: &["--algorithms", SQUARES, "--epsilon", "0.5", "2", "8"],
        trials: (20, 2),
    },
    Case {
        heading: "Adult, K = 100 on a ring with shortcuts",
        config: "examples/adult/run.toml",
        data: Some("adult"),
        arguments: &[
            "--set",
            "data.agents=100",
            "--set",
            "network={ topology = \"small-world\", k = 4, p = 0.2 }",
            "--algorithms",
            MANY,
            "--epsilon",
            "2",
            "8",
        ],
        trials: (5, 0),
    },
    Case {
        heading: "Adult, K = 100, eta = 0.2: the problem that five agents have",
        config: "examples/adult/run.toml",
        data: Some("adult"),
        arguments: &[
            "--set",
            "data.agents=100",
            "--set",
            "problem.eta=0.2",
            "--set",
            "network={ topology = \"small-world\", k = 4, p = 0.2 }",
            "--algorithms",
            MANY,
            "--epsilon",
            "2",
            "8",
        ],
        trials: (5, 0),
    },
];

/// Runs the comparisons whose headings contain `only` (all of them, if it says nothing) and writes
/// the document, in which the others stay as they were; `quick` takes few trials, skips the large
/// data sets and writes below target/ only.
pub fn run(quick: bool, only: Option<&str>) -> Outcome {
    if let Some(only) = only.filter(|only| !CASES.iter().any(|case| case.heading.contains(only))) {
        let headings = CASES.map(|case| format!("  {}", case.heading)).join("\n");
        return Err(format!("no table has `{only}` in its heading; there are\n{headings}"));
    }
    let root = root();
    // As the tests build it: nothing is built twice.
    let program = match std::env::var_os("DZOA_PROGRAM") {
        Some(program) => PathBuf::from(program),
        None => {
            step("build", cargo().args(["test", "--release", "--workspace", "--no-run"]))?;
            root.join("target/release/dzoa")
        }
    };
    let out = root.join("target/xtask-comparison");
    let _ = std::fs::remove_dir_all(&out);
    let target = if quick { out.join("comparison.md") } else { root.join("docs/comparison.md") };
    let mut sections: Vec<String> = match std::fs::read_to_string(&target) {
        Ok(before) => CASES.iter().map(|case| section(&before, case.heading)).collect(),
        Err(_) => vec![String::new(); CASES.len()],
    };
    for (number, case) in CASES.iter().enumerate() {
        if only.is_some_and(|only| !case.heading.contains(only)) {
            continue;
        }
        let trials = if quick { case.trials.1 } else { case.trials.0 };
        if trials == 0 {
            println!("== {}: left out of the quick mode", case.heading);
            continue;
        }
        if let Some(text) = case.measure(&program, &out.join(number.to_string()), trials)? {
            sections[number] = text;
        }
        // After every table: what is done stays, should the next one be stopped.
        write(&target, &(INTRODUCTION.to_string() + &sections.concat()))?;
    }
    let mut document = INTRODUCTION.to_string() + &sections.concat() + ESTIMATORS;
    // Its table, as it was last measured.
    let measured = root.join("docs/estimators.md");
    let text = std::fs::read_to_string(&measured)
        .map_err(|error| format!("{}: {error}", measured.display()))?;
    for line in text.lines().filter(|line| line.starts_with('|')) {
        let _ = writeln!(document, "{line}");
    }
    write(&target, &document)
}

/// A section of the document, from its heading to the next one; empty where there is none.
fn section(document: &str, heading: &str) -> String {
    let title = format!("\n## {heading}\n");
    let Some(from) = document.find(&title) else { return String::new() };
    let rest = &document[from + title.len()..];
    let end = rest.find("\n## ").unwrap_or(rest.len());
    format!("{title}{}", &rest[..end])
}

impl Case {
    /// Runs it and gives its section; none where its data is not here.
    fn measure(&self, program: &Path, dir: &Path, trials: usize) -> Result<Option<String>, String> {
        let root = root();
        let data = std::env::var_os("DZOA_DATA").map_or(root.join("../shared/data"), Into::into);
        if self.data.is_some_and(|name| !data.join(name).exists()) {
            println!("== {}: SKIPPED, no data in {}", self.heading, data.display());
            return Ok(None);
        }
        let mut command = Command::new(program);
        command.current_dir(&root).arg("compare").arg("--out").arg(dir);
        let mut shown = String::from("dzoa compare");
        if !self.config.is_empty() {
            command.arg(self.config);
            let _ = write!(shown, " {}", self.config);
        }
        if let Some(name) = self.data {
            let data = data.join(name).canonicalize().map_err(|error| error.to_string())?;
            command.arg("--set").arg(format!("data.root={}", data.display()));
            let _ = write!(shown, " --set data.root=DIR/{name}");
        }
        let mut arguments: Vec<String> =
            self.arguments.iter().map(|word| word.to_string()).collect();
        // Large data sets: one tuning draw, since the rows are the same in all.
        let tuning = if trials != self.trials.0 || self.trials.1 == 0 { "1" } else { "3" };
        arguments.extend(SHORT.map(String::from));
        arguments.extend(["--trials".into(), trials.to_string()]);
        arguments.extend(["--tuning-trials".into(), tuning.to_string()]);
        command.args(&arguments);
        for word in &arguments {
            let quoted = if word.contains(' ') { format!("'{word}'") } else { word.clone() };
            let _ = write!(shown, " {quoted}");
        }
        step(self.heading, &mut command)?;
        let table = std::fs::read_to_string(dir.join("comparison.md"))
            .map_err(|error| format!("comparison.md: {error}"))?;
        Ok(Some(format!("\n## {}\n\n`{shown}`\n\n{table}", self.heading)))
    }
}

fn write(path: &Path, text: &str) -> Outcome {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    println!("== wrote {}", path.display());
    Ok(())
}

const INTRODUCTION: &str = "# Who wins where

Made by `cargo xtask comparison`; every number and every sentence about who wins is computed from \
the runs. \
All totals are exact (epsilon, delta) over whole runs, replace-one on one agent's rows. The \
paper's `intrinsic` \
mechanism is nominal, has no exact epsilon, and is not here: see [figures.md](figures.md). Error \
is the paper's: \
the sum over agents of the squared distance to the centralised optimum over its squared norm, so \
that the zero \
model has the error K. Joint sums \
take their public rules and \
nothing else; `joint-gradient` holds whoever colludes, `joint-gradient:1` if at most one of the \
other agents does \
(its column \"needs\" says so). Every other algorithm was tuned over twelve declared settings on \
draws that are not \
reported; on data from files tuning saw the same rows, which a private user cannot do. Seconds \
are wall-clock \
medians on one two-core machine that had other work, too: they compare rows of one table, \
roughly. Messages are counted \
without a coordinator where none is needed: dp-gd, dp-admm and joint sums flood what they \
release. d-zoa:output ran with one inner step and one \
direction a \
round and its exact finish: its release lies within the same public tolerance of the same point, \
so that its error \
is that of any number of inner steps, but its oracle calls and seconds are not. What each \
algorithm is and needs: \
[algorithms](algorithms/README.md).
";

const ESTIMATORS: &str = "
## The scikit-learn estimators

`LogisticRegression` and `LinearSVC` beside diffprivlib's logistic regression, at total epsilon \
1, 4 and 16 on breast cancer: accuracy on held-out rows, \
20 seeds. By `cargo xtask estimators`; what the columns mean and who has what advantage is in \
[estimators.md](estimators.md).

";
