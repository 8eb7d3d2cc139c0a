//! Real agents as separate processes on loopback: the bits of the simulation, whatever is killed.

mod agents;
#[path = "../../cli/tests/common/mod.rs"]
mod common;

use common::{data, dzoa, json, root};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A network of five on the paper's graph, with an exact mechanism and the final averaging.
pub const FIVE: &str = r#"
name = "five"
[problem]
loss = "logistic"
regularizer = "l1"
eta = 0.1
[data]
synthetic = { agents = 5, samples = 40, features = 4 }
[network]
topology = "paper"
agents = [
  { name = "a", address = "127.0.0.1:0" },
  { name = "b", address = "127.0.0.1:0" },
  { name = "c", address = "127.0.0.1:0" },
  { name = "d", address = "127.0.0.1:0" },
  { name = "e", address = "127.0.0.1:0" },
]
[algorithm]
rho = 0.1
rounds = 40
inner_steps = 20
directions = 10
[privacy]
mechanism = "output"
total_epsilon = 8.0
delta = 1e-5
[run]
seed = 1
"#;

/// Launches a network file and simulates it, and compares every coefficient.
fn same_bits(dir: &Path, file: &str, extra: &[&str]) -> serde_json::Value {
    let mut run = vec!["run", file, "--out", "simulated", "--json"];
    run.extend(extra);
    let simulated = json(dir, &run);
    let mut launch = vec!["launch", "--network", file, "--out", "real", "--json"];
    launch.extend(extra);
    let real = json(dir, &launch);
    let agents = real["agents"].as_u64().unwrap() as usize;
    assert_eq!(real["coefficients"].as_array().unwrap().len(), agents);
    // serde_json prints and reads the shortest text that gives the same double: equal text, equal bits.
    assert_eq!(real["coefficients"], simulated["coefficients"]);
    assert_eq!(real["error"], simulated["error"]);
    assert_eq!(real["privacy"], simulated["privacy"]);
    assert_eq!(real["status"], "finished");
    one_report(&dir.join("real"));
    for (k, name) in real["agent_names"].as_array().unwrap().iter().enumerate() {
        let own = dir.join("real/agents").join(name.as_str().unwrap());
        let summary = std::fs::read_to_string(own.join("summary.json")).unwrap();
        let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
        assert_eq!(summary["privacy"][0], simulated["privacy"][k], "{name} says the same itself");
        its_page(&own, agents);
        // What may be shared and what may not do not look alike.
        let trace = std::fs::read_to_string(own.join("trace.csv")).unwrap();
        let shared = "# may be shared: functions of what was exchanged\n\
                      round,agent,consensus,epsilon_spent\n";
        assert!(trace.starts_with(shared), "{trace}");
        assert_eq!(summary["sharing"], "for the holder of the rows: do not share");
        for file in ["model.json", "summary.json", "trace.csv", "journal"] {
            assert!(own.join(file).exists(), "{name} has no {file}");
        }
    }
    real
}

/// A site's page shows the network that it is in, and its own times and budget.
fn its_page(own: &Path, agents: usize) {
    let page = std::fs::read_to_string(own.join("report.html")).unwrap();
    for part in [&format!("{agents} agents and ") as &str, "seconds of a round", "This site"] {
        assert!(page.contains(part), "no {part}");
    }
    assert_eq!(page.matches("<circle").count(), agents);
    let shared = std::fs::read_to_string(own.join("report.shared.html")).unwrap();
    assert!(shared.contains("This page may be shared.") && !shared.contains("seconds of a round"));
}

/// A launch ends with the report of `dzoa run`: all agents in it, and `dzoa report` makes the same bytes.
fn one_report(out: &Path) {
    let report = std::fs::read_to_string(out.join("report.html")).unwrap();
    for part in ["Convergence", "Privacy spent", "Coefficients", "Network"] {
        assert!(report.contains(part), "no {part}");
    }
    assert!(dzoa(out, &["report", "."]).status.success());
    assert!(std::fs::read_to_string(out.join("report.html")).unwrap() == report);
}

#[test]
fn through_a_router_it_is_the_same_bits() {
    let dir = tempfile::tempdir().unwrap();
    let routed = FIVE.replace(
        "topology = \"paper\"",
        "topology = \"paper\"\nrouters = [{ name = \"hub\", address = \"127.0.0.1:0\" }]",
    );
    std::fs::write(dir.path().join("network.toml"), routed).unwrap();
    same_bits(dir.path(), "network.toml", &[]);
    // What Zenoh's own router is given.
    let made = dzoa(dir.path(), &["certs", "--network", "network.toml", "--out", "certs"]);
    assert!(made.status.success());
    for file in ["hub.pem", "hub.key", "hub.json5", "a.key"] {
        assert!(dir.path().join("certs").join(file).exists(), "no {file}");
    }
}

#[test]
fn five_processes_on_the_papers_graph_end_with_the_bits_of_the_simulation() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("five.toml"), FIVE).unwrap();
    same_bits(dir.path(), "five.toml", &[]);
    let ledger = dir.path().join("real/agents/a/ledger.seeded-for-tests");
    let shown = json(dir.path(), &["ledger", "show", ledger.to_str().unwrap(), "--json"]);
    assert_eq!(shown["releases"], 40);
    // A private key is nobody else's.
    use std::os::unix::fs::PermissionsExt;
    for secret in ["certs/ca.key", "certs/a.key", "agents/a/journal"] {
        let mode = std::fs::metadata(dir.path().join("real").join(secret)).unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o600, "{secret}");
    }
}

#[test]
fn exact_admm_runs_over_the_network_too() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("five.toml"), FIVE).unwrap();
    let short = ["--set", "algorithm.name=admm", "--set", "algorithm.rounds=10"];
    let real = same_bits(dir.path(), "five.toml", &short);
    assert_eq!(real["algorithm"], "admm");
}

#[test]
fn the_papers_own_mechanism_is_nominal_over_the_network_too() {
    let dir = tempfile::tempdir().unwrap();
    let text = FIVE.replace(
        "mechanism = \"output\"\ntotal_epsilon = 8.0",
        "mechanism = \"intrinsic\"\nepsilon = 0.15",
    );
    std::fs::write(dir.path().join("five.toml"), text).unwrap();
    let real = same_bits(dir.path(), "five.toml", &["--set", "algorithm.rounds=10"]);
    assert_eq!(real["privacy"][0]["claim"], "nominal");
    let model = std::fs::read_to_string(dir.path().join("real/agents/a/model.json")).unwrap();
    assert!(model.contains("NOMINAL") && model.contains("not a guarantee"), "{model}");
}

#[test]
fn sixteen_processes_on_a_random_graph_end_with_the_bits_of_the_simulation() {
    let dir = tempfile::tempdir().unwrap();
    let agents: Vec<String> =
        (0..16).map(|k| format!("{{ name = \"n{k}\", address = \"127.0.0.1:0\" }}")).collect();
    let start = FIVE.find("agents = [\n").unwrap();
    let end = start + FIVE[start..].find("]\n").unwrap();
    let text = format!("{}agents = [{}{}", &FIVE[..start], agents.join(", "), &FIVE[end..])
        .replace("agents = 5", "agents = 16")
        .replace("topology = \"paper\"", "topology = \"erdos-renyi\"\np = 0.3");
    std::fs::write(dir.path().join("sixteen.toml"), text).unwrap();
    same_bits(dir.path(), "sixteen.toml", &["--set", "algorithm.rounds=15"]);
}

#[test]
fn four_hospitals_go_from_certificates_to_report_in_one_command() {
    let Some(data) = data("the four hospitals") else { return };
    let dir = tempfile::tempdir().unwrap();
    let network = root().join("examples/hospitals/network.toml");
    let files: Vec<String> = ["cleveland", "hungarian", "switzerland", "va"]
        .iter()
        .map(|name| {
            format!(
                "{name}={}",
                data.join(format!("heart_disease/processed.{name}.data")).display()
            )
        })
        .collect();
    let mut args = vec!["launch", "--network", network.to_str().unwrap(), "--out", "out", "--json"];
    args.extend(files.iter().flat_map(|file| ["--data", file]));
    let summary = json(dir.path(), &args);
    assert_eq!(summary["status"], "finished");
    assert_eq!(summary["agents"], 4);
    // Unseeded noise: the promise is exact, and every agent keeps its own.
    assert_eq!(summary["seeded"], false);
    assert_eq!(summary["privacy"][0]["claim"], "exact");
    let accuracy = summary["accuracies"][0].as_f64().unwrap();
    assert!(accuracy > 0.6, "more than the largest class: {accuracy}");
    assert!(dir.path().join("out/report.html").exists());
}

#[test]
fn real_agents_weigh_every_row_the_same_where_they_know_how_many_there_are() {
    let dir = tempfile::tempdir().unwrap();
    let sizes = [("a", 11), ("b", 40), ("c", 73)];
    for (name, rows) in sizes {
        let row = |i: i32| format!("0.{},0.{},{}\n", (i * 37 + rows) % 97, i % 7, (i * i) % 5 / 3);
        let text: String = (0..rows).map(row).collect();
        std::fs::write(dir.path().join(format!("{name}.csv")), format!("x,z,y\n{text}")).unwrap();
    }
    let listed = |rows: &dyn Fn(i32) -> String| {
        let agents = sizes.map(|(name, count)| {
            format!("{{ name = \"{name}\", address = \"127.0.0.1:0\"{} }}", rows(count))
        });
        format!("network.agents=[{}]", agents.join(", "))
    };
    let files = sizes.map(|(name, _)| format!("{{ name = \"{name}\", file = \"{name}.csv\" }}"));
    let text = format!(
        "problem = {{ loss = \"logistic\", regularizer = \"l2\", eta = 0.1, scale = \"pooled\" }}\n\
         data = {{ agents = [{}] }}\nnetwork = {{ topology = \"path\" }}\n\
         algorithm = {{ name = \"admm\", rho = 0.1, rounds = 5 }}\nrun = {{ seed = 1 }}\n\
         privacy = {{ mechanism = \"output\", total_epsilon = 8.0, delta = 1e-5 }}\n\
         [schema]\ncolumns = [{{ name = \"x\", kind = \"numeric\", bound = 1 }}, \
         {{ name = \"z\", kind = \"numeric\", bound = 1 }}]\n\
         target = {{ name = \"y\", positive = {{ above = 0 }} }}\n",
        files.join(", ")
    );
    std::fs::write(dir.path().join("three.toml"), text).unwrap();
    let refused = |listed: &str| {
        let output = dzoa(dir.path(), &["launch", "--network", "three.toml", "--set", listed]);
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    // An agent of its own cannot know how many rows the others have.
    let silent = listed(&|_| String::new());
    let alone = |sets: &[&str]| {
        let agent = ["check", "--network", "three.toml", "--name", "a", "--data", "a.csv"];
        let output = dzoa(dir.path(), &[&agent[..], &["--set", &silent], sets].concat());
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let said = alone(&[]);
    assert!(said.contains("number of rows of every agent") && said.contains("hint: give"));
    let ruled = "algorithm={ name = \"admm\", rho = \"auto\", rounds = \"auto\" }";
    let mean = "problem.scale=mean";
    for sets in [["--set", ruled, "--set", mean], ["--set", "problem.eta=auto", "--set", mean]] {
        let said = alone(&sets);
        assert!(said.contains("left to a rule") && said.contains("rows = 303"), "{said}");
    }
    let wrong = refused(&listed(&|rows| format!(", rows = {}", rows + 1)));
    // Whoever is first says so.
    let named = |rows: i32| {
        wrong.contains(&format!("has {rows} rows, but `network.agents` says rows = {}", rows + 1))
    };
    assert!(sizes.iter().any(|(_, rows)| named(*rows)), "{wrong}");
    let known = listed(&|rows| format!(", rows = {rows}"));
    same_bits(dir.path(), "three.toml", &["--set", &known]);

    // Rules that ask for the smallest agent have their answer in the same numbers. A launch has all
    // files, and counts what the network file does not say.
    let auto = "algorithm={ name = \"auto\", rho = \"auto\", rounds = \"auto\" }";
    for (ruled, known, eta) in
        [(ruled, &known, "0.1"), (auto, &known, "0.1"), (ruled, &silent, "auto")]
    {
        let eta = format!("problem.eta={eta}");
        for out in ["simulated", "real"] {
            std::fs::remove_dir_all(dir.path().join(out)).unwrap();
        }
        let sets = ["--set", known, "--set", ruled, "--set", &eta];
        let real = same_bits(dir.path(), "three.toml", &sets);
        // What was chosen is in every file, and gives the same run where it is pasted.
        let path = dir.path().join("real/agents");
        for file in ["a/summary.json", "b/summary.json", "c/model.json"] {
            let text = std::fs::read_to_string(path.join(file)).unwrap();
            let own: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(own["settings"], real["settings"], "{file}");
        }
        let settings = real["settings"].as_array().unwrap().iter();
        let chosen: Vec<&str> = settings.map(|setting| setting.as_str().unwrap()).collect();
        assert!(chosen.iter().any(|setting| setting.starts_with("algorithm.rounds=")));
        // Three agents and 124 rows, of which each weighs as with C = 1.
        let penalty = format!("problem.eta={:?}", 3.0 / 124.0);
        assert_eq!(chosen.contains(&penalty.as_str()), eta == "problem.eta=auto", "{chosen:?}");
        let mut pasted = vec!["run", "three.toml", "--json", "--out", "pasted", "--set", known];
        pasted.extend(["--set", "algorithm={}"]);
        chosen.iter().for_each(|setting| pasted.extend(["--set", setting]));
        assert_eq!(json(dir.path(), &pasted)["coefficients"], real["coefficients"]);
        std::fs::remove_dir_all(dir.path().join("pasted")).unwrap();
    }
}

#[test]
fn agents_do_not_outlive_a_launch_that_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let endless = FIVE.replace("rounds = 40", "rounds = 1000000").replace(
        "mechanism = \"output\"\ntotal_epsilon = 8.0\ndelta = 1e-5",
        "mechanism = \"none\"",
    );
    std::fs::write(dir.path().join("five.toml"), endless).unwrap();
    let mut launch = Command::new(env!("CARGO_BIN_EXE_dzoa-agent"))
        .current_dir(dir.path())
        .args(["launch", "--network", "five.toml", "--out", "real"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let journals =
        ["a", "b", "c", "d", "e"].map(|k| dir.path().join(format!("real/agents/{k}/journal")));
    let all = |what: &dyn Fn(&PathBuf) -> bool| {
        let begun = Instant::now();
        while !journals.iter().all(what) && begun.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(50));
        }
        journals.iter().all(what)
    };
    let started = all(&|path| std::fs::metadata(path).is_ok_and(|journal| journal.len() > 0));
    launch.kill().unwrap();
    launch.wait().unwrap();
    assert!(started, "the agents did not start");
    // An agent holds the lock of its journal for as long as it lives.
    let free = |path: &PathBuf| std::fs::File::open(path).is_ok_and(|file| file.try_lock().is_ok());
    assert!(all(&free), "agents live on without their launch");
}

#[test]
fn other_algorithms_are_refused_by_real_agents() {
    let dir = tempfile::tempdir().unwrap();
    for name in [
        "pvp",
        "dvp",
        "p-admm",
        "m-admm",
        "r-admm",
        "ps-admm",
        "projected-gradient",
        "objective-perturbation",
    ] {
        let text = FIVE.replace("[algorithm]", &format!("[algorithm]\nname = \"{name}\""));
        std::fs::write(dir.path().join("five.toml"), text).unwrap();
        for command in [
            vec!["launch", "--network", "five.toml"],
            vec!["certs", "--network", "five.toml", "--out", "certs"],
            vec!["agent", "--network", "five.toml", "--name", "a", "--state", "s", "--certs", "c"],
        ] {
            let output = dzoa(dir.path(), &command);
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{stderr}");
            let line =
                format!("five.toml: `algorithm.name` is `{name}`, which real agents do not run");
            assert!(stderr.contains(&line) && stderr.contains("hint: set"), "{stderr}");
            assert_eq!(common::listing(dir.path()), ["five.toml"], "nothing is written");
        }
    }
}

#[test]
fn a_network_file_with_a_seed_and_a_remote_address_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let text = FIVE.replacen("127.0.0.1:0", "192.0.2.1:7447", 1);
    std::fs::write(dir.path().join("five.toml"), text).unwrap();
    for command in [
        vec!["launch", "--network", "five.toml"],
        vec!["certs", "--network", "five.toml", "--out", "certs"],
        vec!["agent", "--network", "five.toml", "--name", "a", "--state", "s", "--certs", "c"],
    ] {
        let output = dzoa(dir.path(), &command);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("run.seed") && stderr.contains("192.0.2.1:7447"), "{stderr}");
        assert!(stderr.contains("hint: remove run.seed"), "{stderr}");
        assert_eq!(common::listing(dir.path()), ["five.toml"], "nothing is written");
    }
}

#[test]
fn what_a_network_file_must_not_hold_is_refused_with_a_hint() {
    let dir = tempfile::tempdir().unwrap();
    let write = |text: &str| std::fs::write(dir.path().join("five.toml"), text).unwrap();
    for (from, to, words) in [
        ("name = \"b\"", "name = \"../b\"", "letters, digits"),
        ("127.0.0.1:0", "127.0.0.1", "HOST:PORT"),
        ("total_epsilon = 8.0", "total_epsilon = 8.0\nclip = 1.0", "has no effect"),
        (
            "mechanism = \"output\"\ntotal_epsilon = 8.0",
            "mechanism = \"intrinsic\"\nepsilon = 0.15\noptimum_norm_squared = \"replicate\"",
            "replicate",
        ),
        ("seed = 1", "trials = 1", "needs `run.seed`"),
        ("seed = 1", "seed = 1\ntrials = 3", "run.trials"),
        ("agents = 5", "agents = 4", "lists 5"),
        ("rounds = 40", "rounds = 40\nround_limit = 1.0", "has no effect"),
    ] {
        assert!(FIVE.contains(from), "{from}");
        write(&FIVE.replace(from, to));
        let output = dzoa(dir.path(), &["launch", "--network", "five.toml"]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{from} -> {to}: {stderr}");
        assert!(stderr.contains(words) && stderr.contains("hint:"), "{from} -> {to}: {stderr}");
    }
}

/// [`FIVE`] with joint sums.
fn summing(algorithm: &str, privacy: &str) -> String {
    let (head, _) = FIVE.split_once("[algorithm]").unwrap();
    format!("{head}[algorithm]\nname = \"{algorithm}\"\n[privacy]\n{privacy}\n[run]\nseed = 1\n")
}

const BUDGET: &str = "mechanism = \"joint\"\ntotal_epsilon = 8.0\ndelta = 1e-5\n";

#[test]
fn joint_sums_of_processes_end_with_the_bits_of_the_simulation() {
    let masked = format!("{BUDGET}colluders = 2");
    for (algorithm, privacy) in [
        ("joint-gradient", masked.as_str()),
        ("joint-newton", &masked),
        ("joint-values", BUDGET),
        ("joint-gradient", "mechanism = \"none\""),
    ] {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("five.toml"), summing(algorithm, privacy)).unwrap();
        let real = same_bits(dir.path(), "five.toml", &[]);
        assert_eq!(real["algorithm"], algorithm);
        let simulated = std::fs::read_to_string(dir.path().join("simulated/summary.json")).unwrap();
        let simulated: serde_json::Value = serde_json::from_str(&simulated).unwrap();
        assert_eq!(real["messages"], simulated["messages"]);
        // Everybody has everybody's parts: one line a sum, and no distance.
        let trace = std::fs::read_to_string(dir.path().join("real/agents/c/trace.csv")).unwrap();
        let lines: Vec<&str> = trace.lines().skip(2).collect();
        assert_eq!(lines.len() as u64, real["rounds"].as_u64().unwrap());
        assert!(lines[0].starts_with("1,c,0,"), "{trace}");
        assert!(!dir.path().join("real/agents/c/root.key").exists(), "erased with the end");
    }
}

const NOISE: &str = "mechanism = \"output\"\ntotal_epsilon = 8.0\ndelta = 1e-5\n";

#[test]
fn releases_of_processes_that_all_hear_end_with_the_bits_of_the_simulation() {
    for (algorithm, privacy) in
        [("dp-gd", NOISE), ("dp-admm", NOISE), ("dp-gd", "mechanism = \"none\"")]
    {
        let dir = tempfile::tempdir().unwrap();
        let name = format!("name = \"{algorithm}\"");
        let rho = if algorithm == "dp-admm" { "\nrho = 0.2" } else { "" };
        let named = format!("{name}\nrounds = 15{rho}");
        let config = summing(algorithm, privacy).replace(&name, &named);
        std::fs::write(dir.path().join("five.toml"), config).unwrap();
        let real = same_bits(dir.path(), "five.toml", &[]);
        assert_eq!(real["algorithm"], algorithm);
        // Five releases a round, each on the six edges of the paper's graph in both directions.
        assert_eq!((&real["rounds"], &real["messages"]), (&15.into(), &(15 * 5 * 12).into()));
        let model = std::fs::read_to_string(dir.path().join("real/model.json")).unwrap();
        let simulated = std::fs::read_to_string(dir.path().join("simulated/model.json")).unwrap();
        assert_eq!(model, simulated, "{algorithm}");
    }
}

/// Rows in files, of which every agent reads its own: they tell each other how many there are.
#[test]
fn unequal_files_of_processes_that_all_hear_end_with_the_bits_of_the_simulation() {
    let dir = tempfile::tempdir().unwrap();
    let rows = [("a", 31), ("b", 12), ("c", 20)];
    for (name, count) in rows {
        let row = |i: usize| {
            let x = (i as f64 * 0.37).sin();
            format!("{x:.4},{:.4},{}\n", (i as f64).cos(), if x > 0.1 { "yes" } else { "no" })
        };
        let text: String = (0..count).map(row).collect();
        std::fs::write(dir.path().join(format!("{name}.csv")), format!("x,z,y\n{text}")).unwrap();
    }
    let files = rows.map(|(name, _)| format!("{{ name = \"{name}\", file = \"{name}.csv\" }}"));
    let places =
        rows.map(|(name, _)| format!("{{ name = \"{name}\", address = \"127.0.0.1:0\" }}"));
    for (algorithm, scale) in [("dp-gd", "pooled"), ("dp-admm", "mean")] {
        let config = format!(
            "[problem]\nloss = \"logistic\"\neta = 0.1\nscale = \"{scale}\"\n[schema]\ncolumns = [\n\
             {{ name = \"x\", kind = \"numeric\", bound = 1 }},\n\
             {{ name = \"z\", kind = \"numeric\", bound = 1 }},\n]\n\
             target = {{ name = \"y\", positive = {{ equals = \"yes\" }} }}\n\
             [data]\nagents = [{}]\n[network]\ntopology = \"path\"\nagents = [{}]\n[algorithm]\n\
             name = \"{algorithm}\"\nrounds = 8\n{}[privacy]\n{NOISE}[run]\nseed = 1\n",
            files.join(", "),
            places.join(", "),
            if algorithm == "dp-admm" { "rho = 0.2\n" } else { "" }
        );
        std::fs::write(dir.path().join("three.toml"), config).unwrap();
        let real = same_bits(dir.path(), "three.toml", &[]);
        assert_eq!(real["algorithm"], algorithm);
        for out in ["real", "simulated"] {
            std::fs::remove_dir_all(dir.path().join(out)).unwrap();
        }
    }
}

#[test]
fn what_a_sum_over_all_agents_cannot_have_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("five.toml"), summing("joint-gradient", BUDGET)).unwrap();
    for (set, what) in [
        ("algorithm.mode=\"partial\"", "`algorithm.mode` is \"partial\""),
        ("algorithm.average=\"network\"", "`algorithm.average`"),
    ] {
        let args = ["launch", "--network", "five.toml", "--set", set, "--out", "out"];
        let output = dzoa(dir.path(), &args);
        let said = String::from_utf8_lossy(&output.stderr).to_string();
        assert_eq!(output.status.code(), Some(2), "{set}: {said}");
        assert!(said.contains(what) && said.contains("\n\nhint: "), "{set}: {said}");
        assert!(!dir.path().join("out").exists(), "{set}");
    }
}

/// The digest that sites compare by telephone: the same in every log, and another one is refused
/// before anything is charged.
#[test]
fn a_roster_that_was_not_asked_for_charges_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let names = ["a", "b"];
    let config = format!(
        "[problem]\nloss = \"logistic\"\neta = 0.1\n[data]\n\
         synthetic = {{ agents = 2, samples = 40, features = 3 }}\n[network]\n\
         topology = \"path\"\n{}\n[algorithm]\nname = \"joint-gradient\"\nrounds = 5\n\
         [privacy]\n{BUDGET}colluders = 0\n[run]\nseed = 3\n",
        agents::on_loopback(&names)
    );
    std::fs::write(dir.path().join("net.toml"), config).unwrap();
    let certified = dzoa(dir.path(), &["certs", "--network", "net.toml", "--out", "certs"]);
    assert!(certified.status.success());
    let run = |extra: &[&str]| {
        let mut started = names.map(|name| agents::start(dir.path(), name, extra));
        // To wait is to close stdin, which would end an agent: its end is looked for.
        started.each_mut().map(|agent| {
            loop {
                if let Some(status) = agent.0.try_wait().unwrap() {
                    return status.success();
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        })
    };
    let log = |name: &str| std::fs::read_to_string(dir.path().join(format!("log-{name}"))).unwrap();
    let wrong = "ab".repeat(32);
    assert_eq!(run(&["--roster", &wrong]), [false, false]);
    assert!(log("a").contains("was asked for") || log("b").contains("was asked for"));
    for name in names {
        let ledger = format!("state-{name}/ledger.seeded-for-tests");
        let ledger = json(dir.path(), &["ledger", "show", &ledger, "--json"]);
        assert_eq!(ledger["releases"], 0, "{name}");
    }
    use std::os::unix::fs::PermissionsExt;
    let root = |name: &str| dir.path().join(format!("state-{name}/root.key"));
    let mode = std::fs::metadata(root("a")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let secret = std::fs::read(root("a")).unwrap();
    let journal = std::fs::read(dir.path().join("state-a/journal")).unwrap();
    assert!(!journal.windows(32).any(|bytes| bytes == secret), "the journal has no secret");
    // Before the end of the run it is missed.
    std::fs::rename(root("a"), dir.path().join("apart")).unwrap();
    let refused = dzoa(
        dir.path(),
        &[
            "agent",
            "--network",
            "net.toml",
            "--name",
            "a",
            "--state",
            "state-a",
            "--certs",
            "certs",
        ],
    );
    let said = String::from_utf8_lossy(&refused.stderr).to_string();
    assert!(said.contains("the root key of this run is missing"), "{said}");
    assert!(said.contains("hint: restore root.key"), "{said}");
    std::fs::rename(dir.path().join("apart"), root("a")).unwrap();
    // In the same state the keys are the same, and the right digest is the one that was named.
    let said = [log("a"), log("b")].concat();
    let (_, named) = said.rsplit_once("the roster is ").unwrap();
    assert_eq!(run(&["--roster", &named[..64]]), [true, true]);
    let roster = |name: &str| {
        let log = log(name);
        let (_, digest) = log.rsplit_once("the roster is ").unwrap();
        digest[..64].to_string()
    };
    assert_eq!(roster("a"), roster("b"));
    assert_eq!(roster("a"), named[..64]);
    // Once it is over the root is erased, and whoever is started again says what it said.
    assert!(names.iter().all(|name| !root(name).exists()));
    let models = || names.map(|name| std::fs::read(dir.path().join(model(name))).unwrap());
    fn model(name: &str) -> String {
        format!("state-{name}/model.json")
    }
    let before = models();
    assert_eq!(run(&[]), [true, true]);
    assert_eq!(models(), before);
}
