//! `[data]`: where rows come from.

use crate::error::Result;
use crate::reader::{Section, TomlNode, Value, only_with};
use crate::reading::SiteFile;
use dzoa::problem::Partition;
use dzoa::problem::Synthetic;
use std::path::PathBuf;

/// `[data]`
#[derive(Debug)]
pub enum DataSource {
    /// Generated anew for every trial.
    Synthetic(Synthetic),
    /// One file per agent.
    Files(Vec<SiteFile>),
    /// One file, split.
    Split {
        /// The file.
        file: PathBuf,
        /// How.
        split: Split,
    },
    /// With the agents: a network file names no data.
    Elsewhere,
}

/// How one file is split.
#[derive(Clone, Debug, PartialEq)]
pub enum Split {
    /// Into this many parts.
    Parts(Partition, usize),
    /// One agent per value of a column.
    ByColumn(String),
}

/// The keys of `[data]` that say how a file is split.
struct SplitKeys {
    partition: Option<&'static str>,
    alpha: Option<f64>,
    column: Option<String>,
}

impl DataSource {
    /// Reads `[data]`, and the directory that its paths are relative to. Agents of a real network
    /// have their rows with them, so that the table may be missing.
    pub fn read(section: &Section<'_>, real: bool) -> Result<(Self, PathBuf)> {
        if real && !section.is_present() {
            return Ok((Self::Elsewhere, PathBuf::new()));
        }
        let root: String = section.or("root", String::new())?;
        let synthetic = section.section("synthetic")?;
        let file: Option<String> = section.optional("file")?;
        let agents = section.node("agents");
        let listed = agents.filter(|node| matches!(node.value, Value::Array(_)));
        let keys = SplitKeys::read(section)?;
        let chosen = [synthetic.is_present(), file.is_some(), listed.is_some()];
        if chosen.iter().filter(|given| **given).count() != 1 {
            return Err(section
                .error("synthetic", "or `data.agents` (files) or `data.file`: give exactly one")
                .hint(
                    "synthetic = { agents = 5, samples = 20, features = 10 }, or agents = \
                     [{ name, file }, ...], or file with partition and agents",
                ));
        }
        keys.check(section, file.is_some())?;
        let source = if synthetic.is_present() {
            Self::Synthetic(read_synthetic(section, &synthetic)?)
        } else if let Some(TomlNode { value: Value::Array(items), .. }) = listed {
            Self::Files(read_files(section, items)?)
        } else {
            let file = PathBuf::from(file.expect("one of the three was given"));
            Self::Split { file, split: keys.split(section)? }
        };
        section.finish()?;
        Ok((source, PathBuf::from(root)))
    }

    /// One site's file as it was given, written as its own entry says unless that was given, too.
    pub fn site(&self, name: &str, given: SiteFile) -> SiteFile {
        let known = match self {
            Self::Files(sites) => sites.iter().find(|site| site.name == name),
            _ => None,
        };
        let reading = match known {
            Some(site) if given.reading.is_empty() => site.reading.clone(),
            _ => given.reading,
        };
        SiteFile { name: name.into(), file: given.file, reading }
    }
}

impl SplitKeys {
    fn read(section: &Section<'_>) -> Result<Self> {
        let words = ["contiguous", "iid", "dirichlet", "by-column"];
        Ok(Self {
            partition: section.choice("partition", &words)?,
            alpha: section.positive("alpha")?,
            column: section.optional("column")?,
        })
    }

    /// Refuses keys that have no effect.
    fn check(&self, section: &Section<'_>, has_file: bool) -> Result<()> {
        let Self { partition, alpha, column } = self;
        if !has_file {
            only_with(section, "partition", partition.is_some(), "`file`", false)?;
        }
        let dirichlet = *partition == Some("dirichlet");
        only_with(section, "alpha", alpha.is_some(), "partition = \"dirichlet\"", dirichlet)?;
        let by_column = *partition == Some("by-column");
        only_with(section, "column", column.is_some(), "partition = \"by-column\"", by_column)
    }

    fn split(&self, section: &Section<'_>) -> Result<Split> {
        let parts = |partition| match section.count("agents")? {
            Some(agents) => Ok(Split::Parts(partition, agents)),
            None => Err(section.required::<usize>("agents").expect_err("the key is missing")),
        };
        match self.partition {
            Some("by-column") => Ok(Split::ByColumn(section.required("column")?)),
            Some("iid") => parts(Partition::Iid),
            Some("dirichlet") => {
                parts(Partition::Dirichlet { alpha: section.required::<f64>("alpha")? })
            }
            _ => parts(Partition::Contiguous),
        }
    }
}

fn read_synthetic(data: &Section<'_>, section: &Section<'_>) -> Result<Synthetic> {
    let standard = Synthetic::default();
    let count = |key, or| Ok(section.count(key)?.unwrap_or(or));
    let synthetic = Synthetic {
        agents: count("agents", standard.agents)?,
        samples: count("samples", standard.samples)?,
        features: count("features", standard.features)?,
        noise_variance: section.non_negative("noise_variance")?.unwrap_or(standard.noise_variance),
        signal: section.non_negative("signal")?.unwrap_or(standard.signal),
        normalize_columns: section.or("normalize_columns", true)?,
    };
    section.finish()?;
    let Synthetic { agents, samples, features, .. } = synthetic;
    let values = agents.checked_mul(samples).and_then(|n| n.checked_mul(features));
    if values.is_none_or(|values| values > 1 << 32) {
        return Err(data.error("synthetic", "asks for more than 4 billion numbers"));
    }
    Ok(synthetic)
}

fn read_files(data: &Section<'_>, items: &[TomlNode]) -> Result<Vec<SiteFile>> {
    let read = |(at, item)| SiteFile::read(&Section::named(item, &format!("data.agents[{at}]"))?);
    let files = items.iter().enumerate().map(read).collect::<Result<Vec<_>>>()?;
    if files.is_empty() {
        return Err(data.error("agents", "is empty"));
    }
    Ok(files)
}
