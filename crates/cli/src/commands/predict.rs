//! `dzoa predict` and `dzoa evaluate`

use crate::args::{ModelArgs, PredictArgs};
use crate::terminal;
use dzoa::problem::loss::{LOSSES, Loss};
use dzoa::registry::Registry;
use dzoa::run::evaluate::Fit;
use dzoa_report::{Model, describe_fit};
use dzoa_table::{Loaded, Request, Result, Schema, SiteFile, Task, load, predictions_csv};
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

/// How well the model fits the rows of a file.
pub fn evaluate(args: &ModelArgs, json: bool) -> Result<()> {
    let Fitted { schema, loss, loaded, scores } = fitted(args, &[], Task::Evaluate)?;
    let fit = Fit::new(&*loss, &scores, &loaded.samples.targets, schema.target_scale());
    if json { terminal::print_json(&fit) } else { terminal::print_words(&describe_fit(&fit)) }
}
