//! Timing on a machine that others use, too.

use std::time::Instant;

/// The least seconds of several calls: what the machine can do when nobody disturbs it. Short calls are timed together,
/// for ten milliseconds at least: shorter moments can be luckier than any longer run ever is.
pub fn best(repeat: usize, mut work: impl FnMut(usize)) -> f64 {
    let started = Instant::now();
    work(0);
    let batch = (1e-2 / started.elapsed().as_secs_f64().max(1e-9)).ceil().clamp(1.0, 1e6) as usize;
    let mut least = f64::INFINITY;
    for round in 0..repeat {
        let started = Instant::now();
        for i in 0..batch {
            work(round * batch + i);
        }
        least = least.min(started.elapsed().as_secs_f64() / batch as f64);
    }
    least
}
