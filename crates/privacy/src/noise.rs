//! Noise that the floating-point attack cannot read: exact discrete Gaussian noise on a public
//! grid.
//!
//! Sampling a continuous Gaussian in floating point leaves gaps and an uneven spacing from which
//! the noiseless value can be told (Mironov 2012). So a value is rounded to a grid of step `sigma
//! 2^-32` and integer noise is added, drawn exactly (Canonne, Kamath, Steinke 2020) from integers
//! alone. The result is an integer; turning it into a float is post-processing.
//!
//! **Spherical Laplace noise** has probabilities `p(k)` proportional to `exp(-||k|| t)` on the
//! points `k` of a grid of step `t = 2^-20` scales. In one dimension that is discrete Laplace
//! noise, drawn exactly. In P dimensions it is a mixture: with `A = ||k|| t`, `exp(-A)` is the mean
//! of `exp(-A^2/4v)` under the weights `v^(-1/2) e^-v`. So `v` is drawn from a Gamma distribution
//! of shape `(P+1)/2`, and then each coordinate is discrete Gaussian of variance `2 v`. No share of
//! delta is needed for how it is drawn:
//!
//! 1. Let `f(v)` be the density that `v` has, over that of the Gamma distribution. Where `f` does
//!    not fall, a shift by `s` costs at most `||s|| t`: the slope of `-ln p` in `A` is `(A/2)
//!    E[1/v]` given `A`, which is 1 for the ideal weights, and weights that grow with `v` make a
//!    mean of `1/v` smaller. So what the grid does to the normaliser of a discrete Gaussian is
//!    free, and so are the two liberties taken here. A constant is added to `v`. And for even P
//!    the shape is a half too large, and `v` is accepted with probability `min(1, sqrt(c/v))`,
//!    which makes `f` constant above `c` and `sqrt(v/c)` below.
//! 2. `v` is drawn to within 2^-44 of itself, always, the other probabilities to within 2^-49 and
//!    the exponents to within 2^-51, relatively. These are errors of *factors*, never of sums: they
//!    move `p(k)` by a factor of at most `exp(2^-43 (1 + P + A))` in either direction. The price of
//!    that is a part of the event's epsilon.
//!
//! docs/privacy.md has every step.

use rand::CryptoRng;

/// `sigma` in grid steps is two to this power.
const LOG2_SIGMA: u32 = 32;
/// The grid as a fraction of sigma.
pub const STEP_OF_SIGMA: f64 = 1.0 / (1u64 << LOG2_SIGMA) as f64;
/// A Laplace scale in grid steps is two to this power. The grid is coarser than that of sigma,
/// because its scale may be tiny against the value: geometric schedules shrink it, and it hides the
/// tolerance of a solver.
const LOG2_LAPLACE: u32 = 20;
/// Values beyond this many steps (a million sigma, four billion Laplace scales) are clamped before
/// noise is added: 1-Lipschitz, so sound, and below it the division by the step is exact to less
/// than a step.
const LARGEST: f64 = (1u64 << 52) as f64;

/// The step of the grid for noise of this size.
pub fn step(sigma: f64) -> f64 {
    sigma * STEP_OF_SIGMA
}

/// The step of the grid for Laplace noise of this scale.
pub fn laplace_step(scale: f64) -> f64 {
    scale / (1u64 << LOG2_LAPLACE) as f64
}

/// What rounding to the grid of Laplace noise adds to the L2 sensitivity of a vector, as
/// [`rounding`].
pub fn laplace_rounding(scale: f64, coordinates: usize) -> f64 {
    2.0 * laplace_step(scale) * (coordinates as f64).sqrt()
}

/// What rounding to the grid adds to the L2 sensitivity of a vector: each of the two rounded
/// vectors is off by at most half a step a coordinate. Near the largest values the division by the
/// step is off by half a step more, and what a baseline adds to a gradient before (a public point,
/// a ridge) by half a step each time: at most three steps for each vector, whatever it is.
pub fn rounding(sigma: f64, coordinates: usize) -> f64 {
    6.0 * step(sigma) * (coordinates as f64).sqrt()
}

/// The value, rounded to the grid, plus discrete Gaussian noise of parameter `sigma`.
pub(crate) fn noisy(value: f64, sigma: f64, rng: &mut impl CryptoRng) -> f64 {
    let step = step(sigma);
    (to_grid(value, step) + discrete_gaussian(LOG2_SIGMA, rng)) as f64 * step
}

/// The value, rounded to the grid, plus discrete Laplace noise of this scale.
pub(crate) fn noisy_laplace(value: f64, scale: f64, rng: &mut impl CryptoRng) -> f64 {
    let step = laplace_step(scale);
    (to_grid(value, step) + discrete_laplace(LOG2_LAPLACE, rng)) as f64 * step
}

/// The vector, rounded to the grid, plus spherical Laplace noise of this scale on it.
pub(crate) fn noisy_spherical(values: &mut [f64], scale: f64, rng: &mut impl CryptoRng) {
    let step = laplace_step(scale);
    let noise = spherical_steps(values.len(), rng);
    for (value, noise) in values.iter_mut().zip(noise) {
        *value = (to_grid(*value, step) + noise) as f64 * step;
    }
}

/// A vector of scale one that lies anywhere in the cell of a point of spherical Laplace noise: a
/// continuous density, whose cost is that of the points and [`cell_epsilon`].
pub(crate) fn spherical_laplace(coordinates: usize, rng: &mut impl CryptoRng) -> Vec<f64> {
    let steps = spherical_steps(coordinates, rng);
    let mut anywhere = || (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64 - 0.5;
    steps.iter().map(|&step| (step as f64 + anywhere()) * laplace_step(1.0)).collect()
}

/// What spherical Laplace noise costs whose ideal costs this epsilon: the precision of its sampler.
///
/// By the second point of the module's text, a shift from `A` to at most `A + epsilon` costs up to
/// `2^-43 (2 + 2 P + 2 A + epsilon)` more, and `A > 2 P + 4096` has a probability below 10^-1300:
/// less than the rounding of any delta that a double holds. In one dimension nothing is to pay.
pub(crate) fn spherical_epsilon(ideal: f64, coordinates: u64) -> f64 {
    if coordinates <= 1 {
        return ideal;
    }
    ideal * (1.0 + 1e-12) + 1e-9 + 1e-12 * coordinates as f64
}

/// What a continuous density costs that is constant on the cells of the grid of Laplace noise: a
/// shift by `s` moves the point by up to a step more in each coordinate.
pub(crate) fn cell_epsilon(coordinates: u64) -> f64 {
    laplace_step(1.0) * (coordinates as f64).sqrt()
}

/// A point with probability proportional to `exp(-||k||/2^LOG2_LAPLACE)`.
fn spherical_steps(coordinates: usize, rng: &mut impl CryptoRng) -> Vec<i64> {
    if coordinates == 1 {
        return vec![discrete_laplace(LOG2_LAPLACE, rng)];
    }
    // Twice v, in squared steps: a power of two, so exact.
    let variance = 2.0 * mixing(coordinates, rng) * (1u64 << (2 * LOG2_LAPLACE)) as f64;
    (0..coordinates).map(|_| discrete_gaussian_of(variance, rng)).collect()
}

/// `v` of the module's text: a Gamma variable of shape `(coordinates + 1)/2`.
fn mixing(coordinates: usize, rng: &mut impl CryptoRng) -> f64 {
    /// Bits of an exponential variable behind the point.
    const BITS: u32 = 60;
    let shape = coordinates as u128 / 2 + 1;
    loop {
        // Each is rounded down by less than 2^-60: beside the constant less than 2^-44 of the sum.
        let constant = shape << (BITS - 16);
        let sum: u128 = (0..shape).map(|_| exponential(BITS, rng)).sum();
        let v = (sum + constant) as f64 / (1u64 << BITS) as f64;
        // Even: the shape is a half too large. Above c the square root takes it back.
        let c = shape as f64 / 16.0;
        if !coordinates.is_multiple_of(2) || toss(0.5 * (v / c).ln().max(0.0), rng) {
            return v;
        }
    }
}

/// True with probability `exp(-gamma)`.
fn toss(gamma: f64, rng: &mut impl CryptoRng) -> bool {
    bernoulli_exp((gamma * (1u64 << 60) as f64) as u128, 60, rng)
}

/// A value in whole steps of its grid.
fn to_grid(value: f64, step: f64) -> i64 {
    (value / step).round().clamp(-LARGEST, LARGEST) as i64
}

/// An integer from the discrete Gaussian with parameter `2^log2_sigma`, for powers up to 32.
pub(crate) fn discrete_gaussian(log2_sigma: u32, rng: &mut impl CryptoRng) -> i64 {
    loop {
        let candidate = discrete_laplace(log2_sigma, rng);
        // Accept with probability exp(-(|y| - sigma)^2/(2 sigma^2)).
        let distance = u128::from(candidate.unsigned_abs().abs_diff(1 << log2_sigma));
        if bernoulli_exp(distance * distance, 2 * log2_sigma + 1, rng) {
            return candidate;
        }
    }
}

/// An integer with probability proportional to `exp(-y^2/(2 variance))`, for a variance above one.
fn discrete_gaussian_of(variance: f64, rng: &mut impl CryptoRng) -> i64 {
    // A power of two from sigma to two sigma: the distance below is rounded once.
    let log2_scale = (0.5 * variance.log2()).ceil().max(1.0) as u32;
    let centre = variance / (1u64 << log2_scale) as f64;
    loop {
        let candidate = discrete_laplace(log2_scale, rng);
        let distance = candidate.unsigned_abs() as f64 - centre;
        if toss(distance * distance / (2.0 * variance), rng) {
            return candidate;
        }
    }
}

/// An exponential variable, rounded down to a multiple of `1/2^bits`, in these.
fn exponential(bits: u32, rng: &mut impl CryptoRng) -> u128 {
    loop {
        let low = u128::from(rng.next_u64() >> (64 - bits));
        if !bernoulli_exp(low, bits, rng) {
            continue;
        }
        let mut high = 0;
        while bernoulli_exp(1, 0, rng) {
            high += 1;
        }
        return low + (high << bits);
    }
}

/// An integer with probability proportional to `exp(-|y|/2^log2_scale)`.
fn discrete_laplace(log2_scale: u32, rng: &mut impl CryptoRng) -> i64 {
    loop {
        let magnitude = exponential(log2_scale, rng) as i64;
        let negative = rng.next_u64() & 1 == 1;
        if negative && magnitude == 0 {
            continue;
        }
        return if negative { -magnitude } else { magnitude };
    }
}

/// True with probability `exp(-numerator/2^log2_denominator)`, exactly.
fn bernoulli_exp(numerator: u128, log2_denominator: u32, rng: &mut impl CryptoRng) -> bool {
    let whole = numerator >> log2_denominator;
    // exp(-whole) as that many independent tosses of exp(-1).
    for _ in 0..whole {
        if !bernoulli_exp_fraction(1, 0, rng) {
            return false;
        }
    }
    bernoulli_exp_fraction(numerator - (whole << log2_denominator), log2_denominator, rng)
}

/// True with probability `exp(-gamma)`, for an exponent of at most one: the first failure among
/// tosses of `gamma/1, gamma/2, ...` comes at an odd place.
fn bernoulli_exp_fraction(
    numerator: u128,
    log2_denominator: u32,
    rng: &mut impl CryptoRng,
) -> bool {
    let mut place = 1;
    while below(numerator, log2_denominator, rng) && one_in(place, rng) {
        place += 1;
    }
    place % 2 == 1
}

/// True with probability `numerator/2^bits`.
fn below(numerator: u128, bits: u32, rng: &mut impl CryptoRng) -> bool {
    if bits == 0 {
        return numerator >= 1;
    }
    let random = u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64());
    random >> (128 - bits) < numerator
}

/// True with probability `1/n`, by rejection.
fn one_in(n: u64, rng: &mut impl CryptoRng) -> bool {
    if n == 1 {
        return true;
    }
    let fair = u64::MAX - u64::MAX % n;
    loop {
        let random = rng.next_u64();
        if random < fair {
            return random.is_multiple_of(n);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    const DRAWS: usize = 1_000_000;

    fn sample(sigma: f64, seed: u64) -> Vec<f64> {
        let mut rng = StdRng::seed_from_u64(seed);
        (0..DRAWS).map(|_| noisy(0.25, sigma, &mut rng) - 0.25).collect()
    }

    #[test]
    fn a_million_draws_have_the_promised_moments_and_distribution() {
        let sigma = 0.37;
        let mut draws = sample(sigma, 1);
        let n = DRAWS as f64;
        let mean = draws.iter().sum::<f64>() / n;
        let deviation = (draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt();
        // Five standard errors: a false alarm in fewer than 1e-6 of the seeds.
        assert!(mean.abs() < 5.0 * sigma / n.sqrt(), "{mean}");
        assert!((deviation / sigma - 1.0).abs() < 0.01, "{deviation}");
        assert!((deviation / sigma - 1.0).abs() < 5.0 / (2.0 * n).sqrt());
        // Kolmogorov-Smirnov: P[sqrt(n) D > 2.8] < 2 exp(-2 * 2.8^2) = 3e-7.
        draws.sort_by(f64::total_cmp);
        let distance = draws.iter().enumerate().fold(0.0, |largest: f64, (i, x)| {
            let phi = 0.5 * libm::erfc(-x / sigma * std::f64::consts::FRAC_1_SQRT_2);
            largest.max((phi - i as f64 / n).abs()).max(((i + 1) as f64 / n - phi).abs())
        });
        assert!(distance * n.sqrt() < 2.8, "{distance}");
    }

    #[test]
    fn laplace_and_spherical_noise_have_the_promised_moments() {
        let mut rng = StdRng::seed_from_u64(6);
        let n = 200_000;
        // Laplace of scale b: E|x| = b, with variance b^2; E x = 0.
        let draws: Vec<f64> = (0..n).map(|_| noisy_laplace(0.25, 0.7, &mut rng) - 0.25).collect();
        let mean = draws.iter().map(|x| x.abs()).sum::<f64>() / n as f64;
        assert!((mean - 0.7).abs() < 5.0 * 0.7 / (n as f64).sqrt(), "{mean}");
        let mean = draws.iter().sum::<f64>() / n as f64;
        assert!(mean.abs() < 5.0 * 0.7 * 2f64.sqrt() / (n as f64).sqrt(), "{mean}");
        // exp(-||x||/b) in three dimensions: ||x|| is Gamma(3, b), with mean 3 b and variance 3
        // b^2; the direction is uniform, so that a coordinate has a third of the squared length,
        // E||x||^2 = 12 b^2.
        let (mut length, mut first, mut drift) = (0.0, 0.0, [0.0; 3]);
        for _ in 0..n {
            let mut x = [0.0; 3];
            noisy_spherical(&mut x, 0.7, &mut rng);
            length += x.iter().map(|x| x * x).sum::<f64>().sqrt() / n as f64;
            first += x[0] * x[0] / n as f64;
            drift.iter_mut().zip(x).for_each(|(sum, x)| *sum += x / n as f64);
        }
        assert!((length - 2.1).abs() < 5.0 * 0.7 * 3f64.sqrt() / (n as f64).sqrt(), "{length}");
        // E x_1^4 = E||x||^4/5 = 360 b^4/5: the standard error of the mean square.
        let error = 0.49 * (72f64 - 16.0).sqrt() / (n as f64).sqrt();
        assert!((first - 4.0 * 0.49).abs() < 5.0 * error, "{first}");
        assert!(drift.iter().all(|x| x.abs() < 5.0 * 1.4 / (n as f64).sqrt()), "{drift:?}");
    }

    #[test]
    fn spherical_noise_of_one_coordinate_is_plain_laplace_noise() {
        // The same draws from the same stream: what is exact for the one is exact for the other.
        let (mut a, mut b) = (StdRng::seed_from_u64(7), StdRng::seed_from_u64(7));
        for value in [0.0, 0.3, -1e3, 1e9] {
            let mut spherical = [value];
            noisy_spherical(&mut spherical, 0.7, &mut a);
            assert_eq!(spherical[0], noisy_laplace(value, 0.7, &mut b));
        }
    }

    #[test]
    fn lengths_and_directions_of_spherical_noise_have_the_promised_distribution() {
        // A length is Gamma(P): Kolmogorov-Smirnov, P[sqrt(n) D > 2.8] < 3e-7. Even and odd P.
        let (mut rng, n) = (StdRng::seed_from_u64(8), 20_000);
        for dim in [2usize, 3, 4, 7, 20] {
            let mut lengths = Vec::new();
            let mut products = vec![0.0; dim];
            for _ in 0..n {
                let noise = spherical_steps(dim, &mut rng);
                let noise: Vec<f64> = noise.iter().map(|k| *k as f64 * laplace_step(1.0)).collect();
                let length = noise.iter().map(|x| x * x).sum::<f64>().sqrt();
                lengths.push(length);
                products.iter_mut().zip(&noise).for_each(|(sum, x)| *sum += x * noise[0] / length);
            }
            lengths.sort_by(f64::total_cmp);
            let n = f64::from(n);
            let distance = lengths.iter().enumerate().fold(0.0, |largest: f64, (i, length)| {
                let below = statrs::function::gamma::gamma_lr(dim as f64, *length);
                largest.max((below - i as f64 / n).abs()).max(((i + 1) as f64 / n - below).abs())
            });
            assert!(distance * n.sqrt() < 2.8, "P = {dim}: {distance}");
            // E[x_i x_0/||x||] is 0 for i > 0, with E[(x_i x_0/||x||)^2] = E[||x||^2] E[u_i^2
            // u_0^2], at most P (P+1) 3/(P (P+2)); and 1 for i = 0, since E[||x||]/P = 1.
            let error = 5.0 * (3.0 / n).sqrt();
            assert!((products[0] / n - 1.0).abs() < error, "P = {dim}: {products:?}");
            assert!(products[1..].iter().all(|sum| (sum / n).abs() < error), "{products:?}");
        }
    }

    /// `ln` of the probability of a point at distance `a`, up to a constant, by quadrature over
    /// what `mixing` draws: a Gamma density, a constant added, and for even P the square root
    /// taken back.
    fn ln_probability(dim: usize, a: f64) -> f64 {
        let shape = (dim / 2 + 1) as f64;
        let constant = shape * 2f64.powi(-16);
        let variance = |v: f64| 2.0 * v * 2f64.powi(2 * LOG2_LAPLACE as i32);
        let term = |u: f64| {
            let v = u.exp();
            let kept = if dim.is_multiple_of(2) { (shape / 16.0 / v).min(1.0).sqrt() } else { 1.0 };
            let gamma = (shape - 1.0) * (v - constant).ln() - v + kept.ln() + u;
            // Discrete Gaussians this wide have the normaliser of continuous ones, to 1e-300.
            gamma - a * a / (4.0 * v) - 0.5 * dim as f64 * variance(v).ln()
        };
        let (from, to, pieces) = (constant.ln() + 1e-9, 200f64.ln(), 400_000);
        let width = (to - from) / f64::from(pieces);
        let terms: Vec<f64> =
            (0..pieces).map(|i| term(from + (f64::from(i) + 0.5) * width)).collect();
        let top = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        top + (terms.iter().map(|x| (x - top).exp()).sum::<f64>() * width).ln()
    }

    #[test]
    fn a_shift_of_spherical_noise_never_costs_more_than_its_length() {
        for dim in [2, 3, 8, 9] {
            let at: Vec<f64> =
                [0.0, 1e-4, 1e-2, 0.1, 1.0, 5.0, 20.0, 40.0].map(|a| ln_probability(dim, a)).into();
            let distances = [0.0, 1e-4, 1e-2, 0.1, 1.0, 5.0, 20.0, 40.0];
            for (i, j) in (0..8).flat_map(|i| (i + 1..8).map(move |j| (i, j))) {
                let (cost, shift) = (at[i] - at[j], distances[j] - distances[i]);
                assert!(cost <= shift * (1.0 + 1e-7) + 1e-9, "P = {dim}: {cost} for {shift}");
            }
            // And little is wasted: far out the slope is one.
            assert!(at[6] - at[7] > 20.0 * 0.999, "P = {dim}");
        }
    }

    #[test]
    fn draws_of_two_seeds_are_uncorrelated() {
        let (a, b) = (sample(1.0, 2), sample(1.0, 3));
        let correlation = a.iter().zip(&b).map(|(a, b)| a * b).sum::<f64>() / DRAWS as f64;
        assert!(correlation.abs() < 5.0 / (DRAWS as f64).sqrt(), "{correlation}");
    }

    #[test]
    fn a_toss_of_exp_minus_gamma_has_that_probability() {
        let mut rng = StdRng::seed_from_u64(4);
        for (numerator, bits, gamma) in [(1, 0, 1.0f64), (3, 3, 0.375), (10, 2, 2.5), (0, 5, 0.0)] {
            let n = 400_000;
            let hits = (0..n).filter(|_| bernoulli_exp(numerator, bits, &mut rng)).count() as f64;
            let p = (-gamma).exp();
            let error = (p * (1.0 - p) / f64::from(n)).sqrt();
            assert!((hits / f64::from(n) - p).abs() <= 5.0 * error, "exp(-{gamma})");
        }
    }

    #[test]
    fn every_release_lies_on_the_grid() {
        let mut rng = StdRng::seed_from_u64(5);
        for value in [0.0, 1e-12, -3.7, 1e6] {
            let released = noisy(value, 0.5, &mut rng);
            let steps = released / step(0.5);
            assert_eq!(steps, steps.round());
        }
    }
}
