//! Timing on a machine that others use, too.

use std::time::Instant;

/// How often something is timed, and for how long each time: calls that are shorter are timed
/// together. A short moment can be luckier than any longer one ever is, so what is compared must be
/// timed for equally long.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// Times.
    pub repeat: usize,
    /// Seconds.
    pub piece: f64,
}

impl Timing {
    /// Pieces of ten milliseconds.
    pub fn short(repeat: usize) -> Self {
        Self { repeat, piece: 1e-2 }
    }

    /// The least seconds of a call: what the machine can do when nobody disturbs it.
    pub fn best(self, mut work: impl FnMut(usize)) -> f64 {
        // The first call is a cold one.
        work(0);
        let batch = (self.piece / once(|| work(0)).max(1e-9)).ceil().clamp(1.0, 1e6) as usize;
        let mut least = f64::INFINITY;
        for round in 0..self.repeat {
            let seconds = once(|| (0..batch).for_each(|i| work(round * batch + i)));
            least = least.min(seconds / batch as f64);
        }
        least
    }
}

/// Seconds of one call.
pub fn once(work: impl FnOnce()) -> f64 {
    let started = Instant::now();
    work();
    started.elapsed().as_secs_f64()
}
