//! What a run leaves on disk and on the terminal.

use crate::commands::run::Trial;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::instance::Instances;
use crate::model::{Coefficient, MODEL_FORMAT, Model};
use crate::report::Trace;
use crate::summary::{NOT_TO_BE_SHARED, Summary};
use crate::{plot, private_file, report, trace_file};
use dzoa::trace::mean;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// `--out`, or `runs/NAME` with a number behind it where that exists. Nothing is created yet, but it could be: a run that
/// cannot be kept should not begin.
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
pub fn write_files(
    out: &Path,
    config: &Config,
    instances: &Instances,
    trials: &[Trial],
    summary: &Summary,
) -> Result<()> {
    let parts: Vec<&Path> = trials.iter().map(|trial| trial.trace.as_path()).collect();
    let path = parts[0];
    trace_file::join(path, &parts[1..])?;
    write_file(out, "model.json", &json(&model(config, instances, summary))?)?;
    let local = serde_json::json!({
        "sharing": NOT_TO_BE_SHARED,
        "agents": &trials[0].local,
    });
    write_private(out, "local.json", &json(&local)?)?;
    if let Some(svg) = plot::convergence(summary) {
        write_private(out, "convergence.svg", &format!("{svg}<!-- {NOT_TO_BE_SHARED} -->\n"))?;
    }
    // From the file, as `dzoa report` makes it.
    let trace = Trace::read(path, &summary.agent_names)?;
    write_private(out, "report.html", &report::html(summary, &trace, &[])?)?;
    // Last, so that a directory with a summary is a whole run.
    write_private(out, "summary.json", &json(summary)?)
}

/// model.json: the mean of the coefficients in the summary, and nothing that was measured on
/// private rows.
pub fn model(config: &Config, instances: &Instances, summary: &Summary) -> Model {
    let pinball = config.given.pointer("/problem/quantile").and_then(serde_json::Value::as_f64);
    let huber = config.given.pointer("/problem/huber_delta").and_then(serde_json::Value::as_f64);
    Model {
        model: MODEL_FORMAT,
        sharing: "may be shared: a function of what was exchanged".into(),
        name: config.name.clone(),
        loss: config.problem.loss.name().into(),
        huber_delta: huber,
        quantile: pinball,
        intercept: config.problem.intercept,
        coefficients: instances
            .columns
            .iter()
            .zip(mean(&summary.coefficients))
            .map(|(name, value)| Coefficient { name: name.clone(), value })
            .collect(),
        schema: config.schema.as_ref().map(crate::schema::Schema::to_json),
        privacy: summary.public().privacy_statement(),
    }
}

/// Writes one file into a directory that is made if need be.
pub fn write_file(out: &Path, name: &str, content: impl AsRef<[u8]>) -> Result<()> {
    let path = out.join(name);
    std::fs::create_dir_all(out)
        .and_then(|()| std::fs::write(&path, content))
        .map_err(|error| Error::run(format!("{}: cannot be written: {error}", path.display())))
}

/// Writes a file that stays with who holds the rows.
pub fn write_private(out: &Path, name: &str, content: &str) -> Result<()> {
    let path = out.join(name);
    std::fs::create_dir_all(out)
        .and_then(|()| private_file::write(&path, content.as_bytes()))
        .map_err(|error| Error::run(format!("{}: cannot be written: {error}", path.display())))
}

/// A file's text.
pub fn json(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string_pretty(value)
        .map(|text| text + "\n")
        .map_err(|error| Error::run(format!("the result cannot be written as JSON: {error}")))
}

/// A number as a CSV field: empty where there is none.
pub fn csv_number(value: Option<f64>) -> String {
    value.filter(|value| value.is_finite()).map(|value| value.to_string()).unwrap_or_default()
}

/// A name as a CSV field.
pub fn csv_field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.into()
    }
}

/// The summary on the terminal.
pub fn describe(summary: &Summary, out: &Path) -> String {
    let mut text = String::new();
    let trials =
        if summary.trials == 1 { "1 trial".into() } else { format!("{} trials", summary.trials) };
    let seeded = if summary.seeded { ", seeded: for tests" } else { "" };
    let _ = writeln!(
        text,
        "{}: {} on {}, {} agents, {} columns, {} rounds, {trials}{seeded}\n",
        summary.name,
        summary.algorithm,
        summary.loss,
        summary.agents,
        summary.features,
        summary.rounds_done
    );
    for (label, value) in report::facts(summary) {
        let _ = writeln!(text, "  {label:<28}{value}");
    }
    if summary.final_error.is_some_and(|error| error > summary.agents as f64) {
        text.push_str(
            "\n  The agents ended farther from the optimum than zero is: the steps are too long (raise\n  \
             algorithm.lipschitz, or lower algorithm.step), or the noise is too much for so few rows.\n",
        );
    }
    let _ = writeln!(text, "\n  privacy: {}", summary.privacy_statement());
    if summary.privacy.first().is_some_and(|entry| entry.c1_holds == Some(false)) {
        let _ = writeln!(
            text,
            "  Lemma 3 is taken with a c1 that does not hold for the {} loss on these rows.",
            summary.loss
        );
    }
    if summary.step_raised {
        let _ = writeln!(text, "  u_2 was raised to what the objective's values can resolve.");
    }
    if summary.moved_inside > 0 {
        let _ = writeln!(
            text,
            "  {} of the releases lay outside the public ball and were moved into it.",
            summary.moved_inside
        );
    }
    let _ = writeln!(
        text,
        "\n  files in {}: report.html, summary.json, trace.csv ({NOT_TO_BE_SHARED}), model.json",
        out.display()
    );
    text
}
