//! model.json: coefficients with their names, the schema they need, and the privacy statement.

use crate::intervals::Intervals;
use crate::summary::Summary;
use crate::units::OwnUnits;
use dzoa::prelude::*;
use dzoa::problem::loss::Losses;
use dzoa::run::evaluate::mean;
use dzoa_table::{Error, Result, Schema, shown};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
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
    /// Parameters of the loss under the keys that users type; [`Model::loss`] reads those of its
    /// loss, and ignores other keys of the file.
    #[serde(flatten)]
    pub parameters: serde_json::Map<String, serde_json::Value>,
    /// Whether the last coefficient belongs to a constant column.
    pub intercept: bool,
    /// Name and value, in the order of the columns: the mean over the agents.
    pub coefficients: Vec<Coefficient>,
    /// The same in the units of the file, and a formula to score a row by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_units: Option<OwnUnits>,
    /// How sure every coefficient is, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intervals: Option<Intervals>,
    /// How rows become columns; absent for generated data.
    pub schema: Option<serde_json::Value>,
    /// Every public number of the run as it was planned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<String>,
    /// Agents whose rows are not in it from a round on, and which round that is.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub went_on_without: BTreeMap<String, u64>,
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
        .hint("fit it again; or add \"model\": 1 to it: the other keys mean what they meant")),
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
    /// It has no schema, no constant column and no parameters of the loss; who knows better adds
    /// them.
    pub fn new(summary: &Summary) -> Self {
        let named = summary.columns.iter().zip(mean(&summary.coefficients));
        Self {
            model: MODEL_FORMAT,
            sharing: "may be shared: a function of what was exchanged".into(),
            name: summary.name.clone(),
            loss: summary.loss.clone(),
            parameters: serde_json::Map::new(),
            intercept: false,
            coefficients: named
                .map(|(name, value)| Coefficient { name: name.clone(), value })
                .collect(),
            own_units: summary.own_units.clone(),
            intervals: summary.intervals.clone(),
            schema: None,
            settings: summary.settings.clone(),
            went_on_without: summary.went_on_without.clone(),
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
        let model = model.in_todays_words();
        if model.coefficients.iter().any(|c| !c.value.is_finite()) || model.coefficients.is_empty()
        {
            return Err(Error::input(format!("{shown}: has no finite coefficients")).hint(hint));
        }
        Ok(model)
    }

    /// A schema in a model says what rows are divided by. One that does not is of version 0.3.0 or
    /// older, where that was their own length.
    fn in_todays_words(mut self) -> Self {
        if let Some(serde_json::Value::Object(schema)) = &mut self.schema
            && !schema.contains_key("row_norm")
        {
            schema.entry("rows_to_unit_ball").or_insert(true.into());
        }
        self
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

    /// With the loss that it was fitted with.
    pub fn with_loss(mut self, loss: &dyn Loss) -> Self {
        self.loss = loss.name().into();
        self.parameters =
            loss.parameters().into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        self
    }

    /// The loss it was fitted with, if it is one of these.
    pub fn loss(&self, path: &Path, known: &Losses) -> Result<Arc<dyn Loss>> {
        let shown_path = path.display();
        let entry = known.entry(&self.loss).ok_or_else(|| {
            Error::input(format!("{shown_path}: unknown loss {}", shown(&self.loss)))
                .hint(format!("this version knows: {}", known.names().join(", ")))
        })?;
        // Earlier versions wrote no number where the default was taken.
        let written = |key: &str| self.parameters.get(key).filter(|value| !value.is_null());
        let number = |key: &str| written(key).and_then(serde_json::Value::as_f64);
        let mut keys = entry.parameters.iter().map(|parameter| parameter.key);
        let problem = match keys.find(|key| written(key).is_some() && number(key).is_none()) {
            Some(key) => format!("`{key}` must be a number"),
            None => match entry.from_numbers(number) {
                Ok(loss) => return Ok(loss),
                Err(error) => error.to_string(),
            },
        };
        Err(Error::input(format!("{shown_path}: {problem}")))
    }

    /// The coefficients alone.
    pub fn weights(&self) -> Vec<f64> {
        self.coefficients.iter().map(|coefficient| coefficient.value).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dzoa::problem::loss::LOSSES;
    use dzoa::registry::Registry;

    fn losses() -> Losses {
        Registry::new(LOSSES)
    }

    /// As it is after it was written and read.
    fn written(model: &Model) -> Model {
        serde_json::from_str(&serde_json::to_string(model).unwrap()).unwrap()
    }

    #[test]
    fn a_model_is_the_mean_of_the_agents_and_names_its_loss() {
        let summary = Summary {
            loss: "huber".into(),
            columns: vec!["a".into(), "b".into()],
            coefficients: vec![vec![1.0, 2.0], vec![3.0, -2.0]],
            ..Summary::default()
        };
        let model = written(&Model::new(&summary).with_loss(&Huber { delta: 0.5 }));
        assert_eq!(model.weights(), [2.0, 0.0]);
        let path = Path::new("model.json");
        let loss = model.loss(path, &losses()).unwrap();
        // delta |r| - delta^2/2
        assert_eq!((loss.name(), loss.value(3.0, 1.0)), ("huber", 0.875));
        let error = model.schema(path).unwrap_err().to_string();
        assert!(error.starts_with("model.json: has no schema"), "{error}");
    }

    #[test]
    fn every_loss_of_the_table_comes_back_from_a_model_with_its_numbers() {
        for entry in LOSSES {
            for number in [None, Some(0.25)] {
                let loss = entry.from_numbers(|_| number).unwrap();
                let model = written(&Model::new(&Summary::default()).with_loss(&*loss));
                let read = model.loss(Path::new("model.json"), &losses()).unwrap();
                assert_eq!(read.name(), entry.name);
                assert_eq!(read.parameters(), loss.parameters());
                assert_eq!(loss.parameters().len(), entry.parameters.len());
                assert_eq!(read.value(0.3, -1.0), loss.value(0.3, -1.0));
            }
        }
    }

    #[test]
    fn a_model_of_an_earlier_version_may_leave_a_parameter_out() {
        // As 0.2.3 wrote it for a config without huber_delta, and with one.
        let text = |delta: &str| {
            format!(
                r#"{{"model": 1, "sharing": "", "name": "", "loss": "huber", {delta}
                    "intercept": false, "coefficients": [{{"name": "a", "value": 1.0}}],
                    "schema": null, "privacy": "", "some later key": "x"}}"#
            )
        };
        let loss = |text: &str| {
            let model: Model = serde_json::from_str(text).unwrap();
            model.loss(Path::new("m.json"), &losses())
        };
        assert_eq!(loss(&text("")).unwrap().parameters(), [("huber_delta", 1.0)]);
        let given = loss(&text("\"huber_delta\": 2,")).unwrap();
        assert_eq!(given.parameters(), [("huber_delta", 2.0)]);
        for (delta, expected) in [
            (
                "\"huber_delta\": -1,",
                "m.json: `huber_delta` must be a finite number above 0, not -1",
            ),
            ("\"huber_delta\": \"x\",", "m.json: `huber_delta` must be a number"),
        ] {
            let error = loss(&text(delta)).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn a_model_of_an_earlier_version_divides_rows_by_their_own_length() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("model.json");
        let schema = |more: &str| {
            let text = format!(
                r#"{{"model": 1, "sharing": "", "name": "", "loss": "logistic",
                    "intercept": false, "coefficients": [{{"name": "a", "value": 1.0}}],
                    "schema": {{{more} "columns": [{{"name": "a", "kind": "numeric", "bound": 2}}],
                    "target": {{"name": "y"}}}}, "privacy": ""}}"#
            );
            std::fs::write(&path, text).unwrap();
            Model::read(&path).unwrap().schema(&path).unwrap()
        };
        let old = schema("");
        assert!(old.rows_in_unit_ball() && old.row_norm(false).is_none());
        assert!(!schema("\"rows_to_unit_ball\": false,").rows_in_unit_ball());
        let new = schema("\"row_norm\": 3.0,");
        assert_eq!((new.rows_in_unit_ball(), new.row_norm(true)), (false, Some(3.0)));
    }

    #[test]
    fn a_loss_that_nobody_knows_is_refused_by_name() {
        let summary = Summary { loss: "cubic".into(), ..Summary::default() };
        let error = Model::new(&summary).loss(Path::new("m.json"), &losses()).unwrap_err();
        assert!(error.to_string().starts_with("m.json: unknown loss `cubic`"), "{error}");
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
