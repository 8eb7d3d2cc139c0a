//! The link between machines: Eclipse Zenoh, peer to peer, over QUIC with mutual TLS.
//!
//! One key per direction of an edge: `dzoa/x/FROM/TO`. Access control denies everything by default and is
//! derived from the edges: from the holder of neighbour L's certificate this agent takes only
//! `dzoa/x/L/SELF`, and lets it read only `dzoa/x/SELF/L`. So a frame on that key is from L, whatever it says.
//!
//! Where agents cannot reach each other, they dial Zenoh routers instead. Then the certificate on the link is the
//! router's, access control only says which keys pass, and who wrote a frame is known from its [`crate::seal`].
//!
//! Endpoints are `quic/` and never `tls/`: the TLS link of zenoh 1.10 shares one stream between its reader and
//! its writer without a lock, and ends the process.

use crate::certs::CertFiles;
use crate::seal::{self, SealError, Sealer, Unsealed};
use crate::transport::{Transport, TransportError};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::UdpSocket;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use zenoh::Wait;
use zenoh::pubsub::{Publisher, Subscriber};
use zenoh::qos::{CongestionControl, Reliability};

/// Kinds of refusals that are said; a flood of others is silent.
const MOST_REFUSALS: usize = 100;

/// The longest frame that routers let through: they do not know the model. Two million coefficients.
const ROUTED_FRAME: usize = 16 << 20;

/// An agent or a router, and where it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// Its position in the graph, or among the routers.
    pub index: usize,
    /// Its name.
    pub name: String,
    /// `host:port`.
    pub address: String,
}

/// What a link needs.
#[derive(Clone, Debug)]
pub struct LinkSettings {
    /// This agent.
    pub own: Place,
    /// Where to listen, if not at its address.
    pub listen: Option<String>,
    /// Its neighbours.
    pub neighbours: Vec<Place>,
    /// Routers to go through; empty where neighbours are dialled themselves.
    pub routers: Vec<Place>,
    /// Its certificates.
    pub certs: CertFiles,
    /// The longest frame.
    pub longest_frame: usize,
}

/// Open links to all neighbours.
pub struct ZenohLink {
    session: zenoh::Session,
    publishers: Vec<(usize, Publisher<'static>)>,
    _subscribers: Vec<Subscriber<()>>,
    arrived: Receiver<(usize, Vec<u8>)>,
    /// Only through routers.
    sealer: Option<Sealer>,
    names: HashMap<usize, String>,
    /// What was refused of whom: each is said once.
    refused: HashSet<(usize, SealError)>,
    started: Instant,
}

impl ZenohLink {
    /// Listens, and dials the neighbours until they answer; or dials a router once, and fails if none answers.
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
            let (sender, index) = (sender.clone(), neighbour.index);
            let subscriber = session
                .declare_subscriber(key(other, own))
                .callback(move |sample| {
                    // Once nobody listens any more, the process is about to end.
                    let _ = sender.send((index, sample.payload().to_bytes().into_owned()));
                })
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

fn key(from: &str, to: &str) -> String {
    format!("dzoa/x/{from}/{to}")
}

/// The part of an address before the port.
pub fn host(address: &str) -> &str {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    host.trim_start_matches('[').trim_end_matches(']')
}

/// A free UDP port of this host, for trials on one machine. It lies below the ports that systems give to
/// outgoing connections, or another agent that dials out might take it while its owner is being restarted.
pub fn free_port(host: &str) -> std::io::Result<UdpSocket> {
    const PORTS: std::ops::Range<u16> = 12_000..32_000;
    let start = rand::random_range(PORTS);
    let tried = (start..PORTS.end).chain(PORTS.start..start);
    let bound = tried.take(1000).find_map(|port| UdpSocket::bind((host, port)).ok());
    bound.map_or_else(|| UdpSocket::bind((host, 0)), Ok)
}

/// What zenoh says, without the place in its sources.
fn words(error: &zenoh::Error) -> String {
    let text = error.to_string();
    text.split(" at /").next().unwrap_or_default().into()
}

fn listen_endpoint(settings: &LinkSettings) -> String {
    endpoint(settings.listen.as_ref().unwrap_or(&settings.own.address))
}

/// Where to listen: at the address itself, or, where that is a name, at its port on all interfaces.
fn endpoint(address: &str) -> String {
    let is_number =
        host(address).parse::<std::net::IpAddr>().is_ok() || host(address) == "localhost";
    match address.rsplit_once(':') {
        Some((_, port)) if !is_number => format!("quic/0.0.0.0:{port}"),
        _ => format!("quic/{address}"),
    }
}

/// May pass through us in these directions, whoever holds one of these certificates.
struct Permit<'a> {
    id: String,
    holders: Vec<&'a str>,
    /// Flow, message and key.
    rules: Vec<(&'static str, &'static str, String)>,
}

/// What an agent lets through on an edge, as seen from its own end.
fn both_ways(own: &str, other: &str) -> Vec<(&'static str, &'static str, String)> {
    let (to_us, to_them) = (key(other, own), key(own, other));
    vec![
        ("ingress", "put", to_us.clone()),
        ("ingress", "declare_subscriber", to_them.clone()),
        ("egress", "put", to_them),
        ("egress", "declare_subscriber", to_us),
    ]
}

/// Access control that denies everything but this.
fn access(permits: &[Permit<'_>]) -> Value {
    let mut rules = Vec::new();
    let mut subjects = Vec::new();
    let mut policies = Vec::new();
    for Permit { id, holders, rules: allowed } in permits {
        let mut ids = Vec::new();
        for (number, (flow, message, key)) in allowed.iter().enumerate() {
            ids.push(format!("{id}-{number}"));
            rules.push(json!({ "id": ids[number], "permission": "allow", "flows": [flow],
                               "messages": [message], "key_exprs": [key] }));
        }
        subjects
            .push(json!({ "id": id, "cert_common_names": holders, "link_protocols": ["quic"] }));
        policies.push(json!({ "rules": ids, "subjects": [id] }));
    }
    // An agent without neighbours needs no rule, and the list may not be empty.
    match rules.is_empty() {
        true => json!({ "enabled": true, "default_permission": "deny" }),
        false => json!({ "enabled": true, "default_permission": "deny",
                         "rules": rules, "subjects": subjects, "policies": policies }),
    }
}

/// Neighbours dial each other.
fn to_neighbours(settings: &LinkSettings) -> Value {
    let LinkSettings { own, neighbours, certs, longest_frame, .. } = settings;
    let permits: Vec<Permit<'_>> = neighbours
        .iter()
        .map(|Place { name: other, .. }| Permit {
            id: other.clone(),
            holders: vec![other],
            rules: both_ways(&own.name, other),
        })
        .collect();
    json!({
        "mode": "peer",
        "connect": { "endpoints": endpoints(neighbours), "timeout_ms": -1, "exit_on_failure": false, "retry": retry() },
        "listen": { "endpoints": [listen_endpoint(settings)], "exit_on_failure": true, "timeout_ms": 0 },
        "scouting": { "multicast": { "enabled": false }, "gossip": { "enabled": false } },
        "transport": transport(certs, *longest_frame),
        "access_control": access(&permits)
    })
}

/// Agents dial one router after the other, once each, until one answers; and any of them when that one is gone.
fn to_routers(settings: &LinkSettings) -> Value {
    let LinkSettings { own, neighbours, routers, certs, longest_frame, .. } = settings;
    let permit = Permit {
        id: "routers".into(),
        holders: routers.iter().map(|place| place.name.as_str()).collect(),
        rules: neighbours.iter().flat_map(|place| both_ways(&own.name, &place.name)).collect(),
    };
    let permits = if neighbours.is_empty() { vec![] } else { vec![permit] };
    json!({
        "mode": "client",
        "connect": { "endpoints": endpoints(routers), "timeout_ms": 0, "exit_on_failure": true, "retry": retry() },
        "listen": { "endpoints": [] },
        "scouting": { "multicast": { "enabled": false }, "gossip": { "enabled": false } },
        "transport": transport(certs, longest_frame + seal::AROUND),
        "access_control": access(&permits)
    })
}

/// The configuration of a router, for Zenoh's own program `zenohd`: whoever holds an agent's certificate may write
/// and read what the agent's edges allow, and nothing else passes.
///
/// `edges` are pairs of agents' names.
pub fn router_configuration(
    own: &Place,
    routers: &[Place],
    edges: &[(String, String)],
    certs: &CertFiles,
) -> String {
    let mut by_agent: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for (a, b) in edges {
        // The router sees an edge from its middle: what an agent gives comes in.
        by_agent.entry(a).or_default().extend(both_ways(b, a));
        by_agent.entry(b).or_default().extend(both_ways(a, b));
    }
    let others: Vec<Place> = routers.iter().filter(|place| *place != own).cloned().collect();
    let mut permits: Vec<Permit<'_>> = by_agent
        .into_iter()
        .map(|(agent, rules)| Permit { id: format!("agent-{agent}"), holders: vec![agent], rules })
        .collect();
    if !others.is_empty() {
        let everything = ["ingress", "egress"].into_iter().flat_map(|flow| {
            ["put", "declare_subscriber"].map(|message| (flow, message, "dzoa/x/**".to_string()))
        });
        permits.push(Permit {
            id: "routers".into(),
            holders: others.iter().map(|place| place.name.as_str()).collect(),
            rules: everything.collect(),
        });
    }
    let configuration = json!({
        "mode": "router",
        "connect": { "endpoints": endpoints(&others), "timeout_ms": -1, "exit_on_failure": false, "retry": retry() },
        "listen": { "endpoints": [endpoint(&own.address)], "exit_on_failure": true, "timeout_ms": 0 },
        "scouting": { "multicast": { "enabled": false }, "gossip": { "enabled": false } },
        "transport": transport(certs, ROUTED_FRAME),
        "access_control": access(&permits)
    });
    format!("{configuration:#}\n")
}

/// A router in this process, for trials on one machine.
pub struct Router(zenoh::Session);

impl Router {
    /// Opens one, from what [`router_configuration`] gives.
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

fn endpoints(places: &[Place]) -> Vec<String> {
    places.iter().map(|place| format!("quic/{}", place.address)).collect()
}

/// Not faster: a link that is formed again within the second in which its certificate expires lives on.
fn retry() -> Value {
    json!({ "period_init_ms": 1500, "period_max_ms": 4000, "period_increase_factor": 2 })
}

fn transport(certs: &CertFiles, longest_frame: usize) -> Value {
    let path = |path: &std::path::Path| path.display().to_string();
    json!({
        "unicast": { "max_links": 1, "open_timeout": 5000, "accept_timeout": 5000 },
        "link": {
            "protocols": ["quic"],
            "tx": { "lease": 3000, "keep_alive": 4 },
            // Zenoh's own messages need some room beside the frame.
            "rx": { "buffer_size": 65536, "max_message_size": longest_frame + 65536 },
            "tls": {
                "root_ca_certificate": path(&certs.authority), "enable_mtls": true,
                "listen_private_key": path(&certs.key), "listen_certificate": path(&certs.certificate),
                "connect_private_key": path(&certs.key), "connect_certificate": path(&certs.certificate),
                "verify_name_on_connect": true, "close_link_on_expiration": true
            }
        }
    })
}
