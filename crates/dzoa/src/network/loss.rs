//! Real agents that lose a neighbour.

/// What to do about a neighbour that stays away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnLoss {
    /// Stop, and say so to the others.
    Stop,
    /// Go on without it.
    Continue,
}
