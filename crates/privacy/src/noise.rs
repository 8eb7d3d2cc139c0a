//! Noise that the floating-point attack cannot read: exact discrete Gaussian noise on a public grid.
//!
//! Sampling a continuous Gaussian in floating point leaves gaps and an uneven spacing from which the
//! noiseless value can be told (Mironov 2012). So a value is rounded to a grid of step
//! `sigma 2^-32` and integer noise is added, drawn exactly (Canonne, Kamath, Steinke 2020) from
//! integers alone. The result is an integer; turning it into a float is post-processing.

use rand::CryptoRng;

/// `sigma` in grid steps is two to this power.
const LOG2_SIGMA: u32 = 32;
/// The grid as a fraction of sigma.
pub const STEP_OF_SIGMA: f64 = 1.0 / (1u64 << LOG2_SIGMA) as f64;
/// The same for Laplace noise, plain and spherical. Coarser, because its scale may be tiny against the value:
/// geometric schedules shrink it, and it hides the tolerance of a solver.
const LOG2_LAPLACE: u32 = 20;
/// Values beyond this many steps (a million sigma, four billion Laplace scales) are clamped before noise is added: 1-Lipschitz, so
/// sound, and below it the division by the step is exact to less than a step.
const LARGEST: f64 = (1u64 << 52) as f64;

/// What a draw of spherical Laplace noise sets aside of delta. It is made from uniforms of 53 bits and a
/// few correctly rounded functions, then rounded to the grid; a million millionth is far more than that
/// can shift. An allowance, not a proof: the other noise here needs none.
pub const SPHERICAL_DELTA: f64 = 1e-12;

/// The step of the grid for noise of this size.
pub fn step(sigma: f64) -> f64 {
    sigma * STEP_OF_SIGMA
}

/// The step of the grid for Laplace noise of this scale.
pub fn laplace_step(scale: f64) -> f64 {
    scale / (1u64 << LOG2_LAPLACE) as f64
}

/// What rounding to the grid of Laplace noise adds to the L2 sensitivity of a vector, as [`rounding`].
pub fn laplace_rounding(scale: f64, coordinates: usize) -> f64 {
    2.0 * laplace_step(scale) * (coordinates as f64).sqrt()
}

/// What rounding to the grid adds to the L2 sensitivity of a vector: each of the two rounded vectors
/// is off by at most half a step a coordinate; doubled for the rounding of the division.
pub fn rounding(sigma: f64, coordinates: usize) -> f64 {
    2.0 * step(sigma) * (coordinates as f64).sqrt()
}

/// The value, rounded to the grid, plus discrete Gaussian noise of parameter `sigma`.
pub(crate) fn noisy(value: f64, sigma: f64, rng: &mut impl CryptoRng) -> f64 {
    let step = step(sigma);
    (to_grid(value, step) + discrete_gaussian(rng)) as f64 * step
}

/// The value, rounded to the grid, plus discrete Laplace noise of this scale.
pub(crate) fn noisy_laplace(value: f64, scale: f64, rng: &mut impl CryptoRng) -> f64 {
    let step = laplace_step(scale);
    (to_grid(value, step) + discrete_laplace(LOG2_LAPLACE, rng)) as f64 * step
}

/// The vector plus noise of density proportional to `exp(-||noise||/scale)`, on the grid.
///
/// Value and noise are rounded apart, so that no bit of the value shows below the grid; and a shift
/// by whole steps keeps the ratio of two cells below that of two points.
pub(crate) fn noisy_spherical(values: &mut [f64], scale: f64, rng: &mut impl CryptoRng) {
    let step = laplace_step(scale);
    let noise = spherical_laplace(values.len(), rng);
    for (value, noise) in values.iter_mut().zip(noise) {
        *value = (to_grid(*value, step) + to_grid(noise, laplace_step(1.0))) as f64 * step;
    }
}

/// A vector of density proportional to `exp(-||x||)`: a uniform direction, and a length that is the
/// sum of as many exponentials as there are coordinates.
pub(crate) fn spherical_laplace(coordinates: usize, rng: &mut impl CryptoRng) -> Vec<f64> {
    // In (0, 1]: the logarithm is finite.
    let mut uniform = || ((rng.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
    let length: f64 = (0..coordinates).map(|_| -uniform().ln()).sum();
    let direction: Vec<f64> = (0..coordinates)
        .map(|_| (-2.0 * uniform().ln()).sqrt() * (2.0 * std::f64::consts::PI * uniform()).cos())
        .collect();
    let norm = direction.iter().map(|x| x * x).sum::<f64>().sqrt();
    direction.iter().map(|x| length * x / norm).collect()
}

/// A value in whole steps of its grid.
fn to_grid(value: f64, step: f64) -> i64 {
    (value / step).round().clamp(-LARGEST, LARGEST) as i64
}

/// An integer from the discrete Gaussian with parameter `2^LOG2_SIGMA`.
fn discrete_gaussian(rng: &mut impl CryptoRng) -> i64 {
    loop {
        let candidate = discrete_laplace(LOG2_SIGMA, rng);
        // Accept with probability exp(-(|y| - sigma)^2/(2 sigma^2)).
        let distance = u128::from(candidate.unsigned_abs().abs_diff(1 << LOG2_SIGMA));
        if bernoulli_exp(distance * distance, 2 * LOG2_SIGMA + 1, rng) {
            return candidate;
        }
    }
}

/// An integer with probability proportional to `exp(-|y|/2^log2_scale)`.
fn discrete_laplace(log2_scale: u32, rng: &mut impl CryptoRng) -> i64 {
    loop {
        let low = rng.next_u64() >> (64 - log2_scale);
        if !bernoulli_exp(u128::from(low), log2_scale, rng) {
            continue;
        }
        let mut high = 0;
        while bernoulli_exp(1, 0, rng) {
            high += 1;
        }
        let magnitude = (low + (high << log2_scale)) as i64;
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

/// The same for an exponent of at most one: the first failure among tosses of `gamma/1, gamma/2, ...`
/// comes at an odd place.
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
        // exp(-||x||/b) in three dimensions: ||x|| is Gamma(3, b), with mean 3 b and variance 3 b^2; the
        // direction is uniform, so that a coordinate has a third of the squared length, E||x||^2 = 12 b^2.
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
