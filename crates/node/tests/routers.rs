//! Agents that reach each other through a Zenoh router only, and what the router cannot do.

mod common;

use dzoa_node::certs::{Authority, CertFiles};
use dzoa_node::transport::{
    LinkSettings, Place, Router, Transport, ZenohLink, free_port, router_configuration,
};
use std::collections::HashSet;
use std::net::UdpSocket;
use std::path::Path;
use std::time::Duration;
use zenoh::Wait;

/// Attempts of a tenth of a second or more, after which what should happen is given up.
const PATIENCE: usize = 900;
/// Attempts after which what should not happen is taken for refused.
const ENOUGH: usize = 60;

/// Agents a, b, c with the edge a-b, and two routers, all on loopback with certificates of one
/// authority.
struct Site {
    dir: tempfile::TempDir,
    agents: Vec<Place>,
    routers: Vec<Place>,
}

impl Site {
    fn new(routers: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let authority = Authority::new("test").unwrap();
        authority.write(dir.path()).unwrap();
        let place = |(index, name): (usize, &&str)| {
            let address = free_port("127.0.0.1").unwrap();
            authority
                .issue(name, "127.0.0.1", time::Duration::days(1))
                .unwrap()
                .write(dir.path())
                .unwrap();
            (index, name.to_string(), address)
        };
        let held = |names: &[&str]| names.iter().enumerate().map(place).collect::<Vec<_>>();
        let placed = |held: Vec<(usize, String, UdpSocket)>| {
            let of = |(index, name, socket): (usize, String, UdpSocket)| {
                let address = socket.local_addr().unwrap().to_string();
                Place { index, name, address }
            };
            held.into_iter().map(of).collect::<Vec<_>>()
        };
        // All ports are held until all are chosen.
        let (agents, routers) = (held(&["a", "b", "c"]), held(routers));
        let (agents, routers) = (placed(agents), placed(routers));
        Self { dir, agents, routers }
    }

    fn dir(&self) -> &Path {
        self.dir.path()
    }

    fn router(&self, number: usize) -> Router {
        let own = &self.routers[number];
        let certs = CertFiles::of(self.dir(), &own.name);
        let edges = [("a".to_string(), "b".to_string())];
        let configuration = router_configuration(own, &self.routers, &edges, &certs);
        let mut attempts = 0..PATIENCE;
        loop {
            match Router::open(&configuration) {
                Ok(router) => return router,
                // The port of one that was just closed is free again after a moment.
                Err(error) if attempts.next().is_some() => drop(error),
                Err(error) => panic!("{error}"),
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    fn settings(&self, own: usize, neighbours: &[usize]) -> LinkSettings {
        LinkSettings {
            own: self.agents[own].clone(),
            listen: None,
            neighbours: neighbours.iter().map(|&l| self.agents[l].clone()).collect(),
            routers: self.routers.clone(),
            certs: CertFiles::of(self.dir(), &self.agents[own].name),
            longest_frame: 4096,
        }
    }

    fn link(&self, own: usize, neighbours: &[usize]) -> ZenohLink {
        ZenohLink::open(&self.settings(own, neighbours)).unwrap()
    }
}

/// Both repeat their frames until both have heard the other; whether that happened.
fn hear_each_other(a: &mut ZenohLink, b: &mut ZenohLink) -> bool {
    let mut heard = [false; 2];
    let mut attempts = 0..PATIENCE;
    while heard != [true; 2] && attempts.next().is_some() {
        let _ = a.send(1, b"from a".to_vec());
        let _ = b.send(0, b"from b".to_vec());
        while let Some(arrived) = a.receive(Duration::from_millis(50)) {
            heard[0] |= arrived == (1, b"from b".to_vec());
        }
        while let Some(arrived) = b.receive(Duration::from_millis(50)) {
            heard[1] |= arrived == (0, b"from a".to_vec());
        }
    }
    heard == [true; 2]
}

#[test]
fn neighbours_hear_each_other_through_a_router_and_again_after_it_was_gone() {
    let site = Site::new(&["hub"]);
    let error = ZenohLink::open(&site.settings(0, &[1])).err().expect("there is no router yet");
    assert!(error.to_string().starts_with("no router answers at 127.0.0.1:"), "{error}");
    let hub = site.router(0);
    let (mut a, mut b) = (site.link(0, &[1]), site.link(1, &[0]));
    assert!(hear_each_other(&mut a, &mut b));
    hub.close();
    let _hub = site.router(0);
    assert!(hear_each_other(&mut a, &mut b), "not after the router's return");
    // A restarted agent is heard, too.
    b.close();
    let mut b = site.link(1, &[0]);
    assert!(hear_each_other(&mut a, &mut b), "not after b's return");
}

#[test]
fn agents_at_two_routers_hear_each_other() {
    let site = Site::new(&["east", "west"]);
    let (_east, _west) = (site.router(0), site.router(1));
    let mut of_a = site.settings(0, &[1]);
    let mut of_b = site.settings(1, &[0]);
    of_a.routers.truncate(1);
    of_b.routers.remove(0);
    let (mut a, mut b) = (ZenohLink::open(&of_a).unwrap(), ZenohLink::open(&of_b).unwrap());
    assert!(hear_each_other(&mut a, &mut b));
}

#[test]
fn with_one_router_gone_agents_go_through_the_other() {
    let site = Site::new(&["east", "west"]);
    let _west = site.router(1);
    let (mut a, mut b) = (site.link(0, &[1]), site.link(1, &[0]));
    assert!(hear_each_other(&mut a, &mut b));
}

/// A bare session with somebody's certificate, dialling the router.
fn bare(site: &Site, name: &str) -> zenoh::Session {
    let path = |file: String| site.dir().join(file).display().to_string();
    let config = serde_json::json!({
        "mode": "client",
        "connect": { "endpoints": [format!("quic/{}", site.routers[0].address)],
                     "timeout_ms": 5000 },
        "scouting": { "multicast": { "enabled": false }, "gossip": { "enabled": false } },
        "transport": { "link": { "tls": {
            "root_ca_certificate": path("ca.pem".into()), "enable_mtls": true,
            "connect_private_key": path(format!("{name}.key")),
            "connect_certificate": path(format!("{name}.pem")),
        } } }
    });
    zenoh::open(zenoh::Config::from_json5(&config.to_string()).unwrap()).wait().unwrap()
}

#[test]
fn a_router_cannot_forge_alter_or_repeat() {
    // This router lets everything through to whoever holds its own certificate, as a broken-in one
    // would.
    let site = Site::new(&["hub", "evil"]);
    let _hub = site.router(0);
    let (mut a, mut b) = (site.link(0, &[1]), site.link(1, &[0]));
    assert!(hear_each_other(&mut a, &mut b));
    let session = bare(&site, "evil");
    let (_subscriber, overheard) = common::overhear(&session, "dzoa/x/a/b");
    let mut letters: Vec<Vec<u8>> = Vec::new();
    let mut own = HashSet::from([b"forged".to_vec()]);
    let (mut sent, mut taken) = (0_u64, Vec::new());
    // Until enough has passed to prove something: on a busy machine that takes longer.
    let enough = |letters: &[_], taken: &[_]| letters.len() > 10 && taken.len() > 10;
    for attempt in 0..PATIENCE {
        if attempt >= ENOUGH && enough(&letters, &taken) {
            break;
        }
        a.send(1, sent.to_le_bytes().to_vec()).unwrap();
        sent += 1;
        // The session hears its own, too: only what a wrote is news.
        letters.extend(overheard.try_iter().filter(|heard| !own.contains(heard)));
        for letter in &letters {
            let mut altered = letter.clone();
            *altered.last_mut().unwrap() ^= 1;
            for bytes in [letter.clone(), altered] {
                session.put("dzoa/x/a/b", bytes.clone()).wait().unwrap();
                own.insert(bytes);
            }
        }
        session.put("dzoa/x/a/b", "forged").wait().unwrap();
        while let Some((_, frame)) = b.receive(Duration::from_millis(20)) {
            taken.push(u64::from_le_bytes(frame.try_into().expect("a frame of a's")));
        }
        while a.receive(Duration::ZERO).is_some() {}
    }
    assert!(
        letters.len() > 10,
        "the router overheard {} letters: the test proves nothing",
        letters.len()
    );
    assert!(taken.len() > 10, "{} of {sent} arrived", taken.len());
    assert!(
        taken.windows(2).all(|pair| pair[0] < pair[1]),
        "taken twice or out of order: {taken:?}"
    );
}

#[test]
fn a_member_without_the_edge_can_neither_read_nor_write_at_the_router() {
    let site = Site::new(&["hub"]);
    let _hub = site.router(0);
    let (mut a, mut b) = (site.link(0, &[1]), site.link(1, &[0]));
    assert!(hear_each_other(&mut a, &mut b));
    let session = bare(&site, "c");
    let (_subscriber, overheard) = common::overhear(&session, "dzoa/**");
    for _ in 0..ENOUGH {
        session.put("dzoa/x/b/a", "forged").wait().unwrap();
        let _ = a.send(1, b"frame".to_vec());
        while b.receive(Duration::from_millis(50)).is_some() {}
        while let Some((_, frame)) = a.receive(Duration::ZERO) {
            assert_ne!(frame, b"forged");
        }
    }
    // A session hears its own.
    assert_eq!(overheard.try_iter().filter(|frame| frame != b"forged").count(), 0);
}
