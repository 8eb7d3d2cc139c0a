//! Predictions as CSV: one line for every row of a file.

use crate::load::Loaded;
use crate::schema::Schema;
use dzoa::problem::loss::{Loss, Targets};
use dzoa::run::evaluate::Prediction;
use std::fmt::Write;

/// The predictions of all rows of a file that was loaded to be predicted, with what names the rows,
/// in the words and units of the schema. A row without a prediction has the reason in the last
/// column.
pub fn predictions_csv(
    loss: &dyn Loss,
    schema: &Schema,
    loaded: &Loaded,
    scores: &[f64],
) -> String {
    let signs = loss.targets() == Targets::Signs;
    let columns = Prediction::new(loss, 0.0);
    let numbers = usize::from(columns.score.is_some()) + usize::from(columns.probability.is_some());
    let mut csv = String::from("row");
    for name in &loaded.id_names {
        // Names that stand there already are theirs.
        let taken = ["row", "prediction", "score", "probability", "reason"].contains(&&**name);
        let _ = write!(csv, ",{}", cell(&if taken { format!("{name}_id") } else { name.clone() }));
    }
    csv.push_str(",prediction");
    csv.push_str(columns.score.map_or("", |_| ",score"));
    csv.push_str(columns.probability.map_or("", |_| ",probability"));
    csv.push_str(",reason\n");
    let labels = schema.labels();
    for (number, input) in loaded.inputs.iter().enumerate() {
        let _ = write!(csv, "{}", number + 1);
        for id in &input.ids {
            let _ = write!(csv, ",{}", cell(id));
        }
        match &input.row {
            Err(reason) => {
                let _ = writeln!(csv, ",{}{}", ",".repeat(numbers + 1), cell(reason));
            }
            Ok(row) => {
                let Prediction { value, score, probability } = Prediction::new(loss, scores[*row]);
                let _ = match signs {
                    true => write!(csv, ",{}", cell(&labels[usize::from(value > 0.0)])),
                    false => write!(csv, ",{}", value * schema.target_scale()),
                };
                for number in [score, probability].into_iter().flatten() {
                    let _ = write!(csv, ",{number}");
                }
                csv.push_str(",\n");
            }
        }
    }
    csv
}

/// A field, in quotes where it needs them.
fn cell(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.into(),
    }
}
