//! Sparse rows, and the sums of entries that many of them share.
//!
//! Rows made of categories hold the same entries again and again. Where two entries stand side by
//! side in many rows, their sum becomes a line of its own, computed once a step; pairs of such
//! lines become lines in turn (grammar compression, after Larsson and Moffat's Re-Pair, 1999). Of
//! a9a's entries that leaves less than a third.

use super::data_error::DataError;
use crate::kernels::{Aligned, LANES, vectorized};
use std::sync::OnceLock;

/// Compressed sparse rows.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sparse {
    entries: Entries,
    /// These rows as sums of fewer lines, where there are such.
    shared: Derived<Option<Shared>>,
}

/// Lines and their weights, row by row: what is added up. The line of an entry is its column.
#[derive(Clone, Debug, PartialEq)]
struct Entries {
    starts: Vec<usize>,
    lines: Vec<u32>,
    weights: Vec<f64>,
}

impl Entries {
    fn none() -> Self {
        Self { starts: vec![0], lines: Vec::new(), weights: Vec::new() }
    }

    fn push_row(&mut self, row: impl IntoIterator<Item = (u32, f64)>) {
        for (line, weight) in row {
            self.lines.push(line);
            self.weights.push(weight);
        }
        self.starts.push(self.lines.len());
    }

    fn count(&self) -> usize {
        self.starts.len() - 1
    }

    #[inline(always)]
    fn row(&self, row: usize) -> impl Iterator<Item = (u32, f64)> + Clone {
        let range = self.starts[row]..self.starts[row + 1];
        self.lines[range.clone()].iter().copied().zip(self.weights[range].iter().copied())
    }
}

/// What follows from the rest, made when it is first wanted: nothing differs by it.
#[derive(Clone, Debug)]
struct Derived<T>(OnceLock<T>);

impl<T> Default for Derived<T> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

impl<T> PartialEq for Derived<T> {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

/// What rows may have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Sums of entries, each computed once. How a row's products are rounded then depends on other
    /// rows, too.
    Sums,
    /// Nothing: to the last bit, a row's products depend on this row only, as the sensitivity of
    /// `scalar` assumes.
    Nothing,
}

/// The lines of one step, each as long as a block is wide and one more: of every column the
/// directions and the coefficient, then of every shared pair their sum.
#[derive(Clone, Debug, Default)]
pub struct LineTable {
    values: Aligned,
    /// The width of the block.
    columns: usize,
    /// The length of a line.
    stride: usize,
    shared: bool,
}

impl Sparse {
    /// Rows of (column, value), with columns below `width`.
    pub fn new(
        width: usize,
        rows: impl IntoIterator<Item = Vec<(usize, f64)>>,
    ) -> Result<Self, DataError> {
        let mut entries = Entries::none();
        for (row, mut list) in rows.into_iter().enumerate() {
            list.sort_by_key(|&(column, _)| column);
            let outside = |column: usize| column >= width || u32::try_from(column).is_err();
            if let Some(&(column, _)) = list.iter().find(|&&(column, _)| outside(column)) {
                return Err(DataError::OutOfRange { row, column, width });
            }
            if list.iter().any(|(_, value)| !value.is_finite()) {
                return Err(DataError::NonFinite { row });
            }
            entries.push_row(list.into_iter().map(|(column, value)| (column as u32, value)));
        }
        Ok(Self::from(entries))
    }

    fn from(entries: Entries) -> Self {
        Self { entries, shared: Derived::default() }
    }

    /// Number of rows.
    pub fn count(&self) -> usize {
        self.entries.count()
    }

    /// Number of entries.
    pub fn stored(&self) -> usize {
        self.entries.lines.len()
    }

    /// The entries of one row: column and value.
    #[inline(always)]
    pub fn row(&self, row: usize) -> impl Iterator<Item = (u32, f64)> + Clone {
        self.entries.row(row)
    }

    /// The rows with these numbers, in this order.
    pub fn select(&self, rows: &[usize]) -> Self {
        let mut entries = Entries::none();
        rows.iter().for_each(|&row| entries.push_row(self.row(row)));
        Self::from(entries)
    }

    /// Adds one entry at the end of every row.
    pub fn with_column(&self, column: u32, value: f64) -> Self {
        let mut entries = Entries::none();
        (0..self.count()).for_each(|row| entries.push_row(self.row(row).chain([(column, value)])));
        Self::from(entries)
    }

    /// Changes the values of one row.
    pub fn values_mut(&mut self, row: usize) -> &mut [f64] {
        self.shared = Derived::default();
        let Entries { starts, weights, .. } = &mut self.entries;
        &mut weights[starts[row]..starts[row + 1]]
    }

    /// Fills the table for a point and a block of vectors, feature by feature.
    pub fn prepare(&self, point: &[f64], block: &[f64], sharing: Sharing, table: &mut LineTable) {
        let (width, columns) = (point.len(), block.len() / point.len());
        let shared = match sharing {
            Sharing::Sums => {
                self.shared.0.get_or_init(|| Shared::of(&self.entries, width)).as_ref()
            }
            Sharing::Nothing => None,
        };
        let pairs = shared.map_or(&[][..], |shared| &shared.pairs);
        let stride = (columns + 1).next_multiple_of(LANES);
        (table.columns, table.stride, table.shared) = (columns, stride, shared.is_some());
        table.values.resize((width + pairs.len()) * stride);
        let values = table.values.slice_mut();
        for (p, line) in values.chunks_exact_mut(stride).take(width).enumerate() {
            line[..columns].copy_from_slice(&block[p * columns..][..columns]);
            line[columns] = point[p];
            line[columns + 1..].fill(0.0);
        }
        vectorized(
            #[inline(always)]
            || {
                for (i, pair) in pairs.iter().enumerate() {
                    let (before, line) = values.split_at_mut((width + i) * stride);
                    add_lines(pair.iter().copied(), before, stride, &mut line[..stride]);
                }
            },
        );
    }

    /// `fitted = X point` and `products = X block` of the prepared table, for as many rows from
    /// `first` on as `fitted` has room for.
    pub fn project(
        &self,
        first: usize,
        table: &LineTable,
        fitted: &mut [f64],
        products: &mut Vec<f64>,
    ) {
        let LineTable { columns, stride, shared, ref values } = *table;
        let shared = self.shared.0.get().and_then(Option::as_ref).filter(|_| shared);
        let entries = shared.map_or(&self.entries, |shared| &shared.entries);
        let lines = values.slice();
        // A line is longer than what is wanted of it: the next row then writes over the rest.
        products.resize(fitted.len() * columns + stride, 0.0);
        vectorized(
            #[inline(always)]
            || {
                for (i, fitted) in fitted.iter_mut().enumerate() {
                    let out = &mut products[i * columns..][..stride];
                    add_lines(entries.row(first + i), lines, stride, out);
                    *fitted = out[columns];
                }
            },
        );
    }
}

/// A weighted sum of lines.
#[inline(always)]
fn add_lines(
    row: impl Iterator<Item = (u32, f64)> + Clone,
    lines: &[f64],
    stride: usize,
    out: &mut [f64],
) {
    const WIDE: usize = 4 * LANES;
    let wide = stride - stride % WIDE;
    for from in (0..wide).step_by(WIDE) {
        add_part::<WIDE>(row.clone(), lines, stride, from, out);
    }
    for from in (wide..stride).step_by(LANES) {
        add_part::<LANES>(row.clone(), lines, stride, from, out);
    }
}

/// W places of it, which stay in registers over all entries.
#[inline(always)]
fn add_part<const W: usize>(
    row: impl Iterator<Item = (u32, f64)>,
    lines: &[f64],
    stride: usize,
    from: usize,
    out: &mut [f64],
) {
    let mut sums = [0.0f64; W];
    for (line, weight) in row {
        let line = &lines[line as usize * stride + from..][..W];
        for lane in 0..W {
            sums[lane] = weight.mul_add(line[lane], sums[lane]);
        }
    }
    out[from..from + W].copy_from_slice(&sums);
}

/// The rows as sums of fewer lines: those of the columns, and behind them one for every shared
/// pair.
#[derive(Clone, Debug)]
struct Shared {
    /// Lines and weights of each, of columns or of pairs before it.
    pairs: Vec<[(u32, f64); 2]>,
    entries: Entries,
}

/// A pair gets a line of its own if it stands in so many rows: fewer would not pay for the room
/// that it takes in the cache.
const OFTEN: usize = 16;

impl Shared {
    fn of(entries: &Entries, width: usize) -> Option<Self> {
        // A symbol is a line with a weight. At first there is one for every different entry.
        let key = |(line, weight): (u32, f64)| (line, weight.to_bits());
        let mut symbols: Vec<(u32, f64)> =
            entries.lines.iter().copied().zip(entries.weights.iter().copied()).collect();
        symbols.sort_unstable_by_key(|symbol| key(*symbol));
        symbols.dedup_by_key(|symbol| key(*symbol));
        let number = |entry| symbols.partition_point(|symbol| key(*symbol) < key(entry)) as u32;
        let mut rows: Vec<Vec<u32>> =
            (0..entries.count()).map(|row| entries.row(row).map(number).collect()).collect();
        let mut pairs = Vec::new();
        // Each turn gives new symbols to the pairs of neighbours that occur often, until none does.
        loop {
            // Overlapping pairs are all counted here, but a row can use only one of two that
            // overlap. So rows are split by these counts first, and what is really used must occur
            // often once more.
            let side_by_side = often(rows.iter().flat_map(|row| row.windows(2).map(pair)));
            let apart = rows.iter().flat_map(|row| split(row, &side_by_side));
            let chosen = often(apart.filter_map(|part| match part {
                Piece::Pair(at) => Some(side_by_side[at].pair),
                Piece::Symbol(_) => None,
            }));
            let lines = width + pairs.len() + chosen.len();
            if chosen.is_empty() || u32::try_from(lines).is_err() {
                break;
            }
            // A pair's symbol is its place behind all symbols so far.
            let known = symbols.len() as u32;
            for row in &mut rows {
                let parts = split(row, &chosen).map(|part| match part {
                    Piece::Pair(at) => known + at as u32,
                    Piece::Symbol(symbol) => symbol,
                });
                *row = parts.collect();
            }
            // Its line stands behind those of the columns and of earlier pairs: `prepare` then
            // fills lines in this order, each from lines that are there already.
            for Often { pair, .. } in chosen {
                symbols.push(((width + pairs.len()) as u32, 1.0));
                pairs.push([pair >> 32, pair & u64::from(u32::MAX)].map(|a| symbols[a as usize]));
            }
        }
        if pairs.is_empty() {
            return None;
        }
        let mut entries = Entries::none();
        for row in rows {
            entries.push_row(row.into_iter().map(|symbol| symbols[symbol as usize]));
        }
        Some(Self { pairs, entries })
    }
}

/// Two symbols as one number.
fn pair(symbols: &[u32]) -> u64 {
    u64::from(symbols[0]) << 32 | u64::from(symbols[1])
}

/// A pair that occurs often enough.
struct Often {
    pair: u64,
    times: usize,
}

/// Those among all pairs, in their order.
fn often(pairs: impl Iterator<Item = u64>) -> Vec<Often> {
    let mut pairs: Vec<u64> = pairs.collect();
    pairs.sort_unstable();
    let runs = pairs.chunk_by(|a, b| a == b);
    runs.filter(|run| run.len() >= OFTEN)
        .map(|run| Often { pair: run[0], times: run.len() })
        .collect()
}

/// A part of a row.
enum Piece {
    Symbol(u32),
    /// By its place among those that occur often.
    Pair(usize),
}

/// Takes a row apart, from its start on. Where two pairs overlap, the one that occurs more often
/// wins.
fn split<'a>(row: &'a [u32], often: &'a [Often]) -> impl Iterator<Item = Piece> + 'a {
    let place = move |from: usize| {
        let pair = pair(row.get(from..from + 2)?);
        often.binary_search_by_key(&pair, |often| often.pair).ok()
    };
    let mut from = 0;
    std::iter::from_fn(move || {
        let symbol = *row.get(from)?;
        let rival =
            |here: usize| place(from + 1).is_some_and(|next| often[next].times > often[here].times);
        let part =
            place(from).filter(|here| !rival(*here)).map_or(Piece::Symbol(symbol), Piece::Pair);
        from += if matches!(part, Piece::Pair(_)) { 2 } else { 1 };
        Some(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a line stands for, in columns.
    fn spell_out(shared: &Shared, width: usize, part: (u32, f64), out: &mut Vec<(u32, f64)>) {
        let (line, weight) = part;
        match (line as usize).checked_sub(width) {
            None => out.push((line, weight)),
            Some(pair) => {
                assert_eq!(weight, 1.0);
                shared.pairs[pair].iter().for_each(|&part| spell_out(shared, width, part, out));
            }
        }
    }

    const WIDTH: usize = 15;

    /// Rows of five categories with three levels each, some of them twice as heavy.
    fn categories() -> Sparse {
        let row = |i: usize| {
            let level = |c: usize| 3 * c + (i / 3usize.pow(c as u32) + i / 7 + c) % 3;
            let weight = if i.is_multiple_of(4) { 0.2 } else { 0.1 };
            (0..5).map(|c| (level(c), weight)).collect::<Vec<_>>()
        };
        Sparse::new(WIDTH, (0..2000).map(row)).unwrap()
    }

    /// `x'b` and the products of some rows.
    fn project(rows: &Sparse, sharing: Sharing) -> (Vec<f64>, Vec<f64>) {
        let block: Vec<f64> = (0..WIDTH * 6).map(|i| (i as f64).sin()).collect();
        let point: Vec<f64> = (0..WIDTH).map(|i| (i as f64).cos()).collect();
        let (mut table, mut products) = (LineTable::default(), Vec::new());
        rows.prepare(&point, &block, sharing, &mut table);
        let mut fitted = vec![0.0; rows.count()];
        rows.project(0, &table, &mut fitted, &mut products);
        products.truncate(6 * rows.count());
        (fitted, products)
    }

    #[test]
    fn a_row_that_shares_nothing_depends_on_itself_only() {
        let all = categories();
        let (fitted, products) = project(&all, Sharing::Nothing);
        for row in 0..all.count() {
            let alone = project(&all.select(&[row]), Sharing::Nothing);
            assert_eq!(alone, (vec![fitted[row]], products[6 * row..][..6].to_vec()));
        }
        // The other way the sums are formed in another order, and some end on another bit.
        let (_, shared) = project(&all, Sharing::Sums);
        assert_ne!(products, shared);
        assert!(products.iter().zip(&shared).all(|(a, b)| (a - b).abs() < 1e-15));
    }

    #[test]
    fn shared_sums_stand_for_the_rows_themselves() {
        let (width, sparse) = (WIDTH, categories());
        let shared = Shared::of(&sparse.entries, width).expect("much is shared");
        assert!(2 * shared.entries.lines.len() < sparse.stored());
        for i in 0..2000 {
            let mut entries = Vec::new();
            shared.entries.row(i).for_each(|part| spell_out(&shared, width, part, &mut entries));
            assert_eq!(entries, sparse.row(i).collect::<Vec<_>>(), "row {i}");
        }
    }

    #[test]
    fn rows_that_share_nothing_stay_as_they_are() {
        let rows = (0..100).map(|i| vec![(0, i as f64), (1, 1.0)]);
        assert!(Shared::of(&Sparse::new(2, rows).unwrap().entries, 2).is_none());
        assert!(Shared::of(&Sparse::new(2, [vec![], vec![]]).unwrap().entries, 2).is_none());
    }
}
