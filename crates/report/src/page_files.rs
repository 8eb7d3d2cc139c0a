//! The pages of a directory, written from the files that are in it.

use crate::pages::{Comparison, ComparisonRow, Trace, comparison_html, run_html, shared_html};
use crate::summary::Summary;
use crate::write::{write_file, write_private};
use dzoa_table::{Error, Result};
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};

const HINT: &str = "give the directory of a run, for example runs/paper";

/// Writes report.html for the holder of the rows and report.shared.html for everybody else, from a
/// summary and the trace.csv beside it.
pub fn write_pages(dir: &Path, summary: &Summary, rows: &[ComparisonRow]) -> Result<()> {
    let trace = Trace::read(&dir.join("trace.csv"), &summary.agent_names)?;
    write_private(dir, "report.html", &run_html(summary, &trace, rows)?)?;
    write_file(dir, "report.shared.html", shared_html(summary, &trace)?)
}

/// Writes the pages of a directory anew: from summary.json and trace.csv of a run, with the rows of
/// a comparison.json beside them, or from a comparison.json alone. Where they are.
pub fn rewrite_pages(dir: &Path) -> Result<Vec<PathBuf>> {
    let comparison = dir.join("comparison.json");
    let comparison: Option<Comparison> = match comparison.exists() {
        true => Some(parse(&comparison, "a comparison")?),
        false => None,
    };
    match comparison {
        Some(all) if !dir.join("summary.json").exists() => {
            write_private(dir, "report.html", &comparison_html(&all)?)?;
            Ok(vec![dir.join("report.html")])
        }
        comparison => {
            let summary: Summary = parse(&dir.join("summary.json"), "a summary")?;
            write_pages(dir, &summary, &comparison.map(|all| all.rows).unwrap_or_default())?;
            Ok(vec![dir.join("report.html"), dir.join("report.shared.html")])
        }
    }
}

fn parse<T: DeserializeOwned>(path: &Path, what: &str) -> Result<T> {
    let shown = path.display();
    let bytes = std::fs::read(path)
        .map_err(|error| Error::input(format!("{shown}: cannot be read: {error}")).hint(HINT))?;
    serde_json::from_slice(&bytes)
        .map_err(|error| Error::input(format!("{shown}: not {what}: {error}")).hint(HINT))
}
