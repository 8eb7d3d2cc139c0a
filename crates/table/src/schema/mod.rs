//! The public `[schema]`: what a file's columns mean, and how one value becomes features.
//!
//! A schema is the same for all agents and nothing in it is taken from data at run time, so bounds
//! and levels cost no privacy.

mod column;
mod feature;
mod missing;
mod row_scale;
mod target;
mod values;

pub use column::{Column, Kind};
pub use feature::Feature;
pub use target::{Coding, TargetColumn};
pub use values::{ColumnRange, Fault, number};

use crate::encoding::Encoding;
use crate::error::{Error, Result, shown};
use crate::reader::{Section, TomlNode, TomlPlace};
use dzoa::problem::typical_row_norm;
use missing::{OnMissing, indicator};
use row_scale::RowScale;
use std::collections::HashSet;

/// Every key of `[schema]`.
const KEYS: [&str; 13] = [
    "header",
    "skip_lines",
    "comment",
    "delimiter",
    "trim",
    "missing",
    "on_missing",
    "rows_to_unit_ball",
    "row_norm",
    "columns",
    "features",
    "bound",
    "target",
];

/// More columns than this are a slip of the finger: the model alone would not fit into memory.
const MOST_FEATURES: usize = 100_000_000;

/// Below this share of filled entries a sparse row is smaller and faster than a dense one.
const SPARSE_BELOW: f64 = 0.25;

/// What the columns of a file mean.
#[derive(Clone, Debug)]
pub struct Schema {
    json: serde_json::Value,
    row_scale: RowScale,
    missing: Vec<String>,
    on_missing: OnMissing,
    /// How a text file is cut into fields.
    pub(crate) text: TextFormat,
    /// The columns of a text or Parquet file, in the order of the schema.
    pub(crate) columns: Vec<Column>,
    /// Set for LIBSVM files, which have numbered columns instead.
    pub(crate) libsvm: Option<Libsvm>,
    /// What is to be predicted.
    pub(crate) target: TargetColumn,
}

/// How a text file is cut into fields.
#[derive(Clone, Debug, Default)]
pub struct TextFormat {
    /// Whether the first line names the columns.
    pub header: bool,
    /// Lines before the header or the first row.
    pub skip_lines: usize,
    /// Lines that begin with this are not data.
    pub comment: Option<u8>,
    /// Between two fields; the file tells where nobody says it.
    pub delimiter: Option<u8>,
    /// How letters are written; the file's mark tells where nobody says it.
    pub encoding: Option<Encoding>,
    /// Whether blanks around a field are dropped.
    pub trim: bool,
}

/// The numbered columns of a LIBSVM file.
#[derive(Clone, Debug)]
pub struct Libsvm {
    /// The largest index.
    pub features: usize,
    /// Divides every column.
    pub range: ColumnRange,
}

impl Schema {
    /// Reads the table `[schema]`.
    pub fn read(section: &Section<'_>) -> Result<Self> {
        if !section.is_present() {
            return Err(Error::input("the config has no [schema], which files need")
                .hint("`dzoa schema infer FILE` drafts one"));
        }
        let mut json: serde_json::Map<_, _> = KEYS
            .iter()
            .filter_map(|&key| Some((key.to_string(), section.node(key)?.to_json())))
            .collect();
        let row_scale = RowScale::read(section)?;
        if row_scale == RowScale::Auto {
            // Said in every model, so that one that says nothing is an older one.
            json.insert("row_norm".into(), "auto".into());
        }
        let text = TextFormat::read(section)?;
        let mut missing: Vec<String> = section.or("missing", Vec::new())?;
        if text.trim {
            // Fields lose their blanks before they are compared with these.
            missing.iter_mut().for_each(|marker| *marker = marker.trim().to_string());
        }
        let on_missing = OnMissing::read(section)?;
        let columns = read_columns(section, on_missing)?;
        let libsvm = read_libsvm(section, columns.is_empty())?;
        let schema = Self {
            json: json.into(),
            row_scale,
            missing,
            on_missing,
            text,
            target: TargetColumn::read(section, libsvm.is_some())?,
            columns,
            libsvm,
        };
        section.finish()?;
        schema.check(section)?;
        Ok(schema)
    }

    /// The schema as it was written, for `model.json`.
    pub fn to_json(&self) -> serde_json::Value {
        self.json.clone()
    }

    /// The inverse of [`Schema::to_json`]; `place` is the path of the file, for messages.
    pub fn from_json(json: &serde_json::Value, place: &str) -> Result<Self> {
        let file = TomlPlace::File { path: place.into(), line: 1 };
        let node = TomlNode::from_json(json, &file).ok_or_else(|| {
            Error::input(format!("{place}: the schema holds a null"))
                .hint("write the model anew with `dzoa run`")
        })?;
        Self::read(&Section::named(&node, "schema")?)
    }

    /// The columns after encoding, without the intercept.
    pub fn feature_names(&self) -> Vec<String> {
        if let Some(libsvm) = &self.libsvm {
            return (1..=libsvm.features).map(|index| index.to_string()).collect();
        }
        let mut names = Vec::new();
        for column in &self.columns {
            let Column { name, has_indicator, .. } = column;
            match &column.kind {
                Kind::Numeric(_) => names.push(name.clone()),
                Kind::Categorical(_) => {
                    names.extend(column.levels().map(|level| format!("{name}={level}")));
                }
                Kind::Ignore | Kind::Id | Kind::TargetColumn => {}
            }
            names.extend(has_indicator.then(|| indicator(name)));
        }
        names
    }

    /// What every feature means in the units of the file, in the order of [`Self::feature_names`].
    pub fn features(&self) -> Vec<Feature> {
        let number = |column: &str, range: ColumnRange| {
            let (low, high) = range.ends();
            Feature::Number { column: column.into(), low, high }
        };
        if let Some(libsvm) = &self.libsvm {
            return (1..=libsvm.features).map(|i| number(&i.to_string(), libsvm.range)).collect();
        }
        let mut features = Vec::new();
        for column in &self.columns {
            let name = || column.name.clone();
            if let Kind::Numeric(range) = column.kind {
                features.push(number(&column.name, range));
            }
            let level = |level: &str| Feature::Level { column: name(), level: level.into() };
            features.extend(column.levels().map(level));
            features.extend(column.has_indicator.then(|| Feature::Missing { column: name() }));
        }
        features
    }

    /// Whether features add up to a constant in more than one way, so that different coefficients
    /// make the same predictions: all levels of one column do, and so does an intercept.
    pub fn is_redundant(&self, intercept: bool) -> bool {
        let all_levels = |column: &&Column| {
            matches!(column.kind, Kind::Categorical(_)) && column.reference.is_none()
        };
        self.columns.iter().filter(all_levels).count() + usize::from(intercept) > 1
    }

    /// Number of features after encoding, without the intercept.
    pub fn width(&self) -> usize {
        match &self.libsvm {
            Some(libsvm) => libsvm.features,
            None => self.columns.iter().map(Column::width).sum(),
        }
    }

    /// The column that is to be predicted.
    pub fn target_name(&self) -> &str {
        &self.target.name
    }

    /// Whether what is to be predicted is one of two labels, and no number.
    pub fn target_is_label(&self) -> bool {
        self.target.bound.is_none()
    }

    /// What the negative and the positive class are called.
    pub fn labels(&self) -> [String; 2] {
        self.target.labels()
    }

    /// What a numeric target was divided by.
    pub fn target_scale(&self) -> f64 {
        self.target.bound.unwrap_or(1.0)
    }

    /// What all rows are divided by, where that is one public number. Longer rows are then cut.
    pub fn row_norm(&self, intercept: bool) -> Option<f64> {
        match self.row_scale {
            RowScale::Norm(norm) => Some(norm),
            RowScale::Auto => {
                let filled = self.columns.iter().filter(|column| column.width() > 0);
                let flags = filled.filter(|column| matches!(column.kind, Kind::Categorical(_)));
                let numeric = |column: &&Column| matches!(column.kind, Kind::Numeric(_));
                let numbers = match &self.libsvm {
                    Some(libsvm) => libsvm.features,
                    None => self.columns.iter().filter(numeric).count(),
                };
                Some(typical_row_norm(numbers, flags.count(), intercept))
            }
            RowScale::UnitBall | RowScale::AsTheyAre => None,
        }
    }

    /// Whether every row is divided by its own length, if that is above 1.
    pub fn rows_in_unit_ball(&self) -> bool {
        self.row_scale == RowScale::UnitBall
    }

    /// The public bound on a row, the constant included; none where nothing limits rows.
    pub fn norm_bound(&self, intercept: bool) -> Option<f64> {
        match (self.row_scale, self.row_norm(intercept)) {
            (_, Some(norm)) if intercept => Some(1.0_f64.hypot(1.0 / norm).next_up()),
            (_, Some(_)) | (RowScale::UnitBall, _) => Some(1.0),
            _ => None,
        }
    }

    /// The columns that are read, the target not among them.
    pub(crate) fn used_names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().filter(|column| column.width() > 0).map(|column| column.name.as_str())
    }

    /// Whether rows are mostly zeros by construction.
    pub fn is_sparse(&self) -> bool {
        let filled = self.columns.iter().filter(|column| column.width() > 0).count();
        self.libsvm.is_some() || (filled as f64) < SPARSE_BELOW * self.width() as f64
    }

    /// Whether rows that lack a value are left out, so that the number of rows depends on private
    /// cells. A public fact: no file is needed to tell.
    pub fn drops_rows(&self) -> bool {
        self.on_missing == OnMissing::Drop
    }

    /// Whether a field says that nothing was recorded.
    pub fn is_missing(&self, text: &str) -> bool {
        self.missing.iter().any(|marker| marker == text)
    }

    fn check(&self, section: &Section<'_>) -> Result<()> {
        if self.text.comment == Some(self.text.separator()) {
            return Err(section
                .error("comment", "is the same character as `delimiter`")
                .hint("give one of them another character"));
        }
        if self.width() == 0 {
            return Err(section
                .error("columns", "leaves nothing to learn from")
                .hint("give at least one column the kind \"numeric\" or \"categorical\""));
        }
        let mut names = HashSet::new();
        for Column { name, kind, has_indicator, .. } in &self.columns {
            let indicator = has_indicator.then(|| indicator(name));
            for name in [Some(name.clone()), indicator].into_iter().flatten() {
                if !names.insert(name.clone()) {
                    return Err(section
                        .error("columns", &format!("names {} twice", shown(&name)))
                        .hint(
                            "every column needs a name of its own; NAME:missing is an indicator's",
                        ));
                }
            }
            let is_target = *name == self.target.name && self.target.file.is_none();
            if is_target != matches!(kind, Kind::TargetColumn) {
                let problem = format!("and `schema.target` disagree about {}", shown(name));
                return Err(section.error("columns", &problem).hint(
                    "a column of the kind \"target\" has the target's name, \
                     and the target is no feature",
                ));
            }
        }
        Ok(())
    }
}

impl TextFormat {
    fn read(section: &Section<'_>) -> Result<Self> {
        Ok(Self {
            header: section.or("header", true)?,
            skip_lines: section.or("skip_lines", 0)?,
            comment: section.character("comment")?,
            delimiter: section.character("delimiter")?,
            encoding: None,
            trim: section.or("trim", true)?,
        })
    }

    /// What parts the fields; a comma unless something else is known.
    pub fn separator(&self) -> u8 {
        self.delimiter.unwrap_or(b',')
    }
}

fn read_columns(section: &Section<'_>, on_missing: OnMissing) -> Result<Vec<Column>> {
    let nodes: Vec<TomlNode> = section.or("columns", Vec::new())?;
    let read = |(at, node)| {
        Column::read(&Section::named(node, &format!("schema.columns[{at}]"))?, on_missing)
    };
    nodes.iter().enumerate().map(read).collect()
}

fn read_libsvm(section: &Section<'_>, no_columns: bool) -> Result<Option<Libsvm>> {
    let features = section.count("features")?;
    let bound = section.positive("bound")?;
    match features {
        Some(features) if features > MOST_FEATURES => {
            Err(section.error("features", &format!("must be at most {MOST_FEATURES}")))
        }
        Some(_) if !no_columns => Err(section
            .error("features", "and `columns` exclude each other")
            .hint("`features` is for LIBSVM files, `columns` for all others")),
        Some(features) => {
            Ok(Some(Libsvm { features, range: ColumnRange::Bound(bound.unwrap_or(1.0)) }))
        }
        None if bound.is_some() => Err(section
            .error("bound", "is for LIBSVM files, and needs `features`")
            .hint("elsewhere every numeric column has its own bound")),
        None if no_columns => Err(section.error("columns", "is missing").hint(
            "`dzoa schema infer FILE` drafts the columns; LIBSVM files need `features` instead",
        )),
        None => Ok(None),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::values::Levels;
    use super::*;

    pub fn schema(text: &str) -> Result<Schema> {
        let node = TomlNode::parse(text, "run.toml")?;
        Schema::read(&Section::root(&node).section("schema")?)
    }

    const HEART: &str = r#"
        [schema]
        header = false
        missing = [" ?", ""]
        columns = [
          { name = "age", kind = "numeric", bound = 80 },
          { name = "cp", kind = "categorical", levels = ["1", "2", "3"] },
          { name = "temperature", kind = "numeric", low = 35.0, high = 41.0 },
          { name = "slope", kind = "ignore" },
        ]
        target = { name = "num", positive = { above = 0 } }
    "#;

    fn complaint(text: &str) -> String {
        schema(text).expect_err(text).to_string()
    }

    #[test]
    fn a_schema_survives_the_way_through_json() {
        let first = schema(HEART).unwrap();
        let second = Schema::from_json(&first.to_json(), "model.json").unwrap();
        assert_eq!(first.to_json(), second.to_json());
        assert_eq!(second.feature_names(), ["age", "cp=1", "cp=2", "cp=3", "temperature"]);
        assert_eq!(second.row_norm(true), first.row_norm(true));
        assert!(second.is_missing("?"), "markers are trimmed like fields");
    }

    #[test]
    fn json_that_is_no_schema_is_an_error_with_the_path() {
        for json in ["null", "[]", "3", r#"{"features": null}"#, r#"{"features": -1}"#] {
            let json = serde_json::from_str(json).unwrap();
            let error = Schema::from_json(&json, "old/model.json").unwrap_err();
            assert!(error.to_string().starts_with("old/model.json"), "{error}");
        }
    }

    #[test]
    fn values_are_scaled_clipped_and_counted() {
        let schema = schema(HEART).unwrap();
        let encode = |column: usize, text: &str| {
            let mut entries = Vec::new();
            let clipped = schema.columns[column].encode(text, 5, &mut entries).unwrap();
            (entries, clipped)
        };
        assert_eq!(encode(0, "40"), (vec![(5, 0.5)], false));
        assert_eq!(encode(0, "-1e300"), (vec![(5, -1.0)], true));
        assert_eq!(encode(0, "0"), (vec![], false));
        assert_eq!(encode(1, "2.0"), (vec![(6, 1.0)], false), "levels are compared as numbers");
        assert_eq!(encode(2, "35"), (vec![(5, -1.0)], false));
        assert_eq!(encode(2, "38"), (vec![], false));
        assert_eq!(encode(2, "41"), (vec![(5, 1.0)], false));
        assert_eq!(encode(2, "99"), (vec![(5, 1.0)], true));
    }

    fn with_indicators() -> String {
        HEART
            .replace("header = false", "header = false\non_missing = \"indicator\"")
            .replace("high = 41.0 }", "high = 41.0, missing = false }")
    }

    #[test]
    fn the_schema_alone_says_which_columns_have_an_indicator() {
        let first = schema(&with_indicators()).unwrap();
        let second = Schema::from_json(&first.to_json(), "model.json").unwrap();
        for schema in [first, second] {
            let expected =
                ["age", "age:missing", "cp=1", "cp=2", "cp=3", "cp:missing", "temperature"];
            assert_eq!(schema.feature_names(), expected);
            assert_eq!(schema.width(), expected.len());
            assert!(!schema.drops_rows());
        }
        assert!(schema(HEART).unwrap().drops_rows(), "an omitted key drops");
    }

    #[test]
    fn a_missing_value_leaves_its_indicator_and_nothing_else() {
        let schema = schema(&with_indicators()).unwrap();
        let encode = |column: usize| {
            let mut entries = Vec::new();
            schema.columns[column].encode_missing(5, &mut entries);
            entries
        };
        assert_eq!(encode(0), [(6, 1.0)]);
        assert_eq!(encode(1), [(8, 1.0)], "after the three levels");
        assert_eq!(encode(2), [], "the middle of the range, without a word");
        assert_eq!(encode(3), [], "an ignored column is never missing");
    }

    #[test]
    fn texts_that_look_like_numbers_stay_texts_among_other_texts() {
        let levels = Levels::new(vec!["1".into(), "other".into()]).unwrap();
        assert_eq!(levels.position("1"), Some(0));
        assert_eq!(levels.position("1.0"), None);
        assert_eq!(Levels::new(vec!["0".into(), "-0.0".into()]).unwrap_err(), "0");
    }

    #[test]
    fn every_mistake_is_named_with_its_line() {
        let numeric = r#"{ name = "a", kind = "numeric", bound = 1.0 }"#;
        for (text, expected) in [
            ("columns = 3", "`schema.columns` must be an array"),
            ("columns = []", "`schema.columns` is missing"),
            ("columns = [3]", "schema.columns[0] must be a table"),
            ("columns = [{ kind = \"ignore\" }]", "`schema.columns[0].name` is missing"),
            ("columns = [{ name = \"a\" }]", "`schema.columns[0].kind` is missing"),
            ("columns = [{ name = \"a\", kind = \"number\" }]", "kind` is `number`"),
            ("columns = [{ name = \"a\", kind = \"numeric\" }]", "`low` and `high`"),
            ("columns = [{ name = \"a\", kind = \"numeric\", bound = 0 }]", "above 0, not 0"),
            ("columns = [{ name = \"a\", kind = \"numeric\", bound = nan }]", "not NaN"),
            ("columns = [{ name = \"a\", kind = \"numeric\", low = 2, high = 1 }]", "below `high`"),
            ("columns = [{ name = \"a\", kind = \"numeric\", low = 1 }]", "`low` and `high`"),
            ("columns = [{ name = \"a\", kind = \"categorical\" }]", "levels` is missing"),
            ("columns = [{ name = \"a\", kind = \"categorical\", levels = [] }]", "at least one"),
            (
                "columns = [{ name = \"a\", kind = \"categorical\", levels = [1, 1.0] }]",
                "`1` twice",
            ),
            (
                "columns = [{ name = \"a\", kind = \"ignore\", bond = 1 }]",
                "not a key that dzoa knows",
            ),
            (
                "columns = [{ name = \"a\", kind = \"ignore\" }]\ntarget = { name = \"y\" }",
                "nothing to learn",
            ),
            ("features = 0", "at least 1"),
            ("features = 99999999999", "at most"),
            ("delimiter = \"ab\"", "one ASCII character"),
            ("comment = \",\"\nfeatures = 1", "same character"),
            ("bound = 2.0", "needs `features`"),
            ("features = 3\ntarget = { file = \"y.csv\" }", "no use for LIBSVM"),
            ("features = 3\ntarget = { positive = {} }", "exactly one condition"),
            ("features = 3\ntarget = { positive = { above = 1, equals = 2 } }", "exactly one"),
            (
                "features = 3\ntarget = { positive = { above = 1 }, bound = 3 }",
                "exclude each other",
            ),
            ("features = 3\ntarget = { negative = { equals = 1 } }", "needs `positive`"),
            ("features = 3\ntarget = { kind = \"numeric\" }", "bound` is missing"),
            ("skip_line = 3\nfeatures = 3", "skip_line` is not a key"),
            ("on_missing = \"keep\"\nfeatures = 3", "`schema.on_missing` is `keep`"),
            ("on_missing = \"Drop\"\nfeatures = 3", "did you mean `drop`?"),
            ("on_missing = true\nfeatures = 3", "`schema.on_missing` must be"),
            (
                "columns = [{ name = \"a\", kind = \"numeric\", bound = 1, missing = \"?\" }]",
                "`schema.columns[0].missing` must be",
            ),
            (
                "on_missing = \"indicator\"\n\
                 columns = [{ name = \"a\", kind = \"ignore\", missing = true }]",
                "missing` is not a key",
            ),
            (
                "on_missing = \"indicator\"\n\
                 columns = [{ name = \"a\", kind = \"numeric\", bound = 1 }, \
                 { name = \"a:missing\", kind = \"ignore\" }]\ntarget = { name = \"y\" }",
                "`a:missing` twice",
            ),
        ] {
            let message = complaint(&format!("[schema]\n{text}"));
            assert!(message.starts_with("run.toml:"), "{message}");
            assert!(message.contains(expected), "{text}: {message}");
        }
        for (text, expected) in [
            (format!("[schema]\ncolumns = [{numeric}]"), "`schema.target` is missing"),
            (format!("[schema]\ncolumns = [{numeric}]\nfeatures = 1"), "exclude each other"),
            (
                format!("[schema]\ncolumns = [{numeric}, {numeric}]\ntarget = {{ name = \"y\" }}"),
                "twice",
            ),
            (format!("[schema]\ncolumns = [{numeric}]\ntarget = {{ name = \"a\" }}"), "disagree"),
            (
                format!("[schema]\ncolumns = [{numeric}]\ntarget = {{ }}"),
                "`schema.target.name` is missing",
            ),
            ("x = 1".into(), "no [schema]"),
        ] {
            let message = complaint(&text);
            assert!(message.contains(expected), "{text}: {message}");
        }
    }
}
