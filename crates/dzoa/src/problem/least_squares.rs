//! The squared loss of one agent as a quadratic form: its cost does not grow with the samples.

use super::closed::{Closed, Form};
use super::regularizer::{Penalty, Regularizer};
use super::{Directions, EmpiricalRisk, Objective, Probe, Scratch};
use crate::kernels::{LANES, Level, TALL, dot_lines, lanes, level, vectorized};
use faer::{Accum, MatMut, MatRef, Par, linalg::matmul::matmul};

/// More columns than this make the matrix larger than what it saves.
const MOST_COLUMNS: usize = 4096;
/// Below this many columns a plain loop beats the library's product.
const SMALL: usize = 24;

/// `weight sum_i (x_i'b - y_i)^2` by `G = weight X'X` and `c = weight X'y`.
///
/// `f(a + h v) - f(a) = h v'(2 (G a - c) + h G v)`: nothing cancels, and one product
/// `G [v_1 ... v_J]` serves all directions, instead of `X` times twice as many.
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

    /// The products by a plain loop, where a matrix product would cost more to begin than to do.
    #[inline(always)]
    fn small_products(&self, directions: &Directions, out: &mut [f64]) {
        let count = directions.count();
        // AVX-512 has registers for sums twice as wide.
        if count >= 2 * LANES && level() == Level::Avx512 {
            self.tiles::<{ 2 * LANES }>(directions, out);
        } else {
            self.tiles::<LANES>(directions, out);
        }
    }

    /// A few features of the products with W directions at a time, which stay in registers. The
    /// last tiles are moved back so that they fit.
    #[inline(always)]
    fn tiles<const W: usize>(&self, directions: &Directions, out: &mut [f64]) {
        let (features, count) = (self.moment.len(), directions.count());
        let block = directions.block();
        for p in (0..features).step_by(TALL).map(|p| p.min(features - TALL)) {
            for j in (0..count).step_by(W).map(|j| j.min(count - W)) {
                let mut sums = [[0.0f64; W]; TALL];
                for q in 0..features {
                    let nu: [f64; W] = lanes(block, (2 * q + 1) * count + j);
                    // G is symmetric: its columns p and on are these places of every line.
                    let gram: [f64; TALL] = lanes(&self.gram, q * features + p);
                    for row in 0..TALL {
                        for lane in 0..W {
                            sums[row][lane] = gram[row].mul_add(nu[lane], sums[row][lane]);
                        }
                    }
                }
                for (row, sums) in sums.iter().enumerate() {
                    out[(p + row) * count + j..][..W].copy_from_slice(sums);
                }
            }
        }
    }

    /// `out = 2 (G b - c)`.
    #[inline(always)]
    fn slopes(&self, b: &[f64], out: &mut [f64]) {
        match out.len() {
            // Column by column, as G is symmetric: lines this short are not worth a sum of their
            // own.
            LANES..SMALL => self.slopes_by::<LANES>(b, out),
            1..LANES => self.slopes_by::<1>(b, out),
            features => {
                dot_lines(b, &self.gram, features, 0, out);
                for (out, moment) in out.iter_mut().zip(&self.moment) {
                    *out = 2.0 * (*out - moment);
                }
            }
        }
    }

    /// So many at a time; the last ones are moved back so that they fit.
    #[inline(always)]
    fn slopes_by<const W: usize>(&self, b: &[f64], out: &mut [f64]) {
        let features = out.len();
        for p in (0..features).step_by(W).map(|p| p.min(features - W)) {
            let mut sums = lanes::<W>(&self.moment, p).map(|moment| -moment);
            for (q, b) in b.iter().enumerate() {
                let column: [f64; W] = lanes(&self.gram, q * features + p);
                for lane in 0..W {
                    sums[lane] = b.mul_add(column[lane], sums[lane]);
                }
            }
            out[p..p + W].copy_from_slice(&sums.map(|sum| 2.0 * sum));
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
