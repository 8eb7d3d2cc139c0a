//! Who talks to whom, from what Python gives.

use crate::run::streams;
use dzoa::network::{Graph, GraphError, Topology};
use dzoa::streams::{Purpose, Streams};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A network as Python describes it: edges between names, or the name of a shape with its
/// parameters.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Network {
    names: Vec<String>,
    edges: Option<Vec<(String, String)>>,
    topology: Option<String>,
    p: Option<f64>,
    k: Option<usize>,
    radius: Option<f64>,
}

impl Network {
    /// The graph; `root` draws the random shapes, as `dzoa run` does.
    pub fn graph(self, root: &Streams) -> PyResult<Graph> {
        let built = match (&self.edges, self.topology.as_deref()) {
            (Some(edges), _) => Graph::from_names(self.names, edges),
            // One agent has nobody to talk to, and two have one edge, whatever the shape.
            (None, _) if self.names.len() <= 2 => {
                let edges: &[(usize, usize)] = if self.names.len() == 2 { &[(0, 1)] } else { &[] };
                Graph::from_edges(self.names, edges)
            }
            (None, name) => {
                let topology = shape(name.unwrap_or("ring"), self.p, self.k, self.radius)?;
                let mut rng = root.rng(Purpose::Layout, "graph", 0);
                Graph::generate(topology, self.names, &mut rng)
            }
        };
        built.map_err(refused)
    }
}

fn shape(name: &str, p: Option<f64>, k: Option<usize>, radius: Option<f64>) -> PyResult<Topology> {
    let p = p.unwrap_or(0.5);
    Ok(match name {
        "paper" => Topology::Paper,
        "ring" => Topology::Ring,
        "path" => Topology::Path,
        "star" => Topology::Star,
        "complete" => Topology::Complete,
        "grid" => Topology::Grid,
        "erdos-renyi" => Topology::ErdosRenyi { p },
        "small-world" => Topology::SmallWorld { k: k.unwrap_or(2), p },
        "geometric" => Topology::Geometric { radius: radius.unwrap_or(0.5) },
        other => {
            return Err(PyValueError::new_err(format!(
                "graph: unknown topology `{other}`; hint: paper, ring, path, star, complete, \
                 grid, erdos-renyi, \
                 small-world, geometric, a list of edges, or a networkx graph"
            )));
        }
    })
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
