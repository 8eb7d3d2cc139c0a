//! The data term of a linear model.

use super::data::{Prepared, Samples};
use super::loss::{Batch, Loss};
use super::objective::{ClippedSum, Objective, PerSample, Scratch};
use super::probe::Probe;
use super::{LineTable, Sharing};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Rows that are treated together: their products with all directions stay in the cache. Sums are
/// formed tile by tile and then over the tiles in their order, so that the number of threads
/// changes no bit.
pub const TILE: usize = 256;
/// Below this many multiplications another thread would come too late.
const WORTH_SHARING: usize = 2_000_000;

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
        let prepared = &self.prepare(probe, Sharing::Sums, &mut table);
        let asked = Asked { probe, prepared };
        let threads = self.threads(count).min(tiles);
        if threads > 1 {
            let share = tiles.div_ceil(threads);
            scratch.helpers.resize_with(threads, Scratch::default);
            let shares = sums.par_chunks_mut(share * count).zip(&mut scratch.helpers);
            shares.enumerate().for_each(|(thread, (sums, scratch))| {
                self.tiles(asked, thread * share, scratch, sums);
            });
        } else {
            self.tiles(asked, 0, scratch, &mut sums);
        }
        out.fill(0.0);
        for sums in sums.chunks_exact(count) {
            out.iter_mut().zip(sums).for_each(|(out, sum)| *out += sum);
        }
        (scratch.tiles, scratch.table) = (sums, table);
        out.iter_mut().for_each(|out| *out *= self.weight / probe.u2);
    }
}

/// One question to all rows, prepared once for every tile.
#[derive(Clone, Copy)]
struct Asked<'a> {
    probe: &'a Probe<'a>,
    prepared: &'a Prepared<'a>,
}

impl EmpiricalRisk {
    /// The samples of a tile: `x'b` of every row and its products with all directions, in buffers
    /// that are reused.
    fn project<'a>(
        &'a self,
        Asked { probe, prepared }: Asked<'_>,
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
        table: &'a mut LineTable,
    ) -> Prepared<'a> {
        self.samples.rows.prepare(probe.point, probe.directions.block(), sharing, table)
    }

    /// The sums of differences of as many tiles from `first` on as there is room for.
    fn tiles(&self, asked: Asked<'_>, first: usize, scratch: &mut Scratch, sums: &mut [f64]) {
        let count = asked.probe.directions.count();
        let Scratch { fitted, products, .. } = scratch;
        for (tile, sums) in (first..).zip(sums.chunks_exact_mut(count)) {
            self.loss.differences(&self.project(asked, tile, fitted, products), sums);
        }
    }

    /// How many threads should share the rows of one inner step with J directions: idle ones take
    /// what others leave.
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

    fn sample_quotients(
        &self,
        probe: &Probe<'_>,
        samples: Range<usize>,
        scratch: &mut Scratch,
        visit: &mut dyn FnMut(&[f64]),
    ) {
        let count = probe.directions.count();
        let Scratch { fitted, products, here, table, .. } = scratch;
        let prepared = &self.prepare(probe, Sharing::Nothing, table);
        let asked = Asked { probe, prepared };
        here.resize(count, 0.0);
        for tile in samples.start / TILE..samples.end.div_ceil(TILE) {
            let batch = self.project(asked, tile, fitted, products);
            for (i, products) in batch.products.chunks_exact(2 * count).enumerate() {
                if !samples.contains(&(tile * TILE + i)) {
                    continue;
                }
                let (fitted, targets) = (&batch.fitted[i..=i], &batch.targets[i..=i]);
                let sample = Batch { fitted, targets, products, ..batch };
                self.loss.differences(&sample, here);
                here.iter_mut().for_each(|difference| *difference /= probe.u2);
                visit(here);
            }
        }
    }

    fn clipped_means(
        &self,
        probe: &Probe<'_>,
        clip: f64,
        scratch: &mut Scratch,
        out: &mut [f64],
    ) -> u64 {
        let mut sum = ClippedSum::new(clip, self.samples.count(), probe);
        let count = probe.directions.count();
        let Scratch { fitted, products, here, table, .. } = scratch;
        let prepared = &self.prepare(probe, Sharing::Nothing, table);
        let asked = Asked { probe, prepared };
        here.resize(count, 0.0);
        for tile in 0..self.samples.count().div_ceil(TILE) {
            let batch = self.project(asked, tile, fitted, products);
            for (i, products) in batch.products.chunks_exact(2 * count).enumerate() {
                let (fitted, targets) = (&batch.fitted[i..=i], &batch.targets[i..=i]);
                let sample = Batch { fitted, targets, products, ..batch };
                self.loss.differences(&sample, here);
                sum.add(here);
            }
        }
        sum.finish(out)
    }
}

/// `sum_i loss(x_i'b, y_i)`.
pub(super) fn total_loss(samples: &Samples, loss: &dyn Loss, b: &[f64]) -> f64 {
    let Samples { rows, targets } = samples;
    let mut fitted = [0.0; TILE];
    let tiles = targets.chunks(TILE).enumerate().map(|(tile, targets)| {
        let fitted = &mut fitted[..targets.len()];
        rows.times(tile * TILE, b, fitted);
        loss.sum(fitted, targets)
    });
    tiles.sum()
}
