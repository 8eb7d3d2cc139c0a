//! The config of a run: read once, checked at the door, then trusted.

mod algorithm;
mod external;
mod network;
mod privacy;

pub use algorithm::Mode;
pub use external::{External, Handling, ProgramSpec};
pub use network::Network;
pub use privacy::Privacy;

use dzoa::plan::{PerAgent, RunSpec};
use dzoa::problem::loss::LOSSES;
use dzoa::registry::Registry;
use dzoa::streams::Streams;
use dzoa_table::{
    DataSource, Error, FromNode, InstanceSpec, Node, ProblemSpec, Result, Schema, Section,
    only_with,
};
use std::path::{Path, PathBuf};

/// The built-in config: the paper's example.
pub const PAPER: &str = include_str!("../paper.toml");

/// A whole config.
#[derive(Debug)]
pub struct Config {
    /// Names the run and its directory.
    pub name: String,
    /// What is minimised.
    pub problem: ProblemSpec,
    /// Where rows come from.
    pub data: DataSource,
    /// Who talks to whom.
    pub network: Network,
    /// Algorithm, mechanism and every number that was given.
    pub spec: RunSpec,
    /// Whether real agents wait for each other.
    pub mode: Mode,
    /// Trials, seed, threads.
    pub run: RunSettings,
    /// How files are read; not needed for generated data.
    pub schema: Option<Schema>,
    /// Everything as given, for the record.
    pub given: serde_json::Value,
    /// What relative paths are relative to.
    pub root: PathBuf,
}

/// A config as it was given, from which variants can be read.
pub struct Source {
    node: Node,
    base: PathBuf,
}

impl Source {
    /// Reads a config file, or the paper's example, and applies every `--set`.
    pub fn load(path: Option<&Path>, sets: &[String]) -> Result<Self> {
        let (text, shown, base) = match path {
            None => (PAPER.to_string(), "paper.toml (built in)".to_string(), PathBuf::new()),
            Some(path) => {
                let shown = path.display().to_string();
                let bytes = std::fs::read(path).map_err(|error| {
                    Error::input(format!("{shown}: cannot be read: {error}"))
                        .hint("`dzoa init DIR` writes a config to start from")
                })?;
                let text = String::from_utf8(bytes).map_err(|_| {
                    Error::input(format!("{shown}: is not UTF-8 text"))
                        .hint("a config is a TOML file")
                })?;
                let base = path.parent().map(Path::to_path_buf).unwrap_or_default();
                (text, shown, base)
            }
        };
        let mut node = Node::parse(&text, &shown)?;
        for assignment in sets {
            node.set(assignment)?;
        }
        Ok(Self { node, base })
    }

    /// The config of programs, where the loss is `external`.
    pub fn external(&self) -> Result<Option<External>> {
        external::is_external(&self.node)
            .then(|| External::read(&self.node, &self.base))
            .transpose()
    }

    /// The config as given.
    pub fn config(&self) -> Result<Config> {
        Config::read(&self.node, self.base.clone())
    }
}

impl Config {
    /// Reads a config file, or the paper's example, and applies every `--set`.
    pub fn load(path: Option<&Path>, sets: &[String]) -> Result<Self> {
        Source::load(path, sets)?.config()
    }

    /// The root of the run's randomness: its seed, or the operating system's entropy.
    pub fn streams(&self) -> Result<Streams> {
        root_streams(self.run.seed)
    }

    /// Which rows the run is about, and who talks to whom.
    pub fn instances(&self) -> InstanceSpec<'_> {
        InstanceSpec {
            problem: &self.problem,
            data: &self.data,
            schema: self.schema.as_ref(),
            shape: &self.network.shape,
            listed: self.network.agents.iter().map(|(name, _)| name.clone()).collect(),
            root: &self.root,
            note: |note| eprintln!("{note}"),
        }
    }

    /// As many threads as the config asks for.
    pub fn thread_pool(&self) -> Result<rayon::ThreadPool> {
        thread_pool(self.run.threads)
    }

    fn read(node: &Node, base: PathBuf) -> Result<Self> {
        let root = Section::root(node);
        let name = run_name(&root)?;
        let problem = ProblemSpec::read(&root.section("problem")?, &Registry::new(LOSSES))?;
        let network = Network::read(&root.section("network")?)?;
        let real = !network.agents.is_empty();
        let (data, data_root) = DataSource::read(&root.section("data")?, real)?;
        let privacy = Privacy::read(&root.section("privacy")?)?;
        let (spec, mode) = algorithm::read(&root.section("algorithm")?, &privacy)?;
        let spec = RunSpec { self_loop: network.self_loop, ..spec };
        let run = RunSettings::read(&root.section("run")?)?;
        let schema_section = root.section("schema")?;
        let schema =
            schema_section.is_present().then(|| Schema::read(&schema_section)).transpose()?;
        root.finish()?;
        if schema.is_none() && !matches!(data, DataSource::Synthetic(_)) {
            return Err(Error::input("`schema` is missing: files cannot be read without one")
                .hint("draft one with `dzoa schema infer FILE`, then put public bounds into it"));
        }
        let config = Self {
            name,
            problem,
            data,
            network,
            spec,
            mode,
            run,
            schema,
            given: node.to_json(),
            root: base.join(data_root),
        };
        Ok(config)
    }
}

/// The root of randomness for a seed, or from the operating system's entropy.
pub fn root_streams(seed: Option<u64>) -> Result<Streams> {
    match seed {
        Some(seed) => Ok(Streams::from_seed(seed)),
        None => Streams::from_os()
            .map_err(|error| Error::run(format!("the operating system has no entropy: {error}"))),
    }
}

/// So many threads; 0 for all cores.
pub fn thread_pool(threads: usize) -> Result<rayon::ThreadPool> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|error| Error::run(format!("cannot start threads: {error}")))
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
    /// Stop when no release moves by more than this; 0 never does.
    pub stop_tolerance: f64,
}

impl RunSettings {
    fn read(section: &Section<'_>) -> Result<Self> {
        let settings = Self {
            trials: section.count("trials")?.unwrap_or(1),
            seed: section.optional("seed")?,
            threads: section.or("threads", 0)?,
            record_every: section.or("record_every", 0)?,
            stop_tolerance: section.non_negative("stop_tolerance")?.unwrap_or(0.0),
        };
        if settings.threads > 1024 {
            return Err(section.error("threads", "must be at most 1024"));
        }
        section.finish()?;
        Ok(settings)
    }
}
