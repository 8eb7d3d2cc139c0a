//! The keys of `[network]` that say who talks to whom, and the graph that they give.

use crate::error::{Error, Result};
use crate::reader::{Named, Section, TomlNode};
use dzoa::network::{Graph, GraphError, TOPOLOGIES, Topology, TopologyEntry};
use dzoa::registry::Registry;
use dzoa::streams::{Purpose, Streams};

/// Who talks to whom.
#[derive(Debug)]
pub enum Shape {
    /// Generated.
    Topology(Topology),
    /// Given.
    Edges(Vec<(String, String)>),
}

/// The keys of a [`Shape`] as written. They are read before `[network]` is finished, so that an
/// unknown key is named first, and checked after it.
#[derive(Debug)]
pub struct ShapeKeys {
    known: Registry<Topology>,
    topology: Named,
    edges: Option<Vec<Vec<String>>>,
}

impl ShapeKeys {
    /// Reads the keys of `[network]`.
    pub fn read(section: &Section<'_>) -> Result<Self> {
        let known = Registry::new(TOPOLOGIES);
        let topology = Named::read(section, "topology", &known, &["edges"])?;
        Ok(Self { known, topology, edges: section.optional("edges")? })
    }

    /// The shape, if the keys go together.
    pub fn shape(self, section: &Section<'_>) -> Result<Shape> {
        self.topology.check(section, &self.known)?;
        match (self.topology.entry(&self.known), &self.edges) {
            (None, Some(edges)) => Ok(Shape::Edges(pairs(section, edges)?)),
            (Some(_), Some(_)) => Err(section
                .error("edges", "is given beside another topology")
                .hint("remove `topology`: edges imply it")),
            (None, None) if self.topology.name.is_some() => Err(missing(section, "edges")),
            (None, None) => Err(section
                .error("topology", "is missing, and so is `network.edges`")
                .hint("for example topology = \"ring\", or edges = [[\"a\", \"b\"], ...]")),
            (Some(entry), None) => Ok(Shape::Topology(self.topology(section, entry)?)),
        }
    }

    /// All parameters must be given: who reads the config should see what the network is.
    fn topology(&self, section: &Section<'_>, entry: &TopologyEntry) -> Result<Topology> {
        let given = &self.topology.given;
        match entry.parameters.iter().find(|parameter| given.get(parameter.key).is_none()) {
            Some(parameter) => Err(missing(section, parameter.key)),
            None => Ok((entry.build)(given)),
        }
    }
}

fn missing(section: &Section<'_>, key: &'static str) -> Error {
    section.required::<TomlNode>(key).expect_err("the key is missing")
}

fn pairs(section: &Section<'_>, edges: &[Vec<String>]) -> Result<Vec<(String, String)>> {
    let pair = |edge: &Vec<String>| match edge.as_slice() {
        [a, b] => Ok((a.clone(), b.clone())),
        other => Err(section
            .error("edges", &format!("holds an entry of {} names; an edge has two", other.len()))),
    };
    edges.iter().map(pair).collect()
}

impl Shape {
    /// The network over agents of these names.
    pub fn graph(&self, names: Vec<String>, streams: &Streams) -> Result<Graph> {
        let listed = names.join(", ");
        let graph = match self {
            Shape::Edges(edges) => Graph::from_names(names, edges),
            Shape::Topology(topology) => {
                let mut rng = streams.rng(Purpose::Layout, "graph", 0);
                Graph::generate(*topology, names, &mut rng)
            }
        };
        graph.map_err(|error| {
            let hint = hint(&error, &listed);
            Error::input(format!("`network`: {error}")).hint(hint)
        })
    }
}

fn hint(error: &GraphError, agents: &str) -> String {
    match error {
        GraphError::UnknownName(..) => format!("the agents are: {agents}"),
        GraphError::Disconnected(..) => "add edges until every agent can reach every other".into(),
        GraphError::SelfEdge(_) => "self-loops are the option network.self_loop, not edges".into(),
        GraphError::DuplicateEdge(..) => "edges are undirected: list each once".into(),
        GraphError::DuplicateName(_) => "give every agent a name of its own".into(),
        GraphError::WrongSize { .. } => {
            "choose another topology, for example ring or complete".into()
        }
        GraphError::NeverConnected { .. } => "raise p or radius, or choose another topology".into(),
        GraphError::Parameter(_) | GraphError::Empty => "see `network` in the config".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> Result<Shape> {
        let node = TomlNode::parse(&format!("[network]\n{text}"), "run.toml")?;
        let section = Section::root(&node).section("network")?;
        ShapeKeys::read(&section)?.shape(&section)
    }

    fn graph(text: &str) -> Result<Graph> {
        shape(text)?.graph(["a", "b", "c"].map(String::from).into(), &Streams::from_seed(1))
    }

    #[test]
    fn edges_and_topologies_become_graphs() {
        let edges = graph(r#"edges = [["a", "b"], ["c", "b"]]"#).unwrap();
        assert_eq!(edges.edges().collect::<Vec<_>>(), [(0, 1), (1, 2)]);
        assert_eq!(graph(r#"topology = "ring""#).unwrap().edges().count(), 3);
    }

    #[test]
    fn every_topology_of_the_table_can_be_written_in_a_config() {
        for entry in TOPOLOGIES {
            let numbers = entry.parameters.iter().map(|p| format!("{} = {}", p.key, p.default));
            let numbers: Vec<String> = numbers.collect();
            let text = format!("topology = \"{}\"\n{}", entry.name, numbers.join("\n"));
            let names = ["a", "b", "c", "d", "e"].map(String::from).into();
            let graph = shape(&text).unwrap().graph(names, &Streams::from_seed(1)).unwrap();
            // Every agent is reached: `Graph` refuses any other.
            assert!(graph.edges().count() >= 4, "{text}");
        }
    }

    #[test]
    fn keys_that_do_not_go_together_are_refused() {
        for (text, expected) in [
            ("", "`network.topology` is missing"),
            ("topology = \"edges\"", "`network.edges` is missing"),
            ("topology = \"ring\"\nedges = []", "beside another topology"),
            ("topology = \"ring\"\np = 0.5", "has no effect without an erdos-renyi"),
            ("topology = \"erdos-renyi\"", "`network.p` is missing"),
            ("topology = \"small-world\"\np = 0.5", "`network.k` is missing"),
            ("edges = [[\"a\"]]", "an entry of 1 names"),
            ("edges = [[\"a\", \"d\"]]", "the agents are: a, b, c"),
        ] {
            let message = graph(text).expect_err(text).to_string();
            assert!(message.contains(expected), "{text}: {message}");
        }
    }
}
