//! `cargo xtask site`: the documents as a site, from the files that a code host shows.
//!
//! `docs/SUMMARY.md` lists the chapters, some of which stand outside of docs/. They are copied to
//! target/site with their links turned to where things are there, mdBook makes pages of them, and
//! rustdoc's and pdoc's references go beside. In the end every link of every page is followed.

use crate::documents::{Document, attributes, check_links, target};
use crate::{Outcome, cargo, output, package, python, root, step};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

const SUMMARY: &str = "docs/SUMMARY.md";
/// Chapters that are programs: their cells are run, and shown with what they print.
const SCRIPT: &str = ".py";
/// Where files of the repository lie that pages lead to and that are no pages.
const SOURCES: &str = "source";

/// Makes the site in target/site/book.
pub fn build() -> Outcome {
    check_links()?;
    let site = root().join("target/site");
    let _ = std::fs::remove_dir_all(&site);
    let chapters = stage(&site)?;
    let wheel = package::wheel()?;
    let python = python(&root().join("xtask/site/requirements.txt"))?;
    package::install(&python, &wheel)?;
    for script in chapters.iter().filter(|chapter| chapter.ends_with(SCRIPT)) {
        notebook(&python, &root().join(script), &site.join("docs").join(place(script)))?;
    }
    let mdbook = python.with_file_name("mdbook");
    step("mdbook", Command::new(mdbook).arg("build").arg(&site))?;
    let api = site.join("book/api");
    step("rustdoc", cargo().args(["doc", "--release", "--workspace", "--no-deps"]))?;
    let made = std::fs::create_dir_all(&api);
    made.map_err(|error| format!("{}: {error}", api.display()))?;
    let mut copy = Command::new("cp");
    output("cp", copy.arg("-R").arg(root().join("target/doc")).arg(api.join("rust")))?;
    let mut pdoc = Command::new(&python);
    pdoc.args(["-m", "pdoc", "--docformat", "markdown", "--output-directory"]);
    step("pdoc", pdoc.arg(api.join("python")).arg("dzoa"))?;
    check_pages(&site.join("book"))?;
    println!("{}", site.join("book/index.html").display());
    Ok(())
}

/// Copies the chapters, and what they lead to; returns the chapters' paths in the repository.
fn stage(site: &Path) -> Result<Vec<String>, String> {
    let summary = Document { path: SUMMARY.into(), text: text(SUMMARY)? };
    let mut chapters: Vec<String> =
        summary.links().iter().filter_map(|link| Some(target(SUMMARY, &link.target)?.0)).collect();
    chapters.dedup();
    let mut beside = BTreeSet::new();
    write(&site.join("book.toml"), &text("book.toml")?)?;
    for path in chapters.iter().map(String::as_str).chain([SUMMARY]) {
        if path.ends_with(SCRIPT) {
            continue;
        }
        let page = Document { path: path.into(), text: text(path)? };
        let here = place(path);
        let links = page.relinked(|link| {
            let (to, anchor) = target(path, &link.target)?;
            let is_page = chapters.contains(&to) || to.starts_with("docs/api/");
            let there = if is_page { place(&to) } else { file(&to) };
            if !is_page {
                beside.insert(to);
            }
            let up = "../".repeat(here.matches('/').count());
            let anchor = anchor.map(|anchor| format!("#{anchor}")).unwrap_or_default();
            Some(format!("{up}{there}{anchor}"))
        });
        write(&site.join("docs").join(&here), &links)?;
    }
    for path in beside.iter().map(String::as_str).chain(["docs/site.css"]) {
        if path.ends_with(".md") {
            return Err(format!("{path}: a page leads to it, and {SUMMARY} does not have it"));
        }
        let to = site.join("docs").join(file(path));
        let made = to.parent().map_or(Ok(()), std::fs::create_dir_all);
        made.and_then(|()| std::fs::copy(root().join(path), &to))
            .map_err(|error| format!("{path}: {error}"))?;
    }
    Ok(chapters)
}

/// Where a chapter stands in the site.
fn place(path: &str) -> String {
    let path = path.strip_prefix("docs/").unwrap_or(path);
    match (path.strip_suffix("README.md"), path.strip_suffix(SCRIPT)) {
        (Some(folder), _) => format!("{folder}index.md"),
        (_, Some(name)) => format!("{name}.md"),
        _ => path.into(),
    }
}

/// Where any other file stands: sources as text, which a browser shows.
fn file(path: &str) -> String {
    match path.strip_prefix("docs/") {
        Some(path) => path.into(),
        None => format!("{SOURCES}/{path}.txt"),
    }
}

/// A script of cells as an executed notebook, and as a page with what it printed.
fn notebook(python: &Path, script: &Path, page: &Path) -> Outcome {
    let notebook = page.with_extension("ipynb");
    let folder = page.parent().unwrap_or(page);
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut convert = Command::new(python);
    convert.args(["-m", "jupytext", "--quiet", "--to", "ipynb", "--output"]);
    output("jupytext", convert.arg(&notebook).arg(script))?;
    for to in [&["notebook", "--execute", "--inplace"][..], &["markdown"]] {
        let mut convert = Command::new(python);
        convert.args(["-m", "nbconvert", "--log-level", "ERROR", "--to"]).args(to).arg(&notebook);
        step(&format!("nbconvert to {}", to[0]), &mut convert)?;
    }
    let name = notebook.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let made = std::fs::read_to_string(page).map_err(|error| format!("{page:?}: {error}"))?;
    let (title, rest) = made.trim_start().split_once('\n').unwrap_or_default();
    write(page, &format!("{title}\n\n*Run by this site; [as a notebook]({name}).*\n{rest}"))
}

/// Every link of every page that mdBook made leads somewhere, headings included.
fn check_pages(book: &Path) -> Outcome {
    let mut pages = BTreeMap::new();
    read_pages(book, &mut pages)?;
    let mut complaints = Vec::new();
    for (page, html) in &pages {
        let links = ["href", "src"].into_iter().flat_map(|name| attributes(html, name));
        for link in
            links.filter(|link| !link.starts_with("data:") && !link.starts_with("javascript"))
        {
            let shown = page.strip_prefix(book).unwrap_or(page).display().to_string();
            let Some((to, anchor)) = target(&shown, link) else { continue };
            let to = book.join(to);
            let to = if to.is_dir() { to.join("index.html") } else { to };
            let heading = |anchor: &String| match pages.get(&to) {
                Some(html) => attributes(html, "id").contains(&anchor.as_str()),
                None => true,
            };
            if !to.is_file() || anchor.as_ref().is_some_and(|a| !a.is_empty() && !heading(a)) {
                complaints.push(format!("{shown}: `{link}` leads nowhere"));
            }
        }
    }
    println!("== {} pages, {} links lead nowhere", pages.len(), complaints.len());
    if complaints.is_empty() { Ok(()) } else { Err(complaints.join("\n")) }
}

/// All pages but the references', which their makers check, and that for a lost reader, whose links
/// begin at a host's root.
fn read_pages(folder: &Path, pages: &mut BTreeMap<PathBuf, String>) -> Outcome {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() && name != "api" {
            read_pages(&path, pages)?;
        } else if path.extension().is_some_and(|e| e == "html") && name != "404.html" {
            let html = std::fs::read_to_string(&path).map_err(failed)?;
            pages.insert(path, html);
        }
    }
    Ok(())
}

fn text(path: &str) -> Result<String, String> {
    std::fs::read_to_string(root().join(path)).map_err(|error| format!("{path}: {error}"))
}

fn write(path: &Path, text: &str) -> Outcome {
    let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    made.and_then(|()| std::fs::write(path, text))
        .map_err(|error| format!("{}: {error}", path.display()))
}
