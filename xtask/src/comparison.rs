//! `cargo xtask comparison`: the measured tables of docs/comparison.md, from one command.

use crate::{Outcome, cargo, root, step};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

const OUR_OWN: &str =
    "d-zoa:output,d-zoa:scalar,dp-admm,p-admm,ps-admm,dp-gd,projected-gradient,admm";
const SMOOTH: &str =
    "d-zoa:output,dp-admm,pvp,dvp,p-admm,m-admm,r-admm,dp-gd,objective-perturbation,admm";

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

const CASES: [Case; 8] = [
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
        trials: (3, 0),
    },
    Case {
        heading: "a9a, sparse",
        config: "examples/a9a/run.toml",
        data: Some("libsvm"),
        arguments: &["--algorithms", OUR_OWN, "--epsilon", "0.5", "2"],
        trials: (3, 0),
    },
    Case {
        heading: "Breast cancer",
        config: "examples/breast_cancer/run.toml",
        data: Some("breast_cancer"),
        arguments: &["--algorithms", OUR_OWN, "--epsilon", "1", "4", "16"],
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
        arguments: &["--epsilon", "0.5", "2", "8"],
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
            OUR_OWN,
            "--epsilon",
            "2",
            "8",
        ],
        trials: (3, 0),
    },
];

/// Runs all comparisons and writes the document; `quick` takes few trials, skips the large data
/// sets and writes below target/ only.
pub fn run(quick: bool) -> Outcome {
    // As the tests build it: nothing is built twice.
    step("build", cargo().args(["test", "--release", "--workspace", "--no-run"]))?;
    let root = root();
    let out = root.join("target/xtask-comparison");
    let _ = std::fs::remove_dir_all(&out);
    let data = std::env::var_os("DZOA_DATA").map_or(root.join("../shared/data"), Into::into);
    let target = if quick { out.join("comparison.md") } else { root.join("docs/comparison.md") };
    let mut document = String::from(INTRODUCTION);
    for (number, case) in CASES.iter().enumerate() {
        let trials = if quick { case.trials.1 } else { case.trials.0 };
        if trials == 0 {
            println!("== {}: left out of the quick mode", case.heading);
            continue;
        }
        if case.data.is_some_and(|name| !data.join(name).exists()) {
            println!("== {}: SKIPPED, no data in {}", case.heading, data.display());
            continue;
        }
        let dir = out.join(number.to_string());
        let mut command = Command::new(root.join("target/release/dzoa"));
        command.current_dir(&root).arg("compare").arg("--out").arg(&dir);
        let mut shown = String::from("dzoa compare");
        if !case.config.is_empty() {
            command.arg(case.config);
            let _ = write!(shown, " {}", case.config);
        }
        if let Some(name) = case.data {
            let data = data.join(name).canonicalize().map_err(|error| error.to_string())?;
            command.arg("--set").arg(format!("data.root={}", data.display()));
            let _ = write!(shown, " --set data.root=DIR/{name}");
        }
        let mut arguments: Vec<String> =
            case.arguments.iter().map(|word| word.to_string()).collect();
        // Large data sets: one tuning draw, since the rows are the same in all.
        let tuning = if quick || case.trials.1 == 0 { "1" } else { "3" };
        arguments.extend(SHORT.map(String::from));
        arguments.extend(["--trials".into(), trials.to_string()]);
        arguments.extend(["--tuning-trials".into(), tuning.to_string()]);
        command.args(&arguments);
        for word in &arguments {
            let quoted = if word.contains(' ') { format!("'{word}'") } else { word.clone() };
            let _ = write!(shown, " {quoted}");
        }
        step(case.heading, &mut command)?;
        let table = std::fs::read_to_string(dir.join("comparison.md"))
            .map_err(|error| format!("comparison.md: {error}"))?;
        let _ = write!(document, "\n## {}\n\n`{shown}`\n\n{table}", case.heading);
        // After every table: what is done stays, should the next one be stopped.
        write(&target, &document)?;
    }
    document.push_str(ESTIMATORS);
    // Its table, as it was last measured.
    let measured = root.join("docs/estimators.md");
    let text = std::fs::read_to_string(&measured)
        .map_err(|error| format!("{}: {error}", measured.display()))?;
    for line in text.lines().filter(|line| line.starts_with('|')) {
        let _ = writeln!(document, "{line}");
    }
    write(&target, &document)
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
model has the error K. Each algorithm was tuned over twelve declared settings on draws that are \
not reported; on \
data from files tuning saw the same rows, which a private user cannot do. Seconds are wall-clock \
medians on one \
two-core machine and compare rows of one table only. d-zoa:output ran with one inner step and one \
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
