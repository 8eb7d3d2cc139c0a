//! Rows of features, dense or sparse, behind one type.

use super::data_error::DataError;
use super::sparse::{LineTable, Sharing, Sparse};
use crate::kernels::{dot_lines, vectorized};
use faer::{Accum, MatMut, MatRef, Par, linalg::matmul::matmul};
use std::fmt;

/// A matrix of rows: dense (row-major) or compressed sparse rows. Nothing outside this file needs
/// to know which.
///
/// Rows carry the bound on their norms that holds for *every* data set that could stand here: a
/// sensitivity may rest on it, and only on it. Looking at the rows that are here would say
/// something about them.
#[derive(Clone, PartialEq)]
pub struct Rows {
    count: usize,
    width: usize,
    /// What no row can be longer than, whatever the data; `None` where nothing limits them.
    norm_bound: Option<f64>,
    storage: Storage,
}

#[derive(Clone, PartialEq)]
enum Storage {
    Dense(Vec<f64>),
    Sparse(Sparse),
}

/// A point b and a block of vectors, made ready for their products with rows.
#[derive(Clone, Copy, Debug)]
pub struct Prepared<'a> {
    point: &'a [f64],
    block: &'a [f64],
    table: &'a LineTable,
}

/// Sizes only: whatever prints a plan or a problem shows nobody's rows.
impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rows({} rows of {} columns, hidden)", self.count, self.width)
    }
}

impl fmt::Debug for Samples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Samples({} rows of {} columns, hidden)", self.rows.count, self.rows.width)
    }
}

impl Rows {
    /// Dense rows, one after the other.
    ///
    /// ```
    /// let rows = dzoa::problem::Rows::dense(2, vec![1.0, 2.0, 3.0, 4.0])?;
    /// assert_eq!((rows.count(), rows.width()), (2, 2));
    /// # Ok::<(), dzoa::problem::DataError>(())
    /// ```
    pub fn dense(width: usize, values: Vec<f64>) -> Result<Self, DataError> {
        if width == 0 {
            return Err(DataError::NoColumns);
        }
        if !values.len().is_multiple_of(width) {
            return Err(DataError::Ragged { values: values.len(), width });
        }
        if let Some(at) = values.iter().position(|v| !v.is_finite()) {
            return Err(DataError::NonFinite { row: at / width });
        }
        let (count, storage) = (values.len() / width, Storage::Dense(values));
        Ok(Self { count, width, norm_bound: None, storage })
    }

    /// Sparse rows, each a list of (column, value).
    pub fn sparse(
        width: usize,
        rows: impl IntoIterator<Item = Vec<(usize, f64)>>,
    ) -> Result<Self, DataError> {
        if width == 0 {
            return Err(DataError::NoColumns);
        }
        let rows = Sparse::new(width, rows)?;
        let (count, storage) = (rows.count(), Storage::Sparse(rows));
        Ok(Self { count, width, norm_bound: None, storage })
    }

    /// Number of rows.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Number of columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The public bound on the norm of any row that could stand here: 1 after
    /// [`Rows::into_unit_ball`], none for rows as they came.
    ///
    /// ```
    /// let rows = dzoa::problem::Rows::dense(2, vec![0.1, 0.2])?;
    /// assert_eq!(rows.norm_bound(), None);
    /// assert_eq!(rows.into_unit_ball().norm_bound(), Some(1.0));
    /// # Ok::<(), dzoa::problem::DataError>(())
    /// ```
    pub fn norm_bound(&self) -> Option<f64> {
        self.norm_bound
    }

    /// Whether the rows are stored sparse.
    pub fn is_sparse(&self) -> bool {
        matches!(self.storage, Storage::Sparse(_))
    }

    /// Stored entries: all of them, or the non-zeros.
    pub fn stored(&self) -> usize {
        match &self.storage {
            Storage::Dense(values) => values.len(),
            Storage::Sparse(rows) => rows.stored(),
        }
    }

    /// Calls `visit(column, value)` for the stored entries of one row.
    #[inline]
    pub fn visit(&self, row: usize, mut visit: impl FnMut(usize, f64)) {
        match &self.storage {
            Storage::Dense(values) => {
                let row = &values[row * self.width..][..self.width];
                row.iter().enumerate().for_each(|(column, &value)| visit(column, value));
            }
            Storage::Sparse(rows) => {
                rows.row(row).for_each(|(column, value)| visit(column as usize, value));
            }
        }
    }

    /// `x_row' b`.
    pub fn dot(&self, row: usize, b: &[f64]) -> f64 {
        let mut sum = 0.0;
        self.visit(row, |column, value| sum += value * b[column]);
        sum
    }

    /// `||x_row||^2`.
    pub fn norm_squared(&self, row: usize) -> f64 {
        let mut sum = 0.0;
        self.visit(row, |_, value| sum += value * value);
        sum
    }

    /// `||x_row||`, also where the square of it is no number any more.
    pub fn norm(&self, row: usize) -> f64 {
        let square = self.norm_squared(row);
        if square.is_normal() {
            return square.sqrt();
        }
        let mut largest = 0.0_f64;
        self.visit(row, |_, value| largest = largest.max(value.abs()));
        if largest == 0.0 {
            return 0.0;
        }
        let mut sum = 0.0;
        self.visit(row, |_, value| sum += (value / largest).powi(2));
        largest * sum.sqrt()
    }

    /// `out += X' weights`.
    pub fn add_transposed(&self, weights: &[f64], out: &mut [f64]) {
        for (row, &weight) in weights.iter().enumerate() {
            self.visit(row, |column, value| out[column] += weight * value);
        }
    }

    /// `out += X' weights`, for as many rows from `first` on as there are weights.
    pub fn add_transposed_from(&self, first: usize, weights: &[f64], out: &mut [f64]) {
        match &self.storage {
            Storage::Dense(values) => vectorized(
                #[inline(always)]
                || {
                    let rows = values[first * self.width..].chunks_exact(self.width);
                    for (row, weight) in rows.zip(weights) {
                        out.iter_mut().zip(row).for_each(|(out, value)| *out += weight * value);
                    }
                },
            ),
            Storage::Sparse(_) => weights.iter().zip(first..).for_each(|(weight, row)| {
                self.visit(row, |column, value| out[column] += weight * value);
            }),
        }
    }

    /// `out += X' diag(weights) X`, row by row, for as many rows from `first` on as there are
    /// weights.
    pub fn add_gram(&self, first: usize, weights: &[f64], scratch: &mut Vec<f64>, out: &mut [f64]) {
        let width = self.width;
        match &self.storage {
            Storage::Dense(values) => {
                let rows = &values[first * width..][..weights.len() * width];
                scratch.clear();
                let weighted = rows.chunks_exact(width).zip(weights);
                scratch.extend(weighted.flat_map(|(row, w)| row.iter().map(move |v| w * v)));
                let weighted = MatRef::from_row_major_slice(scratch, weights.len(), width);
                let rows = MatRef::from_row_major_slice(rows, weights.len(), width);
                let out = MatMut::from_row_major_slice_mut(out, width, width);
                matmul(out, Accum::Add, weighted.transpose(), rows, 1.0, Par::Seq);
            }
            Storage::Sparse(_) => weights.iter().zip(first..).for_each(|(weight, row)| {
                self.visit(row, |p, value| {
                    let line = &mut out[p * width..][..width];
                    self.visit(row, |q, other| line[q] += weight * value * other);
                });
            }),
        }
    }

    /// `X'X`, row by row.
    pub fn gram(&self) -> Vec<f64> {
        let mut gram = vec![0.0; self.width * self.width];
        match &self.storage {
            Storage::Dense(values) => {
                let rows = MatRef::from_row_major_slice(values, self.count, self.width);
                let out = MatMut::from_row_major_slice_mut(&mut gram, self.width, self.width);
                matmul(out, Accum::Replace, rows.transpose(), rows, 1.0, Par::Seq);
            }
            Storage::Sparse(_) => (0..self.count).for_each(|row| {
                self.visit(row, |p, value| {
                    let line = &mut gram[p * self.width..][..self.width];
                    self.visit(row, |q, other| line[q] += value * other);
                });
            }),
        }
        gram
    }

    /// `out = X b`, for as many rows from `first` on as there is room for.
    pub fn times(&self, first: usize, b: &[f64], out: &mut [f64]) {
        match &self.storage {
            Storage::Dense(values) => vectorized(
                #[inline(always)]
                || dot_lines(b, &values[first * self.width..], self.width, 0, out),
            ),
            Storage::Sparse(_) => {
                out.iter_mut().zip(first..).for_each(|(out, row)| *out = self.dot(row, b));
            }
        }
    }

    /// Makes a point b and a block of vectors, stored feature by feature
    /// (`block[p * columns + c]`), ready for products with these rows. What sparse rows share is
    /// added up here, once.
    pub fn prepare<'a>(
        &self,
        point: &'a [f64],
        block: &'a [f64],
        sharing: Sharing,
        table: &'a mut LineTable,
    ) -> Prepared<'a> {
        if let Storage::Sparse(rows) = &self.storage {
            rows.prepare(point, block, sharing, table);
        }
        Prepared { point, block, table }
    }

    /// `fitted = X b`, and `products = X block` (`products[row * columns + c]`, and more behind
    /// it), for as many rows from `first` on as `fitted` has room for.
    ///
    /// This is the one product of an inner step. Directions lie next to each other so that dense
    /// and sparse rows, the losses and the regularisers all run along contiguous memory.
    pub fn project(
        &self,
        first: usize,
        prepared: &Prepared<'_>,
        fitted: &mut [f64],
        products: &mut Vec<f64>,
    ) {
        match &self.storage {
            Storage::Dense(values) => {
                self.times(first, prepared.point, fitted);
                let (count, columns) = (fitted.len(), prepared.block.len() / self.width);
                products.resize(count * columns, 0.0);
                matmul(
                    MatMut::from_row_major_slice_mut(products, count, columns),
                    Accum::Replace,
                    MatRef::from_row_major_slice(
                        &values[first * self.width..][..count * self.width],
                        count,
                        self.width,
                    ),
                    MatRef::from_row_major_slice(prepared.block, self.width, columns),
                    1.0,
                    // Agents and tiles of rows run in parallel; a product inside one of them stays
                    // on its core.
                    Par::Seq,
                );
            }
            Storage::Sparse(rows) => rows.project(first, prepared.table, fitted, products),
        }
    }

    /// The rows with these numbers, in this order.
    pub fn select(&self, rows: &[usize]) -> Self {
        let storage = match &self.storage {
            Storage::Dense(values) => Storage::Dense(
                rows.iter()
                    .flat_map(|&row| &values[row * self.width..][..self.width])
                    .copied()
                    .collect(),
            ),
            Storage::Sparse(sparse) => Storage::Sparse(sparse.select(rows)),
        };
        Self { count: rows.len(), storage, ..*self }
    }

    /// These rows, stored dense. For tests and small problems: a9a must never be densified.
    pub fn to_dense(&self) -> Self {
        let mut values = vec![0.0; self.count * self.width];
        for row in 0..self.count {
            self.visit(row, |column, value| values[row * self.width + column] += value);
        }
        Self { storage: Storage::Dense(values), ..*self }
    }

    /// These rows, stored sparse.
    pub fn to_sparse(&self) -> Self {
        let rows = (0..self.count).map(|row| {
            let mut entries = Vec::new();
            self.visit(row, |column, value| {
                if value != 0.0 {
                    entries.push((column, value));
                }
            });
            entries
        });
        let sparse = Self::sparse(self.width, rows).expect("the entries come from valid rows");
        Self { norm_bound: self.norm_bound, ..sparse }
    }

    /// Adds a constant column of ones at the end: before the rows are put into the unit ball, or
    /// c1 grows by sqrt 2.
    pub fn with_constant_column(&self) -> Self {
        let width = self.width + 1;
        let storage = match &self.storage {
            Storage::Dense(values) => Storage::Dense(
                values
                    .chunks_exact(self.width)
                    .flat_map(|row| row.iter().copied().chain([1.0]))
                    .collect(),
            ),
            Storage::Sparse(rows) => Storage::Sparse(rows.with_column(self.width as u32, 1.0)),
        };
        // A row of norm r and the constant have norm sqrt(r^2 + 1).
        let norm_bound = self.norm_bound.map(|bound| bound.hypot(1.0));
        Self { count: self.count, width, norm_bound, storage }
    }

    /// Divides every row by `max(1, ||row||)`.
    pub fn into_unit_ball(self) -> Self {
        self.within(1.0)
    }

    /// Divides every row by `max(1, ||row||/bound)`, so that none is longer than the bound.
    pub fn within(mut self, bound: f64) -> Self {
        for row in 0..self.count {
            let excess = self.norm(row) / bound;
            if excess > 1.0 {
                self.divide(row, false, excess);
            }
        }
        self.norm_bound = Some(self.norm_bound.unwrap_or(bound).min(bound));
        self
    }

    /// Divides all rows by one public number, and then cuts features that are longer than 1 to that
    /// length. Where the last column is a constant, it is divided as well and never cut: it stays
    /// constant. Says how many rows were cut, which only their owner may know.
    ///
    /// With a constant of 1 the bound on a row is `sqrt(1 + 1/row_norm^2)`, without one it is 1.
    ///
    /// ```
    /// let rows = dzoa::problem::Rows::dense(3, vec![0.5, 0.0, 1.0, 3.0, 4.0, 1.0])?;
    /// let (rows, cut) = rows.over_row_norm(2.0, true);
    /// assert_eq!((rows.dot(0, &[1.0, 1.0, 0.0]), cut), (0.25, 1));
    /// // (3, 4)/2 has the norm 5/2; the constant is 1/2 in both rows.
    /// assert_eq!(rows.dot(1, &[1.0, 0.0, 0.0]), 0.6);
    /// assert_eq!((rows.dot(0, &[0.0, 0.0, 1.0]), rows.dot(1, &[0.0, 0.0, 1.0])), (0.5, 0.5));
    /// assert!(rows.norm_bound().unwrap() >= 1.25_f64.sqrt());
    /// # Ok::<(), dzoa::problem::DataError>(())
    /// ```
    pub fn over_row_norm(mut self, row_norm: f64, has_constant: bool) -> (Self, usize) {
        let features = self.width - usize::from(has_constant);
        let mut cut = 0;
        for row in 0..self.count {
            self.divide(row, false, row_norm);
            let mut entries = Vec::new();
            self.visit(row, |column, value| {
                if column < features {
                    entries.push(value);
                }
            });
            let length = length(entries.iter().copied());
            if length > 1.0 {
                self.divide(row, has_constant, length);
                cut += 1;
            }
        }
        // Upwards: a sensitivity rests on it.
        self.norm_bound = Some(match has_constant {
            true => 1.0_f64.hypot(1.0 / row_norm).next_up(),
            false => 1.0,
        });
        (self, cut)
    }

    /// Divides the entries of one row, but for the constant in the last column.
    fn divide(&mut self, row: usize, but_constant: bool, by: f64) {
        let last = self.width - 1;
        let values = match &mut self.storage {
            Storage::Dense(values) => {
                let width = if but_constant { last } else { self.width };
                &mut values[row * self.width..][..width]
            }
            Storage::Sparse(rows) => {
                // Columns increase, and a row without a target has no constant.
                let ends = but_constant && rows.row(row).any(|(column, _)| column as usize == last);
                let values = rows.values_mut(row);
                let stored = values.len() - usize::from(ends);
                &mut values[..stored]
            }
        };
        values.iter_mut().for_each(|value| *value /= by);
    }
}

/// The length of a row whose numbers are uniform between -1 and 1, whose 0/1 entries are 1, and
/// whose constant, if it has one, is 1: the public rule for what rows are divided by.
///
/// ```
/// assert_eq!(dzoa::problem::typical_row_norm(3, 2, true), 2.0);
/// ```
pub fn typical_row_norm(numbers: usize, flags: usize, has_constant: bool) -> f64 {
    (numbers as f64 / 3.0 + flags as f64 + f64::from(u8::from(has_constant))).sqrt()
}

/// The Euclidean norm, also where the sum of squares is no number any more.
fn length(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let square: f64 = values.clone().map(|value| value * value).sum();
    if square.is_normal() {
        return square.sqrt();
    }
    let largest = values.clone().map(f64::abs).fold(0.0, f64::max);
    if largest == 0.0 {
        return 0.0;
    }
    largest * values.map(|value| (value / largest).powi(2)).sum::<f64>().sqrt()
}

/// One agent's private data set `D_k = (X_k, y_k)`.
#[derive(Clone, PartialEq)]
#[doc(alias = "D_k")]
pub struct Samples {
    /// `X_k`.
    pub rows: Rows,
    /// `y_k`.
    pub targets: Vec<f64>,
}

impl Samples {
    /// Rows with one finite target each.
    pub fn new(rows: Rows, targets: Vec<f64>) -> Result<Self, DataError> {
        if targets.len() != rows.count() {
            return Err(DataError::Targets { targets: targets.len(), rows: rows.count() });
        }
        if let Some(row) = targets.iter().position(|y| !y.is_finite()) {
            return Err(DataError::NonFinite { row });
        }
        Ok(Self { rows, targets })
    }

    /// `N_k`.
    pub fn count(&self) -> usize {
        self.targets.len()
    }

    /// Takes every row and target into a hash. Zeros are not stored in sparse rows: the same rows
    /// have the same digest, however they are stored.
    pub fn digest_into(&self, hasher: &mut blake3::Hasher) {
        let mut row: Vec<u8> = Vec::new();
        for (i, target) in self.targets.iter().enumerate() {
            row.clear();
            self.rows.visit(i, |column, value| {
                if value != 0.0 {
                    row.extend((column as u64).to_le_bytes());
                    row.extend(value.to_le_bytes());
                }
            });
            row.extend(b"y");
            row.extend(target.to_le_bytes());
            hasher.update(&row);
        }
    }

    /// The samples with these numbers, in this order.
    pub fn select(&self, rows: &[usize]) -> Self {
        Self {
            rows: self.rows.select(rows),
            targets: rows.iter().map(|&row| self.targets[row]).collect(),
        }
    }
}
