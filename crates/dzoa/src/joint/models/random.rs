//! Public randomness that every processor draws alike.

use rand::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

/// Numbers that everybody draws.
#[derive(Clone, Debug)]
pub(super) struct Public(Xoshiro256PlusPlus);

impl Public {
    /// For one purpose.
    pub fn new(purpose: &str) -> Self {
        Self(Xoshiro256PlusPlus::from_seed(blake3::derive_key(purpose, &[])))
    }

    /// Nearly normal, by additions alone: mean 0, variance 1.
    pub fn normal(&mut self) -> f64 {
        let uniform = |_| (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        (0..12).map(uniform).sum::<f64>() - 6.0
    }

    /// A point of the unit sphere.
    pub fn direction(&mut self, n: usize) -> Vec<f64> {
        let direction: Vec<f64> = (0..n).map(|_| self.normal()).collect();
        let long = super::interpolation::length(&direction);
        direction.iter().map(|d| d / if long > 0.0 { long } else { 1.0 }).collect()
    }
}
