//! What the zeroth-order loop can ask a function for.

use super::closed::Closed;
use super::failure::Failure;
use super::probe::Probe;
use super::sparse::LineTable;
use std::ops::Range;

/// Buffers that the inner loop reuses.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    pub(super) fitted: Vec<f64>,
    pub(super) products: Vec<f64>,
    pub(super) here: Vec<f64>,
    pub(super) there: Vec<f64>,
    /// What sparse rows share.
    pub(super) table: LineTable,
    /// J sums for every tile of rows.
    pub(super) tiles: Vec<f64>,
    /// Buffers of threads that share the rows.
    pub(super) helpers: Vec<Scratch>,
}

/// A function that the zeroth-order loop can ask for values: an agent's data term, or all of `F_k`.
pub trait Objective: Send + Sync {
    /// P.
    fn dim(&self) -> usize;

    /// `f(b)`.
    fn value(&self, b: &[f64]) -> f64;

    /// The shortest step whose difference is still meaningful at `b`. A function that is only known
    /// by its values loses the digits of shorter ones; a known one has no such limit.
    fn shortest_step(&self, b: &[f64]) -> f64 {
        1e-8 * b.iter().fold(1.0, |largest: f64, b| largest.max(b.abs()))
    }

    /// `out[j] = [f(b + u1 nu1_j + u2 nu2_j) - f(b + u1 nu1_j)]/u2` for the whole batch. As given
    /// here it asks for two values a direction; a known function does better.
    fn quotients(&self, probe: &Probe<'_>, scratch: &mut Scratch, out: &mut [f64]) {
        let Probe { point, u1, u2, directions } = *probe;
        for (j, out) in out.iter_mut().enumerate() {
            scratch.here.clear();
            scratch.there.clear();
            for p in 0..point.len() {
                let (nu1, nu2) = directions.feature(p);
                let here = point[p] + u1 * nu1[j];
                scratch.here.push(here);
                scratch.there.push(here + u2 * nu2[j]);
            }
            *out = (self.value(&scratch.there) - self.value(&scratch.here)) / u2;
        }
    }

    /// [`quotients`](Self::quotients) of `f + h` with a part in closed form. A function that goes
    /// over the directions in the same way can do both in one pass.
    fn quotients_with(
        &self,
        closed: &Closed<'_>,
        probe: &Probe<'_>,
        scratch: &mut Scratch,
        out: &mut [f64],
    ) {
        self.quotients(probe, scratch, out);
        closed.add_quotients(probe, out);
    }

    /// Why the last values are missing, once: whoever asked for values must ask for this, too. A
    /// known function never fails.
    fn failure(&self) -> Option<Failure> {
        None
    }
}

/// A data term that gives one value per sample, where a sample's value depends on that sample only:
/// what the mechanism `scalar` needs.
pub trait PerSample: Objective {
    /// N_k.
    fn samples(&self) -> usize;

    /// The weight of all samples together: 1 under the mean scale, `N_k` under the sum scale.
    fn total_weight(&self) -> f64;

    /// Calls `visit` with the J difference quotients of every one of these samples, in order. Where
    /// a function fails, nothing more is visited, and [`Objective::failure`] says why.
    fn sample_quotients(
        &self,
        probe: &Probe<'_>,
        samples: Range<usize>,
        scratch: &mut Scratch,
        visit: &mut dyn FnMut(&[f64]),
    );

    /// `out` = mean over the samples of the vector of a sample's J difference quotients, divided by
    /// `sqrt(J)` and shortened to length `clip` where it is longer. What is not a number counts as
    /// 0. Returns how many quotients were shortened, which depends on the data: a local value.
    ///
    /// Divided by the root of J, the vector is about as long as the sample's gradient, for any
    /// number of directions `nu2` whose coordinates have variance 1; just as long if they are a
    /// whole frame at right angles.
    fn clipped_means(
        &self,
        probe: &Probe<'_>,
        clip: f64,
        scratch: &mut Scratch,
        out: &mut [f64],
    ) -> u64;
}

/// The mean of samples' vectors, each shortened to the length C and added exactly.
///
/// A vector is made finite, moved into the ball of radius C, cut towards zero to whole multiples of
/// `C/grid`, and only then added, as integers: in a sum of floats one replaced summand changes the
/// rounding of all that follow, and so the sensitivity.
///
/// **How long a summand is.** The length is computed with a margin for its own rounding, which is
/// at most an eighth of a last place a coordinate: what is not shortened is no longer than C, and
/// what is shortened is longer by the last places of its coordinates at most. Cutting towards zero
/// makes nothing longer. So two summands are at most `2 grid (1 + 8 EPSILON)` apart, for any
/// directions.
pub(super) struct ClippedSum {
    /// From a difference of values to a part of C.
    factor: f64,
    clip: f64,
    grid: f64,
    samples: f64,
    sums: Vec<i64>,
    clipped: u64,
}

impl ClippedSum {
    pub(super) fn new(clip: f64, samples: usize, probe: &Probe<'_>) -> Self {
        // Sums stay below 2^53, where a float is every whole number.
        let grid = if samples <= 1 << 22 { (1u64 << 31) as f64 } else { (1u64 << 20) as f64 };
        let count = probe.directions.count();
        let factor = 1.0 / (count as f64).sqrt() / probe.u2 / clip;
        Self { factor, clip, grid, samples: samples as f64, sums: vec![0; count], clipped: 0 }
    }

    /// Adds one sample: its differences of values along all directions, which are overwritten.
    #[inline]
    pub(super) fn add(&mut self, differences: &mut [f64]) {
        /// Beyond this the sum of the squares would not be finite.
        const LARGEST: f64 = 1e140;
        let mut squares = [0.0; 8];
        for (j, value) in differences.iter_mut().enumerate() {
            let part = *value * self.factor;
            *value = if part.is_nan() { 0.0 } else { part.clamp(-LARGEST, LARGEST) };
            squares[j % 8] += *value * *value;
        }
        let margin = 1.0 + (differences.len() + 32) as f64 * f64::EPSILON;
        let length = squares.iter().sum::<f64>().sqrt() * margin;
        let kept = if length > 1.0 { self.grid / length } else { self.grid };
        self.clipped += u64::from(length > 1.0) * differences.len() as u64;
        for (sum, part) in self.sums.iter_mut().zip(differences) {
            // A cast cuts towards zero.
            *sum += (*part * kept) as i64;
        }
    }

    /// Writes the means; returns how many quotients were shortened.
    pub(super) fn finish(self, means: &mut [f64]) -> u64 {
        let Self { clip, grid, samples, sums, clipped, .. } = self;
        let step = clip / (grid * samples);
        means.iter_mut().zip(sums).for_each(|(mean, sum)| *mean = sum as f64 * step);
        clipped
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Directions;
    use proptest::prelude::*;

    fn mean(clip: f64, samples: &[Vec<f64>]) -> Vec<f64> {
        let mut directions = Directions::default();
        directions.resize(1, samples[0].len());
        let probe = Probe { point: &[0.0], u1: 0.0, u2: 0.5, directions: &directions };
        let mut sum = ClippedSum::new(clip, samples.len(), &probe);
        samples.iter().for_each(|sample| sum.add(&mut sample.clone()));
        let mut means = vec![0.0; samples[0].len()];
        sum.finish(&mut means);
        means
    }

    #[test]
    fn a_short_vector_stays_a_long_one_keeps_its_direction_and_no_number_is_zero() {
        // Four differences over u2 = 1/2 and over the root of 4: the values themselves.
        let means = mean(2.0, &[vec![1.0, -0.5, 0.25, 0.0]]);
        for (mean, value) in means.iter().zip([1.0, -0.5, 0.25, 0.0]) {
            assert!((mean - value).abs() <= 2.0 / (1u64 << 31) as f64, "{means:?}");
        }
        let means = mean(2.0, &[vec![30.0, f64::NAN, 40.0, 0.0]]);
        for (mean, value) in means.iter().zip([1.2, 0.0, 1.6, 0.0]) {
            assert!((mean - value).abs() <= 4.0 / (1u64 << 31) as f64, "{means:?}");
        }
        let infinite = mean(2.0, &[vec![f64::NEG_INFINITY, 1.0, 1e300, 0.0]]);
        assert!((infinite[0] + 2f64.sqrt()).abs() < 1e-6 && infinite[1] == 0.0, "{infinite:?}");
    }

    proptest! {
        #[test]
        fn one_replaced_sample_moves_the_mean_by_no_more_than_the_sensitivity(
            bits in prop::collection::vec(any::<u64>(), 24..200),
            others in prop::collection::vec(prop::collection::vec(-3.0..3.0f64, 12), 0..6),
            clip in 1e-3..1e3f64,
        ) {
            // Any bits at all: subnormal, huge, infinite, none.
            let numbers: Vec<f64> = bits.iter().map(|bits| f64::from_bits(*bits)).collect();
            let with = |own: &[f64]| {
                let mut samples = others.clone();
                samples.push(own.to_vec());
                mean(clip, &samples)
            };
            // What `scalar` charges.
            let rows = others.len() as f64 + 1.0;
            let claimed = 2.0 * clip / rows * (1.0 + (rows + 64.0) * f64::EPSILON);
            for pair in numbers.chunks_exact(24) {
                let (one, other) = (with(&pair[..12]), with(&pair[12..]));
                let apart: f64 = one.iter().zip(&other).map(|(a, b)| (a - b) * (a - b)).sum();
                prop_assert!(apart.sqrt() <= claimed, "{} of {claimed}", apart.sqrt());
            }
        }
    }
}
