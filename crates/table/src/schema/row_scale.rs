//! `schema.row_norm` and `schema.rows_to_unit_ball`: how long rows may be.

use crate::error::Result;
use crate::reader::{Section, TomlNode, Value};

/// How long rows may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum RowScale {
    /// All are divided by a public number, which a rule chooses.
    Auto,
    /// All are divided by this number.
    Norm(f64),
    /// Every row is divided by its own length, as the paper does it.
    UnitBall,
    /// As the columns come.
    AsTheyAre,
}

impl RowScale {
    /// Reads `row_norm` and `rows_to_unit_ball`.
    pub(super) fn read(section: &Section<'_>) -> Result<Self> {
        let unit_ball: Option<bool> = section.optional("rows_to_unit_ball")?;
        let norm = match section.node("row_norm") {
            None => None,
            Some(TomlNode { value: Value::String(word), .. }) if word == "auto" => Some(Self::Auto),
            Some(TomlNode { value: Value::String(_), .. }) => {
                return Err(section
                    .error("row_norm", "must be a number above 0, or \"auto\"")
                    .hint("\"auto\" chooses by a public rule from the columns"));
            }
            Some(_) => section
                .number(
                    "row_norm",
                    |norm| (1e-6..=1e6).contains(&norm),
                    "a number from 1e-6 to 1e6, or \"auto\"",
                )?
                .map(Self::Norm),
        };
        match (unit_ball, norm) {
            (Some(_), Some(_)) => {
                Err(section.error("row_norm", "and `rows_to_unit_ball` exclude each other").hint(
                    "row_norm divides all rows by one number, rows_to_unit_ball each by its own",
                ))
            }
            (Some(true), None) => Ok(Self::UnitBall),
            (Some(false), None) => Ok(Self::AsTheyAre),
            (None, Some(norm)) => Ok(norm),
            (None, None) => Ok(Self::Auto),
        }
    }
}
