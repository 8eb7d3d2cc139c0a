//! The documents: every link leads somewhere, and every block of code is run or read by what it is
//! for.
//!
//! What happens to a block follows from its language, and from a comment right above it:
//!
//! | block | what happens | where |
//! | --- | --- | --- |
//! | any with `<!-- file: NAME -->` | written into the page's directory | [`run`] |
//! | `sh` with `<!-- run -->` | run there, in the order of the page | [`run`] |
//! | `python` | the same, unless `<!-- not run: WHY -->` | [`run`] |
//! | `sh` | parsed; commands of ours must have these words and flags | `commands.rs` |
//! | `toml` | read by the config's reader, or that of `<!-- network file -->` | `configs.rs` |
//! | `rust` | a doctest: only in pages that a crate includes as its documentation | `cargo test` |
//! | `text`, `diff`, `ini`, `dockerfile` | nothing: to be read | |

#[cfg(test)]
mod commands;
#[cfg(test)]
mod configs;
mod links;
mod markdown;
#[cfg(test)]
mod tally;

pub use links::target;
pub use markdown::{Block, Document, attributes};

use crate::{Outcome, root, step, tools};
use std::path::Path;
use std::process::Command;

/// Folders without documents of ours.
const SKIPPED: [&str; 4] = ["target", "node_modules", "assets", "fixtures"];

/// Every Markdown file of the repository, in the order of the paths.
pub fn all() -> Result<Vec<Document>, String> {
    let mut found = Vec::new();
    walk("", &mut found)?;
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

fn walk(folder: &str, found: &mut Vec<Document>) -> Outcome {
    let failed = |error: std::io::Error| format!("{folder}: {error}");
    for entry in std::fs::read_dir(root().join(folder)).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        if root().join(&path).is_dir() {
            if !name.starts_with('.') && !SKIPPED.contains(&name.as_str()) {
                walk(&path, found)?;
            }
        } else if name.ends_with(".md") {
            let text = std::fs::read_to_string(root().join(&path))
                .map_err(|error| format!("{path}: {error}"))?;
            found.push(Document { path, text });
        }
    }
    Ok(())
}

/// Every link leads somewhere.
pub fn check_links() -> Outcome {
    println!("== links of the documents");
    let complaints = links::complaints(&all()?);
    if complaints.is_empty() {
        return Ok(());
    }
    Err(format!("{}\nlinks: {} complaints", complaints.join("\n"), complaints.len()))
}

/// Runs what is to be run, page by page and from top to bottom, as a reader would.
pub fn run(python: &Path) -> Outcome {
    for page in all()? {
        let blocks = page.blocks();
        if !blocks.iter().any(|block| matches!(fate(block), Fate::Run(_))) {
            continue;
        }
        let folder = page.path.replace('/', "-").replace(".md", "");
        let folder = root().join("target/xtask-documents").join(folder);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).map_err(|error| format!("{folder:?}: {error}"))?;
        for block in &blocks {
            let name = format!("{}:{}", page.path, block.line);
            match fate(block) {
                Fate::Nothing => {}
                Fate::File(file) => std::fs::write(folder.join(file), &block.code)
                    .map_err(|error| format!("{name}: {error}"))?,
                Fate::Run(interpreter) => {
                    let mut command = match interpreter {
                        Interpreter::Python => Command::new(python),
                        Interpreter::Shell => Command::new("sh"),
                    };
                    if let Interpreter::Shell = interpreter {
                        command.arg("-eu");
                    }
                    let programs = root().join("target/release");
                    let own = python.parent().unwrap_or(python);
                    let path = tools::path_with(&[&programs, own])?;
                    command.args(["-c", &block.code]).current_dir(&folder).env("PATH", path);
                    step(&name, &mut command)?;
                }
            }
        }
    }
    Ok(())
}

/// What happens to a block.
enum Fate<'a> {
    Nothing,
    File(&'a str),
    Run(Interpreter),
}

#[derive(Clone, Copy)]
enum Interpreter {
    Python,
    Shell,
}

fn fate(block: &Block) -> Fate<'_> {
    let order = block.order.as_deref().unwrap_or_default();
    match (order.strip_prefix("file: "), block.language.as_str()) {
        (Some(name), _) => Fate::File(name),
        (None, "sh") if order == "run" => Fate::Run(Interpreter::Shell),
        (None, "python") if !order.starts_with("not run: ") => Fate::Run(Interpreter::Python),
        _ => Fate::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_has_a_language_and_an_order_that_are_known() {
        // The first is a formula that is set apart.
        let read = ["", "text", "diff", "ini", "dockerfile"];
        for page in all().unwrap() {
            for block in page.blocks() {
                let at = format!("{}:{}", page.path, block.line);
                let order = block.order.as_deref().unwrap_or("run");
                let (language, file) = (block.language.as_str(), order.starts_with("file: "));
                let known = match language {
                    "sh" => order == "run" || order.starts_with("not run: "),
                    "python" => order == "run" || order.starts_with("not run: "),
                    "toml" => {
                        order.starts_with("not run: ")
                            || matches!(order, "run" | "network file" | "site file")
                    }
                    "rust" => is_documentation(&page.path),
                    other => read.contains(&other),
                };
                assert!(known || file, "{at}: `{language}` with `{order}`: nothing would run it");
            }
        }
    }

    /// Whether doctests run this page's Rust.
    fn is_documentation(path: &str) -> bool {
        let Some(package) = path.strip_suffix("/README.md") else { return false };
        let lib = std::fs::read_to_string(root().join(package).join("src/lib.rs"));
        lib.is_ok_and(|lib| lib.contains("include_str!(\"../README.md\")"))
    }

    #[test]
    fn every_link_leads_somewhere() {
        assert_eq!(check_links(), Ok(()));
    }

    #[test]
    fn the_readme_is_short_and_every_page_is_in_the_site() {
        let pages = all().unwrap();
        let page = |path: &str| pages.iter().find(|page| page.path == path).unwrap();
        let readme = &page("README.md").text;
        assert!(readme.lines().count() <= 120, "{} lines", readme.lines().count());
        let wide = readme.lines().find(|line| line.chars().count() > 100);
        assert_eq!(wide, None);
        let summary = page("docs/SUMMARY.md");
        let listed: Vec<String> = summary
            .links()
            .iter()
            .filter_map(|link| Some(target(&summary.path, &link.target)?.0))
            .collect();
        for page in pages.iter().filter(|page| page.path.starts_with("docs/")) {
            let found = listed.contains(&page.path) || page.path == summary.path;
            assert!(found, "{} is not in docs/SUMMARY.md", page.path);
        }
    }
}
