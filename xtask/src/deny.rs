//! `cargo xtask deny`: licences, origins and known holes of other people's code, by cargo-deny.

use crate::{Outcome, output, root, step, tools};
use std::path::Path;
use std::process::Command;

/// How cargo-deny calls its copy of the usual database.
const DATABASE: &str = "advisory-db-3157b0e258782691";

/// Checks everything. Known holes come from the network, or from a clone of the database.
pub fn check(database: Option<&Path>) -> Outcome {
    let program = tools::installed("cargo-deny", "0.20.2")?;
    let deny = |config: &Path, what: &[&str]| {
        let mut command = Command::new(&program);
        command
            .current_dir(root())
            .args(["--locked", "--config"])
            .arg(config)
            .arg("check")
            .args(what);
        command
    };
    let config = root().join("deny.toml");
    let what = ["licenses", "bans", "sources"];
    step("licences, bans, sources", &mut deny(&config, &what))?;
    let config = match database {
        Some(database) => with_database(&config, database)?,
        None => config,
    };
    let mut advisories = deny(&config, &["advisories"]);
    if database.is_some() {
        advisories = Command::new(&program);
        advisories.current_dir(root()).args(["--offline", "--locked", "--config"]).arg(&config);
        advisories.args(["check", "advisories"]);
    }
    step("advisories", &mut advisories).map_err(|error| {
        let offline = "where the network ends before the database, name a clone of it: \
                       `cargo xtask deny DIRECTORY`";
        format!("{error}\n\nhint: {offline}")
    })
}

/// The same rules, with a database that is here.
fn with_database(config: &Path, database: &Path) -> Result<std::path::PathBuf, String> {
    let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    let database = database.canonicalize().map_err(|error| failed(database, error))?;
    let text = std::fs::read_to_string(config).map_err(|error| failed(config, error))?;
    let place = root().join("target/deny");
    let copies = place.join("databases");
    let _ = std::fs::remove_dir_all(&copies);
    let mut clone = Command::new("git");
    clone.args(["clone", "--quiet"]).arg(&database).arg(copies.join(DATABASE));
    output("git clone", &mut clone)?;
    // However old it is: whoever names it knows.
    let here = format!(
        "[advisories]\ndb-path = \"{}\"\nmaximum-db-staleness = \"P3650D\"\n",
        copies.display()
    );
    let file = place.join("deny.toml");
    std::fs::create_dir_all(&place)
        .and_then(|()| std::fs::write(&file, text.replace("[advisories]\n", &here)))
        .map_err(|error| failed(&file, error))?;
    Ok(file)
}
