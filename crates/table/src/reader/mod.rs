//! Reads TOML so that every complaint can name the value and its place.
//!
//! A [`TomlNode`] is a value with the file and line (or the `--set`) it came from. A [`Section`]
//! hands out the keys of one table and, at the end, knows which keys nobody asked for.

mod named;
mod section;

pub use named::{Named, read_options};
pub use section::{FromNode, Section, keys_asked_for, only_with, suggestion};

use crate::error::{Error, Result, shown};
use std::collections::BTreeMap;
use std::fmt;
use toml::de::{DeTable, DeValue};

/// Where a value was written.
#[derive(Clone, Debug, PartialEq)]
pub enum TomlPlace {
    /// In a file.
    File {
        /// The path as the user gave it.
        path: String,
        /// Counted from 1.
        line: usize,
    },
    /// On the command line.
    Set(String),
}

impl fmt::Display for TomlPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TomlPlace::File { path, line } => write!(f, "{path}:{line}"),
            TomlPlace::Set(assignment) => write!(f, "--set {assignment}"),
        }
    }
}

/// A TOML value and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct TomlNode {
    /// The value.
    pub value: Value,
    /// Where it was written.
    pub place: TomlPlace,
}

/// A TOML value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `[table]` or `{ inline }`
    Table(BTreeMap<String, TomlNode>),
    /// `[1, 2]`
    Array(Vec<TomlNode>),
    /// `"text"`
    String(String),
    /// `1`
    Integer(i64),
    /// `1.0`
    Float(f64),
    /// `true`
    Boolean(bool),
}

impl TomlNode {
    /// Parses a whole file.
    pub fn parse(text: &str, path: &str) -> Result<Self> {
        let table = DeTable::parse(text).map_err(|error| {
            let line = error.span().map_or(1, |span| line_of(text, span.start));
            let message = error.message().lines().next().unwrap_or_default().to_string();
            Error::input(format!("{path}:{line}: not valid TOML: {message}"))
                .hint("`dzoa init` writes a commented config to start from")
        })?;
        let span = table.span();
        let place =
            |start: usize| TomlPlace::File { path: path.into(), line: line_of(text, start) };
        convert(DeValue::Table(table.into_inner()), span.start, &place)
    }

    /// Applies one `--set a.b.c=value`. The value is TOML if it parses, else a string.
    pub fn set(&mut self, assignment: &str) -> Result<()> {
        let place = TomlPlace::Set(shown(assignment).trim_matches('`').to_string());
        let (path, text) = assignment.split_once('=').ok_or_else(|| {
            Error::input(format!("--set {} has no `=`", shown(assignment)))
                .hint("for example --set algorithm.rounds=50")
        })?;
        let wrapped = format!("value = {text}");
        let value = match DeTable::parse(&wrapped) {
            Ok(table) => {
                let mut table = table.into_inner();
                let only = table.len() == 1;
                match table.remove("value").filter(|_| only) {
                    Some(value) => convert(value.into_inner(), 0, &|_| place.clone())?.value,
                    None => Value::String(text.into()),
                }
            }
            Err(_) => Value::String(text.into()),
        };
        let mut node = self;
        for key in path.split('.') {
            if key.is_empty() {
                return Err(Error::input(format!("--set {} has an empty key", shown(assignment)))
                    .hint("keys are joined by single dots: --set algorithm.rounds=50"));
            }
            if !matches!(node.value, Value::Table(_)) {
                node.value = Value::Table(BTreeMap::new());
            }
            let Value::Table(table) = &mut node.value else { unreachable!("made a table above") };
            node = table.entry(key.to_string()).or_insert_with(|| TomlNode {
                value: Value::Table(BTreeMap::new()),
                place: place.clone(),
            });
        }
        *node = TomlNode { value, place };
        Ok(())
    }

    /// Keeps only some keys of one table of the root.
    pub fn retain(&mut self, table: &str, keep: impl Fn(&str) -> bool) {
        if let Value::Table(root) = &mut self.value
            && let Some(TomlNode { value: Value::Table(keys), .. }) = root.get_mut(table)
        {
            keys.retain(|key, _| keep(key));
        }
    }

    /// The value as JSON, for the record of a run.
    pub fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Table(table) => {
                table.iter().map(|(key, node)| (key.clone(), node.to_json())).collect()
            }
            Value::Array(items) => items.iter().map(TomlNode::to_json).collect(),
            Value::String(text) => text.as_str().into(),
            Value::Integer(number) => (*number).into(),
            Value::Float(number) => (*number).into(),
            Value::Boolean(flag) => (*flag).into(),
        }
    }

    /// The inverse of [`TomlNode::to_json`].
    pub fn from_json(json: &serde_json::Value, place: &TomlPlace) -> Option<Self> {
        let value = match json {
            serde_json::Value::Object(map) => Value::Table(
                map.iter()
                    .map(|(key, value)| Some((key.clone(), Self::from_json(value, place)?)))
                    .collect::<Option<_>>()?,
            ),
            serde_json::Value::Array(items) => Value::Array(
                items.iter().map(|item| Self::from_json(item, place)).collect::<Option<_>>()?,
            ),
            serde_json::Value::String(text) => Value::String(text.clone()),
            serde_json::Value::Bool(flag) => Value::Boolean(*flag),
            serde_json::Value::Number(number) => match number.as_i64() {
                Some(integer) => Value::Integer(integer),
                None => Value::Float(number.as_f64()?),
            },
            serde_json::Value::Null => return None,
        };
        Some(TomlNode { value, place: place.clone() })
    }

    fn describe(&self) -> String {
        match &self.value {
            Value::Table(_) => "a table".into(),
            Value::Array(_) => "an array".into(),
            Value::String(text) => format!("the text {}", shown(text)),
            Value::Integer(number) => format!("{number}"),
            Value::Float(number) => format!("{number}"),
            Value::Boolean(flag) => format!("{flag}"),
        }
    }
}

fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset.min(text.len())].iter().filter(|&&byte| byte == b'\n').count() + 1
}

fn convert(
    value: DeValue<'_>,
    start: usize,
    place: &dyn Fn(usize) -> TomlPlace,
) -> Result<TomlNode> {
    let here = place(start);
    let bad = |what: String| Error::input(format!("{here}: {what}"));
    let value = match value {
        DeValue::Table(table) => Value::Table(
            table
                .into_iter()
                .map(|(key, value)| {
                    // A key's line is what a reader looks for, also above a long array.
                    let start = key.span().start;
                    Ok((key.into_inner().into_owned(), convert(value.into_inner(), start, place)?))
                })
                .collect::<Result<_>>()?,
        ),
        DeValue::Array(items) => Value::Array(
            items
                .into_iter()
                .map(|item| {
                    let start = item.span().start;
                    convert(item.into_inner(), start, place)
                })
                .collect::<Result<_>>()?,
        ),
        DeValue::String(text) => Value::String(text.into_owned()),
        DeValue::Integer(number) => Value::Integer(
            i64::from_str_radix(number.as_str(), number.radix())
                .map_err(|_| bad(format!("the number {} is too large", shown(number.as_str()))))?,
        ),
        DeValue::Float(number) => Value::Float(
            number
                .as_str()
                .parse()
                .map_err(|_| bad(format!("{} is not a number", shown(number.as_str()))))?,
        ),
        DeValue::Boolean(flag) => Value::Boolean(flag),
        DeValue::Datetime(_) => return Err(bad("dates have no use here".into())),
    };
    Ok(TomlNode { value, place: here })
}
