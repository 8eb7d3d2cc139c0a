//! From a private value to a release.

use crate::ball;
use crate::noise::{laplace_rounding, noisy, noisy_laplace, noisy_spherical, spherical_laplace};
use crate::packed::{Packed, pack};
use crate::{Charge, Digest, Event, Receipt};
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use serde::{Deserialize, Serialize};
use std::{fmt, ops::Deref, sync::Arc};
use thiserror::Error;

/// A vector that depends on private rows. It cannot be read outside the agent that made it, except
/// by way of a [`Release`].
///
/// ```compile_fail
/// let secret = dzoa_privacy::Private::new(vec![1.0]);
/// println!("{}", secret[0]);
/// ```
pub struct Private(Vec<f64>);

/// The secret that an agent's privacy noise follows from.
///
/// The noise of a release is a function of this key, of the charge that pays for it, and of the
/// value that it hides. The same charge and value give the same bits again, after any crash.
/// Another value, or the same value made from other inputs, meets fresh noise: two releases never
/// have noise in common, so that no difference of two is free of it.
#[derive(Clone)]
pub struct NoiseKey([u8; 32]);

impl NoiseKey {
    /// From a secret. Whoever knows it can subtract the noise.
    pub fn new(secret: [u8; 32]) -> Self {
        Self(secret)
    }

    /// The generator for what this receipt pays for, and for a value that it hides (none for noise
    /// that comes before the value). `part` tells several draws under one receipt apart.
    pub fn generator(&self, receipt: &Receipt, part: u64, value: &[f64]) -> ChaCha20Rng {
        self.keyed(&receipt.id, part, value)
    }

    fn keyed(&self, id: &Digest, part: u64, value: &[f64]) -> ChaCha20Rng {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(&id.0).update(&part.to_le_bytes()).update(&pack(value));
        ChaCha20Rng::from_seed(*hasher.finalize().as_bytes())
    }
}

impl fmt::Debug for NoiseKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NoiseKey(hidden)")
    }
}

/// A value may not leave in another way than the one it was charged for.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("a release charged as {0:?} cannot leave this way")]
pub struct WrongEvent(pub(crate) Event);

impl Private {
    /// Marks a vector as private.
    pub fn new(values: Vec<f64>) -> Self {
        Self(values)
    }

    /// Releases the vector in the way it was charged: with the noise of the event, or as it is
    /// where the event has none.
    ///
    /// Refused for any other event, so that no guarantee is charged that does not hold.
    ///
    /// ```
    /// use dzoa_privacy::{Event, Ledger, NoiseKey, Private};
    /// let event = Event::discrete_gaussian(0.1, 0.5, 2, 1);
    /// let receipt = Ledger::default().charge(event.query(1))?;
    /// let release = Private::new(vec![1.0, 2.0]).release(receipt, &NoiseKey::new([7; 32]));
    /// assert_ne!(&release.unwrap()[..], &[1.0, 2.0]);
    /// # Ok::<(), dzoa_privacy::ChargeRefused>(())
    /// ```
    pub fn release(mut self, receipt: Receipt, key: &NoiseKey) -> Result<Release, WrongEvent> {
        let rng = &mut key.generator(&receipt, 0, &self.0);
        match receipt.event {
            Event::Nominal { .. } | Event::Unprotected => {}
            Event::DiscreteGaussian { sigma, coordinates, count: 1, .. }
                if coordinates == self.0.len() as u64 =>
            {
                self.0.iter_mut().for_each(|value| *value = noisy(*value, sigma, rng));
            }
            Event::Laplace { scale, coordinates, .. } if coordinates == self.0.len() as u64 => {
                self.0.iter_mut().for_each(|value| *value = noisy_laplace(*value, scale, rng));
            }
            Event::SphericalLaplace { scale, coordinates, .. }
                if coordinates == self.0.len() as u64 =>
            {
                noisy_spherical(&mut self.0, scale, rng);
            }
            event => return Err(WrongEvent(event)),
        }
        Ok(Release(self.0.into()))
    }

    /// The number of coordinates, which is public.
    pub fn dim(&self) -> usize {
        self.0.len()
    }
}

impl fmt::Debug for Private {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Private({} hidden values)", self.0.len())
    }
}

/// A loop whose every query of the data is answered by a noisy vector of scalars. What the loop
/// computes from them, and from public values, is a function of releases.
pub struct NoisyScalars {
    sigma: f64,
    coordinates: u64,
    left: u64,
    receipt: Receipt,
    key: NoiseKey,
}

impl NoisyScalars {
    /// As many answers as the receipt was charged for.
    pub fn new(receipt: Receipt, key: &NoiseKey) -> Result<Self, WrongEvent> {
        match receipt.event {
            Event::DiscreteGaussian { sigma, coordinates, count, .. } => {
                Ok(Self { sigma, coordinates, left: count, receipt, key: key.clone() })
            }
            event => Err(WrongEvent(event)),
        }
    }

    /// One answer: adds the noise to the scalars, in place.
    pub fn answer(&mut self, scalars: &mut [f64]) -> Result<(), WrongEvent> {
        if self.left == 0 || scalars.len() as u64 != self.coordinates {
            scalars.fill(0.0);
            return Err(WrongEvent(self.receipt.event));
        }
        let rng = &mut self.key.generator(&self.receipt, self.left, scalars);
        self.left -= 1;
        scalars.iter_mut().for_each(|value| *value = noisy(*value, self.sigma, rng));
        Ok(())
    }

    /// The result of the loop, computed from noisy answers and public values alone.
    pub fn finish(self, result: Vec<f64>) -> Release {
        Release(result.into())
    }
}

/// Objective perturbation (Chaudhuri, Monteleoni, Sarwate 2011): the objective gets a random linear
/// term, and its minimiser may be released.
///
/// Let `J_D(w)` be `A`-strongly convex with a smooth data term, `b` the random term, `w` the
/// minimiser of `J_D(w) + b'w`. Then `b = -grad J_D(w)` is a smooth bijection, so that the density
/// of `w` is that of `b` times `|det Hess J_D(w)|`. Replacing one row changes `b` by at most
/// `gradient`, so the density of the noise by a factor of at most `exp(gradient/scale)`; and with
/// `A <= H`, the Hessian of everything but the two rows, `det(H + a x x') = det(H) (1 + a x' H^-1
/// x)` bounds the determinants' ratio by `1 + a/A`, its logarithm by `log_determinant`. A
/// regulariser with kinks is the limit of smooth ones, and pure privacy survives limits (Kifer,
/// Smith, Thakurta 2012).
///
/// The minimiser is only known to within a tolerance on either data set: spherical noise of
/// `output_scale` on top pays for twice that, as a second release about the first.
pub struct NoisyObjective {
    receipt: Receipt,
    key: NoiseKey,
}

impl NoisyObjective {
    /// The linear term for an objective of so many coordinates; zero where nothing is guaranteed.
    pub fn new(
        receipt: Receipt,
        dim: usize,
        key: &NoiseKey,
    ) -> Result<(Vec<f64>, Self), WrongEvent> {
        // Drawn before anything is computed: it follows from the charge alone.
        let rng = &mut key.generator(&receipt, 1, &[]);
        let linear = match receipt.event {
            Event::Unprotected => vec![0.0; dim],
            Event::ObjectivePerturbation { scale, coordinates, .. }
                if coordinates == dim as u64 =>
            {
                spherical_laplace(dim, rng).iter().map(|noise| noise * scale).collect()
            }
            event => return Err(WrongEvent(event)),
        };
        Ok((linear, Self { receipt, key: key.clone() }))
    }

    /// How near the minimiser must be found on every data set; `None` where nothing is guaranteed.
    pub fn tolerance(&self) -> Option<f64> {
        match self.receipt.event {
            Event::ObjectivePerturbation { tolerance, output_scale, coordinates, .. } => {
                let grid = laplace_rounding(output_scale, coordinates as usize);
                Some(0.5 * (tolerance - grid) * (1.0 - 1e-12))
            }
            _ => None,
        }
    }

    /// Releases the minimiser, known to within the tolerance that was charged.
    pub fn finish(self, mut minimiser: Vec<f64>) -> Release {
        if let Event::ObjectivePerturbation { output_scale, .. } = self.receipt.event {
            let rng = &mut self.key.generator(&self.receipt, 2, &minimiser);
            noisy_spherical(&mut minimiser, output_scale, rng);
        }
        Release(minimiser.into())
    }
}

/// A vector that was charged and may be sent.
///
/// ```compile_fail
/// let forged = dzoa_privacy::Release(std::sync::Arc::from(vec![1.0]));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Release(Arc<[f64]>);

impl Release {
    /// The released values, shared.
    pub fn values(&self) -> &Arc<[f64]> {
        &self.0
    }

    /// The release moved into the ball of a public radius, if it lies outside: a function of the
    /// release and of nothing else, so it costs nothing.
    pub fn within(self, radius: f64) -> Self {
        Self(ball::project(self.0, radius))
    }

    /// The release with a seal that binds it to the charge that paid for it: what a journal
    /// persists.
    ///
    /// ```
    /// use dzoa_privacy::{Event, Ledger, NoiseKey, Private};
    /// let mut ledger = Ledger::default();
    /// let receipt = ledger.charge(Event::Unprotected.query(1))?;
    /// let release = Private::new(vec![1.0]).release(receipt, &NoiseKey::new([0; 32])).unwrap();
    /// let sealed = release.seal(ledger.charges().next().unwrap());
    /// // After a crash: the same charge, the same bytes.
    /// let again = ledger.charge(Event::Unprotected.query(1))?;
    /// assert_eq!(sealed.reopen(again).unwrap(), release);
    /// # Ok::<(), dzoa_privacy::ChargeRefused>(())
    /// ```
    pub fn seal(&self, charge: &Charge) -> Sealed {
        Sealed { values: Packed(self.0.clone()), seal: seal(&charge.id(), &self.0) }
    }
}

/// A release at rest. It becomes a [`Release`] again only with a receipt for the same charge, so
/// that what is sent after a restart was charged, and is what was charged for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sealed {
    values: Packed,
    seal: [u8; 32],
}

/// A sealed release that does not belong to the receipt, or was changed.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the persisted release does not belong to this charge, or was changed")]
pub struct BrokenSeal;

impl Sealed {
    /// The release that was sealed.
    pub fn reopen(self, receipt: Receipt) -> Result<Release, BrokenSeal> {
        if self.seal != seal(&receipt.id, &self.values) {
            return Err(BrokenSeal);
        }
        Ok(Release(self.values.0))
    }

    /// What was released.
    pub fn values(&self) -> &[f64] {
        &self.values
    }
}

fn seal(charge: &Digest, values: &[f64]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("dzoa 2026 sealed release");
    hasher.update(&charge.0);
    // All at once: the hash has a price per call that is many times that of eight bytes.
    hasher.update(&pack(values));
    *hasher.finalize().as_bytes()
}

impl Deref for Release {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ledger, Query};

    const KEY: NoiseKey = NoiseKey([1; 32]);

    fn charged(query: Query) -> Receipt {
        Ledger::default().charge(query).unwrap()
    }

    #[test]
    fn a_guarantee_of_noise_holds_or_nothing_leaves() {
        let noisy = charged(Event::discrete_gaussian(1.0, 1.0, 1, 1).query(1));
        assert_ne!(Private::new(vec![0.5]).release(noisy, &KEY).unwrap()[0], 0.5);
        for event in [
            Event::Gaussian { sensitivity: 1.0, sigma: 1.0 },
            Event::Pure { epsilon: 1.0 },
            // Charged for one coordinate, or for several vectors.
            Event::discrete_gaussian(1.0, 1.0, 1, 1),
            Event::discrete_gaussian(1.0, 1.0, 2, 2),
        ] {
            let receipt = charged(event.query(1));
            assert!(Private::new(vec![0.0; 2]).release(receipt, &KEY).is_err(), "{event:?}");
        }
    }

    #[test]
    fn a_loop_has_as_many_answers_as_were_charged_each_with_noise_of_its_own() {
        let receipt = charged(Event::discrete_gaussian(1.0, 1.0, 2, 3).query(1));
        let mut scalars = NoisyScalars::new(receipt, &KEY).unwrap();
        let mut answers = Vec::new();
        for _ in 0..3 {
            let mut answer = [1.0, 2.0];
            scalars.answer(&mut answer).unwrap();
            answers.push(answer);
        }
        assert!(answers[0] != answers[1] && answers[1] != answers[2] && answers[0] != answers[2]);
        let mut fourth = [1.0, 2.0];
        assert!(scalars.answer(&mut fourth).is_err());
        assert_eq!(fourth, [0.0; 2], "a query that was not paid for shows nothing");
    }

    /// Break 1: the difference of two releases of one round was free of noise.
    #[test]
    fn the_same_inputs_give_the_same_bits_and_others_fresh_noise() {
        let event = Event::discrete_gaussian(1.0, 1.0, 1, 1);
        let release = |query: Query, value: f64| {
            Private::new(vec![value]).release(charged(query), &KEY).unwrap()[0]
        };
        let query = event.query(1);
        let first = release(query.clone(), 0.5);
        assert_eq!(first.to_bits(), release(query.clone(), 0.5).to_bits(), "the same bits again");
        let others = [
            // Another value under the same charge: noise of its own, not the same noise on another
            // value.
            (query.clone(), 0.25),
            (Query { round: 2, ..query.clone() }, 0.5),
            (Query { run: [1; 16].into(), ..query.clone() }, 0.5),
            (Query { inputs: [1; 32].into(), ..query.clone() }, 0.5),
            (Query { program: "another".into(), ..query.clone() }, 0.5),
        ];
        for (other, value) in others {
            let shared = (release(other.clone(), value) - value) - (first - 0.5);
            assert!(shared.abs() > 1e-6, "{other:?} at {value} has the noise of the first");
        }
    }

    #[test]
    fn a_sealed_release_opens_only_with_the_charge_it_was_made_for() {
        let mut ledger = Ledger::default();
        let event = Event::discrete_gaussian(1.0, 1.0, 1, 1);
        let receipt = ledger.charge(event.query(1)).unwrap();
        let release = Private::new(vec![0.5]).release(receipt, &KEY).unwrap();
        let sealed = release.seal(ledger.charges().next().unwrap());
        assert_eq!(sealed.clone().reopen(charged(event.query(2))), Err(BrokenSeal));
        let same = || charged(event.query(1));
        let changed = Sealed { values: Packed(vec![0.5].into()), ..sealed.clone() };
        assert_eq!(changed.reopen(same()), Err(BrokenSeal), "no other vector under this seal");
        assert_eq!(sealed.reopen(same()), Ok(release));
    }

    #[test]
    fn private_values_and_keys_are_not_printed() {
        assert_eq!(format!("{:?}", Private::new(vec![42.0])), "Private(1 hidden values)");
        assert_eq!(format!("{KEY:?}"), "NoiseKey(hidden)");
    }
}
