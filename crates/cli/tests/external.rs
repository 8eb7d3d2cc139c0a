//! `loss = "external"`: programs that keep the protocol, and programs that do not.

mod common;

use common::{dzoa, json, listing, root};
use serde_json::Value;
use std::path::Path;
use tempfile::{TempDir, tempdir};

/// A run of three programs around -1, 0.5 and 2, the second of which is given.
fn config(dir: &Path, second: &str, extra: &str) -> String {
    let bowl = root().canonicalize().unwrap().join("examples/black-box/bowl.py");
    let bowl = bowl.display();
    let text = format!(
        r#"name = "bowls"
[problem]
loss = "external"
features = 2
[data]
agents = [
  {{ name = "a", command = ["python3", "{bowl}", "-1"] }},
  {{ name = "b", command = {second} }},
  {{ name = "c", command = ["python3", "{bowl}", "2"] }},
]
[network]
topology = "path"
[algorithm]
rounds = 30
rho = 0.3
step = 0.3
smoothing = 0.1
[privacy]
mechanism = "none"
[run]
seed = 1
{extra}
"#
    );
    std::fs::write(dir.join("run.toml"), text).unwrap();
    "run.toml".into()
}

/// A Python program with this body of its loop; `question` is in scope, and `values` for a bowl around 0.5.
fn program(dir: &TempDir, body: &str) -> String {
    let text = format!(
        "import json, os, sys, time\nhello = json.loads(sys.stdin.readline())\nasked = 0\n\
         for line in sys.stdin:\n    question = json.loads(line)\n    asked += 1\n    \
         values = [sum((x - 0.5) ** 2 for x in p) for p in question['points']]\n    {body}\n    \
         print(json.dumps({{'id': question['id'], 'values': values}}), flush=True)\n"
    );
    std::fs::write(dir.path().join("b.py"), text).unwrap();
    r#"["python3", "b.py"]"#.into()
}

/// Runs with this program as the second; returns exit status and stderr.
fn ending(body: &str, extra: &str) -> (Option<i32>, String) {
    let dir = tempdir().unwrap();
    let second = program(&dir, body);
    let run = config(dir.path(), &second, extra);
    let output = dzoa(dir.path(), &["run", &run]);
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn the_example_in_python_and_shell_meets_at_the_mean_of_the_centres() {
    let dir = tempdir().unwrap();
    let run = root().canonicalize().unwrap().join("examples/black-box/run.toml");
    let summary = json(dir.path(), &["run", run.to_str().unwrap(), "--json", "--out", "out"]);
    for agent in summary["coefficients"].as_array().unwrap() {
        for value in agent.as_array().unwrap() {
            // Directions smoothed over 0.2 leave some noise.
            assert!((value.as_f64().unwrap() - 0.5).abs() < 0.1, "{summary:#}");
        }
    }
    // sum_k 2 (0.5 - c_k)^2 = 2 (2.25 + 0 + 2.25), the smallest value.
    assert!((summary["objective"].as_f64().unwrap() - 9.0).abs() < 0.05);
    // 17 to measure the curvature, then 40 rounds of 2 T J = 200.
    assert_eq!(summary["oracle_calls"].as_u64(), Some(3 * (17 + 40 * 200)));
    assert_eq!(summary["privacy"][0]["claim"], "none");
    let files = listing(&dir.path().join("out"));
    assert_eq!(
        files,
        ["model.json", "report.html", "report.shared.html", "summary.json", "trace.csv"]
    );
    let report = std::fs::read_to_string(dir.path().join("out/report.html")).unwrap();
    assert!(report.contains("Objective at the mean of the agents"));
    let again = dzoa(dir.path(), &["report", "out"]);
    assert!(again.status.success());
    assert_eq!(report, std::fs::read_to_string(dir.path().join("out/report.html")).unwrap());
}

#[test]
fn a_dry_run_starts_no_program_and_says_what_is_measured_later() {
    let dir = tempdir().unwrap();
    // It would leave a file behind.
    let second = program(&dir, "pass");
    let text = std::fs::read_to_string(dir.path().join("b.py")).unwrap();
    std::fs::write(dir.path().join("b.py"), format!("open('started', 'w').close()\n{text}"))
        .unwrap();
    let run = config(dir.path(), &second, "");
    let text = std::fs::read_to_string(dir.path().join(&run)).unwrap();
    let text = text.replace("rho = 0.3\n", "").replace("step = 0.3\n", "");
    std::fs::write(dir.path().join(&run), text).unwrap();
    let shown = |sets: &[&str]| {
        let output = dzoa(dir.path(), &[&["run", &run, "--dry-run"], sets].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let measured = shown(&[]);
    assert!(measured.contains("rho and steps measured at the start of the run"), "{measured}");
    // Three agents, 30 rounds of 2 T J = 200 values, and 17 for the curvature.
    assert!(measured.contains("at most 18051 of the objective"), "{measured}");
    let given = shown(&["--set", "algorithm.rho=0.3"]);
    assert!(given.contains("steps         measured at the start of the run"), "{given}");
    assert!(given.contains("30, rho 0.3"), "{given}");
    let json: serde_json::Value = serde_json::from_str(&shown(&["--json"])).unwrap();
    assert_eq!(json["steps"], "measured at the start of the run");
    assert!(json["rho"].is_null() && json["agents"][0]["step"].is_null(), "{json:#}");
    // With a step nothing is left to measure.
    let json: serde_json::Value =
        serde_json::from_str(&shown(&["--json", "--set", "algorithm.step=0.3"])).unwrap();
    assert_eq!(json["agents"][0]["step"], 0.3);
    assert!(json.get("steps").is_none(), "{json:#}");
    assert!(!dir.path().join("started").exists());
    assert!(!dir.path().join("runs").exists());
}

#[test]
fn any_number_of_workers_gives_the_same_bits() {
    let coefficients = |workers: usize| {
        let dir = tempdir().unwrap();
        let second = program(&dir, "pass");
        let run = config(dir.path(), &second, &format!("[external]\nworkers = {workers}"));
        json(dir.path(), &["run", &run, "--json"])["coefficients"].clone()
    };
    let one = coefficients(1);
    assert_eq!(one, coefficients(3));
    let expected = 0.5;
    let near = |value: &serde_json::Value| (value.as_f64().unwrap() - expected).abs() < 0.1;
    assert!(one[1].as_array().unwrap().iter().all(near), "{one}");
}

#[test]
fn what_a_program_writes_to_stderr_is_passed_on_with_its_agent() {
    let (status, stderr) =
        ending("asked == 1 and print('low on paper', file=sys.stderr, flush=True)", "");
    assert_eq!(status, Some(0), "{stderr}");
    assert!(stderr.contains("[b] low on paper"), "{stderr}");
    assert!(stderr.contains("[a] ready with 2 variables"), "{stderr}");
}

#[test]
fn a_program_that_crashes_is_started_again_up_to_the_limit() {
    // Every process gives 170 answers: 30 rounds of 10, and 30 for the trace, need two of them.
    let fragile = "asked > 170 and os._exit(3)";
    let (status, stderr) = ending(fragile, "[external]\nrestarts = 1");
    assert_eq!(status, Some(0), "{stderr}");
    assert!(
        stderr.contains("[b] its program ended without an answer (exit status: 3); restart 1 of 1"),
        "{stderr}"
    );
    let (status, stderr) = ending("os._exit(3)", "[external]\nrestarts = 2");
    assert_eq!(status, Some(1), "{stderr}");
    assert!(stderr.contains("restart 2 of 2"), "{stderr}");
    assert!(
        stderr.contains("agent b, round 1, inner step 1: the objective failed at ["),
        "{stderr}"
    );
    assert!(stderr.contains("(exit status: 3), after 2 restarts (external.restarts)"), "{stderr}");
}

#[test]
fn a_program_that_does_not_answer_is_given_up() {
    // It would answer tomorrow: that this test ends at all shows that nobody waits for it.
    let (status, stderr) =
        ending("asked == 3 and time.sleep(86400)", "[external]\nrestarts = 0\ntimeout = 0.5");
    assert_eq!(status, Some(1), "{stderr}");
    assert!(stderr.contains("gave no answer within 0.5 s (external.timeout)"), "{stderr}");
}

#[test]
fn wrong_answers_end_the_run_with_agent_round_and_reason() {
    for (body, reason) in [
        ("values = values[1:]", "its program gave 19 values for 20 points"),
        ("values[4] = None", "the objective is NaN at ["),
        ("values[4] = float('nan')", "is not JSON (NaN is not: send null)"),
        ("values[4] = 'much'", "gave \"much\" where a number is due"),
        ("values[4] = [1.0]", "gave a list where one value is due"),
        ("question['id'] += 1", "answered question 2, asked was 1"),
        ("print(json.dumps({'error': 'no licence'}), flush=True)", "its program says: no licence"),
        ("print('ready', flush=True)", "is not JSON (NaN is not: send null): `ready`"),
        ("print('{}', flush=True)", "has no array `values`"),
    ] {
        let (status, stderr) = ending(body, "");
        assert_eq!(status, Some(1), "{body}: {stderr}");
        assert!(stderr.contains("agent b, round 1, inner step 1: "), "{body}: {stderr}");
        assert!(stderr.contains(reason), "{body}: {stderr}");
        assert!(stderr.contains("\n\nhint: "), "{body}: {stderr}");
    }
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let dir = tempdir().unwrap();
    let run = config(dir.path(), r#"["no-such-program"]"#, "");
    let output = dzoa(dir.path(), &["run", &run]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr.contains("its program `no-such-program` cannot be started"), "{stderr}");
}

#[test]
fn a_budget_of_evaluations_ends_the_run() {
    let (status, stderr) = ending("pass", "[external]\nmax_evaluations = 500");
    assert_eq!(status, Some(1));
    assert!(stderr.contains("budget of 500 evaluations is used up (500 were made)"), "{stderr}");
}

#[test]
fn values_per_sample_give_an_exact_guarantee_without_a_seed() {
    let dir = tempdir().unwrap();
    let text = "import json, sys\njson.loads(sys.stdin.readline())\nfor line in sys.stdin:\n    \
                q = json.loads(line)\n    \
                v = [[abs(p[0] - i / 50) + abs(p[1] - 0.3) for i in range(100)] for p in q['points']]\n    \
                print(json.dumps({'id': q['id'], 'values': v}), flush=True)\n";
    std::fs::write(dir.path().join("median.py"), text).unwrap();
    let agents: Vec<String> = ["a", "b", "c"]
        .iter()
        .map(|name| {
            format!(r#"{{ name = "{name}", command = ["python3", "median.py"], samples = 100 }}"#)
        })
        .collect();
    let text = format!(
        "[problem]\nloss = \"external\"\nfeatures = 2\nper_sample = true\n[data]\nagents = [{}]\n\
         [network]\ntopology = \"ring\"\n[algorithm]\nrounds = 60\n[privacy]\nmechanism = \"scalar\"\n\
         total_epsilon = 20.0\ndelta = 1e-5\n",
        agents.join(", ")
    );
    std::fs::write(dir.path().join("run.toml"), text).unwrap();
    let summary = json(dir.path(), &["run", "run.toml", "--json"]);
    for entry in summary["privacy"].as_array().unwrap() {
        assert_eq!(entry["claim"], "exact");
        let epsilon = entry["epsilon_exact"].as_f64().unwrap();
        assert!(epsilon <= 20.0 && epsilon > 19.9, "{epsilon}");
    }
    // The median of 0, 0.02, ..., 1.98 is 0.99; noise and clipping leave a few tenths.
    let first = summary["coefficients"][0][0].as_f64().unwrap();
    assert!((first - 0.99).abs() < 0.4, "{first}");
    let seeded = json(dir.path(), &["run", "run.toml", "--json", "--set", "run.seed=1"]);
    assert_eq!(seeded["privacy"][0]["claim"], "none");
}

/// A failure may say something about the samples: what the plan allowed is the guarantee. Version
/// 0.2.3 printed 3.247 of 20 for a program that failed in round 3.
#[test]
fn a_program_that_fails_in_a_round_leaves_the_statement_of_the_whole_plan() {
    let dir = tempdir().unwrap();
    let text = "import json, sys\njson.loads(sys.stdin.readline())\nasked = 0\n\
                for line in sys.stdin:\n    q = json.loads(line)\n    asked += len(q['points'])\n    \
                v = [[abs(p[0] - i / 50) for i in range(100)] for p in q['points']]\n    \
                answer = {'id': q['id'], 'values': v if asked < 20 else None}\n    \
                print(json.dumps(answer), flush=True)\n";
    std::fs::write(dir.path().join("median.py"), text).unwrap();
    let agent = |name: &str| {
        format!(r#"{{ name = "{name}", command = ["python3", "median.py"], samples = 100 }}"#)
    };
    let text = format!(
        "[problem]\nloss = \"external\"\nfeatures = 1\nper_sample = true\n[data]\n\
         agents = [{}, {}]\n[network]\ntopology = \"path\"\n[algorithm]\nrounds = 60\n\
         [privacy]\nmechanism = \"scalar\"\ntotal_epsilon = 20.0\ndelta = 1e-5\n",
        agent("a"),
        agent("b")
    );
    std::fs::write(dir.path().join("run.toml"), text).unwrap();
    let output = dzoa(dir.path(), &["run", "run.toml", "--out", "o"]);
    assert_eq!(output.status.code(), Some(1));
    let summary = std::fs::read_to_string(dir.path().join("o/summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    assert_eq!(summary["status"], "objective-failed", "{summary:#}");
    let done = summary["rounds_done"].as_u64().unwrap();
    assert!(done > 0 && done < 60, "{done}");
    let entry = &summary["privacy"][0];
    assert!(entry["epsilon_charged"].as_f64().unwrap() < 10.0, "{entry:#}");
    assert!(entry["epsilon_exact"].as_f64().unwrap() > 19.9, "{entry:#}");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(printed.contains("together are (20.000, 1e-5)"), "{printed}");
    assert!(printed.contains("every value depending on its own sample only"), "{printed}");
    let trace = std::fs::read_to_string(dir.path().join("o/trace.csv")).unwrap();
    assert!(trace.starts_with("# for the holder of the rows: do not share\n"), "{trace}");
}

#[test]
fn bad_configs_are_refused_and_nothing_is_written() {
    let dir = tempdir().unwrap();
    let second = program(&dir, "pass");
    let run = config(dir.path(), &second, "");
    for (set, text) in [
        ("problem.features=0", "`problem.features` must be at least 1, not 0"),
        ("external.timeout=-1", "`external.timeout` must be a finite number above 0, not -1"),
        ("external.workers=0", "`external.workers` must be at least 1, not 0"),
        ("external.restart=1", "`external.restart` is not a key that dzoa knows"),
        ("data.agents=[]", "`data.agents` is empty"),
        ("data.agents=[{name=\"a\"}]", "`data.agents.command` is missing"),
        (
            "privacy={mechanism=\"output\",total_epsilon=1,delta=1e-5}",
            "is `output`, which must certify",
        ),
        ("privacy={mechanism=\"scalar\",total_epsilon=1,delta=1e-5}", "needs one value per sample"),
        (
            "privacy={mechanism=\"intrinsic\",epsilon=0.1,delta=1e-3}",
            "every agent's number of samples",
        ),
        ("problem.per_sample=true", "`data.agents.samples` is missing"),
        ("run.trials=2", "`run.trials` must be 1"),
        ("network.topology=paper", "topology paper needs 5 agents, not 3"),
    ] {
        let output = dzoa(dir.path(), &["run", &run, "--set", set]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{set}: {stderr}");
        assert!(stderr.contains(text) && stderr.contains("\n\nhint: "), "{set}: {stderr}");
        assert!(!dir.path().join("runs").exists(), "{set}");
    }
    let output = dzoa(dir.path(), &["audit", &run]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr.contains("which only `dzoa run` can do"), "{stderr}");
}

/// Differences of values with noise, over short steps, are noise. The bowl is asked for by number, so that its noise is
/// the same in every run.
#[test]
fn a_run_on_noisy_values_keeps_the_best_point_seen_and_says_that_it_diverged() {
    let dir = tempdir().unwrap();
    std::fs::write(
        dir.path().join("noisy.py"),
        "import json, random, sys\n\
         random.seed(5)\n\
         sys.stdin.readline()\n\
         for line in sys.stdin:\n    \
             asked = json.loads(line)\n    \
             values = [sum((b - 1) ** 2 for b in p) + random.gauss(0, 0.2) for p in asked['points']]\n    \
             print(json.dumps({'id': asked['id'], 'values': values}), flush=True)\n",
    )
    .unwrap();
    std::fs::write(
        dir.path().join("run.toml"),
        "name = 'noisy'\n[problem]\nloss = 'external'\nfeatures = 2\n\
         [data]\nagents = [{ name = 'a', command = ['python3', 'noisy.py'] }]\n\
         [network]\ntopology = 'path'\n\
         [algorithm]\nrho = 0.3\nrounds = 60\ninner_steps = 10\ndirections = 4\nstep = 0.2\n\
         [privacy]\nmechanism = 'none'\n[run]\nseed = 1\n",
    )
    .unwrap();
    let output = dzoa(dir.path(), &["run", "run.toml", "--out", "o"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("diverged: the result has the objective"), "{said}");
    let text = std::fs::read_to_string(dir.path().join("o/summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&text).unwrap();
    let best = &summary["best"];
    let number = |value: &Value| value.as_f64().unwrap();
    assert!(number(&best["objective"]) < number(&summary["objective"]), "{summary}");
    // The value at the start is 2, with noise of 0.2: five deviations below and above.
    let point: Vec<f64> = best["point"].as_array().unwrap().iter().map(number).collect();
    let there: f64 = point.iter().map(|b| (b - 1.0).powi(2)).sum();
    assert!(there < 2.0 + 2.0, "no worse than the start but for the noise: {there}");
}
