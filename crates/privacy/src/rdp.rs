//! Renyi differential privacy: the accountant that knows about drawing a batch of the rows.
//!
//! A mechanism has RDP `r(a)` when the Renyi divergence of order `a` between its outputs on any two
//! neighbours is at most `r(a)` (Mironov 2017). Adaptive composition adds the `r(a)`, order by
//! order. With noise `sigma`, sensitivity `Delta` and `mu = Delta/sigma`:
//!
//! ```text
//! Gaussian, discrete Gaussian   r(a) = a mu^2 / 2        (latter: Canonne, Kamath, Steinke 2020)
//! pure epsilon                  r(a) <= randomised response at epsilon <= a epsilon^2 / 2
//! ```
//!
//! A batch of a share `g` of the rows, drawn without replacement, with replace-one neighbours
//! (Wang, Balle, Kasiviswanathan 2019, "Subsampled Renyi differential privacy and analytical
//! moments accountant", Theorem 9; for Gaussian noise its `epsilon(infinity)` is infinite), for
//! integer `a`:
//!
//! ```text
//! (a-1) r'(a) <= ln( 1 + g^2 C(a,2) min{4 (e^r(2) - 1), 2 e^r(2)}
//!                      + sum_{j=3}^a g^j C(a,j) 2 e^((j-1) r(j)) )
//! ```
//!
//! The reason, in short. Let `s` be the output without the replaced row, `q` and `q'` with its two
//! versions, `p = (1-g) s + g q` and `p' = (1-g) s + g q'`. All three are neighbours in pairs. Then
//! `E_p'[(p/p')^a] = sum_j C(a,j) g^j E_p'[((q-q')/p')^j]`, whose term `j = 1` is zero.
//! `|x|^j/y^(j-1)` is convex, so `p'` in the denominator may be replaced by the worse of `s` and
//! `q'`; and `|q-q'|^j <= q^j + q'^j` gives `2 e^((j-1) r(j))`, `(q-q')^2 <= 2 (q-s)^2 + 2
//! (q'-s)^2` the first term. Drawing never hurts, because the divergence is quasi-convex: `r'(a) <=
//! r(a)` as well.
//!
//! The total becomes `(epsilon, delta)` at the best order (Canonne, Kamath, Steinke 2020,
//! Proposition 12; Balle et al. 2020): `epsilon = r(a) + ln((a-1)/a) - (ln delta + ln a)/(a-1)`.

use crate::accountant::{mu_squared, repeated};
use crate::{Accountant, Event, Unsupported, round_up};
use std::f64::consts::LN_2;
use std::sync::LazyLock;

/// `ln n!` up to the highest order. Sums of logarithms would lose digits that `lgamma` keeps.
static LN_FACTORIAL: LazyLock<Vec<f64>> =
    LazyLock::new(|| (0..=4096).map(|n| libm::lgamma(f64::from(n) + 1.0)).collect());

/// 2 to 64, then eight orders to each doubling up to 4096: a higher one pays only below epsilon
/// 0.01.
fn orders() -> impl Iterator<Item = u32> {
    (2..=64).chain((0..6).flat_map(|octave| (9..=16).map(move |eighth| (8 * eighth) << octave)))
}

/// Renyi DP at a fixed list of integer orders: the only accountant for a drawn batch.
///
/// ```
/// use dzoa_privacy::{Accountant, Event, Renyi};
/// let mut total = Renyi::default();
/// for _ in 0..100 {
///     let (sensitivity, sigma) = (1.0, 2.0);
///     let batch =
///         Event::SubsampledGaussian { sensitivity, sigma, batch: 10, samples: 1000 };
///     total.compose(&batch)?;
/// }
/// assert!(total.epsilon(1e-5) < 0.5); // 33.1 without drawing
/// # Ok::<(), dzoa_privacy::Unsupported>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Renyi {
    /// The sum so far at each of [`orders`]; empty before the first event.
    total: Vec<f64>,
    /// The last event and its cost: rounds repeat, and a drawn batch is slow to work out.
    last: Option<(Event, Vec<f64>)>,
}

impl Accountant for Renyi {
    fn compose(&mut self, event: &Event) -> Result<(), Unsupported> {
        let known = self.last.take_if(|(seen, _)| seen == event);
        let cost = match known {
            Some((_, cost)) => cost,
            None => match orders().map(|order| rdp(event, order)).collect() {
                Some(cost) => cost,
                None => return Err(Unsupported { accountant: "Renyi", event: *event }),
            },
        };
        self.total.resize(cost.len(), 0.0);
        for (sum, spent) in self.total.iter_mut().zip(&cost) {
            *sum = round_up(*sum + spent);
        }
        self.last = Some((*event, cost));
        Ok(())
    }

    fn epsilon(&self, delta: f64) -> f64 {
        // A divergence of zero at any order means equal outputs: no delta is needed.
        if delta >= 1.0 || self.total.iter().all(|spent| *spent == 0.0) {
            return 0.0;
        }
        let at = |(order, spent): (u32, &f64)| {
            let order = f64::from(order);
            let (gain, price) = ((-1.0 / order).ln_1p(), (delta.ln() + order.ln()) / (order - 1.0));
            // The terms may cancel: their rounding errors do not.
            spent + gain - price + 8.0 * f64::EPSILON * (spent - gain + price.abs())
        };
        round_up(orders().zip(&self.total).map(at).fold(f64::INFINITY, f64::min).max(0.0))
    }
}

/// RDP of one event, rounded up; nothing for an event without a theory.
fn rdp(event: &Event, order: u32) -> Option<f64> {
    let half = 0.5 * f64::from(order);
    let bound = match *event {
        event if !event.is_sound() => f64::INFINITY,
        event @ Event::JointSum { .. } => return rdp(&event.as_seen(), order),
        Event::Gaussian { sensitivity, sigma } => half * mu_squared(sensitivity, sigma),
        Event::DiscreteGaussian { sensitivity, sigma, count, .. } => {
            repeated(count, half * mu_squared(sensitivity, sigma))
        }
        Event::SubsampledGaussian { sensitivity, sigma, batch, samples } => {
            let mu_squared = mu_squared(sensitivity, sigma);
            if batch == 0 {
                0.0
            } else if batch >= samples || mu_squared == 0.0 || mu_squared.is_infinite() {
                half * mu_squared
            } else {
                let share = batch as f64 / samples as f64;
                (half * mu_squared).min(subsampled(mu_squared, share, order))
            }
        }
        Event::Unprotected => f64::INFINITY,
        Event::Nominal { .. } => return None,
        event => pure(event.pure_epsilon()?, f64::from(order)),
    };
    Some(round_up(bound))
}

/// Randomised response, the worst of all pure mechanisms, has
/// `(a-1) r(a) = ln((e^(a epsilon) + e^((1-a) epsilon))/(1 + e^epsilon))`.
fn pure(epsilon: f64, order: f64) -> f64 {
    let falls = ((1.0 - 2.0 * order) * epsilon).exp().ln_1p() - (-epsilon).exp().ln_1p();
    let response = epsilon + falls / (order - 1.0) + 4.0 * f64::EPSILON * (1.0 + epsilon);
    // The formula above cancels where epsilon is small; there the second one is as good.
    response.min(0.5 * order * epsilon * epsilon)
}

/// Theorem 9 of Wang, Balle and Kasiviswanathan for Gaussian noise.
fn subsampled(mu_squared: f64, share: f64, order: u32) -> f64 {
    let factorial = |n: u32| LN_FACTORIAL[n as usize];
    let term = |j: u32| {
        let n = f64::from(j);
        let chosen = factorial(order) - factorial(j) - factorial(order - j) + n * share.ln();
        let moment = LN_2 + 0.5 * n * (n - 1.0) * mu_squared;
        let second = 2.0 * LN_2 + mu_squared.exp_m1().ln();
        chosen + if j == 2 { moment.min(second) } else { moment }
    };
    // ln(1 + sum of e^term), the largest term taken out where it exceeds the one.
    let top = (2..=order).map(term).fold(0.0, f64::max);
    let sum: f64 = (2..=order).map(|j| (term(j) - top).exp()).sum();
    let ln = top + (sum + (-top).exp_m1()).ln_1p();
    // Parts of a term that cancel are below 3e5, so a term is good to 1e-9; and a relative error of
    // the sum is at most the same relative error of the logarithm.
    ln / f64::from(order - 1) * (1.0 + 1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn theorem_9_agrees_with_dp_accounting() {
        // dp-accounting 0.6.0, and mpmath: (sigma, share, order, RDP).
        for (sigma, share, order, expected) in [
            (2.0, 0.01, 2, 1.136_037_135_287_648e-4),
            (1.0, 0.1, 5, 0.256_449_926_909_008_8),
            (5.0, 0.05, 300, 2.996_695_192_028_234),
            (20.0, 0.001, 4096, 1.116_126_783_860_545_5e-3),
        ] {
            let bound = subsampled(mu_squared(1.0, sigma), share, order);
            assert!((bound / expected - 1.0 - 1e-9).abs() < 1e-10, "{sigma} {order}: {bound}");
        }
    }

    /// Renyi divergence of `(1-g) N(s) + g N(p)` from `(1-g) N(s) + g N(q)`, by quadrature.
    fn divergence([s, p, q]: [f64; 3], sigma: f64, share: f64, order: u32) -> f64 {
        let (density, step) = (|x: f64| (-0.5 * (x / sigma).powi(2)).exp(), 0.01 * sigma);
        let mixture = |x: f64, at: f64| (1.0 - share) * density(x - s) + share * density(x - at);
        // Thirty sigma each way: nothing is lost and nothing underflows.
        let points = (-3000..=3000).map(|k| f64::from(k) * step);
        let powers =
            points.map(|x| mixture(x, q) * (mixture(x, p) / mixture(x, q)).powi(order as i32));
        let integral = powers.sum::<f64>() * step / (sigma * std::f64::consts::TAU.sqrt());
        integral.ln() / f64::from(order - 1)
    }

    #[test]
    fn the_bound_lies_above_the_truth_and_below_no_drawing() {
        for (means, sensitivity) in
            [([0.0, 1.0, -1.0], 2.0), ([0.0, 1.0, 0.0], 1.0), ([0.0, 0.0, 1.0], 1.0)]
        {
            for (batch, sigma) in (1..=8).flat_map(|batch| [(batch, 1.0), (batch, 3.0)]) {
                for order in [2, 3, 5, 8] {
                    let truth = divergence(means, sigma, batch as f64 / 8.0, order);
                    let event = Event::SubsampledGaussian { sensitivity, sigma, batch, samples: 8 };
                    let bound = rdp(&event, order).unwrap();
                    assert!(bound >= truth * (1.0 - 1e-9), "{bound} {truth} {batch} {order}");
                    assert!(bound <= rdp(&Event::Gaussian { sensitivity, sigma }, order).unwrap());
                }
            }
        }
    }
}
