use super::written::rounded_up;
use super::*;
use crate::load::tests::{all, written};
use crate::load::{Loaded, load};
use crate::schema::tests::schema;
use dzoa::problem::loss::Targets;
use proptest::prelude::*;

/// Drafts a schema and loads the same file with it.
fn round(name: &str, bytes: impl AsRef<[u8]>, targets: Targets) -> (String, Loaded) {
    let (_directory, path) = written(name, bytes);
    let draft =
        infer_schema(std::slice::from_ref(&path), None).unwrap_or_else(|error| panic!("{error}"));
    let schema = schema(&draft).unwrap_or_else(|error| panic!("{error}\n{draft}"));
    let loaded = load(&path, &all(&schema, targets));
    (draft.clone(), loaded.unwrap_or_else(|error| panic!("{error}\n{draft}")))
}

fn complaint(name: &str, bytes: &str) -> String {
    let (_directory, path) = written(name, bytes);
    infer_schema(&[path], None).expect_err("nothing to draft from").to_string()
}

#[test]
fn a_draft_warns_first_and_loads_its_own_file() {
    let text = "age,\"the \"\"town\"\"\",id,income\n41,Ulm,a1,high\n7,Bonn,?,low\n123,Ulm,a3,low\n";
    let (draft, loaded) = round("people.csv", text, Targets::Signs);
    let warning = draft.find("WARNING: this draft looked at the data").unwrap();
    assert!(warning < draft.find("[schema]").unwrap());
    for line in [
        "header = true",
        "missing = [\"\", \"?\"]",
        "on_missing = \"indicator\"",
        "{ name = \"age\", kind = \"numeric\", bound = 130.0, missing = false },",
        r#"levels = ["Bonn", "Ulm"], reference_level = "Bonn", missing = false },"#,
        r#"{ name = "id", kind = "id" },"#,
        r#"positive = { equals = "high" }, negative = { equals = "low" } }"#,
    ] {
        assert!(draft.contains(line), "{line}\n{draft}");
    }
    assert_eq!((loaded.counts.read, loaded.counts.dropped, loaded.counts.missing), (3, 0, 0));
    assert_eq!(loaded.samples.count(), 3, "every row of the file");
}

#[test]
fn titles_delimiters_and_missing_headers_are_guessed() {
    let (draft, loaded) = round("a.txt", "three rows\n1;2;9\n\n3;-4;8\n5;6;7.5\n", Targets::Real);
    for line in ["header = false", "skip_lines = 1", "delimiter = \";\"", "bound = 9.0"] {
        assert!(draft.contains(line), "{line}\n{draft}");
    }
    assert_eq!((loaded.counts.read, loaded.samples.rows.width()), (3, 2));
    let (draft, _) = round("a.data", "1\ta\t0\n2\tb\t1\n", Targets::Signs);
    assert!(draft.contains(r#"delimiter = "\t""#), "{draft}");
}

#[test]
fn libsvm_files_give_their_width_and_larger_label() {
    let (draft, loaded) = round("tiny", "-1 2:1 7:-0.123\n+1 1:0.5\n", Targets::Signs);
    for line in ["features = 7", "bound = 1.0", "positive = { equals = \"+1\" }"] {
        assert!(draft.contains(line), "{line}\n{draft}");
    }
    assert_eq!(loaded.samples.targets, [-1.0, 1.0]);
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_files_are_drafted_too() {
    let bytes = crate::load::parquet::tests::people();
    let (draft, loaded) = round("people.parquet", bytes, Targets::Signs);
    assert!(draft.contains("{ name = \"age\", kind = \"numeric\", bound = 250.0 },"), "{draft}");
    assert_eq!((loaded.samples.count(), loaded.counts.missing), (4, 1));
}

#[test]
fn bounds_are_rounded_up_to_two_digits() {
    for (largest, bound) in [
        (0.0, 1.0),
        (1.0, 1.0),
        (77.0, 77.0),
        (0.1634, 0.17),
        (0.17, 0.17),
        (99.1, 100.0),
        (1_484_705.0, 1_500_000.0),
        (f64::MAX, f64::MAX),
    ] {
        assert_eq!(rounded_up(largest), bound, "{largest}");
    }
}

#[test]
fn files_without_rows_or_columns_are_refused() {
    assert!(infer_schema(&[], None).is_err());
    assert!(complaint("a.csv", "").contains("no rows"));
    assert!(complaint("a.csv", "1\n2\n").contains("only one column"));
    assert!(complaint("a.csv", "1,2\n3,4\n5\n").contains("a.csv:3: the line has 1 fields, not 2"));
    assert!(complaint("a.csv", "a,b\n1,?\n").contains("holds no value"));
    assert!(complaint("a.csv", "a,a\n1,2\n").contains("two columns are called `a`"));
    assert!(complaint("a.svm", "1\n").contains("no entries"));
}

proptest! {
    #[test]
    fn a_bound_is_enough_and_not_much_more(exponent in -280..300_i32, digits in 1.0..10.0_f64) {
        let largest = digits * 10_f64.powi(exponent);
        let bound = rounded_up(largest);
        // One unit of the second digit, and a little for the text's own rounding.
        prop_assert!(bound >= largest && bound <= largest * 1.1 * (1.0 + 1e-12));
    }

    #[test]
    fn no_bytes_make_the_draft_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for name in ["a.csv", "a.svm", "a.parquet"] {
            let (_directory, path) = written(name, &bytes);
            if let Ok(draft) = infer_schema(&[path], None) {
                prop_assert!(schema(&draft).is_ok(), "{}", draft);
            }
        }
    }

    #[test]
    fn every_draft_of_likely_text_is_a_schema(text in "[0-9xy,;\"\\\\\r\n #?.e-]{0,200}") {
        let (_directory, path) = written("a.csv", text);
        if let Ok(draft) = infer_schema(&[path], None) {
            prop_assert!(schema(&draft).is_ok(), "{}", draft);
        }
    }

    #[test]
    fn a_draft_loads_its_own_numbers(
        rows in prop::collection::vec(prop::array::uniform4(any::<f32>()), 3..20),
    ) {
        let line = |row: &[f32; 4]| {
            let row = row.map(|value| if value.is_finite() { value } else { 0.5 }.to_string());
            format!("{}\n", row.join(","))
        };
        let text: String = rows.iter().map(line).collect();
        let (_directory, path) = written("a.csv", text);
        let draft = infer_schema(std::slice::from_ref(&path), None).unwrap();
        let schema = schema(&draft).unwrap();
        let targets = if draft.contains("positive = { equals") { Targets::Signs } else { Targets::Real };
        let loaded = load(&path, &all(&schema, targets));
        prop_assert_eq!(loaded.map_err(|error| error.to_string()).unwrap().counts.clipped, 0);
    }
}
