//! Files as sites have them: nothing is dropped, renumbered or misread without a word.

mod common;

use common::dzoa;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::{TempDir, tempdir};

/// The rows of one site: age, sex and label, the last one in the site's own words.
fn rows(seed: u32, count: u32, yes: &str, no: &str) -> Vec<[String; 3]> {
    let row = |i: u32| {
        let (age, sex) = (20 + (i * 37 + seed * 11) % 61, ["f", "m"][(i as usize + 1) % 2]);
        let ill = (age + 13 * (i % 3)) > 60;
        [age.to_string(), sex.into(), if ill { yes } else { no }.into()]
    };
    (0..count).map(row).collect()
}

fn write(dir: &Path, name: &str, header: &str, lines: impl IntoIterator<Item = String>) {
    let body: Vec<String> = lines.into_iter().collect();
    std::fs::write(dir.join(name), format!("{header}\n{}\n", body.join("\n"))).unwrap();
}

fn config(agents: &str, more: &str) -> String {
    format!(
        r#"
name = "messy"
[problem]
loss = "logistic"
regularizer = "l2"
eta = 0.05
[data]
agents = [{agents}]
[network]
topology = "path"
[algorithm]
name = "admm"
rho = 0.1
rounds = 80
[privacy]
mechanism = "none"
[schema]
missing = ["", "?"]
{more}
columns = [
  {{ name = "age", kind = "numeric", low = 0, high = 120 }},
  {{ name = "sex", kind = "categorical", levels = ["f", "m"], reference_level = "f" }},
]
target = {{ name = "ill", positive = {{ equals = "Yes" }}, negative = {{ equals = "No" }} }}
"#
    )
}

const TWO: &str =
    r#"{ name = "north", file = "north.csv" }, { name = "south", file = "south.csv" }"#;

/// Two clean sites and their model in `out`.
fn study(agents: &str, more: &str) -> TempDir {
    let dir = tempdir().unwrap();
    for (seed, name) in ["north", "south"].iter().enumerate() {
        let lines = rows(seed as u32, 40, "Yes", "No");
        write(dir.path(), &format!("{name}.csv"), "age,sex,ill", lines.iter().map(|r| r.join(",")));
    }
    std::fs::write(dir.path().join("run.toml"), config(agents, more)).unwrap();
    dir
}

/// What the program says to a run.
fn run(dir: &Path, out: &str) -> (bool, String) {
    let output = dzoa(dir, &["run", "run.toml", "--out", out]);
    (output.status.success(), String::from_utf8(output.stderr).unwrap())
}

fn model(dir: &Path, out: &str) -> serde_json::Value {
    let text = std::fs::read_to_string(dir.join(out).join("model.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Header and fields of predictions.
fn predict(dir: &Path, args: &[&str]) -> Vec<Vec<String>> {
    let output = dzoa(dir, &[&["predict", "--model", "out/model.json"], args].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.split(',').map(String::from).collect()).collect()
}

#[test]
fn every_row_has_its_own_line_with_its_name_and_the_reason_where_it_has_no_prediction() {
    let dir = study(TWO, "");
    assert!(run(dir.path(), "out").0);
    // No target, another order, a column of identifiers, one that nobody knows.
    let new = ["a7,m,70,x", "b2,f,,x", "c9,f,30,x", "d1,robot,50,x", "e5,m,old,x"];
    write(dir.path(), "new.csv", "patient,sex,age,note", new.map(String::from));
    let found = predict(dir.path(), &["new.csv", "--id", "patient"]);
    let header = ["row", "patient", "prediction", "score", "probability", "reason"];
    assert_eq!(found[0], header);
    let names: Vec<&str> = found[1..].iter().map(|line| line[1].as_str()).collect();
    assert_eq!(names, ["a7", "b2", "c9", "d1", "e5"]);
    assert_eq!((found[1][2].as_str(), found[3][2].as_str()), ("Yes", "No"));
    for (at, reason) in [
        (2, "column `age` is missing"),
        (4, "column `sex`: `robot` is not a level of the schema"),
        (5, "column `age`: `old` is not a number"),
    ] {
        assert_eq!((found[at][2].as_str(), found[at][5].as_str()), ("", reason));
    }
    let probability: f64 = found[1][4].parse().unwrap();
    let score: f64 = found[1][3].parse().unwrap();
    assert!((probability - 1.0 / (1.0 + (-score).exp())).abs() < 1e-12);
}

#[test]
fn a_cell_that_a_model_never_lacked_is_not_guessed_for_a_prediction() {
    let dir = study(TWO, "on_missing = \"indicator\"");
    let path = dir.path().join("run.toml");
    let never = "high = 120, missing = false";
    let text = std::fs::read_to_string(&path).unwrap().replace("high = 120", never);
    std::fs::write(path, text).unwrap();
    assert!(run(dir.path(), "out").0);
    write(dir.path(), "new.csv", "age,sex", ["?,m", "50,?", "50,m"].map(String::from));
    let found = predict(dir.path(), &["new.csv"]);
    let reason = "column `age`: missing; the model knows no row without it";
    assert_eq!((found[1][1].as_str(), found[1][4].as_str()), ("", reason));
    // The model has a coefficient for a sex that nobody wrote down.
    assert!(!found[2][1].is_empty() && !found[3][1].is_empty(), "{found:?}");
}

#[test]
fn rows_come_from_standard_input_as_well() {
    let dir = study(TWO, "");
    assert!(run(dir.path(), "out").0);
    let mut child = Command::new(env!("CARGO_BIN_EXE_dzoa"))
        .args(["predict", "--model", "out/model.json", "-"])
        .current_dir(dir.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"age;sex\n70;m\n20,5;f\n").unwrap();
    let text = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(text.lines().count(), 3, "{text}");
    write(dir.path(), "new.csv", "age,sex", ["70,m", "20.5,f"].map(String::from));
    let same = dzoa(dir.path(), &["predict", "--model", "out/model.json", "new.csv"]);
    assert_eq!(text, String::from_utf8(same.stdout).unwrap());
}

#[test]
fn a_regression_answers_in_the_unit_of_its_target() {
    let dir = tempdir().unwrap();
    // y = 150 + x, for x between -50 and 50.
    for name in ["north", "south"] {
        let line = |x: i32| format!("{x},{}", 150 + x);
        write(dir.path(), &format!("{name}.csv"), "x,y", (-50..=50).step_by(5).map(line));
    }
    let text = config(TWO, "")
        .replace(
            "loss = \"logistic\"\nregularizer = \"l2\"\neta = 0.05",
            "loss = \"squared\"\neta = 0",
        )
        .replace("rho = 0.1\nrounds = 80", "rho = 0.05\nrounds = 400");
    let (head, _) = text.split_once("columns = [").unwrap();
    let schema = "columns = [{ name = \"x\", kind = \"numeric\", bound = 50 }]\n\
                  target = { name = \"y\", kind = \"numeric\", bound = 300 }\n";
    std::fs::write(dir.path().join("run.toml"), format!("{head}{schema}")).unwrap();
    let (done, stderr) = run(dir.path(), "out");
    assert!(done, "{stderr}");
    write(dir.path(), "new.csv", "x", ["0", "30"].map(String::from));
    let found = predict(dir.path(), &["new.csv"]);
    assert_eq!(found[0], ["row", "prediction", "reason"]);
    for (line, expected) in found[1..].iter().zip([150.0, 180.0]) {
        let value: f64 = line[1].parse().unwrap();
        assert!((value - expected).abs() < 0.5, "{line:?}");
    }
    let own = &model(dir.path(), "out")["own_units"];
    assert!((own["intercept"].as_f64().unwrap() - 150.0).abs() < 0.5, "{own}");
    assert!((own["coefficients"][0]["value"].as_f64().unwrap() - 1.0).abs() < 0.02, "{own}");
}

#[test]
fn a_label_in_other_words_is_refused_by_row_and_value_and_can_be_recoded() {
    let dir = study(TWO, "");
    assert!(run(dir.path(), "clean").0);
    let coded = rows(1, 40, "1", "0");
    write(dir.path(), "south.csv", "age,sex,ill", coded.iter().map(|row| row.join(",")));
    let (done, stderr) = run(dir.path(), "out");
    assert!(!done);
    let first = &coded[0][2];
    let expected =
        format!("south.csv:2: column `ill`: `{first}` is not a positive or negative label");
    assert!(stderr.contains(&expected), "{stderr}");
    let recoded =
        TWO.replace("\"south.csv\"", "\"south.csv\", recode = { \"1\" = \"Yes\", \"0\" = \"No\" }");
    std::fs::write(dir.path().join("run.toml"), config(&recoded, "")).unwrap();
    assert!(run(dir.path(), "out").0);
    assert_eq!(
        model(dir.path(), "clean")["coefficients"],
        model(dir.path(), "out")["coefficients"]
    );
}

#[test]
fn a_site_with_one_class_is_warned_and_only_there() {
    let dir = study(TWO, "");
    let all_no = rows(1, 40, "No", "No");
    write(dir.path(), "south.csv", "age,sex,ill", all_no.iter().map(|row| row.join(",")));
    let (done, stderr) = run(dir.path(), "out");
    assert!(done, "{stderr}");
    assert!(stderr.contains("south.csv: warning: all 40 rows have the label `No`"), "{stderr}");
    assert!(!stderr.contains("north.csv: warning"), "{stderr}");
    for name in ["summary.json", "model.json", "report.html", "trace.csv"] {
        let text = std::fs::read_to_string(dir.path().join("out").join(name)).unwrap();
        assert!(!text.contains("have the label"), "{name}");
    }
}

#[test]
fn the_same_rows_give_the_same_model_however_they_are_written() {
    let dir = study(TWO, "");
    assert!(run(dir.path(), "clean").0);
    let clean = model(dir.path(), "clean");
    let south = rows(1, 40, "Yes", "No");
    let joined = |mark: &str| -> Vec<String> { south.iter().map(|row| row.join(mark)).collect() };
    let numbered = |lines: Vec<String>| -> Vec<String> {
        lines.iter().enumerate().map(|(i, line)| format!("{},{line}", i + 1)).collect()
    };
    let commas: Vec<String> =
        south.iter().map(|row| format!("{},0;{};{}", row[0], row[1], row[2])).collect();
    let text = |header: &str, lines: Vec<String>| format!("{header}\n{}\n", lines.join("\n"));
    let latin =
        text("age,sex,ill,stra\u{df}e", joined(",").iter().map(|l| format!("{l},x")).collect());
    let latin: Vec<u8> = latin.chars().map(|c| c as u8).collect();
    let utf16: Vec<u8> = std::iter::once(0xFEFF_u16)
        .chain(text("age\tsex\till", joined("\t")).encode_utf16())
        .flat_map(u16::to_le_bytes)
        .collect();
    let cases: [(&str, Vec<u8>, &str); 7] = [
        ("south.csv", text("\"\",age,sex,ill", numbered(joined(","))).into(), ""),
        ("south.csv", text("age,sex,ill", numbered(joined(","))).into(), ""),
        ("south.csv", text("age;sex;ill", joined(";")).into(), ""),
        ("south.csv", text("age;sex;ill", commas).into(), ""),
        ("south.tsv", text("age\tsex\till", joined("\t")).into(), ""),
        ("south.csv", latin, ", encoding = \"latin-1\", id = [\"stra\u{df}e\"]"),
        ("south.csv", utf16, ""),
    ];
    for (number, (name, bytes, keys)) in cases.into_iter().enumerate() {
        std::fs::write(dir.path().join(name), bytes).unwrap();
        let agents = TWO.replace("file = \"south.csv\"", &format!("file = \"{name}\"{keys}"));
        std::fs::write(dir.path().join("run.toml"), config(&agents, "")).unwrap();
        let out = format!("out{number}");
        let (done, stderr) = run(dir.path(), &out);
        assert!(done, "{number}: {stderr}");
        assert_eq!(model(dir.path(), &out)["coefficients"], clean["coefficients"], "{number}");
    }
}

#[test]
fn an_encoding_that_nobody_named_is_refused_with_the_way_out() {
    let dir = study(TWO, "");
    std::fs::write(dir.path().join("south.csv"), b"age,sex,ill\n40,\xe4,Yes\n").unwrap();
    let (done, stderr) = run(dir.path(), "out");
    assert!(!done && stderr.contains("south.csv:2: field 2 is not UTF-8 text"), "{stderr}");
    assert!(stderr.contains("encoding = \"latin-1\""), "{stderr}");
}

#[test]
fn a_draft_reads_the_header_of_r_and_pandas_and_names_both_classes() {
    let dir = tempdir().unwrap();
    let line = |(i, row): (usize, &[String; 3])| {
        format!(
            "\"{}\",{},\"{}\",2024-03-{:02},A,\"{}\"",
            i + 1,
            row[0],
            row[1],
            1 + i % 28,
            row[2]
        )
    };
    let all = rows(0, 40, "Yes", "No");
    let header = "\"\",\"age\",\"sex\",\"seen\",\"site\",\"ill\"";
    write(dir.path(), "r.csv", header, all.iter().enumerate().map(line));
    let output = dzoa(dir.path(), &["schema", "infer", "r.csv"]);
    let draft = String::from_utf8(output.stdout).unwrap();
    for expected in [
        "header = true",
        "{ name = \"age\", kind = \"numeric\", low = 0.0, high = 120.0, missing = false },",
        "levels = [\"f\", \"m\"], reference_level = \"f\", missing = false },",
        "{ name = \"seen\", kind = \"ignore\" },   # dates",
        "{ name = \"site\", kind = \"ignore\" },   # always the same",
        "positive = { equals = \"Yes\" }, negative = { equals = \"No\" } }",
    ] {
        assert!(draft.contains(expected), "{expected}\n{draft}");
    }
    assert!(!draft.contains("name = \"\""), "row names are no column:\n{draft}");
}

#[test]
fn four_messy_files_become_a_config_that_runs() {
    let dir = tempdir().unwrap();
    let north = rows(0, 60, "Yes", "No");
    write(
        dir.path(),
        "north.csv",
        "id,age,sex,ill",
        north.iter().enumerate().map(|(i, row)| format!("n{i},{}", row.join(","))),
    );
    let south = rows(1, 50, "1", "0");
    write(
        dir.path(),
        "south.csv",
        "id;age;sex;ill",
        south.iter().enumerate().map(|(i, row)| format!("s{i};{},5;{};{}", row[0], row[1], row[2])),
    );
    let west = rows(2, 40, "TRUE", "FALSE");
    write(
        dir.path(),
        "west.tsv",
        "id\tage\tsex\till",
        west.iter().enumerate().map(|(i, row)| format!("w{i}\t{}", row.join("\t"))),
    );
    let east = rows(3, 30, "No", "No");
    write(
        dir.path(),
        "east.csv",
        "id,age,sex,ill",
        east.iter().enumerate().map(|(i, row)| format!("e{i},{}", row.join(","))),
    );
    let files = ["init", "--from", "north.csv", "south.csv", "west.tsv", "east.csv"];
    let output = dzoa(dir.path(), &files);
    let notes = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for expected in ["one class only, \"No\"", "1 (read as Yes)", "FALSE (read as No)"] {
        assert!(notes.contains(expected), "{expected}\n{notes}");
    }
    let draft = std::fs::read_to_string(dir.path().join("run.toml")).unwrap();
    for expected in [
        "file = \"south.csv\", delimiter = \";\", decimal = \",\", recode = { \"0\" = \"No\", \"1\" = \"Yes\" }",
        "recode = { \"FALSE\" = \"No\", \"TRUE\" = \"Yes\" }",
        "{ name = \"id\", kind = \"id\" },",
        "CONFIRM",
    ] {
        assert!(draft.contains(expected), "{expected}\n{draft}");
    }
    assert!(notes.contains("not learned from: \"id\" (names the rows)"), "{notes}");
    let count = north.iter().filter(|row| row[2] == "Yes").count();
    assert!(notes.contains(&format!("{count} Yes")), "{notes}");
    assert!(!draft.contains(&format!("{count} Yes")), "counts stay on the terminal:\n{draft}");
    let (done, stderr) = run(dir.path(), "out");
    assert!(done, "{stderr}");
    assert!(stderr.contains("east.csv: warning: all 30 rows"), "{stderr}");
    // A second draft overwrites nothing.
    let again = dzoa(dir.path(), &files);
    assert_eq!(again.status.code(), Some(2));
    assert_eq!(std::fs::read_to_string(dir.path().join("run.toml")).unwrap(), draft);
}

/// Drafts from these files: what was said, and the config.
fn drafted(dir: &Path, files: &[&str]) -> (String, String) {
    let output = dzoa(dir, &[&["init", "draft", "--from"], files].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let draft = std::fs::read_to_string(dir.join("draft/run.toml")).unwrap();
    (String::from_utf8(output.stdout).unwrap(), draft)
}

#[test]
fn numbers_with_units_or_marks_are_neither_levels_nor_names_and_are_said_to_be_numbers() {
    let dir = tempdir().unwrap();
    // Leucocytes with a mark for thousands, each once, and decimal marks of both kinds.
    let line = |i: u32| {
        let mark = if i.is_multiple_of(2) { ',' } else { '.' };
        let (age, ill) = (20 + i, ["No", "Yes"][usize::from((i * 7).is_multiple_of(3))]);
        format!("{age};{}%;{} mg;{},{:03};{i}{mark}5;{i};{ill}", i % 50, i % 4, 3 + i % 9, 100 + i)
    };
    write(dir.path(), "a.csv", "age;saturation;dose;wbc;crp;stage;ill", (0..60).map(line));
    let (notes, _) = drafted(dir.path(), &["a.csv"]);
    for expected in [
        "left out: \"saturation\" (numbers with a unit, such as \"0%\": write the number alone)",
        "left out: \"dose\" (numbers with a unit, such as \"0 mg\": write the number alone)",
        "left out: \"wbc\" (numbers such as \"10,107\": write them with one decimal mark",
        "left out: \"crp\" (numbers such as \"0,5\": write them with one decimal mark",
        "not learned from: \"stage\" (names the rows)",
    ] {
        assert!(notes.contains(expected), "{expected}\n{notes}");
    }
    // One person of every age is no number of a row.
    assert!(!notes.contains("\"age\""), "{notes}");
}

#[test]
fn sites_that_code_two_classes_in_other_numbers_are_no_regression() {
    let dir = tempdir().unwrap();
    for (seed, name, yes, no) in [(0, "all", "1", "1"), (1, "sas", "1", "2"), (2, "spss", "1", "0")]
    {
        let lines = rows(seed, 40, yes, no);
        write(dir.path(), &format!("{name}.csv"), "age,sex,ill", lines.iter().map(|r| r.join(",")));
    }
    let (notes, draft) = drafted(dir.path(), &["all.csv", "sas.csv", "spss.csv"]);
    assert!(draft.contains("loss = \"logistic\""), "{draft}");
    let target = "positive = { equals = \"1\" }, negative = { equals = \"2\" } }";
    assert!(draft.contains(target), "{draft}");
    let warning = "warning: \"0\" is no label of the study, which has \"1\", \"2\"";
    assert!(notes.contains(warning), "{notes}");
    // Nobody is guessed to be well.
    let output = dzoa(dir.path(), &["run", "draft/run.toml", "--out", "out"]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr.contains("`0` is not a positive or negative label"), "{stderr}");
    let schema = dzoa(dir.path(), &["schema", "infer", "all.csv", "sas.csv", "spss.csv"]);
    assert!(String::from_utf8(schema.stdout).unwrap().contains(target));
}

#[test]
fn levels_that_no_other_site_has_are_pointed_out() {
    let dir = tempdir().unwrap();
    for (name, f, m) in [("north", "f", "m"), ("south", "0", "1")] {
        let code = |row: &[String; 3]| {
            format!("{},{},{}", row[0], if row[1] == "f" { f } else { m }, row[2])
        };
        write(
            dir.path(),
            &format!("{name}.csv"),
            "age,sex,ill",
            rows(0, 40, "J", "N").iter().map(code),
        );
    }
    let (notes, draft) = drafted(dir.path(), &["north.csv", "south.csv"]);
    let warning =
        "column \"sex\" has \"0\", \"1\" where others have \"f\", \"m\"; if they mean the same";
    assert!(notes.contains(warning), "{notes}");
    assert!(draft.contains("positive = { equals = \"J\" }"), "{draft}");
}

#[test]
fn a_draft_names_files_from_where_it_is_and_carries_the_number_of_one_site_along() {
    let dir = tempdir().unwrap();
    let site = |seed, yes, no| rows(seed, 40, yes, no);
    let numbered = site(0, "TRUE", "FALSE");
    write(
        dir.path(),
        "north.csv",
        "\"\",age,sex,ill",
        numbered.iter().enumerate().map(|(i, row)| format!("\"{}\",{}", i + 1, row.join(","))),
    );
    let named = site(1, "yes", "no");
    write(
        dir.path(),
        "south.tsv",
        "patient_id\tage\tsex\till",
        named.iter().enumerate().map(|(i, row)| format!("S{i:03}\t{}", row.join("\t"))),
    );
    // This site writes its sexes with large letters.
    let large = site(2, "1", "0");
    let line = |row: &[String; 3]| format!("{},{},{}", row[0], row[1].to_uppercase(), row[2]);
    write(dir.path(), "west.csv", "age,sex,ill", large.iter().map(line));
    let files = ["init", "drafts/study", "--from", "north.csv", "south.tsv", "west.csv"];
    let output = dzoa(dir.path(), &files);
    let notes = String::from_utf8(output.stdout).unwrap();
    for expected in [
        "left out: a first column without a name",
        "not learned from: \"patient_id\" (names the rows of south)",
        "column \"sex\" has \"F\" where others have \"f\"",
        "recode = { \"sex\" = { \"F\" = \"f\" } }",
    ] {
        assert!(notes.contains(expected), "{expected}\n{notes}");
    }
    let draft = std::fs::read_to_string(dir.path().join("drafts/study/run.toml")).unwrap();
    for expected in ["file = \"../../north.csv\"", "id = [\"patient_id\"]"] {
        assert!(draft.contains(expected), "{expected}\n{draft}");
    }
    // The study can move as a whole.
    std::fs::create_dir(dir.path().join("moved")).unwrap();
    for name in ["drafts", "north.csv", "south.tsv", "west.csv"] {
        std::fs::rename(dir.path().join(name), dir.path().join("moved").join(name)).unwrap();
    }
    let output = dzoa(dir.path(), &["run", "moved/drafts/study/run.toml", "--out", "out"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_drafted_regression_finds_its_line_and_one_without_columns_is_said_to_be() {
    let dir = tempdir().unwrap();
    for (name, first) in [("north", 0), ("south", 1)] {
        // No column counts the rows: it would be taken for their number.
        let line = |i: i32| format!("{},{},{}", i * 37 % 61, i * 7 % 13, 100 + i * 37 % 61 * 2);
        write(dir.path(), &format!("{name}.csv"), "x,z,y", (first..101).step_by(2).map(line));
    }
    assert!(dzoa(dir.path(), &["init", "--from", "north.csv", "south.csv"]).status.success());
    let run = |more: &[&str]| {
        let output = dzoa(dir.path(), &[&["run", "run.toml"][..], more].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let text = run(&["--out", "out"]);
    let none = "Every coefficient is zero";
    assert!(!text.contains(none), "{text}");
    let summary = std::fs::read_to_string(dir.path().join("out/summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    // The penalty shrinks the line a little, and leaves nearly all of it.
    assert!(summary["fit"]["r2"].as_f64().unwrap() > 0.9, "{}", summary["fit"]);
    // Two agents and 101 rows.
    let eta = format!("problem.eta={:?}", 2.0 / 101.0);
    assert!(summary["settings"].as_array().unwrap().contains(&eta.into()));
    assert!(run(&["--out", "huge", "--set", "problem.eta=100"]).contains(none));
}

#[test]
fn a_private_run_of_a_draft_is_told_what_nobody_has_confirmed() {
    let dir = study(TWO, "");
    std::fs::remove_file(dir.path().join("run.toml")).unwrap();
    assert!(dzoa(dir.path(), &["init", "--from", "north.csv", "south.csv"]).status.success());
    let path = dir.path().join("run.toml");
    let draft = std::fs::read_to_string(&path).unwrap();
    let open: Vec<usize> =
        (1..).zip(draft.lines()).filter(|(_, l)| l.contains("# CONFIRM")).map(|(n, _)| n).collect();
    assert!(open.len() > 1, "{draft}");
    let warning = format!("{} lines say CONFIRM, the first is run.toml:{}", open.len(), open[0]);
    let private = ["--set", "privacy={mechanism=\"joint\", total_epsilon=2.0, delta=1e-5}"];
    let said = |command: &[&str]| {
        let output = dzoa(dir.path(), command);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    };
    let check = ["check", "run.toml"];
    assert!(said(&[&check[..], &private].concat()).contains(&format!("warning  draft: {warning}")));
    let run = ["run", "run.toml", "--out"];
    assert!(said(&[&run[..], &["a"], &private].concat()).contains(&warning));
    // Nothing is promised, or everything is confirmed.
    assert!(!said(&check).contains("CONFIRM"));
    std::fs::write(&path, draft.replace("# CONFIRM", "# confirmed")).unwrap();
    assert!(!said(&[&run[..], &["b"], &private].concat()).contains("CONFIRM"));
}

#[test]
fn one_config_whose_numbers_are_left_to_rules_runs_with_and_without_privacy() {
    let dir = study(TWO, "");
    let rules = ["--set", "algorithm={name=\"admm\", rho=\"auto\", rounds=\"auto\"}"];
    let output = "privacy={mechanism=\"output\", total_epsilon=8.0, delta=1e-5}";
    let run = |more: &[&str]| {
        let args = [&["run", "run.toml", "--json"][..], &rules, &["--set", output], more].concat();
        common::json(dir.path(), &args)
    };
    let private = run(&["--out", "private"]);
    assert_eq!(private["privacy"][0]["claim"], "exact");
    // Who leaves the algorithm to the rules need not say that its numbers are left to them, too.
    let auto = ["--set", "algorithm={name=\"auto\"}", "--set", output, "--out", "auto"];
    let auto = common::json(dir.path(), &[&["run", "run.toml", "--json"][..], &auto].concat());
    assert_eq!(auto["settings"], private["settings"]);
    for (scale, eta) in [("mean", "0.05"), ("pooled", "auto"), ("sum", "auto")] {
        let sets = [format!("problem.scale={scale}"), format!("problem.eta={eta}")];
        let sets = ["--not-private", "--out", scale, "--set", &sets[0], "--set", &sets[1]];
        let plain = run(&sets);
        assert_eq!(plain["privacy"][0]["claim"], "none");
        // The optimum is certified by another solver.
        let [found, best] = ["objective", "optimum"].map(|key| plain[key].as_f64().unwrap());
        assert!(found - best < 1e-5 * best, "{scale}: {found} where {best} is best");
    }
}
