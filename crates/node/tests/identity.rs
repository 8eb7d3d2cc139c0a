//! Who may talk to whom over real links: certificates, authorities, expiry, and access control by
//! edges.

mod common;

use dzoa_node::certs::{Authority, CertFiles};
use dzoa_node::transport::{LinkSettings, Place, Transport, ZenohLink, free_port};
use std::net::UdpSocket;
use std::path::Path;
use std::time::Duration;
use time::Duration as Span;
use zenoh::Wait;

/// How long an honest frame may take, and how long a forbidden one is waited for.
/// Attempts of a tenth of a second, after which a link that should be there is given up.
const PATIENCE: usize = 900;
/// Attempts after which one that should not be there is taken for refused.
const ENOUGH: usize = 40;

fn places(names: &[&str]) -> Vec<Place> {
    let held: Vec<UdpSocket> = names.iter().map(|_| free_port("127.0.0.1").unwrap()).collect();
    names
        .iter()
        .zip(&held)
        .enumerate()
        .map(|(index, (name, socket))| {
            let address = socket.local_addr().unwrap().to_string();
            Place { index, name: name.to_string(), address }
        })
        .collect()
}

fn issue(authority: &Authority, dir: &Path, name: &str, valid: Span) {
    std::fs::create_dir_all(dir).unwrap();
    authority.write(dir).unwrap();
    authority.issue(name, "127.0.0.1", valid).unwrap().write(dir).unwrap();
}

fn settings(own: &Place, neighbours: &[&Place], certs: CertFiles) -> LinkSettings {
    LinkSettings {
        own: own.clone(),
        listen: None,
        neighbours: neighbours.iter().map(|place| (*place).clone()).collect(),
        routers: Vec::new(),
        certs,
        longest_frame: 4096,
    }
}

/// Repeats a frame until it arrives; `None` if it does not.
fn arrives(
    from: &mut ZenohLink,
    to_index: usize,
    to: &mut ZenohLink,
    attempts: usize,
) -> Option<(usize, Vec<u8>)> {
    for _ in 0..attempts {
        let _ = from.send(to_index, b"frame".to_vec());
        if let Some(arrived) = to.receive(Duration::from_millis(100)) {
            return Some(arrived);
        }
    }
    None
}

#[test]
fn neighbours_with_certificates_of_one_authority_hear_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let places = places(&["a", "b"]);
    let authority = Authority::new("test").unwrap();
    for place in &places {
        issue(&authority, dir.path(), &place.name, Span::days(1));
    }
    let certs = |name| CertFiles::of(dir.path(), name);
    let mut a = ZenohLink::open(&settings(&places[0], &[&places[1]], certs("a"))).unwrap();
    let mut b = ZenohLink::open(&settings(&places[1], &[&places[0]], certs("b"))).unwrap();
    assert_eq!(arrives(&mut a, 1, &mut b, PATIENCE), Some((0, b"frame".to_vec())));
    assert!(arrives(&mut b, 0, &mut a, PATIENCE).is_some());
    // Longer than any honest frame: it does not arrive, and the process lives on.
    let _ = a.send(1, vec![7; 64 << 20]);
    let mut longest = 0;
    while let Some((_, frame)) = b.receive(Duration::from_secs(2)) {
        longest = longest.max(frame.len());
    }
    assert!(longest <= 5, "{longest} bytes got through");
    assert!(arrives(&mut a, 1, &mut b, PATIENCE).is_some(), "the link does not come back");
}

/// An impostor in the place of b. Returns what a hears of it, after an honest b was heard, if there
/// is one.
fn impostor(attempts: usize, make: impl Fn(&Path)) -> Option<(usize, Vec<u8>)> {
    let dir = tempfile::tempdir().unwrap();
    let places = places(&["a", "b"]);
    let authority = Authority::new("test").unwrap();
    issue(&authority, dir.path(), "a", Span::days(1));
    issue(&authority, dir.path(), "b", Span::days(1));
    let certs = CertFiles::of(dir.path(), "a");
    let mut a = ZenohLink::open(&settings(&places[0], &[&places[1]], certs)).unwrap();
    let evil = dir.path().join("evil");
    std::fs::create_dir_all(&evil).unwrap();
    for file in ["ca.pem", "b.pem", "b.key"] {
        std::fs::copy(dir.path().join(file), evil.join(file)).unwrap();
    }
    make(&evil);
    let certs = CertFiles::of(&evil, "b");
    // A link that cannot even be opened sends nothing.
    let mut b = ZenohLink::open(&settings(&places[1], &[&places[0]], certs)).ok()?;
    arrives(&mut b, 0, &mut a, attempts)
}

#[test]
fn the_impostor_of_these_tests_is_heard_with_the_right_certificate() {
    assert!(impostor(PATIENCE, |_| ()).is_some());
}

#[test]
fn another_authority_is_refused() {
    let heard = impostor(ENOUGH, |dir| {
        // Its own authority signs it; to dial, it trusts the right one.
        let right = std::fs::read(dir.join("ca.pem")).unwrap();
        issue(&Authority::new("other").unwrap(), dir, "b", Span::days(1));
        std::fs::write(dir.join("ca.pem"), right).unwrap();
    });
    assert_eq!(heard, None);
}

#[test]
fn an_expired_certificate_is_refused_and_named_at_the_start() {
    let heard = impostor(ENOUGH, |dir| {
        // Signed by the right authority, an hour too old.
        let authority = Authority::open(dir.parent().unwrap()).unwrap().unwrap();
        authority.issue("b", "127.0.0.1", Span::hours(-1)).unwrap().write(dir).unwrap();
        let error = CertFiles::of(dir, "b").check("b").unwrap_err().to_string();
        assert!(error.contains("certificate of `b` expired on"), "{error}");
    });
    assert_eq!(heard, None);
}

/// A bare Zenoh session that says and asks for anything, with the given TLS settings.
fn stranger(target: &Place, tls: serde_json::Value) -> zenoh::Session {
    let config = serde_json::json!({
        "mode": "peer",
        "connect": { "endpoints": [format!("quic/{}", target.address)], "timeout_ms": 2000,
                     "exit_on_failure": false },
        "listen": { "endpoints": [] },
        "scouting": { "multicast": { "enabled": false }, "gossip": { "enabled": false } },
        "transport": { "link": { "tls": tls } }
    });
    zenoh::open(zenoh::Config::from_json5(&config.to_string()).unwrap()).wait().unwrap()
}

/// Publishes as b and listens to everything, while b and a talk. Returns what it heard and what a
/// heard from it.
fn outsider(attempts: usize, tls: impl Fn(&Path) -> serde_json::Value) -> (usize, usize) {
    let dir = tempfile::tempdir().unwrap();
    let places = places(&["a", "b", "c"]);
    let authority = Authority::new("test").unwrap();
    for place in &places {
        issue(&authority, dir.path(), &place.name, Span::days(1));
    }
    let certs = |name| CertFiles::of(dir.path(), name);
    let mut a = ZenohLink::open(&settings(&places[0], &[&places[1]], certs("a"))).unwrap();
    let mut b = ZenohLink::open(&settings(&places[1], &[&places[0]], certs("b"))).unwrap();
    assert!(arrives(&mut a, 1, &mut b, PATIENCE).is_some());
    let session = stranger(&places[0], tls(dir.path()));
    let (_subscriber, heard) = common::overhear(&session, "dzoa/**");
    let mut forged = 0;
    for _ in 0..attempts {
        session.put("dzoa/x/b/a", "forged").wait().unwrap();
        a.send(1, b"frame".to_vec()).unwrap();
        b.send(0, b"frame".to_vec()).unwrap();
        while let Some((_, frame)) = a.receive(Duration::from_millis(50)) {
            forged += usize::from(frame == b"forged");
        }
        while b.receive(Duration::ZERO).is_some() {}
        if forged > 0 {
            break;
        }
    }
    let read = heard.try_iter().filter(|frame| frame != b"forged").count();
    (read, forged)
}

#[test]
fn a_right_certificate_without_an_edge_can_neither_read_nor_publish_as_another() {
    let (read, forged) = outsider(2 * ENOUGH, |dir| {
        let path = |file: &str| dir.join(file).display().to_string();
        serde_json::json!({
            "root_ca_certificate": path("ca.pem"), "enable_mtls": true,
            "connect_private_key": path("c.key"), "connect_certificate": path("c.pem"),
        })
    });
    assert_eq!((read, forged), (0, 0));
}

#[test]
fn the_outsider_of_these_tests_is_heard_with_a_neighbours_certificate() {
    let (_, forged) = outsider(PATIENCE, |dir| {
        let path = |file: &str| dir.join(file).display().to_string();
        serde_json::json!({
            "root_ca_certificate": path("ca.pem"), "enable_mtls": true,
            "connect_private_key": path("b.key"), "connect_certificate": path("b.pem"),
        })
    });
    assert!(forged > 0, "the outsider cannot connect at all, so the test above proves nothing");
}

#[test]
fn without_a_certificate_nothing_is_read_or_written() {
    let (read, forged) = outsider(2 * ENOUGH, |dir| {
        let authority = dir.join("ca.pem").display().to_string();
        serde_json::json!({ "root_ca_certificate": authority })
    });
    assert_eq!((read, forged), (0, 0));
}

/// Resident memory of this process, in MB.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<f64>().unwrap() * 1024.0 / 1e6
}

/// Nobody reads for a while, as during a long computation.
#[test]
fn a_neighbour_that_sends_without_end_fills_no_memory() {
    let dir = tempfile::tempdir().unwrap();
    let places = places(&["a", "b"]);
    let authority = Authority::new("test").unwrap();
    for place in &places {
        issue(&authority, dir.path(), &place.name, Span::days(1));
    }
    let certs = |name| CertFiles::of(dir.path(), name);
    let mut a = ZenohLink::open(&settings(&places[0], &[&places[1]], certs("a"))).unwrap();
    let mut b = ZenohLink::open(&settings(&places[1], &[&places[0]], certs("b"))).unwrap();
    assert!(arrives(&mut a, 1, &mut b, PATIENCE).is_some());
    while b.receive(Duration::from_millis(200)).is_some() {}
    let before = resident();
    // 180 MB, in messages that the link lets through.
    (0..3000).for_each(|_| a.send(1, vec![7; 60_000]).unwrap());
    std::thread::sleep(Duration::from_millis(500));
    let grown = resident() - before;
    assert!(grown < 60.0, "{grown} MB");
    let (mut frames, mut longest) = (0, 0);
    while let Some((_, frame)) = b.receive(Duration::from_millis(500)) {
        (frames, longest) = (frames + 1, longest.max(frame.len()));
    }
    assert!(frames > 100 && frames < 1000 && longest == 4097, "{frames} of {longest} bytes");
    assert!(arrives(&mut a, 1, &mut b, PATIENCE).is_some(), "an honest frame is heard again");
}

/// Whether this machine has IPv6 on loopback.
fn has_ipv6() -> bool {
    UdpSocket::bind("[::1]:0").is_ok()
}

/// Two agents of which b listens at one address and is dialled at another.
fn meet(listens: &str, dialled: &str, certified: &str) -> bool {
    let dir = tempfile::tempdir().unwrap();
    let mut places = places(&["a", "b"]);
    let authority = Authority::new("test").unwrap();
    issue(&authority, dir.path(), "a", Span::days(1));
    authority.issue("b", certified, Span::days(1)).unwrap().write(dir.path()).unwrap();
    let port = places[1].address.rsplit_once(':').unwrap().1.to_string();
    places[1].address = format!("{listens}:{port}");
    let certs = |name| CertFiles::of(dir.path(), name);
    // b cannot dial a: nobody is there.
    let nowhere = Place { address: "127.0.0.1:9".into(), ..places[0].clone() };
    let mut b = ZenohLink::open(&settings(&places[1], &[&nowhere], certs("b"))).unwrap();
    let there = Place { address: format!("{dialled}:{port}"), ..places[1].clone() };
    let mut a = ZenohLink::open(&settings(&places[0], &[&there], certs("a"))).unwrap();
    arrives(&mut a, 1, &mut b, PATIENCE / 3).is_some()
}

#[test]
fn numbers_of_ipv6_are_dialled_and_names_listen_on_both_kinds() {
    if !has_ipv6() {
        return println!("skipped: this machine has no IPv6");
    }
    assert!(meet("[::1]", "[::1]", "::1"), "a number of IPv6");
    assert!(meet("b.example", "[::1]", "::1"), "a name, dialled over IPv6");
    assert!(meet("b.example", "127.0.0.1", "127.0.0.1"), "a name, dialled over IPv4");
}
