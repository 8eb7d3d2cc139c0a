//! The public rules of joint sums: what a user who gives only a budget gets.
//!
//! Everything follows from one number, `zeta = L W mu/(A D)`: how far what the sum says about a
//! coefficient of natural size W, by its curvature L, stands above the noise that one sum with the
//! whole budget would have, A D/mu. Tuned on draws 1000 to 1011, which no document reports.

/// What the rules go by: public numbers of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointSizes {
    /// P.
    pub columns: usize,
    /// L: a bound on the curvature of the whole data term.
    pub curvature: f64,
    /// A D/mu: the noise in a sum of gradients at zero, if it took the whole budget. Zero without
    /// protection.
    pub noise: f64,
    /// W: the natural size of a coefficient, one over the length of a row.
    pub size: f64,
}

impl JointSizes {
    /// zeta: infinite without protection.
    pub fn zeta(&self) -> f64 {
        self.curvature * self.size / self.noise
    }
}

/// What the rule for a descent chooses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DescentRule {
    /// Sums.
    pub rounds: u64,
    /// Of a step.
    pub step: f64,
    /// The largest momentum.
    pub momentum: f64,
    /// Each sum's share of the budget over that of the one before.
    pub growth: f64,
    /// The part of the rounds that is not averaged.
    pub burn_in: f64,
}

/// What the rule for Newton steps chooses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewtonRule {
    /// Steps before the second matrix.
    pub warm_up: u64,
    /// Steps after it.
    pub steps: u64,
    /// Of those, the first ones that are not averaged.
    pub skipped: u64,
    /// The share of the budget of each of the two matrices.
    pub hessian_share: f64,
    /// The share of all steps before the second matrix.
    pub warm_up_share: f64,
    /// Of shares from one step to the next, before and after the second matrix.
    pub growth: [f64; 2],
    /// Eigenvalues are raised to so many times what noise does to them.
    pub floor: f64,
}

/// Targets of a regression lie within this bound, as schemas make them.
pub const TARGETS: f64 = 1.0;

/// The share of the rows that a clip which follows them is to move: less bias where there is less
/// noise. Twice or half as many are better on one law and up to three times worse on another.
pub fn moved_share(sizes: &JointSizes) -> f64 {
    (40.0 / sizes.zeta()).clamp(0.005, 0.15)
}

/// By how much such a clip follows from one sum to the next, with many sums and with few.
pub const CLIP_GAINS: [f64; 2] = [0.1, 0.2];

/// Steps without protection, unless they stand still before.
const PLAIN_ROUNDS: u64 = 500;
/// The momentum without protection; it begins anew where it overshoots.
const PLAIN_MOMENTUM: f64 = 1.0;

/// The rule for `joint-gradient`, and for `joint-values` with as many directions as columns.
///
/// Steps of `1/L` bring along `tau` of them what the noise lets one tell; momentum brings the same
/// in the square root of that. Strong noise makes fewer and shorter steps, down to one.
pub fn descent_rule(sizes: &JointSizes) -> DescentRule {
    let JointSizes { columns, curvature, .. } = *sizes;
    if sizes.noise <= 0.0 {
        return DescentRule {
            rounds: PLAIN_ROUNDS,
            step: 1.0 / curvature,
            momentum: PLAIN_MOMENTUM,
            growth: 1.0,
            burn_in: 1.0,
        };
    }
    let (zeta, root) = (sizes.zeta(), (columns as f64).sqrt());
    // With many columns the noise adds up over them. Powers are those of the portable library:
    // every machine chooses the same bits.
    let top = libm::pow(10.0 / columns as f64, 1.0 / 6.0).min(1.0);
    let kappa = (zeta / (10.0 * root)).clamp((1.5 / root).min(top), top);
    // Longer paths only help columns of very different sizes.
    let tau = (kappa * zeta).min(200.0 * root * (zeta / 2000.0).max(1.0).sqrt());
    let step = tau.min(1.0) * tau.min(1.0) / curvature;
    let tau = tau.max(1.0);
    let rounds = (5.0 * tau.sqrt()).round().clamp(1.0, tau.ceil());
    let momentum = (1.0 - rounds / tau).clamp(0.0, 0.95);
    let largest = (zeta / (5.0 * columns as f64)).clamp(2.0, 200.0);
    let growth = libm::exp((libm::log(largest) / rounds).min(libm::log(1.3)));
    DescentRule { rounds: rounds as u64, step, momentum, growth, burn_in: 0.15 }
}

/// The rule for `joint-newton`: twelve sums. `None` where noise is so strong that a matrix would be
/// nothing but noise: then gradients do, in as many sums.
pub fn newton_rule(sizes: &JointSizes) -> Option<NewtonRule> {
    let columns = sizes.columns as f64;
    (sizes.noise <= 0.0 || sizes.zeta() >= 12.0 * columns.sqrt()).then(|| NewtonRule {
        warm_up: 5,
        steps: 5,
        skipped: 1,
        hessian_share: (columns / 1000.0).clamp(0.02, 0.06),
        warm_up_share: 0.1,
        growth: [1.4, 1.6],
        floor: (1.5 * libm::pow(30.0 / columns, 0.3)).clamp(1.0, 1.5),
    })
}

/// Sums of `joint-newton` under a budget.
pub const NEWTON_SUMS: u64 = 12;

/// Newton steps without protection.
pub const PLAIN_NEWTON_STEPS: u64 = 30;

/// h of `joint-values`: values are asked for so far to either side.
pub const HALF_STEP: f64 = 1e-3;

/// Steps of `joint-models` shorter than this part of the first one are not worth a value.
pub const FINEST: f64 = 1e-9;

/// Variables that `joint-models` is chosen for at most: a model costs some 100 P^3 operations.
pub const MOST_MODELLED: usize = 100;

/// Values of every agent that `joint-models` asks for at most, where nobody says: a smooth function
/// takes far fewer.
pub fn model_values(columns: usize) -> u64 {
    100 * (columns as u64 + 1).max(10)
}

/// Shares of `mu^2` that grow by a factor from one sum to the next, and add up to one.
pub fn shares(rounds: u64, growth: f64) -> Vec<f64> {
    let powers: Vec<f64> = std::iter::successors(Some(1.0), |power| Some(power * growth))
        .take(rounds as usize)
        .collect();
    let total: f64 = powers.iter().sum();
    powers.into_iter().map(|power| power / total).collect()
}
