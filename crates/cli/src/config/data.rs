//! `[data]`: where rows come from.

use super::only_with;
use crate::error::Result;
use crate::reader::{Node, Section, Value};
use dzoa::problem::partition::Partition;
use dzoa::problem::synthetic::Synthetic;
use std::path::PathBuf;

/// `[data]`
#[derive(Debug)]
pub enum DataSource {
    /// Generated anew for every trial.
    Synthetic(Synthetic),
    /// One file per agent: name and path.
    Files(Vec<(String, PathBuf)>),
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

impl DataSource {
    pub(super) fn read(section: &Section<'_>, real: bool) -> Result<(Self, PathBuf)> {
        if real && !section.is_present() {
            return Ok((Self::Elsewhere, PathBuf::new()));
        }
        let root: String = section.or("root", String::new())?;
        let synthetic = section.section("synthetic")?;
        let file: Option<String> = section.optional("file")?;
        let agents = section.node("agents");
        let listed = agents.filter(|node| matches!(node.value, Value::Array(_)));
        let words = ["contiguous", "iid", "dirichlet", "by-column"];
        let partition = section.choice("partition", &words)?;
        let alpha = section.positive("alpha")?;
        let column: Option<String> = section.optional("column")?;
        let chosen = [synthetic.is_present(), file.is_some(), listed.is_some()];
        if chosen.iter().filter(|given| **given).count() != 1 {
            return Err(section
                .error("synthetic", "or `data.agents` (files) or `data.file`: give exactly one")
                .hint("synthetic = { agents = 5, samples = 20, features = 10 }, or agents = [{ name, file }, ...], or file with partition and agents"));
        }
        if file.is_none() {
            only_with(section, "partition", partition.is_some(), "`file`", false)?;
        }
        let dirichlet = partition == Some("dirichlet");
        only_with(section, "alpha", alpha.is_some(), "partition = \"dirichlet\"", dirichlet)?;
        let by_column = partition == Some("by-column");
        only_with(section, "column", column.is_some(), "partition = \"by-column\"", by_column)?;
        let source = if synthetic.is_present() {
            let standard = Synthetic::default();
            let count = |key, or| Ok(synthetic.count(key)?.unwrap_or(or));
            let data = Synthetic {
                agents: count("agents", standard.agents)?,
                samples: count("samples", standard.samples)?,
                features: count("features", standard.features)?,
                noise_variance: synthetic
                    .non_negative("noise_variance")?
                    .unwrap_or(standard.noise_variance),
                signal: synthetic.non_negative("signal")?.unwrap_or(standard.signal),
                normalize_columns: synthetic.or("normalize_columns", true)?,
            };
            synthetic.finish()?;
            let values =
                data.agents.checked_mul(data.samples).and_then(|n| n.checked_mul(data.features));
            if values.is_none_or(|values| values > 1 << 32) {
                return Err(section.error("synthetic", "asks for more than 4 billion numbers"));
            }
            Self::Synthetic(data)
        } else if let Some(Node { value: Value::Array(items), .. }) = listed {
            let mut files = Vec::new();
            for item in items {
                let entry = Section::named(item, "data.agents")?;
                files.push((
                    entry.required("name")?,
                    PathBuf::from(entry.required::<String>("file")?),
                ));
                entry.finish()?;
            }
            if files.is_empty() {
                return Err(section.error("agents", "is empty"));
            }
            Self::Files(files)
        } else {
            let file = PathBuf::from(file.expect("one of the three was given"));
            let parts = |section: &Section<'_>, partition| -> Result<Split> {
                match section.count("agents")? {
                    Some(agents) => Ok(Split::Parts(partition, agents)),
                    None => {
                        Err(section.required::<usize>("agents").expect_err("the key is missing"))
                    }
                }
            };
            let split = match partition {
                Some("by-column") => Split::ByColumn(section.required("column")?),
                Some("iid") => parts(section, Partition::Iid)?,
                Some("dirichlet") => {
                    let alpha = section.required::<f64>("alpha")?;
                    parts(section, Partition::Dirichlet { alpha })?
                }
                _ => parts(section, Partition::Contiguous)?,
            };
            Self::Split { file, split }
        };
        section.finish()?;
        Ok((source, PathBuf::from(root)))
    }
}
