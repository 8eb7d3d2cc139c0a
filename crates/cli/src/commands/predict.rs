//! `dzoa predict` and `dzoa evaluate`

use crate::args::ModelArgs;
use crate::terminal;
use dzoa::problem::data::Samples;
use dzoa::problem::loss::{Loss, Targets};
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
    let loss = model.loss(&args.model)?;
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
    let mut csv = String::from(match (loss.targets(), loss.name()) {
        (Targets::Real, _) => "row,prediction\n",
        (Targets::Signs, "logistic") => "row,prediction,score,probability\n",
        (Targets::Signs, _) => "row,prediction,score\n",
    });
    for (row, score) in scores.iter().enumerate() {
        let label = if *score > 0.0 { 1 } else { -1 };
        let _ = match (loss.targets(), loss.name()) {
            (Targets::Real, _) => writeln!(csv, "{},{score}", row + 1),
            (Targets::Signs, "logistic") => {
                writeln!(csv, "{},{label},{score},{}", row + 1, 1.0 / (1.0 + (-score).exp()))
            }
            (Targets::Signs, _) => writeln!(csv, "{},{label},{score}", row + 1),
        };
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
    let pairs = || scores.iter().zip(&samples.targets);
    let average = pairs().map(|(z, y)| loss.value(*z, *y)).sum::<f64>() / rows as f64;
    let (accuracy, r2) = match loss.targets() {
        Targets::Signs => {
            // A score of zero predicts -1, as `predict` prints it.
            let right = pairs().filter(|(z, y)| (**z > 0.0) == (**y > 0.0)).count();
            (Some(right as f64 / rows as f64), None)
        }
        Targets::Real => {
            let centre = samples.targets.iter().sum::<f64>() / rows as f64;
            let total: f64 = samples.targets.iter().map(|y| (y - centre).powi(2)).sum();
            let rest: f64 = pairs().map(|(z, y)| (z - y).powi(2)).sum();
            (None, (total > 0.0).then(|| 1.0 - rest / total))
        }
    };
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
