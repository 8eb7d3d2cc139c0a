//! The config of a run: read once, checked at the door, then trusted.

mod algorithm;
mod external;
mod network;
mod privacy;
mod rows;
#[cfg(test)]
mod tests;

pub use algorithm::Mode;
pub use external::{Handling, ProgramSpec, Programs};
pub use network::{Listed, NAMES_FILES, NetworkSection, names_files};
pub use privacy::Privacy;
pub use rows::RowsSpec;

use dzoa::plan::{DataKind, PerAgent, RunSpec, Suited};
use dzoa::problem::loss::Loss;
use dzoa::reference::ReferenceWish;
use dzoa::streams::Streams;
use dzoa_table::{
    Error, FromNode, InstanceSpec, Result, Section, TomlNode, ValueJournal, only_with,
    reference_wish, unconfirmed,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The built-in config: the paper's example.
pub const PAPER: &str = include_str!("../paper.toml");

/// A config, but for what is minimised over.
#[derive(Debug)]
pub struct Config {
    /// Names the run and its directory.
    pub name: String,
    /// Who talks to whom.
    pub network: NetworkSection,
    /// Algorithm, mechanism and every number that was given.
    pub spec: RunSpec,
    /// Whether real agents wait for each other.
    pub mode: Mode,
    /// Trials, seed, threads.
    pub run: RunSettings,
    /// Everything as given, for the record.
    pub given: serde_json::Value,
    /// What relative paths are relative to.
    pub root: PathBuf,
    /// Told what happened to rows, on the terminal of their holder.
    pub note: fn(&str),
}

/// What is minimised over.
#[derive(Debug)]
pub enum DataSpec {
    /// A loss over rows.
    Rows(Box<RowsSpec>),
    /// `loss = "external"`: a program per agent.
    Programs(Programs),
}

/// What was read of a config about its data.
struct DataRead<D> {
    spec: D,
    /// What of it matters to who protects it.
    kind: DataKind,
    /// The loss; programs have none.
    loss: Option<Arc<dyn Loss>>,
    /// Variables of programs.
    columns: usize,
    /// Whether the penalty has no kinks.
    smooth_penalty: bool,
    /// `data.root`
    root: PathBuf,
}

impl Config {
    /// Reads a config file, or the paper's example, and applies every `--set`.
    pub fn load(path: Option<&Path>, sets: &[String]) -> Result<(Self, DataSpec)> {
        let (node, base) = given(path, sets)?;
        if external::is_external(&node) {
            let (config, programs) = Self::read(&node, &base, Programs::read)?;
            return Ok((config, DataSpec::Programs(programs)));
        }
        Self::of_rows(&node, &base).map(|(config, rows)| (config, DataSpec::Rows(rows.into())))
    }

    /// Reads a config of rows, for what programs cannot do.
    pub fn load_rows(path: Option<&Path>, sets: &[String]) -> Result<(Self, RowsSpec)> {
        let (node, base) = given(path, sets)?;
        Self::of_rows(&node, &base)
    }

    /// What a draft left for a person to confirm and nobody has, where something is guaranteed.
    pub fn unconfirmed(&self, file: Option<&Path>) -> Option<String> {
        self.spec.mechanism.claimed().budget().and(file).and_then(unconfirmed)
    }

    fn of_rows(node: &TomlNode, base: &Path) -> Result<(Self, RowsSpec)> {
        let (mut config, rows) = Self::read(node, base, RowsSpec::read)?;
        rows.check_schema()?;
        config.spec.eta_by_rule = rows.problem.eta.is_auto();
        Ok((config, rows))
    }

    /// Reads all sections; those about the data by a function of their own.
    fn read<D>(
        node: &TomlNode,
        base: &Path,
        read_data: fn(&Section<'_>) -> Result<DataRead<D>>,
    ) -> Result<(Self, D)> {
        let root = Section::root(node);
        let name = run_name(&root)?;
        let data = read_data(&root)?;
        let network = NetworkSection::read(&root.section("network")?)?;
        let privacy = Privacy::read(&root.section("privacy")?, data.kind)?;
        let public = Suited {
            kind: data.kind,
            loss: data.loss.as_deref(),
            columns: data.columns,
            smooth_penalty: data.smooth_penalty,
            looped: false,
        };
        let (spec, mode) = algorithm::read(&root.section("algorithm")?, &privacy, public)?;
        let inference = root.or("inference", false)?;
        let spec = RunSpec { self_loop: network.self_loop, inference, ..spec };
        let section = root.section("run")?;
        let run = RunSettings::read(&section, data.kind)?;
        if run.reference == ReferenceWish::Never && spec.mechanism.needs_optimum() {
            return Err(section
                .error("reference", "is \"never\", but privacy.optimum_norm_squared needs it")
                .hint("give a public bound instead of \"replicate\", or leave run.reference out"));
        }
        root.finish()?;
        let (given, root) = (node.to_json(), base.join(data.root));
        let note = crate::terminal::note;
        Ok((Self { name, network, spec, mode, run, given, root, note }, data.spec))
    }

    /// The root of the run's randomness: its seed, or the operating system's entropy.
    pub fn streams(&self) -> Result<Streams> {
        let seed = match &self.run.journal {
            Some(directory) => Some(ValueJournal(&self.root.join(directory)).seed(self.run.seed)?),
            None => self.run.seed,
        };
        match seed {
            Some(seed) => Ok(Streams::from_seed(seed)),
            None => Streams::from_os().map_err(|error| {
                Error::run(format!("the operating system has no entropy: {error}"))
            }),
        }
    }

    /// Which rows the run is about, and who talks to whom.
    pub fn instances<'a>(&'a self, rows: &'a RowsSpec) -> InstanceSpec<'a> {
        InstanceSpec {
            problem: &rows.problem,
            data: &rows.data,
            schema: rows.schema.as_ref(),
            shape: &self.network.shape,
            listed: self.network.agents.iter().map(|agent| agent.name.clone()).collect(),
            root: &self.root,
            note: self.note,
        }
    }

    /// As many threads as the config asks for; 0 for all cores.
    pub fn thread_pool(&self) -> Result<rayon::ThreadPool> {
        rayon::ThreadPoolBuilder::new()
            .num_threads(self.run.threads)
            .build()
            .map_err(|error| Error::run(format!("cannot start threads: {error}")))
    }
}
/// `run.journal`, for programs.
fn journal_of(section: &Section<'_>, kind: DataKind) -> Result<Option<PathBuf>> {
    let path: Option<String> = section.optional("journal")?;
    match path {
        Some(_) if kind == DataKind::Rows => Err(section
            .error("journal", "has no effect without loss \"external\"")
            .hint("a journal keeps the values of programs")),
        path => Ok(path.map(PathBuf::from)),
    }
}

/// The config as it was given, and what its paths are relative to.
fn given(path: Option<&Path>, sets: &[String]) -> Result<(TomlNode, PathBuf)> {
    let (text, shown, base) = match path {
        None => (PAPER.to_string(), "paper.toml (built in)".to_string(), PathBuf::new()),
        Some(path) => {
            let shown = path.display().to_string();
            let bytes = std::fs::read(path).map_err(|error| {
                Error::input(format!("{shown}: cannot be read: {error}"))
                    .hint("`dzoa init DIR` writes a config to start from")
            })?;
            let text = String::from_utf8(bytes).map_err(|_| {
                Error::input(format!("{shown}: is not UTF-8 text")).hint("a config is a TOML file")
            })?;
            let base = path.parent().map(Path::to_path_buf).unwrap_or_default();
            (text, shown, base)
        }
    };
    let mut node = TomlNode::parse(&text, &shown)?;
    sets.iter().try_for_each(|assignment| node.set(assignment))?;
    Ok((node, base))
}

/// The name of a run, which names its directory.
fn run_name(root: &Section<'_>) -> Result<String> {
    let name: String = root.or("name", "run".to_string())?;
    if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c)) {
        return Err(root
            .error("name", "must consist of letters, digits, `-`, `_` and `.`")
            .hint("it names the directory of the run"));
    }
    Ok(name)
}

/// One number for all agents, or an array with one for each.
fn per_agent(section: &Section<'_>, key: &'static str) -> Result<Option<PerAgent>> {
    let Some(node) = section.node(key) else { return Ok(None) };
    let values = match f64::from_node(node) {
        Some(value) => PerAgent::All(value),
        None => PerAgent::Each(Vec::<f64>::from_node(node).ok_or_else(|| {
            section.error(key, "must be a number, or an array with one number per agent")
        })?),
    };
    let all = match &values {
        PerAgent::All(value) => std::slice::from_ref(value),
        PerAgent::Each(values) => values,
    };
    match all.iter().find(|value| !(**value > 0.0 && value.is_finite())) {
        Some(bad) => {
            Err(section.error(key, &format!("must be a finite number above 0, not {bad}")))
        }
        None => Ok(Some(values)),
    }
}

/// `[run]`
#[derive(Debug)]
pub struct RunSettings {
    /// Repetitions.
    pub trials: usize,
    /// For repeatable runs.
    pub seed: Option<u64>,
    /// 0: all cores.
    pub threads: usize,
    /// Record every n-th round; 0 chooses.
    pub record_every: u64,
    /// `run.journal`: where every value of programs is kept.
    pub journal: Option<PathBuf>,
    /// Stop when no release moves by more than this; 0 never does.
    pub stop_tolerance: f64,
    /// Whether the centralised optimum is computed beside it.
    pub reference: ReferenceWish,
}

impl RunSettings {
    fn read(section: &Section<'_>, kind: DataKind) -> Result<Self> {
        let settings = Self {
            trials: section.count("trials")?.unwrap_or(1),
            seed: section.optional("seed")?,
            threads: section.or("threads", 0)?,
            record_every: section.or("record_every", 0)?,
            journal: journal_of(section, kind)?,
            stop_tolerance: section.non_negative("stop_tolerance")?.unwrap_or(0.0),
            reference: reference_wish(section)?,
        };
        if settings.threads > 1024 {
            return Err(section.error("threads", "must be at most 1024"));
        }
        if settings.trials > 1 && kind != DataKind::Rows {
            return Err(section
                .error("trials", "must be 1 with loss = \"external\"")
                .hint("run the program several times, with other seeds"));
        }
        section.finish()?;
        Ok(settings)
    }
}
