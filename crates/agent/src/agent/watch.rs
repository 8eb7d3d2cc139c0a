//! What an agent shows while it runs: progress, refusals, metrics.

use super::troubles::{LinkTroubles, NOBODY, Trouble};
use dzoa::plan::{Claimed, Plan};
use dzoa_cli::args::{AgentArgs, LogFormat};
use dzoa_cli::config::Config;
use dzoa_cli::progress::Progress;
use dzoa_cli::terminal::{Voice, voice};
use dzoa_node::node::{Refusal, Running};
use dzoa_table::{Error, Result, shown};
use metrics::{counter, gauge};
use std::collections::{BTreeMap, HashSet};
use std::fs::OpenOptions;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

/// What is logged unless RUST_LOG says otherwise.
const LOGGED: &str = "off,dzoa=info,dzoa_node=info";
/// The same with `-v`: what the links do, too.
const DETAILED: &str = "off,dzoa=debug,dzoa_node=debug,zenoh=info";
/// How often progress is told.
const EVERY: Duration = Duration::from_millis(250);
/// How often in plain lines, once the rounds have begun.
const EVERY_LINE: Duration = Duration::from_secs(30);
/// Frames of evidence that are written; a flood beyond it is only counted.
const MOST_EVIDENCE: usize = 1000;
/// Bytes of evidence in one file. One that is full is kept until the next one is.
const FULL: u64 = 1 << 20;

/// Watches a node.
pub struct Watch {
    json: bool,
    name: String,
    rounds: u64,
    progress: Option<Progress>,
    /// Rounds that the progress bar has counted.
    ticked: u64,
    /// Rounds done, and the seconds until then.
    pub reached: Vec<(u64, f64)>,
    /// When progress was last told, and in which round.
    last: (Duration, u64),
    /// What was last said, and when.
    told: (String, Duration),
    /// Neighbours that are known to have been left behind.
    left: HashSet<String>,
    /// Whether everybody has met, where that is waited for.
    met: bool,
    evidence: PathBuf,
    written: usize,
    known: HashSet<(String, String)>,
    /// What is needed to say what was spent.
    claimed: Claimed,
    /// Why links do not come about.
    troubles: LinkTroubles,
    /// The agents' names, by address.
    addresses: BTreeMap<String, String>,
    /// Why the link to an agent did not come about when it was last tried.
    unmet: BTreeMap<String, &'static str>,
}

impl Watch {
    /// Sets up logs and metrics.
    pub fn new(args: &AgentArgs, config: &Config, plan: &Plan) -> Result<Self> {
        let json = args.log_format == LogFormat::Json;
        let asked = std::env::var("RUST_LOG").unwrap_or_default();
        let directives = match (asked.as_str(), voice()) {
            ("", Voice::Quiet) => "warn",
            ("", Voice::Usual) => LOGGED,
            ("", Voice::Verbose) => DETAILED,
            (asked, _) => asked,
        };
        let filter = EnvFilter::try_new(directives).map_err(|error| {
            Error::input(format!("RUST_LOG: {} cannot be read: {error}", shown(&asked)))
                .hint("for example RUST_LOG=warn, or RUST_LOG=info,dzoa_node=debug")
        })?;
        let plain = std::env::var_os("NO_COLOR").is_some_and(|asked| !asked.is_empty());
        let lines = tracing_subscriber::fmt::layer()
            .with_writer(std::io::stderr)
            .with_ansi(std::io::stderr().is_terminal() && !plain);
        let lines = match json {
            true => lines.json().with_filter(filter).boxed(),
            false => lines.compact().with_target(false).with_filter(filter).boxed(),
        };
        let troubles = LinkTroubles::default();
        let heard = troubles.clone().with_filter(LinkTroubles::targets());
        // A second subscriber cannot be set; the first one then stays.
        let _ = tracing_subscriber::registry().with(lines).with(heard).try_init();
        if let Some(address) = args.metrics {
            metrics_exporter_prometheus::PrometheusBuilder::new()
                .with_http_listener(address)
                .install()
                .map_err(|error| {
                    Error::run(format!("--metrics {address}: {error}")).hint("is the port free?")
                })?;
        }
        let rounds = plan.rounds();
        let seeded = config.run.seed.is_some();
        Ok(Self {
            json,
            name: args.name.clone(),
            rounds,
            progress: (!json).then(|| Progress::new(rounds, &format!("{}: meeting", args.name))),
            ticked: 0,
            reached: Vec::new(),
            last: (Duration::ZERO, 0),
            told: (String::new(), Duration::ZERO),
            left: HashSet::new(),
            met: false,
            evidence: args.state.join("refused.jsonl"),
            written: 0,
            known: HashSet::new(),
            // Whoever knows the seed can subtract the noise: nothing is claimed then.
            troubles,
            addresses: {
                let listed = config.network.agents.iter().chain(&config.network.routers);
                listed.map(|place| (place.address.clone(), place.name.clone())).collect()
            },
            unmet: BTreeMap::new(),
            claimed: match plan.claimed() {
                Claimed::Exact { .. } if seeded => Claimed::Nothing,
                claimed => claimed,
            },
        })
    }

    /// A line for the operator.
    pub fn say(&self, what: &str) {
        match &self.progress {
            Some(progress) => progress.say(&format!("{}: {what}", self.name)),
            None => tracing::info!(agent = self.name, "{what}"),
        }
    }

    /// The last line, after the bar.
    pub fn conclude(&self, what: &str) {
        match self.json {
            true => tracing::info!(agent = self.name, "{what}"),
            false => eprintln!("{what}"),
        }
    }

    /// A line that should not be missed.
    pub fn warn(&self, what: &str) {
        tracing::warn!(agent = self.name, "{what}");
    }

    /// Called after every step.
    pub fn see(&mut self, node: &mut dyn Running, now: Duration) {
        for refusal in node.take_refusals() {
            self.refused(&refusal);
        }
        for trouble in self.troubles.take() {
            self.failed(&trouble);
        }
        for (name, round) in node.left() {
            if self.left.insert(name.into()) {
                self.warn(&format!("goes on without {name} from round {round}"));
            }
        }
        self.meet(node);
        let done = node.rounds_done();
        if let Some(progress) = &self.progress {
            (self.ticked..done).for_each(|_| progress.tick());
        }
        if done > self.ticked {
            self.reached.push((done, now.as_secs_f64()));
        }
        self.ticked = done;
        let over = node.end().is_some();
        let (then, before) = self.last;
        if !over && now < then + EVERY {
            return;
        }
        let moved = done.saturating_sub(before);
        let pace = now.saturating_sub(then).as_secs_f64() * 1e3 / moved.max(1) as f64;
        self.last = (now, done);
        let spent = self.spent(node, done);
        self.measure(node, done, spent.as_ref().map(|(epsilon, _)| *epsilon));
        let waiting = self.waiting(node, now);
        if self.json {
            let (epsilon, claim) = spent.unwrap_or((0.0, "none"));
            tracing::info!(
                agent = self.name,
                round = done,
                rounds = self.rounds,
                ms_per_round = pace,
                epsilon,
                claim,
                waiting,
                "round"
            );
        } else {
            // While nothing moves, for whom it waits.
            let line = if moved == 0 && !over {
                waiting
            } else {
                let spent =
                    spent.map(|(epsilon, claim)| format!(", epsilon {epsilon:.3} ({claim})"));
                format!("{pace:.1} ms a round{}", spent.unwrap_or_default())
            };
            self.tell(line, done, now);
        }
    }

    /// For whom it waits, in words.
    fn waiting(&self, node: &dyn Running, now: Duration) -> String {
        let missing = node.missing();
        let named = |name: &str| match self.unmet.get(name) {
            Some(reason) => format!("{name} ({reason})"),
            None => name.to_string(),
        };
        let strangers: Vec<String> =
            node.peers().iter().filter(|peer| !peer.met).map(|peer| named(&peer.name)).collect();
        let staying: Vec<String> = (node.staying_for().into_iter())
            .map(|peer| {
                let silent = now.saturating_sub(peer.heard).as_secs();
                format!("{} (in round {}, heard {silent} s ago)", peer.name, peer.round)
            })
            .collect();
        if !staying.is_empty() {
            format!("done, staying for {}", staying.join(", "))
        } else if missing.is_empty() {
            "waiting for nobody".into()
        } else if strangers.is_empty() {
            format!("waiting for {}", missing.join(", "))
        } else {
            format!("not yet met: {}", strangers.join(", "))
        }
    }

    /// Says why a link did not come about: once for each reason, and nothing where nobody answers
    /// yet.
    fn failed(&mut self, Trouble { dialled, reason }: &Trouble) {
        let dialled = dialled.as_ref().map(|address| (self.addresses.get(address), address));
        let name = match dialled {
            Some((Some(name), _)) => name.clone(),
            Some((None, address)) => address.clone(),
            None => "somebody who dialled".into(),
        };
        counter!("dzoa_link_failures_total", "neighbour" => name.clone(), "reason" => *reason)
            .increment(1);
        let first = self.known.len() < MOST_EVIDENCE
            && self.known.insert((name.clone(), (*reason).to_string()));
        if first && *reason != NOBODY {
            self.warn(&format!("no link to {name}: {reason}"));
        }
        self.unmet.insert(name, reason);
    }

    /// Says which roster there is, once all have met.
    fn meet(&mut self, node: &dyn Running) {
        let Some(agent) = node.summing().filter(|_| !self.met) else { return };
        if let (Some(roster), Some(rounds)) = (agent.roster(), agent.rounds()) {
            (self.rounds, self.met) = (rounds, true);
            self.progress.iter().for_each(|progress| progress.expect(rounds));
            self.say(&format!("all have met, and the roster is {}", roster.digest()));
        }
    }

    /// Says what is new, and in plain lines not too often.
    fn tell(&mut self, line: String, done: u64, now: Duration) {
        let (told, when) = &self.told;
        let plain = self.progress.as_ref().is_some_and(|progress| !progress.is_bar());
        let early = plain && done > 0 && now < *when + EVERY_LINE;
        if *told != line && !early {
            self.say(&line);
            self.told = (line, now);
        }
    }

    /// Epsilon spent by this run and the claim that goes with it.
    fn spent(&self, node: &dyn Running, rounds: u64) -> Option<(f64, &'static str)> {
        let epsilon = match self.claimed {
            Claimed::Nominal { .. } if rounds > 0 => self.claimed.spent(rounds, [])?,
            Claimed::Exact { budget, .. } => node.ledger().epsilon(budget.delta),
            _ => return None,
        };
        Some((epsilon, self.claimed.claim().so_far()))
    }

    fn measure(&self, node: &dyn Running, done: u64, epsilon: Option<f64>) {
        let stats = node.stats();
        gauge!("dzoa_rounds_done").set(done as f64);
        gauge!("dzoa_rounds").set(self.rounds as f64);
        counter!("dzoa_sent_bytes_total").absolute(stats.sent.1);
        counter!("dzoa_sent_frames_total").absolute(stats.sent.0);
        counter!("dzoa_received_bytes_total").absolute(stats.received.1);
        counter!("dzoa_received_frames_total").absolute(stats.received.0);
        counter!("dzoa_repeated_vectors_total").absolute(stats.repeated);
        counter!("dzoa_refused_frames_total").absolute(stats.refused);
        for peer in node.peers() {
            gauge!("dzoa_waiting_seconds", "neighbour" => peer.name.clone())
                .set(peer.waited.as_secs_f64());
        }
        // A nominal figure has a name of its own: it must not be taken for a guarantee.
        let name = match self.claimed {
            Claimed::Exact { .. } => "dzoa_epsilon_spent",
            _ => "dzoa_epsilon_nominal",
        };
        if let Some(epsilon) = epsilon {
            gauge!(name).set(epsilon);
        }
    }

    /// Names what was refused, once for each kind, and keeps the bytes.
    fn refused(&mut self, refusal: &Refusal) {
        if self.known.len() < MOST_EVIDENCE
            && self.known.insert((refusal.from.clone(), refusal.what.clone()))
        {
            self.warn(&format!("refused a message from {}: {}", refusal.from, refusal.what));
        }
        if self.written >= MOST_EVIDENCE {
            return;
        }
        self.written += 1;
        let frame: String = refusal.frame.iter().map(|byte| format!("{byte:02x}")).collect();
        let Refusal { from, what, length, .. } = refusal;
        let line =
            serde_json::json!({ "from": from, "what": what, "bytes": length, "frame": frame });
        if let Err(error) = self.keep(&line.to_string()) {
            self.warn(&format!("{}: {error}", self.evidence.display()));
        }
    }

    /// Appends to the evidence.
    fn keep(&self, line: &str) -> std::io::Result<()> {
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        if std::fs::metadata(&self.evidence).is_ok_and(|file| file.len() >= FULL) {
            std::fs::rename(&self.evidence, self.evidence.with_extension("old.jsonl"))?;
        }
        options.open(&self.evidence).and_then(|mut file| writeln!(file, "{line}"))
    }

    /// Removes the bar.
    pub fn finish(&self) {
        if let Some(progress) = &self.progress {
            progress.finish();
        }
    }
}
