//! Reads TOML so that every complaint can name the value and its place.
//!
//! A [`Node`] is a value with the file and line (or the `--set`) it came from. A [`Section`] hands
//! out the keys of one table and, at the end, knows which keys nobody asked for.

use crate::error::{Error, Result, shown};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use toml::de::{DeTable, DeValue};

/// Where a value was written.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
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

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File { path, line } => write!(f, "{path}:{line}"),
            Place::Set(assignment) => write!(f, "--set {assignment}"),
        }
    }
}

/// A TOML value and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Where it was written.
    pub place: Place,
}

/// A TOML value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `[table]` or `{ inline }`
    Table(BTreeMap<String, Node>),
    /// `[1, 2]`
    Array(Vec<Node>),
    /// `"text"`
    String(String),
    /// `1`
    Integer(i64),
    /// `1.0`
    Float(f64),
    /// `true`
    Boolean(bool),
}

impl Node {
    /// Parses a whole file.
    pub fn parse(text: &str, path: &str) -> Result<Self> {
        let table = DeTable::parse(text).map_err(|error| {
            let line = error.span().map_or(1, |span| line_of(text, span.start));
            let message = error.message().lines().next().unwrap_or_default().to_string();
            Error::input(format!("{path}:{line}: not valid TOML: {message}"))
                .hint("`dzoa init` writes a commented config to start from")
        })?;
        let span = table.span();
        let place = |start: usize| Place::File { path: path.into(), line: line_of(text, start) };
        convert(DeValue::Table(table.into_inner()), span.start, &place)
    }

    /// Applies one `--set a.b.c=value`. The value is TOML if it parses, else a string.
    pub fn set(&mut self, assignment: &str) -> Result<()> {
        let place = Place::Set(shown(assignment).trim_matches('`').to_string());
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
            node = table.entry(key.to_string()).or_insert_with(|| Node {
                value: Value::Table(BTreeMap::new()),
                place: place.clone(),
            });
        }
        *node = Node { value, place };
        Ok(())
    }

    /// Keeps only some keys of one table of the root.
    pub fn retain(&mut self, table: &str, keep: impl Fn(&str) -> bool) {
        if let Value::Table(root) = &mut self.value
            && let Some(Node { value: Value::Table(keys), .. }) = root.get_mut(table)
        {
            keys.retain(|key, _| keep(key));
        }
    }

    /// The same as JSON, for the record of a run.
    pub fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Table(table) => {
                table.iter().map(|(key, node)| (key.clone(), node.to_json())).collect()
            }
            Value::Array(items) => items.iter().map(Node::to_json).collect(),
            Value::String(text) => text.as_str().into(),
            Value::Integer(number) => (*number).into(),
            Value::Float(number) => (*number).into(),
            Value::Boolean(flag) => (*flag).into(),
        }
    }

    /// The inverse of [`Node::to_json`].
    pub fn from_json(json: &serde_json::Value, place: &Place) -> Option<Self> {
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
        Some(Node { value, place: place.clone() })
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

fn convert(value: DeValue<'_>, start: usize, place: &dyn Fn(usize) -> Place) -> Result<Node> {
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
    Ok(Node { value, place: here })
}

/// A Rust value that a [`Node`] can hold.
pub trait FromNode: Sized {
    /// What a user is told to write.
    const EXPECTED: &'static str;
    /// The value, if it is one.
    fn from_node(node: &Node) -> Option<Self>;
}

impl FromNode for f64 {
    const EXPECTED: &'static str = "a number";
    fn from_node(node: &Node) -> Option<Self> {
        match node.value {
            Value::Float(number) => Some(number),
            Value::Integer(number) => Some(number as f64),
            _ => None,
        }
    }
}

impl FromNode for usize {
    const EXPECTED: &'static str = "a whole number, zero or more";
    fn from_node(node: &Node) -> Option<Self> {
        match node.value {
            Value::Integer(number) => usize::try_from(number).ok(),
            _ => None,
        }
    }
}

impl FromNode for u64 {
    const EXPECTED: &'static str = "a whole number, zero or more";
    fn from_node(node: &Node) -> Option<Self> {
        usize::from_node(node).map(|number| number as u64)
    }
}

impl FromNode for bool {
    const EXPECTED: &'static str = "true or false";
    fn from_node(node: &Node) -> Option<Self> {
        match node.value {
            Value::Boolean(flag) => Some(flag),
            _ => None,
        }
    }
}

impl FromNode for String {
    const EXPECTED: &'static str = "a text in quotes";
    fn from_node(node: &Node) -> Option<Self> {
        match &node.value {
            Value::String(text) => Some(text.clone()),
            _ => None,
        }
    }
}

impl FromNode for Node {
    const EXPECTED: &'static str = "a value";
    fn from_node(node: &Node) -> Option<Self> {
        Some(node.clone())
    }
}

impl<T: FromNode> FromNode for Vec<T> {
    const EXPECTED: &'static str = "an array";
    fn from_node(node: &Node) -> Option<Self> {
        match &node.value {
            Value::Array(items) => items.iter().map(T::from_node).collect(),
            _ => None,
        }
    }
}

/// The keys of one table, and a note of which were asked for.
pub struct Section<'a> {
    path: String,
    node: Option<&'a Node>,
    parent: &'a Node,
    asked: RefCell<Vec<&'static str>>,
}

impl<'a> Section<'a> {
    /// The whole file.
    pub fn root(node: &'a Node) -> Self {
        Self { path: String::new(), node: Some(node), parent: node, asked: RefCell::default() }
    }

    /// A table inside an array, with the name that messages give it.
    pub fn named(node: &'a Node, path: &str) -> Result<Self> {
        if !matches!(node.value, Value::Table(_)) {
            return Err(Error::input(format!(
                "{}: {path} must be a table, not {}",
                node.place,
                node.describe()
            )));
        }
        Ok(Self { path: path.into(), node: Some(node), parent: node, asked: RefCell::default() })
    }

    /// A table inside this one; empty if it is not there.
    pub fn section(&self, key: &'static str) -> Result<Section<'a>> {
        let node = self.node(key);
        if let Some(node) = node
            && !matches!(node.value, Value::Table(_))
        {
            return Err(self.error(key, &format!("must be a table, not {}", node.describe())));
        }
        Ok(Section {
            path: self.full(key),
            node,
            parent: node.unwrap_or(self.parent),
            asked: RefCell::default(),
        })
    }

    /// Whether the table itself is there.
    pub fn is_present(&self) -> bool {
        self.node.is_some()
    }

    /// The value of a key as written.
    pub fn node(&self, key: &'static str) -> Option<&'a Node> {
        self.asked.borrow_mut().push(key);
        match &self.node?.value {
            Value::Table(table) => table.get(key),
            _ => None,
        }
    }

    /// A value that may be missing.
    pub fn optional<T: FromNode>(&self, key: &'static str) -> Result<Option<T>> {
        match self.node(key) {
            None => Ok(None),
            Some(node) => T::from_node(node).map(Some).ok_or_else(|| {
                self.error(key, &format!("must be {}, not {}", T::EXPECTED, node.describe()))
            }),
        }
    }

    /// A value with a default.
    pub fn or<T: FromNode>(&self, key: &'static str, default: T) -> Result<T> {
        Ok(self.optional(key)?.unwrap_or(default))
    }

    /// A value that must be there.
    pub fn required<T: FromNode>(&self, key: &'static str) -> Result<T> {
        self.optional(key)?.ok_or_else(|| {
            Error::input(format!("{}: `{}` is missing", self.place(), self.full(key)))
                .hint(format!("add it, or give it with --set {}=VALUE", self.full(key)))
        })
    }

    /// An optional number within a range that `expected` describes.
    pub fn number(
        &self,
        key: &'static str,
        valid: impl Fn(f64) -> bool,
        expected: &str,
    ) -> Result<Option<f64>> {
        let number: Option<f64> = self.optional(key)?;
        match number {
            Some(number) if !valid(number) => {
                Err(self.error(key, &format!("must be {expected}, not {number}")))
            }
            number => Ok(number),
        }
    }

    /// An optional finite number above zero.
    pub fn positive(&self, key: &'static str) -> Result<Option<f64>> {
        self.number(key, |value| value > 0.0 && value.is_finite(), "a finite number above 0")
    }

    /// An optional finite number, zero or more.
    pub fn non_negative(&self, key: &'static str) -> Result<Option<f64>> {
        self.number(key, |value| value >= 0.0 && value.is_finite(), "a finite number, 0 or more")
    }

    /// An optional count of at least one.
    pub fn count(&self, key: &'static str) -> Result<Option<usize>> {
        match self.optional(key)? {
            Some(0) => Err(self.error(key, "must be at least 1, not 0")),
            count => Ok(count),
        }
    }

    /// One of a list of words.
    pub fn choice(
        &self,
        key: &'static str,
        words: &[&'static str],
    ) -> Result<Option<&'static str>> {
        let Some(text) = self.optional::<String>(key)? else { return Ok(None) };
        match words.iter().find(|&&word| word == text) {
            Some(word) => Ok(Some(word)),
            None => {
                Err(self.error(key, &format!("is {}", shown(&text))).hint(suggestion(&text, words)))
            }
        }
    }

    /// An error about a key of this table, with its place.
    pub fn error(&self, key: &str, problem: &str) -> Error {
        let place = match &self.node.map(|node| &node.value) {
            Some(Value::Table(table)) => table.get(key).map(|node| &node.place),
            _ => None,
        };
        let place = place.unwrap_or_else(|| self.place());
        let full = self.full(key);
        Error::input(format!("{place}: `{full}` {problem}"))
            .hint(format!("change it there, or for one run with --set {full}=VALUE"))
    }

    /// Complains about the first key that nobody asked for.
    pub fn finish(&self) -> Result<()> {
        let Some(Node { value: Value::Table(table), .. }) = self.node else { return Ok(()) };
        let asked = self.asked.borrow();
        for key in table.keys() {
            if !asked.contains(&key.as_str()) {
                let mut known = asked.clone();
                known.sort_unstable();
                known.dedup();
                return Err(self
                    .error(key, "is not a key that dzoa knows")
                    .hint(suggestion(key, &known)));
            }
        }
        Ok(())
    }

    fn place(&self) -> &'a Place {
        &self.parent.place
    }

    fn full(&self, key: &str) -> String {
        if self.path.is_empty() { key.into() } else { format!("{}.{key}", self.path) }
    }
}

/// `did you mean ...?`, or the list.
pub fn suggestion(word: &str, known: &[&str]) -> String {
    let nearest = known
        .iter()
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .min()
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len() / 3);
    match nearest {
        Some((_, candidate)) => format!("did you mean `{candidate}`?"),
        None if known.is_empty() => "this table takes no keys here: remove it".into(),
        None => format!("one of: {}", known.join(", ")),
    }
}
