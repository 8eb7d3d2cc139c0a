//! Why links do not come about: what the transport says of it, in words that an operator can use.

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::Context;

/// Troubles that wait until somebody asks.
const MOST: usize = 100;

/// A link that did not come about.
#[derive(Clone, Debug, PartialEq)]
pub struct Trouble {
    /// Who was dialled, as `HOST:PORT`; nobody, where somebody else dialled.
    pub dialled: Option<String>,
    /// Why not.
    pub reason: &'static str,
}

/// Hears what the transport says of links, whatever is logged.
#[derive(Clone, Default)]
pub struct LinkTroubles(Arc<Mutex<Vec<Trouble>>>);

impl LinkTroubles {
    /// Where the transport says so.
    pub fn targets() -> Targets {
        Targets::new()
            .with_target("zenoh::net::runtime::orchestrator", LevelFilter::DEBUG)
            .with_target("zenoh_link_commons::quic", LevelFilter::WARN)
            .with_target("zenoh_transport::unicast", LevelFilter::ERROR)
    }

    /// What was heard since the last call.
    pub fn take(&self) -> Vec<Trouble> {
        self.0.lock().map(|mut heard| std::mem::take(&mut *heard)).unwrap_or_default()
    }
}

impl<S: Subscriber> Layer<S> for LinkTroubles {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut said = Said(String::new());
        event.record(&mut said);
        if let (Some(trouble), Ok(mut heard)) = (trouble(&said.0), self.0.lock())
            && heard.len() < MOST
        {
            heard.push(trouble);
        }
    }
}

struct Said(String);

impl Visit for Said {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            let _ = write!(self.0, "{value:?}");
        }
    }
}

/// What is wrong with a certificate: words for it, what it means here, and what where the other
/// side said so.
const CERTIFICATES: [(&[&str], &str, &str); 4] = [
    (
        &["UnknownIssuer", "BadSignature", "UnknownCA", "crypto(48)", "error 48"],
        "its certificate is of another authority than ca.pem here",
        "it says that this agent's certificate is of another authority",
    ),
    (
        &["NotValidYet", "not valid yet"],
        "its certificate is not valid yet, or the clock here is wrong",
        "it says that this agent's certificate is not valid yet, or its clock is wrong",
    ),
    (
        &["Expired", "expired", "crypto(45)", "error 45"],
        "its certificate has expired, or the clock here is wrong",
        "it says that this agent's certificate has expired, or its clock is wrong",
    ),
    (
        &["NotValidForName", "not valid for name"],
        "its certificate is for another address than the network file has",
        "it says that this agent's certificate is for another address",
    ),
];

/// The place is empty, or nothing gets through to it.
pub const NOBODY: &str = "nobody answers: it is not there yet, or a firewall keeps UDP out";
const SILENT: [&str; 3] = ["timed out", "TimedOut", "timeout"];

fn trouble(said: &str) -> Option<Trouble> {
    let has = |words: &[&str]| words.iter().any(|words| said.contains(words));
    let theirs = has(&["aborted by peer", "ConnectionClosed", "closed by peer"]);
    let certificate = CERTIFICATES.iter().find(|(words, ..)| has(words));
    let reason = match certificate {
        Some((_, _, reason)) if theirs => reason,
        Some((_, reason, _)) => reason,
        None if has(&SILENT) => NOBODY,
        None if has(&["lookup", "resolve"]) => "its name has no address",
        None => return None,
    };
    let mut places = said.split("quic/").skip(1).map(|rest| {
        let end = rest.find(|c: char| c.is_whitespace() || "!,;\"?#".contains(c));
        &rest[..end.unwrap_or(rest.len())]
    });
    // Errors end with a place in Zenoh's sources.
    let dialled = places.find(|place| !place.contains(".rs:")).map(String::from);
    Some(Trouble { dialled, reason })
}
