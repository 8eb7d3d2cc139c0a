use super::{Batch, Epigraph, Loss, Targets};
use crate::kernels::{elementary, vectorized};

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

/// Steps for which [`short_difference`] is exact to the last digits.
const SHORT_STEP: f64 = 1.0 / 64.0;
/// Shifts whose exponential needs no powers of two.
const SHORT_SHIFT: f64 = 0.3465;

/// The same for a short step, where two series replace an exponential, a logarithm and a division. `growth` is
/// `exp(y z)`.
#[inline(always)]
fn short_difference(growth: f64, step: f64, y: f64) -> f64 {
    let change = -y * step;
    // exp(change) - 1, to 6e-18 of itself.
    let change = change
        * elementary::polynomial(
            change,
            [1.0, 1.0 / 2.0, 1.0 / 6.0, 1.0 / 24.0, 1.0 / 120.0, 1.0 / 720.0, 1.0 / 5040.0],
        );
    let x = change / (1.0 + growth);
    // ln(1 + x), to 6e-18 of itself.
    x * elementary::polynomial(
        x,
        [
            1.0,
            -1.0 / 2.0,
            1.0 / 3.0,
            -1.0 / 4.0,
            1.0 / 5.0,
            -1.0 / 6.0,
            1.0 / 7.0,
            -1.0 / 8.0,
            1.0 / 9.0,
        ],
    )
}

impl Loss for Logistic {
    fn name(&self) -> &'static str {
        "logistic"
    }

    fn value(&self, z: f64, y: f64) -> f64 {
        softplus(-y * z)
    }

    #[inline(always)]
    fn difference(&self, z: f64, step: f64, y: f64) -> f64 {
        let (margin, change) = (y * z, y * step);
        if change.abs() > 30.0 {
            // A step this long cancels nothing, and its exponential could overflow.
            return softplus(-margin - change) - softplus(-margin);
        }
        // From the end where the loss is smaller: seen from the other one, it would fall by a factor near zero, whose
        // digits are gone.
        let rise = (sigmoid(-larger(margin, margin + change)) * change.abs().exp_m1()).ln_1p();
        if change > 0.0 { -rise } else { rise }
    }

    fn differences(&self, batch: &Batch<'_>, out: &mut [f64]) {
        vectorized(
            #[inline(always)]
            || {
                let (shift, step) = batch.longest(out.len());
                if step > SHORT_STEP {
                    batch.sum(
                        |z, _| z,
                        #[inline(always)]
                        |z, shift, step, y| fast_difference(z + shift, step, y),
                        out,
                    );
                } else if shift > SHORT_SHIFT {
                    batch.sum(
                        |z, _| z,
                        #[inline(always)]
                        |z, shift, step, y| {
                            short_difference(elementary::exp(y * (z + shift)), step, y)
                        },
                        out,
                    );
                } else {
                    // exp(y (z + shift)), of which the larger part is the sample's alone. It stays finite, so that no
                    // infinity meets its opposite; the loss has vanished long before.
                    batch.sum(
                        #[inline(always)]
                        |z, y| elementary::exp(if y * z > 700.0 { 700.0 } else { y * z }),
                        #[inline(always)]
                        |at, shift, step, y| {
                            let growth = at.mul_add(elementary::short_exp_m1(y * shift), at);
                            short_difference(growth, step, y)
                        },
                        out,
                    );
                }
            },
        );
        // A step so long that its exponential is infinite: once more, with care.
        if !out.iter().all(|out| out.is_finite()) {
            batch.sum(|z, _| z, |z, shift, step, y| self.difference(z + shift, step, y), out);
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

    fn dual_prox(&self, w: f64, kappa: f64, y: f64) -> f64 {
        // The margin v of the prox solves v - kappa sigmoid(-v) = y w. Newton inside a bracket, with a
        // bisection wherever Newton leaves it or does not halve the residual (it can cycle).
        let target = y * w;
        let (mut low, mut high) = (target, target + kappa);
        let mut v = target + 0.5 * kappa;
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
            if (newton - v).abs() <= f64::EPSILON * v.abs().max(f64::EPSILON) {
                break;
            }
            let trusted = newton >= low && newton <= high && excess.abs() <= 0.5 * last;
            let next = if trusted { newton } else { 0.5 * (low + high) };
            (v, last) = (next, excess.abs());
        }
        -y * sigmoid(-v)
    }

    fn fenchel_gap(&self, z: f64, a: f64, y: f64) -> f64 {
        // The relative entropy of two coins: p ln(p/s) + (1-p) ln((1-p)/(1-s)). Near each other the
        // quotients go through ln_1p; far apart their logarithms are subtracted, which no underflow spoils.
        let p = (-y * a).clamp(0.0, 1.0);
        let (s, not_s) = (sigmoid(-y * z), sigmoid(y * z));
        let excess = p - s;
        let term = |p: f64, excess: f64, s: f64, ln_s: f64| {
            if p == 0.0 {
                0.0
            } else if excess.abs() < 0.5 * s {
                p * (excess / s).ln_1p()
            } else {
                p * (p.ln() - ln_s)
            }
        };
        let gap =
            term(p, excess, s, -softplus(y * z)) + term(1.0 - p, -excess, not_s, -softplus(-y * z));
        // A certificate must never come from a number that is none.
        if gap.is_nan() { f64::INFINITY } else { gap.max(0.0) }
    }

    fn epigraph(&self, _y: f64) -> Option<Epigraph> {
        Some(Epigraph::Logistic)
    }
}
