//! The recipe "a transport" of CONTRIBUTING.md, from outside: whoever moves frames between agents
//! implements three functions, and the run ends with the bits of the simulation.

mod common;

use common::{K, ROUNDS, World, bits, expected};
use dzoa::Status;
use dzoa_node::drive::step;
use dzoa_node::node::End;
use dzoa_node::transport::{Faults, Transport, TransportError};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

/// Frames with their senders, in the order of arrival.
type Letters = VecDeque<(usize, Vec<u8>)>;

/// A letter box for every agent, and a clock that the test moves.
#[derive(Default)]
struct Office {
    boxes: RefCell<Vec<Letters>>,
    now: Cell<Duration>,
}

/// One agent's way to the office.
struct Mail {
    office: Rc<Office>,
    agent: usize,
}

impl Transport for Mail {
    fn send(&mut self, to: usize, frame: Vec<u8>) -> Result<(), TransportError> {
        let mut boxes = self.office.boxes.borrow_mut();
        let letters = boxes.get_mut(to).ok_or_else(|| TransportError(format!("no agent {to}")))?;
        letters.push_back((self.agent, frame));
        Ok(())
    }

    fn receive(&mut self, _wait: Duration) -> Option<(usize, Vec<u8>)> {
        self.office.boxes.borrow_mut()[self.agent].pop_front()
    }

    fn now(&self) -> Duration {
        self.office.now.get()
    }
}

#[test]
fn a_transport_from_outside_ends_with_the_bits_of_the_simulation() {
    let mut world = World::new(Faults::default(), 1);
    world.start_all();
    let office = Rc::new(Office::default());
    office.boxes.borrow_mut().resize_with(K, Letters::new);
    let mut nodes: Vec<_> = world.nodes.iter_mut().map(|node| node.take().unwrap()).collect();
    let mut mail: Vec<_> = (0..K).map(|agent| Mail { office: office.clone(), agent }).collect();
    while nodes.iter().any(|node| node.end().is_none()) {
        for (node, mail) in nodes.iter_mut().zip(&mut mail) {
            step(node, mail).unwrap();
        }
        office.now.set(office.now.get() + Duration::from_millis(10));
        assert!(office.now.get() < Duration::from_secs(600), "it hangs");
    }
    for (k, (node, bits_of_simulation)) in nodes.iter().zip(expected()).enumerate() {
        assert_eq!(node.end(), Some(&End::Agent(Status::Finished)), "agent {k}");
        assert_eq!(bits(node.agent()), bits_of_simulation, "agent {k}");
        assert_eq!(world.charges(k).len() as u64, ROUNDS, "agent {k}");
    }
}
