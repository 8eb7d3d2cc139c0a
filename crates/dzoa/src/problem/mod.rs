//! What is minimised: eq. (1), `sum_k scale_k sum_j loss(x_kj, y_kj; b) + eta R(b)`.

mod black_box;
mod closed;
pub mod data;
mod directions;
pub mod least_squares;
pub mod loss;
pub mod partition;
pub mod regularizer;
mod sparse;
pub mod synthetic;

pub use black_box::{BlackBox, Failure, Limits, Oracle, OracleError, Points};
pub use closed::Closed;
pub use directions::Directions;
pub use sparse::{Sharing, Table};

use data::{Prepared, Samples};
use dzoa_privacy::Digest;
use least_squares::LeastSquares;
use loss::{Batch, Epigraph, Loss};
use rayon::prelude::*;
use regularizer::{Penalty, Regularizer};
use std::sync::Arc;

/// How the samples of one agent are weighted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// `1/N_k`: eq. (1), and everything that has a guarantee.
    Mean,
    /// 1: the paper's simulations.
    Sum,
}

/// A whole distributed problem.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The loss of one sample.
    pub loss: Arc<dyn Loss>,
    /// R.
    pub regularizer: Regularizer,
    /// eta.
    pub eta: f64,
    /// How samples are weighted.
    pub scale: Scale,
    /// Whether the last column is a constant that is not regularised.
    pub intercept: bool,
    /// Every agent's data, `D_k`.
    pub agents: Vec<Arc<Samples>>,
}

impl Problem {
    /// P, the number of columns.
    pub fn dim(&self) -> usize {
        self.agents.first().map_or(0, |agent| agent.rows.width())
    }

    /// `scale_k`: the weight of one sample of agent `k`.
    pub fn sample_weight(&self, k: usize) -> f64 {
        match self.scale {
            Scale::Mean => 1.0 / self.agents[k].count() as f64,
            Scale::Sum => 1.0,
        }
    }

    /// A digest of agent `k`'s rows and of what is asked of them. It tells rows apart that differ in one bit, and whoever
    /// knows all of them but a label could guess that: it is not to leave the agent without a key around it.
    pub fn fingerprint(&self, k: usize) -> Digest {
        let Self { loss, regularizer, eta, scale, intercept, .. } = self;
        let mut hasher = blake3::Hasher::new_derive_key("dzoa 2026 rows and problem");
        let asked = format!("{} {regularizer:?} {eta:e} {scale:?} {intercept}", loss.name());
        hasher.update(asked.as_bytes());
        self.agents[k].digest_into(&mut hasher);
        Digest::from(*hasher.finalize().as_bytes())
    }

    /// `strength R(b)`, with the intercept left out.
    pub fn penalty(&self, strength: f64) -> Penalty {
        Penalty {
            regularizer: self.regularizer.clone(),
            weight: strength,
            penalized: self.dim() - usize::from(self.intercept),
        }
    }

    /// `f_k` of eqs. (2) to (4): one agent's data term and its share `eta/K` of the regulariser.
    #[doc(alias = "secondeq")]
    #[doc(alias = "thirdeq")]
    #[doc(alias = "convergence3")]
    #[doc(alias = "sim2")]
    pub fn local(&self, k: usize) -> LocalObjective {
        let risk = self.risk(k);
        // The squared loss of many samples is one quadratic form.
        let squared = risk.loss.epigraph(0.0) == Some(Epigraph::Square);
        let data: Arc<dyn Objective> = if squared && LeastSquares::pays(&risk) {
            Arc::new(LeastSquares::new(risk))
        } else {
            Arc::new(risk)
        };
        LocalObjective { data, penalty: self.penalty(self.eta / self.agents.len() as f64) }
    }

    /// The data term of `f_k`.
    pub fn risk(&self, k: usize) -> EmpiricalRisk {
        EmpiricalRisk {
            samples: self.agents[k].clone(),
            loss: self.loss.clone(),
            weight: self.sample_weight(k),
        }
    }

    /// The centralised objective, eq. (1), or eq. (sim1) under the sum scale.
    #[doc(alias = "firsteq")]
    #[doc(alias = "sim1")]
    pub fn value(&self, b: &[f64]) -> f64 {
        let data: f64 = (0..self.agents.len())
            .map(|k| self.sample_weight(k) * total_loss(&self.agents[k], &*self.loss, b))
            .sum();
        data + self.penalty(self.eta).value(b)
    }
}

/// `sum_i loss(x_i'b, y_i)`.
fn total_loss(samples: &Samples, loss: &dyn Loss, b: &[f64]) -> f64 {
    let Samples { rows, targets } = samples;
    let mut fitted = [0.0; TILE];
    let tiles = targets.chunks(TILE).enumerate().map(|(tile, targets)| {
        let fitted = &mut fitted[..targets.len()];
        rows.times(tile * TILE, b, fitted);
        loss.sum(fitted, targets)
    });
    tiles.sum()
}

/// A question to an objective: how does it change from `b + u1 nu1_j` along `u2 nu2_j`, for every j?
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

/// Buffers that the inner loop reuses.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    fitted: Vec<f64>,
    products: Vec<f64>,
    here: Vec<f64>,
    there: Vec<f64>,
    /// What sparse rows share.
    table: Table,
    /// J sums for every tile of rows.
    tiles: Vec<f64>,
    /// Buffers of threads that share the rows.
    helpers: Vec<Scratch>,
}

/// Rows that are treated together: their products with all directions stay in the cache. Sums are formed tile by tile
/// and then over the tiles in their order, so that the number of threads changes no bit.
pub const TILE: usize = 256;
/// Below this many multiplications another thread would come too late.
const WORTH_SHARING: usize = 2_000_000;

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

    /// The same for `f + h` with a part in closed form. A function that goes over the directions in the same way can do
    /// both in one pass.
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

    /// Why the last values are missing, once: whoever asked for values must ask for this, too. A known
    /// function never fails.
    fn failure(&self) -> Option<Failure> {
        None
    }
}

/// `weight sum_j loss(x_j'b, y_j)`: the data term of a linear model.
#[derive(Clone, Debug)]
pub struct EmpiricalRisk {
    /// `D_k`
    pub samples: Arc<Samples>,
    /// The loss.
    pub loss: Arc<dyn Loss>,
    /// `scale_k`
    pub weight: f64,
}

impl Objective for EmpiricalRisk {
    fn dim(&self) -> usize {
        self.samples.rows.width()
    }

    fn value(&self, b: &[f64]) -> f64 {
        self.weight * total_loss(&self.samples, &*self.loss, b)
    }

    fn shortest_step(&self, _b: &[f64]) -> f64 {
        0.0
    }

    fn quotients(&self, probe: &Probe<'_>, scratch: &mut Scratch, out: &mut [f64]) {
        let count = out.len();
        let tiles = self.samples.count().div_ceil(TILE);
        let mut sums = std::mem::take(&mut scratch.tiles);
        let mut table = std::mem::take(&mut scratch.table);
        sums.resize(tiles * count, 0.0);
        let prepared = self.prepare(probe, Sharing::Sums, &mut table);
        let threads = self.threads(count).min(tiles);
        if threads > 1 {
            let share = tiles.div_ceil(threads);
            scratch.helpers.resize_with(threads, Scratch::default);
            let shares = sums.par_chunks_mut(share * count).zip(&mut scratch.helpers);
            shares.enumerate().for_each(|(thread, (sums, scratch))| {
                self.tiles(probe, &prepared, thread * share, scratch, sums);
            });
        } else {
            self.tiles(probe, &prepared, 0, scratch, &mut sums);
        }
        out.fill(0.0);
        for sums in sums.chunks_exact(count) {
            out.iter_mut().zip(sums).for_each(|(out, sum)| *out += sum);
        }
        (scratch.tiles, scratch.table) = (sums, table);
        out.iter_mut().for_each(|out| *out *= self.weight / probe.u2);
    }
}

/// A data term that gives one value per sample, where a sample's value depends on that sample only:
/// what the mechanism `scalar` needs.
pub trait PerSample: Objective {
    /// N_k.
    fn samples(&self) -> usize;

    /// The weight of all samples together: 1 under the mean scale, `N_k` under the sum scale.
    fn total_weight(&self) -> f64;

    /// `out[j]` = mean over the samples of the j-th difference quotient clipped to `[-clip, clip]`. A
    /// quotient that is not a number counts as 0: clamping would keep it. Returns how many quotients were
    /// clipped, which depends on the data: a local value.
    fn clipped_means(
        &self,
        probe: &Probe<'_>,
        clip: f64,
        scratch: &mut Scratch,
        out: &mut [f64],
    ) -> u64;
}

impl EmpiricalRisk {
    /// The samples of a tile: `x'b` of every row and its products with all directions, in buffers that are reused.
    fn project<'a>(
        &'a self,
        probe: &Probe<'_>,
        prepared: &Prepared<'_>,
        tile: usize,
        fitted: &'a mut Vec<f64>,
        products: &'a mut Vec<f64>,
    ) -> Batch<'a> {
        let Samples { rows, targets } = &*self.samples;
        let columns = 2 * probe.directions.count();
        let first = tile * TILE;
        let targets = &targets[first..targets.len().min(first + TILE)];
        fitted.resize(targets.len(), 0.0);
        rows.project(first, prepared, fitted, products);
        let products = &products[..targets.len() * columns];
        Batch { fitted, targets, products, u1: probe.u1, u2: probe.u2 }
    }

    /// What all tiles need.
    fn prepare<'a>(
        &self,
        probe: &Probe<'a>,
        sharing: Sharing,
        table: &'a mut Table,
    ) -> Prepared<'a> {
        self.samples.rows.prepare(probe.point, probe.directions.block(), sharing, table)
    }

    /// The sums of differences of as many tiles from `first` on as there is room for.
    fn tiles(
        &self,
        probe: &Probe<'_>,
        prepared: &Prepared<'_>,
        first: usize,
        scratch: &mut Scratch,
        sums: &mut [f64],
    ) {
        let count = probe.directions.count();
        let Scratch { fitted, products, .. } = scratch;
        for (tile, sums) in (first..).zip(sums.chunks_exact_mut(count)) {
            self.loss.differences(&self.project(probe, prepared, tile, fitted, products), sums);
        }
    }

    /// How many threads should share the rows of one inner step with J directions: idle ones take what others leave.
    fn threads(&self, directions: usize) -> usize {
        match self.samples.rows.stored() * directions < WORTH_SHARING {
            true => 1,
            false => rayon::current_num_threads(),
        }
    }
}

impl PerSample for EmpiricalRisk {
    fn samples(&self) -> usize {
        self.samples.count()
    }

    fn total_weight(&self) -> f64 {
        self.weight * self.samples.count() as f64
    }

    fn clipped_means(
        &self,
        probe: &Probe<'_>,
        clip: f64,
        scratch: &mut Scratch,
        out: &mut [f64],
    ) -> u64 {
        let mut sum = ClippedSum::new(clip, self.samples.count());
        let count = probe.directions.count();
        let Scratch { fitted, products, here, table, .. } = scratch;
        let prepared = self.prepare(probe, Sharing::Nothing, table);
        here.resize(count, 0.0);
        out.fill(0.0);
        for tile in 0..self.samples.count().div_ceil(TILE) {
            let batch = self.project(probe, &prepared, tile, fitted, products);
            for (i, products) in batch.products.chunks_exact(2 * count).enumerate() {
                let (fitted, targets) = (&batch.fitted[i..=i], &batch.targets[i..=i]);
                let sample = Batch { fitted, targets, products, ..batch };
                self.loss.differences(&sample, here);
                for (out, difference) in out.iter_mut().zip(here.iter()) {
                    sum.add(difference / probe.u2, out);
                }
            }
        }
        sum.finish(out)
    }
}

/// Means of clipped quotients, added exactly.
///
/// Whole multiples of C/grid are added: in a sum of plain floats one replaced summand changes the rounding of
/// all that follow, and so the sensitivity.
struct ClippedSum {
    clip: f64,
    grid: f64,
    samples: f64,
    clipped: u64,
}

impl ClippedSum {
    fn new(clip: f64, samples: usize) -> Self {
        let grid = if samples <= 1 << 22 { (1u64 << 31) as f64 } else { (1u64 << 20) as f64 };
        Self { clip, grid, samples: samples as f64, clipped: 0 }
    }

    /// Adds one sample's quotient to a sum. What is not a number counts as 0: clamping would keep it.
    #[inline]
    fn add(&mut self, quotient: f64, sum: &mut f64) {
        let Self { clip, grid, .. } = *self;
        let kept = if quotient.is_nan() { 0.0 } else { quotient.clamp(-clip, clip) };
        self.clipped += u64::from(kept != quotient);
        *sum += (kept / clip * grid).round();
    }

    /// Turns sums into means; returns how many quotients were clipped.
    fn finish(self, sums: &mut [f64]) -> u64 {
        let Self { clip, grid, samples, clipped } = self;
        sums.iter_mut().for_each(|sum| *sum *= clip / (grid * samples));
        clipped
    }
}

/// `f_k`: what holds data, and what does not. The split matters: only the first part is private.
#[derive(Clone)]
#[doc(alias = "f_k")]
pub struct LocalObjective {
    /// The data term.
    pub data: Arc<dyn Objective>,
    /// `(eta/K) R(b)`.
    pub penalty: Penalty,
}
