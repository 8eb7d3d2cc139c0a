//! `[network]`: who talks to whom.

use super::only_with;
use dzoa::network::OnLoss;
use dzoa_table::{Result, Section, Shape, ShapeKeys, Value};
use std::time::Duration;

/// How long a neighbour may be silent where the file does not say.
const PATIENCE_SECONDS: f64 = 600.0;

/// `[network]`
#[derive(Debug)]
pub struct NetworkSection {
    /// A shape, or edges by name.
    pub shape: Shape,
    /// Self-inclusive neighbourhoods.
    pub self_loop: bool,
    /// Where real agents are. Empty for a simulation.
    pub agents: Vec<Listed>,
    /// Zenoh routers that real agents go through. Empty where neighbours reach each other.
    pub routers: Vec<Listed>,
    /// How long a neighbour may be silent.
    pub patience: Duration,
    /// What happens then.
    pub on_loss: OnLoss,
}

/// A machine of a real network.
#[derive(Clone, Debug)]
pub struct Listed {
    pub name: String,
    /// `host:port`
    pub address: String,
    /// An agent's number of rows, where the file makes it known.
    pub rows: Option<usize>,
}

impl NetworkSection {
    pub(super) fn read(section: &Section<'_>) -> Result<Self> {
        let shape = ShapeKeys::read(section)?;
        let self_loop = section.or("self_loop", true)?;
        let agents = places(section, "agents")?;
        let routers = places(section, "routers")?;
        let patience = section.positive("patience")?;
        let on_loss = match section.choice("on_loss", &["stop", "continue"])? {
            Some("continue") => OnLoss::Continue,
            _ => OnLoss::Stop,
        };
        section.finish()?;
        let real = !agents.is_empty();
        only_with(section, "patience", patience.is_some(), "`network.agents`", real)?;
        only_with(section, "routers", !routers.is_empty(), "`network.agents`", real)?;
        if let Some(router) = routers.iter().find(|r| agents.iter().any(|a| a.name == r.name)) {
            return Err(section
                .error("routers", &format!("holds `{}`, which is also an agent", router.name))
                .hint("a router has a name, a certificate and a machine of its own"));
        }
        let shape = shape.shape(section)?;
        let patience = Duration::try_from_secs_f64(patience.unwrap_or(PATIENCE_SECONDS))
            .map_err(|_| section.error("patience", "must be a number of seconds"))?;
        Ok(Self { shape, self_loop, agents, routers, patience, on_loss })
    }
}

/// Why the name of an agent is what it must be.
pub const NAMES_FILES: &str = "it names the certificate, key and files";

/// What is wrong with a name of an agent or router, if anything.
pub fn names_files(name: &str) -> std::result::Result<(), &'static str> {
    // No dots: links also trust the public web's authorities, and these give nobody a certificate
    // for a name without one.
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
        return Err("must be 1 to 64 letters, digits, `-` and `_`");
    }
    if name.eq_ignore_ascii_case("ca") {
        return Err("cannot be `ca`, which is the authority's");
    }
    Ok(())
}

/// `agents = [{ name, address, rows }, ...]`, and routers likewise, who have no rows.
fn places(section: &Section<'_>, key: &'static str) -> Result<Vec<Listed>> {
    let Some(node) = section.node(key) else { return Ok(Vec::new()) };
    let Value::Array(items) = &node.value else {
        return Err(section
            .error(key, "must be an array of { name, address }")
            .hint(format!("{key} = [{{ name = \"a\", address = \"127.0.0.1:7701\" }}, ...]")));
    };
    let mut places = Vec::new();
    for item in items {
        let entry = Section::named(item, &format!("network.{key}"))?;
        let name: String = entry.required("name")?;
        if let Err(wrong) = names_files(&name) {
            return Err(entry.error("name", wrong).hint(NAMES_FILES));
        }
        let address: String = entry.required("address")?;
        let port = address.rsplit_once(':').and_then(|(host, port)| {
            let fits = !host.is_empty() && !host.contains(['/', '#', '?', ' ']);
            port.parse::<u16>().ok().filter(|_| fits)
        });
        if port.is_none() {
            return Err(entry
                .error("address", "must be HOST:PORT")
                .hint("for example 127.0.0.1:7701, or hospital.example:7447"));
        }
        let rows = if key == "agents" { entry.count("rows")? } else { None };
        entry.finish()?;
        places.push(Listed { name, address, rows });
    }
    if places.is_empty() {
        return Err(section.error(key, "is empty"));
    }
    Ok(places)
}
