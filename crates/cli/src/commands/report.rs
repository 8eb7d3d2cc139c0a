//! `dzoa report DIR`

use crate::terminal;
use dzoa_report::{Comparison, Summary, Trace, comparison_html, replace_private, run_html};
use dzoa_table::{Error, Result};
use serde::de::DeserializeOwned;
use std::path::Path;

/// Writes report.html anew: from summary.json and trace.csv of a run, with the rows of a
/// comparison.json beside them, or from a comparison.json alone.
pub fn report(dir: &Path) -> Result<()> {
    let comparison = dir.join("comparison.json");
    let comparison: Option<Comparison> = match comparison.exists() {
        true => Some(parse(&comparison, "a comparison")?),
        false => None,
    };
    let page = match comparison {
        Some(all) if !dir.join("summary.json").exists() => comparison_html(&all)?,
        comparison => {
            let summary: Summary = parse(&dir.join("summary.json"), "a summary")?;
            let trace = Trace::read(&dir.join("trace.csv"), &summary.agent_names)?;
            let rows = comparison.map(|comparison| comparison.rows).unwrap_or_default();
            run_html(&summary, &trace, &rows)?
        }
    };
    let out = dir.join("report.html");
    replace_private(&out, page.as_bytes())
        .map_err(|error| Error::run(format!("{}: {error}", out.display())))?;
    terminal::print(&format!("{}\n", out.display()))
}

const HINT: &str = "give the directory of a run, for example runs/paper";

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|error| {
        Error::input(format!("{}: cannot be read: {error}", path.display())).hint(HINT)
    })
}

fn parse<T: DeserializeOwned>(path: &Path, what: &str) -> Result<T> {
    serde_json::from_slice(&read(path)?).map_err(|error| {
        Error::input(format!("{}: not {what}: {error}", path.display())).hint(HINT)
    })
}
