//! The floor: what the machine needs for the three parts of an inner step that nothing can avoid, each alone and
//! over the same shapes.
//!
//! 1. `normals`: fill the block of directions.
//! 2. `products`: the rows (or the Gram matrix) times the directions.
//! 3. `differences`: one pass over the products that adds up the loss differences.

use crate::clock::best;
use dzoa::kernels::normals::Normals;
use dzoa::problem::data::Samples;
use dzoa::problem::least_squares::LeastSquares;
use dzoa::problem::loss::{Batch, Loss};
use dzoa::problem::{Directions, Objective};
use dzoa::streams::{Purpose, Streams};

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

fn directions(features: usize, count: usize) -> (Normals, Directions) {
    let normals = Streams::from_seed(1).normals(Purpose::Directions, "floor", 1);
    let mut directions = Directions::default();
    directions.resize(features, count);
    normals.fill(1, directions.values_mut());
    (normals, directions)
}

/// For a loss that is evaluated sample by sample.
pub fn per_sample(samples: &Samples, loss: &dyn Loss, count: usize, repeat: usize) -> Floor {
    let (features, rows) = (samples.rows.width(), samples.count());
    let (normals, mut block) = directions(features, count);
    let mut products = vec![0.0; rows * 2 * count];
    let fitted = vec![0.1; rows];
    let mut out = vec![0.0; count];
    let fill = best(repeat, |i| normals.fill(i as u64, block.values_mut()));
    let product =
        best(repeat, |_| samples.rows.products(0, block.block(), 2 * count, &mut products));
    let batch = Batch {
        fitted: &fitted,
        targets: &samples.targets,
        products: &products,
        u1: 0.1,
        u2: 1e-4,
    };
    let differences = best(repeat, |_| loss.differences(&batch, &mut out));
    Floor { normals: fill, products: product, differences }
}

/// For the squared loss in its Gram form.
pub fn gram(objective: &LeastSquares, count: usize, repeat: usize) -> Floor {
    let features = objective.dim();
    let (normals, mut block) = directions(features, count);
    let mut products = vec![0.0; features * count];
    let mut out = vec![0.0; count];
    let fill = best(repeat, |i| normals.fill(i as u64, block.values_mut()));
    let product = best(repeat, |_| objective.products(&block, &mut products));
    let differences = best(repeat, |_| {
        out.fill(0.0);
        dzoa::kernels::vectorized(
            #[inline(always)]
            || {
                for (p, product) in products.chunks_exact(count).enumerate() {
                    let (nu1, nu2) = block.feature(p);
                    for (((out, product), nu1), nu2) in
                        out.iter_mut().zip(product).zip(nu1).zip(nu2)
                    {
                        *out += product * (0.2 * nu1 + 1e-4 * nu2);
                    }
                }
            },
        );
    });
    Floor { normals: fill, products: product, differences }
}
