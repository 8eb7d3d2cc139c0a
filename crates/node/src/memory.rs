//! A network in memory with bad weather: delay, loss, duplication, reordering and partitions, all from a
//! seed, in time that does not pass by itself.

use crate::transport::{Transport, TransportError};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

/// What can go wrong.
#[derive(Clone, Debug, Default)]
pub struct Weather {
    /// Probability that a frame is lost.
    pub loss: f64,
    /// Probability that it arrives twice.
    pub duplication: f64,
    /// The longest delay; each frame has one of its own, so that frames overtake each other.
    pub delay: Duration,
    /// Times at which the network falls apart.
    pub partitions: Vec<Partition>,
}

/// A time during which frames between two sides are lost.
#[derive(Clone, Debug)]
pub struct Partition {
    /// From when.
    pub from: Duration,
    /// Until when; for ever, if it never heals.
    pub until: Option<Duration>,
    /// Agents on one side.
    pub side: Vec<usize>,
}

/// The network between all agents.
#[derive(Clone)]
pub struct Network(Rc<RefCell<State>>);

struct State {
    now: Duration,
    weather: Weather,
    rng: StdRng,
    /// Frames on their way, by arrival and, at the same time, by sending.
    flying: BTreeMap<(Duration, u64), (usize, usize, Vec<u8>)>,
    sent: u64,
    record: Vec<(usize, usize, Vec<u8>)>,
}

impl Network {
    /// A network whose every fault follows from a seed.
    pub fn new(weather: Weather, seed: u64) -> Self {
        let rng = StdRng::seed_from_u64(seed);
        let now = Duration::ZERO;
        let flying = BTreeMap::new();
        Self(Rc::new(RefCell::new(State {
            now,
            weather,
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
    network: Network,
    index: usize,
}

impl Transport for Endpoint {
    fn send(&mut self, to: usize, frame: Vec<u8>) -> Result<(), TransportError> {
        let state = &mut *self.network.0.borrow_mut();
        let (now, from) = (state.now, self.index);
        state.record.push((from, to, frame.clone()));
        let apart = state.weather.partitions.iter().any(|partition| {
            let on = now >= partition.from && partition.until.is_none_or(|until| now < until);
            on && partition.side.contains(&from) != partition.side.contains(&to)
        });
        let copies = 1 + usize::from(state.rng.random_bool(state.weather.duplication));
        for _ in 0..copies {
            let lost = state.rng.random_bool(state.weather.loss);
            let delay = state.weather.delay.mul_f64(state.rng.random());
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
