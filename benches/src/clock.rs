//! Timing on a machine that others use, too.

use std::time::Instant;

/// The least seconds of several calls: what the machine can do when nobody disturbs it. Short calls are timed together,
/// for ten milliseconds at least: shorter moments can be luckier than any longer run ever is.
pub fn best(repeat: usize, mut work: impl FnMut(usize)) -> f64 {
    // The first call is a cold one.
    work(0);
    let batch = (1e-2 / once(|| work(0)).max(1e-9)).ceil().clamp(1.0, 1e6) as usize;
    let mut least = f64::INFINITY;
    for round in 0..repeat {
        let seconds = once(|| (0..batch).for_each(|i| work(round * batch + i)));
        least = least.min(seconds / batch as f64);
    }
    least
}

/// Seconds of one call.
pub fn once(work: impl FnOnce()) -> f64 {
    let started = Instant::now();
    work();
    started.elapsed().as_secs_f64()
}
