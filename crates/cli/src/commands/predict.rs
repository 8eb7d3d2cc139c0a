//! `dzoa predict` and `dzoa evaluate`

use crate::args::ModelArgs;
use crate::terminal;
use dzoa::problem::Samples;
use dzoa::problem::loss::{LOSSES, Loss};
use dzoa::registry::Registry;
use dzoa::run::evaluate::{Fit, Prediction};
use dzoa_report::Model;
use dzoa_table::{Request, Result, Task, load};
use serde::Serialize;
use std::fmt::Write;
use std::sync::Arc;

struct Fitted {
    loss: Arc<dyn Loss>,
    samples: Samples,
    /// x'b of every row.
    scores: Vec<f64>,
}

fn fitted(args: &ModelArgs, task: Task) -> Result<Fitted> {
    let model = Model::read(&args.model)?;
    let schema = model.schema(&args.model)?;
    let loss = model.loss(&args.model, &Registry::new(LOSSES))?;
    let request = Request {
        schema: &schema,
        targets: loss.targets(),
        intercept: model.intercept,
        label_column: None,
        task,
    };
    let loaded = load(&args.file, &request)?;
    if let Some(note) = loaded.counts.note() {
        // Predictions are numbered by the rows that are left.
        eprintln!("{}: {note}", args.file.display());
    }
    let samples = loaded.samples;
    let weights = model.weights();
    let scores = (0..samples.count()).map(|i| samples.rows.dot(i, &weights)).collect();
    Ok(Fitted { loss, samples, scores })
}

/// One line per kept row: the prediction, and for classifiers the score behind it.
pub fn predict(args: &ModelArgs) -> Result<()> {
    let Fitted { loss, scores, .. } = fitted(args, Task::Predict)?;
    let columns = Prediction::new(&*loss, 0.0);
    let mut csv = String::from("row,prediction");
    csv.push_str(columns.score.map_or("", |_| ",score"));
    csv.push_str(columns.probability.map_or("", |_| ",probability"));
    csv.push('\n');
    for (row, score) in scores.iter().enumerate() {
        let Prediction { value, score, probability } = Prediction::new(&*loss, *score);
        let _ = write!(csv, "{},{value}", row + 1);
        for number in [score, probability].into_iter().flatten() {
            let _ = write!(csv, ",{number}");
        }
        csv.push('\n');
    }
    terminal::print(&csv)
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
    let Fitted { loss, samples, scores } = fitted(args, Task::Evaluate)?;
    let rows = samples.count();
    let Fit { loss: average, accuracy, r2 } = Fit::new(&*loss, &scores, &samples.targets);
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
