//! How one site's own file is written: keys of the site, which no other site needs to share.
//!
//! A schema is public and the same for all. Whether a site's spreadsheet writes semicolons, decimal
//! commas or `1` for `Yes` is the site's own affair: it stands beside the name of its file.

use crate::encoding::Encoding;
use crate::error::{Error, Result};
use crate::reader::{Section, TomlNode, Value};
use std::path::{Path, PathBuf};

/// How a site's file is written. Empty where it is written as the schema says.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// Between two fields.
    pub(crate) delimiter: Option<u8>,
    /// Between a number's whole part and its fraction.
    pub(crate) decimal: Option<Decimal>,
    /// How letters are written.
    pub(crate) encoding: Option<Encoding>,
    /// Columns that name a row. They are never read, and predictions carry them along.
    pub(crate) ids: Vec<String>,
    /// Other words for values of the schema, in any column that does not know them.
    pub(crate) recode: Recoding,
    /// Other words for values of the schema, column by column.
    pub(crate) recode_columns: Vec<(String, Recoding)>,
}

/// What stands between a number's whole part and its fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decimal {
    /// 1.5
    Point,
    /// 1,5
    Comma,
}

/// Pairs of a value in the file and what the schema calls it.
#[derive(Clone, Debug, Default)]
pub struct Recoding(Vec<(String, String)>);

impl Recoding {
    /// What the schema calls this value; numbers are compared as numbers.
    pub fn get(&self, text: &str) -> Option<&str> {
        if self.0.is_empty() {
            return None;
        }
        let same = |from: &str| match (from.parse::<f64>(), text.parse::<f64>()) {
            (Ok(a), Ok(b)) => a == b,
            _ => from == text,
        };
        let exact = self.0.iter().find(|(from, _)| from == text);
        exact.or_else(|| self.0.iter().find(|(from, _)| same(from))).map(|(_, to)| to.as_str())
    }
}

impl Reading {
    /// Reads the keys of a site that say how its file is written.
    pub fn read(section: &Section<'_>) -> Result<Self> {
        let decimal = section.choice("decimal", &[".", ","])?;
        let encoding = section.choice("encoding", &Encoding::NAMES)?.and_then(Encoding::named);
        let ids = match section.node("id") {
            Some(TomlNode { value: Value::String(name), .. }) => vec![name.clone()],
            _ => section.or("id", Vec::new())?,
        };
        let mut reading = Self {
            delimiter: section.character("delimiter")?,
            decimal: decimal.map(|mark| match mark {
                "," => Decimal::Comma,
                _ => Decimal::Point,
            }),
            encoding,
            ids,
            ..Self::default()
        };
        reading.read_recode(section)?;
        if reading.decimal == Some(Decimal::Comma) && reading.delimiter == Some(b',') {
            return Err(section
                .error("decimal", "is the same character as `delimiter`")
                .hint("a file with decimal commas has semicolons or tabs between its fields"));
        }
        Ok(reading)
    }

    /// Whether nothing is said.
    pub(crate) fn is_empty(&self) -> bool {
        let Self { delimiter, decimal, encoding, ids, recode, recode_columns } = self;
        delimiter.is_none()
            && decimal.is_none()
            && encoding.is_none()
            && ids.is_empty()
            && recode.0.is_empty()
            && recode_columns.is_empty()
    }

    /// With more columns that name a row.
    pub fn with_ids(mut self, ids: &[String]) -> Self {
        self.ids
            .extend(ids.iter().filter(|id| !self.ids.contains(id)).cloned().collect::<Vec<_>>());
        self
    }

    fn read_recode(&mut self, section: &Section<'_>) -> Result<()> {
        let Some(node) = section.node("recode") else { return Ok(()) };
        let wrong = |what: &str| {
            Err(section.error("recode", what).hint(
                "recode = { \"1\" = \"Yes\", \"0\" = \"No\" }, or for one column \
                 recode = { sex = { \"1\" = \"f\", \"2\" = \"m\" } }",
            ))
        };
        let Value::Table(table) = &node.value else {
            return wrong("must be a table of old and new values");
        };
        for (key, node) in table {
            match (&node.value, text(node)) {
                (_, Some(to)) => self.recode.0.push((key.clone(), to)),
                (Value::Table(column), _) => {
                    let pairs = column.iter().map(|(from, to)| Some((from.clone(), text(to)?)));
                    let Some(pairs) = pairs.collect::<Option<_>>() else {
                        return wrong("holds a new value that is no text");
                    };
                    self.recode_columns.push((key.clone(), Recoding(pairs)));
                }
                _ => return wrong("holds a new value that is no text"),
            }
        }
        Ok(())
    }

    /// What this file calls the values of a column.
    pub(crate) fn recode_of(&self, column: &str) -> Option<&Recoding> {
        self.recode_columns.iter().find(|(name, _)| name == column).map(|(_, pairs)| pairs)
    }
}

/// A new value; numbers as they would be written in a file.
fn text(node: &TomlNode) -> Option<String> {
    match &node.value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        _ => None,
    }
}

/// One site's rows: whose they are, where, and how they are written.
#[derive(Clone, Debug)]
pub struct SiteFile {
    /// The agent.
    pub name: String,
    /// The rows.
    pub file: PathBuf,
    /// How they are written.
    pub reading: Reading,
}

impl SiteFile {
    /// A file as somebody names it on the command line: rows, or a `.toml` with `file` and the keys
    /// that say how it is written. Its `file` is relative to itself.
    pub fn given(path: &Path) -> Result<Self> {
        let plain = |file: &Path| Self {
            name: String::new(),
            file: file.to_path_buf(),
            reading: Reading::default(),
        };
        if path.extension().is_none_or(|extension| extension != "toml") {
            return Ok(plain(path));
        }
        let shown = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| {
            Error::input(format!("{shown}: cannot be read: {error}"))
                .hint("a .toml names the rows: file = \"rows.csv\", and how they are written")
        })?;
        let node = TomlNode::parse(&text, &shown)?;
        let section = Section::root(&node);
        let file: String = section.required("file")?;
        let reading = Reading::read(&section)?;
        section.finish()?;
        Ok(Self { reading, ..plain(&path.parent().unwrap_or(Path::new("")).join(file)) })
    }

    /// Reads one entry of `data.agents`.
    pub(crate) fn read(entry: &Section<'_>) -> Result<Self> {
        let name = entry.required("name")?;
        let file = PathBuf::from(entry.required::<String>("file")?);
        let reading = Reading::read(entry)?;
        entry.finish()?;
        Ok(Self { name, file, reading })
    }
}
