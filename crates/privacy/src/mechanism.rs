//! From a private value to a release.

use crate::noise::noisy;
use crate::{Event, Receipt};
use rand::CryptoRng;
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

    /// Releases the vector as it is, for events that promise no added noise.
    ///
    /// Refused for an event that does promise noise, so that a guarantee can never be charged and
    /// then not kept.
    pub fn release(self, receipt: Receipt) -> Result<Release, WrongEvent> {
        match receipt.event {
            Event::Nominal { .. } | Event::Unprotected => Ok(Release(self.0.into())),
            event => Err(WrongEvent(event)),
        }
    }

    /// Releases the vector with the discrete Gaussian noise that was charged.
    ///
    /// ```
    /// use dzoa_privacy::{Event, Ledger, Private, noise};
    /// use rand::{SeedableRng, rngs::StdRng};
    /// let sigma = 0.5;
    /// let event = Event::DiscreteGaussian {
    ///     sensitivity: 0.1 + noise::rounding(sigma, 2), sigma, step: noise::step(sigma),
    ///     coordinates: 2, count: 1,
    /// };
    /// let receipt = Ledger::default().charge(event, "round 1")?;
    /// let release = Private::new(vec![1.0, 2.0]).release_with_noise(receipt, &mut StdRng::seed_from_u64(0));
    /// assert_ne!(&release.unwrap()[..], &[1.0, 2.0]);
    /// # Ok::<(), dzoa_privacy::Refused>(())
    /// ```
    pub fn release_with_noise(
        mut self,
        receipt: Receipt,
        rng: &mut impl CryptoRng,
    ) -> Result<Release, WrongEvent> {
        match receipt.event {
            Event::DiscreteGaussian { sigma, coordinates, count: 1, .. }
                if coordinates == self.0.len() as u64 =>
            {
                self.0.iter_mut().for_each(|value| *value = noisy(*value, sigma, rng));
                Ok(Release(self.0.into()))
            }
            event => Err(WrongEvent(event)),
        }
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

    fn discrete(coordinates: u64, count: u64) -> Event {
        let sigma = 1.0;
        let step = crate::noise::step(sigma);
        Event::DiscreteGaussian { sensitivity: 1.0, sigma, step, coordinates, count }
    }

    #[test]
    fn a_promise_of_noise_cannot_be_released_without_it() {
        let receipt = Ledger::default().charge(discrete(1, 1), "").unwrap();
        assert!(Private::new(vec![0.0]).release(receipt).is_err());
    }

    #[test]
    fn noise_is_not_added_to_more_than_was_charged() {
        let mut rng = StdRng::seed_from_u64(1);
        let receipt = Ledger::default().charge(discrete(1, 1), "").unwrap();
        assert!(Private::new(vec![0.0; 2]).release_with_noise(receipt, &mut rng).is_err());
        let receipt = Ledger::default().charge(discrete(2, 3), "").unwrap();
        let mut scalars = NoisyScalars::new(receipt).unwrap();
        for _ in 0..3 {
            scalars.look(&mut [1.0, 2.0], &mut rng).unwrap();
        }
        let mut fourth = [1.0, 2.0];
        assert!(scalars.look(&mut fourth, &mut rng).is_err());
        assert_eq!(fourth, [0.0; 2], "a look that was not paid for shows nothing");
    }

    #[test]
    fn private_values_are_not_printed() {
        assert_eq!(format!("{:?}", Private::new(vec![42.0])), "Private(1 hidden values)");
    }
}
