use super::{Batch, Epigraph, Likelihood, Line, Loss, LossEntry, Sample, Targets};
use crate::kernels::{LANES, Summands, add_terms, elementary, lanes, vectorized};
use dzoa_privacy::joint::{Enclosing, enclosing};
use std::sync::{Arc, LazyLock};

/// In the registry.
pub(super) const ENTRY: LossEntry = LossEntry {
    name: "logistic",
    about: "log(1 + exp(-y z))",
    parameters: &[],
    build: |_| Arc::new(Logistic),
};

/// `log(1 + exp(-y z))` with targets -1 and +1: logistic regression. c1 = 1.
#[derive(Clone, Copy, Debug, Default)]
pub struct Logistic;

/// `1/(1 + exp(-v))`, accurate in both tails.
fn sigmoid(v: f64) -> f64 {
    1.0 / (1.0 + (-v).exp())
}

/// `log(1 + exp(v))`.
fn softplus(v: f64) -> f64 {
    v.max(0.0) + (-v.abs()).exp().ln_1p()
}

/// [`softplus`] without branches, to a few units in the last place.
#[inline(always)]
fn fast_softplus(v: f64) -> f64 {
    larger(v, 0.0) + elementary::ln_1p(elementary::exp(-v.abs()))
}

#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// As [`Loss::difference`], without branches; infinite or not a number for steps above 700.
#[inline(always)]
fn fast_difference(z: f64, step: f64, y: f64) -> f64 {
    let change = y * step;
    let growth = elementary::exp_m1(change.abs());
    let rise = elementary::ln_1p(growth / (1.0 + elementary::exp(larger(y * z, y * z + change))));
    if change > 0.0 { -rise } else { rise }
}

/// Steps for which [`Midpoints`] are exact to the last digits.
const SHORT_STEP: f64 = 1.0 / 64.0;
/// Shifts that leave exponentials within the range of numbers.
const LONGEST_SHIFT: f64 = 100.0;

/// The differences for short steps, from the derivatives at the middle of each. With `h = -y step`
/// and `q = 1/(1 + exp(y z))` there,
///
/// ```text
/// loss(z + step/2) - loss(z - step/2)
///     = h q [1 + (1 - q)(1 - 2 q) h^2 (1/24 + (1 - 12 q (1 - q)) h^2/1920 + ...)]
/// ```
///
/// and what follows is below 5e-17 of it.
struct Midpoints<'a> {
    batch: &'a Batch<'a>,
    count: usize,
}

impl Summands for Midpoints<'_> {
    // In three stages: in one, each number would wait for the whole chain of those before it.
    #[inline(always)]
    fn add<const W: usize>(&self, i: usize, j: usize, sums: &mut [f64; W]) {
        let Sample { fitted, target: y, first, second } = self.batch.sample(i, self.count);
        let (first, second): ([f64; W], [f64; W]) = (lanes(first, j), lanes(second, j));
        let (u1, u2) = (y * self.batch.u1, y * self.batch.u2);
        // So far out the loss has vanished, or is a line.
        let margin = (y * fitted).clamp(-600.0, 600.0);
        let mut slopes = [0.0; W];
        for lane in 0..W {
            let shift = (0.5 * u2).mul_add(second[lane], u1 * first[lane]);
            slopes[lane] = elementary::exp_rounded(margin + shift);
        }
        for slope in &mut slopes {
            *slope = 1.0 / (1.0 + *slope);
        }
        for lane in 0..W {
            let (q, h) = (slopes[lane], -u2 * second[lane]);
            let (rest, square) = (1.0 - q, h * h);
            let fifth = (q * rest).mul_add(-12.0 / 1920.0, 1.0 / 1920.0);
            let bend = rest * (rest - q) * square * square.mul_add(fifth, 1.0 / 24.0);
            sums[lane] += (h * q).mul_add(bend, h * q);
        }
    }
}

/// The differences for short steps where shifts are short, too, and predictions not far out. All
/// directions share the prediction of a row, so that `-y q` along them is one polynomial for each
/// row, from a table: nothing but products and sums is left to do.
struct Series<'a, const N: usize, const BEND: bool> {
    batch: &'a Batch<'a>,
    count: usize,
    slopes: &'a Slopes<N>,
}

/// Polynomials with N coefficients for the slope `-y q(z)`, around the middles of cells: of each
/// for y = -1, then for y = 1.
struct Slopes<const N: usize>(Vec<[f64; N]>);

/// Cells from one whole number to the next.
const CELLS: f64 = 32.0;
/// Predictions up to here have cells.
const EDGE: f64 = 16.0;
/// Steps of which only the first bend counts: the next would be 5e-17 of the slope.
const BENT_STEP: f64 = 5e-4;
/// Steps without one.
const STRAIGHT_STEP: f64 = 7e-8;
/// How far from the middle of a cell the polynomials go that are within 6e-17 of the slope, with 10
/// and with 14 coefficients.
const NEAR: f64 = 0.15;
const FAR: f64 = 0.40;

static NEAR_SLOPES: LazyLock<Slopes<10>> = LazyLock::new(|| Slopes::new(NEAR));
static FAR_SLOPES: LazyLock<Slopes<14>> = LazyLock::new(|| Slopes::new(FAR));

impl<const N: usize> Slopes<N> {
    fn new(reach: f64) -> Self {
        let last = (2.0 * EDGE * CELLS) as usize;
        let falling: Vec<[f64; N]> =
            (0..=last).map(|cell| Self::around(middle(cell), reach)).collect();
        // With the other target everything is mirrored.
        let rising = |cell: usize| {
            let mirrored = falling[last - cell];
            std::array::from_fn(|k| if k % 2 == 0 { mirrored[k] } else { -mirrored[k] })
        };
        let pair = |cell: usize| [rising(cell), falling[cell].map(|coefficient| -coefficient)];
        Self((0..=last).flat_map(pair).collect())
    }

    /// `q(z + shift)` as Taylor's series up to a power beyond which nothing counts, whose last
    /// terms are then spread over the others by Chebyshev's polynomials: of all with the same first
    /// coefficient, T_n stays nearest to zero within the reach.
    fn around(z: f64, reach: f64) -> [f64; N] {
        // With room for all of it: for a thousand cells, growing takes longer than adding.
        let mut taylor = Vec::with_capacity(1 + N + N / 3);
        taylor.push(1.0 / (1.0 + elementary::exp(z)));
        for k in 0..N + N / 3 {
            // q' = q^2 - q, term by term: the product of the series with itself has the coefficient
            // sum_i t_i t_(k-i), and (k + 1) t_(k+1) is that of the derivative.
            let square: f64 = taylor.iter().zip(taylor.iter().rev()).map(|(a, b)| a * b).sum();
            taylor.push((square - taylor[k]) / (k + 1) as f64);
        }
        // From the highest power down: subtract t_n reach^n/2^(n-1) T_n(shift/reach). Its first
        // term is t_n shift^n, so that this power vanishes, and the polynomial moves by no more
        // than the size of what is subtracted.
        for n in (N..taylor.len()).rev() {
            let mut factor = taylor[n];
            for j in 0..n / 2 {
                // From one coefficient of T_n to the next, two powers below.
                let (falling, rising) = ((n - 2 * j) * (n - 2 * j - 1), 4 * (j + 1) * (n - j - 1));
                factor *= -(falling as f64) / rising as f64 * reach * reach;
                taylor[n - 2 * j - 2] -= factor;
            }
        }
        std::array::from_fn(|k| taylor[k])
    }

    /// The differences of a batch.
    #[inline(always)]
    fn sum<const BEND: bool>(&self, batch: &Batch<'_>, out: &mut [f64]) {
        let (samples, count) = (0..batch.fitted.len(), out.len());
        let series = Series::<N, BEND> { batch, count, slopes: self };
        add_terms::<{ 2 * LANES }>(out, samples, &series);
        out.iter_mut().for_each(|out| *out *= batch.u2);
    }
}

/// The middle of a cell.
#[inline(always)]
fn middle(cell: usize) -> f64 {
    cell as f64 / CELLS - EDGE
}

impl<const N: usize, const BEND: bool> Summands for Series<'_, N, BEND> {
    #[inline(always)]
    fn add<const W: usize>(&self, i: usize, j: usize, sums: &mut [f64; W]) {
        let Batch { u1, u2, .. } = *self.batch;
        let Sample { fitted, target: y, first, second } = self.batch.sample(i, self.count);
        let (first, second): ([f64; W], [f64; W]) = (lanes(first, j), lanes(second, j));
        // The nearest middle of a cell; the prediction's distance from it is part of every shift.
        let cell = (fitted + EDGE).mul_add(CELLS, 0.5) as usize;
        let offset = fitted - middle(cell);
        let coefficients = &self.slopes.0[2 * cell + usize::from(y > 0.0)];
        let cubic = u2 * u2 / 24.0;
        for lane in 0..W {
            let shift = (0.5 * u2).mul_add(second[lane], u1.mul_add(first[lane], offset));
            // Horner's rule at the middle of the step.
            let mut slope = coefficients[N - 1];
            for k in (0..N - 1).rev() {
                slope = slope.mul_add(shift, coefficients[k]);
            }
            if BEND {
                // The first bend of `Midpoints`, with q = -y slope.
                let (rest, twice) = (y.mul_add(slope, 1.0), (2.0 * y).mul_add(slope, 1.0));
                let bend = rest * twice * (second[lane] * second[lane]);
                slope *= bend.mul_add(cubic, 1.0);
            }
            sums[lane] = second[lane].mul_add(slope, sums[lane]);
        }
    }
}

/// `sigmoid(-v)` at the margin v of the prox, which solves `v - kappa sigmoid(-v) = target`.
/// Newton's method inside a bracket, with a bisection wherever it leaves that or does not halve the
/// residual (it can cycle).
fn prox_slope(target: f64, kappa: f64, start: f64) -> f64 {
    let (mut low, mut high) = (target, target + kappa);
    let mut v = start.max(low).min(high);
    let mut last = f64::INFINITY;
    for _ in 0..100 {
        let p = sigmoid(-v);
        let excess = v - kappa * p - target;
        if excess > 0.0 {
            high = v;
        } else {
            low = v;
        }
        let newton = v - excess / (1.0 + kappa * p * (1.0 - p));
        // The next step is at most half the square of this one long (the second derivative is at
        // most the first), and the sigmoid changes by less than that of itself.
        let step = newton - v;
        if step * step <= f64::EPSILON || step.abs() <= f64::EPSILON * v.abs() {
            v = newton.max(low).min(high);
            break;
        }
        let trusted = newton >= low && newton <= high && excess.abs() <= 0.5 * last;
        let next = if trusted { newton } else { 0.5 * (low + high) };
        (v, last) = (next, excess.abs());
    }
    sigmoid(-v)
}

impl Loss for Logistic {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn value(&self, z: f64, y: f64) -> f64 {
        softplus(-y * z)
    }

    /// On vectors: a trace asks for it for every agent's coefficients on everybody's rows.
    fn sum(&self, fitted: &[f64], targets: &[f64]) -> f64 {
        vectorized(
            #[inline(always)]
            || {
                let (fitted, rest) = fitted.as_chunks::<LANES>();
                let (targets, rest_targets) = targets.as_chunks::<LANES>();
                let mut sums = [0.0; LANES];
                for (fitted, targets) in fitted.iter().zip(targets) {
                    for lane in 0..LANES {
                        sums[lane] += fast_softplus(-targets[lane] * fitted[lane]);
                    }
                }
                let rest = rest.iter().zip(rest_targets);
                sums.into_iter().sum::<f64>()
                    + rest.map(|(z, y)| fast_softplus(-y * z)).sum::<f64>()
            },
        )
    }

    fn gradient_ball(&self, norm: f64) -> Option<Enclosing> {
        Some(enclosing(norm))
    }

    #[inline(always)]
    fn difference(&self, z: f64, step: f64, y: f64) -> f64 {
        let (margin, change) = (y * z, y * step);
        if change.abs() > 30.0 {
            // A step this long cancels nothing, and its exponential could overflow.
            return softplus(-margin - change) - softplus(-margin);
        }
        // From the end where the loss is smaller: seen from the other one, it would fall by a
        // factor near zero, whose digits are gone.
        let rise = (sigmoid(-larger(margin, margin + change)) * change.abs().exp_m1()).ln_1p();
        if change > 0.0 { -rise } else { rise }
    }

    fn differences(&self, batch: &Batch<'_>, out: &mut [f64]) {
        vectorized(
            #[inline(always)]
            || {
                let (shift, step) = batch.longest(out.len());
                // Asked so that zero times infinity is not short.
                let short = step <= SHORT_STEP && shift <= LONGEST_SHIFT;
                if !short {
                    return batch.sum(fast_difference, out);
                }
                out.fill(0.0);
                // The middle of a step lies half of it farther than the shift.
                let (reach, inside) = (shift + step + 0.5 / CELLS, batch.is_within(EDGE));
                if inside && reach <= NEAR && step <= STRAIGHT_STEP {
                    NEAR_SLOPES.sum::<false>(batch, out);
                } else if inside && reach <= NEAR && step <= BENT_STEP {
                    NEAR_SLOPES.sum::<true>(batch, out);
                } else if inside && reach <= FAR && step <= BENT_STEP {
                    FAR_SLOPES.sum::<true>(batch, out);
                } else {
                    let (samples, count) = (0..batch.fitted.len(), out.len());
                    add_terms::<{ 2 * LANES }>(out, samples, &Midpoints { batch, count });
                }
            },
        );
        // A step so long that its exponential is infinite: once more, with care.
        if !out.iter().all(|out| out.is_finite()) {
            batch.sum(|z, step, y| self.difference(z, step, y), out);
        }
    }

    fn slope(&self, z: f64, y: f64) -> f64 {
        -y * sigmoid(-y * z)
    }

    fn curvature(&self, z: f64, y: f64) -> Option<f64> {
        Some(sigmoid(y * z) * sigmoid(-y * z))
    }

    fn smoothness(&self) -> Option<f64> {
        Some(0.25)
    }

    fn lipschitz(&self) -> Option<f64> {
        Some(1.0)
    }

    fn targets(&self) -> Targets {
        Targets::Signs
    }

    fn likelihood(&self) -> Option<Likelihood> {
        Some(Likelihood::Whole)
    }

    fn probability(&self, score: f64) -> Option<f64> {
        Some(sigmoid(score))
    }

    fn dual_prox(&self, w: f64, kappa: f64, y: f64) -> f64 {
        -y * prox_slope(y * w, kappa, y * w + 0.5 * kappa)
    }

    fn next_dual(&self, z: f64, a: f64, kappa: f64, y: f64) -> f64 {
        -y * prox_slope(y * (z + kappa * a), kappa, y * z)
    }

    fn fenchel_gap(&self, z: f64, a: f64, y: f64) -> f64 {
        // The relative entropy of two coins: p ln(p/s) + (1-p) ln((1-p)/(1-s)). Near each other the
        // quotients go through ln_1p; far apart their logarithms are subtracted, which no underflow
        // spoils.
        let p = (-y * a).clamp(0.0, 1.0);
        let (s, not_s) = (sigmoid(-y * z), sigmoid(y * z));
        // From the end that is nearer: at the other one the digits of the difference are gone.
        let excess = if s > 0.5 { not_s - (1.0 - p) } else { p - s };
        // -softplus(margin) is the logarithm of s: costly, and rarely needed.
        let term = |p: f64, excess: f64, s: f64, margin: f64| {
            if p == 0.0 {
                0.0
            } else if excess.abs() < 0.5 * s {
                p * (excess / s).ln_1p()
            } else {
                p * (p.ln() + softplus(margin))
            }
        };
        let gap = term(p, excess, s, y * z) + term(1.0 - p, -excess, not_s, -y * z);
        // A certificate must never come from a number that is none.
        if gap.is_nan() { f64::INFINITY } else { gap.max(0.0) }
    }

    fn epigraph(&self, y: f64) -> Option<Epigraph> {
        Some(Epigraph::LogSumExp(vec![Line::new(0.0, 0.0), Line::new(-y, 0.0)]))
    }
}
