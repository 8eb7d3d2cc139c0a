//! `dzoa report DIR`

use crate::error::{Error, Result};
use crate::report;
use crate::summary::Summary;
use std::path::Path;

/// Writes report.html anew from summary.json.
pub fn report(dir: &Path) -> Result<()> {
    let path = dir.join("summary.json");
    let shown = path.display();
    let hint = "give the directory of a run, for example runs/paper";
    let text = std::fs::read_to_string(&path)
        .map_err(|error| Error::input(format!("{shown}: cannot be read: {error}")).hint(hint))?;
    let summary: Summary = serde_json::from_str(&text)
        .map_err(|error| Error::input(format!("{shown}: not a summary: {error}")).hint(hint))?;
    let out = dir.join("report.html");
    std::fs::write(&out, report::html(&summary)?)
        .map_err(|error| Error::run(format!("{}: {error}", out.display())))?;
    super::print(&format!("{}\n", out.display()))
}
