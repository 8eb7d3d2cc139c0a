//! Who talks to whom, from what Python gives.

use crate::run::streams;
use dzoa::network::{Graph, GraphError, TOPOLOGIES, Topology};
use dzoa::registry::Registry;
use dzoa::streams::{Purpose, Streams};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::collections::BTreeMap;

/// A network as Python describes it: edges between names, or the name of a shape with its
/// parameters.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Network {
    names: Vec<String>,
    edges: Option<Vec<(String, String)>>,
    topology: Option<String>,
    parameters: BTreeMap<String, f64>,
}

impl Network {
    /// The graph; `root` draws the random shapes, as `dzoa run` does.
    pub fn graph(self, root: &Streams) -> PyResult<Graph> {
        self.check_keys()?;
        let built = match (&self.edges, self.topology.as_deref()) {
            (Some(edges), _) => Graph::from_names(self.names, edges),
            // One agent has nobody to talk to, and two have one edge, whatever the shape.
            (None, _) if self.names.len() <= 2 => {
                let edges: &[(usize, usize)] = if self.names.len() == 2 { &[(0, 1)] } else { &[] };
                Graph::from_edges(self.names, edges)
            }
            (None, name) => {
                let topology = shape(name.unwrap_or("ring"), &self.parameters)?;
                let mut rng = root.rng(Purpose::Layout, "graph", 0);
                Graph::generate(topology, self.names, &mut rng)
            }
        };
        built.map_err(refused)
    }

    fn check_keys(&self) -> PyResult<()> {
        let known = Registry::new(TOPOLOGIES).parameters();
        let keys: Vec<&str> = known.iter().map(|parameter| parameter.key).collect();
        match self.parameters.keys().find(|key| !keys.contains(&key.as_str())) {
            None => Ok(()),
            Some(unknown) => Err(PyValueError::new_err(format!(
                "graph: unknown key `{unknown}`; hint: topology, {}",
                keys.join(", ")
            ))),
        }
    }
}

fn shape(name: &str, given: &BTreeMap<String, f64>) -> PyResult<Topology> {
    let known = Registry::new(TOPOLOGIES);
    let Some(entry) = known.entry(name) else {
        return Err(PyValueError::new_err(format!(
            "graph: unknown topology `{name}`; hint: {}, a list of edges, or a networkx graph",
            known.names().join(", ")
        )));
    };
    entry
        .from_numbers(|key| given.get(key).copied())
        .map_err(|error| PyValueError::new_err(format!("graph: {error}")))
}

fn refused(error: GraphError) -> PyErr {
    PyValueError::new_err(format!("graph: {error}"))
}

/// The edges of a network, by position.
#[pyfunction]
pub fn edges(network: Network, seed: Option<u64>) -> PyResult<Vec<(usize, usize)>> {
    let (_, root) = streams(seed)?;
    Ok(network.graph(&root)?.edges().collect())
}
