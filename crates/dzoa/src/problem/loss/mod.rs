//! Losses `loss(z, y)` of a prediction `z = x'b` and a target `y`.
//!
//! To add a loss, write one file like `absolute.rs` that implements [`Loss`], and pass it to a
//! [`crate::problem::Problem`]. The tests in `tests/properties.rs` take any `&dyn Loss`.

mod absolute;
mod hinge;
mod huber;
mod logistic;
mod pinball;
mod squared;

pub use absolute::Absolute;
pub use hinge::Hinge;
pub use huber::Huber;
pub use logistic::Logistic;
pub use pinball::Pinball;
pub use squared::Squared;

use std::fmt;

/// Which targets a loss understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Targets {
    /// Any number.
    Real,
    /// -1 and +1.
    Signs,
}

/// A loss as the interior-point reference solver needs it.
#[derive(Clone, Debug, PartialEq)]
pub enum Epigraph {
    /// `(z - y)^2`
    Square,
    /// `max_l (slope_l z + offset_l)`
    Lines(Vec<(f64, f64)>),
    /// Huber with this threshold.
    Huber(f64),
    /// `log(1 + exp(-y z))`
    Logistic,
}

/// A convex loss of one sample.
///
/// `value` and `difference` are what the zeroth-order loop needs. `slope`, `dual_prox` and
/// `fenchel_gap` let the exact solver work and certify itself.
pub trait Loss: Send + Sync + fmt::Debug {
    /// The name users type.
    fn name(&self) -> &'static str;

    /// `loss(z, y)`.
    fn value(&self, z: f64, y: f64) -> f64;

    /// `loss(z + step, y) - loss(z, y)`, computed without subtracting two nearly equal numbers.
    fn difference(&self, z: f64, step: f64, y: f64) -> f64;

    /// A subgradient with respect to `z`.
    fn slope(&self, z: f64, y: f64) -> f64;

    /// The second derivative where there is one; `None` for a loss with kinks.
    fn curvature(&self, _z: f64, _y: f64) -> Option<f64> {
        None
    }

    /// The constant c3: a bound on the second derivative; `None` for a loss with kinks.
    fn smoothness(&self) -> Option<f64> {
        None
    }

    /// The constant c1: a bound on the gradient's norm for rows of norm at most one, valid for every
    /// `b`. `None` where there is none.
    #[doc(alias = "Assumption 3")]
    fn lipschitz(&self) -> Option<f64>;

    /// The targets it understands.
    fn targets(&self) -> Targets {
        Targets::Real
    }

    /// The dual step of the exact solver: the slope at `prox_{kappa loss}(w)`, for `kappa > 0`.
    fn dual_prox(&self, w: f64, kappa: f64, y: f64) -> f64;

    /// `loss(z) + loss*(a) - a z >= 0` for a slope `a`, without cancellation: zero exactly where `a`
    /// is a subgradient at `z`.
    fn fenchel_gap(&self, z: f64, a: f64, y: f64) -> f64;

    /// How the reference solver models the loss at this target; `None` if it cannot.
    fn epigraph(&self, _y: f64) -> Option<Epigraph> {
        None
    }

    /// `out[j] += loss(z + u1 first[j] + u2 second[j]) - loss(z + u1 first[j])`: the inner loop's
    /// whole work on one sample. One dynamic call, then a loop that the compiler sees through.
    fn add_differences(&self, sample: Sample<'_>, out: &mut [f64]) {
        let Sample { z, y, u1, u2, first, second } = sample;
        for ((out, &first), &second) in out.iter_mut().zip(first).zip(second) {
            *out += self.difference(z + u1 * first, u2 * second, y);
        }
    }
}

/// One sample's view of a batch of directions.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// `x'b`
    pub z: f64,
    /// The target.
    pub y: f64,
    /// Smoothing `u_{1,t}`.
    pub u1: f64,
    /// Smoothing `u_{2,t}`.
    pub u2: f64,
    /// `x'nu1_j` for every direction j.
    pub first: &'a [f64],
    /// `x'nu2_j` for every direction j.
    pub second: &'a [f64],
}

/// `|a + step| - |a|` without cancellation.
#[inline]
pub(crate) fn absolute_difference(a: f64, step: f64) -> f64 {
    let outward = if a < 0.0 { -step } else { step };
    if outward >= -a.abs() { outward } else { -outward - 2.0 * a.abs() }
}
