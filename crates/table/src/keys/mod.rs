//! The reference of every key: `dzoa help config`, docs/reference.md, and what errors point to.
//!
//! A test of the program reads configs of every kind and compares what its readers asked for with
//! this list, so that neither has a key that the other lacks.

mod json_schema;

pub use json_schema::json_schema;

use crate::error::{Error, Result, shown};
use crate::exit::exits_table;
use crate::reader::suggestion;
use dzoa::baselines;
use dzoa::network::TOPOLOGIES;
use dzoa::plan::{Algorithm, JOINT, MECHANISMS};
use dzoa::problem::loss::LOSSES;
use dzoa::problem::regularizer::REGULARIZERS;
use dzoa::registry::{Parameter, Registry};
use std::fmt::Write;

/// The keys whose names stand in no table of the library: blocks of a path and four lines.
const KEYS: &str = include_str!("keys.txt");

/// A key with everything that is said about it.
#[derive(Default)]
struct Explained {
    path: String,
    kind: String,
    default: String,
    about: String,
    example: String,
}

/// Every key that the readers know, without the numbers in lists: `schema.columns.name`.
pub fn known_keys() -> Vec<String> {
    all().into_iter().map(|key| key.path).collect()
}

fn all() -> Vec<Explained> {
    let mut keys: Vec<Explained> = KEYS.split("\n\n").map(explained).collect();
    let named = [
        ("problem", Registry::new(LOSSES).parameters(), of_losses as fn(&str) -> Vec<&'static str>),
        ("problem", Registry::new(REGULARIZERS).parameters(), of_regularizers),
        ("network", Registry::new(TOPOLOGIES).parameters(), of_topologies),
    ];
    for (section, parameters, takers) in named {
        keys.extend(parameters.iter().map(|parameter| of_table(section, parameter, takers)));
    }
    let others = baselines::ENTRIES.iter().map(|entry| (entry.name, entry.options));
    let joint = JOINT.iter().map(|entry| (entry.name, entry.options));
    for (name, options) in joint.chain(others) {
        for option in options {
            let path = format!("algorithm.options.{}", option.key);
            match keys.iter_mut().find(|known| known.path == path) {
                Some(known) if known.about.contains(" of ") => {
                    known.about = format!("{}, {name}", known.about);
                }
                Some(_) => {}
                None => keys.push(Explained {
                    path,
                    kind: option.range.to_string(),
                    default: "by rule".into(),
                    about: format!("an option of {name}"),
                    example: format!("options = {{ {} = ... }}", option.key),
                }),
            }
        }
    }
    keys
}

fn of_losses(key: &str) -> Vec<&'static str> {
    Registry::new(LOSSES).that_take(key)
}

fn of_regularizers(key: &str) -> Vec<&'static str> {
    Registry::new(REGULARIZERS).that_take(key)
}

fn of_topologies(key: &str) -> Vec<&'static str> {
    Registry::new(TOPOLOGIES).that_take(key)
}

/// A number that goes with a name of a table of the library.
fn of_table(
    section: &str,
    parameter: &Parameter,
    takers: fn(&str) -> Vec<&'static str>,
) -> Explained {
    Explained {
        path: format!("{section}.{}", parameter.key),
        kind: parameter.range.to_string(),
        default: parameter.default.to_string(),
        about: format!("a number of {}", takers(parameter.key).join(", ")),
        example: format!("{} = {}", parameter.key, parameter.default),
    }
}

/// A block of the list, with the names of the tables of the library filled in.
fn explained(block: &str) -> Explained {
    let mechanisms: Vec<&str> = MECHANISMS.iter().map(|entry| entry.name).collect();
    let text = block
        .replace("{losses}", &Registry::new(LOSSES).names().join(" | "))
        .replace("{regularizers}", &Registry::new(REGULARIZERS).names().join(" | "))
        .replace("{topologies}", &Registry::new(TOPOLOGIES).names().join(" | "))
        .replace("{algorithms}", &Algorithm::names().join(" | "))
        .replace("{mechanisms}", &mechanisms.join(" | "));
    let mut lines = text.trim().lines();
    let mut key =
        Explained { path: lines.next().unwrap_or_default().into(), ..Explained::default() };
    for line in lines {
        let (word, rest) = line.trim().split_once(' ').unwrap_or_default();
        let rest = rest.trim().to_string();
        match word {
            "about" => key.about = rest,
            "takes" => key.kind = rest,
            "default" => key.default = rest,
            _ => key.example = rest,
        }
    }
    key
}

/// What `dzoa help config [KEY]` prints: one key, the keys of one table, or all.
pub fn explain_keys(asked: Option<&str>) -> Result<String> {
    let keys = all();
    let Some(asked) = asked else {
        let mut text = String::from("Every key of a config; `dzoa help config KEY` says more.\n");
        for key in &keys {
            let _ = writeln!(text, "  {:<36}{}", key.path, key.about);
        }
        return Ok(text);
    };
    // As errors write it, with numbers in lists.
    let plain = plain_path(asked);
    let below = format!("{plain}.");
    let found: Vec<&Explained> =
        keys.iter().filter(|key| key.path == plain || key.path.starts_with(&below)).collect();
    let last = |path: &str| path.rsplit('.').next().unwrap_or_default().to_string();
    let found = match found.is_empty() {
        false => found,
        true => keys.iter().filter(|key| last(&key.path) == plain).collect(),
    };
    if found.is_empty() {
        let known: Vec<&str> = keys.iter().map(|key| key.path.as_str()).collect();
        return Err(Error::input(format!("no key is called {}", shown(asked)))
            .hint(format!("{}; `dzoa help config` lists all", nearest(&plain, &known))));
    }
    let mut text = String::new();
    for Explained { path, kind, default, about, example } in found {
        let _ = writeln!(text, "{path}\n  {about}");
        let _ = writeln!(text, "  takes    {kind}\n  default  {default}\n  example  {example}\n");
    }
    Ok(text.trim_end().to_string() + "\n")
}

/// The key that was meant, without a list of all hundred.
fn nearest(word: &str, known: &[&str]) -> String {
    let found = suggestion(word, known);
    match found.starts_with("did you mean") {
        true => found,
        false => "a key is written with its table, as in problem.eta".into(),
    }
}

/// docs/reference.md
pub fn reference_page() -> String {
    let mut text = String::from(
        "# Every key\n\nOf a config, its schema and a network file, as the program reads them. \
         `dzoa help config KEY`\nprints the same. This page is written by the program: change the \
         list in `crates/table/src/keys`.\n\n\
         Editors complete and check keys by [dzoa.schema.json](dzoa.schema.json), which `dzoa \
         schema json`\nprints: with `#:schema ./dzoa.schema.json` as the first line of a config \
         (Taplo, Even Better TOML).\n",
    );
    let mut section = String::new();
    for Explained { path, kind, default, about, example } in all() {
        let first = path.split_once('.').map_or("", |(first, _)| first).to_string();
        if first != section {
            let _ = writeln!(text, "\n## [{first}]");
            section = first;
        }
        let _ = writeln!(text, "\n### `{path}`\n\n{}\n", sentence(&about));
        let _ = writeln!(text, "- takes: {}\n- default: {}", escaped(&kind), escaped(&default));
        let _ = writeln!(text, "- example: `{example}`");
    }
    let _ = write!(
        text,
        "\n## Exit status\n\nOf every command; `dzoa help exit-codes` prints the same.\n\n{}",
        exits_table()
    );
    text
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters.next().map(|c| c.to_uppercase().collect()).unwrap_or_default();
    format!("{first}{}.", escaped(letters.as_str()))
}

/// Markdown takes these for something else.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('_', "\\_").replace('*', "\\*")
}

/// A path without the numbers of lists.
pub fn plain_path(path: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    for character in path.chars() {
        match character {
            '[' => inside = true,
            ']' => inside = false,
            _ if !inside => out.push(character),
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_by_its_path_its_table_or_its_last_word() {
        let text = explain_keys(Some("problem.eta")).unwrap();
        assert!(
            text.starts_with("problem.eta\n") && text.contains("example  eta = 0.02"),
            "{text}"
        );
        assert!(explain_keys(Some("schema.columns[3].levels")).unwrap().contains("categorical"));
        assert!(explain_keys(Some("privacy")).unwrap().contains("privacy.total_epsilon\n"));
        assert!(explain_keys(Some("row_norm")).unwrap().starts_with("schema.row_norm\n"));
        assert!(explain_keys(Some("huber_delta")).unwrap().contains("a number of huber"));
        let error = explain_keys(Some("problem.etta")).unwrap_err().to_string();
        assert!(error.contains("did you mean `problem.eta`?"), "{error}");
    }

    /// Written anew with `DZOA_WRITE_REFERENCE=1`.
    #[test]
    fn the_page_and_the_schema_of_the_documentation_are_this_list() {
        let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/");
        for (name, text) in
            [("reference.md", reference_page()), ("dzoa.schema.json", json_schema())]
        {
            let path = format!("{docs}{name}");
            if std::env::var_os("DZOA_WRITE_REFERENCE").is_some() {
                std::fs::write(&path, &text).unwrap();
            }
            let written = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(written == text, "{name}: run this test with DZOA_WRITE_REFERENCE=1");
        }
    }

    #[test]
    fn no_key_stands_there_twice() {
        let mut keys = known_keys();
        keys.sort();
        let count = keys.len();
        keys.dedup();
        assert_eq!(keys.len(), count);
    }
}
