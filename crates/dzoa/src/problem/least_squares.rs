//! The squared loss of one agent as a quadratic form: its cost does not grow with the samples.

use super::closed::{Closed, Form};
use super::regularizer::{Penalty, Regularizer};
use super::{Directions, EmpiricalRisk, Objective, Probe, Scratch};
use crate::kernels::{LANES, Terms, add_terms, dot, lanes, vectorized};
use faer::{Accum, MatMut, MatRef, Par, linalg::matmul::matmul};

/// More columns than this make the matrix larger than what it saves.
const MOST_COLUMNS: usize = 4096;
/// Below this many columns a plain loop beats the library's product.
const SMALL: usize = 24;
/// Features that it treats together, with eight directions.
const TALL: usize = 5;

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

    /// Whether a plain loop makes the products.
    fn is_small(&self, count: usize) -> bool {
        (TALL..SMALL).contains(&self.moment.len()) && count >= LANES
    }

    /// `out = G [nu2_1 ... nu2_J]`, feature by feature.
    pub fn products(&self, directions: &Directions, out: &mut [f64]) {
        let (features, count) = (self.moment.len(), directions.count());
        if self.is_small(count) {
            return vectorized(
                #[inline(always)]
                || self.small_products(directions, out),
            );
        }
        // nu2 is the right half of the block.
        let block = MatRef::from_row_major_slice(directions.block(), features, 2 * count);
        matmul(
            MatMut::from_row_major_slice_mut(out, features, count),
            Accum::Replace,
            MatRef::from_row_major_slice(&self.gram, features, features),
            block.subcols(count, count),
            1.0,
            Par::Seq,
        );
    }

    /// The same by a plain loop.
    #[inline(always)]
    fn small_products(&self, directions: &Directions, out: &mut [f64]) {
        let (features, count) = (self.moment.len(), directions.count());
        for tile in 0..features.div_ceil(TALL) {
            for j in (0..count).step_by(LANES).map(|j| j.min(count - LANES)) {
                let (p, products) = self.tile(tile, j, directions);
                for (row, products) in products.iter().enumerate() {
                    out[(p + row) * count + j..][..LANES].copy_from_slice(products);
                }
            }
        }
    }

    /// A few features of the products with the eight directions from j on, which stay in registers: the first of them,
    /// and the products. The last tile is moved back so that it fits.
    #[inline(always)]
    fn tile(
        &self,
        tile: usize,
        j: usize,
        directions: &Directions,
    ) -> (usize, [[f64; LANES]; TALL]) {
        let (features, count) = (self.moment.len(), directions.count());
        let p = (tile * TALL).min(features - TALL);
        let mut sums = [[0.0f64; LANES]; TALL];
        // G is symmetric: its columns p and on are these places of every line.
        let lines = directions.block().chunks_exact(2 * count);
        for (gram, line) in self.gram.chunks_exact(features).zip(lines) {
            let nu: [f64; LANES] = lanes(line, count + j);
            for (g, sums) in gram[p..p + TALL].iter().zip(&mut sums) {
                for lane in 0..LANES {
                    sums[lane] = g.mul_add(nu[lane], sums[lane]);
                }
            }
        }
        (p, sums)
    }

    /// `out = 2 (G b - c)`.
    #[inline(always)]
    fn slopes(&self, b: &[f64], out: &mut [f64]) {
        let features = out.len();
        if features < SMALL {
            // Column by column, as G is symmetric: lines this short are not worth a sum of their own.
            out.iter_mut().zip(&self.moment).for_each(|(out, moment)| *out = -moment);
            add_terms::<LANES>(out, 0..features, &Lines { matrix: &self.gram, factors: b });
            out.iter_mut().for_each(|out| *out *= 2.0);
        } else {
            let lines = self.gram.chunks_exact(features).zip(&self.moment);
            for (out, (line, moment)) in out.iter_mut().zip(lines) {
                *out = 2.0 * (dot(line, b) - moment);
            }
        }
    }
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
        let nothing = Penalty { regularizer: Regularizer::None, weight: 0.0, penalized: 0 };
        let linear = vec![0.0; self.moment.len()];
        let closed = Closed { penalty: &nothing, linear: &linear, quadratic: 0.0 };
        self.quotients_with(&closed, probe, scratch, out);
    }

    fn quotients_with(
        &self,
        closed: &Closed<'_>,
        probe: &Probe<'_>,
        scratch: &mut Scratch,
        out: &mut [f64],
    ) {
        let (features, count) = (self.moment.len(), out.len());
        let Scratch { fitted: slopes, products, .. } = scratch;
        slopes.resize(features, 0.0);
        products.resize(features * count, 0.0);
        out.fill(0.0);
        let small = self.is_small(count);
        if !small {
            self.products(probe.directions, products);
        }
        vectorized(
            #[inline(always)]
            || {
                self.slopes(probe.point, slopes);
                if small {
                    self.small_products(probe.directions, products);
                }
                closed.add_quotients_with(&Products { slopes, products, count }, probe, out);
            },
        );
        closed.penalty.add_group_quotients(probe, out);
    }
}

/// Lines of a matrix, each with its factor.
struct Lines<'a> {
    matrix: &'a [f64],
    factors: &'a [f64],
}

impl Terms for Lines<'_> {
    #[inline(always)]
    fn add<const W: usize>(&self, q: usize, p: usize, sums: &mut [f64; W]) {
        let (factor, features) = (self.factors[q], self.factors.len());
        let line: [f64; W] = lanes(&self.matrix[q * features..][..features], p);
        for lane in 0..W {
            sums[lane] = factor.mul_add(line[lane], sums[lane]);
        }
    }
}

/// The form's part of the pass.
struct Products<'a> {
    slopes: &'a [f64],
    products: &'a [f64],
    count: usize,
}

impl Form for Products<'_> {
    #[inline(always)]
    fn slope(&self, p: usize) -> f64 {
        self.slopes[p]
    }

    #[inline(always)]
    fn lanes<const W: usize>(&self, p: usize, j: usize) -> [f64; W] {
        lanes(&self.products[p * self.count..][..self.count], j)
    }
}
