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

    /// Calls `visit` with the J difference quotients of every one of these samples, in order. Where a
    /// function fails, nothing more is visited, and [`Objective::failure`] says why.
    fn sample_quotients(
        &self,
        probe: &Probe<'_>,
        samples: Range<usize>,
        scratch: &mut Scratch,
        visit: &mut dyn FnMut(&[f64]),
    );

    /// `out[j]` = mean over the samples of the j-th difference quotient clipped to `[-clip, clip]`.
    /// A quotient that is not a number counts as 0: clamping would keep it. Returns how many
    /// quotients were clipped, which depends on the data: a local value.
    fn clipped_means(
        &self,
        probe: &Probe<'_>,
        clip: f64,
        scratch: &mut Scratch,
        out: &mut [f64],
    ) -> u64;
}

/// Means of clipped quotients, added exactly.
///
/// Whole multiples of C/grid are added: in a sum of plain floats one replaced summand changes the
/// rounding of all that follow, and so the sensitivity.
pub(super) struct ClippedSum {
    clip: f64,
    grid: f64,
    samples: f64,
    clipped: u64,
}

impl ClippedSum {
    pub(super) fn new(clip: f64, samples: usize) -> Self {
        let grid = if samples <= 1 << 22 { (1u64 << 31) as f64 } else { (1u64 << 20) as f64 };
        Self { clip, grid, samples: samples as f64, clipped: 0 }
    }

    /// Adds one sample's quotient to a sum. What is not a number counts as 0: clamping would keep
    /// it.
    #[inline]
    pub(super) fn add(&mut self, quotient: f64, sum: &mut f64) {
        let Self { clip, grid, .. } = *self;
        let kept = if quotient.is_nan() { 0.0 } else { quotient.clamp(-clip, clip) };
        self.clipped += u64::from(kept != quotient);
        *sum += (kept / clip * grid).round();
    }

    /// Turns sums into means; returns how many quotients were clipped.
    pub(super) fn finish(self, sums: &mut [f64]) -> u64 {
        let Self { clip, grid, samples, clipped } = self;
        sums.iter_mut().for_each(|sum| *sum *= clip / (grid * samples));
        clipped
    }
}
