//! The keys of one table of a TOML file, read with their types and limits.

use super::{TomlNode, TomlPlace, Value};
use crate::error::{Error, Result, shown};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// A Rust value that a [`TomlNode`] can hold.
pub trait FromNode: Sized {
    /// What a user is told to write.
    const EXPECTED: &'static str;
    /// The value, if it is one.
    fn from_node(node: &TomlNode) -> Option<Self>;
}

impl FromNode for f64 {
    const EXPECTED: &'static str = "a number";
    fn from_node(node: &TomlNode) -> Option<Self> {
        match node.value {
            Value::Float(number) => Some(number),
            Value::Integer(number) => Some(number as f64),
            _ => None,
        }
    }
}

impl FromNode for usize {
    const EXPECTED: &'static str = "a whole number, zero or more";
    fn from_node(node: &TomlNode) -> Option<Self> {
        match node.value {
            Value::Integer(number) => usize::try_from(number).ok(),
            _ => None,
        }
    }
}

impl FromNode for u64 {
    const EXPECTED: &'static str = "a whole number, zero or more";
    fn from_node(node: &TomlNode) -> Option<Self> {
        usize::from_node(node).map(|number| number as u64)
    }
}

impl FromNode for bool {
    const EXPECTED: &'static str = "true or false";
    fn from_node(node: &TomlNode) -> Option<Self> {
        match node.value {
            Value::Boolean(flag) => Some(flag),
            _ => None,
        }
    }
}

impl FromNode for String {
    const EXPECTED: &'static str = "a text in quotes";
    fn from_node(node: &TomlNode) -> Option<Self> {
        match &node.value {
            Value::String(text) => Some(text.clone()),
            _ => None,
        }
    }
}

impl FromNode for TomlNode {
    const EXPECTED: &'static str = "a value";
    fn from_node(node: &TomlNode) -> Option<Self> {
        Some(node.clone())
    }
}

impl<T: FromNode> FromNode for Vec<T> {
    const EXPECTED: &'static str = "an array";
    fn from_node(node: &TomlNode) -> Option<Self> {
        match &node.value {
            Value::Array(items) => items.iter().map(T::from_node).collect(),
            _ => None,
        }
    }
}

thread_local! {
    static ASKED: RefCell<Option<BTreeSet<String>>> = const { RefCell::new(None) };
}

/// Does some reading, and says for which keys it asked: how a test knows that the reference of keys
/// has all of them.
pub fn keys_asked_for(reading: impl FnOnce()) -> BTreeSet<String> {
    ASKED.set(Some(BTreeSet::new()));
    reading();
    ASKED.take().unwrap_or_default()
}

/// The keys of one table, and a note of which were asked for.
pub struct Section<'a> {
    path: String,
    node: Option<&'a TomlNode>,
    parent: &'a TomlNode,
    asked: RefCell<Vec<&'static str>>,
}

impl<'a> Section<'a> {
    /// The whole file.
    pub fn root(node: &'a TomlNode) -> Self {
        Self { path: String::new(), node: Some(node), parent: node, asked: RefCell::default() }
    }

    /// A table inside an array, with the name that messages give it.
    pub fn named(node: &'a TomlNode, path: &str) -> Result<Self> {
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
    pub fn node(&self, key: &'static str) -> Option<&'a TomlNode> {
        self.asked.borrow_mut().push(key);
        ASKED.with_borrow_mut(|all| {
            if let Some(all) = all {
                all.insert(self.full(key));
            }
        });
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

    /// One ASCII character that can part fields or begin a comment.
    pub fn character(&self, key: &'static str) -> Result<Option<u8>> {
        match self.optional::<String>(key)?.as_deref().map(str::as_bytes) {
            None => Ok(None),
            Some(&[byte]) if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r') => {
                Ok(Some(byte))
            }
            Some(_) => Err(self
                .error(key, "must be one ASCII character, and no quote or line end")
                .hint("for example \",\" or \"\\t\"")),
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
        let Some(TomlNode { value: Value::Table(table), .. }) = self.node else { return Ok(()) };
        let asked = self.asked.borrow();
        for key in table.keys() {
            if !asked.contains(&key.as_str()) {
                let mut known = asked.clone();
                known.sort_unstable();
                known.dedup();
                let table = if self.path.is_empty() { "" } else { &self.path };
                return Err(self.error(key, "is not a key that dzoa knows").hint(format!(
                    "{}; `dzoa help config{}{table}` explains the keys",
                    suggestion(key, &known),
                    if table.is_empty() { "" } else { " " },
                )));
            }
        }
        Ok(())
    }

    /// Where it was written, for messages about the whole of it.
    pub fn place(&self) -> &'a TomlPlace {
        &self.parent.place
    }

    fn full(&self, key: &str) -> String {
        if self.path.is_empty() { key.into() } else { format!("{}.{key}", self.path) }
    }
}

/// Refuses a key that was given although its `owner` was not chosen: it would have no effect.
pub fn only_with(
    section: &Section<'_>,
    key: &str,
    given: bool,
    owner: &str,
    chosen: bool,
) -> Result<()> {
    if given && !chosen {
        return Err(section
            .error(key, &format!("has no effect without {owner}"))
            .hint(format!("remove it, or set {owner}")));
    }
    Ok(())
}

/// `did you mean ...?`, or the list.
pub fn suggestion(word: &str, known: &[&str]) -> String {
    let nearest = known
        .iter()
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .min()
        .filter(|(distance, candidate)| *distance <= (word.len().min(candidate.len()) / 3).max(1));
    match nearest {
        Some((_, candidate)) => format!("did you mean `{candidate}`?"),
        None if known.is_empty() => "this table takes no keys here: remove it".into(),
        None => format!("one of: {}", known.join(", ")),
    }
}
