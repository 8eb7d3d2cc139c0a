//! What a run says about privacy is never below the truth, however it ends; and its files say who
//! may see them.

mod agents;
#[path = "../../cli/tests/common/mod.rs"]
mod common;

use common::{dzoa, json};
use serde_json::Value;
use std::path::Path;
use tempfile::tempdir;

const DELTA: &str = "1e-5";

/// Smooth and strongly convex, so that every algorithm's assumptions hold; unseeded, so that its
/// claim does.
const SMOOTH: &str = r#"
name = "smooth"
[problem]
loss = "logistic"
regularizer = "l2"
eta = 0.1
[data]
synthetic = { agents = 3, samples = 30, features = 2, signal = 2.0 }
[network]
topology = "ring"
[algorithm]
rho = 0.5
rounds = 6
[privacy]
mechanism = "output"
total_epsilon = 3.0
delta = 1e-5
"#;

const ALL: [&str; 13] = [
    "admm",
    "dp-admm",
    "pvp",
    "dvp",
    "p-admm",
    "m-admm",
    "r-admm",
    "ps-admm",
    "projected-gradient",
    "objective-perturbation",
    "dp-gd",
    "d-zoa",
    "scalar",
];

/// What makes a run one of this algorithm, or of the mechanism `scalar`.
fn sets(name: &str) -> String {
    match name {
        "scalar" => "algorithm={name=\"d-zoa\",rho=1,rounds=6};privacy.mechanism=scalar".into(),
        name => format!("algorithm.name={name}"),
    }
}

/// Runs with these settings (`;` between them), and returns the exit status, what was printed, and
/// summary.json.
fn run(dir: &Path, out: &str, sets: &str, flags: &[&str]) -> (i32, String, Value) {
    let mut args = vec!["run", "smooth.toml", "--out", out];
    sets.split(';').for_each(|set| args.extend(["--set", set]));
    args.extend(flags);
    let output = dzoa(dir, &args);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let summary = std::fs::read_to_string(dir.join(out).join("summary.json"));
    let error = String::from_utf8_lossy(&output.stderr);
    let summary = summary.unwrap_or_else(|_| panic!("{out}: {error}"));
    (output.status.code().unwrap(), text, serde_json::from_str(&summary).unwrap())
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("no {key}: {value:#}"))
}

fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let rest = text.split_once(from).unwrap_or_else(|| panic!("no `{from}`: {text}")).1;
    rest.split_once(to).unwrap_or_else(|| panic!("no `{to}`: {rest}")).0
}

/// What the ledgers of a run say, as `dzoa ledger` reads them: the filter.
fn filter(dir: &Path, ledgers: &str, agent: usize) -> f64 {
    let file = format!("{ledgers}/{agent}.ledger");
    number(&json(dir, &["ledger", "show", &file, "--json"]), "epsilon_spent")
}

/// Whatever is printed or written is at least what the filter says, and at least what the plan
/// allowed.
fn assert_not_below_the_truth(dir: &Path, ledgers: &str, (text, summary): (&str, &Value)) {
    let printed: f64 = between(text, "together are (", ",").parse().unwrap();
    let life: f64 =
        between(text, "of earlier runs, it is epsilon ", " of at most").parse().unwrap();
    for (k, entry) in summary["privacy"].as_array().unwrap().iter().enumerate() {
        assert_eq!(entry["claim"], "exact");
        let (exact, plan) = (number(entry, "epsilon_exact"), number(entry, "planned_epsilon"));
        let (filter, lifetime) = (filter(dir, ledgers, k + 1), number(entry, "epsilon_lifetime"));
        assert!(plan > 2.9 && plan <= 3.0, "the budget of the config: {plan}");
        assert!(exact >= plan && exact >= number(entry, "epsilon_charged"), "{entry:#}");
        assert!(printed >= exact, "printed {printed}: {entry:#}");
        assert!(lifetime >= filter && life >= filter, "filter {filter}, {life}: {entry:#}");
        assert!(number(entry, "epsilon_zcdp") >= exact, "{entry:#}");
    }
    // Every file says the same.
    let out = between(text, "files in ", ":");
    let model = std::fs::read_to_string(dir.join(out).join("model.json")).unwrap();
    let said = between(text, "privacy: ", "\n");
    let model: Value = serde_json::from_str(&model).unwrap();
    assert_eq!(model["privacy"].as_str(), Some(said));
}

/// Every mechanism and algorithm, and four ends: all rounds, a tolerance, a budget that ends
/// inside, and earlier runs.
#[test]
fn no_algorithm_and_no_end_states_less_than_was_charged_or_planned() {
    let dir = tempdir().unwrap();
    let dir = dir.path();
    std::fs::write(dir.join("smooth.toml"), SMOOTH).unwrap();
    for name in ALL {
        let sets = sets(name);
        let ledgers = format!("{name}-ledgers");
        let new = ["--ledger", &ledgers, "--new-ledger", "--budget", "6"];
        let (code, text, summary) = run(dir, &format!("{name}-all"), &sets, &new);
        assert_eq!((code, &summary["status"]), (0, &"finished".into()), "{name}");
        assert_not_below_the_truth(dir, &ledgers, (&text, &summary));
        assert!(!text.contains("the run ended before"), "{text}");
        assert_eq!(text.contains("One solver is trusted"), name == "objective-perturbation");
        for entry in summary["privacy"].as_array().unwrap() {
            // A finished run charged its plan, no more and no less.
            assert_eq!(entry["epsilon_charged"], entry["planned_epsilon"], "{name}");
        }
        // All releases are within so much of each other: the run stops as soon as it may.
        let stop = format!("{sets};run.stop_tolerance=1e9");
        let flags = ["--ledger", &ledgers, "--spend-what-is-left"];
        let (_, text, summary) = run(dir, &format!("{name}-stop"), &stop, &flags);
        assert_ne!(summary["rounds_done"], 6, "{name}");
        assert_not_below_the_truth(dir, &ledgers, (&text, &summary));
        // Sooner or later what is left does not last.
        let (_, text, summary) = (1..9)
            .map(|turn| run(dir, &format!("{name}-{turn}"), &sets, &flags))
            .find(|(code, ..)| *code != 0)
            .unwrap();
        assert_eq!(summary["status"], "budget-exhausted", "{name}");
        assert_not_below_the_truth(dir, &ledgers, (&text, &summary));
        assert!(text.contains("the run ended before"), "{text}");
    }
}

/// Break 5 (a): version 0.2.3 printed (0.594, 1e-5) for 2 of 200 rounds at a budget of 8.
#[test]
fn a_run_that_its_tolerance_stops_states_the_plan() {
    let dir = tempdir().unwrap();
    let dir = dir.path();
    std::fs::write(dir.join("smooth.toml"), SMOOTH).unwrap();
    let sets =
        "algorithm.name=admm;algorithm.rounds=200;privacy.total_epsilon=8;run.stop_tolerance=1e6";
    let (code, text, summary) = run(dir, "o", sets, &[]);
    assert_eq!((code, &summary["status"]), (0, &"stopped".into()));
    assert_eq!(summary["rounds_done"], 2);
    let entry = &summary["privacy"][0];
    assert!(number(entry, "epsilon_charged") < 1.0, "{entry:#}");
    assert!(number(entry, "epsilon_exact") > 7.99, "{entry:#}");
    assert!(text.contains("together are (8.000, 1e-5)-differentially private"), "{text}");
    // Without a ledger earlier runs are not known, and that is said.
    assert!(entry["epsilon_lifetime"].is_null());
    assert!(text.contains("what earlier runs released about the same rows is not counted"));
}

/// Break 5 (b): version 0.2.3 printed EXACT (0.000, 1e-5), with 0.314 charged.
#[test]
fn a_scalar_run_that_fails_in_its_first_round_states_the_plan() {
    let dir = tempdir().unwrap();
    let dir = dir.path();
    std::fs::write(dir.join("smooth.toml"), SMOOTH).unwrap();
    // A clip at which sums of two hundred noisy scalars leave the finite numbers, in one of twenty
    // steps.
    let sets = "algorithm={name=\"d-zoa\",rho=1,rounds=60,inner_steps=20,directions=200};\
                privacy.mechanism=scalar;privacy.clip=1e307";
    let (code, text, summary) =
        run(dir, "o", sets, &["--ledger", "l", "--new-ledger", "--budget", "8"]);
    assert_eq!((code, &summary["status"]), (1, &"non-finite".into()));
    assert_eq!(summary["rounds_done"], 0);
    assert!(filter(dir, "l", 1) > 0.1, "the release that failed was charged");
    assert_not_below_the_truth(dir, "l", (&text, &summary));
}

/// Break 5 (c): version 0.2.3 stated the six rounds that all agents had finished; two agents had
/// released a seventh.
#[test]
fn a_run_that_ends_inside_a_round_counts_what_was_charged_in_it() {
    let dir = tempdir().unwrap();
    let dir = dir.path();
    std::fs::write(dir.join("smooth.toml"), SMOOTH).unwrap();
    let sets = sets("admm");
    for (ledgers, budget) in [("large", "9"), ("small", "4")] {
        let flags = ["--ledger", ledgers, "--new-ledger", "--budget", budget];
        run(dir, &format!("first-{ledgers}"), &sets, &flags);
    }
    // Only the second agent's budget ends.
    for file in ["2.ledger", "2.ledger.key"] {
        std::fs::copy(dir.join("small").join(file), dir.join("large").join(file)).unwrap();
    }
    let flags = ["--ledger", "large", "--spend-what-is-left"];
    let (code, text, summary) = run(dir, "o", &sets, &flags);
    assert_eq!((code, &summary["status"]), (3, &"budget-exhausted".into()));
    let entries = &summary["privacy"];
    let [first, second] = [0, 1].map(|k| number(&entries[k], "epsilon_charged"));
    assert!(first > 1.01 * second, "the first agent released once more: {first} {second}");
    assert_not_below_the_truth(dir, "large", (&text, &summary));
}

/// Break 5 (d): version 0.2.3 said "every agent's releases together" after an unprotected run on
/// the same ledger.
#[test]
fn earlier_runs_on_the_same_ledger_are_said_also_an_unprotected_one() {
    let dir = tempdir().unwrap();
    let dir = dir.path();
    std::fs::write(dir.join("smooth.toml"), SMOOTH).unwrap();
    let open = "algorithm.name=admm;privacy={mechanism=\"none\"}";
    run(dir, "open", open, &["--ledger", "l", "--new-ledger", "--budget", "8"]);
    let (_, text, summary) = run(dir, "o", &sets("admm"), &["--ledger", "l"]);
    assert!(summary["privacy"][0]["epsilon_lifetime"].is_null());
    assert!(text.contains("releases of this run together are (3.000, 1e-5)"), "{text}");
    assert!(text.contains("Over the life of the data NOTHING is promised"), "{text}");
    let page = std::fs::read_to_string(dir.join("o/report.html")).unwrap();
    assert!(page.contains("Over the life of the data NOTHING is promised"));
    // Two exact ones add up.
    run(dir, "p", &sets("admm"), &["--ledger", "m", "--new-ledger", "--budget", "9"]);
    let (_, text, summary) = run(dir, "q", &sets("admm"), &["--ledger", "m"]);
    let entry = &summary["privacy"][0];
    assert!(number(entry, "epsilon_lifetime") > 1.3 * number(entry, "epsilon_exact"));
    assert!(
        text.contains("with what the ledger holds of earlier runs, it is epsilon 4."),
        "{text}"
    );
}

/// Ctrl-C comes after somebody has looked at what was released.
#[cfg(unix)]
#[test]
fn an_interrupted_run_states_the_plan() {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};
    let dir = tempdir().unwrap();
    let dir = dir.path();
    std::fs::write(dir.join("smooth.toml"), SMOOTH).unwrap();
    let sets = ["algorithm.name=dp-gd", "algorithm.rounds=20000", "run.record_every=1"];
    let mut child = Command::new(env!("CARGO_BIN_EXE_dzoa-agent"))
        .args(["run", "smooth.toml", "--out", "o", "--json"])
        .args(sets.iter().flat_map(|set| ["--set", *set]))
        .current_dir(dir)
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while !std::fs::metadata(dir.join("o/trace.csv")).is_ok_and(|file| file.len() > 10_000) {
        assert!(begun.elapsed() < Duration::from_secs(60), "no trace after a minute");
        std::thread::sleep(Duration::from_millis(5));
    }
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let summary = std::fs::read_to_string(dir.join("o/summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&summary).unwrap();
    assert_eq!(summary["status"], "stopped");
    let entry = &summary["privacy"][0];
    assert!(number(entry, "epsilon_charged") < number(entry, "planned_epsilon"));
    assert_eq!(entry["epsilon_exact"], entry["planned_epsilon"]);
}

/// A real agent whose neighbour is killed: it ends with what it has, inside a round.
#[test]
fn an_agent_that_loses_its_neighbour_states_the_plan() {
    use std::time::{Duration, Instant};
    const NAMES: [&str; 3] = ["north", "south", "west"];
    let dir = tempdir().unwrap();
    let dir = dir.path();
    assert!(dzoa(dir, &["init", "study"]).status.success());
    let text = std::fs::read_to_string(dir.join("study/run.toml")).unwrap();
    let exact = "mechanism = \"output\"\ntotal_epsilon = 8.0\ndelta = 1e-5\n";
    let text = text
        .replace(
            "[network]",
            &format!("[network]\npatience = 1.0\n{}", agents::on_loopback(&NAMES)),
        )
        .replace("name = \"auto\"", "name = \"admm\"\nrho = 0.02\nrounds = 5000")
        .replacen("mechanism = \"none\"", exact, 1);
    std::fs::write(dir.join("net.toml"), text).unwrap();
    let made = dzoa(dir, &["certs", "--network", "net.toml", "--out", "certs"]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let mut started = NAMES.map(|name| {
        let (data, ledger) = (format!("study/{name}.csv"), format!("{name}.ledger"));
        agents::start(
            dir,
            name,
            &["--data", &data, "--ledger", &ledger, "--new-ledger", "--budget", "8"],
        )
    });
    let charged = || std::fs::read_to_string(dir.join("north.ledger")).map(|t| t.lines().count());
    let begun = Instant::now();
    while charged().is_ok_and(|entries| entries < 50) || charged().is_err() {
        let log = std::fs::read_to_string(dir.join("log-north")).unwrap();
        assert!(begun.elapsed() < Duration::from_secs(60), "no rounds after a minute: {log}");
        std::thread::sleep(Duration::from_millis(5));
    }
    started[1].0.kill().unwrap();
    // Not `wait`: it would end the agent's stdin, and with it the agent.
    let ended = loop {
        if let Some(status) = started[0].0.try_wait().unwrap() {
            break status;
        }
        assert!(begun.elapsed() < Duration::from_secs(90), "it does not notice");
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(ended.code(), Some(4));
    let log = std::fs::read_to_string(dir.join("log-north")).unwrap();
    let summary = std::fs::read_to_string(dir.join("state-north/summary.json"));
    let summary: Value = serde_json::from_str(&summary.expect(&log)).unwrap();
    assert_eq!(summary["status"], "neighbour-lost", "{log}");
    let entry = &summary["privacy"][0];
    let shown = json(dir, &["ledger", "show", "north.ledger", "--json"]);
    assert_eq!(entry["epsilon_charged"], shown["epsilon_spent"], "with the round that did not end");
    assert!(number(entry, "epsilon_charged") < 4.0, "{entry:#}");
    assert_eq!(entry["epsilon_exact"], entry["planned_epsilon"]);
    assert!(number(entry, "epsilon_exact") > 7.99, "{entry:#}");
}

/// Version 0.2.3 burnt what was left: 27 of 60 rounds, and a half-done model.
#[test]
fn a_run_that_the_budget_does_not_last_for_is_refused_before_its_first_round() {
    let dir = tempdir().unwrap();
    let dir = dir.path();
    std::fs::write(dir.join("smooth.toml"), SMOOTH).unwrap();
    run(dir, "a", &sets("admm"), &["--ledger", "l", "--new-ledger", "--budget", "4"]);
    let ledger = || std::fs::read(dir.join("l/1.ledger")).unwrap();
    let before = ledger();
    let args = ["run", "smooth.toml", "--out", "b", "--set", "algorithm.name=admm"];
    let args = [&args[..], &["--ledger", "l"]].concat();
    let output = dzoa(dir, &args);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("1.ledger: the budget of epsilon 4 at delta 0.00001 does not last"));
    assert!(error.contains("hint: ") && error.contains("--spend-what-is-left"), "{error}");
    assert_eq!(ledger(), before, "nothing is charged");
    assert!(!dir.join("b").exists(), "nothing is written");
    // A new ledger that would not last is not made.
    let new = [&args[..args.len() - 1], &["n", "--new-ledger", "--budget", "1"]].concat();
    assert_eq!(dzoa(dir, &new).status.code(), Some(2));
    assert!(!dir.join("n").exists());
    let (code, text, summary) =
        run(dir, "c", &sets("admm"), &["--ledger", "l", "--spend-what-is-left"]);
    assert_eq!((code, &summary["status"]), (3, &"budget-exhausted".into()));
    assert!(ledger().starts_with(&before) && ledger().len() > before.len());
    assert!(filter(dir, "l", 1) <= 4.0);
    assert_not_below_the_truth(dir, "l", (&text, &summary));
}

/// Break 12: what the holder of all rows sees is beside the claim, and is not covered by it.
#[test]
fn files_say_who_may_see_them() {
    const HOLDER: &str = "for the holder of the rows: do not share";
    let dir = tempdir().unwrap();
    let dir = dir.path();
    std::fs::write(dir.join("smooth.toml"), SMOOTH).unwrap();
    let (_, text, _) = run(dir, "o", &sets("admm"), &[]);
    let read = |name: &str| std::fs::read_to_string(dir.join("o").join(name)).unwrap();
    assert!(read("summary.json").starts_with(&format!("{{\n  \"sharing\": \"{HOLDER}\",\n")));
    assert!(read("local.json").contains(HOLDER));
    assert!(read("trace.csv").starts_with(&format!("# {HOLDER}\ntrial,round,agent,error,")));
    assert!(read("convergence.svg").ends_with(&format!("<!-- {HOLDER} -->\n")));
    assert!(text.contains(HOLDER), "{text}");
    let page = read("report.html");
    let banner = between(&page, "<aside class=\"holder\"", "</aside>");
    assert!(banner.contains("For the holder of the rows: do not share"), "{banner}");
    // The model may be shared, and holds nothing that only the holder of the rows may see.
    let model: Value = serde_json::from_str(&read("model.json")).unwrap();
    assert!(model["sharing"].as_str().unwrap().starts_with("may be shared"));
    #[cfg(unix)]
    for name in ["summary.json", "local.json", "trace.csv", "report.html", "convergence.svg"] {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(dir.join("o").join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    // The paper's noise is measured on private rows: the summary has it, the model has not.
    let paper = ["run", "--out", "p", "--set", "algorithm.rounds=3"];
    assert!(dzoa(dir, &paper).status.success());
    let model = std::fs::read_to_string(dir.join("p/model.json")).unwrap();
    assert!(model.contains("NOMINAL") && !model.contains("measured"), "{model}");
}

/// What a guarantee rests on is part of it.
#[test]
fn dropped_rows_are_named_in_the_statement() {
    let dir = tempdir().unwrap();
    let dir = dir.path();
    assert!(dzoa(dir, &["init", "study"]).status.success());
    let privacy = format!("privacy={{mechanism=\"output\",total_epsilon=1,delta={DELTA}}}");
    for (mode, named) in [("drop", true), ("indicator", false)] {
        let on_missing = format!("schema.on_missing={mode}");
        let sets = [
            "algorithm.name=admm",
            "algorithm.rho=0.02",
            "algorithm.rounds=5",
            &privacy,
            &on_missing,
        ];
        let mut args = vec!["run", "study/run.toml", "--out", mode];
        sets.iter().for_each(|set| args.extend(["--set", set]));
        let output = dzoa(dir, &args);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains("EXACT"), "{text}");
        assert_eq!(text.contains("depends on private cells"), named, "{text}");
    }
}
