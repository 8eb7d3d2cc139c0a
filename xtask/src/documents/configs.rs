//! Configs in the documents: their readers take them.

use super::{Block, all};
use crate::root;
use dzoa_cli::config::Config;
use std::path::Path;
use std::process::Command;

/// What a part of a config is put onto.
const NETWORK: &str = "examples/hospitals/network.toml";
const PROGRAMS: &str = "examples/black-box/run.toml";

#[test]
fn every_config_in_the_documents_can_be_read() {
    let study = tempfile::tempdir().unwrap();
    for (name, content) in dzoa_table::starter_study() {
        std::fs::write(study.path().join(name), content).unwrap();
    }
    let mut seen = 0;
    for page in all().unwrap() {
        for block in page.blocks().iter().filter(|block| block.language == "toml") {
            let at = format!("{}:{}", page.path, block.line);
            let read = match block.order.as_deref() {
                Some("network file" | "file: network.toml") => network_file(block, study.path()),
                Some(order) if order.starts_with("not run: ") => Ok(()),
                Some("site file") => site_file(block, study.path()),
                _ => config(block, study.path()),
            };
            read.unwrap_or_else(|why| panic!("{at}: {why}"));
            seen += 1;
        }
    }
    assert!(seen > 5, "{seen} configs: they are not found any more");
}

/// A whole config by itself, a part of one on top of the starter study.
fn config(block: &Block, study: &Path) -> Result<(), String> {
    let keys = table(block)?;
    let external = keys.get("problem").and_then(|problem| problem.get("loss"))
        == Some(&toml::Value::from("external"));
    let read = if external || keys.contains_key("problem") && keys.contains_key("data") {
        // Programs have other keys than rows: what is missing is taken from their example.
        let example = if external {
            std::fs::read_to_string(root().join(PROGRAMS))
        } else {
            Ok(String::new())
        };
        let example = example.map_err(|error| error.to_string())?;
        let mut whole: toml::Table =
            example.parse().map_err(|error: toml::de::Error| error.to_string())?;
        whole.extend(keys);
        let path = study.join("block.toml");
        std::fs::write(&path, whole.to_string()).map_err(|error| error.to_string())?;
        Config::load(Some(&path), &[])
    } else {
        Config::load(Some(&study.join("run.toml")), &sets(block)?)
    };
    read.map(|_| ()).map_err(|error| error.to_string())
}

/// How a site writes its file.
fn site_file(block: &Block, study: &Path) -> Result<(), String> {
    let path = study.join("site.toml");
    std::fs::write(&path, &block.code).map_err(|error| error.to_string())?;
    dzoa_table::SiteFile::given(&path).map(|_| ()).map_err(|error| error.to_string())
}

/// A whole network file, or a part of one on top of the hospitals', by the program that reads it.
fn network_file(block: &Block, study: &Path) -> Result<(), String> {
    let whole = table(block)?.contains_key("problem").then(|| study.join("network.toml"));
    let mut check = Command::new(root().join("target/release/dzoa-agent"));
    check.current_dir(root()).args(["check", "--network"]);
    if let Some(file) = &whole {
        std::fs::write(file, &block.code).map_err(|error| error.to_string())?;
        check.arg(file);
    } else {
        check.arg(NETWORK);
        for set in sets(block)? {
            check.args(["--set", &set]);
        }
    }
    let output = check.output().map_err(|error| format!("dzoa-agent: {error}"))?;
    // Without rows there is no plan, and that is not what is looked at here.
    match String::from_utf8_lossy(&output.stdout).starts_with("ok       network file") {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into()),
    }
}

fn table(block: &Block) -> Result<toml::Table, String> {
    block.code.parse().map_err(|error: toml::de::Error| error.to_string())
}

/// The keys of a block as `--set` takes them.
fn sets(block: &Block) -> Result<Vec<String>, String> {
    let mut sets = Vec::new();
    for (section, value) in table(block)? {
        match value {
            toml::Value::Table(keys) => {
                sets.extend(keys.iter().map(|(key, value)| format!("{section}.{key}={value}")));
            }
            value => sets.push(format!("{section}={value}")),
        }
    }
    Ok(sets)
}
