//! Consensus ADMM at one agent: the paper's Algorithm 1 as code, and what it works on.

mod algorithm;
mod state;

pub use algorithm::{Exchanged, ReleasePair, Round};
pub use state::{Edge, LocalState};

/// Settings of the outer loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Admm {
    /// rho.
    pub rho: f64,
    /// M.
    pub rounds: u64,
    /// Count the agent itself in its neighbourhood, as the paper does.
    pub self_loop: bool,
    /// Start a primal step at the last release instead of at zero.
    pub warm_start: bool,
}

impl Default for Admm {
    /// The paper's section VI.
    fn default() -> Self {
        Self { rho: 4.0, rounds: 200, self_loop: true, warm_start: false }
    }
}
