//! The best that an adversary can do who chooses every event by what was released before.
//!
//! The ledger accepts an event while the accountant's epsilon stays within the budget. An adversary
//! picks from a short menu of randomised responses and Gaussian releases, each the worst mechanism
//! of its event: their privacy losses are known in closed form. Its best delta is a recursion over
//! what was charged and the loss so far (under the data set that the adversary wants to recognise),
//!
//! ```text
//! V(charged, loss) = max( (1 - e^(epsilon - loss))_+ ,
//!                         max over accepted events of E[ V(charged + event, loss + its loss) ] )
//! ```
//!
//! solved on a grid of losses. `V` is convex in `e^loss`, so that moving the loss of a release to
//! the two neighbouring points of the grid, with the means of `e^loss` and of 1 kept, bounds it
//! from above (the connected dots of Doroshenko et al. 2022); rounding losses down bounds it from
//! below.

use dzoa_privacy::{Accountant, Event, ExactGaussian, gaussian};
use std::collections::HashMap;
use std::f64::consts::FRAC_1_SQRT_2;

/// Lowest and highest loss of the grid, in epsilons. What lies beyond is bounded, not followed.
const LOSSES: (f64, f64) = (-2.0, 3.0);
/// Gaussian losses are followed this many deviations out: what is beyond has less than 1e-27.
const DEVIATIONS: f64 = 11.0;

/// What the losses of a release do to a value: weights under the first data set, by distance on the
/// grid; and what is lost to infinity.
struct Kernel {
    first: isize,
    weights: Vec<f64>,
    infinite: f64,
}

/// On which side of the truth a result lies.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Above,
    Below,
}

fn phi(x: f64) -> f64 {
    0.5 * statrs::function::erf::erfc(-x * FRAC_1_SQRT_2)
}

/// Randomised response: the loss is plus or minus epsilon, a whole number of steps.
fn response(epsilon: f64, step: f64) -> Kernel {
    let steps = (epsilon / step).round();
    assert!((steps * step / epsilon - 1.0).abs() < 1e-12, "the grid holds the loss itself");
    let mut weights = vec![0.0; 2 * steps as usize + 1];
    weights[0] = 1.0 / (1.0 + epsilon.exp());
    weights[2 * steps as usize] = 1.0 / (1.0 + (-epsilon).exp());
    Kernel { first: -steps as isize, weights, infinite: 0.0 }
}

/// A Gaussian release: the loss is `N(mu^2/2, mu^2)`, and `N(-mu^2/2, mu^2)` on the other data set.
fn release(mu: f64, step: f64, side: Side) -> Kernel {
    let reach = ((DEVIATIONS * mu + 0.5 * mu * mu) / step).ceil() as isize;
    let mass = |mean: f64, a: f64, b: f64| {
        let (a, b) = ((a - mean) / mu, (b - mean) / mu);
        // Differences of the smaller tails keep their digits.
        if a > 0.0 { phi(-a) - phi(-b) } else { phi(b) - phi(a) }
    };
    let mut weights = vec![0.0; 2 * reach as usize + 2];
    for cell in -reach..=reach {
        let (a, b) = (cell as f64 * step, (cell + 1) as f64 * step);
        let at = (cell + reach) as usize;
        let p = mass(0.5 * mu * mu, a, b);
        if side == Side::Below {
            weights[at] += p;
            continue;
        }
        // The masses q_a + q_b = q with q_a e^a + q_b e^b = p; their weights under p are these
        // products.
        let q = mass(-0.5 * mu * mu, a, b);
        let upper = ((p * (-a).exp() - q) / step.exp_m1()).clamp(0.0, q);
        weights[at] += (q - upper) * a.exp();
        weights[at + 1] += upper * b.exp();
    }
    let infinite = if side == Side::Above { 1e-27 } else { 0.0 };
    Kernel { first: -reach, weights, infinite }
}

/// A rule that says whether so many Gaussian releases of each mu and so much pure epsilon are
/// accepted.
type Rule<'a> = dyn Fn(&[usize], f64) -> bool + 'a;

/// What an adversary may choose from: Gaussian releases of `mu`, each up to `most` times;
/// randomised responses of `pure`; and, as the last event, one randomised response of all that is
/// left.
struct Game<'a> {
    epsilon: f64,
    step: f64,
    side: Side,
    most: &'a [usize],
    releases: Vec<Kernel>,
    pure: Option<f64>,
    rule: &'a Rule<'a>,
    known: HashMap<(Vec<usize>, usize), Vec<f64>>,
}

impl Game<'_> {
    /// The best delta from each loss on, after so many releases and responses.
    fn value(&mut self, released: &[usize], responses: usize) -> Vec<f64> {
        let state = (released.to_vec(), responses);
        if let Some(known) = self.known.get(&state) {
            return known.clone();
        }
        let lowest = LOSSES.0 * self.epsilon;
        let points = ((LOSSES.1 * self.epsilon - lowest) / self.step).round() as usize + 1;
        let loss = |i: usize| lowest + i as f64 * self.step;
        let stop: Vec<f64> =
            (0..points).map(|i| -(self.epsilon - loss(i)).min(0.0).exp_m1()).collect();
        let mut best = stop.clone();
        let mut improve = |other: Vec<f64>| {
            best.iter_mut().zip(other).for_each(|(best, other)| *best = best.max(other));
        };
        let spent = responses as f64 * self.pure.unwrap_or(0.0);
        // All that is left at once, to the step below.
        let accepted = |steps: &usize| (self.rule)(released, spent + *steps as f64 * self.step);
        let most = (self.epsilon / self.step).ceil() as usize + 1;
        if let Some(steps) = (1..=most).rev().find(accepted) {
            improve(self.through(&response(steps as f64 * self.step, self.step), &stop));
        }
        if let Some(pure) = self.pure.filter(|pure| (self.rule)(released, spent + pure)) {
            let after = self.value(released, responses + 1);
            improve(self.through(&response(pure, self.step), &after));
        }
        for item in 0..self.releases.len() {
            let mut next = released.to_vec();
            next[item] += 1;
            if next[item] <= self.most[item] && (self.rule)(&next, spent) {
                let after = self.value(&next, responses);
                improve(self.through(&self.releases[item], &after));
            }
        }
        self.known.insert(state, best.clone());
        best
    }

    /// The mean of the value after one release. Beyond the grid the value is at most one, and at
    /// least what it is at the grid's end.
    fn through(&self, kernel: &Kernel, after: &[f64]) -> Vec<f64> {
        let (below, beyond) = match self.side {
            Side::Above => (after[0], 1.0),
            Side::Below => (0.0, after[after.len() - 1]),
        };
        let at = |i: isize| match usize::try_from(i) {
            Err(_) => below,
            Ok(i) => after.get(i).copied().unwrap_or(beyond),
        };
        let weights = kernel.weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0);
        let weights: Vec<(isize, f64)> =
            weights.map(|(k, weight)| (kernel.first + k as isize, *weight)).collect();
        let mean = |i: isize| weights.iter().map(|(k, weight)| weight * at(i + k)).sum::<f64>();
        (0..after.len() as isize).map(|i| kernel.infinite + mean(i)).collect()
    }
}

/// Gaussian releases by mu, randomised responses by epsilon.
struct Menu {
    mu: Vec<f64>,
    most: Vec<usize>,
    pure: Option<f64>,
}

impl Menu {
    /// A bound on the adversary's best delta when this rule accepts or refuses.
    fn delta(&self, epsilon: f64, step: f64, side: Side, rule: &Rule) -> f64 {
        let releases = self.mu.iter().map(|mu| release(*mu, step, side)).collect();
        let (most, pure, known) = (&self.most, self.pure, HashMap::new());
        let mut game = Game { epsilon, step, side, most, releases, pure, rule, known };
        let values = game.value(&vec![0; self.mu.len()], 0);
        values[(-LOSSES.0 * epsilon / step).round() as usize]
    }

    /// The rule of the ledger: the accountant's epsilon of everything stays within the budget.
    fn ledger(&self, (epsilon, delta): (f64, f64), released: &[usize], pure: f64) -> bool {
        let mut account = ExactGaussian::default();
        for (mu, count) in self.mu.iter().zip(released) {
            let event = Event::Gaussian { sensitivity: *mu, sigma: 1.0 };
            (0..*count).for_each(|_| account.compose(&event).unwrap());
        }
        account.compose(&Event::Pure { epsilon: pure }).unwrap();
        account.epsilon(delta) <= epsilon
    }

    /// The rule up to version 0.2.3: the pure epsilons plus the epsilon of the Gaussian releases.
    fn sum_rule(&self, (epsilon, delta): (f64, f64), released: &[usize], pure: f64) -> bool {
        let squares = self.mu.iter().zip(released).map(|(mu, count)| mu * mu * *count as f64);
        pure + gaussian::epsilon(delta, squares.sum::<f64>().sqrt()) <= epsilon
    }
}

/// Epsilon and delta.
const BUDGETS: [(f64, f64); 5] = [(0.5, 1e-6), (1.0, 1e-5), (2.0, 1e-9), (4.0, 1e-2), (8.0, 1e-5)];
/// Steps of the grid in one epsilon.
const STEPS: f64 = 400.0;
/// What the grid may add to the upper bound. Gaussian releases alone use up the whole delta;
/// connected dots add at most `step^2/4` to the variance of a loss, here 1e-4 of it.
const GRID: f64 = 0.005;
/// What rounding losses down may take from the lower bound: a step a release, where delta falls by
/// a hundredth and more a step.
const TIGHT: f64 = 0.75;

/// Gaussian releases one after the other whose sums of `mu^2` grow by `ratio` up to all that fits.
fn ladder((epsilon, delta): (f64, f64), ratio: f64, rungs: i32) -> Menu {
    let most = gaussian::mu(epsilon, delta).powi(2) * (1.0 - 1e-9);
    let sum = |rung: i32| if rung < 0 { 0.0 } else { most * ratio.powi(rung - rungs + 1) };
    let mu = (0..rungs).map(|rung| (sum(rung) - sum(rung - 1)).sqrt()).collect();
    Menu { mu, most: vec![1; rungs as usize], pure: None }
}

/// Releases and responses in any order.
fn mixed((epsilon, delta): (f64, f64)) -> Menu {
    let mu = gaussian::mu(epsilon, delta) * (1.0 - 1e-9);
    Menu { mu: vec![0.5 * mu, 0.25 * mu], most: vec![4, 4], pure: Some(0.1 * epsilon) }
}

/// Whether the releases are those of a ladder, taken from its foot.
fn climbs(released: &[usize]) -> bool {
    released.windows(2).all(|pair| pair[0] >= pair[1])
}

/// The bounds of the adversary's best delta, as multiples of the budget's, for each menu.
fn bounds(budget: (f64, f64), rule: impl Fn(&Menu, &[usize], f64) -> bool) -> Vec<(f64, f64)> {
    let (epsilon, delta) = budget;
    let of = |menu: &Menu, rule: &Rule| {
        let at = |side| menu.delta(epsilon, epsilon / STEPS, side, rule) / delta;
        (at(Side::Below), at(Side::Above))
    };
    let mut found = Vec::new();
    for menu in [ladder(budget, 1.5, 6), ladder(budget, 2.5, 4)] {
        let climbing = |released: &[usize], pure| climbs(released) && rule(&menu, released, pure);
        found.push(of(&menu, &climbing));
    }
    let menu = mixed(budget);
    found.push(of(&menu, &|released: &[usize], pure| rule(&menu, released, pure)));
    found
}

#[test]
fn no_adaptive_choice_of_pure_and_gaussian_events_exceeds_the_budgets_delta() {
    for budget in BUDGETS {
        for (least, most) in bounds(budget, |menu, n, pure| menu.ledger(budget, n, pure)) {
            assert!(most <= 1.0 + GRID, "{budget:?}: up to {most} times the delta");
            assert!(least >= TIGHT, "{budget:?}: {least} times the delta: the budget is not used");
        }
    }
}

#[test]
fn adding_the_epsilons_of_pure_and_gaussian_events_would_more_than_double_delta() {
    for budget in BUDGETS {
        for (least, _) in bounds(budget, |menu, n, pure| menu.sum_rule(budget, n, pure)) {
            assert!(least > 2.0, "{budget:?}: {least} times the delta");
        }
    }
}
