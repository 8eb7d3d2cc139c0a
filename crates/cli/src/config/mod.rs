//! The config of a run: read once, checked at the door, then trusted.

mod sections;

pub use sections::{
    Algorithm, Average, DataSource, Mechanism, Network, OptimumNorm, Privacy, ProblemSpec,
    RunSettings, Shape, Solver, Split,
};

use crate::error::{Error, Result};
use crate::reader::{Node, Section};
use crate::schema::Schema;
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
    /// How.
    pub algorithm: Algorithm,
    /// What is promised.
    pub privacy: Privacy,
    /// Trials, seed, threads.
    pub run: RunSettings,
    /// How files are read; not needed for generated data.
    pub schema: Option<Schema>,
    /// Everything as given, for the record.
    pub given: serde_json::Value,
    /// What relative paths are relative to.
    pub root: PathBuf,
}

impl Config {
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
        Self::read(&node, base)
    }

    fn read(node: &Node, base: PathBuf) -> Result<Self> {
        let root = Section::root(node);
        let name: String = root.or("name", "run".to_string())?;
        if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c)) {
            return Err(root
                .error("name", "must consist of letters, digits, `-`, `_` and `.`")
                .hint("it names the directory of the run"));
        }
        let problem = ProblemSpec::read(&root.section("problem")?)?;
        let (data, data_root) = DataSource::read(&root.section("data")?)?;
        let network = Network::read(&root.section("network")?)?;
        let privacy = Privacy::read(&root.section("privacy")?)?;
        let algorithm = Algorithm::read(&root.section("algorithm")?, &privacy)?;
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
            algorithm,
            privacy,
            run,
            schema,
            given: node.to_json(),
            root: base.join(data_root),
        };
        Ok(config)
    }
}
