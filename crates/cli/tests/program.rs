//! The program as a user meets it: files, repeatability, calculators.

mod common;

use common::{dzoa, json, listing, root};
use tempfile::tempdir;

/// L = 3: with so few inner steps Corollary 1's step is too long for L = 1.
const QUICK: [&str; 6] = [
    "--set",
    "algorithm.rounds=12",
    "--set",
    "algorithm.inner_steps=20",
    "--set",
    "algorithm.lipschitz=3",
];

#[test]
fn a_run_writes_its_files_and_says_that_nominal_is_not_a_guarantee() {
    let dir = tempdir().unwrap();
    let output = dzoa(dir.path(), &[&["run"][..], &QUICK].concat());
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("NOMINAL") && text.contains("is not a guarantee"), "{text}");
    assert!(text.contains("seeded: for tests"));
    let files = listing(&dir.path().join("runs/paper"));
    for file in ["model.json", "report.html", "summary.json", "trace.csv"] {
        assert!(files.contains(&file.to_string()), "{files:?}");
    }
    let trace = std::fs::read_to_string(dir.path().join("runs/paper/trace.csv")).unwrap();
    let mut lines = trace.lines();
    assert_eq!(lines.next(), Some("# for the holder of the rows: do not share"));
    let columns = "trial,round,agent,error,objective_gap,consensus,epsilon_spent";
    assert_eq!(lines.next(), Some(columns));
    assert_eq!(lines.count(), 12 * 5);
    // A second run goes elsewhere.
    assert!(dzoa(dir.path(), &[&["run"][..], &QUICK].concat()).status.success());
    assert_eq!(listing(&dir.path().join("runs")), ["paper", "paper-2"]);
}

#[test]
fn the_summary_has_the_keys_of_the_interface() {
    let dir = tempdir().unwrap();
    let summary = json(dir.path(), &[&["run", "--json"][..], &QUICK].concat());
    for key in [
        "name",
        "algorithm",
        "mechanism",
        "agents",
        "features",
        "rounds",
        "trials",
        "seed",
        "seeded",
        "error",
        "final_error",
        "objective",
        "optimum",
        "coefficients",
        "oracle_calls",
        "seconds",
        "privacy",
    ] {
        assert!(!summary[key].is_null(), "{key}");
    }
    let entries = summary["privacy"].as_array().unwrap();
    assert_eq!(entries.len(), 5);
    for entry in entries {
        assert_eq!(entry["claim"], "nominal");
        assert_eq!(entry["adjacency"], "replace-one");
        for key in [
            "epsilon_per_round",
            "epsilon_theorem2",
            "epsilon_zcdp",
            "epsilon_exact",
            "delta",
            "sigma_assumed",
            "sigma_measured",
            "sensitivity",
        ] {
            assert!(entry[key].as_f64().unwrap() > 0.0, "{key}");
        }
    }
    // 5 agents x 12 rounds x 20 steps x 30 directions x 2 values
    assert_eq!(summary["oracle_calls"], 5 * 12 * 20 * 30 * 2);
    let stored = std::fs::read_to_string(dir.path().join("runs/paper/summary.json")).unwrap();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&stored).unwrap(), summary);
}

#[test]
fn a_seed_fixes_every_byte_of_the_trace_for_any_number_of_threads() {
    let dir = tempdir().unwrap();
    let trace = |out: &str, sets: &[&str]| {
        let mut args = vec!["run", "--out", out, "--set", "run.trials=3"];
        args.extend(QUICK);
        for set in sets {
            args.extend(["--set", set]);
        }
        assert!(dzoa(dir.path(), &args).status.success());
        std::fs::read(dir.path().join(out).join("trace.csv")).unwrap()
    };
    let one = trace("one", &["run.threads=1"]);
    assert_eq!(one, trace("two", &["run.threads=2"]));
    assert_eq!(one, trace("again", &["run.threads=2"]));
    assert_ne!(one, trace("other", &["run.seed=2"]));
}

#[test]
fn a_run_is_never_overwritten() {
    let dir = tempdir().unwrap();
    let args = [&["run", "--out", "here"][..], &QUICK].concat();
    assert!(dzoa(dir.path(), &args).status.success());
    let before = std::fs::read(dir.path().join("here/summary.json")).unwrap();
    let again = dzoa(dir.path(), &args);
    assert_eq!(again.status.code(), Some(2));
    assert_eq!(std::fs::read(dir.path().join("here/summary.json")).unwrap(), before);
}

#[test]
fn a_run_that_cannot_be_kept_does_not_begin() {
    let dir = tempdir().unwrap();
    std::fs::write(dir.path().join("file"), "").unwrap();
    let black_box = root().join("examples/black-box/run.toml");
    let ledger =
        ["run", "--out", "file/here", "--ledger", "ledgers", "--new-ledger", "--budget", "9"];
    for args in [&ledger[..], &["run", black_box.to_str().unwrap(), "--out", "file/here"]] {
        let output = dzoa(dir.path(), args);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("file/here: cannot be written"), "{stderr}");
        assert!(stderr.contains("hint: choose a directory"), "{stderr}");
    }
    // Nothing written: no ledger for rows about which nothing was released.
    assert_eq!(listing(dir.path()), ["file"]);
}

#[test]
fn steps_that_are_too_long_end_as_non_finite_with_agent_round_and_hint() {
    let dir = tempdir().unwrap();
    let output = dzoa(dir.path(), &["run", "--set", "algorithm.lipschitz=0.5", "--out", "o"]);
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("NonFinite: agent") && stderr.contains("in round"), "{stderr}");
    assert!(stderr.contains("hint: ") && stderr.contains("lipschitz"), "{stderr}");
    let summary = std::fs::read_to_string(dir.path().join("o/summary.json")).unwrap();
    assert!(summary.contains("\"status\": \"non-finite\"") && !summary.contains("NaN"));
    // The page can still be made from it.
    assert!(dzoa(dir.path(), &["report", "o"]).status.success());
}

#[test]
fn the_report_from_the_files_is_the_one_that_the_run_wrote() {
    let dir = tempdir().unwrap();
    assert!(dzoa(dir.path(), &[&["run", "--out", "o"][..], &QUICK].concat()).status.success());
    let page = dir.path().join("o/report.html");
    let written = std::fs::read(&page).unwrap();
    std::fs::remove_file(&page).unwrap();
    assert!(dzoa(dir.path(), &["report", "o"]).status.success());
    assert!(std::fs::read(&page).unwrap() == written, "the same bytes");
}

#[test]
fn a_run_that_ends_worse_than_it_began_says_so() {
    let dir = tempdir().unwrap();
    let output = dzoa(dir.path(), &[&["run"][..], &QUICK[..4]].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("farther from the optimum than zero"), "{text}");
}

#[test]
fn the_starter_study_runs_predicts_and_evaluates() {
    let dir = tempdir().unwrap();
    assert!(dzoa(dir.path(), &["init", "study"]).status.success());
    let again = dzoa(dir.path(), &["init", "study"]);
    assert_eq!(again.status.code(), Some(2), "nothing is overwritten");
    let summary = json(
        dir.path(),
        &["run", "study/run.toml", "--json", "--out", "out", "--set", "run.seed=1"],
    );
    let objective = |key: &str| summary[key].as_f64().unwrap();
    assert!(objective("objective") <= 1.01 * objective("optimum"), "{summary}");
    let output = dzoa(dir.path(), &["predict", "--model", "out/model.json", "study/west.csv"]);
    let predictions = String::from_utf8(output.stdout).unwrap();
    assert!(predictions.starts_with("row,prediction,score,probability,reason\n1,"));
    assert_eq!(predictions.lines().count(), 41);
    let evaluation =
        json(dir.path(), &["evaluate", "--model", "out/model.json", "study/west.csv", "--json"]);
    assert!(evaluation["accuracy"].as_f64().unwrap() > 0.6, "{evaluation}");
    // The same rows without their labels can be predicted, too.
    let rows = std::fs::read_to_string(dir.path().join("study/west.csv")).unwrap();
    let unlabelled: String =
        rows.lines().map(|line| line.rsplit_once(',').unwrap().0.to_string() + "\n").collect();
    std::fs::write(dir.path().join("new.csv"), unlabelled).unwrap();
    let output = dzoa(dir.path(), &["predict", "--model", "out/model.json", "new.csv"]);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), predictions);
}

#[test]
fn the_stopping_rule_ends_a_run_that_no_longer_moves() {
    let dir = tempdir().unwrap();
    let summary = json(
        dir.path(),
        &[
            "run",
            "--json",
            "--set",
            "algorithm.name=admm",
            "--set",
            "privacy.mechanism=none",
            "--set",
            "algorithm.rounds=5000",
            "--set",
            "run.stop_tolerance=1e-8",
            "--out",
            "o",
        ],
    );
    assert_eq!(summary["status"], "stopped");
    assert!(summary["rounds_done"].as_u64().unwrap() < 1000);
    assert!(summary["final_error"].as_f64().unwrap() < 1e-10);
}

#[test]
fn averages_are_functions_of_the_releases() {
    let dir = tempdir().unwrap();
    let run = |average: &str| {
        let set = format!("algorithm.average={average}");
        let out = format!("out-{average}");
        let args = ["run", "--json", "--out", &out, "--set", &set];
        json(dir.path(), &[&args[..], &QUICK].concat())["coefficients"].clone()
    };
    let (none, half, network) = (run("none"), run("last-half"), run("network"));
    assert_ne!(none, half);
    // Gossip keeps the mean and brings the agents together, to a thousandth of their distance.
    let column = |models: &serde_json::Value, p: usize| -> Vec<f64> {
        models.as_array().unwrap().iter().map(|agent| agent[p].as_f64().unwrap()).collect()
    };
    for p in 0..10 {
        let (before, after) = (column(&half, p), column(&network, p));
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let spread =
            |values: &[f64]| values.iter().map(|v| (v - mean(values)).abs()).fold(0.0, f64::max);
        assert!((mean(&before) - mean(&after)).abs() < 1e-12);
        assert!(spread(&after) <= 5e-3 * spread(&before), "{after:?}");
    }
}

fn oracle() -> serde_json::Value {
    let text = std::fs::read_to_string(root().join("tests/oracle/privacy.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Calls a calculator with the inputs of an oracle row and compares every key of the row.
fn compare(calculator: &str, inputs: &[&str], row: &serde_json::Value) {
    let dir = tempdir().unwrap();
    let mut args = vec!["privacy".to_string(), calculator.into(), "--json".into()];
    for key in inputs {
        args.push(format!("--{}", key.replace('_', "-")));
        args.push(row[key].to_string());
    }
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let answer = json(dir.path(), &args);
    for (key, expected) in row.as_object().unwrap() {
        let (ours, expected) = (answer[key].as_f64().unwrap(), expected.as_f64().unwrap());
        assert!((ours - expected).abs() <= 1e-10 * expected.abs(), "{key}: {ours} {expected}");
    }
}

#[test]
fn the_calculators_answer_with_the_oracles_keys_and_numbers() {
    for row in oracle()["composition"].as_array().unwrap().iter().step_by(5) {
        compare("compose", &["epsilon", "delta", "rounds"], row);
    }
    let inputs = [
        "features",
        "directions",
        "inner_steps",
        "rho",
        "neighbourhood",
        "samples",
        "epsilon",
        "delta",
        "c1",
        "c",
        "optimum_norm_squared",
    ];
    for row in oracle()["corollary1"].as_array().unwrap().iter().step_by(4) {
        compare("alpha", &inputs, row);
    }
}

#[test]
fn the_plan_never_promises_more_than_its_budget() {
    let dir = tempdir().unwrap();
    let plan = json(
        dir.path(),
        &[
            "privacy",
            "plan",
            "--agents",
            "5",
            "--samples",
            "2000",
            "--features",
            "10",
            "--total-epsilon",
            "2",
            "--delta",
            "1e-5",
            "--json",
        ],
    );
    for row in plan["plan"].as_array().unwrap() {
        let number = |key: &str| row[key].to_string();
        let total = json(
            dir.path(),
            &[
                "privacy",
                "epsilon",
                "--json",
                "--delta",
                "1e-5",
                "--sigma",
                &number("sigma"),
                "--sensitivity",
                &number("sensitivity"),
                "--rounds",
                &number("rounds"),
            ],
        );
        let epsilon = total["epsilon_exact"].as_f64().unwrap();
        assert!(epsilon <= 2.0 && epsilon > 1.999, "{epsilon}");
    }
}

#[test]
fn help_has_examples_and_completions_complete() {
    let dir = tempdir().unwrap();
    for command in [&["--help"][..], &["run", "--help"], &["privacy", "compose", "--help"]] {
        let text = String::from_utf8(dzoa(dir.path(), command).stdout).unwrap();
        assert!(text.contains("Example"), "{command:?}");
    }
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = dzoa(dir.path(), &["completions", shell]).stdout;
        assert!(String::from_utf8(script).unwrap().contains("evaluate"));
    }
}

#[test]
fn every_exit_status_is_explained_where_people_look() {
    let dir = tempdir().unwrap();
    let said = |args: &[&str]| String::from_utf8(dzoa(dir.path(), args).stdout).unwrap();
    let (help, table) = (said(&["--help"]), said(&["help", "exit-codes"]));
    let page = std::fs::read_to_string(root().join("docs/reference.md")).unwrap();
    assert!(page == dzoa_table::reference_page(), "docs/reference.md is not of this program");
    let statuses = [
        "0 done",
        "1 failed",
        "2 wrong input",
        "3 budget spent",
        "4 neighbour lost",
        "130 interrupted",
    ];
    for status in statuses {
        let (number, word) = status.split_once(' ').unwrap();
        assert!(help.contains(status), "{status}: {help}");
        assert!(table.contains(&format!("\n  {number:<4} {word}")), "{status}: {table}");
        assert!(page.contains(&format!("\n| {number} | {word}")), "{status}");
    }
}

#[test]
fn the_citation_is_of_this_version_and_of_the_paper() {
    let text = std::fs::read_to_string(root().join("CITATION.cff")).unwrap();
    let version = format!("\nversion: {}\n", env!("CARGO_PKG_VERSION"));
    assert!(text.contains(&version), "CITATION.cff has another version than Cargo.toml");
    assert!(text.contains("\"Privacy-Preserving Distributed Zeroth-Order Optimization\""));
}

/// Every command has its page, and a page says what the command's help says.
#[test]
fn every_command_has_a_manual_page() {
    let dir = tempdir().unwrap();
    let output = dzoa(dir.path(), &["man", "pages/man1"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let pages = listing(&dir.path().join("pages/man1"));
    for page in ["dzoa.1", "dzoa-run.1", "dzoa-agent.1", "dzoa-privacy-compose.1"] {
        assert!(pages.contains(&page.to_string()), "{pages:?}");
    }
    assert!(!pages.contains(&"dzoa-man.1".to_string()), "it is for packages: {pages:?}");
    let read =
        |page: &str| std::fs::read_to_string(dir.path().join("pages/man1").join(page)).unwrap();
    let text = read("dzoa-run.1");
    assert!(text.contains(".TH dzoa-run 1") && text.contains("spend\\-what\\-is\\-left"), "{text}");
    assert!(read("dzoa.1").contains("130 interrupted"));
    // What a command hides, its page hides.
    assert!(!read("dzoa-agent.1").contains("record\\-frames"));
}

/// The trace is on the disk while the rounds go; Ctrl-C leaves all of them, and a whole run.
#[cfg(unix)]
#[test]
fn the_trace_is_written_while_the_rounds_go_and_ctrl_c_completes_the_files() {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};
    let dir = tempdir().unwrap();
    let out = dir.path().join("r");
    // Steps so short that the run never ends by itself.
    let sets = [
        "algorithm.rounds=1000000",
        "algorithm.inner_steps=1",
        "algorithm.lipschitz=100",
        "run.record_every=1",
    ];
    let mut child = Command::new(env!("CARGO_BIN_EXE_dzoa"))
        .args(["run", "--out", "r"])
        .args(sets.iter().flat_map(|set| ["--set", *set]))
        .current_dir(dir.path())
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let trace = out.join("trace.csv");
    let begun = Instant::now();
    while !std::fs::metadata(&trace).is_ok_and(|file| file.len() > 100_000) {
        assert!(begun.elapsed() < Duration::from_secs(60), "no trace after a minute");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(listing(&out), ["trace.csv"], "the run still goes on");
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));

    let summary = std::fs::read_to_string(out.join("summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    let rounds = summary["rounds_done"].as_u64().unwrap();
    let text = std::fs::read_to_string(&trace).unwrap();
    let mut rows = text.lines().skip(2);
    for round in 1..=rounds {
        for agent in 1..=5 {
            let row = rows.next().unwrap_or_else(|| panic!("no row for round {round}"));
            assert!(row.starts_with(&format!("1,{round},{agent},")), "{row}");
        }
    }
    assert_eq!(rows.next(), None);
}
