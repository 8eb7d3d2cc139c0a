//! Drops or keeps, encodes, clips and counts: from records of text to rows of features.

use super::decimal::Decimals;
use super::layout::Layout;
use super::recode::Recodes;
use super::{Cell, Counts, InputRow, Loaded, Request, Spot, Task};
use crate::error::{Error, Result, shown};
use crate::schema::{Coding, Fault, Kind, TargetColumn};
use dzoa::problem::loss::Targets;
use dzoa::problem::{Rows, Samples};
use std::borrow::Cow;

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
    /// Rows of the negative and of the positive class.
    classes: [usize; 2],
    decimals: Decimals,
    recodes: Recodes<'a>,
    id_names: Vec<String>,
    extra: Vec<String>,
    /// Every row of the file, where predictions are asked for.
    inputs: Vec<InputRow>,
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
            classes: [0; 2],
            decimals: Decimals::new(request.reading.decimal, b','),
            recodes: Recodes::new(request),
            id_names: Vec::new(),
            extra: Vec::new(),
            inputs: Vec::new(),
        }
    }

    /// What parts the fields of the file, so that no number holds it.
    pub fn set_delimiter(&mut self, delimiter: u8) {
        self.decimals = Decimals::new(self.request.reading.decimal, delimiter);
    }

    /// Takes note of the columns that are carried along, and of those that are not.
    pub fn begin(&mut self, layout: &Layout) {
        self.id_names = layout.ids.iter().map(|(name, _)| name.clone()).collect();
        self.extra = layout.extra.clone();
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
    ) -> Result<()>
    where
        'a: 'r,
    {
        let schema = self.request.schema;
        let target = target.or_else(|| layout.target.map(|at| Cell { spot, text: field(at) }));
        let target = target.map(|cell| self.recoded(cell));
        // Which agent has a row is public, but a row without an agent has nowhere to go.
        let lacks = |at: usize| field(at).is_none_or(|text| schema.is_missing(text));
        if layout.label.is_some_and(lacks) {
            self.drop_row();
            return Ok(());
        }
        let label = layout.label.and_then(&field).map(str::to_string);
        let recorded = |this: &Self, column: usize, at: usize| -> Option<&'r str> {
            let text = this.recodes.feature(column, &schema.columns[column], field(at)?);
            (!schema.is_missing(text)).then_some(text)
        };
        let mut columns = layout.columns.iter().enumerate();
        let absent =
            columns.find(|(column, at)| at.is_some_and(|at| recorded(self, *column, at).is_none()));
        let absent = absent.map(|(column, _)| schema.columns[column].name.as_str());
        if self.request.task == Task::Predict {
            let ids = layout.ids.iter().map(|(_, at)| field(*at).unwrap_or_default().into());
            self.inputs.push(InputRow { ids: ids.collect(), row: Err(String::new()) });
        }
        match self.fate(target, absent.is_some()) {
            Fate::Drop => self.unpredicted(absent),
            Fate::Blank => self.blank_row(label),
            Fate::Encode => {
                let outcome = self
                    .features(spot, layout, recorded)
                    .and_then(|()| self.end_row(target, label));
                self.judge(spot, outcome)?;
            }
        }
        Ok(())
    }

    /// A target in the words of the schema.
    pub fn recoded<'r>(&self, cell: Cell<'r>) -> Cell<'r>
    where
        'a: 'r,
    {
        let target = &self.request.schema.target;
        Cell { text: cell.text.map(|text| self.recodes.target(target, text)), ..cell }
    }

    /// Leaves out a row that lacks a value, with the reason where predictions are asked for.
    pub fn unpredicted(&mut self, absent: Option<&str>) {
        if let (Some(input), Some(column)) = (self.inputs.last_mut(), absent) {
            input.row = Err(format!("column {} is missing", shown(column)));
        }
        self.drop_row();
    }

    /// What is wrong with a row ends a fit, and is the reason why it has no prediction.
    pub fn judge(&mut self, spot: Spot<'_>, outcome: Result<()>) -> Result<()> {
        if self.request.task != Task::Predict {
            return outcome;
        }
        let kept = self.targets.len();
        let Some(input) = self.inputs.last_mut() else { return outcome };
        match outcome {
            Ok(()) => input.row = Ok(kept - 1),
            Err(error) => {
                let place = format!("{spot}: ");
                let message = error.message();
                input.row = Err(message.strip_prefix(&place).unwrap_or(message).to_string());
                self.counts.unreadable += 1;
                self.counts.read += 1;
            }
        }
        Ok(())
    }

    /// Makes room for one row of a file without columns that name it.
    pub fn begin_input(&mut self) {
        if self.request.task == Task::Predict {
            self.inputs.push(InputRow { ids: Vec::new(), row: Err(String::new()) });
        }
    }

    /// Encodes the features of one record; where nothing is recorded the schema says what they are.
    fn features<'r>(
        &mut self,
        spot: Spot<'r>,
        layout: &Layout,
        recorded: impl Fn(&Self, usize, usize) -> Option<&'r str>,
    ) -> Result<()> {
        self.begin_row();
        let mut first = 0;
        let columns = self.request.schema.columns.iter().zip(&layout.columns);
        for (number, (column, at)) in columns.enumerate() {
            let Some(at) = *at else { continue };
            if let Some(text) = recorded(self, number, at) {
                let place = || format!("{spot}: column {}", shown(&column.name));
                let text = match column.kind {
                    Kind::Numeric(_) => self.decimals.plain(text),
                    _ => Ok(Cow::Borrowed(text)),
                };
                let outcome = text.and_then(|text| column.encode(&text, first, &mut self.entries));
                let clipped = outcome.map_err(|fault| fault.at(place()))?;
                self.counts.clipped += usize::from(clipped);
            } else if self.request.task == Task::Predict && !column.knows_missing() {
                // What stands for it in a fit would be somebody's guess about this row.
                let name = shown(&column.name);
                return Err(Error::input(format!(
                    "{spot}: column {name}: missing; the model knows no row without it"
                )));
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
                let text = match (text.unwrap_or_default(), schema.target.is_number()) {
                    (text, true) => self.decimals.plain(text),
                    (text, false) => Ok(Cow::Borrowed(text)),
                };
                let outcome =
                    text.and_then(|text| schema.target.encode(&text, *targets, &mut self.coding));
                let (target, clipped) = outcome.map_err(|fault| {
                    fault.at(format!("{spot}: column {}", shown(&schema.target.name)))
                })?;
                self.counts.clipped += usize::from(clipped);
                self.classes[usize::from(target > 0.0)] += 1;
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
        self.decimals.finish(file)?;
        if targets.is_empty() && request.task != Task::Predict {
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
        let mut counts = counts;
        if let Some(norm) = request.schema.row_norm(request.intercept) {
            (rows, counts.cut) = rows.over_row_norm(norm, request.intercept);
        } else if request.schema.rows_in_unit_ball() {
            // After the constant: beside a row of norm one it would leave the unit ball.
            rows = rows.into_unit_ball();
        }
        let has_classes = request.targets == Targets::Signs && request.task.needs_target();
        Ok(Loaded {
            samples: Samples::new(rows, targets).map_err(wrong)?,
            counts,
            labels,
            classes: has_classes.then_some(self.classes),
            inputs: self.inputs,
            id_names: self.id_names,
            extra: self.extra,
        })
    }
}
