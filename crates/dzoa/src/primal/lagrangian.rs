//! `F_k`, the augmented Lagrangian of one agent in one round.

use crate::problem::{Closed, Failure, LocalObjective, Objective, Probe, Scratch};
use dzoa_privacy::ball;
use std::borrow::Cow;

/// `F_k(b) = f_k(b) + linear'b + quadratic ||b||^2` with
/// `linear = gamma_k - rho (|N_k| beta_k + sum_{l in N_k} beta_l)` and `quadratic = rho |N_k|`.
///
/// Only the data term of `f_k` holds data. Everything else is in closed form, so that the two-point
/// difference never subtracts two large numbers.
#[doc(alias = "F_k")]
#[derive(Clone)]
pub struct Lagrangian<'a> {
    /// `f_k`
    pub objective: &'a LocalObjective,
    /// The linear part.
    pub linear: Vec<f64>,
    /// `rho |N_k|`
    pub quadratic: f64,
}

impl<'a> Lagrangian<'a> {
    /// This `F_k` with the centre `-linear/(2 quadratic)` of its quadratic part moved into the ball
    /// of a radius, if it lies outside. The centre is a function of what was exchanged, so this is
    /// public; the minimiser then lies within the radius and what the data can add to it.
    pub fn centred_within(&self, radius: f64) -> Cow<'_, Self> {
        let largest = 2.0 * self.quadratic * radius;
        if ball::norm(&self.linear) <= largest {
            return Cow::Borrowed(self);
        }
        let linear = ball::project(self.linear.clone().into(), largest).to_vec();
        Cow::Owned(Self { linear, ..*self })
    }
}

impl Objective for Lagrangian<'_> {
    fn dim(&self) -> usize {
        self.linear.len()
    }

    fn value(&self, b: &[f64]) -> f64 {
        let closed: f64 =
            b.iter().zip(&self.linear).map(|(b, linear)| b * (linear + self.quadratic * b)).sum();
        self.objective.data.value(b) + self.objective.penalty.value(b) + closed
    }

    fn shortest_step(&self, b: &[f64]) -> f64 {
        self.objective.data.shortest_step(b)
    }

    fn failure(&self) -> Option<Failure> {
        self.objective.data.failure()
    }

    fn quotients(&self, probe: &Probe<'_>, scratch: &mut Scratch, out: &mut [f64]) {
        let LocalObjective { data, penalty } = self.objective;
        let closed = Closed { penalty, linear: &self.linear, quadratic: self.quadratic };
        data.quotients_with(&closed, probe, scratch, out);
    }
}
