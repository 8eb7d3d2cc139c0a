//! Who talks to whom, the weights of gossip, and the matrices that Theorem 3 needs.

use faer::{Mat, Side};
use petgraph::algo::tarjan_scc;
use petgraph::graph::UnGraph;
use std::collections::HashMap;
use thiserror::Error;

/// A network that cannot be used.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum GraphError {
    /// No agents.
    #[error("a network needs at least one agent")]
    Empty,
    /// Two agents of the same name.
    #[error("two agents are called `{0}`")]
    DuplicateName(String),
    /// An edge names an agent that is not there.
    #[error("edge `{0}` - `{1}` names the unknown agent `{2}`")]
    UnknownName(String, String, String),
    /// An edge from an agent to itself.
    #[error("agent `{0}` has an edge to itself")]
    SelfEdge(String),
    /// An edge that occurs twice.
    #[error("edge `{0}` - `{1}` occurs twice")]
    DuplicateEdge(String, String),
    /// Some agent cannot be reached.
    #[error("the network is not connected: `{0}` cannot reach `{1}`")]
    Disconnected(String, String),
    /// A topology that needs another number of agents.
    #[error("topology {topology} needs {needs} agents, not {agents}")]
    WrongSize {
        /// The topology.
        topology: &'static str,
        /// What it needs.
        needs: String,
        /// What there is.
        agents: usize,
    },
    /// A parameter outside its range.
    #[error("{0}")]
    Parameter(String),
    /// Random graphs of these parameters are almost never connected.
    #[error("{tries} random {topology} graphs over {agents} agents were all disconnected")]
    NeverConnected {
        /// The topology.
        topology: &'static str,
        /// Agents.
        agents: usize,
        /// Draws made.
        tries: usize,
    },
}

/// A connected undirected graph of named agents.
///
/// ```
/// use dzoa::network::Graph;
/// let names = ["a", "b", "c"].map(String::from).to_vec();
/// let graph = Graph::from_names(names, &[("a", "b"), ("b", "c")])?;
/// assert_eq!(graph.neighbours(1), [0, 2]);
/// assert_eq!(graph.neighbourhood(1, true), 3); // the paper counts the agent itself
/// # Ok::<(), dzoa::network::GraphError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    names: Vec<String>,
    neighbours: Vec<Vec<usize>>,
}

impl Graph {
    /// A graph from names and edges between names.
    pub fn from_names<S: AsRef<str>>(
        names: Vec<String>,
        edges: &[(S, S)],
    ) -> Result<Self, GraphError> {
        let index: HashMap<&str, usize> =
            names.iter().enumerate().map(|(i, name)| (name.as_str(), i)).collect();
        let find = |a: &str, b: &str, name: &str| {
            index.get(name).copied().ok_or_else(|| {
                GraphError::UnknownName(a.to_string(), b.to_string(), name.to_string())
            })
        };
        let edges = edges
            .iter()
            .map(|(a, b)| {
                let (a, b) = (a.as_ref(), b.as_ref());
                Ok((find(a, b, a)?, find(a, b, b)?))
            })
            .collect::<Result<Vec<_>, _>>()?;
        Self::from_edges(names, &edges)
    }

    /// A graph from names and edges between their positions.
    pub fn from_edges(names: Vec<String>, edges: &[(usize, usize)]) -> Result<Self, GraphError> {
        if names.is_empty() {
            return Err(GraphError::Empty);
        }
        let mut seen = HashMap::new();
        for name in &names {
            if seen.insert(name, ()).is_some() {
                return Err(GraphError::DuplicateName(name.clone()));
            }
        }
        let mut graph = UnGraph::<(), ()>::with_capacity(names.len(), edges.len());
        let nodes: Vec<_> = names.iter().map(|_| graph.add_node(())).collect();
        let mut neighbours = vec![Vec::new(); names.len()];
        for &(a, b) in edges {
            let name = |i: usize| names.get(i).cloned().unwrap_or_else(|| format!("#{i}"));
            if a.max(b) >= names.len() {
                return Err(GraphError::UnknownName(name(a), name(b), name(a.max(b))));
            }
            if a == b {
                return Err(GraphError::SelfEdge(name(a)));
            }
            if neighbours[a].contains(&b) {
                return Err(GraphError::DuplicateEdge(name(a), name(b)));
            }
            neighbours[a].push(b);
            neighbours[b].push(a);
            graph.add_edge(nodes[a], nodes[b], ());
        }
        let components = tarjan_scc(&graph);
        if let [first, second, ..] = components.as_slice() {
            let name = |node: petgraph::graph::NodeIndex| names[node.index()].clone();
            return Err(GraphError::Disconnected(name(first[0]), name(second[0])));
        }
        // A fixed order of neighbours fixes the order of every sum over them.
        neighbours.iter_mut().for_each(|list| list.sort_unstable());
        Ok(Self { names, neighbours })
    }

    /// K.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Never true: a graph has an agent.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The agents' names.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The neighbours of agent k, without k, in ascending order.
    pub fn neighbours(&self, k: usize) -> &[usize] {
        &self.neighbours[k]
    }

    /// `|N_k|`: the degree, and one more with the paper's self-loops.
    #[doc(alias = "neighbourhood N_k")]
    pub fn neighbourhood(&self, k: usize, self_loop: bool) -> usize {
        self.neighbours[k].len() + usize::from(self_loop)
    }

    /// Every edge once, the smaller position first.
    pub fn edges(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        (0..self.len()).flat_map(move |a| {
            self.neighbours[a].iter().filter(move |&&b| a < b).map(move |&b| (a, b))
        })
    }

    /// How often a vector crosses a link when each of so many floods the network: every link
    /// carries each of them once in each direction.
    pub fn flooded(&self, vectors: u64) -> u64 {
        2 * self.edges().count() as u64 * vectors
    }

    /// `L+ = D + A (+ 2I)`, the signless Laplacian; with self-loops as in the paper.
    #[doc(alias = "L+")]
    pub fn signless_laplacian(&self, self_loop: bool) -> Mat<f64> {
        let diagonal = if self_loop { 2.0 } else { 0.0 };
        self.matrix(1.0, diagonal)
    }

    /// `L- = D - A`, the Laplacian. Self-loops cancel in it.
    #[doc(alias = "L-")]
    pub fn laplacian(&self) -> Mat<f64> {
        self.matrix(-1.0, 0.0)
    }

    /// `H = (L+ + L-)/2 = D (+ I)`, the diagonal of the neighbourhood sizes.
    #[doc(alias = "H")]
    pub fn neighbourhood_matrix(&self, self_loop: bool) -> Mat<f64> {
        0.5 * (self.signless_laplacian(self_loop) + self.laplacian())
    }

    /// `lambda_max(L+)` and the smallest non-zero eigenvalue of `L-`, for Theorem 3.
    ///
    /// `None` for a single agent, whose Laplacian is zero, or where the eigenvalues did not
    /// converge.
    #[doc(alias = "lambda_max")]
    #[doc(alias = "lambda_min")]
    pub fn extreme_eigenvalues(&self, self_loop: bool) -> Option<(f64, f64)> {
        let plus = self.signless_laplacian(self_loop).self_adjoint_eigenvalues(Side::Lower).ok()?;
        let minus = self.laplacian().self_adjoint_eigenvalues(Side::Lower).ok()?;
        // A connected graph has exactly one zero eigenvalue; they come in ascending order.
        Some((*plus.last()?, *minus.get(1)?))
    }

    /// Metropolis weights of agent k's neighbours: symmetric over the network, so that averaging
    /// with them keeps the mean.
    pub fn gossip_weights(&self, k: usize) -> Vec<f64> {
        let degree = |k: usize| self.neighbours[k].len();
        let weight = |l: &usize| 1.0 / (1 + degree(k).max(degree(*l))) as f64;
        self.neighbours[k].iter().map(weight).collect()
    }

    /// How many rounds of gossip bring all agents to within this fraction of their disagreement, at
    /// most a thousand.
    pub fn gossip_rounds(&self, fraction: f64) -> u64 {
        const MOST: u64 = 1000;
        const LARGEST: usize = 1000;
        if self.len() == 1 {
            return 0;
        }
        if self.len() > LARGEST {
            return MOST;
        }
        let mut mixing = Mat::zeros(self.len(), self.len());
        for k in 0..self.len() {
            let weights = self.gossip_weights(k);
            mixing[(k, k)] = 1.0 - weights.iter().sum::<f64>();
            for (&l, weight) in self.neighbours[k].iter().zip(weights) {
                mixing[(k, l)] = weight;
            }
        }
        let Ok(values) = mixing.self_adjoint_eigenvalues(Side::Lower) else { return MOST };
        // In ascending order; the largest is 1, for the mean.
        let slowest = values[0].abs().max(values[self.len() - 2].abs());
        if slowest <= fraction {
            return 1;
        }
        let rounds = fraction.ln() / slowest.ln();
        if rounds.is_finite() { (rounds.ceil() as u64).clamp(1, MOST) } else { MOST }
    }

    fn matrix(&self, off_diagonal: f64, extra: f64) -> Mat<f64> {
        let mut matrix = Mat::zeros(self.len(), self.len());
        for k in 0..self.len() {
            matrix[(k, k)] = self.neighbours[k].len() as f64 + extra;
            for &l in &self.neighbours[k] {
                matrix[(k, l)] = off_diagonal;
            }
        }
        matrix
    }
}
