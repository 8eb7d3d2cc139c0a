//! From a config to problems: rows are loaded or generated, split over agents, joined by a graph.

use crate::config::{Config, DataSource, Network, Shape, Split};
use crate::error::{Error, Result};
use crate::load::{self, Request, Task};
use dzoa::graph::{Graph, GraphError};
use dzoa::prelude::*;
use dzoa::problem::synthetic::Synthetic;
use dzoa::streams::Purpose;
use std::path::PathBuf;
use std::sync::Arc;

/// Everything about a run that does not change from trial to trial.
pub struct Instances {
    /// The network.
    pub graph: Graph,
    /// Names of the columns, the intercept included.
    pub columns: Vec<String>,
    source: Source,
}

enum Source {
    /// The same rows in every trial.
    Fixed(Problem),
    /// New rows in every trial.
    Synthetic(Synthetic, Problem),
}

/// The name of the constant column.
pub const INTERCEPT: &str = "(intercept)";

impl Instances {
    /// Loads what is to be loaded and builds the network.
    pub fn prepare(config: &Config, streams: &Streams) -> Result<Self> {
        Self::load(config, None, streams)
    }

    /// The same for one real agent with its own file. The other agents' rows are not here: their places are
    /// held by its own, and nothing of them is used but their number.
    pub fn of_one(config: &Config, file: &std::path::Path, streams: &Streams) -> Result<Self> {
        Self::load(config, Some(file), streams)
    }

    fn load(config: &Config, own: Option<&std::path::Path>, streams: &Streams) -> Result<Self> {
        let spec = &config.problem;
        let mut columns = match (&config.data, &config.schema) {
            (DataSource::Synthetic(data), _) => {
                (1..=data.features).map(|p| format!("x{p}")).collect()
            }
            (_, Some(schema)) => schema.feature_names(),
            (_, None) => unreachable!("the config was refused without a schema"),
        };
        let regularizer = spec.regularizer(&columns)?;
        if spec.intercept {
            columns.push(INTERCEPT.into());
        }
        let mut problem = Problem {
            loss: spec.loss.clone(),
            regularizer,
            eta: spec.eta,
            scale: spec.scale,
            intercept: spec.intercept,
            agents: Vec::new(),
        };
        let listed: Vec<String> =
            config.network.agents.iter().map(|(name, _)| name.clone()).collect();
        let (names, source) = match &config.data {
            _ if own.is_some() => {
                let path = own.unwrap_or(std::path::Path::new(""));
                let samples = Arc::new(load(config, path, None)?.samples);
                problem.agents = vec![samples; listed.len()];
                (listed, Source::Fixed(problem))
            }
            DataSource::Elsewhere => {
                return Err(Error::input("`data` is missing: the network file names no rows").hint(
                    "`dzoa agent` and `dzoa launch` take them with --data; to simulate, add [data]",
                ));
            }
            DataSource::Synthetic(data) if listed.is_empty() => {
                let names = (1..=data.agents).map(|k| k.to_string()).collect();
                (names, Source::Synthetic(*data, problem))
            }
            DataSource::Synthetic(data) => {
                if data.agents != listed.len() {
                    return Err(Error::input(format!(
                        "`data.synthetic.agents` is {}, but `network.agents` lists {}",
                        data.agents,
                        listed.len()
                    ))
                    .hint("make them the same"));
                }
                (listed, Source::Synthetic(*data, problem))
            }
            DataSource::Files(files) => {
                let mut names = Vec::new();
                for (name, file) in in_order(files, &listed)? {
                    let samples = load(config, &config.root.join(file), None)?.samples;
                    names.push(name.clone());
                    problem.agents.push(Arc::new(samples));
                }
                (names, Source::Fixed(problem))
            }
            DataSource::Split { file, split } => {
                let path = config.root.join(file);
                let column = match split {
                    Split::ByColumn(column) => Some(column.as_str()),
                    Split::Parts(..) => None,
                };
                let loaded = load(config, &path, column)?;
                let (names, parts) = match split {
                    Split::ByColumn(_) => by_label(&loaded.labels.unwrap_or_default()),
                    Split::Parts(partition, agents) => {
                        let mut rng = streams.rng(Purpose::Layout, "partition", 0);
                        let parts = partition
                            .split(&loaded.samples.targets, *agents, &mut rng)
                            .map_err(|error| {
                                Error::input(format!("{}: {error}", path.display()))
                                    .hint("ask for fewer agents (data.agents)")
                            })?;
                        ((1..=*agents).map(|k| k.to_string()).collect(), parts)
                    }
                };
                problem.agents =
                    parts.iter().map(|rows| Arc::new(loaded.samples.select(rows))).collect();
                (names, Source::Fixed(problem))
            }
        };
        let graph = graph(&config.network, names, streams)?;
        Ok(Self { graph, columns, source })
    }

    /// Whether every trial has the same rows.
    pub fn is_fixed(&self) -> bool {
        matches!(self.source, Source::Fixed(_))
    }

    /// The rows of the agent that has fewest.
    pub fn smallest_agent(&self) -> usize {
        match &self.source {
            Source::Synthetic(data, _) => data.samples,
            Source::Fixed(problem) => {
                problem.agents.iter().map(|samples| samples.count()).min().unwrap_or(0)
            }
        }
    }

    /// The problem of one trial.
    pub fn problem(&self, streams: &Streams) -> Problem {
        match &self.source {
            Source::Fixed(problem) => problem.clone(),
            Source::Synthetic(data, shape) => {
                let mut rng = streams.rng(Purpose::Data, "data", 0);
                let agents = data.draw(shape.loss.targets(), &mut rng);
                let agents = agents.into_iter().map(|mut samples| {
                    if shape.intercept {
                        samples.rows = samples.rows.with_constant_column().into_unit_ball();
                    }
                    Arc::new(samples)
                });
                Problem { agents: agents.collect(), ..shape.clone() }
            }
        }
    }
}

fn load(config: &Config, path: &std::path::Path, column: Option<&str>) -> Result<load::Loaded> {
    let request = Request {
        schema: config.schema.as_ref().expect("the config was refused without a schema"),
        targets: config.problem.loss.targets(),
        intercept: config.problem.intercept,
        label_column: column,
        task: Task::Fit,
    };
    let loaded = load::load(path, &request)?;
    if let Some(note) = loaded.counts.note() {
        // On the terminal of whoever holds the data, and nowhere else: counts depend on the rows.
        eprintln!("{}: {note}", path.display());
    }
    Ok(loaded)
}

/// The files in the order of `network.agents`, where there is one.
fn in_order<'a>(
    files: &'a [(String, PathBuf)],
    listed: &[String],
) -> Result<Vec<&'a (String, PathBuf)>> {
    if listed.is_empty() {
        return Ok(files.iter().collect());
    }
    if files.len() != listed.len() {
        return Err(Error::input(format!(
            "`data.agents` lists {} agents, `network.agents` {}",
            files.len(),
            listed.len()
        ))
        .hint("give every agent of the network its file"));
    }
    let find = |name: &String| {
        files.iter().find(|(other, _)| other == name).ok_or_else(|| {
            Error::input(format!(
                "`data.agents` has no file for {} of `network.agents`",
                crate::error::shown(name)
            ))
            .hint("use the same names in both")
        })
    };
    listed.iter().map(find).collect()
}

/// One agent per distinct label, in the order of their first rows.
fn by_label(labels: &[String]) -> (Vec<String>, Vec<Vec<usize>>) {
    let mut names: Vec<String> = Vec::new();
    let mut parts: Vec<Vec<usize>> = Vec::new();
    let mut known = std::collections::HashMap::new();
    for (row, label) in labels.iter().enumerate() {
        let k = *known.entry(label).or_insert_with(|| {
            names.push(label.clone());
            parts.push(Vec::new());
            names.len() - 1
        });
        parts[k].push(row);
    }
    (names, parts)
}

/// The network over agents of these names.
pub fn graph(network: &Network, names: Vec<String>, streams: &Streams) -> Result<Graph> {
    let listed = names.join(", ");
    let graph = match &network.shape {
        Shape::Edges(edges) => Graph::from_names(names, edges),
        Shape::Topology(topology) => {
            let mut rng = streams.rng(Purpose::Layout, "graph", 0);
            Graph::generate(*topology, names, &mut rng)
        }
    };
    graph.map_err(|error| {
        let hint = match &error {
            GraphError::UnknownName(..) => format!("the agents are: {listed}"),
            GraphError::Disconnected(..) => {
                "add edges until every agent can reach every other".into()
            }
            GraphError::SelfEdge(_) => {
                "self-loops are the option network.self_loop, not edges".into()
            }
            GraphError::DuplicateEdge(..) => "edges are undirected: list each once".into(),
            GraphError::DuplicateName(_) => "give every agent a name of its own".into(),
            GraphError::WrongSize { .. } => {
                "choose another topology, for example ring or complete".into()
            }
            GraphError::NeverConnected { .. } => {
                "raise p or radius, or choose another topology".into()
            }
            GraphError::Parameter(_) | GraphError::Empty => "see `network` in the config".into(),
        };
        Error::input(format!("`network`: {error}")).hint(hint)
    })
}
