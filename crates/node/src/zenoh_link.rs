//! The link between machines: Eclipse Zenoh, peer to peer, over QUIC with mutual TLS.
//!
//! One key per direction of an edge: `dzoa/x/FROM/TO`. Access control denies everything by default and is
//! derived from the edges: from the holder of neighbour L's certificate this agent takes only
//! `dzoa/x/L/SELF`, and lets it read only `dzoa/x/SELF/L`. So a frame on that key is from L, whatever it says.
//!
//! Endpoints are `quic/` and never `tls/`: the TLS link of zenoh 1.10 shares one stream between its reader and
//! its writer without a lock, and ends the process.

use crate::certs::CertFiles;
use crate::transport::{Transport, TransportError};
use serde_json::{Value, json};
use std::net::UdpSocket;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use zenoh::Wait;
use zenoh::pubsub::{Publisher, Subscriber};
use zenoh::qos::{CongestionControl, Reliability};

/// An agent and where it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// Its position in the graph.
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
    started: Instant,
}

impl ZenohLink {
    /// Listens, and dials the neighbours until they answer.
    pub fn open(settings: &LinkSettings) -> Result<Self, TransportError> {
        let failed = |error: zenoh::Error| TransportError(words(&error));
        let config =
            zenoh::Config::from_json5(&configuration(settings).to_string()).map_err(failed)?;
        let session = zenoh::open(config).wait().map_err(|error| {
            let at = settings.listen.as_ref().unwrap_or(&settings.own.address);
            TransportError(format!("cannot listen at {at}: {}", words(&error)))
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
        let started = Instant::now();
        Ok(Self { session, publishers, _subscribers: subscribers, arrived, started })
    }

    /// Closes the links, after what was sent has left.
    pub fn close(self) {
        let _ = self.session.close().wait();
    }
}

impl Transport for ZenohLink {
    fn send(&mut self, to: usize, frame: Vec<u8>) -> Result<(), TransportError> {
        let publisher = self.publishers.iter().find(|(index, _)| *index == to);
        let (_, publisher) = publisher.ok_or(TransportError(format!("agent {to} has no link")))?;
        publisher.put(frame).wait().map_err(|error| TransportError(words(&error)))
    }

    fn receive(&mut self, wait: Duration) -> Option<(usize, Vec<u8>)> {
        self.arrived.recv_timeout(wait).ok()
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

/// Where to listen: at the address itself, or, where that is a name, at its port on all interfaces.
fn listen_endpoint(settings: &LinkSettings) -> String {
    let address = settings.listen.as_ref().unwrap_or(&settings.own.address);
    let is_number =
        host(address).parse::<std::net::IpAddr>().is_ok() || host(address) == "localhost";
    match address.rsplit_once(':') {
        Some((_, port)) if !is_number => format!("quic/0.0.0.0:{port}"),
        _ => format!("quic/{address}"),
    }
}

fn configuration(settings: &LinkSettings) -> Value {
    let LinkSettings { own, neighbours, certs, longest_frame, .. } = settings;
    let path = |path: &std::path::Path| path.display().to_string();
    let dial: Vec<String> =
        neighbours.iter().map(|place| format!("quic/{}", place.address)).collect();
    let mut rules = Vec::new();
    let mut policies = Vec::new();
    let mut subjects = Vec::new();
    for Place { name: other, .. } in neighbours {
        let own = &own.name;
        let (to_us, to_them) = (key(other, own), key(own, other));
        let id = |what: &str| format!("{what}-{other}");
        let rule = |what: &str, flow: &str, message: &str, key: &str| {
            json!({ "id": id(what), "permission": "allow", "flows": [flow],
                    "messages": [message], "key_exprs": [key] })
        };
        rules.push(rule("takes", "ingress", "put", &to_us));
        rules.push(rule("lets-read", "ingress", "declare_subscriber", &to_them));
        rules.push(rule("gives", "egress", "put", &to_them));
        rules.push(rule("asks", "egress", "declare_subscriber", &to_us));
        let all: Vec<String> = ["takes", "lets-read", "gives", "asks"].map(id).to_vec();
        subjects
            .push(json!({ "id": other, "cert_common_names": [other], "link_protocols": ["quic"] }));
        policies.push(json!({ "rules": all, "subjects": [other] }));
    }
    // An agent without neighbours needs no rule, and the list may not be empty.
    let control = match rules.is_empty() {
        true => json!({ "enabled": true, "default_permission": "deny" }),
        false => json!({ "enabled": true, "default_permission": "deny",
                         "rules": rules, "subjects": subjects, "policies": policies }),
    };
    json!({
        "mode": "peer",
        "connect": { "endpoints": dial, "timeout_ms": -1, "exit_on_failure": false,
            // Not faster: a link that is formed again within the second in which its certificate expires
            // lives on.
            "retry": { "period_init_ms": 1500, "period_max_ms": 4000, "period_increase_factor": 2 } },
        "listen": { "endpoints": [listen_endpoint(settings)], "exit_on_failure": true, "timeout_ms": 0 },
        "scouting": { "multicast": { "enabled": false }, "gossip": { "enabled": false } },
        "transport": {
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
        },
        "access_control": control
    })
}
