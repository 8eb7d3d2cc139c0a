//! `[problem]`: what is minimised.

use crate::error::{Error, Result, shown};
use crate::reader::{FromNode, Named, Section, TomlNode, Value, only_with, suggestion};
use dzoa::plan::Auto;
use dzoa::plan::rules::plain_eta;
use dzoa::prelude::*;
use dzoa::problem::loss::Losses;
use dzoa::problem::regularizer::REGULARIZERS;
use dzoa::reference::ReferenceWish;
use dzoa::registry::{Options, Registry};
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
    /// eta; a rule chooses it from the numbers of rows.
    pub eta: Auto<f64>,
    /// How rows are weighted.
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
    fn from_node(node: &TomlNode) -> Option<Self> {
        usize::from_node(node)
            .map(ColumnRef::Index)
            .or_else(|| String::from_node(node).map(ColumnRef::Name))
    }
}

impl ProblemSpec {
    /// Reads `[problem]` of a run over rows, whose loss is one of these. Rows of a file have a
    /// constant column unless it says otherwise; generated ones have none.
    pub fn read(section: &Section<'_>, losses: &Losses, from_file: bool) -> Result<Self> {
        let loss = read_loss(section, losses)?;
        let all = Registry::new(REGULARIZERS);
        let (regularizer, groups) = read_regularizer(section, &all, Regularizer::L1)?;
        let eta = match section.node("eta") {
            Some(TomlNode { value: Value::String(word), .. }) if word == "auto" => Auto::Auto,
            _ => Auto::Given(match section.non_negative("eta")? {
                Some(eta) => eta,
                None if regularizer.is_zero() => 0.0,
                None => section.required("eta")?,
            }),
        };
        let scale = match section.choice("scale", &["mean", "sum", "pooled"])? {
            Some("sum") => Scale::Sum,
            Some("pooled") => Scale::Pooled,
            _ => Scale::Mean,
        };
        let intercept = section.or("intercept", from_file)?;
        section.finish()?;
        Ok(Self { loss, regularizer, groups, eta, scale, intercept })
    }

    /// eta over agents who have these many rows together.
    pub(crate) fn eta(&self, agents: usize, samples: usize) -> f64 {
        self.eta.or_else(|| plain_eta(self.scale, agents, samples))
    }

    /// The regulariser with its groups resolved against the column names.
    pub fn regularizer(&self, names: &[String]) -> Result<Regularizer> {
        if !self.regularizer.is_grouped() {
            return Ok(self.regularizer.clone());
        }
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
        Ok(self.regularizer.clone().with_groups(groups))
    }
}

/// `run.reference`
pub fn reference_wish(section: &Section<'_>) -> Result<ReferenceWish> {
    Ok(match section.choice("reference", &["auto", "always", "never"])? {
        Some("always") => ReferenceWish::Always,
        Some("never") => ReferenceWish::Never,
        _ => ReferenceWish::Auto,
    })
}

/// The problem as agent k of a real network can know it: what weighs by everybody's rows goes by
/// the numbers that the network file gives, since only its own rows are here. Generated rows are
/// all here. So does an eta that is left to its rule.
pub fn weighed_by_rows(
    mut problem: Problem,
    k: usize,
    listed: &[Option<usize>],
    only_own: bool,
    eta: Auto<f64>,
) -> Result<Problem> {
    let own = problem.agents[k].count();
    if let Some(said) = listed[k].filter(|&said| said != own) {
        return Err(Error::input(format!(
            "this agent has {own} rows, but `network.agents` says rows = {said}"
        ))
        .hint("agree on the numbers of rows that are used, and write them into the file"));
    }
    if only_own {
        // Nothing of the others' places is used but their number of rows: rules ask for the
        // smallest.
        let samples = problem.agents[k].clone();
        for (place, rows) in problem.agents.iter_mut().zip(listed) {
            if let Some(rows) = rows.filter(|rows| *rows < own) {
                *place = Arc::new(samples.select(&Vec::from_iter(0..rows)));
            }
        }
    }
    let total = match only_own {
        true => listed.iter().copied().sum(),
        false => Some(problem.agents.iter().map(|samples| samples.count()).sum()),
    };
    if let (Auto::Auto, Some(total)) = (eta, total) {
        problem.eta = plain_eta(problem.scale, listed.len(), total);
    }
    if let (Scale::Pooled, Some(total)) = (problem.scale, total) {
        problem.scale = Scale::PooledOver(total);
    }
    Ok(problem)
}

fn read_loss(section: &Section<'_>, losses: &Losses) -> Result<Arc<dyn Loss>> {
    let named = Named::read(section, "loss", losses, &["external"])?;
    if named.name.is_none() {
        return Err(section.required::<String>("loss").expect_err("the key is missing"));
    }
    let Some(entry) = named.entry(losses) else {
        return Err(section
            .error("loss", "is `external`, which only `dzoa run` can do")
            .hint("a program has no rows that could be attacked or compared; docs/black-box.md"));
    };
    named.check(section, losses)?;
    Ok((entry.build)(&named.given))
}

/// The regulariser among these, and the groups of columns for one that is over groups.
pub fn read_regularizer(
    section: &Section<'_>,
    known: &Registry<Regularizer>,
    default: Regularizer,
) -> Result<(Regularizer, Vec<Vec<ColumnRef>>)> {
    let named = Named::read(section, "regularizer", known, &[])?;
    let over_groups = known.clone().filter(|entry| (entry.build)(&Options::default()).is_grouped());
    // Elsewhere the key is unknown.
    let groups: Option<Vec<Vec<ColumnRef>>> = match over_groups.names().is_empty() {
        true => None,
        false => section.optional("groups")?,
    };
    named.check(section, known)?;
    let entry = named.entry(known);
    let regularizer = entry.map_or(default, |entry| (entry.build)(&named.given));
    let owner = format!("regularizer = \"{}\"", over_groups.names().join("\" or \""));
    let grouped = regularizer.is_grouped();
    only_with(section, "groups", groups.is_some(), &owner, grouped)?;
    let groups = if grouped { section.required("groups")? } else { Vec::new() };
    Ok((regularizer, groups))
}
