//! The link between machines: Eclipse Zenoh, peer to peer, over QUIC with mutual TLS.
//!
//! One key per direction of an edge: `dzoa/x/FROM/TO`. Access control denies everything by default
//! and is derived from the edges: from whoever has neighbour L's certificate this agent takes only
//! `dzoa/x/L/SELF`, and lets it read only `dzoa/x/SELF/L`. So a frame on that key is from L,
//! whatever it says.
//!
//! Where agents cannot reach each other, they dial Zenoh routers instead. Then the certificate on
//! the link is the router's, access control only says which keys pass, and who wrote a frame is
//! known from its seal.
//!
//! Endpoints are `quic/` and never `tls/`: the TLS link of zenoh 1.10 shares one stream between its
//! reader and its writer without a lock, and ends the process.

use super::configuration::{LinkSettings, Place, key, to_neighbours, to_routers};
use super::{SealError, Sealer, Transport, TransportError, Unsealed, sealed};
use std::collections::{HashMap, HashSet};
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use zenoh::Wait;
use zenoh::pubsub::{Publisher, Subscriber};
use zenoh::qos::{CongestionControl, Reliability};

/// Kinds of refusals that are said; a flood of others is silent.
const MOST_REFUSALS: usize = 100;

/// Bytes of one neighbour that may wait to be read, or so many frames of the longest kind.
const WAITING: usize = 1 << 20;
const WAITING_FRAMES: usize = 16;

/// What arrived from one neighbour and waits to be read. What is too much is dropped, as on a bad
/// line: an honest neighbour repeats it.
struct Inbox {
    index: usize,
    name: String,
    waiting: AtomicUsize,
    most: usize,
    longest: usize,
    told: AtomicBool,
    sender: Sender<(usize, Vec<u8>)>,
}

impl Inbox {
    /// For what this neighbour says, in frames of at most this length.
    fn new(from: &Place, longest: usize, sender: Sender<(usize, Vec<u8>)>) -> Self {
        Self {
            index: from.index,
            name: from.name.clone(),
            waiting: AtomicUsize::new(0),
            most: WAITING.max(WAITING_FRAMES * longest),
            longest,
            told: AtomicBool::new(false),
            sender,
        }
    }

    fn take(&self, payload: &[u8]) {
        // One byte more than is allowed: then it is refused as too long, and named.
        let kept = &payload[..payload.len().min(self.longest + 1)];
        let before = self.waiting.fetch_add(kept.len(), Ordering::Relaxed);
        // Once nobody listens any more, the process is about to end.
        if before > self.most || self.sender.send((self.index, kept.to_vec())).is_err() {
            self.waiting.fetch_sub(kept.len(), Ordering::Relaxed);
            if !self.told.swap(true, Ordering::Relaxed) {
                let name = &self.name;
                tracing::warn!("{name} sends more than can be read: what is too much is dropped");
            }
        }
    }
}

/// Open links to all neighbours.
pub struct ZenohLink {
    session: zenoh::Session,
    publishers: Vec<(usize, Publisher<'static>)>,
    _subscribers: Vec<Subscriber<()>>,
    arrived: Receiver<(usize, Vec<u8>)>,
    inboxes: HashMap<usize, Arc<Inbox>>,
    /// Only through routers.
    sealer: Option<Sealer>,
    names: HashMap<usize, String>,
    /// What was refused of whom: each is said once.
    refused: HashSet<(usize, SealError)>,
    started: Instant,
}

impl ZenohLink {
    /// Listens, and dials the neighbours until they answer; or dials a router once, and fails if
    /// none answers.
    pub fn open(settings: &LinkSettings) -> Result<Self, TransportError> {
        let failed = |error: zenoh::Error| TransportError(words(&error));
        let LinkSettings { own, listen, neighbours, routers, certs, .. } = settings;
        let (sealer, configuration) = if routers.is_empty() {
            (None, to_neighbours(settings))
        } else {
            let names = neighbours.iter().map(|place| (place.index, place.name.as_str()));
            let sealer = Sealer::new(&own.name, certs, names)
                .map_err(|error| TransportError(error.to_string()))?;
            (Some(sealer), to_routers(settings))
        };
        let config = zenoh::Config::from_json5(&configuration.to_string()).map_err(failed)?;
        let session = zenoh::open(config).wait().map_err(|error| {
            TransportError(match (routers.is_empty(), listen) {
                (true, listen) => {
                    let at = listen.as_ref().unwrap_or(&own.address);
                    format!("cannot listen at {at}: {}", words(&error))
                }
                (false, _) => {
                    let tried: Vec<&str> =
                        routers.iter().map(|place| place.address.as_str()).collect();
                    format!("no router answers at {}", tried.join(", "))
                }
            })
        })?;
        let (sender, arrived) = channel();
        let around = if sealer.is_some() { sealed::AROUND } else { 0 };
        let longest = settings.longest_frame + around;
        let mut inboxes = HashMap::new();
        let mut publishers = Vec::new();
        let mut subscribers = Vec::new();
        for neighbour in &settings.neighbours {
            let (own, other) = (&settings.own.name, &neighbour.name);
            let publisher = session
                .declare_publisher(key(own, other))
                .congestion_control(CongestionControl::Block)
                .reliability(Reliability::Reliable)
                .express(true)
                .wait()
                .map_err(failed)?;
            publishers.push((neighbour.index, publisher));
            let inbox = Arc::new(Inbox::new(neighbour, longest, sender.clone()));
            inboxes.insert(neighbour.index, inbox.clone());
            let subscriber = session
                .declare_subscriber(key(other, own))
                .callback(move |sample| inbox.take(&sample.payload().to_bytes()))
                .wait()
                .map_err(failed)?;
            subscribers.push(subscriber);
        }
        let names = neighbours.iter().map(|place| (place.index, place.name.clone())).collect();
        Ok(Self {
            session,
            publishers,
            _subscribers: subscribers,
            arrived,
            inboxes,
            sealer,
            names,
            refused: HashSet::new(),
            started: Instant::now(),
        })
    }

    /// Closes the links, after what was sent has left.
    pub fn close(self) {
        let _ = self.session.close().wait();
    }
}

impl Transport for ZenohLink {
    fn send(&mut self, to: usize, frame: Vec<u8>) -> Result<(), TransportError> {
        let frame = match &mut self.sealer {
            Some(sealer) => sealer.seal(to, &frame),
            None => Some(frame),
        };
        let frame =
            frame.ok_or(TransportError(format!("no letter to agent {to} can be sealed")))?;
        let publisher = self.publishers.iter().find(|(index, _)| *index == to);
        let (_, publisher) = publisher.ok_or(TransportError(format!("agent {to} has no link")))?;
        publisher.put(frame).wait().map_err(|error| TransportError(words(&error)))
    }

    fn receive(&mut self, wait: Duration) -> Option<(usize, Vec<u8>)> {
        let end = Instant::now() + wait;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let (from, bytes) = self.arrived.recv_timeout(left).ok()?;
            self.inboxes[&from].waiting.fetch_sub(bytes.len(), Ordering::Relaxed);
            let Some(sealer) = &mut self.sealer else { return Some((from, bytes)) };
            match sealer.unseal(from, &bytes) {
                Ok(Unsealed::Frame(frame)) => return Some((from, frame)),
                Ok(Unsealed::Greeting { answer: false }) => {}
                // An empty frame is a greeting. One that is not sent is asked for again.
                Ok(Unsealed::Greeting { answer: true }) => drop(self.send(from, Vec::new())),
                Err(error) => {
                    if self.refused.len() < MOST_REFUSALS
                        && self.refused.insert((from, error.clone()))
                    {
                        let name = self.names.get(&from).map_or("", String::as_str);
                        tracing::warn!("refused from a router in the name of {name}: {error}");
                    }
                }
            }
        }
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }
}

/// A free UDP port of this host, for trials on one machine. It lies below the ports that systems
/// give to outgoing connections, or another agent that dials out might take it while its owner is
/// being restarted.
pub fn free_port(host: &str) -> std::io::Result<UdpSocket> {
    const PORTS: std::ops::Range<u16> = 12_000..32_000;
    let start = rand::random_range(PORTS);
    let tried = (start..PORTS.end).chain(PORTS.start..start);
    let bound = tried.take(1000).find_map(|port| UdpSocket::bind((host, port)).ok());
    bound.map_or_else(|| UdpSocket::bind((host, 0)), Ok)
}

/// A router in this process, for trials on one machine.
pub struct Router(zenoh::Session);

impl Router {
    /// Opens one, from what [`router_configuration`](super::router_configuration) gives.
    pub fn open(configuration: &str) -> Result<Self, TransportError> {
        let failed = |error: zenoh::Error| TransportError(words(&error));
        let config = zenoh::Config::from_json5(configuration).map_err(failed)?;
        zenoh::open(config).wait().map(Self).map_err(failed)
    }

    /// Closes it.
    pub fn close(self) {
        let _ = self.0.close().wait();
    }
}

/// What zenoh says, without the place in its sources.
fn words(error: &zenoh::Error) -> String {
    let text = error.to_string();
    text.split(" at /").next().unwrap_or_default().into()
}
