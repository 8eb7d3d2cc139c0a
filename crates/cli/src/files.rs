//! What a run leaves on disk and on the terminal.

use crate::config::RowsSpec;
use crate::trial::Trial;
use dzoa_report::{
    Model, NOT_TO_BE_SHARED, Summary, convergence_svg, join_traces, to_json, write_file,
    write_pages, write_private,
};
use dzoa_table::{Error, Result, Schema};
use std::path::{Path, PathBuf};

/// `--out`, or `runs/NAME` with a number behind it where that exists. Nothing is created yet, but
/// it could be: a run that cannot be written should not begin.
pub fn output_directory(out: Option<&Path>, name: &str) -> Result<PathBuf> {
    let dir = match out {
        Some(dir) if dir.join("summary.json").exists() || dir.is_file() => {
            return Err(Error::input(format!("--out {}: holds another run", dir.display()))
                .hint("choose another directory; a run is never overwritten"));
        }
        Some(dir) => dir.to_path_buf(),
        None => {
            let plain = Path::new("runs").join(name);
            let numbered = (2..).map(|n| Path::new("runs").join(format!("{name}-{n}")));
            std::iter::once(plain)
                .chain(numbered)
                .find(|dir| !dir.exists())
                .expect("one of endless names is free")
        }
    };
    // A file without a name, where the directory is or would be.
    let existing = dir.ancestors().find(|dir| dir.exists()).unwrap_or(Path::new("."));
    match tempfile::tempfile_in(existing) {
        Ok(_) => Ok(dir),
        Err(error) => Err(Error::input(format!("{}: cannot be written: {error}", dir.display()))
            .hint("choose a directory that can be written with --out")),
    }
}

/// Writes everything a run leaves behind.
pub fn write_files(out: &Path, model: &Model, trials: &[Trial], summary: &Summary) -> Result<()> {
    let parts: Vec<&Path> = trials.iter().map(|trial| trial.trace.as_path()).collect();
    join_traces(parts[0], &parts[1..])?;
    write_file(out, "model.json", &to_json(model)?)?;
    if let Some(rows) = &trials[0].on_rows {
        let local = serde_json::json!({ "sharing": NOT_TO_BE_SHARED, "agents": &rows.local });
        write_private(out, "local.json", &to_json(&local)?)?;
    }
    if let Some(svg) = convergence_svg(summary) {
        write_private(out, "convergence.svg", &format!("{svg}<!-- {NOT_TO_BE_SHARED} -->\n"))?;
    }
    // From the file, as `dzoa report` makes it.
    write_pages(out, summary, &[])?;
    // Last, so that a directory with a summary is a whole run.
    write_private(out, "summary.json", &to_json(summary)?)
}

/// model.json: the coefficients in the summary, and how rows become their columns.
pub fn model(rows: Option<&RowsSpec>, summary: &Summary) -> Model {
    let model = Model::new(summary);
    match rows {
        None => model,
        Some(rows) => Model {
            intercept: rows.problem.intercept,
            schema: rows.schema.as_ref().map(Schema::to_json),
            ..model.with_loss(&*rows.problem.loss)
        },
    }
}
