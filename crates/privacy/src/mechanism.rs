//! From a private value to a release.

use crate::ball;
use crate::noise::{laplace_rounding, noisy, noisy_laplace, noisy_spherical, spherical_laplace};
use crate::packed::{Packed, pack};
use crate::{Entry, Event, Receipt};
use rand::CryptoRng;
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

/// A value may not leave in another way than the one it was charged for.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("a release charged as {0:?} cannot leave this way")]
pub struct WrongEvent(Event);

impl Private {
    /// Marks a vector as private.
    pub fn new(values: Vec<f64>) -> Self {
        Self(values)
    }

    /// Releases the vector in the way it was charged: with the noise of the event, or as it is where
    /// the event promises none.
    ///
    /// Refused for any other event, so that a guarantee can never be charged and then not kept.
    ///
    /// ```
    /// use dzoa_privacy::{Event, Ledger, Private, noise};
    /// use rand::{SeedableRng, rngs::StdRng};
    /// let event = Event::discrete_gaussian(0.1, 0.5, 2, 1);
    /// let receipt = Ledger::default().charge(event, "round 1")?;
    /// let release = Private::new(vec![1.0, 2.0]).release(receipt, &mut StdRng::seed_from_u64(0));
    /// assert_ne!(&release.unwrap()[..], &[1.0, 2.0]);
    /// # Ok::<(), dzoa_privacy::Refused>(())
    /// ```
    pub fn release(
        mut self,
        receipt: Receipt,
        rng: &mut impl CryptoRng,
    ) -> Result<Release, WrongEvent> {
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

/// A loop whose every look at the data is a noisy vector of scalars. What the loop computes from
/// them, and from public values, is a function of releases.
pub struct NoisyScalars {
    sigma: f64,
    coordinates: u64,
    left: u64,
    event: Event,
}

impl NoisyScalars {
    /// As many looks as the receipt was charged for.
    pub fn new(receipt: Receipt) -> Result<Self, WrongEvent> {
        match receipt.event {
            Event::DiscreteGaussian { sigma, coordinates, count, .. } => {
                Ok(Self { sigma, coordinates, left: count, event: receipt.event })
            }
            event => Err(WrongEvent(event)),
        }
    }

    /// One look: adds the noise to the scalars, in place.
    pub fn look(
        &mut self,
        scalars: &mut [f64],
        rng: &mut impl CryptoRng,
    ) -> Result<(), WrongEvent> {
        if self.left == 0 || scalars.len() as u64 != self.coordinates {
            scalars.fill(0.0);
            return Err(WrongEvent(self.event));
        }
        self.left -= 1;
        scalars.iter_mut().for_each(|value| *value = noisy(*value, self.sigma, rng));
        Ok(())
    }

    /// The result of the loop, computed from noisy looks and public values alone.
    pub fn finish(self, result: Vec<f64>) -> Release {
        Release(result.into())
    }
}

/// Objective perturbation (Chaudhuri, Monteleoni, Sarwate 2011): the objective gets a random linear
/// term, and its minimiser may be released.
///
/// Let `J_D(w)` be `A`-strongly convex with a smooth data term, `b` the random term, `w` the minimiser
/// of `J_D(w) + b'w`. Then `b = -grad J_D(w)` is a smooth bijection, so that the density of `w` is that
/// of `b` times `|det Hess J_D(w)|`. Replacing one row changes `b` by at most `gradient`, so the density
/// of the noise by a factor of at most `exp(gradient/scale)`; and with `A <= H`, the Hessian of everything
/// but the two rows, `det(H + a x x') = det(H) (1 + a x' H^-1 x)` bounds the determinants' ratio by
/// `1 + a/A`, its logarithm by `log_determinant`. A regulariser with kinks is the limit of smooth ones,
/// and pure privacy survives limits (Kifer, Smith, Thakurta 2012).
///
/// The minimiser is only known to within a tolerance on either data set: spherical noise of
/// `output_scale` on top pays for twice that, as a second release about the first.
pub struct NoisyObjective {
    event: Event,
}

impl NoisyObjective {
    /// The linear term for an objective of so many coordinates; zero where nothing is promised.
    pub fn new(
        receipt: Receipt,
        dim: usize,
        rng: &mut impl CryptoRng,
    ) -> Result<(Vec<f64>, Self), WrongEvent> {
        let linear = match receipt.event {
            Event::Unprotected => vec![0.0; dim],
            Event::ObjectivePerturbation { scale, coordinates, .. }
                if coordinates == dim as u64 =>
            {
                spherical_laplace(dim, rng).iter().map(|noise| noise * scale).collect()
            }
            event => return Err(WrongEvent(event)),
        };
        Ok((linear, Self { event: receipt.event }))
    }

    /// How near the minimiser must be found on every data set; `None` where nothing is promised.
    pub fn tolerance(&self) -> Option<f64> {
        match self.event {
            Event::ObjectivePerturbation { tolerance, output_scale, coordinates, .. } => {
                let grid = laplace_rounding(output_scale, coordinates as usize);
                Some(0.5 * (tolerance - grid) * (1.0 - 1e-12))
            }
            _ => None,
        }
    }

    /// Releases the minimiser, known to within the tolerance that was charged.
    pub fn finish(self, mut minimiser: Vec<f64>, rng: &mut impl CryptoRng) -> Release {
        if let Event::ObjectivePerturbation { output_scale, .. } = self.event {
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

    /// The release with a seal that binds it to the entry that paid for it: what a journal keeps.
    ///
    /// ```
    /// use dzoa_privacy::{Event, Ledger, Private};
    /// use rand::{SeedableRng, rngs::StdRng};
    /// let mut ledger = Ledger::default();
    /// let receipt = ledger.charge(Event::Unprotected, "round 1")?;
    /// let release = Private::new(vec![1.0]).release(receipt, &mut StdRng::seed_from_u64(0)).unwrap();
    /// let kept = release.seal(&ledger.entries()[0]);
    /// // After a crash: the same charge, the same bytes.
    /// let again = Ledger::default().charge(Event::Unprotected, "round 1")?;
    /// assert_eq!(kept.reopen(again).unwrap(), release);
    /// # Ok::<(), dzoa_privacy::Refused>(())
    /// ```
    pub fn seal(&self, entry: &Entry) -> Sealed {
        Sealed { values: Packed(self.0.clone()), seal: seal(&entry.hash, &self.0) }
    }
}

/// A release at rest. It becomes a [`Release`] again only with a receipt for the same entry of the same
/// ledger, so that what is sent after a restart was charged, and is what was charged for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sealed {
    values: Packed,
    seal: [u8; 32],
}

/// A sealed release that does not belong to the receipt, or was changed.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the kept release does not belong to this entry of the ledger, or was changed")]
pub struct BrokenSeal;

impl Sealed {
    /// The release that was sealed.
    pub fn reopen(self, receipt: Receipt) -> Result<Release, BrokenSeal> {
        let hash = blake3::Hash::from(receipt.head).to_hex();
        if self.seal != seal(&hash, &self.values) {
            return Err(BrokenSeal);
        }
        Ok(Release(self.values.0))
    }

    /// What was released.
    pub fn values(&self) -> &[f64] {
        &self.values
    }
}

fn seal(entry: &str, values: &[f64]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("dzoa 2026 sealed release");
    hasher.update(entry.as_bytes());
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
    use crate::Ledger;
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    #[test]
    fn a_promise_of_noise_is_kept_or_nothing_leaves() {
        let mut rng = StdRng::seed_from_u64(1);
        let noisy = Ledger::default().charge(Event::discrete_gaussian(1.0, 1.0, 1, 1), "").unwrap();
        assert_ne!(Private::new(vec![0.5]).release(noisy, &mut rng).unwrap()[0], 0.5);
        for event in [
            Event::Gaussian { sensitivity: 1.0, sigma: 1.0 },
            Event::Pure { epsilon: 1.0 },
            // Charged for one coordinate, or for several vectors.
            Event::discrete_gaussian(1.0, 1.0, 1, 1),
            Event::discrete_gaussian(1.0, 1.0, 2, 2),
        ] {
            let receipt = Ledger::default().charge(event, "").unwrap();
            assert!(Private::new(vec![0.0; 2]).release(receipt, &mut rng).is_err(), "{event:?}");
        }
    }

    #[test]
    fn a_loop_has_as_many_looks_as_were_charged() {
        let mut rng = StdRng::seed_from_u64(1);
        let receipt =
            Ledger::default().charge(Event::discrete_gaussian(1.0, 1.0, 2, 3), "").unwrap();
        let mut scalars = NoisyScalars::new(receipt).unwrap();
        for _ in 0..3 {
            scalars.look(&mut [1.0, 2.0], &mut rng).unwrap();
        }
        let mut fourth = [1.0, 2.0];
        assert!(scalars.look(&mut fourth, &mut rng).is_err());
        assert_eq!(fourth, [0.0; 2], "a look that was not paid for shows nothing");
    }

    #[test]
    fn a_kept_release_opens_only_with_the_charge_it_was_made_for() {
        let mut ledger = Ledger::default();
        let event = Event::discrete_gaussian(1.0, 1.0, 1, 1);
        let receipt = ledger.charge(event, "round 1").unwrap();
        let mut rng = StdRng::seed_from_u64(1);
        let release = Private::new(vec![0.5]).release(receipt, &mut rng).unwrap();
        let kept = release.seal(&ledger.entries()[0]);
        let other = Ledger::default().charge(event, "round 2").unwrap();
        assert_eq!(kept.clone().reopen(other), Err(BrokenSeal));
        let same = || Ledger::default().charge(event, "round 1").unwrap();
        let changed = Sealed { values: Packed(vec![0.5].into()), ..kept.clone() };
        assert_eq!(changed.reopen(same()), Err(BrokenSeal), "no other vector under this seal");
        assert_eq!(kept.reopen(same()), Ok(release));
    }

    #[test]
    fn private_values_are_not_printed() {
        assert_eq!(format!("{:?}", Private::new(vec![42.0])), "Private(1 hidden values)");
    }
}
