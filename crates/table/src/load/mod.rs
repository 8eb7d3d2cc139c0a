//! Reads a file of rows as its schema says, into the unit ball.
//!
//! Three readers ([`text`], [`libsvm`], [`parquet`]) hand records to one [`Assembler`], which
//! drops, encodes, clips and counts. Whatever a file holds, the answer is rows or an error with a
//! place.

mod assembler;
mod decimal;
pub mod input;
mod layout;
pub mod libsvm;
pub mod parquet;
mod recode;
pub mod sniff;
pub mod text;

use crate::error::{Error, Result, shown};
use crate::reading::Reading;
use crate::schema::Schema;
use assembler::Assembler;
use dzoa::problem::Samples;
use dzoa::problem::loss::Targets;
use std::fmt;
use std::fs::File;
use std::path::Path;

/// What was read from one file.
#[derive(Debug)]
pub struct Loaded {
    /// Encoded rows and their targets.
    pub samples: Samples,
    /// What happened on the way.
    pub counts: Counts,
    /// The raw values of the column that was asked for, one per row.
    pub labels: Option<Vec<String>>,
    /// Rows of the negative and of the positive class, for classifiers. Local, like all counts.
    pub classes: Option<[usize; 2]>,
    /// For [`Task::Predict`]: every row of the file, in its order.
    pub inputs: Vec<InputRow>,
    /// What the columns are called that name the rows of `inputs`.
    pub id_names: Vec<String>,
    /// Columns of the file that nobody read.
    pub extra: Vec<String>,
}

impl Loaded {
    /// A word about columns that nobody read.
    pub fn extra_note(&self) -> Option<String> {
        (!self.extra.is_empty()).then(|| {
            format!("columns that the model does not know are left out: {}", self.extra.join(", "))
        })
    }

    /// A word to the owner of rows that are all of one class: a site that writes its labels in
    /// another way looks like this.
    pub fn one_class(&self, schema: &Schema) -> Option<String> {
        let (only, rows) = match self.classes? {
            // One row is of one class whatever it is.
            [0 | 1, 0] | [0, 1] => return None,
            [rows, 0] => (0, rows),
            [0, rows] => (1, rows),
            _ => return None,
        };
        Some(format!(
            "warning: all {rows} rows have the label {}: if this site writes its labels otherwise, \
             say it beside the file, recode = {{ \"1\" = \"Yes\" }}",
            shown(&schema.labels()[only])
        ))
    }
}

/// One row of a file whose targets are to be predicted.
#[derive(Clone, Debug, PartialEq)]
pub struct InputRow {
    /// What names it, in the order of [`Loaded::id_names`].
    pub ids: Vec<String>,
    /// Its number among the samples, or why it is not there.
    pub row: std::result::Result<usize, String>,
}

/// What happened to the rows of a file. These are local values and are never shared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts {
    /// Rows in the file.
    pub read: usize,
    /// Rows that were left out, because they lack a value.
    pub dropped: usize,
    /// Missing features of rows that stayed.
    pub missing: usize,
    /// Rows that stayed without a target, as zeros.
    pub without_target: usize,
    /// Values beyond their bound.
    pub clipped: usize,
    /// Rows with a value that the schema does not know, which were not predicted.
    pub unreadable: usize,
    /// Rows longer than `row_norm`, which were cut to it.
    pub cut: usize,
}

impl Counts {
    /// What the owner of the rows should know, if anything happened to them.
    pub fn note(&self) -> Option<String> {
        let Self { read, dropped, missing, without_target, clipped, unreadable, cut } = *self;
        let happened = [
            (dropped, "row", "left out for missing values"),
            (unreadable, "row", "left out for values that the schema does not know"),
            (missing, "missing cell", "filled with the middle of the range, or no level"),
            (without_target, "row", "kept as zeros for want of a target"),
            (clipped, "value", "beyond the bounds, clipped"),
            (cut, "row", "longer than row_norm, shortened"),
        ];
        let happened = happened.iter().filter(|(count, ..)| *count > 0);
        let part = |(count, what, then): &(usize, &str, &str)| {
            format!("{count} {what}{} {then}", if *count == 1 { "" } else { "s" })
        };
        let parts: Vec<String> = happened.map(part).collect();
        (!parts.is_empty()).then(|| format!("{read} rows read: {}", parts.join("; ")))
    }
}

/// What to read from a file.
#[derive(Debug)]
pub struct Request<'a> {
    /// What its columns mean.
    pub schema: &'a Schema,
    /// Which targets the loss understands.
    pub targets: Targets,
    /// Whether to append a constant column.
    pub intercept: bool,
    /// A column whose raw values are kept, for a partition by column.
    pub label_column: Option<&'a str>,
    /// What the rows are for.
    pub task: Task,
    /// How this site's file is written.
    pub reading: &'a Reading,
}

/// What rows are read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// To learn from them: their number is public.
    Fit,
    /// To compare predictions with their targets.
    Evaluate,
    /// To predict their targets, which may be absent, and are 0 in all rows.
    Predict,
}

impl Task {
    /// Whether the target must be there.
    pub fn needs_target(self) -> bool {
        self != Task::Predict
    }
}

/// Reads a file.
pub fn load(path: &Path, request: &Request<'_>) -> Result<Loaded> {
    let schema = request.schema;
    if request.task.needs_target() {
        schema.target.check(request.targets)?;
    }
    let name = shown_path(path);
    recode::Recodes::check(request, &name)?;
    let mut assembler = Assembler::new(&name, request);
    match (Format::of(path, schema.libsvm.is_some())?, &schema.libsvm) {
        (Format::Text, None) => text::load(path, &mut assembler)?,
        (Format::Parquet, None) => parquet::load(path, &mut assembler)?,
        (Format::Libsvm, Some(libsvm)) => libsvm::load(path, libsvm, &mut assembler)?,
        (Format::Libsvm, None) => {
            return Err(Error::input(format!("{name}: a LIBSVM file needs `schema.features`"))
                .hint("features = N, the largest index that any agent's file may hold"));
        }
        (Format::Text | Format::Parquet, Some(_)) => {
            return Err(Error::input(format!(
                "{name}: the schema has `features`, but this is not a LIBSVM file"
            ))
            .hint(
                "name LIBSVM files .libsvm or .svm; for other files list `columns` in the schema",
            ));
        }
    }
    assembler.finish()
}

/// The formats, told apart by extension.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Format {
    /// Fields between delimiters.
    Text,
    /// Columns with types.
    Parquet,
    /// `label index:value ...`
    Libsvm,
}

impl Format {
    /// The format of a file. LIBSVM's own files have no extension (`a9a`), so that a name without
    /// one is taken for LIBSVM where the schema expects it.
    pub fn of(path: &Path, expects_libsvm: bool) -> Result<Self> {
        let extension =
            path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        match extension.as_deref() {
            _ if input::is_stdin(path) && !expects_libsvm => Ok(Format::Text),
            // UCI calls held-out rows `.test`.
            Some("csv" | "tsv" | "data" | "txt" | "test") => Ok(Format::Text),
            Some("parquet") => Ok(Format::Parquet),
            Some("libsvm" | "svm") => Ok(Format::Libsvm),
            None if expects_libsvm => Ok(Format::Libsvm),
            other => {
                let problem = match other {
                    Some(extension) => format!("the extension {} is unknown", shown(extension)),
                    None => "the file has no extension".into(),
                };
                Err(Error::input(format!("{}: {problem}", path.display())).hint(
                    "known are .csv, .tsv, .data, .txt, .test, .parquet, .libsvm and .svm; \
                     rename the file, and save a spreadsheet as CSV",
                ))
            }
        }
    }
}

/// Opens a file, and says in plain words why it cannot.
pub fn open(path: &Path) -> Result<File> {
    let wrong = |problem: String, hint: &str| {
        Error::input(format!("{}: {problem}", path.display())).hint(hint)
    };
    let file = File::open(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => wrong(
            "there is no such file".into(),
            "paths are relative to the config file, or to data.root: --set data.root=DIR",
        ),
        _ => wrong(format!("cannot be opened: {error}"), "check the path and its permissions"),
    })?;
    match file.metadata() {
        Ok(metadata) if metadata.is_dir() => Err(wrong(
            "is a directory, not a file".into(),
            "give a file; data.root may be a directory",
        )),
        _ => Ok(file),
    }
}

/// What messages call a file.
fn shown_path(path: &Path) -> String {
    match input::is_stdin(path) {
        true => "standard input".into(),
        false => path.display().to_string(),
    }
}

/// Where a record stands.
#[derive(Clone, Copy, Debug)]
pub struct Spot<'a> {
    /// The path as given.
    pub file: &'a str,
    /// Counted from 1.
    pub number: usize,
    /// Parquet has rows, the others have lines.
    pub is_row: bool,
}

impl fmt::Display for Spot<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let between = if self.is_row { " row " } else { "" };
        write!(f, "{}:{between}{}", self.file, self.number)
    }
}

/// One value and where it stands; no text if nothing was recorded.
#[derive(Clone, Copy, Debug)]
pub struct Cell<'a> {
    /// Where the record stands.
    pub spot: Spot<'a>,
    /// The value.
    pub text: Option<&'a str>,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::schema::tests::schema;
    use std::path::PathBuf;
    use std::sync::LazyLock;
    use tempfile::TempDir;

    /// A directory with one file in it.
    pub fn written(name: &str, bytes: impl AsRef<[u8]>) -> (TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        (directory, path)
    }

    /// A request for everything in a file.
    pub fn all(schema: &Schema, targets: Targets) -> Request<'_> {
        static PLAIN: LazyLock<Reading> = LazyLock::new(Reading::default);
        let reading = &*PLAIN;
        Request { schema, targets, intercept: false, label_column: None, task: Task::Fit, reading }
    }

    /// Loads the bytes as a file; the message of an error begins with the file's name.
    pub fn loaded(
        name: &str,
        bytes: impl AsRef<[u8]>,
        schema_text: &str,
    ) -> std::result::Result<Loaded, String> {
        let (directory, path) = written(name, bytes);
        let schema = schema(&format!("[schema]\n{schema_text}")).unwrap();
        load(&path, &all(&schema, Targets::Signs)).map_err(|error| {
            assert_eq!(error.status(), 2);
            let message = error.to_string();
            message.replace(&format!("{}/", directory.path().display()), "")
        })
    }

    /// All stored values, row by row.
    pub fn dense(loaded: &Loaded) -> Vec<Vec<f64>> {
        let rows = &loaded.samples.rows;
        let row = |at| {
            let mut row = vec![0.0; rows.width()];
            rows.visit(at, |column, value| row[column] = value);
            row
        };
        (0..rows.count()).map(row).collect()
    }

    const PEOPLE: &str = r#"
        missing = ["?"]
        columns = [
          { name = "age", kind = "numeric", bound = 100 },
          { name = "town", kind = "ignore" },
          { name = "sex", kind = "categorical", levels = ["f", "m"] },
        ]
        target = { name = "ill", positive = { equals = "yes" }, negative = { equals = "no" } }
    "#;
    const ROWS: &str = "town,age,ill,sex\nUlm,50,yes,f\n?,150,no,m\nUlm,?,no,martian\nBonn,7,?,f\n";

    #[test]
    fn columns_are_found_by_name_and_incomplete_rows_are_dropped_and_counted() {
        let loaded = loaded("people.csv", ROWS, &format!("rows_to_unit_ball = false\n{PEOPLE}"));
        let loaded = loaded.unwrap();
        assert_eq!(loaded.counts, Counts { read: 4, dropped: 2, clipped: 1, ..Counts::default() });
        assert_eq!(dense(&loaded), [[0.5, 1.0, 0.0], [1.0, 0.0, 1.0]]);
        assert_eq!(loaded.samples.targets, [1.0, -1.0]);
        assert!(!loaded.samples.rows.is_sparse());
    }

    fn with_indicators() -> String {
        format!("on_missing = \"indicator\"\n{PEOPLE}")
            .replace("levels = [\"f\", \"m\"]", "levels = [\"f\", \"m\", \"martian\"]")
    }

    #[test]
    fn with_indicators_every_row_stays_and_a_column_tells_what_is_missing() {
        let schema = format!("rows_to_unit_ball = false\n{}", with_indicators());
        let loaded = loaded("people.csv", format!("{ROWS}Ulm,20,yes,?\n"), &schema).unwrap();
        let counts = Counts {
            read: 5,
            dropped: 0,
            missing: 2,
            without_target: 1,
            clipped: 1,
            ..Counts::default()
        };
        assert_eq!(loaded.counts, counts);
        // age, age:missing, f, m, martian, sex:missing; the target of the fourth row is missing.
        let expected = [
            [0.5, 0.0, 1.0, 0.0, 0.0, 0.0],
            [1.0, 0.0, 0.0, 1.0, 0.0, 0.0],
            [0.0, 1.0, 0.0, 0.0, 1.0, 0.0],
            [0.0; 6],
            [0.2, 0.0, 0.0, 0.0, 0.0, 1.0],
        ];
        assert_eq!(dense(&loaded), expected);
        assert_eq!(loaded.samples.targets, [1.0, -1.0, -1.0, -1.0, 1.0]);
    }

    #[test]
    fn the_place_of_a_row_without_a_target_holds_zeros_and_no_constant() {
        let (_directory, path) = written("people.csv", ROWS);
        let text = format!("[schema]\nrows_to_unit_ball = true\n{}", with_indicators());
        let schema = schema(&text).unwrap();
        let all = all(&schema, Targets::Signs);
        let fit = load(&path, &Request { intercept: true, ..all }).unwrap();
        let rows = dense(&fit);
        assert_eq!(rows[3], [0.0; 7], "{rows:?}");
        // The others have their constant and are in the unit ball: (0, 1, 0, 0, 1, 0, 1)/sqrt(3).
        let part = 1.0 / 3.0_f64.sqrt();
        for (value, expected) in rows[2].iter().zip([0.0, part, 0.0, 0.0, part, 0.0, part]) {
            assert!((value - expected).abs() < 4.0 * f64::EPSILON, "{rows:?}");
        }
        for row in &rows {
            assert!(row.iter().map(|value| value * value).sum::<f64>() <= 1.0 + 4.0 * f64::EPSILON);
        }
    }

    #[test]
    fn rows_without_a_target_are_predicted_and_are_not_judged() {
        let (_directory, path) = written("people.csv", ROWS);
        let schema = schema(&format!("[schema]\n{}", with_indicators())).unwrap();
        let count = |task| {
            let request = Request { task, ..all(&schema, Targets::Signs) };
            load(&path, &request).unwrap().samples.count()
        };
        assert_eq!((count(Task::Fit), count(Task::Predict), count(Task::Evaluate)), (4, 4, 3));
        let (_directory, path) = written("people.csv", "town,age,ill,sex\nUlm,50,?,f\n");
        let request = Request { task: Task::Evaluate, ..all(&schema, Targets::Signs) };
        let message = load(&path, &request).unwrap_err().to_string();
        assert!(message.contains("all 1 rows lack a value"), "{message}");
    }

    #[test]
    fn a_row_without_an_agent_is_dropped_with_indicators_too() {
        let (_directory, path) = written("people.csv", ROWS);
        let schema = schema(&format!("[schema]\n{}", with_indicators())).unwrap();
        let request = Request { label_column: Some("town"), ..all(&schema, Targets::Signs) };
        let loaded = load(&path, &request).unwrap();
        assert_eq!(loaded.labels.unwrap(), ["Ulm", "Ulm", "Bonn"]);
        assert_eq!((loaded.samples.count(), loaded.counts.dropped), (3, 1));
    }

    #[test]
    fn the_constant_column_is_inside_the_unit_ball() {
        let (_directory, path) = written("people.csv", ROWS);
        let text = format!("[schema]\nrows_to_unit_ball = true\n{PEOPLE}");
        let schema = schema(&text).unwrap();
        let loaded = load(&path, &Request { intercept: true, ..all(&schema, Targets::Signs) });
        // The row (1/2, 1, 0, 1) has the norm 3/2.
        let expected = [1.0 / 3.0, 2.0 / 3.0, 0.0, 2.0 / 3.0];
        for (value, expected) in dense(&loaded.unwrap())[0].iter().zip(expected) {
            assert!((value - expected).abs() < 4.0 * f64::EPSILON);
        }
    }

    #[test]
    fn predictions_need_no_target() {
        let schema = schema(&format!("[schema]\n{PEOPLE}")).unwrap();
        let request = Request { task: Task::Predict, ..all(&schema, Targets::Signs) };
        for rows in ["sex,age,town\nf,1,a\n", "sex,age,town,ill\nf,1,a,?\n"] {
            let (_directory, path) = written("people.csv", rows);
            assert_eq!(load(&path, &request).unwrap().samples.targets, [0.0]);
        }
    }

    #[test]
    fn predictions_need_no_target_in_a_file_without_header_either() {
        for (place, rows) in [("", "9,3\n"), (",{name=\"y\",kind=\"target\"}", "9,3\n")] {
            let text = format!(
                "[schema]\nheader = false\nrows_to_unit_ball = false\n\
                 columns = [{{name=\"a\",kind=\"numeric\",bound=10}}\
                 {place},{{name=\"b\",kind=\"numeric\",bound=10}}]\ntarget = {{name=\"y\"}}"
            );
            let schema = schema(&text).unwrap();
            let request = Request { task: Task::Predict, ..all(&schema, Targets::Signs) };
            let (_directory, path) = written("rows.data", rows);
            assert_eq!(dense(&load(&path, &request).unwrap()), [[0.9, 0.3]]);
            let with_target = if place.is_empty() { "9,3,1\n" } else { "9,1,3\n" };
            let (_directory, path) = written("rows.data", with_target);
            let full = load(&path, &all(&schema, Targets::Signs)).unwrap();
            assert_eq!((dense(&full), full.samples.targets), (vec![vec![0.9, 0.3]], vec![1.0]));
        }
    }

    #[test]
    fn raw_values_of_a_column_are_kept_for_a_partition() {
        let (_directory, path) = written("people.csv", ROWS);
        let schema = schema(&format!("[schema]\n{PEOPLE}")).unwrap();
        let by = |column| {
            load(&path, &Request { label_column: Some(column), ..all(&schema, Targets::Signs) })
        };
        assert_eq!(
            by("town").unwrap().labels.unwrap(),
            ["Ulm"],
            "a row without a town has no agent"
        );
        assert_eq!(by("ill").unwrap().labels.unwrap(), ["yes", "no"]);
        assert!(by("tow").unwrap_err().to_string().contains("`tow` is not a column"));
    }

    #[test]
    fn many_levels_are_stored_sparse() {
        let levels: Vec<String> = (0..9).map(|level| format!("{level:?}")).collect();
        let schema = format!(
            "header = false\n\
             columns = [{{ name = \"a\", kind = \"categorical\", levels = [{}] }}]\n\
             target = {{ name = \"y\" }}",
            levels.join(",")
        );
        assert!(loaded("a.csv", "3,1\n", &schema).unwrap().samples.rows.is_sparse());
    }

    #[test]
    fn files_that_cannot_be_rows_are_refused_in_plain_words() {
        let message =
            |name: &str, bytes: &str, schema: &str| loaded(name, bytes, schema).unwrap_err();
        let features = "features = 3";
        assert!(
            message("a.xlsx", "", PEOPLE).starts_with("a.xlsx: the extension `xlsx` is unknown")
        );
        assert!(message("rows", "", PEOPLE).starts_with("rows: the file has no extension"));
        assert!(message("a.svm", "", PEOPLE).contains("needs `schema.features`"));
        assert!(message("a.csv", "", features).contains("not a LIBSVM file"));
        assert!(message("a.csv", "", PEOPLE).starts_with("a.csv: there are no rows"));
        assert!(message("a.svm", "\n \n", features).starts_with("a.svm: there are no rows"));
        let header = "age,town,sex,ill\n";
        assert!(message("a.csv", header, PEOPLE).contains("no rows"));
        let dropped = format!("{header}?,a,f,yes\n");
        assert!(message("a.csv", &dropped, PEOPLE).contains("all 1 rows lack a value"));
        let schema = schema("[schema]\nfeatures = 3").unwrap();
        let directory = tempfile::tempdir().unwrap();
        let load = |path: &Path| load(path, &all(&schema, Targets::Signs)).unwrap_err().to_string();
        assert!(
            load(directory.path()).contains("extension")
                || load(directory.path()).contains("directory")
        );
        let folder = directory.path().join("folder.svm");
        std::fs::create_dir(&folder).unwrap();
        assert!(load(&folder).contains("folder.svm: is a directory"));
        assert!(
            load(&directory.path().join("gone.svm")).contains("gone.svm: there is no such file")
        );
    }
}
