//! A site's own words for the values of the schema.

use super::Request;
use crate::error::{Error, Result, shown};
use crate::reader::suggestion;
use crate::reading::Recoding;
use crate::schema::{Column, Kind, TargetColumn};

/// The site's words, column by column.
#[derive(Clone, Debug)]
pub struct Recodes<'a> {
    /// For every column that does not know a value.
    any: &'a Recoding,
    /// One per column of the schema.
    columns: Vec<Option<&'a Recoding>>,
    target: Option<&'a Recoding>,
}

impl<'a> Recodes<'a> {
    /// The words of the site of this request.
    pub fn new(request: &'a Request<'a>) -> Self {
        let Request { schema, reading, .. } = request;
        let of = |column: &Column| reading.recode_of(&column.name);
        Self {
            any: &reading.recode,
            columns: schema.columns.iter().map(of).collect(),
            target: reading.recode_of(&schema.target.name),
        }
    }

    /// Refuses words for a column that is not there.
    pub fn check(request: &Request<'_>, file: &str) -> Result<()> {
        let Request { schema, reading, .. } = request;
        let mut known: Vec<&str> = schema.used_names().collect();
        known.push(&schema.target.name);
        match reading.recode_columns.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            None => Ok(()),
            Some((name, _)) => Err(Error::input(format!(
                "{file}: `recode` names the unknown column {}",
                shown(name)
            ))
            .hint(suggestion(name, &known))),
        }
    }

    /// What the schema calls a value of its column number `at`.
    pub fn feature<'t>(&self, at: usize, column: &Column, text: &'t str) -> &'t str
    where
        'a: 't,
    {
        if let Some(to) = self.columns.get(at).copied().flatten().and_then(|own| own.get(text)) {
            return to;
        }
        match &column.kind {
            Kind::Categorical(levels) if levels.position(text).is_none() => {
                self.any.get(text).unwrap_or(text)
            }
            _ => text,
        }
    }

    /// What the schema calls a value of its target.
    pub fn target<'t>(&self, target: &TargetColumn, text: &'t str) -> &'t str
    where
        'a: 't,
    {
        if let Some(to) = self.target.and_then(|own| own.get(text)) {
            return to;
        }
        match target.knows(text) {
            true => text,
            false => self.any.get(text).unwrap_or(text),
        }
    }
}
