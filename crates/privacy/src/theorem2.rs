//! The paper's own account of its rounds.

use crate::accountant::{Accountant, Unsupported};
use crate::{Event, calibrate};

/// The paper's Theorem 2, as printed. **Not an upper bound**: it drops a term of the conversion it
/// uses and is false at epsilon 0.95 even with perfect noise. It exists to reproduce the figures.
///
/// It accounts for equal nominal rounds only, at the delta of those rounds.
#[derive(Clone, Debug, Default)]
pub struct Theorem2 {
    rounds: u64,
    round: Option<(f64, f64)>,
}

impl Accountant for Theorem2 {
    fn compose(&mut self, event: &Event) -> Result<(), Unsupported> {
        match *event {
            Event::Nominal { epsilon, delta }
                if event.is_sound() && self.round.is_none_or(|seen| seen == (epsilon, delta)) =>
            {
                self.round = Some((epsilon, delta));
                self.rounds += 1;
                Ok(())
            }
            event => Err(Unsupported { accountant: "Theorem 2", event }),
        }
    }

    fn epsilon(&self, delta: f64) -> f64 {
        match self.round {
            None => 0.0,
            Some((epsilon, at)) if at == delta => {
                calibrate::theorem2_epsilon(epsilon, delta, self.rounds)
            }
            // The theorem speaks of the delta of its rounds and of no other.
            Some(_) => f64::INFINITY,
        }
    }
}
