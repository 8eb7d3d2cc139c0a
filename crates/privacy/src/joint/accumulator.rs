//! From rows' vectors to an agent's part of a sum: whole numbers of steps.
//!
//! A row's vector is made finite, moved into the public region, weighted and cut towards zero to
//! the public grid, and only then added, as an integer. Adding floats would round each sum
//! differently on two neighbouring data sets, and one value that is no number would make a sum of
//! nothing.

use super::{Context, JointQuery};
use thiserror::Error;
use zeroize::Zeroizing;

/// Adds up the vectors of one agent's rows.
///
/// Integers do not mind their order: threads may add parts of the rows and [`Accumulator::absorb`]
/// each other.
pub struct Accumulator {
    context: Context,
    position: usize,
    /// From a value to steps.
    factor: f64,
    /// In steps: what a row adds to a coordinate, at most.
    largest: f64,
    rows: u64,
    values: Zeroizing<Vec<i64>>,
    row: Zeroizing<Vec<f64>>,
}

/// Rows that do not belong into this sum.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum BadRow {
    /// A vector of another length.
    #[error("a row has {got} values where the sum has {coordinates}")]
    Length {
        /// Its length.
        got: usize,
        /// Coordinates of the sum.
        coordinates: usize,
    },
    /// More rows than are public.
    #[error("more than the {rows} rows that the sum was planned for")]
    TooMany {
        /// Rows of the plan.
        rows: u64,
    },
    /// Another agent's, or of another sum.
    #[error("parts of two different sums")]
    OtherSum,
}

/// An agent's part of a sum, in steps of the grid. It depends on private rows and cannot be read.
///
/// ```compile_fail
/// fn leak(part: dzoa_privacy::joint::Summand) -> i64 {
///     part.values[0]
/// }
/// ```
pub struct Summand {
    pub(super) context: Context,
    pub(super) position: usize,
    pub(super) values: Zeroizing<Vec<i64>>,
}

impl Accumulator {
    /// An empty sum of the member at this position.
    pub fn new(context: &Context, position: usize) -> Self {
        let query = context.query();
        let values = Zeroizing::new(vec![0; query.coordinates()]);
        let row = Zeroizing::new(vec![0.0; query.coordinates()]);
        let factor = query.shares().silo(position).weight / query.step();
        // The plan's bound is this for every row, rounded up.
        let largest = (query.region().reach() * factor * (1.0 + 1e-13)).floor();
        Self { context: context.clone(), position, factor, largest, rows: 0, values, row }
    }

    /// Adds the vector of one row.
    pub fn add(&mut self, vector: &[f64]) -> Result<(), BadRow> {
        let (got, coordinates) = (vector.len(), self.context.query().region().answers());
        if got != coordinates {
            return Err(BadRow::Length { got, coordinates });
        }
        self.count(1)?;
        let Self { context, row, values, factor, largest, .. } = self;
        row[..coordinates].copy_from_slice(vector);
        context.query().region().project(row);
        for (sum, value) in values.iter_mut().zip(row.iter()) {
            // No overflow: the plan's rows times the largest are at most 2^52.
            *sum += (value * *factor).clamp(-*largest, *largest) as i64;
        }
        Ok(())
    }

    /// Adds what was added elsewhere of the same agent's rows.
    pub fn absorb(&mut self, other: Self) -> Result<(), BadRow> {
        if (other.context.id(), other.position) != (self.context.id(), self.position) {
            return Err(BadRow::OtherSum);
        }
        self.count(other.rows)?;
        self.values.iter_mut().zip(other.values.iter()).for_each(|(sum, value)| *sum += value);
        Ok(())
    }

    /// All that was added.
    pub fn finish(self) -> Summand {
        Summand { context: self.context, position: self.position, values: self.values }
    }

    fn count(&mut self, more: u64) -> Result<(), BadRow> {
        let rows = self.query().shares().silo(self.position).rows;
        match self.rows.checked_add(more) {
            Some(sum) if sum <= rows => {
                self.rows = sum;
                Ok(())
            }
            _ => Err(BadRow::TooMany { rows }),
        }
    }

    fn query(&self) -> &JointQuery {
        self.context.query()
    }
}
