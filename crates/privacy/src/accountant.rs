//! Accountants: each reads the same events and says what they cost together.

use crate::{Event, gaussian, round_up};
use thiserror::Error;

/// An accountant was given an event it has no theory for. Nothing was composed.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("the {accountant} accountant cannot account for {event:?}")]
pub struct Unsupported {
    /// Name of the accountant.
    pub accountant: &'static str,
    /// The event it refused.
    pub event: Event,
}

/// Composes events and converts the total.
///
/// The contract, checked by one suite for every implementation: nothing composed costs 0; composing
/// more never costs less; the order does not matter; a refused event changes nothing; an event with
/// a number that is negative, infinite or none at all costs everything or is refused; and
/// [`Accountant::epsilon`] is an upper bound (except [`Theorem2`](crate::Theorem2),
/// which is the paper's own figure).
///
/// An upper bound for a *fixed* list of events, that is. Only [`ExactGaussian`] is proven as a
/// filter, where releases decide which events follow: the ledger uses no other.
pub trait Accountant {
    /// Adds one event.
    fn compose(&mut self, event: &Event) -> Result<(), Unsupported>;

    /// Total epsilon at this delta, over everything composed so far.
    #[doc(alias = "Definition 1")]
    #[doc(alias = "firstdef")]
    fn epsilon(&self, delta: f64) -> f64;
}

/// The exact cost of adaptively composed Gaussian mechanisms, and of pure ones among them.
///
/// Pure events alone cost the sum of their epsilons, at any delta. From the first Gaussian event
/// on everything is counted in mu, the pure events with [`gaussian::mu_of_pure`]: the total is
/// `epsilon(mu, delta)` with `mu^2` the sum of all squares, and never less than the sum of the
/// pure epsilons, so that a release never makes the total fall. (The sum of the pure epsilons
/// *plus* the epsilon of the Gaussian events is right for a fixed list of events only: an
/// adversary who picks the next event by what was released can make delta several times as large.)
///
/// **As a filter.** Let every event be charged before its release, chosen by anybody who sees all
/// releases before, and refused unless the total stays at or below a fixed epsilon at a fixed
/// delta. Then all releases together are `(epsilon, delta)`-DP. In short: a transcript without a
/// Gaussian event has a privacy loss of at most the sum of its pure epsilons, so at most epsilon,
/// and adds nothing to delta. All others have `mu^2` within the one bound that epsilon and delta
/// allow, where Gaussian DP may be composed fully adaptively (Smith, Thakurta 2022). The proof is
/// in docs/privacy.md.
///
/// ```
/// use dzoa_privacy::{Accountant, Event, ExactGaussian};
/// let mut total = ExactGaussian::default();
/// for _ in 0..200 {
///     total.compose(&Event::Gaussian { sensitivity: 1.0, sigma: 100.0 })?;
/// }
/// assert!(total.epsilon(1e-5) < 0.6);
/// # Ok::<(), dzoa_privacy::Unsupported>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ExactGaussian {
    /// Sum of (sensitivity/sigma)^2 over the Gaussian events.
    mu_squared: f64,
    /// Sum of the pure epsilons.
    pure: f64,
    /// What the pure events add to `mu_squared` beside a Gaussian event.
    pure_mu_squared: f64,
    /// What discrete noise adds to delta, divided by `1 + e^epsilon`.
    discrete: f64,
}

impl Accountant for ExactGaussian {
    fn compose(&mut self, event: &Event) -> Result<(), Unsupported> {
        match *event {
            // What was not described by numbers may have shown everything.
            event if !event.is_sound() => self.mu_squared = f64::INFINITY,
            event @ Event::JointSum { .. } => return self.compose(&event.as_seen()),
            Event::Gaussian { sensitivity, sigma } => {
                self.mu_squared = round_up(self.mu_squared + mu_squared(sensitivity, sigma));
            }
            // Beyond half a sigma the factor for the grid is not proven.
            Event::DiscreteGaussian { sensitivity, sigma, step, coordinates, count }
                if step <= 0.5 * sigma =>
            {
                let grid = if sigma > 0.0 { step / sigma } else { 0.0 };
                let spent = repeated(count, mu_squared(sensitivity, sigma)) * gaussian::grid(grid);
                self.mu_squared = round_up(self.mu_squared + spent);
                let releases = count as f64;
                self.discrete =
                    round_up(self.discrete + releases * coordinates as f64 * grid * grid / 40.0);
            }
            Event::Unprotected => self.mu_squared = f64::INFINITY,
            event => match event.pure_epsilon() {
                Some(epsilon) => {
                    self.pure = round_up(self.pure + epsilon);
                    let mu = gaussian::mu_of_pure(epsilon);
                    self.pure_mu_squared = round_up(self.pure_mu_squared + mu * mu);
                }
                // A nominal release may hold any amount of noise: no theory covers it.
                None => return Err(Unsupported { accountant: "exact Gaussian", event }),
            },
        }
        Ok(())
    }

    fn epsilon(&self, delta: f64) -> f64 {
        if self.mu_squared == 0.0 {
            return self.pure;
        }
        let mu = round_up((self.mu_squared + self.pure_mu_squared).sqrt());
        self.pure.max(discrete_epsilon(mu, self.discrete, delta))
    }
}

/// The smallest epsilon found with `delta_gaussian(epsilon) + (1 + e^epsilon) discrete <= delta`.
///
/// Never below `gaussian::epsilon(delta, mu)`, on which the proof of the filter rests: `mu`
/// already pays for the grid ([`gaussian::grid`]). The share of delta is the older and looser
/// account of the same thing; it stays, because noise is calibrated with it and a ledger's numbers
/// keep their meaning.
fn discrete_epsilon(mu: f64, discrete: f64, delta: f64) -> f64 {
    if discrete == 0.0 {
        return gaussian::epsilon(delta, mu);
    }
    // zCDP holds for discrete Gaussian noise as it stands: a valid start.
    let mut epsilon = gaussian::zcdp_epsilon(0.5 * mu * mu, delta);
    for share in [0.5, 0.999] {
        let candidate = gaussian::epsilon(share * delta, mu);
        if (1.0 + candidate.exp()) * discrete <= (1.0 - share) * delta {
            epsilon = epsilon.min(candidate);
        }
    }
    // What this epsilon leaves to the grid bounds what a smaller one needs: improve with it.
    for _ in 0..2 {
        let left = delta - (1.0 + epsilon.exp()) * discrete * (1.0 + 1e-12);
        if left > 0.0 {
            epsilon = epsilon.min(gaussian::epsilon(left * (1.0 - 1e-15), mu));
        }
    }
    epsilon
}

/// `(sensitivity/sigma)^2`; infinite without noise, and where an argument is no number.
pub(crate) fn mu_squared(sensitivity: f64, sigma: f64) -> f64 {
    if sensitivity == 0.0 {
        return 0.0;
    }
    if sigma > 0.0 && !sensitivity.is_nan() { (sensitivity / sigma).powi(2) } else { f64::INFINITY }
}

/// `count` times the cost of one: no vectors cost nothing, even without noise.
pub(crate) fn repeated(count: u64, cost: f64) -> f64 {
    if count == 0 { 0.0 } else { count as f64 * cost }
}

/// The cost in zero-concentrated DP: simpler, a little looser, and exact for discrete noise.
#[derive(Clone, Debug, Default)]
pub struct ZeroConcentrated {
    zcdp_rho: f64,
}

impl Accountant for ZeroConcentrated {
    fn compose(&mut self, event: &Event) -> Result<(), Unsupported> {
        let spent = match *event {
            event if !event.is_sound() => f64::INFINITY,
            event @ Event::JointSum { .. } => return self.compose(&event.as_seen()),
            Event::Gaussian { sensitivity, sigma } => 0.5 * mu_squared(sensitivity, sigma),
            Event::DiscreteGaussian { sensitivity, sigma, count, .. } => {
                0.5 * repeated(count, mu_squared(sensitivity, sigma))
            }
            Event::Unprotected => f64::INFINITY,
            event => match event.pure_epsilon() {
                Some(epsilon) => 0.5 * epsilon * epsilon,
                None => return Err(Unsupported { accountant: "zCDP", event }),
            },
        };
        self.zcdp_rho = round_up(self.zcdp_rho + spent);
        Ok(())
    }

    fn epsilon(&self, delta: f64) -> f64 {
        gaussian::zcdp_epsilon(self.zcdp_rho, delta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Renyi, Theorem2};

    const DELTA: f64 = 1e-5;

    fn contract<A: Accountant + Default + Clone>(events: [Event; 2], refused: Event) {
        let mut account = A::default();
        assert_eq!(account.epsilon(DELTA), 0.0, "nothing spent costs nothing");
        let mut last = 0.0;
        for event in [events[0], events[1], events[0]] {
            account.compose(&event).unwrap();
            let epsilon = account.epsilon(DELTA);
            assert!(epsilon >= last, "more releases never cost less");
            last = epsilon;
        }
        let mut other = A::default();
        for event in [events[1], events[0], events[0]] {
            other.compose(&event).unwrap();
        }
        assert!((other.epsilon(DELTA) / last - 1.0).abs() < 1e-12, "order does not matter");
        let before = account.clone();
        assert!(account.compose(&refused).is_err());
        assert_eq!(
            account.epsilon(DELTA),
            before.epsilon(DELTA),
            "a refused event changes nothing"
        );
    }

    #[test]
    fn every_accountant_keeps_the_contract() {
        let gaussian = [
            Event::Gaussian { sensitivity: 1.0, sigma: 30.0 },
            Event::Gaussian { sensitivity: 0.5, sigma: 2.0 },
        ];
        let nominal = Event::Nominal { epsilon: 0.15, delta: DELTA };
        let others = [
            Event::DiscreteGaussian {
                sensitivity: 1.0,
                sigma: 20.0,
                step: 20.0 * 2f64.powi(-32),
                coordinates: 10,
                count: 3,
            },
            Event::Pure { epsilon: 0.01 },
        ];
        let joint = |honest: u64, colluders: u32| Event::JointSum {
            sensitivity: 1.0,
            share: 9.0,
            step: 9.0 * 2f64.powi(-32),
            coordinates: 10,
            multiples: 2,
            honest,
            least: 1,
            agents: 9,
            colluders,
            context: Default::default(),
        };
        let pure = [
            Event::laplace(0.1, 30.0, 10),
            Event::ObjectivePerturbation {
                gradient: 0.001,
                scale: 0.1,
                log_determinant: 0.01,
                tolerance: 1e-9,
                output_scale: 1e-6,
                coordinates: 10,
            },
        ];
        // Either kind may outweigh the other.
        let mixtures = [
            [Event::Pure { epsilon: 2.0 }, gaussian[0]],
            [Event::Pure { epsilon: 1e-6 }, gaussian[1]],
            [pure[1], others[0]],
            [joint(9, 1), joint(2, 8)],
            [joint(6, 4), others[0]],
        ];
        for events in [gaussian, others, pure].into_iter().chain(mixtures) {
            contract::<ExactGaussian>(events, nominal);
            contract::<ZeroConcentrated>(events, nominal);
            contract::<Renyi>(events, nominal);
        }
        let drawn =
            Event::SubsampledGaussian { sensitivity: 1.0, sigma: 2.0, batch: 5, samples: 100 };
        contract::<Renyi>([drawn, gaussian[0]], nominal);
        contract::<Theorem2>([nominal; 2], gaussian[0]);
    }

    #[test]
    fn a_fine_grid_costs_almost_nothing_and_a_coarse_one_is_paid_for() {
        let total = |step: f64| {
            let mut account = ExactGaussian::default();
            let event = Event::DiscreteGaussian {
                sensitivity: 1.0,
                sigma: 10.0,
                step,
                coordinates: 10,
                count: 60,
            };
            account.compose(&event).unwrap();
            account.epsilon(DELTA)
        };
        let mut continuous = ExactGaussian::default();
        for _ in 0..60 {
            continuous.compose(&Event::Gaussian { sensitivity: 1.0, sigma: 10.0 }).unwrap();
        }
        let exact = continuous.epsilon(DELTA);
        let fine = total(10.0 * 2f64.powi(-32));
        assert!(fine >= exact && fine < exact * (1.0 + 1e-9), "{fine} {exact}");
        assert!(total(0.01) > exact);
        let mut zcdp = ZeroConcentrated::default();
        zcdp.compose(&Event::DiscreteGaussian {
            sensitivity: 1.0,
            sigma: 10.0,
            step: 5.0,
            coordinates: 10,
            count: 60,
        })
        .unwrap();
        // The grid's factor on mu^2 is one on epsilon at most.
        let most = zcdp.epsilon(DELTA) * gaussian::grid(0.5) * (1.0 + 1e-12);
        assert!(total(5.0) <= most, "never worse than zCDP");
    }

    #[test]
    fn pure_events_cost_their_sum_until_a_gaussian_one_makes_everything_mu() {
        let compose = |account: &mut ExactGaussian, event| account.compose(&event).unwrap();
        let mut account = ExactGaussian::default();
        (0..40).for_each(|_| compose(&mut account, Event::Pure { epsilon: 0.05 }));
        assert!((account.epsilon(DELTA) / 2.0 - 1.0).abs() < 1e-12);
        assert_eq!(account.epsilon(0.0), account.epsilon(DELTA), "pure at any delta");
        // Forty pure events weigh less in mu than in epsilon: the sum still stands.
        compose(&mut account, Event::Gaussian { sensitivity: 0.01, sigma: 1.0 });
        assert!((account.epsilon(DELTA) / 2.0 - 1.0).abs() < 1e-12);
        compose(&mut account, Event::Gaussian { sensitivity: 2.0, sigma: 1.0 });
        // mpmath: 2 Phi^-1(e^0.05/(1 + e^0.05)), squared forty times, and the two releases.
        let mu = (40.0 * 0.062_662_905_541_003_f64.powi(2) + 0.0001 + 4.0).sqrt();
        let expected = gaussian::epsilon(DELTA, mu);
        assert!((account.epsilon(DELTA) / expected - 1.0).abs() < 1e-10);
    }

    #[test]
    fn an_unprotected_release_costs_everything() {
        let mut account = ExactGaussian::default();
        account.compose(&Event::Unprotected).unwrap();
        assert_eq!(account.epsilon(DELTA), f64::INFINITY);
    }
}
