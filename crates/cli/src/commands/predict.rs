//! `dzoa predict` and `dzoa evaluate`

use crate::args::{ModelArgs, PredictArgs};
use crate::terminal;
use dzoa::problem::loss::{LOSSES, Loss};
use dzoa::registry::Registry;
use dzoa::run::evaluate::Fit;
use dzoa_report::Model;
use dzoa_table::{Loaded, Request, Result, Schema, SiteFile, Task, load, predictions_csv};
use serde::Serialize;
use std::fmt::Write;
use std::sync::Arc;

struct Fitted {
    schema: Schema,
    loss: Arc<dyn Loss>,
    loaded: Loaded,
    /// x'b of every row.
    scores: Vec<f64>,
}

fn fitted(args: &ModelArgs, ids: &[String], task: Task) -> Result<Fitted> {
    let model = Model::read(&args.model)?;
    let schema = model.schema(&args.model)?;
    let loss = model.loss(&args.model, &Registry::new(LOSSES))?;
    let site = SiteFile::given(&args.file)?;
    let request = Request {
        schema: &schema,
        targets: loss.targets(),
        intercept: model.intercept,
        label_column: None,
        task,
        reading: &site.reading.with_ids(ids),
    };
    let loaded = load(&site.file, &request)?;
    for note in loaded.counts.note().into_iter().chain(loaded.extra_note()) {
        eprintln!("{}: {note}", site.file.display());
    }
    let (rows, weights) = (&loaded.samples.rows, model.weights());
    let scores = (0..rows.count()).map(|i| rows.dot(i, &weights)).collect();
    Ok(Fitted { schema, loss, loaded, scores })
}

/// One line for every row of the file.
pub fn predict(args: &PredictArgs) -> Result<()> {
    let Fitted { schema, loss, loaded, scores } = fitted(&args.model, &args.ids, Task::Predict)?;
    terminal::print(&predictions_csv(&*loss, &schema, &loaded, &scores))
}

#[derive(Serialize)]
struct Evaluation {
    rows: usize,
    /// Mean over the rows.
    loss: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    accuracy: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    r2: Option<f64>,
}

/// Mean loss, and accuracy or R2.
pub fn evaluate(args: &ModelArgs, json: bool) -> Result<()> {
    let Fitted { loss, loaded, scores, .. } = fitted(args, &[], Task::Evaluate)?;
    let rows = loaded.samples.count();
    let Fit { loss: average, accuracy, r2 } = Fit::new(&*loss, &scores, &loaded.samples.targets);
    let evaluation = Evaluation { rows, loss: average, accuracy, r2 };
    if json {
        return terminal::print_json(&evaluation);
    }
    let mut text = format!("rows      {rows}\nloss      {average:.6} (mean {})\n", loss.name());
    if let Some(accuracy) = accuracy {
        let _ = writeln!(text, "accuracy  {accuracy:.4}");
    }
    if let Some(r2) = r2 {
        let _ = writeln!(text, "R2        {r2:.4}");
    }
    terminal::print(&text)
}
