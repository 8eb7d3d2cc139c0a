//! Directions that all agents have in common.

use crate::problem::{Directions, Probe};
use rand::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

/// What is left of a direction after those before it are taken out of it, at least. Below that it
/// is drawn again.
const LEFT: f64 = 1e-3;

/// Orthonormal directions, and how far values along them lie apart. Public.
#[derive(Clone, Debug)]
pub struct DirectionFrame {
    directions: Directions,
    columns: usize,
    half: f64,
}

impl DirectionFrame {
    /// The axes: where as many values are asked for as there are columns, any frame gives the same
    /// estimate, and this one costs nothing.
    pub fn axes(columns: usize, half: f64) -> Self {
        Self::of(columns, half, (0..columns).map(|p| axis(columns, p)).collect())
    }

    /// So many random directions at right angles, from public bytes.
    ///
    /// Signs, then Gram and Schmidt: additions, products and square roots only, so that every
    /// processor finds the same bits.
    pub fn random(columns: usize, count: usize, half: f64, seed: [u8; 32]) -> Self {
        let count = count.min(columns);
        let mut rng = Xoshiro256PlusPlus::from_seed(seed);
        let mut frame: Vec<Vec<f64>> = Vec::with_capacity(count);
        while frame.len() < count {
            let sign = |rng: &mut Xoshiro256PlusPlus| (rng.next_u64() >> 63) as f64 * 2.0 - 1.0;
            let mut new: Vec<f64> = (0..columns).map(|_| sign(&mut rng)).collect();
            let before = length(&new);
            // Twice is enough.
            for _ in 0..2 {
                for known in &frame {
                    let along: f64 = known.iter().zip(&new).map(|(a, b)| a * b).sum();
                    new.iter_mut().zip(known).for_each(|(new, known)| *new -= along * known);
                }
            }
            let left = length(&new);
            if left > LEFT * before {
                new.iter_mut().for_each(|value| *value /= left);
                frame.push(new);
            }
        }
        Self::of(columns, half, frame)
    }

    fn of(columns: usize, half: f64, frame: Vec<Vec<f64>>) -> Self {
        let count = frame.len();
        let mut directions = Directions::default();
        directions.resize(columns, count);
        for (p, line) in directions.values_mut().chunks_exact_mut(2 * count).enumerate() {
            for (j, direction) in frame.iter().enumerate() {
                line[j] = direction[p];
                line[count + j] = direction[p];
            }
        }
        Self { directions, columns, half }
    }

    /// J.
    pub fn count(&self) -> usize {
        self.directions.count()
    }

    /// h: values are asked for at `w - h d` and `w + h d`.
    pub fn half(&self) -> f64 {
        self.half
    }

    /// The question to an objective at this point.
    pub fn probe<'a>(&'a self, point: &'a [f64]) -> Probe<'a> {
        Probe { point, u1: -self.half, u2: 2.0 * self.half, directions: &self.directions }
    }

    /// `U' w`: the coordinates of a vector along the directions.
    pub fn along(&self, w: &[f64]) -> Vec<f64> {
        let mut along = vec![0.0; self.count()];
        for (p, w) in w.iter().enumerate() {
            let (line, _) = self.directions.feature(p);
            along.iter_mut().zip(line).for_each(|(along, d)| *along += d * w);
        }
        along
    }

    /// `(P/J) U m`: what the sum of quotients says about the gradient. Over all frames its mean is
    /// the gradient.
    pub fn lift(&self, sum: &[f64]) -> Vec<f64> {
        let factor = self.columns as f64 / self.count() as f64;
        let coordinate = |p: usize| {
            let (line, _) = self.directions.feature(p);
            factor * line.iter().zip(sum).map(|(d, m)| d * m).sum::<f64>()
        };
        (0..self.columns).map(coordinate).collect()
    }
}

fn axis(columns: usize, p: usize) -> Vec<f64> {
    (0..columns).map(|q| f64::from(u8::from(p == q))).collect()
}

fn length(vector: &[f64]) -> f64 {
    vector.iter().map(|value| value * value).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_are_orthonormal_and_a_full_frame_gives_the_vector_back() {
        for (columns, count) in [(1, 1), (2, 2), (7, 3), (7, 7), (40, 12)] {
            let frame = DirectionFrame::random(columns, count, 0.1, [3; 32]);
            assert_eq!(frame.count(), count);
            for j in 0..count {
                let unit: Vec<f64> = (0..count).map(|i| f64::from(u8::from(i == j))).collect();
                let direction = frame.lift(&unit);
                let scaled = columns as f64 / count as f64;
                assert!((length(&direction) - scaled).abs() < 1e-12);
                let dots = frame.along(&direction);
                for (i, dot) in dots.iter().enumerate() {
                    let expected = if i == j { scaled } else { 0.0 };
                    assert!((dot - expected).abs() < 1e-12, "{i} {j} {dot}");
                }
            }
        }
        let w = [0.5, -2.0, 3.0];
        for frame in [DirectionFrame::random(3, 3, 0.1, [1; 32]), DirectionFrame::axes(3, 0.1)] {
            let back = frame.lift(&frame.along(&w));
            assert!(back.iter().zip(w).all(|(a, b)| (a - b).abs() < 1e-12), "{back:?}");
        }
    }

    #[test]
    fn the_mean_over_frames_is_the_vector() {
        // Signs have mean outer product I, and a frame is as likely with any sign of its axes.
        let w = [1.0, -0.5, 0.25, 2.0];
        let mut mean = [0.0; 4];
        const FRAMES: u16 = 4000;
        for i in 0..FRAMES {
            // As good as any: a hash.
            let seed = blake3::derive_key("frames of a test", &i.to_le_bytes());
            let frame = DirectionFrame::random(4, 2, 0.1, seed);
            let estimate = frame.lift(&frame.along(&w));
            mean.iter_mut().zip(estimate).for_each(|(mean, e)| *mean += e / f64::from(FRAMES));
        }
        // The standard error of a coordinate is below 2.5/sqrt(4000) = 0.04: five of them.
        assert!(mean.iter().zip(w).all(|(mean, w)| (mean - w).abs() < 0.2), "{mean:?}");
    }
}
