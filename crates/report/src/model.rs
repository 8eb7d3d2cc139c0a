//! model.json: coefficients with their names, the schema they need, and the privacy statement.

use crate::summary::Summary;
use dzoa::prelude::*;
use dzoa::run::evaluate::mean;
use dzoa_table::{Error, Result, Schema, shown};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// The format of models.
pub const MODEL_FORMAT: u64 = 1;

/// The whole file.
#[derive(Debug, Serialize, Deserialize)]
pub struct Model {
    /// [`MODEL_FORMAT`].
    pub model: u64,
    /// May be shared: it is a function of what was exchanged.
    pub sharing: String,
    /// The run's name.
    pub name: String,
    /// The loss.
    pub loss: String,
    /// Parameters of the loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub huber_delta: Option<f64>,
    /// Parameters of the loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantile: Option<f64>,
    /// Whether the last coefficient belongs to a constant column.
    pub intercept: bool,
    /// Name and value, in the order of the columns: the mean over the agents.
    pub coefficients: Vec<Coefficient>,
    /// How rows become columns; absent for generated data.
    pub schema: Option<serde_json::Value>,
    /// What may be said about privacy.
    pub privacy: String,
}

/// Refuses a model of another format, by its name.
fn check_format(text: &str, shown: &str) -> Result<()> {
    let Ok(json) = serde_json::from_str::<serde_json::Value>(text) else { return Ok(()) };
    match json.get("model") {
        Some(format) if format.as_u64() == Some(MODEL_FORMAT) => Ok(()),
        Some(format) => Err(Error::input(format!(
            "{shown}: is a model of format {format}, and this version reads format {MODEL_FORMAT}"
        ))
        .hint("it was written by a newer version: update the program")),
        None if json.get("coefficients").is_some() => Err(Error::input(format!(
            "{shown}: is a model without a format, of version 0.2.3 or older"
        ))
        .hint(format!(
            "fit it again; or add \"model\": {MODEL_FORMAT} to it: \
             the other keys mean what they meant"
        ))),
        // The reader says what is missing.
        None => Ok(()),
    }
}

/// One coefficient.
#[derive(Debug, Serialize, Deserialize)]
pub struct Coefficient {
    /// The column.
    pub name: String,
    /// Its weight.
    pub value: f64,
}

impl Model {
    /// The mean of the coefficients in the summary, and nothing that was measured on private rows.
    /// It has no schema and no constant column; who knows better adds them.
    pub fn new(summary: &Summary) -> Self {
        let named = summary.columns.iter().zip(mean(&summary.coefficients));
        Self {
            model: MODEL_FORMAT,
            sharing: "may be shared: a function of what was exchanged".into(),
            name: summary.name.clone(),
            loss: summary.loss.clone(),
            huber_delta: None,
            quantile: None,
            intercept: false,
            coefficients: named
                .map(|(name, value)| Coefficient { name: name.clone(), value })
                .collect(),
            schema: None,
            privacy: summary.public().privacy_statement(),
        }
    }

    /// Reads and checks a model file.
    pub fn read(path: &Path) -> Result<Self> {
        let shown = path.display();
        let hint = "give the model.json of a run";
        let text = std::fs::read_to_string(path).map_err(|error| {
            Error::input(format!("{shown}: cannot be read: {error}")).hint(hint)
        })?;
        check_format(&text, &shown.to_string())?;
        let model: Self = serde_json::from_str(&text)
            .map_err(|error| Error::input(format!("{shown}: not a model: {error}")).hint(hint))?;
        if model.coefficients.iter().any(|c| !c.value.is_finite()) || model.coefficients.is_empty()
        {
            return Err(Error::input(format!("{shown}: has no finite coefficients")).hint(hint));
        }
        Ok(model)
    }

    /// The schema, checked against the coefficients.
    pub fn schema(&self, path: &Path) -> Result<Schema> {
        let shown = path.display().to_string();
        let Some(json) = &self.schema else {
            return Err(Error::input(format!("{shown}: has no schema"))
                .hint("it was fitted to generated data; fit one to files to predict files"));
        };
        let schema = Schema::from_json(json, &shown)?;
        let expected = schema.feature_names().len() + usize::from(self.intercept);
        if expected != self.coefficients.len() {
            return Err(Error::input(format!(
                "{shown}: has {} coefficients for {expected} columns",
                self.coefficients.len()
            )));
        }
        Ok(schema)
    }

    /// The loss it was fitted with.
    pub fn loss(&self, path: &Path) -> Result<Arc<dyn Loss>> {
        Ok(match self.loss.as_str() {
            "squared" => Arc::new(Squared),
            "absolute" => Arc::new(Absolute),
            "huber" => Arc::new(Huber { delta: self.huber_delta.unwrap_or(1.0) }),
            "pinball" => Arc::new(Pinball { quantile: self.quantile.unwrap_or(0.5) }),
            "logistic" => Arc::new(Logistic),
            "hinge" => Arc::new(Hinge),
            other => {
                return Err(Error::input(format!(
                    "{}: unknown loss {}",
                    path.display(),
                    shown(other)
                )));
            }
        })
    }

    /// The coefficients alone.
    pub fn weights(&self) -> Vec<f64> {
        self.coefficients.iter().map(|coefficient| coefficient.value).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_the_mean_of_the_agents_and_knows_its_loss() {
        let summary = Summary {
            loss: "huber".into(),
            columns: vec!["a".into(), "b".into()],
            coefficients: vec![vec![1.0, 2.0], vec![3.0, -2.0]],
            ..Summary::default()
        };
        let model = Model { huber_delta: Some(0.5), ..Model::new(&summary) };
        assert_eq!(model.weights(), [2.0, 0.0]);
        let path = Path::new("model.json");
        assert_eq!(model.loss(path).unwrap().name(), "huber");
        let error = model.schema(path).unwrap_err().to_string();
        assert!(error.starts_with("model.json: has no schema"), "{error}");
    }

    #[test]
    fn a_model_of_another_format_is_refused_by_name() {
        for (text, expected) in [
            (r#"{"model": 2}"#, "is a model of format 2"),
            (r#"{"coefficients": []}"#, "is a model without a format"),
        ] {
            let error = check_format(text, "m.json").unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        assert!(check_format(r#"{"model": 1}"#, "m.json").is_ok());
    }
}
