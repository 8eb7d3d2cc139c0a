//! What is built twice: the units of one cargo command that another does not take over.
//!
//! Cargo says what it would build (`--unit-graph`, which is not stable: hence the variable that
//! lets the pinned compiler say it). Two units are one if they and all below them have the same
//! features.

use crate::{cargo, output};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// What the README's second command builds.
pub const TESTS: [&str; 2] = ["test", "--workspace"];

/// The crates that `first` builds and that `second` builds again, with other features below them.
pub fn built_again(first: &[&str], second: &[&str]) -> Result<Vec<String>, String> {
    let (first, second) = (Units::of(first)?, Units::of(second)?);
    let again = first.0.iter().filter(|(unit, _)| !second.0.contains_key(*unit));
    let mut names: Vec<String> = again.map(|(_, name)| name.clone()).collect();
    names.dedup();
    Ok(names)
}

/// The name of every unit's package, by all that makes the unit what it is.
struct Units(BTreeMap<[u8; 32], String>);

impl Units {
    /// What a cargo command would build.
    fn of(arguments: &[&str]) -> Result<Self, String> {
        let mut command = cargo();
        command.args(arguments).args(["--release", "--locked", "--unit-graph"]);
        command.args(["-Z", "unstable-options"]).env("RUSTC_BOOTSTRAP", "1");
        let text = output("cargo --unit-graph", &mut command)?;
        let graph: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        let units = graph["units"].as_array().ok_or("a unit graph has units")?;
        let mut digests = vec![None; units.len()];
        let named = (0..units.len()).map(|index| {
            let digest = digest(units, index, &mut digests);
            let package = units[index]["pkg_id"].as_str().unwrap_or_default();
            // As in `registry+...#name@1.2.3` and `path+file:///.../name#1.2.3`.
            let name = package.rsplit('#').next().unwrap_or_default();
            let folder = package.split('#').next().unwrap_or_default();
            let folder = Path::new(folder).file_name().unwrap_or_default().to_string_lossy();
            (digest, name.split_once('@').map_or(folder.into(), |(name, _)| name.to_string()))
        });
        Ok(Self(named.collect()))
    }
}

fn digest(units: &[Value], index: usize, known: &mut [Option<[u8; 32]>]) -> [u8; 32] {
    if let Some(known) = known[index] {
        return known;
    }
    let unit = &units[index];
    let mut hasher = blake3::Hasher::new();
    for key in ["pkg_id", "target", "profile", "platform", "mode", "features"] {
        hasher.update(unit[key].to_string().as_bytes());
    }
    let below = unit["dependencies"].as_array().into_iter().flatten();
    for index in below.filter_map(|dependency| dependency["index"].as_u64()) {
        hasher.update(&digest(units, index as usize, known));
    }
    let digest = *hasher.finalize().as_bytes();
    known[index] = Some(digest);
    digest
}

#[cfg(test)]
mod tests {
    use super::{TESTS, built_again};

    /// The two commands of the README, and what packages are made of. Mended with a line in
    /// crates/cli/Cargo.toml that asks for the features that the tests ask for.
    #[test]
    fn no_crate_of_others_is_built_twice() {
        // Figures as PNG and Parquet come with the tests: these four are other crates then.
        let ours = ["dzoa-cli", "dzoa-lab", "dzoa-report", "dzoa-table"];
        let again = built_again(&["build"], &TESTS).unwrap();
        assert!(again.iter().all(|name| ours.contains(&name.as_str())), "{again:?}");
        let packages = ["build", "--package", "dzoa-cli", "--package", "dzoa-agent"];
        let features = [&packages[..], &["--features", "dzoa-cli/full"]].concat();
        assert_eq!(built_again(&features, &TESTS).unwrap(), Vec::<String>::new());
        // The wheel's own: Python, what talks to it, and the readers without Parquet.
        let wheel = ["rustc", "--lib", "--package", "dzoa-python"];
        let again = built_again(&wheel, &TESTS).unwrap();
        let own = |name: &str| {
            let own = ["dzoa-python", "dzoa-table", "numpy", "target-lexicon"];
            own.contains(&name) || name.starts_with("pyo3")
        };
        assert!(again.iter().all(|name| own(name)), "{again:?}");
    }
}
