//! `loss = "external"`: a program per agent instead of rows.

use super::algorithm::reported;
use super::{Network, Privacy, RunSettings};
use dzoa::plan::{Algorithm, Auto, DataKind, PerAgent, Refused, RunSpec};
use dzoa::prelude::*;
use dzoa::problem::Limits;
use dzoa::problem::regularizer::REGULARIZERS;
use dzoa::registry::{Options, Registry};
use dzoa_table::{Error, Named, Node, Result, Section, Value};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A whole config of programs.
#[derive(Debug)]
pub struct External {
    /// Names the run and its directory.
    pub name: String,
    /// Names of the variables.
    pub columns: Vec<String>,
    /// One value per sample instead of one per point.
    pub per_sample: bool,
    /// One program per agent.
    pub programs: Vec<ProgramSpec>,
    /// How they are run.
    pub handling: Handling,
    /// How often they may be asked.
    pub limits: Limits,
    /// Who talks to whom.
    pub network: Network,
    /// R.
    pub regularizer: Regularizer,
    /// eta.
    pub eta: f64,
    /// Mechanism, outer and inner loop.
    pub spec: RunSpec,
    /// A public bound on the curvature, for `scalar`.
    pub curvature: f64,
    /// Seed, threads, records.
    pub run: RunSettings,
    /// Everything as given, for the record.
    pub given: serde_json::Value,
    /// Where the programs are started.
    pub root: PathBuf,
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
pub fn is_external(node: &Node) -> bool {
    let loss = node.to_json().pointer("/problem/loss").cloned();
    loss.as_ref().and_then(serde_json::Value::as_str) == Some("external")
}

impl External {
    pub(super) fn read(node: &Node, base: &Path) -> Result<Self> {
        let root = Section::root(node);
        let name = super::run_name(&root)?;
        let problem = root.section("problem")?;
        let (columns, per_sample, regularizer, eta) = read_problem(&problem)?;
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
        let data_root: String = data.or("root", String::new())?;
        let programs = read_programs(&data, per_sample)?;
        data.finish()?;
        let network = Network::read(&root.section("network")?)?;
        let privacy_section = root.section("privacy")?;
        let privacy = Privacy::read(&privacy_section)?;
        let counted = programs.iter().all(|program| program.samples.is_some());
        privacy
            .mechanism
            .accepts(DataKind::Boxes { per_sample, counted })
            .map_err(|refused| unsuited(&privacy_section, &privacy, &refused))?;
        let spec = read_algorithm(&root.section("algorithm")?, &privacy)?;
        let spec = RunSpec { self_loop: network.self_loop, ..spec };
        let run_section = root.section("run")?;
        let run = RunSettings::read(&run_section)?;
        if run.trials > 1 {
            return Err(run_section
                .error("trials", "must be 1 with loss = \"external\"")
                .hint("run the program several times, with other seeds"));
        }
        root.finish()?;
        Ok(Self {
            name,
            columns,
            per_sample,
            programs,
            handling,
            limits,
            network,
            regularizer,
            eta,
            spec,
            curvature,
            run,
            given: node.to_json(),
            root: base.join(data_root),
        })
    }
}

fn read_problem(section: &Section<'_>) -> Result<(Vec<String>, bool, Regularizer, f64)> {
    section.choice("loss", &["external"])?;
    let names: Option<Vec<String>> = section.optional("columns")?;
    let count = section.count("features")?;
    let columns = match (names, count) {
        (Some(names), None) if !names.is_empty() => names,
        (Some(names), Some(count)) if names.len() == count => names,
        (Some(names), Some(count)) => {
            let problem = format!("is {count}, but `problem.columns` has {} names", names.len());
            return Err(section.error("features", &problem));
        }
        (_, Some(count)) if count <= 1_000_000 => (1..=count).map(|p| format!("x{p}")).collect(),
        (_, Some(_)) => return Err(section.error("features", "must be at most 1000000")),
        (_, None) => {
            return Err(section
                .required::<usize>("features")
                .expect_err("the key is missing")
                .hint(
                    "how many variables the programs take: features = 3, or columns = [\"a\", ...]",
                ));
        }
    };
    let per_sample = section.or("per_sample", false)?;
    // Programs have no columns that could be grouped.
    let known = Registry::new(REGULARIZERS)
        .filter(|entry| !(entry.build)(&Options::default()).is_grouped());
    let named = Named::read(section, "regularizer", &known, &[])?;
    let eta = section.non_negative("eta")?;
    section.finish()?;
    named.check(section, &known)?;
    let entry = named.entry(&known);
    let regularizer = entry.map_or(Regularizer::None, |entry| (entry.build)(&named.given));
    let plain = regularizer.is_zero();
    super::only_with(section, "eta", eta.is_some(), "a regularizer", !plain)?;
    let eta = match eta {
        Some(eta) => eta,
        None if plain => 0.0,
        None => section.required("eta")?,
    };
    Ok((columns, per_sample, regularizer, eta))
}

fn read_programs(section: &Section<'_>, per_sample: bool) -> Result<Vec<ProgramSpec>> {
    let shape = "agents = [{ name = \"a\", command = [\"python3\", \"a.py\"] }, ...]";
    let Some(Node { value: Value::Array(items), .. }) = section.node("agents") else {
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

/// A mechanism that cannot protect programs.
fn unsuited(section: &Section<'_>, privacy: &Privacy, refused: &Refused) -> Error {
    let name = privacy.mechanism.name();
    let (problem, hint) = match refused {
        Refused::NoCertificate => (
            format!("is `{name}`, which must certify a minimiser; a black box's cannot be"),
            "use \"scalar\" with problem.per_sample = true, or \"none\"",
        ),
        Refused::NotPerSample => (
            format!("is `{name}`, which needs one value per sample"),
            "set problem.per_sample = true, and let the programs answer with one",
        ),
        Refused::NotCounted => (
            format!("is `{name}`, whose Lemma 3 needs every agent's number of samples"),
            "add samples = N to every entry of data.agents",
        ),
        other => (format!("is `{name}`, but {other}"), "choose another mechanism"),
    };
    section.error("mechanism", &problem).hint(hint)
}

/// As `[algorithm]` of other runs, but everything may be left to rules.
fn read_algorithm(section: &Section<'_>, privacy: &Privacy) -> Result<RunSpec> {
    section.choice("name", &["d-zoa"])?;
    let is_auto = |key: &'static str| {
        let node = section.node(key);
        matches!(node, Some(Node { value: Value::String(word), .. }) if word == "auto")
    };
    let rho = if is_auto("rho") { None } else { section.positive("rho")? };
    let rounds = if is_auto("rounds") { None } else { section.count("rounds")? };
    let options = section.section("options")?;
    let spec = RunSpec {
        rho: rho.into(),
        rounds: rounds.map(|rounds| rounds as u64).into(),
        antithetic: options.optional::<bool>("antithetic")?.into(),
        orthogonal: options.optional::<bool>("orthogonal")?.into(),
        inner_steps: section.count("inner_steps")?.into(),
        directions: section.count("directions")?.into(),
        smoothing: section.positive("smoothing")?.into(),
        step: section.positive("step")?.map(PerAgent::All).into(),
        lipschitz: PerAgent::All(section.positive("lipschitz")?.unwrap_or(1.0)),
        inner_average: section.or("inner_average", false)?,
        warm_start: section.optional::<bool>("warm_start")?.into(),
        reported: reported(section)?,
        tolerance: Auto::Given(None),
        ..RunSpec::new(Algorithm::DZoa, privacy.mechanism.clone())
    };
    options.finish()?;
    section.finish()?;
    Ok(spec)
}
