//! The ledger: what was charged before it was released.

use crate::{Claim, Event};

/// Every release about one data set, in order.
///
/// ```
/// use dzoa_privacy::{Event, Ledger, Private};
/// let mut ledger = Ledger::default();
/// let receipt = ledger.charge(Event::Unprotected);
/// let release = Private::new(vec![1.0, 2.0]).release(receipt).unwrap();
/// assert_eq!(&release[..], &[1.0, 2.0]);
/// assert_eq!(ledger.events().len(), 1);
/// ```
///
/// A receipt cannot be made elsewhere:
///
/// ```compile_fail
/// let forged = dzoa_privacy::Receipt { event: dzoa_privacy::Event::Unprotected };
/// ```
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    events: Vec<Event>,
}

/// Proof that a release was charged. Used up by the release.
#[derive(Debug)]
pub struct Receipt {
    pub(crate) event: Event,
}

impl Ledger {
    /// Writes the event down and hands out the one receipt for it.
    pub fn charge(&mut self, event: Event) -> Receipt {
        self.events.push(event);
        Receipt { event }
    }

    /// Everything charged so far.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The weakest claim among the releases: one unprotected release spoils all others.
    pub fn claim(&self) -> Claim {
        self.events.iter().map(Event::claim).min().unwrap_or(Claim::None)
    }
}
