//! DP-ADMM as the paper ran it (interim).

use super::paper::{Draw, Pair, ROUNDS};
use super::trials::Stop;
use super::tuning::Tuned;
use dzoa::streams::{Purpose, fill_normal};

/// Error after each round.
pub fn errors(draw: &Draw, tuned: &Tuned) -> Result<Vec<f64>, Stop> {
    let problem = &draw.problem;
    let (dim, agents) = (problem.dim(), problem.agents.len());
    let mut normals = vec![0.0; ROUNDS as usize * agents * dim];
    fill_normal(&mut draw.streams.rng(Purpose::Noise, "dp-admm", 0), &mut normals);
    let multiplier = (2.1 * (1.25 / tuned.delta).ln()).sqrt() / tuned.epsilon;
    let (mut w, mut noisy, mut gamma) =
        (vec![0.0; dim], vec![vec![0.0; dim]; agents], vec![vec![0.0; dim]; agents]);
    let mut errors = Vec::new();
    for k in 0..ROUNDS as usize {
        let s = tuned.a * ((k + 1) as f64).powf(-tuned.p);
        let sigma = 2.0 / (20.0 * (tuned.rho + 1.0 / s)) * multiplier;
        let mut next = vec![0.0; dim];
        for i in 0..agents {
            let samples = &problem.agents[i];
            let mut gradient = vec![0.0; dim];
            let slopes: Vec<f64> = (0..samples.count())
                .map(|r| problem.loss.slope(samples.rows.dot(r, &noisy[i]), samples.targets[r]))
                .collect();
            samples.rows.add_transposed(&slopes, &mut gradient);
            for p in 0..dim {
                let b = noisy[i][p];
                let sub = if b > 0.0 {
                    1.0
                } else if b < 0.0 {
                    -1.0
                } else {
                    0.0
                };
                let g = gradient[p] + problem.eta / agents as f64 * sub;
                let z = normals[(k * agents + i) * dim + p];
                noisy[i][p] = (b / s + tuned.rho * w[p] + gamma[i][p] - g) / (tuned.rho + 1.0 / s)
                    + sigma * z;
                next[p] += (noisy[i][p] - gamma[i][p] / tuned.rho) / agents as f64;
            }
        }
        w = next;
        for i in 0..agents {
            for p in 0..dim {
                gamma[i][p] -= tuned.rho * (noisy[i][p] - w[p]);
            }
        }
        errors.push(draw.error(std::iter::repeat_n(w.as_slice(), agents)));
    }
    Ok(errors)
}

/// With the settings tuned for a pair.
pub fn errors_for(draw: &Draw, tuned: &[Tuned], pair: Pair) -> Result<Vec<f64>, Stop> {
    let tuned = tuned.iter().find(|t| (t.epsilon, t.delta) == pair);
    let tuned =
        tuned.ok_or_else(|| crate::error::Error::input("settings.json: a pair was not tuned"))?;
    errors(draw, tuned)
}
