//! Networks of a given shape for any number of agents.
//!
//! To add a topology, add a variant to [`Topology`] with its edges, and a row to [`TOPOLOGIES`].
//! Config, `--help`, Python and errors read that table.

use super::{Graph, GraphError};
use crate::registry::{NumberRange, Options, Parameter, RegistryEntry};
use crate::streams::FastRng;
use petgraph::graph::UnGraph;
use petgraph::visit::EdgeRef;
use rand::{Rng, RngExt};
use rustworkx_core::generators as generate;

/// A topology that users can name. A config must give its parameters; Python may leave them out.
pub type TopologyEntry = RegistryEntry<Topology>;

const P: Parameter = Parameter::new("p", NumberRange::Between(0.0, 1.0), 0.5);
const K: Parameter = Parameter::new("k", NumberRange::Count, 2.0);
const RADIUS: Parameter = Parameter::new("radius", NumberRange::Positive, 0.5);

/// All of them, in the order of the documentation.
pub const TOPOLOGIES: &[TopologyEntry] = &[
    fixed("paper", "the five agents of Figure 1", |_| Topology::Paper),
    fixed("ring", "a cycle", |_| Topology::Ring),
    fixed("path", "a line", |_| Topology::Path),
    fixed("star", "one hub", |_| Topology::Star),
    fixed("complete", "everybody with everybody", |_| Topology::Complete),
    fixed("grid", "the most nearly square grid", |_| Topology::Grid),
    TopologyEntry {
        name: "erdos-renyi",
        about: "every edge with probability p",
        parameters: &[P],
        build: |given| Topology::ErdosRenyi { p: given.of(P) },
    },
    TopologyEntry {
        name: "small-world",
        about: "a ring of k nearest neighbours, each edge rewired with probability p",
        parameters: &[K, P],
        build: |given| Topology::SmallWorld { k: given.of(K) as usize, p: given.of(P) },
    },
    TopologyEntry {
        name: "geometric",
        about: "points in the unit square, joined when closer than radius",
        parameters: &[RADIUS],
        build: |given| Topology::Geometric { radius: given.of(RADIUS) },
    },
];

/// A row without parameters.
const fn fixed(
    name: &'static str,
    about: &'static str,
    build: fn(&Options) -> Topology,
) -> TopologyEntry {
    TopologyEntry { name, about, parameters: &[], build }
}

/// Network shapes that can be made for any number of agents.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Topology {
    /// The five agents of Figure 1: a ring and the chord 2-4.
    #[doc(alias = "Figure 1")]
    Paper,
    /// A cycle.
    Ring,
    /// A line.
    Path,
    /// One hub.
    Star,
    /// Everybody with everybody.
    Complete,
    /// The most nearly square grid.
    Grid,
    /// Every edge with probability p.
    ErdosRenyi {
        /// Probability of an edge.
        p: f64,
    },
    /// Watts and Strogatz: a ring of k nearest neighbours, each edge rewired with probability p.
    SmallWorld {
        /// Even number of ring neighbours.
        k: usize,
        /// Probability of rewiring.
        p: f64,
    },
    /// Points in the unit square, joined when closer than the radius.
    Geometric {
        /// The radius.
        radius: f64,
    },
}

impl Topology {
    /// Whether its edges are drawn by chance: two draws may differ.
    pub fn is_random(&self) -> bool {
        matches!(self, Self::ErdosRenyi { .. } | Self::SmallWorld { .. } | Self::Geometric { .. })
    }
}

impl Graph {
    /// A graph of the given shape. Random shapes are drawn again until they are connected.
    pub fn generate(
        topology: Topology,
        names: Vec<String>,
        rng: &mut FastRng,
    ) -> Result<Self, GraphError> {
        const TRIES: usize = 200;
        let agents = names.len();
        if agents == 0 {
            return Err(GraphError::Empty);
        }
        let size = |topology, needs: &str| {
            Err(GraphError::WrongSize { topology, needs: needs.into(), agents })
        };
        let probability = |p: f64| {
            let message = format!("the probability p must lie between 0 and 1, not {p}");
            if (0.0..=1.0).contains(&p) { Ok(()) } else { Err(GraphError::Parameter(message)) }
        };
        let random = match topology {
            Topology::Paper if agents != 5 => return size("paper", "5"),
            Topology::Ring if agents < 3 => return size("ring", "at least 3"),
            Topology::ErdosRenyi { p } => probability(p).map(|()| Some("erdos-renyi"))?,
            Topology::SmallWorld { k, p } => {
                probability(p)?;
                if k < 2 || k % 2 == 1 || k >= agents {
                    return Err(GraphError::Parameter(format!(
                        "small-world needs an even k of at least 2 and below the number of agents \
                         ({agents}), not {k}"
                    )));
                }
                Some("small-world")
            }
            Topology::Geometric { radius } => {
                if !(radius > 0.0 && radius.is_finite()) {
                    return Err(GraphError::Parameter(format!(
                        "the radius must be above 0, not {radius}"
                    )));
                }
                Some("geometric")
            }
            _ => None,
        };
        for _ in 0..TRIES {
            let graph = Self::from_edges(names.clone(), &edges(topology, agents, rng));
            match (graph, random) {
                (Err(GraphError::Disconnected(..)), Some(_)) => {}
                (graph, _) => return graph,
            }
        }
        let topology = random.unwrap_or_default();
        Err(GraphError::NeverConnected { topology, agents, tries: TRIES })
    }
}

fn edges(topology: Topology, agents: usize, rng: &mut FastRng) -> Vec<(usize, usize)> {
    type Any = UnGraph<(), ()>;
    let collect = |graph: Any| {
        graph.edge_references().map(|edge| (edge.source().index(), edge.target().index())).collect()
    };
    const SIZES: &str = "sizes and parameters are checked before";
    match topology {
        Topology::Paper => vec![(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (1, 3)],
        Topology::Ring => {
            collect(generate::cycle_graph(Some(agents), None, || (), || (), false).expect(SIZES))
        }
        Topology::Path => {
            collect(generate::path_graph(Some(agents), None, || (), || (), false).expect(SIZES))
        }
        Topology::Star => collect(
            generate::star_graph(Some(agents), None, || (), || (), false, false).expect(SIZES),
        ),
        Topology::Complete => {
            collect(generate::complete_graph(Some(agents), None, || (), || ()).expect(SIZES))
        }
        Topology::Grid => {
            let rows = (1..=agents.isqrt()).rev().find(|r| agents.is_multiple_of(*r)).unwrap_or(1);
            let columns = agents / rows;
            collect(
                generate::grid_graph(Some(rows), Some(columns), None, || (), || (), false)
                    .expect(SIZES),
            )
        }
        Topology::ErdosRenyi { p } => collect(
            generate::gnp_random_graph(agents, p, Some(rng.next_u64()), || (), || ()).expect(SIZES),
        ),
        Topology::Geometric { radius } => {
            let graph: UnGraph<Vec<f64>, ()> = generate::random_geometric_graph(
                agents,
                radius,
                2,
                None,
                2.0,
                Some(rng.next_u64()),
                || (),
            )
            .expect(SIZES);
            graph.edge_references().map(|e| (e.source().index(), e.target().index())).collect()
        }
        Topology::SmallWorld { k, p } => small_world(agents, k, p, rng),
    }
}

/// Watts and Strogatz (1998); the graph crates at hand have no generator for it.
fn small_world(agents: usize, k: usize, p: f64, rng: &mut FastRng) -> Vec<(usize, usize)> {
    let order = |a: usize, b: usize| (a.min(b), a.max(b));
    let mut edges = std::collections::BTreeSet::new();
    for step in 1..=k / 2 {
        for a in 0..agents {
            edges.insert(order(a, (a + step) % agents));
        }
    }
    for step in 1..=k / 2 {
        for a in 0..agents {
            let old = order(a, (a + step) % agents);
            if rng.random::<f64>() < p {
                let target = rng.random_range(0..agents);
                if target != a && !edges.contains(&order(a, target)) {
                    edges.remove(&old);
                    edges.insert(order(a, target));
                }
            }
        }
    }
    edges.into_iter().collect()
}
