//! Real agents on loopback, started one by one.
#![allow(dead_code)]

use dzoa_node::transport::free_port;
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A process that does not outlive the test: it is ended with it, and where the test is killed and runs no
/// destructor, its stdin ends.
pub struct Agent(pub Child);

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts an agent of `net.toml`, with `state-NAME` and `log-NAME` beside it.
pub fn start(dir: &Path, name: &str, extra: &[&str]) -> Agent {
    start_in(dir, name, &format!("state-{name}"), extra)
}

/// Starts an agent of `net.toml` in this state directory.
pub fn start_in(dir: &Path, name: &str, state: &str, extra: &[&str]) -> Agent {
    start_with(dir, name, state, "certs", extra)
}

/// Starts an agent of `net.toml` in this state directory, with certificates from there.
pub fn start_with(dir: &Path, name: &str, state: &str, certs: &str, extra: &[&str]) -> Agent {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dzoa-agent"));
    command.current_dir(dir).args(["agent", "--network", "net.toml", "--name", name]);
    command.args(["--state", state, "--certs", certs]).args(extra);
    command.arg("--stop-with-stdin").stdin(Stdio::piped()).stdout(Stdio::null());
    let log =
        std::fs::OpenOptions::new().append(true).create(true).open(dir.join(format!("log-{name}")));
    command.stderr(log.unwrap());
    Agent(command.spawn().unwrap())
}

/// `agents = [...]` on free ports of loopback.
pub fn on_loopback(names: &[&str]) -> String {
    let held: Vec<UdpSocket> = names.iter().map(|_| free_port("127.0.0.1").unwrap()).collect();
    let agents: Vec<String> = names
        .iter()
        .zip(&held)
        .map(|(name, socket)| {
            format!("{{ name = \"{name}\", address = \"{}\" }}", socket.local_addr().unwrap())
        })
        .collect();
    format!("agents = [{}]", agents.join(", "))
}
