//! One question of the zeroth-order loop.

use super::directions::Directions;

/// A question to an objective: how does it change from `b + u1 nu1_j` along `u2 nu2_j`, for every
/// j?
#[derive(Clone, Copy, Debug)]
pub struct Probe<'a> {
    /// b.
    pub point: &'a [f64],
    /// `u_{1,t}`
    pub u1: f64,
    /// `u_{2,t}`
    pub u2: f64,
    /// The directions.
    pub directions: &'a Directions,
}
