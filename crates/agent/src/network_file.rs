//! The one public file of a network: a config whose agents have addresses.

use dzoa::plan::Refused;
use dzoa::problem::Scale;
use dzoa_cli::config::{Config, Listed, Mode, RowsSpec};
use dzoa_node::certs::{Authority, CertError, CertFiles, Requested};
use dzoa_node::node::OnLoss;
use dzoa_node::transport::{Place, host};
use dzoa_report::refused;
use dzoa_table::{DataSource, Error, Result, Shape, shown, suggestion};
use std::path::{Path, PathBuf};

/// A network file, read and checked for real agents.
pub struct NetworkFile {
    /// The config.
    pub config: Config,
    /// What is minimised over which rows.
    pub rows: RowsSpec,
    /// What neighbours compare when they meet.
    pub digest: [u8; 32],
    /// All agents, in the order of the graph.
    pub places: Vec<Place>,
    /// What they go through, if they do not reach each other.
    pub routers: Vec<Place>,
}

impl NetworkFile {
    /// Reads the file and refuses what must not be in it.
    pub fn load(path: &Path, sets: &[String]) -> Result<Self> {
        let network = Self::load_uncounted(path, sets)?;
        let checked = network.check_counted();
        checked.map_err(|error| error.at(&path.display().to_string()))?;
        Ok(network)
    }

    /// Reads the file, which need not say how many rows the agents have.
    pub fn load_uncounted(path: &Path, sets: &[String]) -> Result<Self> {
        let file = path.display();
        if let Err(error) = std::fs::metadata(path) {
            return Err(Error::input(format!("{file}: cannot be read: {error}")).hint(
                "a network file is a config with the agents' names and addresses; \
                 examples/hospitals/network.toml is one",
            ));
        }
        let (config, rows) = Config::load_rows(Some(path), sets)?;
        if config.network.agents.is_empty() {
            return Err(Error::input(format!("{file}: `network.agents` is missing"))
                .hint("agents = [{ name = \"a\", address = \"127.0.0.1:7701\" }, ...]"));
        }
        let placed = |given: &[Listed]| {
            let place = |(index, Listed { name, address, .. }): (usize, &Listed)| Place {
                index,
                name: name.clone(),
                address: address.clone(),
            };
            given.iter().enumerate().map(place).collect()
        };
        let (places, routers) = (placed(&config.network.agents), placed(&config.network.routers));
        let network = Self { digest: digest(&config), config, rows, places, routers };
        let checked = network.check_runs_apart().and_then(|()| network.check_needs_no_overseer());
        checked.map_err(|error| error.at(&file.to_string()))?;
        Ok(network)
    }

    /// Refuses what agents on machines of their own cannot run.
    fn check_runs_apart(&self) -> Result<()> {
        let Config { run, spec, network, .. } = &self.config;
        let floods = spec.algorithm.floods();
        // The others run in lockstep: no agent of theirs can wait, restart or resume.
        if spec.algorithm.entry().is_some() && !floods {
            return Err(Error::input(format!(
                "`algorithm.name` is `{}`, which real agents do not run",
                spec.algorithm.name()
            ))
            .hint(
                "set algorithm.name = \"joint-gradient\", \"d-zoa\", \"admm\", \"dp-gd\" or \
                 \"dp-admm\"; `dzoa run` simulates the others",
            ));
        }
        if floods && self.config.mode != Mode::Synchronous {
            return Err(Error::input(
                "`algorithm.mode` is \"partial\", and every round needs everybody",
            )
            .hint("remove it: this algorithm waits for all agents"));
        }
        if floods && spec.algorithm.joint().is_none() && network.on_loss == OnLoss::Continue {
            return Err(Error::input(
                "`network.on_loss` is \"continue\", and every round needs everybody",
            )
            .hint("remove it: the run stops when an agent is gone for good"));
        }
        if let (Some(seed), Some(place)) = (run.seed, self.remote()) {
            return Err(Error::input(format!(
                "`run.seed` is {seed}, but {} is at {}, which is not this machine",
                shown(&place.name),
                place.address
            ))
            .hint("remove run.seed: whoever knows it can subtract the noise"));
        }
        if self.rows.is_synthetic() && run.seed.is_none() {
            return Err(Error::input(
                "`data.synthetic` needs `run.seed`: every agent draws its part from it",
            )
            .hint("set run.seed, for a trial on loopback; or give the agents files"));
        }
        if matches!(self.rows.data, DataSource::Split { .. }) {
            return Err(Error::input(
                "`data.file` holds all agents' rows, which no agent may have",
            )
            .hint("give every agent a file of its own with --data"));
        }
        let random = matches!(network.shape, Shape::Topology(topology) if topology.is_random());
        if random && run.seed.is_none() {
            return Err(Error::input(
                "`network.topology` is random, but the agents must agree on it",
            )
            .hint("list network.edges"));
        }
        if run.trials != 1 {
            return Err(Error::input(format!(
                "`run.trials` is {}, but real agents run once",
                run.trials
            ))
            .hint("set run.trials = 1"));
        }
        Ok(())
    }

    /// Refuses what needs somebody who sees all agents.
    fn check_needs_no_overseer(&self) -> Result<()> {
        let Config { run, spec, .. } = &self.config;
        if run.stop_tolerance > 0.0 {
            return Err(Error::input("`run.stop_tolerance` needs somebody who sees all agents")
                .hint("remove it: every agent runs all rounds"));
        }
        if spec.inference {
            return Err(refused(Refused::OnlyTogether("inference")));
        }
        if spec.mechanism.needs_optimum() {
            return Err(Error::input(
                "`privacy.optimum_norm_squared` is \"replicate\", which needs the optimum of all \
                 agents' rows",
            )
            .hint("give a public bound, or 0"));
        }
        Ok(())
    }

    /// Refuses what needs everybody's number of rows, where the file does not have them.
    pub fn check_counted(&self) -> Result<()> {
        let Config { spec, network, .. } = &self.config;
        if self.rows.is_synthetic() || network.agents.iter().all(|agent| agent.rows.is_some()) {
            return Ok(());
        }
        // Agents that hear everybody tell each other how many rows they have.
        let floods = spec.algorithm.floods();
        if self.rows.problem.scale == Scale::Pooled && !floods {
            return Err(refused(Refused::RowsOfOthers));
        }
        let ruled = (spec.rho.is_auto() && spec.algorithm.reads_rho()) || spec.rounds.is_auto();
        let ruled = ruled && spec.algorithm.joint().is_none();
        let ruled = ruled.then_some("algorithm.rho` or `algorithm.rounds");
        let eta = (spec.eta_by_rule && !floods).then_some("problem.eta");
        match spec.mechanism.left_to_rule().or(ruled).or(eta) {
            None => Ok(()),
            Some(key) => Err(Error::input(format!(
                "`{key}` is left to a rule, which needs the agents' numbers of rows"
            ))
            .hint(
                "give every agent's number of rows, which are public: agents = [{ name = \"a\", \
                 address = \"...\", rows = 303 }, ...]; or give numbers",
            )),
        }
    }

    /// The position of an agent.
    pub fn position(&self, name: &str) -> Result<usize> {
        self.places.iter().position(|place| place.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.places.iter().map(|place| place.name.as_str()).collect();
            Error::input(format!("--name {}: no such agent in the network file", shown(name)))
                .hint(format!("the agents are: {}", names.join(", ")))
        })
    }

    /// The edges, by name.
    pub fn edges(&self) -> Result<Vec<(String, String)>> {
        let names = self.places.iter().map(|place| place.name.clone()).collect();
        let graph = self.config.network.shape.graph(names, &self.config.streams()?)?;
        let named = |k: usize| graph.names()[k].clone();
        Ok(graph.edges().map(|(a, b)| (named(a), named(b))).collect())
    }

    /// Writes an authority, unless there is one, and a key and certificate for every agent and
    /// router. Returns whether there was one.
    pub fn certify(&self, dir: &Path, days: u16) -> Result<bool> {
        let (authority, renewed) = self.authority(dir)?;
        let valid = time::Duration::days(i64::from(days));
        for place in self.places.iter().chain(&self.routers) {
            let identity = authority.issue(&place.name, host(&place.address), valid);
            identity.and_then(|identity| identity.write(dir)).map_err(failed)?;
        }
        Ok(renewed)
    }

    /// Writes an authority, unless there is one, and certificates for keys that stay at the sites.
    /// Nothing is written unless all requests are good. Returns what was signed.
    pub fn sign(&self, dir: &Path, requests: &[PathBuf], days: u16) -> Result<Vec<Signed>> {
        let mut asked = Vec::new();
        for path in requests {
            let request = Requested::read(path).map_err(|error| {
                Error::input(error.to_string()).hint("`dzoa key` writes one at the site")
            })?;
            let all = || self.places.iter().chain(&self.routers);
            let Some(place) = all().find(|place| place.name == request.name) else {
                let names: Vec<&str> = all().map(|place| place.name.as_str()).collect();
                return Err(Error::input(format!(
                    "{}: no agent or router is called {}",
                    path.display(),
                    shown(&request.name)
                ))
                .hint(suggestion(&request.name, &names)));
            };
            asked.push((request, place));
        }
        let (authority, _) = self.authority(dir)?;
        let valid = time::Duration::days(i64::from(days));
        let sign = |(request, place): (Requested, &Place)| {
            let before = CertFiles::of(dir, &place.name).fingerprint();
            let identity = authority.sign(&request, host(&place.address), valid);
            identity.and_then(|identity| identity.write(dir)).map_err(failed)?;
            let fingerprint = request.fingerprint();
            let before = before.filter(|before| *before != fingerprint);
            Ok(Signed { name: request.name, fingerprint, before })
        };
        asked.into_iter().map(sign).collect()
    }

    /// The authority of a directory, or a new one that is written there, and whether it was there.
    fn authority(&self, dir: &Path) -> Result<(Authority, bool)> {
        std::fs::create_dir_all(dir)
            .map_err(|error| Error::input(format!("{}: cannot be made: {error}", dir.display())))?;
        if let Some(authority) = Authority::open(dir).map_err(failed)? {
            return Ok((authority, true));
        }
        let authority = Authority::new(&self.config.name).map_err(failed)?;
        authority.write(dir).map_err(failed)?;
        Ok((authority, false))
    }

    /// What is to be said where vectors leave for other machines without a guarantee.
    pub fn unprotected(&self) -> Option<String> {
        let mechanism = &self.config.spec.mechanism;
        let open = mechanism.claimed().budget().is_none();
        let place = self.remote().filter(|_| open)?;
        Some(format!(
            "the mechanism {} guarantees nothing, and {} is at {}, which is not this machine",
            shown(mechanism.name()),
            shown(&place.name),
            place.address
        ))
    }

    /// The first agent or router that is not on this machine.
    pub fn remote(&self) -> Option<&Place> {
        self.places.iter().chain(&self.routers).find(|place| !is_loopback(&place.address))
    }
}

/// A certificate that was made for a site's own key.
pub struct Signed {
    /// Whose.
    pub name: String,
    /// Of the key.
    pub fingerprint: String,
    /// Of the key that the certificate before this one was for, where it was another.
    pub before: Option<String>,
}

fn failed(error: CertError) -> Error {
    Error::run(error.to_string())
        .hint("give a directory that can be written, or one made by `dzoa certs`")
}

/// A digest of everything in the file, so that a comment changes nothing and a number does.
fn digest(config: &Config) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("dzoa 2026 network file");
    hasher.update(config.given.to_string().as_bytes());
    *hasher.finalize().as_bytes()
}

fn is_loopback(address: &str) -> bool {
    let host = host(address);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}
