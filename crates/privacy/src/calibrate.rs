//! The paper's calculators: Lemma 3, Theorem 1, Corollary 1 and its inverse, Theorem 2; and the
//! noise level that an exact guarantee needs.
//!
//! **The paper's privacy is nominal.** Its Lemma 2 bounds the noise of the zeroth-order loop from
//! *above*, and Corollary 1 sets the noise that privacy needs equal to that bound. A guarantee
//! needs a bound from below, and there is none: the noise dies out as the inner loop converges.
//! What is computed here from Theorem 1 and Corollary 1 reproduces the paper; it does not protect
//! anybody. Lemma 3 is sound (by strong convexity), and so is everything in [`crate::gaussian`].

use crate::{Accountant, Budget, Event, ExactGaussian, gaussian, round_up};

/// Lemma 3: how far the exact primal update moves when one row is replaced, `c1/(rho |N_k| N_k)`.
///
/// Holds for a loss whose gradient has norm at most `c1` *everywhere*, under the mean scale, for
/// any convex regulariser: `F_k` is `2 rho |N_k|`-strongly convex. Under the sum scale the true
/// value is `samples` times as large. For the squared loss no `c1` exists.
#[doc(alias = "Lemma 3")]
#[doc(alias = "eqfirstlemmathree")]
#[doc(alias = "firsteqdeftwo")]
#[doc(alias = "Definition 2")]
pub fn lemma3_sensitivity(c1: f64, rho: f64, neighbourhood: usize, samples: usize) -> f64 {
    lemma3_of_weight(c1, rho, neighbourhood, samples as f64)
}

/// [Lemma 3](lemma3_sensitivity) for any weight of a row: the number of samples that would weigh 1
/// together stands for `N_k`. It is `N_k` under the mean scale, 1 under the sum scale, and the mean
/// of all `N_k` where every row of every agent weighs the same.
pub fn lemma3_of_weight(c1: f64, rho: f64, neighbourhood: usize, samples: f64) -> f64 {
    round_up(c1 / (rho * neighbourhood as f64 * samples))
}

/// Theorem 1: the noise level that one round at `(epsilon, delta)` asks for,
/// `sensitivity sqrt(2.1 ln(1.25/delta))/epsilon`.
#[doc(alias = "Theorem 1")]
#[doc(alias = "firsteqtheo")]
#[doc(alias = "secondeqtheo")]
pub fn theorem1_sigma(sensitivity: f64, epsilon: f64, delta: f64) -> f64 {
    round_up(sensitivity * theorem1_noise_multiplier(epsilon, delta))
}

/// `sigma/sensitivity` of Theorem 1.
pub fn theorem1_noise_multiplier(epsilon: f64, delta: f64) -> f64 {
    (2.1 * ln_ratio(1.25, delta)).sqrt() / epsilon
}

/// Theorem 2: the paper's total epsilon over `rounds` rounds,
/// `epsilon sqrt(rounds ln(1/delta)/(1.05 ln(1.25/delta)))`.
///
/// Nominal, and not an upper bound even with perfect noise: [`crate::ExactGaussian`] is.
#[doc(alias = "Theorem 2")]
#[doc(alias = "firsteqtheosecond")]
#[doc(alias = "secondeqtheosecond")]
pub fn theorem2_epsilon(epsilon: f64, delta: f64, rounds: u64) -> f64 {
    let ratio = ln_ratio(1.0, delta) / (1.05 * ln_ratio(1.25, delta));
    epsilon * (rounds as f64 * ratio).sqrt()
}

/// `ln(numerator/delta)` without forming the quotient, which overflows for tiny deltas.
fn ln_ratio(numerator: f64, delta: f64) -> f64 {
    numerator.ln() - delta.ln()
}

/// Corollary 1: the relation between the step size of the zeroth-order loop and the nominal epsilon
/// of a round.
///
/// ```
/// use dzoa_privacy::calibrate::Corollary1;
/// let paper = Corollary1 {
///     sensitivity: 1.0 / (4.0 * 3.0 * 20.0), delta: 1e-3, features: 10, directions: 30,
///     inner_steps: 100, c: 0.5, optimum_norm_squared: 0.0,
/// };
/// let step = paper.alpha0_times_r(0.15);
/// assert!((paper.epsilon(step).unwrap() - 0.15).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Corollary1 {
    /// Lemma 3's sensitivity.
    pub sensitivity: f64,
    /// delta of one round.
    pub delta: f64,
    /// P, the dimension.
    pub features: usize,
    /// J, the directions drawn in one inner step.
    pub directions: usize,
    /// T, the inner steps of one round.
    pub inner_steps: usize,
    /// The constant c of Lemma 2; the paper takes 0.5.
    pub c: f64,
    /// `||beta^c||^2`. The paper uses the unknown optimum; a real run has a public bound or 0.
    pub optimum_norm_squared: f64,
}

impl Corollary1 {
    /// Lemma 2's right side times `J P`: `c (alpha0 R)^2/log(2P) (s1 (1 + log P) + s2) - 4
    /// ||beta^c||^2/T`.
    ///
    /// It is an *upper* bound on a variance, and can be negative; see the module's warning.
    #[doc(alias = "Lemma 2")]
    #[doc(alias = "eqfirstlemmatwo")]
    pub fn lemma2_bound(&self, alpha0_times_r: f64) -> f64 {
        alpha0_times_r * alpha0_times_r * self.gain() - self.optimum_term()
    }

    /// The nominal epsilon of one round for a given `alpha0 R`; `None` where Lemma 2's bound is not
    /// positive, so that the corollary says nothing.
    #[doc(alias = "Corollary 1")]
    #[doc(alias = "eqfirstcor")]
    pub fn epsilon(&self, alpha0_times_r: f64) -> Option<f64> {
        let bound = self.lemma2_bound(alpha0_times_r);
        let needed = 2.1 * self.directions as f64 * self.features as f64;
        (bound > 0.0)
            .then(|| self.sensitivity * (needed * ln_ratio(1.25, self.delta) / bound).sqrt())
    }

    /// The inverse: the `alpha0 R` at which the corollary claims this epsilon for one round.
    #[doc(alias = "inverse of Corollary 1")]
    pub fn alpha0_times_r(&self, epsilon: f64) -> f64 {
        let sigma = self.sensitivity * theorem1_noise_multiplier(epsilon, self.delta);
        let variance = self.directions as f64 * self.features as f64 * sigma * sigma;
        ((variance + self.optimum_term()) / self.gain()).sqrt()
    }

    #[doc(alias = "s_1")]
    #[doc(alias = "s_2")]
    fn gain(&self) -> f64 {
        let p = self.features as f64;
        let (mut s1, mut s2) = (0.0, 0.0);
        // Smallest terms first, for the last digits.
        for t in (1..=self.inner_steps).rev() {
            let t = t as f64;
            s1 += 1.0 / t;
            s2 += 1.0 / (t * t.sqrt());
        }
        self.c * (s1 * (1.0 + p.ln()) + s2) / (2.0 * p).ln()
    }

    fn optimum_term(&self) -> f64 {
        4.0 * self.optimum_norm_squared / self.inner_steps as f64
    }
}

/// How a budget is spread over the rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Schedule {
    /// Equal noise in every round.
    Constant,
    /// Every round spends `growth` times the `mu^2` of the one before: with more than 1 the noise
    /// falls while the run converges (as P-ADMM does).
    Growth(f64),
}

impl Schedule {
    /// The share of `mu^2` of each round; the shares add up to one.
    fn shares(self, rounds: u64) -> Vec<f64> {
        let growth = match self {
            Schedule::Constant => 1.0,
            Schedule::Growth(growth) => growth,
        };
        // From the last round backwards, so that large powers do not overflow.
        let weights: Vec<f64> =
            (0..rounds).map(|m| growth.powf(m as f64 - (rounds - 1) as f64)).collect();
        let total: f64 = weights.iter().sum();
        weights.iter().map(|weight| weight / total).collect()
    }
}

/// What one round asks of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundQueries {
    /// Coordinates of the answer to one query.
    pub coordinates: usize,
    /// Queries in the round.
    pub count: usize,
}

/// The events of a whole run of vector releases with discrete Gaussian noise, such that all of
/// them together are `(epsilon, delta)`-DP: exact, never above the target, and less than 0.1 %
/// below. `None` for budgets so small that rounding to the grid alone would exceed them, and where
/// an argument is no number.
///
/// ```
/// use dzoa_privacy::calibrate::{RoundQueries, Schedule, discrete_gaussian_events};
/// use dzoa_privacy::{Accountant, Budget, ExactGaussian};
/// let budget = Budget { epsilon: 2.0, delta: 1e-6 };
/// let queries = RoundQueries { coordinates: 10, count: 1 };
/// let falling = Schedule::Growth(1.03);
/// let events = discrete_gaussian_events(0.01, budget, queries, 50, falling).unwrap();
/// let mut total = ExactGaussian::default();
/// events.iter().for_each(|event| total.compose(event).unwrap());
/// assert!(total.epsilon(1e-6) <= 2.0 && total.epsilon(1e-6) > 1.998);
/// ```
pub fn discrete_gaussian_events(
    sensitivity: f64,
    budget: Budget,
    queries: RoundQueries,
    rounds: u64,
    schedule: Schedule,
) -> Option<Vec<Event>> {
    if !(sensitivity.is_finite() && sensitivity >= 0.0) {
        return None;
    }
    let (Budget { epsilon, delta }, RoundQueries { coordinates, count }) = (budget, queries);
    let shares = schedule.shares(rounds);
    let within = |mu: f64| {
        let event = |share: &f64| {
            let per_query = mu * (share / count as f64).sqrt();
            let sigma = round_up(sensitivity / per_query);
            Event::discrete_gaussian(sensitivity, sigma, coordinates, count)
        };
        let events: Vec<Event> = shares.iter().map(event).collect();
        let mut total = ExactGaussian::default();
        let composed = events.iter().try_for_each(|event| total.compose(event));
        (composed.is_ok() && total.epsilon(delta) <= epsilon).then_some(events)
    };
    // The grid costs a little: aim just below, and check. Nearly always one of the first is within
    // the budget; else the first that is lies where a bisection ends, since less mu costs less.
    const FIRST: usize = 8;
    let most = gaussian::mu(epsilon, delta) * (1.0 - 1e-9);
    let aims = || {
        std::iter::successors(Some(most), |mu| Some(mu * (1.0 - 1e-5)))
            .take_while(|mu| *mu > 0.5 * most)
    };
    aims().take(FIRST).find_map(within).or_else(|| {
        let lower: Vec<f64> = aims().skip(FIRST).collect();
        let at = lower.partition_point(|mu| within(*mu).is_none());
        within(*lower.get(at)?)
    })
}

/// The noise of each of `releases` Gaussian releases of this sensitivity such that all of them
/// together are `(epsilon, delta)`-DP, exactly and rounded up.
pub fn gaussian_sigma(sensitivity: f64, epsilon: f64, delta: f64, releases: u64) -> f64 {
    round_up(sensitivity * (releases as f64).sqrt() / gaussian::mu(epsilon, delta))
}
