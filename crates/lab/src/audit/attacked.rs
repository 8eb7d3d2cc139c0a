//! Who is attacked, how often, and who waits for it.

use crate::{Interrupt, Watcher};
use dzoa::plan::Plan;

/// Many runs against one agent.
pub struct Attack<'a> {
    /// Of the rounds that the attacker sees.
    pub plan: &'a Plan,
    /// The attacked agent.
    pub k: usize,
    /// Others that collude, of joint sums.
    pub colluders: usize,
    /// Runs under each data set.
    pub trials: usize,
    /// Counts runs.
    pub watcher: &'a dyn Watcher,
    /// Ends them early.
    pub interrupt: Interrupt,
}
