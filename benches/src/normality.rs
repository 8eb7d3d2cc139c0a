//! Are the directions standard normal and independent? Every check is a deviation in standard
//! errors, so that any number of draws can be judged alike.

use dzoa::kernels::normals::Normals;
use dzoa::streams::{Purpose, Streams};
use serde_json::{Map, Value, json};

/// Values drawn in one step, as the inner loop of the paper's example does.
const BLOCK: usize = 600;
/// Cells of equal probability for the chi-square test.
const CELLS: usize = 256;
/// Draws that are sorted for Kolmogorov and Smirnov's test.
const SORTED: usize = 1 << 20;

/// Named deviations in standard errors. Kolmogorov and Smirnov's is `sqrt(n) D`, above 1.95 once in
/// a thousand.
pub fn deviations(draws: u64) -> Map<String, Value> {
    let streams = Streams::from_seed(28);
    let stream = |agent: &str, round| streams.normals(Purpose::Directions, agent, round);
    let (ours, agent, round) = (stream("a", 1), stream("b", 1), stream("a", 2));
    let mut sums = Sums::default();
    let mut kept = Vec::with_capacity(SORTED.min(draws as usize));
    let (mut x, mut other, mut later, mut next) = buffers();
    let blocks = draws.div_ceil(BLOCK as u64);
    for step in 0..blocks {
        fill(&ours, step, &mut x);
        fill(&agent, step, &mut other);
        fill(&round, step, &mut later);
        fill(&ours, step + 1, &mut next);
        sums.add(&x, [&other, &later, &next]);
        let room = SORTED.saturating_sub(kept.len()).min(BLOCK);
        kept.extend_from_slice(&x[..room]);
    }
    let mut named = sums.deviations();
    named.insert("kolmogorov_smirnov".into(), json!(kolmogorov_smirnov(kept)));
    named
}

fn buffers() -> (Vec<f64>, Vec<f64>, Vec<f64>, Vec<f64>) {
    let zeros = || vec![0.0; BLOCK];
    (zeros(), zeros(), zeros(), zeros())
}

fn fill(normals: &Normals, step: u64, out: &mut [f64]) {
    normals.fill(step, out);
}

/// The distribution function.
fn below(x: f64) -> f64 {
    0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)
}

struct Sums {
    count: f64,
    powers: [f64; 4],
    /// Beyond 2, 3, 4 and 5, on either side.
    tails: [f64; 4],
    cells: Vec<f64>,
    /// With the same place of other streams, and at short lags within this one.
    products: [f64; 6],
    /// Such products of what squares exceed one: signs are independent even where lengths are not.
    squares: [f64; 6],
}

impl Default for Sums {
    fn default() -> Self {
        Self {
            count: 0.0,
            powers: [0.0; 4],
            tails: [0.0; 4],
            cells: vec![0.0; CELLS],
            products: [0.0; 6],
            squares: [0.0; 6],
        }
    }
}

/// Neighbours in the block that come from two halves of a word, from one pair, and from a
/// generator's next words.
const LAGS: [usize; 3] = [1, 16, 32];

impl Sums {
    fn add(&mut self, x: &[f64], others: [&[f64]; 3]) {
        self.count += x.len() as f64;
        for &x in x {
            let square = x * x;
            for (sum, power) in self.powers.iter_mut().zip([x, square, square * x, square * square])
            {
                *sum += power;
            }
            for (tail, edge) in self.tails.iter_mut().zip([2.0, 3.0, 4.0, 5.0]) {
                *tail += f64::from(x.abs() > edge);
            }
            let cell = (below(x) * CELLS as f64) as usize;
            self.cells[cell.min(CELLS - 1)] += 1.0;
        }
        // Lags are cyclic, so that every sum has as many terms.
        let at_lag = |lag: usize| x.iter().cycle().skip(lag).take(x.len());
        let streams = others.map(|other| other.to_vec());
        let all = streams.into_iter().chain(LAGS.map(|lag| at_lag(lag).copied().collect()));
        for ((product, square), other) in self.products.iter_mut().zip(&mut self.squares).zip(all) {
            for (a, b) in x.iter().zip(other) {
                *product += a * b;
                *square += (a * a - 1.0) * (b * b - 1.0);
            }
        }
    }

    fn deviations(&self) -> Map<String, Value> {
        let n = self.count;
        let mut named = Map::new();
        let mut put = |name: String, value: f64| named.insert(name, json!(value));
        // Mean and variance of x^k for a standard normal x.
        let moments = [(0.0, 1.0), (1.0, 2.0), (0.0, 15.0), (3.0, 96.0)];
        for (k, (sum, (mean, variance))) in self.powers.iter().zip(moments).enumerate() {
            put(format!("moment_{}", k + 1), (sum / n - mean) / f64::sqrt(variance / n));
        }
        for (tail, edge) in self.tails.iter().zip([2.0, 3.0, 4.0, 5.0]) {
            let expected = 2.0 * below(-edge) * n;
            put(format!("tail_{edge}"), (tail - expected) / expected.sqrt());
        }
        let expected = n / CELLS as f64;
        let chi: f64 = self.cells.iter().map(|cell| (cell - expected).powi(2) / expected).sum();
        let freedom = CELLS as f64 - 1.0;
        put("chi_square".into(), (chi - freedom) / (2.0 * freedom).sqrt());
        let names = ["other_agent", "other_round", "next_step", "lag_1", "lag_16", "lag_32"];
        for ((product, square), name) in self.products.iter().zip(&self.squares).zip(names) {
            put(name.into(), product / n.sqrt());
            // x^2 - 1 has the variance 2.
            put(format!("{name}_squares"), square / (2.0 * n.sqrt()));
        }
        named
    }
}

fn kolmogorov_smirnov(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len() as f64;
    let distance = values.iter().enumerate().map(|(i, &x)| {
        let (low, high) = (i as f64 / n, (i + 1) as f64 / n);
        (below(x) - low).max(high - below(x))
    });
    n.sqrt() * distance.fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directions_are_normal_and_independent() {
        for (name, deviation) in deviations(1 << 22) {
            let deviation = deviation.as_f64().unwrap();
            let most = if name == "kolmogorov_smirnov" { 1.95 } else { 4.5 };
            assert!(deviation.abs() < most, "{name}: {deviation}");
        }
    }

    #[test]
    fn values_that_are_not_normal_are_found_out() {
        let mut sums = Sums::default();
        let mut x = vec![0.0; BLOCK];
        for step in 0..2000 {
            fill(&Streams::from_seed(1).normals(Purpose::Directions, "", 0), step, &mut x);
            let stretched: Vec<f64> = x.iter().map(|x| 1.01 * x).collect();
            sums.add(&stretched, [&x, &x, &x]);
        }
        let found = |name: &str| sums.deviations()[name].as_f64().unwrap();
        assert!(
            found("moment_2") > 10.0 && found("chi_square") > 2.0 && found("other_agent") > 100.0
        );
    }
}
