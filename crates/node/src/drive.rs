//! Moves frames between a node and a transport until the node is at its end.

use crate::node::{End, NodeError, Running};
use crate::transport::Transport;
use std::time::Duration;

/// The longest sleep: how soon a request to stop is noticed.
const LONGEST_WAIT: Duration = Duration::from_millis(100);

/// Why [`drive`] came back.
#[derive(Clone, Debug, PartialEq)]
pub enum DriveEnd {
    /// It is over.
    Ended(End),
    /// It was asked to stop, after everything was persisted: a second start goes on from here.
    Asked,
}

/// One step: takes in what has arrived, does what can be done, sends what is to be sent.
pub fn step<N: Running + ?Sized>(
    node: &mut N,
    transport: &mut dyn Transport,
) -> Result<(), NodeError> {
    while let Some((from, frame)) = transport.receive(Duration::ZERO) {
        node.receive(from, &frame, transport.now());
    }
    work(node, transport)
}

fn work<N: Running + ?Sized>(node: &mut N, transport: &mut dyn Transport) -> Result<(), NodeError> {
    let done = node.work(&|| transport.now());
    for (to, frame) in node.outgoing() {
        // A link that is down is as good as a lost frame: everything is repeated.
        if let Err(error) = transport.send(to, frame) {
            tracing::debug!(%error, to, "not sent");
        }
    }
    done
}

/// Runs a node to its end, or until it is asked to stop. `watch` sees the node after every step.
pub fn drive<N: Running + ?Sized>(
    node: &mut N,
    transport: &mut dyn Transport,
    watch: &mut dyn FnMut(&mut N, Duration),
    asked: &dyn Fn() -> bool,
) -> Result<DriveEnd, NodeError> {
    step(node, transport)?;
    loop {
        watch(node, transport.now());
        if let Some(end) = node.end() {
            return Ok(DriveEnd::Ended(end.clone()));
        }
        if asked() {
            return Ok(DriveEnd::Asked);
        }
        let wait = node.wake().saturating_sub(transport.now()).min(LONGEST_WAIT);
        if let Some((from, frame)) = transport.receive(wait) {
            node.receive(from, &frame, transport.now());
        }
        step(node, transport)?;
    }
}
