//! What Zenoh is told: whom to dial, where to listen, and which keys may pass.

use super::sealed;
use crate::certs::CertFiles;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The longest frame that routers let through: they do not know the model. Two million
/// coefficients.
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

pub(super) fn key(from: &str, to: &str) -> String {
    format!("dzoa/x/{from}/{to}")
}

/// The part of an address before the port.
pub fn host(address: &str) -> &str {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    host.trim_start_matches('[').trim_end_matches(']')
}

fn listen_endpoint(settings: &LinkSettings) -> String {
    endpoint(settings.listen.as_ref().unwrap_or(&settings.own.address))
}

/// Where to listen: at the address itself, or, where that is a name, at its port on all interfaces,
/// of both kinds where this machine has both.
fn endpoint(address: &str) -> String {
    let is_number =
        host(address).parse::<std::net::IpAddr>().is_ok() || host(address) == "localhost";
    match address.rsplit_once(':') {
        Some((_, port)) if !is_number => {
            let both = std::net::UdpSocket::bind("[::]:0").is_ok();
            format!("quic/{}:{port}", if both { "[::]" } else { "0.0.0.0" })
        }
        _ => format!("quic/{address}"),
    }
}

/// May pass through us in these directions, whoever has one of these certificates.
struct Grant<'a> {
    id: String,
    subjects: Vec<&'a str>,
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
fn access(grants: &[Grant<'_>]) -> Value {
    let mut rules = Vec::new();
    let mut subjects = Vec::new();
    let mut policies = Vec::new();
    for Grant { id, subjects: names, rules: allowed } in grants {
        let mut ids = Vec::new();
        for (number, (flow, message, key)) in allowed.iter().enumerate() {
            ids.push(format!("{id}-{number}"));
            rules.push(json!({ "id": ids[number], "permission": "allow", "flows": [flow],
                               "messages": [message], "key_exprs": [key] }));
        }
        subjects.push(json!({ "id": id, "cert_common_names": names, "link_protocols": ["quic"] }));
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
pub(super) fn to_neighbours(settings: &LinkSettings) -> Value {
    let LinkSettings { own, neighbours, certs, longest_frame, .. } = settings;
    let grants: Vec<Grant<'_>> = neighbours
        .iter()
        .map(|Place { name: other, .. }| Grant {
            id: other.clone(),
            subjects: vec![other],
            rules: both_ways(&own.name, other),
        })
        .collect();
    json!({
        "mode": "peer",
        "connect": { "endpoints": endpoints(neighbours), "timeout_ms": -1, "exit_on_failure": false,
                     "retry": retry() },
        "listen": { "endpoints": [listen_endpoint(settings)], "exit_on_failure": true,
                    "timeout_ms": 0 },
        "scouting": { "multicast": { "enabled": false }, "gossip": { "enabled": false } },
        "transport": transport(certs, *longest_frame),
        "access_control": access(&grants)
    })
}

/// Agents dial one router after the other, once each, until one answers; and any of them when that
/// one is gone.
pub(super) fn to_routers(settings: &LinkSettings) -> Value {
    let LinkSettings { own, neighbours, routers, certs, longest_frame, .. } = settings;
    let grant = Grant {
        id: "routers".into(),
        subjects: routers.iter().map(|place| place.name.as_str()).collect(),
        rules: neighbours.iter().flat_map(|place| both_ways(&own.name, &place.name)).collect(),
    };
    let grants = if neighbours.is_empty() { vec![] } else { vec![grant] };
    json!({
        "mode": "client",
        "connect": { "endpoints": endpoints(routers), "timeout_ms": 0, "exit_on_failure": true,
                     "retry": retry() },
        "listen": { "endpoints": [] },
        "scouting": { "multicast": { "enabled": false }, "gossip": { "enabled": false } },
        "transport": transport(certs, longest_frame + sealed::AROUND),
        "access_control": access(&grants)
    })
}

/// The configuration of a router, for Zenoh's own program `zenohd`: whoever has an agent's
/// certificate may write and read what the agent's edges allow, and nothing else passes.
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
    let mut grants: Vec<Grant<'_>> = by_agent
        .into_iter()
        .map(|(agent, rules)| Grant { id: format!("agent-{agent}"), subjects: vec![agent], rules })
        .collect();
    if !others.is_empty() {
        let everything = ["ingress", "egress"].into_iter().flat_map(|flow| {
            ["put", "declare_subscriber"].map(|message| (flow, message, "dzoa/x/**".to_string()))
        });
        grants.push(Grant {
            id: "routers".into(),
            subjects: others.iter().map(|place| place.name.as_str()).collect(),
            rules: everything.collect(),
        });
    }
    let configuration = json!({
        "mode": "router",
        "connect": { "endpoints": endpoints(&others), "timeout_ms": -1, "exit_on_failure": false,
                     "retry": retry() },
        "listen": { "endpoints": [endpoint(&own.address)], "exit_on_failure": true,
                    "timeout_ms": 0 },
        "scouting": { "multicast": { "enabled": false }, "gossip": { "enabled": false } },
        "transport": transport(certs, ROUTED_FRAME),
        "access_control": access(&grants)
    });
    format!("{configuration:#}\n")
}

fn endpoints(places: &[Place]) -> Vec<String> {
    let port = |address: &str| address.rsplit_once(':').map_or("", |(_, port)| port).to_string();
    // Zenoh takes what stands before the port for the name in the certificate: a number of IPv6
    // stands there without its brackets.
    let dialled = |Place { address, .. }: &Place| match host(address).parse() {
        Ok(std::net::Ipv6Addr { .. }) => format!("quic/{}:{}", host(address), port(address)),
        Err(_) => format!("quic/{address}"),
    };
    places.iter().map(dialled).collect()
}

/// Not faster: a link that is formed again within the second in which its certificate expires lives
/// on.
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
                "listen_private_key": path(&certs.key),
                "listen_certificate": path(&certs.certificate),
                "connect_private_key": path(&certs.key),
                "connect_certificate": path(&certs.certificate),
                "verify_name_on_connect": true, "close_link_on_expiration": true
            }
        }
    })
}
