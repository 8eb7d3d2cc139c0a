//! Cycles among the modules of a crate, at every level: among those at its root, and among those
//! that share a parent.

use super::source::SourceFile;
use std::collections::{BTreeMap, BTreeSet};

type ModulePath = Vec<String>;
type Edges = BTreeMap<String, BTreeSet<String>>;

/// The groups of sister modules from each of which a way leads back to it: their parent (empty for
/// the crate's root), and their names.
pub fn modules_in_cycles(sources: &[&SourceFile]) -> Vec<(String, Vec<String>)> {
    let modules = Modules::new(sources);
    let mut levels: BTreeMap<ModulePath, Edges> = BTreeMap::new();
    for source in sources {
        let own = source.module_path();
        for used in source.paths.iter().filter_map(|path| modules.of(&own, path)) {
            let level = own.iter().zip(&used).take_while(|(a, b)| a == b).count();
            // A module and what is inside it belong together.
            if let (Some(from), Some(to)) = (own.get(level), used.get(level)) {
                let edges = levels.entry(own[..level].to_vec()).or_default();
                edges.entry(from.clone()).or_default().insert(to.clone());
            }
        }
    }
    let found = levels.into_iter().map(|(parent, edges)| (parent.join("::"), in_cycles(edges)));
    found.filter(|(_, names)| !names.is_empty()).collect()
}

fn in_cycles(mut reach: Edges) -> Vec<String> {
    while let Some(further) = further(&reach) {
        reach = further;
    }
    reach.into_iter().filter(|(own, reached)| reached.contains(own)).map(|(own, _)| own).collect()
}

/// One step further from every module; `None` where that leads nowhere new.
fn further(reach: &Edges) -> Option<Edges> {
    let mut wider = reach.clone();
    for reached in wider.values_mut() {
        let next = reached.iter().filter_map(|name| reach.get(name)).flatten();
        let next: Vec<String> = next.cloned().collect();
        reached.extend(next);
    }
    (wider != *reach).then_some(wider)
}

/// The modules of a crate, and what each makes public under its own path.
struct Modules {
    known: BTreeSet<ModulePath>,
    exports: BTreeMap<ModulePath, ModulePath>,
}

impl Modules {
    fn new(sources: &[&SourceFile]) -> Self {
        let known = sources
            .iter()
            .flat_map(|source| {
                let path = source.module_path();
                (0..=path.len()).map(move |end| path[..end].to_vec())
            })
            .collect();
        let mut modules = Self { known, exports: BTreeMap::new() };
        for source in sources {
            let own = source.module_path();
            for (name, path) in &source.exports {
                let from = match absolute(&own, path) {
                    Some(from) => from,
                    // `pub use child::Name` needs no `self`.
                    None => [&own[..], path].concat(),
                };
                modules.exports.insert([&own[..], std::slice::from_ref(name)].concat(), from);
            }
        }
        modules
    }

    /// The module in which that lives what a path means in this module.
    fn of(&self, own: &[String], path: &[String]) -> Option<ModulePath> {
        let mut at = absolute(own, path)?;
        // What is made public is used where it is made. A chain of names is never this long.
        for _ in 0..8 {
            let known = (0..=at.len()).rev().find(|end| self.known.contains(&at[..*end]))?;
            let Some(from) = at.get(..=known).and_then(|name| self.exports.get(name)) else {
                at.truncate(known);
                break;
            };
            at = [&from[..], &at[known + 1..]].concat();
        }
        Some(at)
    }
}

/// A path of a module from the crate's root; `None` where it leads to another crate.
fn absolute(own: &[String], path: &[String]) -> Option<ModulePath> {
    let mut at = own.to_vec();
    let mut rest = path;
    match path.first()?.as_str() {
        "crate" => at.clear(),
        "self" => {}
        "super" => drop(at.pop()?),
        _ => return None,
    }
    rest = &rest[1..];
    while rest.first().is_some_and(|name| name == "super") {
        at.pop()?;
        rest = &rest[1..];
    }
    at.extend_from_slice(rest);
    Some(at)
}
