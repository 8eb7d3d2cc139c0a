//! From a private value to a release.

use crate::{Event, Receipt};
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

impl Private {
    /// Marks a vector as private.
    pub fn new(values: Vec<f64>) -> Self {
        Self(values)
    }

    /// Releases the vector as it is, for events that promise no added noise.
    ///
    /// Refused for an event that does promise noise, so that a guarantee can never be charged and
    /// then not kept.
    pub fn release(self, receipt: Receipt) -> Result<Release, NeedsNoise> {
        match receipt.event {
            Event::Nominal { .. } | Event::Unprotected => Ok(Release(self.0.into())),
            event => Err(NeedsNoise(event)),
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

/// A value may not leave without the noise that its event promises.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("a release charged as {0:?} must add noise")]
pub struct NeedsNoise(Event);

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

    #[test]
    fn a_promise_of_noise_cannot_be_released_without_it() {
        let receipt = Ledger::default().charge(Event::Gaussian { sensitivity: 1.0, sigma: 1.0 });
        assert!(Private::new(vec![0.0]).release(receipt).is_err());
    }

    #[test]
    fn private_values_are_not_printed() {
        assert_eq!(format!("{:?}", Private::new(vec![42.0])), "Private(1 hidden values)");
    }
}
