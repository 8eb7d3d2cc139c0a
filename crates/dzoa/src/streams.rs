//! Randomness, as streams keyed by who asks, when, and what for.

use crate::kernels::normals::Normals;
use dzoa_privacy::{NoiseKey, RunId};
use rand::TryRng;
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

/// The fast generator behind generated data and layouts. Never used for privacy noise.
pub type FastRng = Xoshiro256PlusPlus;

/// What a stream is for. Two purposes never share random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Generated data sets.
    Data,
    /// Partitions of rows and random graphs.
    Layout,
    /// The directions nu1, nu2 of the inner loop.
    Directions,
    /// Repetitions of an inner loop, to measure its noise.
    Replicates,
    /// Privacy noise, always from a cryptographic generator.
    Noise,
    /// Directions along which a black box's curvature is measured.
    Curvature,
}

/// The root of all randomness of a run.
///
/// ```
/// use dzoa::streams::{Purpose, Streams};
/// use rand::Rng;
/// let streams = Streams::from_seed(1);
/// let mut one = streams.rng(Purpose::Directions, "cleveland", 3);
/// let mut same = streams.rng(Purpose::Directions, "cleveland", 3);
/// assert_eq!(one.next_u64(), same.next_u64());
/// ```
#[derive(Clone)]
pub struct Streams {
    key: [u8; 32],
    seeded: bool,
}

impl Streams {
    /// Reproducible streams. Whoever knows the seed can subtract the noise: for tests and figures.
    pub fn from_seed(seed: u64) -> Self {
        Self { key: blake3::derive_key("dzoa 2026 seed", &seed.to_le_bytes()), seeded: true }
    }

    /// Streams from the operating system's entropy.
    ///
    /// # Errors
    /// Where the operating system has none to give.
    pub fn from_os() -> Result<Self, rand::rngs::SysError> {
        let mut key = [0; 32];
        rand::rngs::SysRng.try_fill_bytes(&mut key)?;
        Ok(Self { key, seeded: false })
    }

    /// The streams of an earlier process.
    pub fn from_key(key: [u8; 32], seeded: bool) -> Self {
        Self { key, seeded }
    }

    /// The secret that everything follows from: for the journal of the agent that owns it, and
    /// nobody else.
    pub fn key(&self) -> [u8; 32] {
        self.key
    }

    /// Whether a seed made these streams.
    pub fn seeded(&self) -> bool {
        self.seeded
    }

    /// Independent streams for one of many trials.
    pub fn trial(&self, trial: u64) -> Self {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(b"trial").update(&trial.to_le_bytes());
        Self { key: *hasher.finalize().as_bytes(), seeded: self.seeded }
    }

    /// The generator for one agent (by name, so that relabelling agents changes nothing), one round
    /// and one purpose.
    pub fn rng(&self, purpose: Purpose, agent: &str, round: u64) -> FastRng {
        FastRng::from_seed(self.derive(purpose, agent, round))
    }

    /// The normals behind one agent's directions in one round, for every step.
    pub fn normals(&self, purpose: Purpose, agent: &str, round: u64) -> Normals {
        let mut bytes = [0; 256];
        self.hash(purpose, agent, round).finalize_xof().fill(&mut bytes);
        Normals::new(&bytes)
    }

    /// The secret of one agent's privacy noise. What is drawn with it depends on the charge that
    /// pays for it.
    pub fn noise_key(&self, agent: &str) -> NoiseKey {
        NoiseKey::new(self.derive(Purpose::Noise, agent, 0))
    }

    /// The name of the run that these streams are for: random, as their key is, and no secret.
    pub fn run_id(&self) -> RunId {
        let mut id = [0; 16];
        self.digest("run").finalize_xof().fill(&mut id);
        id.into()
    }

    /// A hash that only who has the key can compute: a digest of private values tells nobody
    /// else anything.
    pub fn digest(&self, purpose: &str) -> blake3::Hasher {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(b"digest").update(purpose.as_bytes());
        hasher
    }

    fn derive(&self, purpose: Purpose, agent: &str, round: u64) -> [u8; 32] {
        *self.hash(purpose, agent, round).finalize().as_bytes()
    }

    fn hash(&self, purpose: Purpose, agent: &str, round: u64) -> blake3::Hasher {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(&[purpose as u8]).update(&round.to_le_bytes()).update(agent.as_bytes());
        hasher
    }
}

impl std::fmt::Debug for Streams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The key is a secret: with it, every direction can be redrawn.
        write!(f, "Streams {{ seeded: {} }}", self.seeded)
    }
}

/// Fills a buffer with independent standard normals.
pub fn fill_normal(rng: &mut FastRng, out: &mut [f64]) {
    for value in out {
        *value = StandardNormal.sample(rng);
    }
}
