//! Every link of a document leads to a file of the repository, and to a heading that is there.

use super::markdown::{Document, Link};
use crate::root;
use std::collections::BTreeMap;

/// What `cargo xtask site` puts beside the pages; that command checks these links.
const GENERATED: &str = "docs/api/";

/// All links that lead nowhere, one line each.
pub fn complaints(documents: &[Document]) -> Vec<String> {
    let anchors: BTreeMap<&str, Vec<String>> =
        documents.iter().map(|page| (page.path.as_str(), page.anchors())).collect();
    let mut found = Vec::new();
    for page in documents {
        for link in page.links() {
            if let Err(why) = follow(page, &link, &anchors) {
                found.push(format!("{}:{}: `{}` {why}", page.path, link.line, link.target));
            }
        }
    }
    found
}

fn follow(
    page: &Document,
    link: &Link,
    anchors: &BTreeMap<&str, Vec<String>>,
) -> Result<(), String> {
    let Some((target, anchor)) = target(&page.path, &link.target) else { return Ok(()) };
    if target.starts_with(GENERATED) {
        return Ok(());
    }
    if !root().join(&target).is_file() {
        let folder = root().join(&target).is_dir();
        let why = if folder { "is a folder: link to a file" } else { "is not there" };
        return Err(why.into());
    }
    match (anchor, anchors.get(target.as_str())) {
        (Some(anchor), Some(known)) if !known.contains(&anchor) => {
            Err(format!("names a heading that {target} does not have"))
        }
        _ => Ok(()),
    }
}

/// The file that a link of this page leads to, from the root, and the heading in it; `None` for
/// another site's page.
pub fn target(page: &str, link: &str) -> Option<(String, Option<String>)> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = match link.split_once('#') {
        Some((path, anchor)) => (path, Some(anchor.to_string())),
        None => (link, None),
    };
    if path.is_empty() {
        return Some((page.into(), anchor));
    }
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in path.trim_end_matches('/').split('/') {
        match part {
            "." => {}
            // A link out of the repository stays one, and is not found.
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    Some((parts.join("/"), anchor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_followed_from_its_page() {
        let at = |link: &str| target("docs/algorithms/joint.md", link);
        assert_eq!(at("../privacy.md#x"), Some(("docs/privacy.md".into(), Some("x".into()))));
        assert_eq!(at("#y"), Some(("docs/algorithms/joint.md".into(), Some("y".into()))));
        assert_eq!(at("../../../out"), Some(("../out".into(), None)));
        assert_eq!(at("https://example.org/"), None);
    }

    #[test]
    fn a_link_that_leads_nowhere_is_found() {
        let page = |text: &str| Document { path: "docs/privacy.md".into(), text: text.into() };
        let wrong = "[a](gone.md) [b](#gone) [c](algorithms) [d](../README.md)";
        let found = complaints(&[page(&format!("# Here\n\n{wrong} [e](#here)\n"))]);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].starts_with("docs/privacy.md:3: `gone.md` is not there"), "{found:?}");
    }
}
