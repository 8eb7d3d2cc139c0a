//! Why values are no rows.

use thiserror::Error;

/// Rows of features that do not fit together.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum DataError {
    /// The number of values is not a multiple of the width.
    #[error("{values} values do not fill rows of width {width}")]
    Ragged {
        /// Values given.
        values: usize,
        /// Columns wanted.
        width: usize,
    },
    /// No columns.
    #[error("rows need at least one column")]
    NoColumns,
    /// A sparse entry outside the width.
    #[error("row {row} has an entry in column {column}, but there are only {width} columns")]
    OutOfRange {
        /// Row, counted from 0.
        row: usize,
        /// Column, counted from 0.
        column: usize,
        /// Columns there are.
        width: usize,
    },
    /// As many targets as rows are needed.
    #[error("{targets} targets for {rows} rows")]
    Targets {
        /// Targets given.
        targets: usize,
        /// Rows given.
        rows: usize,
    },
    /// A value that is not a finite number.
    #[error("row {row} holds a value that is not finite")]
    NonFinite {
        /// Row, counted from 0.
        row: usize,
    },
}
