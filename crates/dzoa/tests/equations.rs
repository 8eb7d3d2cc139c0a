//! EQUATIONS.md against the code, and against the paper where it is at hand.

#[path = "../../../tests/skip.rs"]
mod skip;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const NO_CODE: &str = "no code: ";
const UNNUMBERED: &str = "—";

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// One row of EQUATIONS.md.
struct Row {
    line: usize,
    number: String,
    label: String,
    code: String,
}

impl Row {
    /// The Rust path, for a row that has code.
    fn path(&self) -> Option<&str> {
        self.code.strip_prefix('`')?.strip_suffix('`')
    }
}

fn rows() -> Vec<Row> {
    let text = read(&workspace().join("EQUATIONS.md"));
    let mut rows = Vec::new();
    for (line, cells) in text.lines().enumerate().filter_map(|(at, line)| {
        let cells = line.strip_prefix('|')?.strip_suffix('|')?;
        Some((at + 1, cells.split('|').map(str::trim).collect::<Vec<_>>()))
    }) {
        let [number, label, what, code] = cells[..] else {
            panic!("EQUATIONS.md:{line} has {} cells instead of 4", cells.len());
        };
        if number == "number" || number.starts_with("---") {
            continue;
        }
        assert!(!what.is_empty(), "EQUATIONS.md:{line} says nothing");
        rows.push(Row {
            line,
            number: number.into(),
            label: label.trim_matches('`').into(),
            code: code.into(),
        });
    }
    assert!(rows.len() > 64, "only {} rows were read", rows.len());
    rows
}

/// An item of the code: what `module::name` or `module::owner::name` can name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Item {
    file: PathBuf,
    owner: Option<String>,
    name: String,
}

fn identifier(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

/// What follows balanced angle brackets at the start of `text`, if there are any.
fn after_generics(text: &str) -> &str {
    let (mut depth, mut last) = (0, ' ');
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if last != '-' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[at + c.len_utf8() * usize::from(c == '>')..];
        }
        last = c;
    }
    text
}

/// The name that a line defines: an item, or with `members` a field or a variant.
fn defined(line: &str, members: bool) -> Option<&str> {
    let line = line.trim_start();
    let line = line.strip_prefix("pub(crate) ").or(line.strip_prefix("pub ")).unwrap_or(line);
    for keyword in ["const fn ", "fn ", "struct ", "enum ", "trait ", "type ", "const ", "mod "] {
        if let Some(rest) = line.strip_prefix(keyword) {
            return Some(identifier(rest));
        }
    }
    let name = identifier(line);
    let follows = line[name.len()..].trim_start();
    let is_member = [":", ",", "{", "("].iter().any(|c| follows.starts_with(c));
    (members && !name.is_empty() && is_member && !follows.starts_with("::")).then_some(name)
}

/// The type whose members an unindented line begins, and whether they may be fields or variants.
fn opens(line: &str) -> Option<(&str, bool)> {
    if let Some(rest) = line.strip_prefix("impl") {
        let header = after_generics(rest).trim_start();
        // A member of a trait's implementation can carry no alias, and no row names one.
        return Some(if header.contains(" for ") {
            (header, false)
        } else {
            (identifier(header), false)
        });
    }
    let fields = ["struct ", "enum "].iter().any(|keyword| line.contains(keyword));
    defined(line, false).map(|name| (name, fields))
}

/// Every item of a file, with its aliases. It reads what rustfmt writes: items of a module are not
/// indented, their members are by four spaces, and an attribute is above its item.
fn items(file: &Path) -> Vec<(Item, Vec<String>)> {
    let text = read(file);
    let mut items = Vec::new();
    let mut aliases: Vec<String> = Vec::new();
    let mut owner: Option<(&str, bool)> = None;
    let mut in_attribute = false;
    for line in text.lines() {
        let trimmed = line.trim_start();
        let indent = line.len() - trimmed.len();
        if in_attribute || trimmed.starts_with("#[") {
            in_attribute = !trimmed.ends_with(']');
            let alias = trimmed.strip_prefix("#[doc(alias = \"");
            aliases.extend(alias.and_then(|rest| rest.strip_suffix("\")]")).map(String::from));
            continue;
        }
        if trimmed.starts_with("//") {
            continue;
        }
        let name = match (indent, owner) {
            (0, _) => defined(line, false),
            (4, Some((_, members))) => defined(line, members),
            _ => None,
        };
        let aliases = std::mem::take(&mut aliases);
        match name {
            Some(name) => {
                let owner = owner.filter(|_| indent > 0).map(|(owner, _)| owner.to_string());
                items.push((Item { file: file.into(), owner, name: name.into() }, aliases));
            }
            None => assert!(aliases.is_empty(), "{}: {aliases:?} on what?", file.display()),
        }
        if indent == 0 && line.ends_with('{') {
            owner = opens(line);
        } else if indent == 0 && line.starts_with('}') {
            owner = None;
        }
    }
    items
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn source_root(krate: &str) -> PathBuf {
    let folder = match krate {
        "dzoa" => "crates/dzoa/src",
        "dzoa_privacy" => "crates/privacy/src",
        other => panic!("EQUATIONS.md names the crate {other}"),
    };
    workspace().join(folder)
}

/// Every item of the two crates, with its aliases.
fn code() -> BTreeMap<Item, BTreeSet<String>> {
    let mut files = Vec::new();
    for krate in ["dzoa", "dzoa_privacy"] {
        sources(&source_root(krate), &mut files);
    }
    let mut code: BTreeMap<Item, BTreeSet<String>> = BTreeMap::new();
    for (item, aliases) in files.iter().flat_map(|file| items(file)) {
        code.entry(item).or_default().extend(aliases);
    }
    code
}

/// `krate::a::b::X` or `krate::a::b::Owner::x`: the modules are as many segments as there are
/// files.
fn resolve(path: &str) -> Item {
    let mut segments = path.split("::").peekable();
    let mut folder = source_root(segments.next().unwrap_or_default());
    let mut file = folder.join("lib.rs");
    while let Some(segment) = segments.peek() {
        let next = [folder.join(format!("{segment}.rs")), folder.join(segment).join("mod.rs")]
            .into_iter()
            .find(|file| file.exists());
        let Some(next) = next else { break };
        (folder, file) = (folder.join(segment), next);
        segments.next();
    }
    let rest: Vec<String> = segments.map(String::from).collect();
    match &rest[..] {
        [name] => Item { file, owner: None, name: name.clone() },
        [owner, name] => Item { file, owner: Some(owner.clone()), name: name.clone() },
        _ => panic!("`{path}` has no module for some of its segments"),
    }
}

/// Labels of the paper have no spaces; its numbered statements and lines begin with their kind.
/// Other aliases are free.
fn looks_like_a_label(alias: &str) -> bool {
    let kinds =
        ["Algorithm", "Assumption", "Corollary", "Definition", "Figure", "Lemma", "Theorem"];
    !alias.contains(' ') || kinds.iter().any(|kind| alias.starts_with(kind))
}

#[test]
fn every_row_has_a_path_or_a_reason() {
    for row in rows() {
        let is_path = row.path().is_some_and(|path| path.contains("::") && !path.contains(' '));
        let Row { line, code, number, .. } = row;
        let has_reason = code.strip_prefix(NO_CODE).is_some_and(|reason| !reason.is_empty());
        assert!(is_path || has_reason, "EQUATIONS.md:{line}: {code}");
        let digits = number.strip_prefix('(').and_then(|number| number.strip_suffix(')'));
        let is_number = digits.is_some_and(|digits| digits.parse::<usize>().is_ok());
        assert!(is_number || number == UNNUMBERED, "EQUATIONS.md:{line}: {number}");
    }
}

#[test]
fn every_path_names_an_item_that_exists() {
    let code = code();
    for row in rows() {
        if let Some(path) = row.path() {
            assert!(code.contains_key(&resolve(path)), "EQUATIONS.md:{}: no `{path}`", row.line);
        }
    }
}

#[test]
fn every_named_item_carries_the_label_of_its_row() {
    let code = code();
    for row in rows() {
        let Some(path) = row.path() else { continue };
        let carries = code.get(&resolve(path)).is_some_and(|aliases| aliases.contains(&row.label));
        assert!(carries, "`{path}` lacks #[doc(alias = \"{}\")]", row.label);
    }
}

#[test]
fn every_label_in_the_code_has_a_row_that_names_its_item() {
    let named: BTreeSet<(Item, String)> = rows()
        .into_iter()
        .filter_map(|row| Some((resolve(row.path()?), row.label.clone())))
        .collect();
    for (item, aliases) in code() {
        for alias in aliases.into_iter().filter(|alias| looks_like_a_label(alias)) {
            let Item { file, name, .. } = &item;
            let known = named.contains(&(item.clone(), alias.clone()));
            assert!(known, "EQUATIONS.md lacks {alias} at {name} in {}", file.display());
        }
    }
}

#[test]
fn no_label_stands_twice() {
    let mut seen = BTreeMap::new();
    for Row { line, label, .. } in rows() {
        if let Some(before) = seen.insert(label.clone(), line) {
            panic!("{label} is in EQUATIONS.md:{before} and in EQUATIONS.md:{line}");
        }
    }
    let mut items = BTreeMap::new();
    for (item, aliases) in code() {
        for alias in aliases {
            if let Some(other) = items.insert(alias.clone(), item.clone()) {
                panic!("{alias} is an alias of {other:?} and of {item:?}");
            }
        }
    }
}

/// The labelled equations of the paper, with the numbers LaTeX gives them: one for an `equation`,
/// one for every line of an `align`, none where there is a `\nonumber`.
fn equations(tex: &str) -> Vec<(String, String)> {
    let mut equations = Vec::new();
    let mut count = 0;
    let mut rest = tex;
    while let Some(at) = rest.find("\\begin{") {
        rest = &rest[at + "\\begin{".len()..];
        let Some(environment) = ["equation", "align"]
            .into_iter()
            .find(|name| rest.strip_prefix(name).is_some_and(|rest| rest.starts_with('}')))
        else {
            continue;
        };
        let end = rest.find(&format!("\\end{{{environment}}}")).expect("every environment ends");
        let (body, after) = rest.split_at(end);
        rest = after;
        let lines = if environment == "align" { body.split("\\\\").collect() } else { vec![body] };
        for line in lines {
            let numbered = !line.contains("\\nonumber");
            count += usize::from(numbered);
            let label = line.split_once("\\label{").and_then(|(_, label)| label.split_once('}'));
            if let Some((label, _)) = label {
                let number = if numbered { format!("({count})") } else { UNNUMBERED.into() };
                equations.push((label.into(), number));
            }
        }
    }
    equations
}

#[test]
fn every_equation_of_the_paper_has_a_row() {
    let paper = workspace().join("../shared/paper/dzoa.tex");
    if !paper.exists() {
        let why = format!("the paper is not at {}", paper.display());
        return skip::skip("the equations of the paper", &why);
    }
    let equations = equations(&read(&paper));
    assert!(equations.len() > 60, "only {} labels were read", equations.len());
    let rows: BTreeMap<String, String> =
        rows().into_iter().map(|row| (row.label, row.number)).collect();
    for (label, number) in &equations {
        let row = rows.get(label).unwrap_or_else(|| panic!("no row for {number} {label}"));
        assert_eq!(row, number, "the number of {label}");
    }
    let numbered = rows.values().filter(|number| *number != UNNUMBERED).count();
    let printed = equations.iter().filter(|(_, number)| number != UNNUMBERED).count();
    assert_eq!(numbered, printed, "rows with numbers, and numbers in the paper");
}
