//! What a feature means in the units of the file.

use super::missing::indicator;

/// What a feature means in the units of the file.
#[derive(Clone, Debug, PartialEq)]
pub enum Feature {
    /// A number between two public ends, which become -1 and 1.
    Number {
        /// The column.
        column: String,
        /// Becomes -1.
        low: f64,
        /// Becomes 1.
        high: f64,
    },
    /// 1 where a column has this level.
    Level {
        /// The column.
        column: String,
        /// As in the schema.
        level: String,
    },
    /// 1 where a column is missing.
    Missing {
        /// The column.
        column: String,
    },
}

impl Feature {
    /// The column of the file.
    pub fn column(&self) -> &str {
        match self {
            Self::Number { column, .. } | Self::Level { column, .. } | Self::Missing { column } => {
                column
            }
        }
    }

    /// As coefficients are called.
    pub fn name(&self) -> String {
        match self {
            Self::Number { column, .. } => column.clone(),
            Self::Level { column, level } => format!("{column}={level}"),
            Self::Missing { column } => indicator(column),
        }
    }

    /// What becomes 0.
    pub fn middle(&self) -> f64 {
        match self {
            Self::Number { low, high, .. } => low + (high - low) / 2.0,
            _ => 0.0,
        }
    }

    /// What a feature of 1 is, counted from the middle.
    pub fn half(&self) -> f64 {
        match self {
            Self::Number { low, high, .. } => (high - low) / 2.0,
            _ => 1.0,
        }
    }
}
