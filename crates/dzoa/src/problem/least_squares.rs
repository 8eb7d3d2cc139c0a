//! The squared loss of one agent as a quadratic form: its cost does not grow with the samples.

use super::{Directions, EmpiricalRisk, Objective, Probe, Scratch};
use crate::kernels::{LANES, dot, eight, for_each_eight, vectorized};
use faer::{Accum, MatMut, MatRef, Par, linalg::matmul::matmul};

/// More columns than this make the matrix larger than what it saves.
const MOST_COLUMNS: usize = 4096;
/// Below this many columns a plain loop beats the library's product.
const SMALL: usize = 24;
/// Features that it treats together, with eight directions.
const TALL: usize = 4;

/// `weight sum_i (x_i'b - y_i)^2` by `G = weight X'X` and `c = weight X'y`.
///
/// `f(a + h v) - f(a) = h v'(2 (G a - c) + h G v)`: nothing cancels, and one product `G [v_1 ... v_J]` serves all
/// directions, instead of `X` times twice as many.
#[derive(Clone, Debug)]
pub struct LeastSquares {
    risk: EmpiricalRisk,
    gram: Vec<f64>,
    moment: Vec<f64>,
}

impl LeastSquares {
    /// Whether the form is smaller than the rows.
    pub fn pays(risk: &EmpiricalRisk) -> bool {
        let rows = &risk.samples.rows;
        rows.width() < rows.count() && rows.width() <= MOST_COLUMNS
    }

    /// Sums over the samples, once.
    pub fn new(risk: EmpiricalRisk) -> Self {
        let mut gram = risk.samples.rows.gram();
        let mut moment = vec![0.0; risk.dim()];
        risk.samples.rows.add_transposed(&risk.samples.targets, &mut moment);
        gram.iter_mut().chain(&mut moment).for_each(|value| *value *= risk.weight);
        Self { risk, gram, moment }
    }

    /// `out = G [nu2_1 ... nu2_J]`, feature by feature.
    pub fn products(&self, directions: &Directions, out: &mut [f64]) {
        let (features, count) = (self.moment.len(), directions.count());
        let block = directions.block();
        if (TALL..SMALL).contains(&features) && count >= LANES {
            return vectorized(
                #[inline(always)]
                || small_product(&self.gram, block, out, (features, count)),
            );
        }
        // nu2 is the right half of the block.
        let block = MatRef::from_row_major_slice(block, features, 2 * count);
        matmul(
            MatMut::from_row_major_slice_mut(out, features, count),
            Accum::Replace,
            MatRef::from_row_major_slice(&self.gram, features, features),
            block.subcols(count, count),
            1.0,
            Par::Seq,
        );
    }
}

/// The same for few columns: a tile of four features and eight directions stays in registers. The last tiles overlap
/// those before, so that all have one size.
#[inline(always)]
fn small_product(
    gram: &[f64],
    block: &[f64],
    products: &mut [f64],
    (features, count): (usize, usize),
) {
    for p in tiles(features, TALL) {
        for j in tiles(count, LANES) {
            let mut sums = [[0.0f64; LANES]; TALL];
            for (q, directions) in block.chunks_exact(2 * count).enumerate() {
                let nu = eight(directions, count + j);
                for (row, sums) in sums.iter_mut().enumerate() {
                    let g = gram[(p + row) * features + q];
                    for lane in 0..LANES {
                        sums[lane] = g.mul_add(nu[lane], sums[lane]);
                    }
                }
            }
            for (row, sums) in sums.iter().enumerate() {
                products[(p + row) * count + j..][..LANES].copy_from_slice(sums);
            }
        }
    }
}

/// Where tiles of this size start so that they cover `length`, the last one moved back to fit.
#[inline(always)]
fn tiles(length: usize, size: usize) -> impl Iterator<Item = usize> {
    (0..length).step_by(size).map(move |start| start.min(length - size))
}

impl Objective for LeastSquares {
    fn dim(&self) -> usize {
        self.moment.len()
    }

    fn value(&self, b: &[f64]) -> f64 {
        self.risk.value(b)
    }

    fn shortest_step(&self, _b: &[f64]) -> f64 {
        0.0
    }

    fn quotients(&self, probe: &Probe<'_>, scratch: &mut Scratch, out: &mut [f64]) {
        let Probe { point, u1, u2, directions } = *probe;
        scratch.products.resize(point.len() * directions.count(), 0.0);
        self.products(directions, &mut scratch.products);
        out.fill(0.0);
        let (features, count) = (point.len(), directions.count());
        let Scratch { fitted: slopes, products, .. } = scratch;
        slopes.resize(features, 0.0);
        vectorized(
            #[inline(always)]
            || {
                let lines = self.gram.chunks_exact(features).zip(&self.moment);
                for (slope, (line, moment)) in slopes.iter_mut().zip(lines) {
                    *slope = 2.0 * (dot(line, point) - moment);
                }
                for_each_eight(
                    out,
                    #[inline(always)]
                    |j, sums| {
                        for p in 0..features {
                            let (nu1, nu2) = directions.feature(p);
                            let (nu1, nu2) = (eight(nu1, j), eight(nu2, j));
                            let (product, slope) = (eight(products, p * count + j), slopes[p]);
                            for l in 0..LANES {
                                sums[l] +=
                                    slope * nu2[l] + product[l] * (2.0 * u1 * nu1[l] + u2 * nu2[l]);
                            }
                        }
                    },
                    #[inline(always)]
                    |j| {
                        let term = |p: usize| {
                            let (nu1, nu2) = directions.feature(p);
                            slopes[p] * nu2[j]
                                + products[p * count + j] * (2.0 * u1 * nu1[j] + u2 * nu2[j])
                        };
                        (0..features).map(term).sum()
                    },
                );
            },
        );
    }
}
