//! The squared loss of one agent as a quadratic form: its cost does not grow with the samples.

use super::{EmpiricalRisk, Objective, Probe, Scratch};
use crate::kernels::{dot, vectorized};
use faer::{Accum, MatMut, MatRef, Par, linalg::matmul::matmul};

/// More columns than this make the matrix larger than what it saves.
const MOST_COLUMNS: usize = 4096;
/// Below this many columns a plain loop beats the library's product.
const SMALL: usize = 24;

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

    /// `products = G [nu2_1 ... nu2_J]`, feature by feature.
    fn product(&self, probe: &Probe<'_>, products: &mut [f64]) {
        let (features, count) = (self.moment.len(), probe.directions.count());
        let block = probe.directions.block();
        if features < SMALL {
            return vectorized(
                #[inline(always)]
                || small_product(&self.gram, block, products, (features, count)),
            );
        }
        // nu2 is the right half of the block.
        let block = MatRef::from_row_major_slice(block, features, 2 * count);
        matmul(
            MatMut::from_row_major_slice_mut(products, features, count),
            Accum::Replace,
            MatRef::from_row_major_slice(&self.gram, features, features),
            block.subcols(count, count),
            1.0,
            Par::Seq,
        );
    }
}

/// The same for few columns: eight directions at a time stay in registers.
#[inline(always)]
fn small_product(
    gram: &[f64],
    block: &[f64],
    products: &mut [f64],
    (features, count): (usize, usize),
) {
    const WIDTH: usize = 8;
    for (line, out) in gram.chunks_exact(features).zip(products.chunks_exact_mut(count)) {
        let mut from = 0;
        while from < count {
            // The last eight may overlap those before.
            let start = if from + WIDTH <= count { from } else { count.saturating_sub(WIDTH) };
            let width = WIDTH.min(count);
            let mut sums = [0.0f64; WIDTH];
            for (&g, nu) in line.iter().zip(block.chunks_exact(2 * count)) {
                let nu = &nu[count + start..][..width];
                for (sum, nu) in sums.iter_mut().zip(nu) {
                    *sum = g.mul_add(*nu, *sum);
                }
            }
            out[start..start + width].copy_from_slice(&sums[..width]);
            from += WIDTH;
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
        let Probe { point, u1, u2, directions } = *probe;
        scratch.products.resize(point.len() * directions.count(), 0.0);
        self.product(probe, &mut scratch.products);
        out.fill(0.0);
        let lines = self.gram.chunks_exact(point.len()).zip(&self.moment);
        let products = scratch.products.chunks_exact(directions.count());
        vectorized(
            #[inline(always)]
            || {
                for (p, ((line, moment), product)) in lines.zip(products).enumerate() {
                    let (nu1, nu2) = directions.feature(p);
                    let slope = 2.0 * (dot(line, point) - moment);
                    let columns = out.iter_mut().zip(product).zip(nu1.iter().zip(nu2));
                    for ((out, product), (nu1, nu2)) in columns {
                        *out += slope * nu2 + product * (2.0 * u1 * nu1 + u2 * nu2);
                    }
                }
            },
        );
    }
}
