//! A network in memory with faults on purpose: delay, loss, duplication, reordering and outages,
//! all from a seed, in time that does not pass by itself.

use super::{Transport, TransportError};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

/// What can go wrong.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// Probability that a frame is lost.
    pub loss: f64,
    /// Probability that it arrives twice.
    pub duplication: f64,
    /// The longest delay; each frame has one of its own, so that frames overtake each other.
    pub delay: Duration,
    /// Times at which the network falls apart.
    pub outages: Vec<Outage>,
}

/// A time during which frames between two sides are lost.
#[derive(Clone, Debug)]
pub struct Outage {
    /// From when.
    pub from: Duration,
    /// Until when; for ever, if it never heals.
    pub until: Option<Duration>,
    /// Agents on one side.
    pub side: Vec<usize>,
}

/// The network between all agents.
#[derive(Clone)]
pub struct SimulatedNetwork(Rc<RefCell<Traffic>>);

struct Traffic {
    now: Duration,
    faults: Faults,
    rng: StdRng,
    /// Frames on their way, by arrival and, at the same time, by sending.
    flying: BTreeMap<(Duration, u64), (usize, usize, Vec<u8>)>,
    sent: u64,
    record: Vec<(usize, usize, Vec<u8>)>,
}

impl SimulatedNetwork {
    /// A network whose every fault follows from a seed.
    pub fn new(faults: Faults, seed: u64) -> Self {
        let rng = StdRng::seed_from_u64(seed);
        let now = Duration::ZERO;
        let flying = BTreeMap::new();
        Self(Rc::new(RefCell::new(Traffic {
            now,
            faults,
            rng,
            flying,
            sent: 0,
            record: Vec::new(),
        })))
    }

    /// One agent's end of it.
    pub fn endpoint(&self, index: usize) -> Endpoint {
        Endpoint { network: self.clone(), index }
    }

    /// When the next frame arrives, and where.
    pub fn next_arrival(&self) -> Option<(Duration, usize)> {
        let state = self.0.borrow();
        state.flying.iter().next().map(|((at, _), (_, to, _))| (*at, *to))
    }

    /// Lets time pass.
    pub fn advance(&self, to: Duration) {
        let mut state = self.0.borrow_mut();
        state.now = state.now.max(to);
    }

    /// The time.
    pub fn now(&self) -> Duration {
        self.0.borrow().now
    }

    /// Everything that was ever sent: sender, receiver, frame.
    pub fn record(&self) -> Vec<(usize, usize, Vec<u8>)> {
        self.0.borrow().record.clone()
    }
}

/// One agent's end of the network.
pub struct Endpoint {
    network: SimulatedNetwork,
    index: usize,
}

impl Transport for Endpoint {
    fn send(&mut self, to: usize, frame: Vec<u8>) -> Result<(), TransportError> {
        let state = &mut *self.network.0.borrow_mut();
        let (now, from) = (state.now, self.index);
        state.record.push((from, to, frame.clone()));
        let apart = state.faults.outages.iter().any(|outage| {
            let on = now >= outage.from && outage.until.is_none_or(|until| now < until);
            on && outage.side.contains(&from) != outage.side.contains(&to)
        });
        let copies = 1 + usize::from(state.rng.random_bool(state.faults.duplication));
        for _ in 0..copies {
            let lost = state.rng.random_bool(state.faults.loss);
            let delay = state.faults.delay.mul_f64(state.rng.random());
            if !lost && !apart {
                state.sent += 1;
                state.flying.insert((now + delay, state.sent), (from, to, frame.clone()));
            }
        }
        Ok(())
    }

    fn receive(&mut self, _wait: Duration) -> Option<(usize, Vec<u8>)> {
        let state = &mut *self.network.0.borrow_mut();
        let now = state.now;
        let key = state
            .flying
            .iter()
            .take_while(|((at, _), _)| *at <= now)
            .find(|(_, (_, to, _))| *to == self.index)
            .map(|(key, _)| *key)?;
        state.flying.remove(&key).map(|(from, _, frame)| (from, frame))
    }

    fn now(&self) -> Duration {
        self.network.now()
    }
}
