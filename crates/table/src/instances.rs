//! Rows are loaded or generated, split over agents, and joined by a graph.

use crate::error::{Error, Result, shown};
use crate::load::{Loaded, Request, Task, load};
use crate::problem::ProblemSpec;
use crate::reading::{Reading, SiteFile};
use crate::schema::Schema;
use crate::shape::Shape;
use crate::source::{DataSource, Split};
use dzoa::network::Graph;
use dzoa::prelude::*;
use dzoa::problem::Synthetic;
use dzoa::streams::Purpose;
use std::path::Path;
use std::sync::Arc;

/// Which rows a run is about, and who talks to whom.
#[derive(Clone, Debug)]
pub struct InstanceSpec<'a> {
    /// What is minimised.
    pub problem: &'a ProblemSpec,
    /// Where rows come from.
    pub data: &'a DataSource,
    /// How files are read; not needed for generated data.
    pub schema: Option<&'a Schema>,
    /// Who talks to whom.
    pub shape: &'a Shape,
    /// The agents of a real network in their order; empty for a simulation.
    pub listed: Vec<String>,
    /// What relative paths are relative to.
    pub root: &'a Path,
    /// Told what happened to the rows of a file. Counts depend on the rows, so this must reach
    /// the terminal of whoever owns them and nothing else.
    pub note: fn(&str),
}

/// Everything about a run that does not change from trial to trial.
pub struct Instances {
    /// The network.
    pub graph: Graph,
    /// Names of the columns, the intercept included.
    pub columns: Vec<String>,
    /// What the targets of a regression were divided by.
    pub target_unit: f64,
    source: Source,
}

enum Source {
    /// All trials have these rows.
    Fixed(Problem),
    /// New rows in every trial.
    Synthetic(Synthetic, Problem),
}

impl Source {
    /// With the eta that was given, or that of the rule.
    fn with_eta(mut self, spec: &ProblemSpec) -> Self {
        match &mut self {
            Source::Fixed(problem) => {
                let samples = problem.agents.iter().map(|samples| samples.count()).sum();
                problem.eta = spec.eta(problem.agents.len(), samples);
            }
            Source::Synthetic(data, problem) => {
                problem.eta = spec.eta(data.agents, data.agents * data.samples);
            }
        }
        self
    }
}

/// The name of the constant column.
pub const INTERCEPT: &str = "(intercept)";

impl Instances {
    /// Loads what is to be loaded and builds the network.
    pub fn prepare(spec: &InstanceSpec<'_>, streams: &Streams) -> Result<Self> {
        let (columns, mut problem) = spec.empty()?;
        let (names, source) = match spec.data {
            DataSource::Elsewhere => {
                return Err(Error::input("`data` is missing: the network file names no rows").hint(
                    "`dzoa agent` and `dzoa launch` take them with --data; to simulate, add [data]",
                ));
            }
            DataSource::Synthetic(data) => {
                (spec.synthetic_names(data)?, Source::Synthetic(*data, problem))
            }
            DataSource::Files(files) => {
                let mut names = Vec::new();
                for site in in_order(files, &spec.listed)? {
                    let path = spec.root.join(&site.file);
                    let samples = spec.load(&path, &site.reading, None)?.samples;
                    names.push(site.name.clone());
                    problem.agents.push(Arc::new(samples));
                }
                (names, Source::Fixed(problem))
            }
            DataSource::Split { file, split } => {
                let (names, agents) = spec.split(file, split, streams)?;
                (names, Source::Fixed(Problem { agents, ..problem }))
            }
        };
        let source = source.with_eta(spec.problem);
        let graph = spec.shape.graph(names, streams)?;
        Ok(Self { graph, columns, target_unit: spec.target_unit(), source })
    }

    /// The network and the rows of one real agent with its own file. The other agents' rows are
    /// not here: their places are held by its own, and nothing of them is used but their number.
    pub fn of_one(spec: &InstanceSpec<'_>, site: &SiteFile, streams: &Streams) -> Result<Self> {
        let (columns, mut problem) = spec.empty()?;
        let samples = Arc::new(spec.load(&site.file, &site.reading, None)?.samples);
        problem.agents = vec![samples; spec.listed.len()];
        let graph = spec.shape.graph(spec.listed.clone(), streams)?;
        let target_unit = spec.target_unit();
        Ok(Self { graph, columns, target_unit, source: Source::Fixed(problem) })
    }

    /// What is minimised.
    pub fn loss(&self) -> &dyn Loss {
        match &self.source {
            Source::Fixed(problem) | Source::Synthetic(_, problem) => &*problem.loss,
        }
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

impl InstanceSpec<'_> {
    /// Generated targets are in their own unit.
    fn target_unit(&self) -> f64 {
        match self.data {
            DataSource::Synthetic(_) => 1.0,
            _ => self.schema.map_or(1.0, Schema::target_scale),
        }
    }

    /// The columns with the intercept, and the problem without rows.
    fn empty(&self) -> Result<(Vec<String>, Problem)> {
        let spec = self.problem;
        let mut columns = match (self.data, self.schema) {
            (DataSource::Synthetic(data), _) => {
                (1..=data.features).map(|p| format!("x{p}")).collect()
            }
            (_, schema) => schema.ok_or_else(no_schema)?.feature_names(),
        };
        let regularizer = spec.regularizer(&columns)?;
        if spec.intercept {
            columns.push(INTERCEPT.into());
        }
        let problem = Problem {
            loss: spec.loss.clone(),
            regularizer,
            // A rule needs the rows.
            eta: spec.eta.or(0.0),
            scale: spec.scale,
            intercept: spec.intercept,
            agents: Vec::new(),
        };
        Ok((columns, problem))
    }

    fn synthetic_names(&self, data: &Synthetic) -> Result<Vec<String>> {
        let listed = &self.listed;
        if listed.is_empty() {
            return Ok((1..=data.agents).map(|k| k.to_string()).collect());
        }
        if data.agents != listed.len() {
            return Err(Error::input(format!(
                "`data.synthetic.agents` is {}, but `network.agents` lists {}",
                data.agents,
                listed.len()
            ))
            .hint("make them the same"));
        }
        Ok(listed.clone())
    }

    /// The names of the agents that share one file, and the rows of each.
    fn split(
        &self,
        file: &Path,
        split: &Split,
        streams: &Streams,
    ) -> Result<(Vec<String>, Vec<Arc<Samples>>)> {
        let path = self.root.join(file);
        let column = match split {
            Split::ByColumn(column) => Some(column.as_str()),
            Split::Parts(..) => None,
        };
        let loaded = self.load(&path, &Reading::default(), column)?;
        let (names, parts) = match split {
            Split::ByColumn(_) => by_label(&loaded.labels.unwrap_or_default()),
            Split::Parts(partition, agents) => {
                let mut rng = streams.rng(Purpose::Layout, "partition", 0);
                let parts = partition.split(&loaded.samples.targets, *agents, &mut rng).map_err(
                    |error| {
                        Error::input(format!("{}: {error}", path.display()))
                            .hint("ask for fewer agents (data.agents)")
                    },
                )?;
                ((1..=*agents).map(|k| k.to_string()).collect(), parts)
            }
        };
        let rows = parts.iter().map(|rows| Arc::new(loaded.samples.select(rows)));
        Ok((names, rows.collect()))
    }

    pub(crate) fn load(
        &self,
        path: &Path,
        reading: &Reading,
        column: Option<&str>,
    ) -> Result<Loaded> {
        let request = Request {
            schema: self.schema.ok_or_else(no_schema)?,
            targets: self.problem.loss.targets(),
            intercept: self.problem.intercept,
            label_column: column,
            task: Task::Fit,
            reading,
        };
        let loaded = load(path, &request)?;
        for note in loaded.counts.note().into_iter().chain(loaded.one_class(request.schema)) {
            (self.note)(&format!("{}: {note}", path.display()));
        }
        Ok(loaded)
    }
}

/// Only generated data do without a schema.
fn no_schema() -> Error {
    Error::input("`schema` is missing: files cannot be read without one")
        .hint("draft one with `dzoa schema infer FILE`, then put public bounds into it")
}

/// The files in the order of `network.agents`, where there is one.
fn in_order<'a>(files: &'a [SiteFile], listed: &[String]) -> Result<Vec<&'a SiteFile>> {
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
        files.iter().find(|site| site.name == *name).ok_or_else(|| {
            Error::input(format!(
                "`data.agents` has no file for {} of `network.agents`",
                shown(name)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::tests::written;
    use crate::reader::{Section, TomlNode};
    use crate::shape::ShapeKeys;
    use dzoa::problem::loss::LOSSES;
    use dzoa::registry::Registry;

    const SCHEMA: &str = r#"
        [schema]
        columns = [
          { name = "x", kind = "numeric", bound = 1 },
          { name = "town", kind = "ignore" },
        ]
        target = { name = "y", kind = "numeric", bound = 1 }
    "#;

    /// The instances of a config without its `[schema]`, over agents that a network lists.
    fn instances(text: &str, root: &Path, listed: &[&str]) -> Result<Instances> {
        let node = TomlNode::parse(&format!("{text}\n{SCHEMA}"), "run.toml")?;
        let file = Section::root(&node);
        let network = file.section("network")?;
        let spec = InstanceSpec {
            problem: &ProblemSpec::read(&file.section("problem")?, &Registry::new(LOSSES), false)?,
            data: &DataSource::read(&file.section("data")?, !listed.is_empty())?.0,
            schema: Some(&Schema::read(&file.section("schema")?)?),
            shape: &ShapeKeys::read(&network)?.shape(&network)?,
            listed: listed.iter().map(|name| name.to_string()).collect(),
            root,
            note: |_| {},
        };
        Instances::prepare(&spec, &Streams::from_seed(1))
    }

    const HEAD: &str = "problem = { loss = \"squared\", eta = 0.1, intercept = true }\n\
                        network = { topology = \"path\" }\n";

    #[test]
    fn a_column_splits_a_file_over_agents_in_the_order_of_their_first_rows() {
        let (_directory, path) = written("rows.csv", "x,town,y\n1,Ulm,1\n0.5,Bonn,0\n0.25,Ulm,1\n");
        let data = "data = { file = \"rows.csv\", partition = \"by-column\", column = \"town\" }";
        let prepared = instances(&format!("{HEAD}{data}"), path.parent().unwrap(), &[]).unwrap();
        assert_eq!(prepared.graph.names(), ["Ulm", "Bonn"]);
        assert_eq!(prepared.columns, ["x", INTERCEPT]);
        assert_eq!((prepared.smallest_agent(), prepared.is_fixed()), (1, true));
        let problem = prepared.problem(&Streams::from_seed(2));
        assert_eq!(problem.agents[0].targets, [1.0, 1.0]);
    }

    #[test]
    fn generated_rows_differ_from_trial_to_trial_and_not_for_the_same_streams() {
        let data = "data = { synthetic = { agents = 2, samples = 3, features = 4 } }";
        let prepared = instances(&format!("{HEAD}{data}"), Path::new(""), &["b", "a"]).unwrap();
        assert_eq!(prepared.graph.names(), ["b", "a"]);
        let targets = |seed| prepared.problem(&Streams::from_seed(seed)).agents[0].targets.clone();
        assert_eq!(targets(1), targets(1));
        assert_ne!(targets(1), targets(2));
    }

    #[test]
    fn agents_without_rows_are_refused() {
        let refused = |data: &str, listed: &[&str]| {
            let outcome = instances(&format!("{HEAD}{data}"), Path::new(""), listed);
            outcome.err().expect("nobody has all rows").to_string()
        };
        assert!(refused("", &["a"]).contains("names no rows"));
        let files = "data = { agents = [{ name = \"a\", file = \"a.csv\" }] }";
        assert!(refused(files, &["b"]).contains("no file for `b`"));
        assert!(refused(files, &["a", "b"]).contains("lists 1 agents, `network.agents` 2"));
        let synthetic = "data = { synthetic = { agents = 3 } }";
        assert!(refused(synthetic, &["a"]).contains("is 3, but `network.agents` lists 1"));
    }
}
