//! Bad input: one clear line, a hint, exit status 2, nothing written.

mod common;

use common::{dzoa, listing};
use proptest::prelude::*;
use std::path::Path;
use tempfile::tempdir;

/// Runs and returns the error, after checking its shape.
fn refused(dir: &Path, args: &[&str]) -> String {
    let before = listing(dir);
    let output = dzoa(dir, args);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {stderr}");
    assert!(output.stdout.is_empty(), "{args:?} printed something");
    assert_eq!(listing(dir), before, "{args:?} wrote something");
    let mut lines = stderr.lines();
    assert!(lines.next().is_some_and(|line| line.starts_with("error: ")), "{args:?}: {stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
    stderr
}

#[test]
fn a_wrong_value_is_named_with_its_place_and_a_way_out() {
    let dir = tempdir().unwrap();
    for (set, expected) in [
        ("algorithm.rho=0", "`algorithm.rho` must be a finite number above 0, not 0"),
        ("algorithm.rho=-1", "not -1"),
        ("algorithm.rho=nan", "`algorithm.rho` must be"),
        ("algorithm.rho=fast", "`algorithm.rho` must be a number, not the text `fast`"),
        ("privacy.delta=0", "`privacy.delta` must be strictly between 0 and 1, not 0"),
        ("privacy.delta=1", "not 1"),
        ("privacy.epsilon=1.5", "at most 1 (Theorem 1's range), not 1.5"),
        ("algorithm.directions=0", "`algorithm.directions` must be at least 1"),
        ("algorithm.directions=-3", "must be a whole number, zero or more, not -3"),
        ("algorithm.rounds=0", "must be at least 1"),
        ("data.synthetic.features=0", "`data.synthetic.features` must be at least 1"),
        ("data.synthetic.samples=0", "`data.synthetic.samples` must be at least 1"),
        ("data.synthetic.agents=6", "topology paper needs 5 agents, not 6"),
        ("data.synthetic.samples=9000000000", "more than 4 billion numbers"),
        ("algorithm.rhoo=1", "did you mean `rho`?"),
        ("problem.los=1", "did you mean `loss`?"),
        ("algoritm.rho=1", "did you mean `algorithm`?"),
        ("problem.loss=hinged", "did you mean `hinge`?"),
        ("network.topology=mesh", "one of: "),
        ("network.topology=erdos-renyi", "`network.p` is missing"),
        ("network.topology=ring", ""), // valid on its own: see below
        ("network.edges=[[\"1\",\"2\"]]", "is given beside another topology"),
        ("privacy.mechanism=magic", "`privacy.mechanism` is `magic`"),
        ("privacy.total_epsilon=2", "has no effect with mechanism `intrinsic`"),
        ("problem.quantile=0.5", "has no effect without loss = \"pinball\""),
        ("algorithm.lipschitz=[1.0,2.0]", "has 2 numbers for 5 agents"),
        ("algorithm.name=admm", "has no intrinsic noise"),
        ("run.threads=100000", "at most 1024"),
        ("name=\"../evil\"", "`name` must consist of"),
        ("noequals", "has no `=`"),
        ("a..b=1", "has an empty key"),
    ] {
        if expected.is_empty() {
            continue;
        }
        let error = refused(dir.path(), &["run", "--set", set]);
        assert!(error.contains(expected), "{set}: {error}");
        assert!(error.contains("\n\nhint: "), "{set}: {error}");
    }
}

#[test]
fn a_wrong_network_is_refused_with_the_names_in_it() {
    let dir = tempdir().unwrap();
    let edges = |edges: &str| {
        let toml = common::root().join("crates/cli/src/paper.toml");
        let text = std::fs::read_to_string(toml).unwrap();
        let text = text.replace("topology = \"paper\"", &format!("edges = {edges}"));
        let config = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
        std::fs::write(config.path(), text).unwrap();
        refused(dir.path(), &["run", config.path().to_str().unwrap()])
    };
    let error = edges("[[\"1\",\"2\"],[\"3\",\"4\"]]");
    assert!(error.contains("not connected") && error.contains("hint: add edges"), "{error}");
    assert!(edges("[[\"1\",\"7\"]]").contains("unknown agent `7`"));
    assert!(edges("[[\"1\",\"1\"]]").contains("`1` has an edge to itself"));
    assert!(edges("[[\"1\",\"2\"],[\"2\",\"1\"]]").contains("occurs twice"));
    assert!(edges("[[\"1\",\"2\",\"3\"]]").contains("an edge has two"));
}

/// A study whose one data file is what the test says.
fn study(dir: &Path, rows: &[u8]) {
    let config = r#"
[problem]
loss = "logistic"
eta = 0.1
[data]
file = "rows.csv"
agents = 2
[network]
topology = "path"
[algorithm]
rho = 1.0
rounds = 2
inner_steps = 2
[privacy]
mechanism = "none"
[schema]
missing = ["?"]
columns = [
  { name = "age", kind = "numeric", bound = 100 },
  { name = "sex", kind = "categorical", levels = ["f", "m"] },
]
target = { name = "ill" }
"#;
    std::fs::write(dir.join("run.toml"), config).unwrap();
    std::fs::write(dir.join("rows.csv"), rows).unwrap();
}

#[test]
fn a_word_that_on_missing_does_not_know_is_refused() {
    let dir = tempdir().unwrap();
    study(dir.path(), b"age,sex,ill\n30,f,0\n40,m,1\n");
    for (set, expected) in [
        ("schema.on_missing=keep", "`schema.on_missing` is `keep`"),
        ("schema.on_missing=indicators", "did you mean `indicator`?"),
        ("schema.on_missing=true", "`schema.on_missing` must be"),
        ("schema.on_missing=\"\"", "one of: drop, indicator"),
    ] {
        let error = refused(dir.path(), &["run", "run.toml", "--set", set]);
        assert!(error.contains(expected), "{set}: {error}");
        assert!(error.contains("\n\nhint: "), "{set}: {error}");
    }
}

#[test]
fn a_wrong_data_file_is_refused_with_row_and_column() {
    let dir = tempdir().unwrap();
    let good = "age,sex,ill\n30,f,0\n40,m,1\n50,f,1\n";
    study(dir.path(), good.as_bytes());
    for (rows, expected) in [
        ("", "rows.csv"),
        ("age,sex,ill\n", "rows.csv"),
        ("age,sex,ill\n30,f,0\n40,m\n", "rows.csv:3"),
        ("age,sex,ill\n30,f,0\nold,m,1\n", "`old`"),
        ("age,sex,ill\n30,f,0\nNaN,m,1\n", "rows.csv:3"),
        ("age,sex,ill\n30,f,0\ninf,m,1\n", "age"),
        ("age,sex,ill\n30,f,0\n40,x,1\n", "`x`"),
        ("age,sex,ill\n30,f,0\n40,m,7\n", "`7`"),
        ("age,sex,ill\n30,f,yes\n40,m,no\n", "`yes`"),
        ("age,sex\n30,f\n", "ill"),
        ("age,sex,ill,extra\n30,f,0,1\n", "extra"),
        ("age,sex,ill\n?,f,0\n?,m,1\n", "rows.csv"),
        ("age,sex,ill\n30,f,0\n", "leave agent 2 without rows"),
    ] {
        study(dir.path(), rows.as_bytes());
        let error = refused(dir.path(), &["run", "run.toml"]);
        assert!(error.contains(expected), "{rows:?}: {error}");
        assert!(error.contains("\n\nhint: "), "{rows:?}: {error}");
    }
    study(dir.path(), b"age,sex,ill\n30,\xff\xfe,0\n");
    refused(dir.path(), &["run", "run.toml"]);
    std::fs::remove_file(dir.path().join("rows.csv")).unwrap();
    let error = refused(dir.path(), &["run", "run.toml"]);
    assert!(error.contains("rows.csv"), "{error}");
}

#[test]
fn a_line_without_end_is_refused_without_being_read() {
    let dir = tempdir().unwrap();
    study(dir.path(), b"");
    // A sparse file without a newline, a terabyte of zero bytes on one line: nobody can read it to its end.
    let file = std::fs::File::create(dir.path().join("rows.csv")).unwrap();
    file.set_len(1 << 40).unwrap();
    let error = refused(dir.path(), &["run", "run.toml"]);
    assert!(error.contains("rows.csv"), "{error}");
}

#[test]
fn missing_and_broken_files_are_named() {
    let dir = tempdir().unwrap();
    assert!(refused(dir.path(), &["run", "nowhere.toml"]).contains("nowhere.toml: cannot be read"));
    std::fs::write(dir.path().join("broken.toml"), "[problem\nloss = 3").unwrap();
    assert!(refused(dir.path(), &["run", "broken.toml"]).contains("broken.toml:1: not valid TOML"));
    std::fs::write(dir.path().join("bytes.toml"), [0xff, 0xfe, 0]).unwrap();
    assert!(refused(dir.path(), &["run", "bytes.toml"]).contains("not UTF-8"));
    std::fs::write(dir.path().join("empty.toml"), "").unwrap();
    assert!(refused(dir.path(), &["run", "empty.toml"]).contains("`problem.loss` is missing"));
    std::fs::write(dir.path().join("model.json"), "{}").unwrap();
    let error = refused(dir.path(), &["predict", "--model", "model.json", "x.csv"]);
    assert!(error.contains("model.json: not a model"), "{error}");
    // Models of another format are refused by its name, with the way out.
    small_run(dir.path());
    let text = std::fs::read_to_string(dir.path().join("o/model.json")).unwrap();
    assert!(text.starts_with("{\n  \"model\": 1,\n"), "{text}");
    for (format, expected, way_out) in [
        ("\"model\": 7,", "is a model of format 7, and this version reads format 1", "update"),
        ("\"model\": \"x\",", "is a model of format \"x\"", "update"),
        ("", "is a model without a format, of version 0.2.3 or older", "fit it again; or add"),
    ] {
        let other = text.replace("\"model\": 1,", format);
        std::fs::write(dir.path().join("model.json"), other).unwrap();
        let error = refused(dir.path(), &["predict", "--model", "model.json", "x.csv"]);
        assert!(error.contains(expected) && error.contains(way_out), "{error}");
    }
    assert!(refused(dir.path(), &["report", "."]).contains("summary.json"));
    assert!(refused(dir.path(), &["schema", "infer", "gone.csv"]).contains("gone.csv"));
}

/// The files of a small run, in `o`.
fn small_run(dir: &Path) {
    let sets = ["algorithm.rounds=3", "algorithm.inner_steps=2", "privacy={mechanism=\"none\"}"];
    let args = sets.iter().flat_map(|set| ["--set", set]);
    let args: Vec<&str> = ["run", "--out", "o"].into_iter().chain(args).collect();
    let output = dzoa(dir, &args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_report_of_broken_files_is_refused_and_the_old_one_stays() {
    let dir = tempdir().unwrap();
    small_run(dir.path());
    let out = dir.path().join("o");
    let page = std::fs::read(out.join("report.html")).unwrap();
    let trace = std::fs::read_to_string(out.join("trace.csv")).unwrap();
    let header = trace.lines().nth(1).unwrap();
    for (broken, expected) in [
        (String::new(), "trace.csv: no column `round`"),
        (format!("{header}\n1,x,1,1,1,1,1\n"), "trace.csv: line 2: round `x` is not a whole"),
        (format!("{header}\n1,1,nobody,1,1,1,1\n"), "line 2: agent `nobody` is not in summary"),
        (format!("{header}\n1,1,1,NaN,1,1,1\n"), "line 2: `NaN` is not a finite number"),
        (format!("{header}\n1,1,1\n"), "line 2: not a table"),
    ] {
        std::fs::write(out.join("trace.csv"), broken).unwrap();
        let error = refused(dir.path(), &["report", "o"]);
        assert!(error.contains(expected) && error.contains("hint: "), "{error}");
    }
    std::fs::remove_file(out.join("trace.csv")).unwrap();
    assert!(refused(dir.path(), &["report", "o"]).contains("trace.csv: cannot be read"));
    std::fs::write(out.join("comparison.json"), "{").unwrap();
    assert!(refused(dir.path(), &["report", "o"]).contains("comparison.json: not a comparison"));
    assert_eq!(std::fs::read(out.join("report.html")).unwrap(), page);
}

#[test]
fn a_summary_that_contradicts_itself_still_gives_a_page_that_promises_nothing() {
    let dir = tempdir().unwrap();
    small_run(dir.path());
    let path = dir.path().join("o/summary.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut summary: serde_json::Value = serde_json::from_str(&text).unwrap();
    summary["edges"] = serde_json::json!([[0, 99], [7, 7], [0, 1]]);
    summary["coefficients"] = serde_json::json!([[1e308, -1e308], []]);
    summary["privacy"] = serde_json::json!([]);
    summary["error"] = serde_json::json!([1e308, null]);
    summary["config"] = serde_json::json!({ "privacy": { "total_epsilon": "many" } });
    std::fs::write(&path, summary.to_string()).unwrap();
    let output = dzoa(dir.path(), &["report", "o"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = std::fs::read_to_string(dir.path().join("o/report.html")).unwrap();
    assert!(page.contains("claim none") && page.contains("5 agents and 1 links"));
}

#[test]
fn wrong_flags_end_with_status_2() {
    let dir = tempdir().unwrap();
    for args in [
        &["privacy", "compose", "--epsilon", "2", "--delta", "1e-3", "--rounds", "5"][..],
        &["privacy", "compose", "--epsilon", "0.1", "--delta", "0", "--rounds", "5"],
        &["privacy", "compose", "--epsilon", "0.1", "--delta", "0.1", "--rounds", "0"],
        &[
            "privacy",
            "plan",
            "--agents",
            "2",
            "--samples",
            "1",
            "--features",
            "1",
            "--total-epsilon",
            "1",
            "--delta",
            "0.1",
        ],
        &["frobnicate"],
    ] {
        refused(dir.path(), args);
    }
}

#[test]
fn an_unknown_instruction_set_is_not_ignored() {
    let dir = tempdir().unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_dzoa"))
        .args(["run", "--out", "o"])
        .env("DZOA_KERNELS", "avx3")
        .current_dir(&dir)
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("DZOA_KERNELS: no instruction set is called `avx3`"), "{stderr}");
    assert!(stderr.contains("hint: portable, avx2 or avx512"), "{stderr}");
    assert!(listing(dir.path()).is_empty());
}

/// One run for all mutations.
static RUN: std::sync::OnceLock<tempfile::TempDir> = std::sync::OnceLock::new();

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// The whole program on arbitrary bytes as a config: it refuses, it never panics.
    #[test]
    fn arbitrary_bytes_as_config_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let dir = tempdir().unwrap();
        std::fs::write(dir.path().join("c.toml"), bytes).unwrap();
        refused(dir.path(), &["run", "c.toml"]);
    }

    /// Files of a run with a few bytes exchanged: a page or a refusal, never a panic.
    #[test]
    fn mutated_runs_never_panic_in_the_report(
        file in prop::sample::select(vec!["summary.json", "trace.csv"]),
        at in any::<prop::sample::Index>(),
        with in prop::collection::vec(any::<u8>(), 1..5),
    ) {
        let dir = RUN.get_or_init(|| {
            let dir = tempdir().unwrap();
            small_run(dir.path());
            dir
        });
        let copy = tempdir().unwrap();
        for name in ["summary.json", "trace.csv"] {
            let mut bytes = std::fs::read(dir.path().join("o").join(name)).unwrap();
            if name == file {
                let at = at.index(bytes.len());
                let end = (at + with.len()).min(bytes.len());
                bytes.splice(at..end, with.clone());
            }
            std::fs::write(copy.path().join(name), bytes).unwrap();
        }
        let output = dzoa(copy.path(), &["report", "."]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        prop_assert!(matches!(output.status.code(), Some(0 | 2)), "{stderr}");
        prop_assert!(!stderr.contains("panicked"));
    }

    /// The paper's config with one token exchanged runs or is refused in one line; it never panics.
    #[test]
    fn mutated_configs_never_panic(at in 0usize..700, with in "[-a-z0-9.\"\\[\\]{}=\n]{1,4}") {
        let dir = tempdir().unwrap();
        let toml = std::fs::read_to_string(common::root().join("crates/cli/src/paper.toml")).unwrap();
        let at = at % toml.len();
        prop_assume!(toml.is_char_boundary(at));
        // Small from the start, so that a mutation cannot ask for hours.
        let mut text = toml.clone();
        text.insert_str(at, &with);
        let text = text.replace("rounds = 200", "rounds = 1\ninner_steps = 1");
        prop_assume!(text.contains("rounds = 1\n") && text.contains("samples = 20,"));
        std::fs::write(dir.path().join("c.toml"), text).unwrap();
        let output = dzoa(dir.path(), &["run", "c.toml"]);
        let code = output.status.code();
        prop_assert!(matches!(code, Some(0..=2)), "{code:?}");
        prop_assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"));
    }
}
