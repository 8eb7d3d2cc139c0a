//! `[network]`: who talks to whom.

use super::only_with;
use crate::error::Result;
use crate::reader::{Node, Section};
use dzoa::graph::Topology;

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
