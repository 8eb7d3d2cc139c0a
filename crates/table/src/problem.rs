//! `[problem]`: what is minimised.

use crate::error::{Error, Result, shown};
use crate::reader::{FromNode, Node, Section, only_with, suggestion};
use dzoa::prelude::*;
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
    /// Reads `[problem]` of a run over rows.
    pub fn read(section: &Section<'_>) -> Result<Self> {
        let loss = read_loss(section)?;
        let words = ["l1", "l2", "elastic-net", "group-l1", "none"];
        let (regularizer, groups) = read_regularizer(section, &words, "l1")?;
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
                    .hint(suggestion(&label, &known))
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

fn read_loss(section: &Section<'_>) -> Result<Arc<dyn Loss>> {
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
            return Err(section.error("loss", "is `external`, which only `dzoa run` can do").hint(
                "a program has no rows that could be attacked or compared; docs/black-box.md",
            ));
        }
    };
    only_with(section, "huber_delta", delta.is_some(), "loss = \"huber\"", name == "huber")?;
    let pinball = name == "pinball";
    only_with(section, "quantile", quantile.is_some(), "loss = \"pinball\"", pinball)?;
    Ok(loss)
}

/// The regulariser among these, and the groups of columns for `group-l1`.
pub fn read_regularizer(
    section: &Section<'_>,
    words: &[&'static str],
    default: &'static str,
) -> Result<(Regularizer, Vec<Vec<ColumnRef>>)> {
    let kind = section.choice("regularizer", words)?.unwrap_or(default);
    let ratio = section.number("l1_ratio", |r| (0.0..=1.0).contains(&r), "between 0 and 1")?;
    // Elsewhere the key is unknown.
    let groups: Option<Vec<Vec<ColumnRef>>> = match words.contains(&"group-l1") {
        true => section.optional("groups")?,
        false => None,
    };
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
    Ok((regularizer, groups))
}
