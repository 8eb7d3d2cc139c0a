//! Drops or keeps, encodes, clips and counts: from records of text to rows of features.

use super::layout::Layout;
use super::{Cell, Counts, Loaded, Request, Spot, Task};
use crate::error::{Error, Result, shown};
use crate::schema::{Coding, Fault, TargetColumn};
use dzoa::problem::{Rows, Samples};

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
    /// What happened so far.
    pub counts: Counts,
    coding: Option<Coding>,
}

/// What becomes of a row, decided before anything in it is judged: an unknown level beside a `?`
/// that drops the row is no error.
#[derive(Debug, PartialEq)]
pub enum Fate {
    /// It is counted and left out.
    Drop,
    /// Its target is missing, but its place stays: it becomes a row of zeros.
    Blank,
    /// Its values become features.
    Encode,
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
            width: request.schema.width() + usize::from(request.intercept),
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
        let recorded = |at: usize| field(at).filter(|text| !schema.is_missing(text));
        let lacks = |at: &usize| recorded(*at).is_none();
        // Which agent has a row is public, but a row without an agent has nowhere to go.
        if layout.label.as_ref().is_some_and(lacks) {
            self.drop_row();
            return Ok(());
        }
        let label = layout.label.and_then(&field).map(str::to_string);
        match self.fate(target, layout.columns.iter().flatten().any(lacks)) {
            Fate::Drop => self.drop_row(),
            Fate::Blank => self.blank_row(label),
            Fate::Encode => {
                self.features(spot, layout, recorded)?;
                self.end_row(target, label)?;
            }
        }
        Ok(())
    }

    /// Encodes the features of one record; where nothing is recorded the schema says what they are.
    fn features<'r>(
        &mut self,
        spot: Spot<'r>,
        layout: &Layout,
        recorded: impl Fn(usize) -> Option<&'r str>,
    ) -> Result<()> {
        self.begin_row();
        let mut first = 0;
        for (column, at) in self.request.schema.columns.iter().zip(&layout.columns) {
            let Some(at) = *at else { continue };
            if let Some(text) = recorded(at) {
                let place = || format!("{spot}: column {}", shown(&column.name));
                let outcome = column.encode(text, first, &mut self.entries);
                let clipped = outcome.map_err(|fault| fault.at(place()))?;
                self.counts.clipped += usize::from(clipped);
            } else {
                column.encode_missing(first, &mut self.entries);
                self.counts.missing += 1;
            }
            first += column.width();
        }
        Ok(())
    }

    /// What becomes of a row with this target, and with or without all its features.
    pub fn fate(&self, target: Option<Cell<'_>>, lacks_feature: bool) -> Fate {
        let Request { schema, task, .. } = self.request;
        let is_missing = |text: Option<&str>| text.is_none_or(|text| schema.is_missing(text));
        let lacks_target = task.needs_target() && target.is_some_and(|cell| is_missing(cell.text));
        match lacks_target {
            _ if schema.drops_rows() && (lacks_target || lacks_feature) => Fate::Drop,
            // Its loss does not depend on the model, and N_k does not depend on its target.
            true if *task == Task::Fit => Fate::Blank,
            // There is nothing to compare a prediction with.
            true => Fate::Drop,
            false => Fate::Encode,
        }
    }

    /// Makes room for the features of one row in `entries`.
    pub fn begin_row(&mut self) {
        self.entries.clear();
    }

    /// Takes the row whose features stand in `entries`.
    pub fn end_row(&mut self, target: Option<Cell<'_>>, label: Option<String>) -> Result<()> {
        let Request { schema, targets, task, .. } = self.request;
        let target = match target.filter(|_| task.needs_target()) {
            None => 0.0,
            Some(Cell { spot, text }) => {
                let text = text.unwrap_or_default();
                let outcome = schema.target.encode(text, *targets, &mut self.coding);
                let (target, clipped) = outcome.map_err(|fault| {
                    fault.at(format!("{spot}: column {}", shown(&schema.target.name)))
                })?;
                self.counts.clipped += usize::from(clipped);
                target
            }
        };
        if self.request.intercept {
            self.entries.push((self.width - 1, 1.0));
        }
        self.store(target, label);
        Ok(())
    }

    /// Takes a row of zeros, without even a constant, for one whose target is missing.
    pub fn blank_row(&mut self, label: Option<String>) {
        self.entries.clear();
        self.counts.without_target += 1;
        self.store(TargetColumn::placeholder(self.request.targets), label);
    }

    fn store(&mut self, target: f64, label: Option<String>) {
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
    }

    /// Counts a row that is left out.
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
            let hint = match request.schema.drops_rows() {
                true => "give the column that is never recorded the kind \"ignore\"",
                false => "rows without a target cannot be judged, nor those without an agent split",
            };
            let problem = format!("all {} rows lack a value in a used column", counts.read);
            return Err(Fault::new(problem, hint).at(file));
        }
        let wrong = |error| Error::input(format!("{file}: {error}"));
        let mut rows = match storage {
            Storage::Dense(values) => Rows::dense(width, values),
            Storage::Sparse(rows) => Rows::sparse(width, rows),
        }
        .map_err(wrong)?;
        // After the constant: beside a row of norm one it would leave the unit ball.
        if request.schema.rows_in_unit_ball() {
            rows = rows.into_unit_ball();
        }
        Ok(Loaded { samples: Samples::new(rows, targets).map_err(wrong)?, counts, labels })
    }
}
