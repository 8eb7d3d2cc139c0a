//! `[problem]`, `[data]` and `[schema]`: a loss over rows.

use super::DataRead;
use dzoa::plan::DataKind;
use dzoa::problem::loss::LOSSES;
use dzoa::registry::Registry;
use dzoa_table::{DataSource, Error, ProblemSpec, Result, Schema, Section};

/// A loss over rows.
#[derive(Debug)]
pub struct RowsSpec {
    /// What is minimised.
    pub problem: ProblemSpec,
    /// Where rows come from.
    pub data: DataSource,
    /// How files are read; not needed for generated data.
    pub schema: Option<Schema>,
}

impl RowsSpec {
    pub(super) fn read(root: &Section<'_>) -> Result<DataRead<Self>> {
        let generated = root.section("data")?.node("synthetic").is_some();
        let problem =
            ProblemSpec::read(&root.section("problem")?, &Registry::new(LOSSES), !generated)?;
        let real = root.section("network")?.node("agents").is_some();
        let (data, data_root) = DataSource::read(&root.section("data")?, real)?;
        let section = root.section("schema")?;
        let schema = section.is_present().then(|| Schema::read(&section)).transpose()?;
        let spec = Self { problem, data, schema };
        let loss = Some(spec.problem.loss.clone());
        Ok(DataRead {
            spec,
            kind: DataKind::Rows,
            loss,
            columns: 0,
            smooth_penalty: true,
            root: data_root,
        })
    }

    /// Refuses files without a schema; after unknown keys, among which it may be.
    pub(super) fn check_schema(&self) -> Result<()> {
        match self.schema.is_none() && !self.is_synthetic() {
            true => Err(Error::input("`schema` is missing: files cannot be read without one")
                .hint("draft one with `dzoa schema infer FILE`, then put public bounds into it")),
            false => Ok(()),
        }
    }

    /// Whether other coefficients make the same predictions: a penalty with a curve chooses one.
    pub fn is_redundant(&self) -> bool {
        let Self { problem, schema, .. } = self;
        let curved = problem.regularizer.strong_convexity() > 0.0;
        let redundant = schema.as_ref().is_some_and(|s| s.is_redundant(problem.intercept));
        redundant && !(curved && problem.eta.given() != Some(0.0)) && !self.is_synthetic()
    }

    /// Whether all rows are drawn from the seed, so that everybody knows them.
    pub fn is_synthetic(&self) -> bool {
        matches!(self.data, DataSource::Synthetic(_))
    }
}
