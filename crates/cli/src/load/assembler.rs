//! Drops, encodes, clips and counts: from records of text to rows of features.

use super::layout::Layout;
use super::{Cell, Counts, Loaded, Request, Spot};
use crate::error::{Error, Result, shown};
use crate::schema::{Coding, Fault};
use dzoa::problem::data::{Rows, Samples};

/// Turns records into encoded rows.
#[derive(Debug)]
pub struct Assembler<'a> {
    /// The path as given.
    pub file: &'a str,
    /// What to read.
    pub request: &'a Request<'a>,
    width: usize,
    /// The features of the row at hand.
    pub entries: Vec<(usize, f64)>,
    storage: Storage,
    targets: Vec<f64>,
    labels: Option<Vec<String>>,
    counts: Counts,
    coding: Option<Coding>,
}

#[derive(Debug)]
enum Storage {
    Dense(Vec<f64>),
    Sparse(Vec<Vec<(usize, f64)>>),
}

impl<'a> Assembler<'a> {
    /// Nothing read yet.
    pub fn new(file: &'a str, request: &'a Request<'a>) -> Self {
        Self {
            file,
            request,
            width: request.schema.width(),
            entries: Vec::new(),
            storage: match request.schema.is_sparse() {
                true => Storage::Sparse(Vec::new()),
                false => Storage::Dense(Vec::new()),
            },
            targets: Vec::new(),
            labels: request.label_column.map(|_| Vec::new()),
            counts: Counts::default(),
            coding: None,
        }
    }

    /// The place of a line.
    pub fn line(&self, number: usize) -> Spot<'a> {
        Spot { file: self.file, number, is_row: false }
    }

    /// Takes one record. `target` is its target if that stands in a file of its own.
    pub fn record<'r>(
        &mut self,
        spot: Spot<'r>,
        layout: &Layout,
        field: impl Fn(usize) -> Option<&'r str>,
        target: Option<Cell<'r>>,
    ) -> Result<()> {
        let schema = self.request.schema;
        let target = target.or_else(|| layout.target.map(|at| Cell { spot, text: field(at) }));
        // A row is dropped before anything in it is judged: an unknown level beside a `?` is no error.
        let is_missing = |text: Option<&str>| text.is_none_or(|text| schema.is_missing(text));
        let mut used = layout.columns.iter().flatten().chain(&layout.label);
        if target.is_some_and(|cell| is_missing(cell.text)) || used.any(|&at| is_missing(field(at)))
        {
            self.drop_row();
            return Ok(());
        }
        let mut entries = std::mem::take(&mut self.entries);
        entries.clear();
        let (mut first, mut clipped) = (0, 0);
        for (column, at) in schema.columns.iter().zip(&layout.columns) {
            if let Some(text) = at.and_then(&field) {
                let outcome = column.encode(text, first, &mut entries);
                let place = || format!("{spot}: column {}", shown(&column.name));
                clipped += usize::from(outcome.map_err(|fault| fault.at(place()))?);
            }
            first += column.width();
        }
        self.entries = entries;
        let label = layout.label.and_then(&field).map(str::to_string);
        self.row(target, clipped, label)
    }

    /// Takes a row whose features stand in `entries`.
    pub fn row(
        &mut self,
        target: Option<Cell<'_>>,
        clipped: usize,
        label: Option<String>,
    ) -> Result<()> {
        let mut clipped = clipped;
        let target = match target.filter(|_| self.request.need_target) {
            None => 0.0,
            Some(Cell { spot, text }) => {
                let schema = self.request.schema;
                let Some(text) = text.filter(|text| !schema.is_missing(text)) else {
                    self.drop_row();
                    return Ok(());
                };
                let outcome = schema.target.encode(text, self.request.targets, &mut self.coding);
                let (target, was_clipped) = outcome.map_err(|fault| {
                    fault.at(format!("{spot}: column {}", shown(&schema.target.name)))
                })?;
                clipped += usize::from(was_clipped);
                target
            }
        };
        match &mut self.storage {
            Storage::Sparse(rows) => rows.push(self.entries.clone()),
            Storage::Dense(values) => {
                let start = values.len();
                values.resize(start + self.width, 0.0);
                self.entries.iter().for_each(|&(at, value)| values[start + at] = value);
            }
        }
        self.targets.push(target);
        if let (Some(labels), Some(label)) = (&mut self.labels, label) {
            labels.push(label);
        }
        self.counts.read += 1;
        self.counts.clipped += clipped;
        Ok(())
    }

    /// Counts a row that lacks a value.
    pub fn drop_row(&mut self) {
        self.counts.read += 1;
        self.counts.dropped += 1;
    }

    /// The rows as learners want them.
    pub fn finish(self) -> Result<Loaded> {
        let Self { file, request, width, storage, targets, labels, counts, .. } = self;
        if counts.read == 0 {
            return Err(Fault::new(
                "there are no rows in it",
                "check the path, schema.skip_lines and schema.comment",
            )
            .at(file));
        }
        if targets.is_empty() {
            return Err(Fault::new(
                format!("all {} rows lack a value in a used column", counts.read),
                "give the column that is never recorded the kind \"ignore\"",
            )
            .at(file));
        }
        let wrong = |error| Error::input(format!("{file}: {error}"));
        let mut rows = match storage {
            Storage::Dense(values) => Rows::dense(width, values),
            Storage::Sparse(rows) => Rows::sparse(width, rows),
        }
        .map_err(wrong)?;
        // The constant comes first: beside a row of norm one it would leave the unit ball.
        if request.intercept {
            rows = rows.with_constant_column();
        }
        if request.schema.rows_in_unit_ball() {
            rows = rows.into_unit_ball();
        }
        Ok(Loaded { samples: Samples::new(rows, targets).map_err(wrong)?, counts, labels })
    }
}
