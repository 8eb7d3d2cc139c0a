//! Threads that stay awake between two rounds.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Keeps the threads of a round awake until the next one: they would sleep after a few
/// microseconds, and to wake one takes as long as an agent of the paper's example.
pub(super) struct Awake {
    /// The thread that goes from round to round, where it is one of the pool.
    leader: Option<usize>,
    progress: Arc<RoundProgress>,
}

/// How far a run is. The counts only say when to stop waiting; results pass through rayon, so
/// relaxed loads and stores are enough, and a stale one costs a moment of sleep.
#[derive(Default)]
struct RoundProgress {
    round: AtomicUsize,
    /// Agents that nobody has begun with in this round.
    waiting: AtomicUsize,
    /// Agents that are not ready in this round.
    unready: AtomicUsize,
}

impl Awake {
    /// How often a thread checks for something to do, a fraction of a microsecond each time: what
    /// takes longer does not miss the time to wake up.
    const CHECKS: usize = 500;

    pub(super) fn new() -> Self {
        Self { leader: rayon::current_thread_index(), progress: Arc::default() }
    }

    pub(super) fn next_round(&self, agents: usize) {
        self.progress.waiting.store(agents, Ordering::Relaxed);
        self.progress.unready.store(agents, Ordering::Relaxed);
        self.progress.round.fetch_add(1, Ordering::Relaxed);
    }

    /// Does the work of one agent; then, if there is no other to begin with, the thread stays awake
    /// for what is next.
    pub(super) fn during(&self, work: impl FnOnce()) {
        self.progress.waiting.fetch_sub(1, Ordering::Relaxed);
        work();
        // Read before this agent counts as ready: with the last one the leader may go on, and the
        // number would be that of the next round.
        let round = self.progress.round.load(Ordering::Relaxed);
        self.progress.unready.fetch_sub(1, Ordering::Relaxed);
        if self.progress.waiting.load(Ordering::Relaxed) == 0 {
            // Waiting is a job of the pool, not a loop here: this thread must return for the round
            // to end, and whichever thread is idle takes the job instead of going to sleep.
            let (leader, progress) = (self.leader, self.progress.clone());
            rayon::spawn(move || progress.stay(round, rayon::current_thread_index() == leader));
        }
    }
}

impl RoundProgress {
    /// Waits, if not for long: the leader for the end of this round, the others for the next.
    fn stay(&self, round: usize, leads: bool) {
        let idle = || match leads {
            true => self.unready.load(Ordering::Relaxed) > 0,
            false => self.round.load(Ordering::Relaxed) == round,
        };
        let mut checks = 0..Awake::CHECKS;
        while idle() && checks.next().is_some() {
            // Not a busy loop: where there are more threads than cores, others go first.
            std::thread::yield_now();
        }
    }
}
