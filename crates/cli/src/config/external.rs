//! `loss = "external"`: a program per agent instead of rows.

use super::DataRead;
use dzoa::plan::DataKind;
use dzoa::prelude::*;
use dzoa::problem::regularizer::REGULARIZERS;
use dzoa::problem::{Limits, Variable, Variables};
use dzoa::registry::{Options, Registry};
use dzoa_table::{Result, Section, TomlNode, Value, read_regularizer};
use std::sync::Arc;
use std::time::Duration;

/// Programs that are minimised.
#[derive(Debug)]
pub struct Programs {
    /// Names of the variables.
    pub columns: Vec<String>,
    /// Where they start and stay, where anything is said about that.
    pub variables: Option<Arc<Variables>>,
    /// One value per sample instead of one per point.
    pub per_sample: bool,
    /// One program per agent.
    pub programs: Vec<ProgramSpec>,
    /// How they are run.
    pub handling: Handling,
    /// How often they may be asked.
    pub limits: Limits,
    /// R.
    pub regularizer: Regularizer,
    /// eta.
    pub eta: f64,
    /// A public bound on the curvature, for `scalar`.
    pub curvature: f64,
}

/// One agent's program.
#[derive(Clone, Debug)]
pub struct ProgramSpec {
    /// The agent.
    pub name: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Samples that it holds, where it gives one value for each, or where a claim needs the number.
    pub samples: Option<usize>,
}

/// How programs are run.
#[derive(Clone, Copy, Debug)]
pub struct Handling {
    /// For one answer.
    pub timeout: Duration,
    /// How often an agent's programs may be started again, all together.
    pub restarts: usize,
    /// Programs per agent that share the points of a batch.
    pub workers: usize,
}

/// Whether a config is about programs.
pub fn is_external(node: &TomlNode) -> bool {
    let loss = node.to_json().pointer("/problem/loss").cloned();
    loss.as_ref().and_then(serde_json::Value::as_str) == Some("external")
}

impl Programs {
    pub(super) fn read(root: &Section<'_>) -> Result<DataRead<Self>> {
        let problem = root.section("problem")?;
        problem.choice("loss", &["external"])?;
        let variables = read_variables(&problem)?;
        let columns = match &variables {
            Some(variables) => variables.iter().map(|v| v.name.clone()).collect(),
            None => read_columns(&problem)?,
        };
        let per_sample = problem.or("per_sample", false)?;
        let (regularizer, eta) = read_penalty(&problem)?;
        problem.finish()?;
        let external = root.section("external")?;
        let handling = Handling {
            timeout: Duration::from_secs_f64(
                external.positive("timeout")?.unwrap_or(60.0).min(1e9),
            ),
            restarts: external.or("restarts", 3)?,
            workers: external.count("workers")?.unwrap_or(1),
        };
        if handling.workers > 1024 {
            return Err(external.error("workers", "must be at most 1024"));
        }
        let limits = Limits {
            shortest_step: external.positive("shortest_step")?.unwrap_or(1e-8),
            budget: external.count("max_evaluations")?.map(|count| count as u64),
            cache: external.or("cache", 0)?,
        };
        let curvature = external.positive("curvature")?.unwrap_or(1.0);
        external.finish()?;
        let data = root.section("data")?;
        let data_root = data.or("root", String::new())?.into();
        let programs = read_programs(&data, per_sample)?;
        data.finish()?;
        let counted = programs.iter().all(|program| program.samples.is_some());
        let kind = DataKind::Boxes { per_sample, counted };
        let spec = Self {
            columns,
            variables,
            per_sample,
            programs,
            handling,
            limits,
            regularizer,
            eta,
            curvature,
        };
        let columns = spec.columns.len();
        let smooth_penalty = spec.regularizer.is_smooth();
        Ok(DataRead { spec, kind, loss: None, columns, smooth_penalty, root: data_root })
    }
}

/// `problem.variables`: a name for each, and what else is known of it.
fn read_variables(section: &Section<'_>) -> Result<Option<Arc<Variables>>> {
    let shape = "variables = [{ name = \"rate\", low = 1e-4, high = 1.0, scale = \"log\" }, ...]";
    let items = match section.node("variables") {
        None => return Ok(None),
        Some(TomlNode { value: Value::Array(items), .. }) if !items.is_empty() => items,
        Some(_) => return Err(section.error("variables", "must list them").hint(shape)),
    };
    for key in ["features", "columns"] {
        if section.node(key).is_some() {
            return Err(section.error(key, "has no effect where `problem.variables` names them"));
        }
    }
    let mut all: Vec<Variable> = Vec::new();
    let mut checked: Vec<Variable> = Vec::new();
    for item in items {
        let entry = Section::named(item, "problem.variables")?;
        let name: String = entry.required("name")?;
        if all.iter().any(|known| known.name == name) {
            return Err(entry.error("name", &format!("is `{name}` twice")));
        }
        let variable = Variable {
            start: entry.optional("start")?,
            low: entry.or("low", f64::NEG_INFINITY)?,
            high: entry.or("high", f64::INFINITY)?,
            log: entry.choice("scale", &["linear", "log"])? == Some("log"),
            integer: entry.or("integer", false)?,
            ..Variable::free(name)
        };
        entry.finish()?;
        checked.push(variable.clone());
        Variables::new(std::mem::take(&mut checked))
            .map_err(|bad| entry.error(bad.key, &bad.problem))?;
        all.push(variable);
    }
    let variables =
        Variables::new(all).map_err(|bad| section.error("variables", &bad.to_string()))?;
    match variables.free() {
        0 => Err(section.error("variables", "are all fixed: nothing is left to be found")),
        _ => Ok(Some(Arc::new(variables))),
    }
}

fn read_columns(section: &Section<'_>) -> Result<Vec<String>> {
    let names: Option<Vec<String>> = section.optional("columns")?;
    match (names, section.count("features")?) {
        (Some(names), None) if !names.is_empty() => Ok(names),
        (Some(names), Some(count)) if names.len() == count => Ok(names),
        (Some(names), Some(count)) => {
            let problem = format!("is {count}, but `problem.columns` has {} names", names.len());
            Err(section.error("features", &problem))
        }
        (_, Some(count)) if count <= 1_000_000 => {
            Ok((1..=count).map(|p| format!("x{p}")).collect())
        }
        (_, Some(_)) => Err(section.error("features", "must be at most 1000000")),
        (_, None) => Err(section
            .required::<usize>("features")
            .expect_err("the key is missing")
            .hint("how many variables the programs take: features = 3, or columns = [\"a\", ...]")),
    }
}

/// R and eta; a program needs neither.
fn read_penalty(section: &Section<'_>) -> Result<(Regularizer, f64)> {
    // Programs have no columns that could be grouped.
    let known = Registry::new(REGULARIZERS)
        .filter(|entry| !(entry.build)(&Options::default()).is_grouped());
    let (regularizer, _) = read_regularizer(section, &known, Regularizer::None)?;
    let plain = regularizer.is_zero();
    let eta = section.non_negative("eta")?;
    super::only_with(section, "eta", eta.is_some(), "a regularizer", !plain)?;
    match eta {
        Some(eta) => Ok((regularizer, eta)),
        None if plain => Ok((regularizer, 0.0)),
        None => Ok((regularizer, section.required("eta")?)),
    }
}

fn read_programs(section: &Section<'_>, per_sample: bool) -> Result<Vec<ProgramSpec>> {
    let shape = "agents = [{ name = \"a\", command = [\"python3\", \"a.py\"] }, ...]";
    let Some(TomlNode { value: Value::Array(items), .. }) = section.node("agents") else {
        return Err(section
            .error("agents", "must list the agents with their programs")
            .hint(shape));
    };
    let mut programs = Vec::new();
    for item in items {
        let entry = Section::named(item, "data.agents")?;
        let command: Vec<String> = entry.required("command")?;
        if command.first().is_none_or(String::is_empty) {
            return Err(entry.error("command", "is empty").hint(shape));
        }
        let samples = entry.count("samples")?;
        if per_sample && samples.is_none() {
            return Err(entry
                .required::<usize>("samples")
                .expect_err("the key is missing")
                .hint("with problem.per_sample the number of samples is public: give it"));
        }
        programs.push(ProgramSpec { name: entry.required("name")?, command, samples });
        entry.finish()?;
    }
    if programs.is_empty() {
        return Err(section.error("agents", "is empty").hint(shape));
    }
    Ok(programs)
}
