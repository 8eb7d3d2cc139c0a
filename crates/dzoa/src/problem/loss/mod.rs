//! Losses `loss(z, y)` of a prediction `z = x'b` and a target `y`.
//!
//! To add a loss, write one file like `absolute.rs` that implements [`Loss`] and has an `ENTRY`,
//! and add that to [`LOSSES`]. Config, `model.json`, prediction, Python, errors and the tests of
//! `tests/properties.rs` read that table. A loss from outside needs no change here: it is one more
//! row of a [`Registry`], and a [`crate::problem::Problem`] takes any `Arc<dyn Loss>`.

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

use crate::kernels::{LANES, Summands, add_terms, lanes, vectorized};
use crate::registry::{Registry, RegistryEntry};
use dzoa_privacy::joint::Enclosing;
use std::fmt;
use std::sync::Arc;

/// A loss that users can name.
pub type LossEntry = RegistryEntry<Arc<dyn Loss>>;

/// The losses that a reader knows: [`LOSSES`], and those that a program adds.
pub type Losses = Registry<Arc<dyn Loss>>;

/// All of them, in the order of the documentation.
pub const LOSSES: &[LossEntry] =
    &[squared::ENTRY, absolute::ENTRY, huber::ENTRY, pinball::ENTRY, logistic::ENTRY, hinge::ENTRY];

/// Which targets a loss understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Targets {
    /// Any number.
    Real,
    /// -1 and +1.
    Signs,
}

/// A loss as the interior-point reference solver needs it, over lines
/// `l(z) = slope_l z + offset_l`.
#[derive(Clone, Debug, PartialEq)]
pub enum Epigraph {
    /// `(z - y)^2`
    Square,
    /// `max_l l(z)`
    Lines(Vec<Line>),
    /// `min_s curvature/2 s^2 + factor max_l l(z - s)`: lines with their kinks rounded off.
    Rounded {
        /// Of the parabola between two lines.
        curvature: f64,
        /// Of all lines.
        factor: f64,
        /// The lines.
        lines: Vec<Line>,
    },
    /// `log sum_l exp(l(z))`
    LogSumExp(Vec<Line>),
}

/// A line of an [`Epigraph`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Of `slope z + offset`.
    pub slope: f64,
    /// Of `slope z + offset`.
    pub offset: f64,
}

impl Line {
    /// `slope z + offset`
    pub const fn new(slope: f64, offset: f64) -> Self {
        Self { slope, offset }
    }
}

/// What a loss says of how targets scatter around predictions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Likelihood {
    /// It is minus the logarithm of a probability.
    Whole,
    /// It is the square of a residual of the normal distribution, whose variance nobody knows.
    SquaredResidual,
}

/// A convex loss of one sample.
///
/// `value` and `difference` are what the zeroth-order loop needs. `slope`, `dual_prox` and
/// `fenchel_gap` let the exact solver work and certify itself.
pub trait Loss: Send + Sync + fmt::Debug {
    /// The name users type.
    fn name(&self) -> &'static str;

    /// Its numbers under the keys of its [`LossEntry`]: what `model.json` says beside the name, and
    /// what the loss is built from again.
    fn parameters(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// `loss(z, y)`.
    fn value(&self, z: f64, y: f64) -> f64;

    /// `loss(z, y)` in the target's own unit, where prediction and target were divided by `unit`.
    fn value_in_unit(&self, z: f64, y: f64, unit: f64) -> f64 {
        self.value(unit * z, unit * y)
    }

    /// `sum_i loss(z_i, y_i)`.
    fn sum(&self, fitted: &[f64], targets: &[f64]) -> f64 {
        fitted.iter().zip(targets).map(|(z, y)| self.value(*z, *y)).sum()
    }

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

    /// What the rule that chooses steps takes for the curvature of the loss smoothed over this
    /// width: c3, or for a loss with kinks the steepest change of slope over the width.
    fn smoothed_curvature(&self, width: f64) -> f64 {
        let kink = || 1.0_f64.max(self.lipschitz().unwrap_or(1.0) / width);
        self.smoothness().unwrap_or_else(kink)
    }

    /// A bound on the slope, valid for every prediction and target; `None` where there is none. The
    /// gradient of a sample is the slope times its row: a sensitivity needs
    /// [`crate::guarantee::c1`], which asks for the bound on the rows, too.
    fn lipschitz(&self) -> Option<f64>;

    /// The ball that holds the gradients of all rows of at most unit length at a point of this
    /// norm, by its radius and how far its centre lies along the point; `None` where no smaller one
    /// is known than that of [`lipschitz`](Self::lipschitz) around the origin. Its radius grows
    /// with the norm.
    fn gradient_ball(&self, _norm: f64) -> Option<Enclosing> {
        None
    }

    /// The targets it understands.
    fn targets(&self) -> Targets {
        Targets::Real
    }

    /// What it says of how targets scatter around predictions; `None` where it is no likelihood.
    fn likelihood(&self) -> Option<Likelihood> {
        None
    }

    /// The probability of the target +1 at this prediction, for a loss that models one.
    fn probability(&self, _score: f64) -> Option<f64> {
        None
    }

    /// The dual step of the exact solver: the slope at `prox_{kappa loss}(w)`, for `kappa > 0`.
    fn dual_prox(&self, w: f64, kappa: f64, y: f64) -> f64;

    /// [`dual_prox`](Self::dual_prox) at `w = z + kappa a`, with the slope `a` of the last step:
    /// where little has changed since, it is near, and a loss that has to search can start there.
    fn next_dual(&self, z: f64, a: f64, kappa: f64, y: f64) -> f64 {
        self.dual_prox(z + kappa * a, kappa, y)
    }

    /// `loss(z) + loss*(a) - a z >= 0` for a slope `a`, without cancellation: zero exactly where
    /// `a` is a subgradient at `z`.
    fn fenchel_gap(&self, z: f64, a: f64, y: f64) -> f64;

    /// How the reference solver models the loss at this target; `None` if it cannot.
    fn epigraph(&self, _y: f64) -> Option<Epigraph> {
        None
    }

    /// `out[j] = sum_i loss(z_i + u1 x_i'nu1_j + u2 x_i'nu2_j) - loss(z_i + u1 x_i'nu1_j)`: the
    /// inner loop's whole work on the samples. One dynamic call, then loops that the compiler sees
    /// through; `difference` should be marked `#[inline(always)]` and have no branches.
    fn differences(&self, batch: &Batch<'_>, out: &mut [f64]) {
        vectorized(
            #[inline(always)]
            || {
                batch.sum(
                    #[inline(always)]
                    |z, step, y| self.difference(z, step, y),
                    out,
                );
            },
        );
    }
}

/// Samples and their products with a batch of J directions.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// `x_i'b`
    pub fitted: &'a [f64],
    /// `y_i`
    pub targets: &'a [f64],
    /// For every sample `x_i'nu1_j` of all directions j, then `x_i'nu2_j`.
    pub products: &'a [f64],
    /// Smoothing `u_{1,t}`.
    pub u1: f64,
    /// Smoothing `u_{2,t}`.
    pub u2: f64,
}

/// One of them.
#[derive(Clone, Copy, Debug)]
struct Sample<'a> {
    fitted: f64,
    target: f64,
    first: &'a [f64],
    second: &'a [f64],
}

/// The differences of a loss, direction by direction: `difference(z + u1 x'nu1, u2 x'nu2, y)`.
struct Differences<'a, D> {
    batch: &'a Batch<'a>,
    count: usize,
    difference: D,
}

impl<D: Fn(f64, f64, f64) -> f64> Summands for Differences<'_, D> {
    #[inline(always)]
    fn add<const W: usize>(&self, i: usize, j: usize, sums: &mut [f64; W]) {
        let Batch { u1, u2, .. } = *self.batch;
        let Sample { fitted, target, first, second } = self.batch.sample(i, self.count);
        let (first, second): ([f64; W], [f64; W]) = (lanes(first, j), lanes(second, j));
        for lane in 0..W {
            let difference = &self.difference;
            sums[lane] += difference(fitted + u1 * first[lane], u2 * second[lane], target);
        }
    }
}

impl Batch<'_> {
    /// A sample and its products with J directions.
    #[inline(always)]
    fn sample(&self, i: usize, count: usize) -> Sample<'_> {
        let (first, second) = self.products[i * 2 * count..][..2 * count].split_at(count);
        Sample { fitted: self.fitted[i], target: self.targets[i], first, second }
    }

    /// Adds up the differences of a loss, sample by sample.
    #[inline(always)]
    fn sum(&self, difference: impl Fn(f64, f64, f64) -> f64, out: &mut [f64]) {
        out.fill(0.0);
        let count = out.len();
        add_terms::<{ 2 * LANES }>(
            out,
            0..self.fitted.len(),
            &Differences { batch: self, count, difference },
        );
    }

    /// Whether no prediction lies farther out.
    #[inline(always)]
    fn is_within(&self, edge: f64) -> bool {
        self.fitted.iter().fold(true, |within, z| within & (z.abs() <= edge))
    }

    /// The longest shift `u1 x'nu1` and the longest step `u2 x'nu2` of any sample along any of J
    /// directions.
    #[inline(always)]
    fn longest(&self, count: usize) -> (f64, f64) {
        let longest = |from: usize| match count {
            LANES.. => self.longest_of::<LANES>(count, from),
            _ => self.longest_of::<1>(count, from),
        };
        (self.u1.abs() * longest(0), self.u2.abs() * longest(count))
    }

    #[inline(always)]
    fn longest_of<const W: usize>(&self, count: usize, from: usize) -> f64 {
        let mut longest = [0.0f64; W];
        for line in self.products.chunks_exact(2 * count) {
            let line = &line[from..from + count];
            for j in (0..count).step_by(W) {
                let values: [f64; W] = lanes(line, j.min(count - W));
                for lane in 0..W {
                    let length = values[lane].abs();
                    longest[lane] = if length > longest[lane] { length } else { longest[lane] };
                }
            }
        }
        // Lengths are in the order of their bits, and whole numbers can be compared in any order.
        f64::from_bits(longest.map(f64::to_bits).into_iter().fold(0, u64::max))
    }
}

/// The bit of a number that holds its sign.
const SIGN: u64 = 1 << 63;

/// `|a + step| - |a|` without cancellation.
#[inline(always)]
pub(crate) fn absolute_difference(a: f64, step: f64) -> f64 {
    let outward = f64::from_bits(step.to_bits() ^ (a.to_bits() & SIGN));
    // The second is the larger one where the step crosses zero.
    let (onward, back) = (outward, a.abs().mul_add(-2.0, -outward));
    if onward > back { onward } else { back }
}
