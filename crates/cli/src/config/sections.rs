//! The tables of a config, one struct each.

use crate::error::Result;
use crate::reader::{FromNode, Node, Section, Value};
use dzoa::graph::Topology;
use dzoa::prelude::*;
use dzoa::problem::synthetic::Synthetic;
use std::path::PathBuf;
use std::sync::Arc;

/// `[problem]`
#[derive(Debug)]
pub struct ProblemSpec {
    /// The loss.
    pub loss: Arc<dyn Loss>,
    /// The regulariser; groups may still be names.
    pub regularizer: Regularizer,
    /// Groups of columns by index or name, for `group-l1`.
    pub groups: Vec<Vec<ColumnRef>>,
    /// eta.
    pub eta: f64,
    /// Mean or sum.
    pub scale: Scale,
    /// A constant column.
    pub intercept: bool,
}

/// A column by position or by name.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnRef {
    /// Counted from 0.
    Index(usize),
    /// As in the schema.
    Name(String),
}

impl FromNode for ColumnRef {
    const EXPECTED: &'static str = "a column index or name";
    fn from_node(node: &Node) -> Option<Self> {
        usize::from_node(node)
            .map(ColumnRef::Index)
            .or_else(|| String::from_node(node).map(ColumnRef::Name))
    }
}

impl ProblemSpec {
    pub(super) fn read(section: &Section<'_>) -> Result<Self> {
        let words = ["squared", "absolute", "huber", "pinball", "logistic", "hinge", "external"];
        let Some(name) = section.choice("loss", &words)? else {
            return Err(section.required::<String>("loss").expect_err("the key is missing"));
        };
        let delta = section.positive("huber_delta")?;
        let quantile =
            section.number("quantile", |q| q > 0.0 && q < 1.0, "strictly between 0 and 1")?;
        let loss: Arc<dyn Loss> = match name {
            "squared" => Arc::new(Squared),
            "absolute" => Arc::new(Absolute),
            "huber" => Arc::new(Huber { delta: delta.unwrap_or(1.0) }),
            "pinball" => Arc::new(Pinball { quantile: quantile.unwrap_or(0.5) }),
            "logistic" => Arc::new(Logistic),
            "hinge" => Arc::new(Hinge),
            _ => {
                return Err(section
                    .error("loss", "is `external`, which this version cannot run yet")
                    .hint("the built-in losses are squared, absolute, huber, pinball, logistic, hinge; the library takes any objective through dzoa::problem::BlackBox"));
            }
        };
        only_with(section, "huber_delta", delta.is_some(), "loss = \"huber\"", name == "huber")?;
        only_with(
            section,
            "quantile",
            quantile.is_some(),
            "loss = \"pinball\"",
            name == "pinball",
        )?;
        let words = ["l1", "l2", "elastic-net", "group-l1", "none"];
        let kind = section.choice("regularizer", &words)?.unwrap_or("l1");
        let ratio = section.number("l1_ratio", |r| (0.0..=1.0).contains(&r), "between 0 and 1")?;
        let groups: Option<Vec<Vec<ColumnRef>>> = section.optional("groups")?;
        let elastic = kind == "elastic-net";
        only_with(section, "l1_ratio", ratio.is_some(), "regularizer = \"elastic-net\"", elastic)?;
        let grouped = kind == "group-l1";
        only_with(section, "groups", groups.is_some(), "regularizer = \"group-l1\"", grouped)?;
        let groups = if grouped { section.required("groups")? } else { Vec::new() };
        let regularizer = match kind {
            "l1" => Regularizer::L1,
            "l2" => Regularizer::L2,
            "elastic-net" => Regularizer::ElasticNet { l1_ratio: ratio.unwrap_or(0.5) },
            "group-l1" => Regularizer::GroupL1 { groups: Vec::new() },
            _ => Regularizer::None,
        };
        let eta = match section.non_negative("eta")? {
            Some(eta) => eta,
            None if matches!(regularizer, Regularizer::None) => 0.0,
            None => section.required("eta")?,
        };
        let scale = match section.choice("scale", &["mean", "sum"])? {
            Some("sum") => Scale::Sum,
            _ => Scale::Mean,
        };
        let intercept = section.or("intercept", false)?;
        section.finish()?;
        Ok(Self { loss, regularizer, groups, eta, scale, intercept })
    }

    /// The regulariser with its groups resolved against the column names.
    pub fn regularizer(&self, names: &[String]) -> Result<Regularizer> {
        use crate::error::{Error, shown};
        let Regularizer::GroupL1 { .. } = self.regularizer else {
            return Ok(self.regularizer.clone());
        };
        let mut taken = vec![false; names.len()];
        let mut find = |column: &ColumnRef| {
            let (index, label) = match column {
                ColumnRef::Index(index) => {
                    ((*index < names.len()).then_some(*index), index.to_string())
                }
                ColumnRef::Name(name) => {
                    (names.iter().position(|known| known == name), name.clone())
                }
            };
            let index = index.ok_or_else(|| {
                let known: Vec<&str> = names.iter().map(String::as_str).collect();
                Error::input(format!("`problem.groups` names the unknown column {}", shown(&label)))
                    .hint(crate::reader::suggestion(&label, &known))
            })?;
            if std::mem::replace(&mut taken[index], true) {
                return Err(Error::input(format!(
                    "`problem.groups` holds the column {} twice",
                    shown(&label)
                ))
                .hint("groups must not overlap"));
            }
            Ok(index)
        };
        let groups = self
            .groups
            .iter()
            .map(|group| group.iter().map(&mut find).collect::<Result<Vec<_>>>())
            .collect::<Result<Vec<_>>>()?;
        Ok(Regularizer::GroupL1 { groups })
    }
}

/// A key that was given although what it belongs to was not chosen.
fn only_with(
    section: &Section<'_>,
    key: &str,
    given: bool,
    owner: &str,
    chosen: bool,
) -> Result<()> {
    if given && !chosen {
        return Err(section
            .error(key, &format!("has no effect without {owner}"))
            .hint(format!("remove it, or set {owner}")));
    }
    Ok(())
}

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
}

/// How one file is split.
#[derive(Clone, Debug, PartialEq)]
pub enum Split {
    /// Into this many parts.
    Parts(dzoa::problem::partition::Partition, usize),
    /// One agent per value of a column.
    ByColumn(String),
}

impl DataSource {
    pub(super) fn read(section: &Section<'_>) -> Result<(Self, PathBuf)> {
        use dzoa::problem::partition::Partition;
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

/// `[network]`
#[derive(Debug)]
pub struct Network {
    /// A shape, or edges by name.
    pub shape: Shape,
    /// Self-inclusive neighbourhoods.
    pub self_loop: bool,
}

/// Who talks to whom.
#[derive(Debug)]
pub enum Shape {
    /// Generated.
    Topology(Topology),
    /// Given.
    Edges(Vec<(String, String)>),
}

impl Network {
    pub(super) fn read(section: &Section<'_>) -> Result<Self> {
        let words = [
            "paper",
            "ring",
            "path",
            "star",
            "complete",
            "grid",
            "erdos-renyi",
            "small-world",
            "geometric",
            "edges",
        ];
        let topology = section.choice("topology", &words)?;
        let edges: Option<Vec<Vec<String>>> = section.optional("edges")?;
        let p = section.number("p", |p| (0.0..=1.0).contains(&p), "between 0 and 1")?;
        let k = section.count("k")?;
        let radius = section.positive("radius")?;
        let self_loop = section.or("self_loop", true)?;
        section.finish()?;
        let random = matches!(topology, Some("erdos-renyi" | "small-world"));
        only_with(section, "p", p.is_some(), "an erdos-renyi or small-world topology", random)?;
        let small = topology == Some("small-world");
        only_with(section, "k", k.is_some(), "topology = \"small-world\"", small)?;
        let geometric = topology == Some("geometric");
        only_with(section, "radius", radius.is_some(), "topology = \"geometric\"", geometric)?;
        let missing = |key| section.required::<Node>(key).expect_err("the key is missing");
        let shape = match (topology, edges) {
            (None | Some("edges"), Some(edges)) => {
                let pairs = edges.into_iter().map(|pair| match <[String; 2]>::try_from(pair) {
                    Ok([a, b]) => Ok((a, b)),
                    Err(other) => Err(section.error(
                        "edges",
                        &format!("holds an entry of {} names; an edge has two", other.len()),
                    )),
                });
                Shape::Edges(pairs.collect::<Result<_>>()?)
            }
            (Some(_), Some(_)) => {
                return Err(section
                    .error("edges", "is given beside another topology")
                    .hint("remove `topology`: edges imply it"));
            }
            (Some("edges"), None) => return Err(missing("edges")),
            (None, None) => {
                return Err(section
                    .error("topology", "is missing, and so is `network.edges`")
                    .hint("for example topology = \"ring\", or edges = [[\"a\", \"b\"], ...]"));
            }
            (Some(word), None) => Shape::Topology(match word {
                "paper" => Topology::Paper,
                "ring" => Topology::Ring,
                "path" => Topology::Path,
                "star" => Topology::Star,
                "complete" => Topology::Complete,
                "grid" => Topology::Grid,
                "erdos-renyi" => Topology::ErdosRenyi { p: p.ok_or_else(|| missing("p"))? },
                "small-world" => Topology::SmallWorld {
                    k: k.ok_or_else(|| missing("k"))?,
                    p: p.ok_or_else(|| missing("p"))?,
                },
                _ => Topology::Geometric { radius: radius.ok_or_else(|| missing("radius"))? },
            }),
        };
        Ok(Self { shape, self_loop })
    }
}

/// One number for all agents, or one for each.
#[derive(Clone, Debug, PartialEq)]
pub enum PerAgent {
    /// The same for all.
    All(f64),
    /// In the order of the agents.
    Each(Vec<f64>),
}

impl PerAgent {
    fn read(section: &Section<'_>, key: &'static str) -> Result<Option<Self>> {
        let Some(node) = section.node(key) else { return Ok(None) };
        let values = match f64::from_node(node) {
            Some(value) => Self::All(value),
            None => Self::Each(Vec::<f64>::from_node(node).ok_or_else(|| {
                section.error(key, "must be a number, or an array with one number per agent")
            })?),
        };
        let all = match &values {
            Self::All(value) => std::slice::from_ref(value),
            Self::Each(values) => values,
        };
        match all.iter().find(|value| !(**value > 0.0 && value.is_finite())) {
            Some(bad) => {
                Err(section.error(key, &format!("must be a finite number above 0, not {bad}")))
            }
            None => Ok(Some(values)),
        }
    }

    /// The value for agent k of K; the length is checked when the agents are known.
    pub fn at(&self, k: usize) -> f64 {
        match self {
            Self::All(value) => *value,
            Self::Each(values) => values[k],
        }
    }

    /// Refuses an array of another length than the number of agents.
    pub fn check(&self, key: &str, agents: usize) -> Result<()> {
        match self {
            Self::Each(values) if values.len() != agents => Err(crate::error::Error::input(
                format!("`{key}` has {} numbers for {agents} agents", values.len()),
            )
            .hint("give one number for all agents, or one for each")),
            _ => Ok(()),
        }
    }
}

/// `[algorithm]`
#[derive(Debug)]
pub struct Algorithm {
    /// Which primal step.
    pub solver: Solver,
    /// Outer loop; `self_loop` is filled in from `[network]`.
    pub admm: Admm,
    /// Which estimate agents report.
    pub average: Average,
}

/// The primal step.
#[derive(Debug)]
pub enum Solver {
    /// The two-point zeroth-order loop.
    ZerothOrder {
        /// T, J, u1 and the like; step and L are per agent.
        inner: ZerothOrder,
        /// `alpha0 R`, if given.
        step: Option<PerAgent>,
        /// L.
        lipschitz: PerAgent,
    },
    /// The exact solver.
    Exact {
        /// Distance to the minimiser, if given.
        tolerance: Option<f64>,
    },
}

/// `algorithm.average`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Average {
    /// The last release.
    None,
    /// The mean over the second half of the rounds.
    LastHalf,
    /// And then over the agents.
    Network,
}

impl Algorithm {
    pub(super) fn read(section: &Section<'_>, privacy: &Privacy) -> Result<Self> {
        const LATER: [&str; 10] = [
            "dp-admm",
            "pvp",
            "dvp",
            "p-admm",
            "m-admm",
            "r-admm",
            "ps-admm",
            "projected-gradient",
            "objective-perturbation",
            "dp-gd",
        ];
        let words: Vec<&'static str> = ["d-zoa", "admm"].into_iter().chain(LATER).collect();
        let name = section.choice("name", &words)?.unwrap_or("d-zoa");
        if LATER.contains(&name) {
            return Err(section
                .error("name", &format!("is `{name}`, which this version cannot run yet"))
                .hint("d-zoa and admm are there"));
        }
        let Some(rho) = section.positive("rho")? else {
            return Err(section.required::<f64>("rho").expect_err("the key is missing"));
        };
        let Some(rounds) = section.count("rounds")? else {
            return Err(section.required::<usize>("rounds").expect_err("the key is missing"));
        };
        let standard = ZerothOrder::default();
        let inner = ZerothOrder {
            inner_steps: section.count("inner_steps")?.unwrap_or(standard.inner_steps),
            directions: section.count("directions")?.unwrap_or(standard.directions),
            smoothing: section.positive("smoothing")?.unwrap_or(standard.smoothing),
            inner_average: section.or("inner_average", false)?,
            ..standard
        };
        let step = PerAgent::read(section, "step")?;
        let lipschitz = PerAgent::read(section, "lipschitz")?.unwrap_or(PerAgent::All(1.0));
        let intrinsic = matches!(privacy.mechanism, Mechanism::Intrinsic { .. });
        let warm_start = section.or("warm_start", !intrinsic)?;
        let words = ["auto", "none", "last-half", "network"];
        let average = match section.choice("average", &words)? {
            Some("last-half") => Average::LastHalf,
            Some("network") => Average::Network,
            _ => Average::None,
        };
        let options = section.section("options")?;
        let tolerance = options.positive("tolerance")?;
        options.finish()?;
        section.finish()?;
        let solver = if name == "admm" {
            if intrinsic {
                return Err(section
                    .error("name", "is `admm`, whose exact inner solver has no intrinsic noise")
                    .hint("set privacy.mechanism = \"none\", or algorithm.name = \"d-zoa\""));
            }
            only_with(section, "step", step.is_some(), "algorithm.name = \"d-zoa\"", false)?;
            Solver::Exact { tolerance }
        } else {
            only_with(
                &options,
                "tolerance",
                tolerance.is_some(),
                "algorithm.name = \"admm\"",
                false,
            )?;
            if intrinsic {
                only_with(
                    section,
                    "step",
                    step.is_some(),
                    "another mechanism: intrinsic takes it from Corollary 1",
                    false,
                )?;
            }
            Solver::ZerothOrder { inner, step, lipschitz }
        };
        let admm = Admm { rho, rounds: rounds as u64, self_loop: true, warm_start };
        Ok(Self { solver, admm, average })
    }

    /// The name users type.
    pub fn name(&self) -> &'static str {
        match self.solver {
            Solver::ZerothOrder { .. } => "d-zoa",
            Solver::Exact { .. } => "admm",
        }
    }
}

/// `[privacy]`
#[derive(Debug)]
pub struct Privacy {
    /// What protects, or claims to.
    pub mechanism: Mechanism,
}

/// The mechanism.
#[derive(Debug)]
pub enum Mechanism {
    /// The paper's, nominal.
    Intrinsic {
        /// Per round.
        epsilon: f64,
        /// Per round and in total, as the paper.
        delta: f64,
        /// The constant of Lemma 2.
        c: PerAgent,
        /// The term of Corollary 1 that needs the optimum.
        optimum_norm: OptimumNorm,
    },
    /// None.
    None,
}

/// `privacy.optimum_norm_squared`
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OptimumNorm {
    /// A public bound.
    Bound(f64),
    /// The true optimum, as the paper.
    Replicate,
}

impl Mechanism {
    /// The name users type.
    pub fn name(&self) -> &'static str {
        match self {
            Mechanism::Intrinsic { .. } => "intrinsic",
            Mechanism::None => "none",
        }
    }
}

impl Privacy {
    pub(super) fn read(section: &Section<'_>) -> Result<Self> {
        let words = ["intrinsic", "output", "scalar", "none"];
        let Some(name) = section.choice("mechanism", &words)? else {
            return Err(section
                .required::<String>("mechanism")
                .expect_err("the key is missing")
                .hint(
                    "choose: \"none\" promises nothing; \"intrinsic\" is the paper's, nominal only",
                ));
        };
        if matches!(name, "output" | "scalar") {
            return Err(section
                .error("mechanism", &format!("is `{name}`, which this version cannot run yet"))
                .hint(
                    "only `none` and the nominal `intrinsic` are there: neither is a guarantee",
                ));
        }
        let valid = |delta: f64| delta > 0.0 && delta < 1.0;
        let delta = section.number("delta", valid, "strictly between 0 and 1")?;
        let in_range = |epsilon: f64| epsilon > 0.0 && epsilon <= 1.0;
        let epsilon =
            section.number("epsilon", in_range, "above 0 and at most 1 (Theorem 1's range)")?;
        let c = PerAgent::read(section, "c")?;
        let norm = match section.node("optimum_norm_squared") {
            Some(Node { value: Value::String(word), .. }) if word == "replicate" => {
                OptimumNorm::Replicate
            }
            Some(Node { value: Value::String(_), .. }) => {
                return Err(
                    section.error("optimum_norm_squared", "must be a number or \"replicate\"")
                );
            }
            _ => OptimumNorm::Bound(section.non_negative("optimum_norm_squared")?.unwrap_or(0.0)),
        };
        for key in ["total_epsilon", "schedule", "tolerance", "clip", "rows_per_person"] {
            if section.node(key).is_some() {
                return Err(section
                    .error(key, &format!("has no effect with mechanism `{name}`"))
                    .hint("it belongs to the mechanisms output and scalar"));
            }
        }
        section.finish()?;
        let missing = |key| section.required::<f64>(key).expect_err("the key is missing");
        let mechanism = match name {
            "intrinsic" => Mechanism::Intrinsic {
                epsilon: epsilon.ok_or_else(|| missing("epsilon"))?,
                delta: delta.ok_or_else(|| missing("delta"))?,
                c: c.unwrap_or(PerAgent::All(0.5)),
                optimum_norm: norm,
            },
            _ => Mechanism::None,
        };
        Ok(Self { mechanism })
    }
}

/// `[run]`
#[derive(Debug)]
pub struct RunSettings {
    /// Repetitions.
    pub trials: usize,
    /// For repeatable runs.
    pub seed: Option<u64>,
    /// 0: all cores.
    pub threads: usize,
    /// Record every n-th round; 0 chooses.
    pub record_every: u64,
    /// Stop when no release moves by more than this; 0 never does.
    pub stop_tolerance: f64,
}

impl RunSettings {
    pub(super) fn read(section: &Section<'_>) -> Result<Self> {
        let settings = Self {
            trials: section.count("trials")?.unwrap_or(1),
            seed: section.optional("seed")?,
            threads: section.or("threads", 0)?,
            record_every: section.or("record_every", 0)?,
            stop_tolerance: section.non_negative("stop_tolerance")?.unwrap_or(0.0),
        };
        if settings.threads > 1024 {
            return Err(section.error("threads", "must be at most 1024"));
        }
        section.finish()?;
        Ok(settings)
    }
}
