//! `schema.on_missing`: what becomes of a row that lacks a value.
//!
//! The number of rows of an agent is public. Dropping a row makes it depend on private cells, so
//! that no guarantee covers it. An indicator keeps every row: a missing number becomes the middle
//! of its public range, which is 0 after scaling, a missing level leaves all level columns 0, and
//! one more 0/1 column `NAME:missing` tells. Which columns have one is said by the schema and never
//! by rows.

use crate::error::Result;
use crate::reader::Section;

/// What becomes of a row that lacks a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnMissing {
    /// It is left out.
    Drop,
    /// It stays, with a public value and a 0/1 column.
    Indicator,
}

impl OnMissing {
    /// Reads `on_missing`. Without it rows are dropped, as they were before there was a choice.
    pub(super) fn read(schema: &Section<'_>) -> Result<Self> {
        Ok(match schema.choice("on_missing", &["drop", "indicator"])? {
            Some("indicator") => Self::Indicator,
            _ => Self::Drop,
        })
    }

    /// Whether a feature has a column `NAME:missing`. `missing = false` says that everybody knows
    /// the value is always recorded; should a row lack it all the same, the public value stands
    /// alone.
    pub(super) fn has_indicator(self, column: &Section<'_>) -> Result<bool> {
        let may_be_missing = column.or("missing", true)?;
        Ok(self == Self::Indicator && may_be_missing)
    }
}

/// The name of the column that tells where `name` is missing.
pub(super) fn indicator(name: &str) -> String {
    format!("{name}:missing")
}
