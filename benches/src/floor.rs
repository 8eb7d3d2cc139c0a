//! The floor: what the machine needs for the three parts of an inner step that nothing can avoid,
//! each alone and over the same shapes.
//!
//! 1. `normals`: fill the block of directions.
//! 2. `products`: the rows (or the Gram matrix) times the directions.
//! 3. `differences`: one pass over the products that adds up the loss differences.

use crate::clock::Timing;
use dzoa::kernels::normals::Normals;
use dzoa::primal::ZerothOrder;
use dzoa::problem::LeastSquares;
use dzoa::problem::Samples;
use dzoa::problem::loss::{Batch, Loss};
use dzoa::problem::{Directions, LineTable, Objective, Sharing, TILE};
use dzoa::streams::{Purpose, Streams};
use faer::{Accum, MatMut, MatRef, Par, linalg::matmul::matmul};

/// Seconds for one inner step.
#[derive(Clone, Copy, Debug)]
pub struct Floor {
    /// Filling 2 P J normals.
    pub normals: f64,
    /// The products.
    pub products: f64,
    /// The differences.
    pub differences: f64,
}

impl Floor {
    /// The least of two measurements, part by part.
    pub fn least(self, other: Self) -> Self {
        Self {
            normals: self.normals.min(other.normals),
            products: self.products.min(other.products),
            differences: self.differences.min(other.differences),
        }
    }

    /// All three.
    pub fn total(&self) -> f64 {
        self.normals + self.products + self.differences
    }
}

/// A block of directions, and where they came from.
pub fn directions(features: usize, count: usize) -> (Normals, Directions) {
    let normals = Streams::from_seed(1).normals(Purpose::Directions, "floor", 1);
    let mut directions = Directions::default();
    directions.resize(features, count);
    normals.fill(1, directions.values_mut());
    (normals, directions)
}

/// For a loss that is evaluated sample by sample, as a mean over the steps of an inner loop: the
/// differences of a long step are more work than those of a short one. Rows are treated as many at
/// a time as the inner step does, so that their products are as near in the cache.
pub fn per_sample(
    samples: &Samples,
    loss: &dyn Loss,
    inner: &ZerothOrder,
    timing: Timing,
) -> Floor {
    let (width, rows, columns) = (samples.rows.width(), samples.count(), 2 * inner.directions);
    let (normals, mut block) = directions(width, inner.directions);
    let (mut products, fitted) = (vec![0.0; TILE * columns], vec![0.1; TILE]);
    let mut out = vec![0.0; inner.directions];
    let fill = timing.best(|i| normals.fill(i as u64, block.values_mut()));
    let product = if samples.rows.is_sparse() {
        sparse_products(samples, block.block(), Sharing::Sums, timing)
    } else {
        let mut values = vec![0.0; rows * width];
        for row in 0..rows {
            samples.rows.visit(row, |column, value| values[row * width + column] = value);
        }
        timing.best(|_| {
            for (first, rows) in tiles(rows) {
                let values = &values[first * width..][..rows * width];
                matmul(
                    MatMut::from_row_major_slice_mut(
                        &mut products[..rows * columns],
                        rows,
                        columns,
                    ),
                    Accum::Replace,
                    MatRef::from_row_major_slice(values, rows, width),
                    MatRef::from_row_major_slice(block.block(), width, columns),
                    1.0,
                    Par::Seq,
                );
            }
        })
    };
    // As long as products are.
    normals.fill(0, &mut products);
    let differences = timing.best(|_| {
        for t in 1..=inner.inner_steps {
            let (u1, u2) = inner.smoothing_at(t, width);
            for (first, rows) in tiles(rows) {
                let (fitted, targets) = (&fitted[..rows], &samples.targets[first..][..rows]);
                let products = &products[..rows * columns];
                loss.differences(&Batch { fitted, targets, products, u1, u2 }, &mut out);
            }
        }
    }) / inner.inner_steps as f64;
    Floor { normals: fill, products: product, differences }
}

/// The first row of every tile, and how many it has.
fn tiles(rows: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..rows).step_by(TILE).map(move |first| (first, TILE.min(rows - first)))
}

/// Sparse rows times a block; the predictions are one column more in lines that are filled up to
/// whole vectors anyway.
pub fn sparse_products(samples: &Samples, block: &[f64], sharing: Sharing, timing: Timing) -> f64 {
    let (mut table, mut products) = (LineTable::default(), Vec::new());
    let (point, mut fitted) = (vec![0.1; samples.rows.width()], vec![0.0; TILE]);
    timing.best(|_| {
        let prepared = samples.rows.prepare(&point, block, sharing, &mut table);
        for (first, rows) in tiles(samples.count()) {
            samples.rows.project(first, &prepared, &mut fitted[..rows], &mut products);
        }
    })
}

/// For the squared loss in its Gram form.
pub fn gram(objective: &LeastSquares, count: usize, timing: Timing) -> Floor {
    let features = objective.dim();
    let (normals, mut block) = directions(features, count);
    let mut products = vec![0.0; features * count];
    let mut out = vec![0.0; count];
    let fill = timing.best(|i| normals.fill(i as u64, block.values_mut()));
    let product = timing.best(|_| objective.products(&block, &mut products));
    let differences = timing.best(|_| {
        dzoa::kernels::vectorized(
            #[inline(always)]
            || gram_differences(&products, &block, &mut out),
        );
        std::hint::black_box(&mut out);
    });
    Floor { normals: fill, products: product, differences }
}

/// Eight directions at a time, whose sums stay in registers; the last eight are moved back so that
/// they fit.
#[inline(always)]
fn gram_differences(products: &[f64], block: &Directions, out: &mut [f64]) {
    const EIGHT: usize = 8;
    let count = out.len();
    for from in (0..count).step_by(EIGHT).map(|from| from.min(count - EIGHT)) {
        let mut sums = [0.0f64; EIGHT];
        for (p, product) in products.chunks_exact(count).enumerate() {
            let (nu1, nu2) = block.feature(p);
            let lines = (&product[from..][..EIGHT], &nu1[from..][..EIGHT], &nu2[from..][..EIGHT]);
            for lane in 0..EIGHT {
                let across = 1e-4f64.mul_add(lines.2[lane], 0.2 * lines.1[lane]);
                sums[lane] = lines.0[lane].mul_add(across, sums[lane]);
            }
        }
        out[from..from + EIGHT].copy_from_slice(&sums);
    }
}
