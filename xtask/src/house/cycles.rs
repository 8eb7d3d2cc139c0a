//! Cycles among the top-level modules of a crate.

use super::source::SourceFile;
use std::collections::{BTreeMap, BTreeSet};

/// The top-level modules from which a way leads back to them.
pub fn modules_in_cycles(sources: &[&SourceFile]) -> Vec<String> {
    let top = |source: &SourceFile| source.module_path().first().cloned();
    let modules: BTreeSet<String> = sources.iter().filter_map(|source| top(source)).collect();
    let exports = exports(sources);
    let mut reach: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for source in sources {
        let Some(own) = top(source) else { continue };
        let used = source.paths.iter().filter_map(|path| first(source, path));
        // What the root makes public is used where it is made.
        let used = used.map(|name| exports.get(&name).cloned().unwrap_or(name));
        let others = used.filter(|name| *name != own && modules.contains(name));
        reach.entry(own.clone()).or_default().extend(others);
    }
    while let Some(further) = further(&reach) {
        reach = further;
    }
    reach.into_iter().filter(|(own, reached)| reached.contains(own)).map(|(own, _)| own).collect()
}

/// One step further from every module; `None` where that leads nowhere new.
fn further(
    reach: &BTreeMap<String, BTreeSet<String>>,
) -> Option<BTreeMap<String, BTreeSet<String>>> {
    let mut wider = reach.clone();
    for reached in wider.values_mut() {
        let next = reached.iter().filter_map(|name| reach.get(name)).flatten();
        let next: Vec<String> = next.cloned().collect();
        reached.extend(next);
    }
    (wider != *reach).then_some(wider)
}

/// Names that the crate's root makes public, and the modules that they are from.
fn exports(sources: &[&SourceFile]) -> BTreeMap<String, String> {
    let roots = sources.iter().filter(|source| source.module_path().is_empty());
    let named = roots.flat_map(|source| &source.exports).filter_map(|(name, path)| {
        let path = match path.first()?.as_str() {
            "crate" | "self" => &path[1..],
            _ => path,
        };
        Some((name.clone(), path.first()?.clone()))
    });
    named.collect()
}

/// The first name below the crate's root that a path of this file leads to.
fn first(source: &SourceFile, path: &[String]) -> Option<String> {
    let mut at = source.module_path();
    let mut rest = path.iter();
    match path.first()?.as_str() {
        "crate" => at.clear(),
        "self" => {}
        "super" => drop(at.pop()?),
        _ => return None,
    }
    rest.next();
    let mut next = rest.next();
    while next.is_some_and(|name| name == "super") {
        at.pop()?;
        next = rest.next();
    }
    at.into_iter().next().or_else(|| next.cloned())
}
