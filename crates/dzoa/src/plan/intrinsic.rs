//! The mechanism `intrinsic`: the noise of the two-point loop itself, as the paper has it. Nominal:
//! the noise that is really there is 7 to 50 times smaller than what the claim assumes.

use super::Refused;
use super::claimed::Claimed;
use super::data::{Data, DataKind};
use super::given::{PerAgent, Reported};
use super::keys::{KeyError, Keys, OptimumNorm};
use super::mechanism::{AgentPlace, Assumed, Charges, Choice, Mechanism, Protection};
use super::none::{plain_grid, unprotected};
use super::rules::{PAPER_C, PAPER_LOOP, PAPER_RHO, PAPER_ROUNDS};
use crate::guarantee::NoGuarantee;
use crate::primal::PrimalStep;
use crate::primal::ZerothOrder;
use crate::tuning::{Setting, Sizes};
use dzoa_privacy::{Event, calibrate};

/// The paper's claim, per round.
#[derive(Clone, Debug, PartialEq)]
pub struct Intrinsic {
    /// Of one round.
    pub epsilon: f64,
    /// Of one round, and in total as the paper has it.
    pub delta: f64,
    /// The constant of Lemma 2.
    pub c: PerAgent,
    /// The term of Corollary 1 that needs the optimum.
    pub optimum_norm: OptimumNorm,
}

impl Intrinsic {
    pub(super) fn from_keys(keys: &Keys) -> Result<Mechanism, KeyError> {
        Ok(Mechanism::new(Self {
            epsilon: keys.epsilon.ok_or(KeyError::Missing("epsilon"))?,
            delta: keys.delta.ok_or(KeyError::Missing("delta"))?,
            c: keys.c.clone().unwrap_or(PerAgent::All(PAPER_C)),
            optimum_norm: keys.optimum_norm.unwrap_or(OptimumNorm::Bound(0.0)),
        }))
    }

    /// Refuses data that it cannot protect, whatever its settings.
    pub(super) fn protects(kind: DataKind) -> Result<(), Refused> {
        match kind {
            DataKind::Boxes { counted: false, .. } => Err(Refused::NotCounted),
            _ => Ok(()),
        }
    }

    /// Lemma 3 at one agent. c1 is the loss's, or 1 where it has none, as the paper takes it.
    fn sensitivity(&self, place: &AgentPlace<'_>) -> f64 {
        let of_boxes = || place.data.samples(place.k) as f64;
        let samples = place.public.map_or_else(of_boxes, |all| all.nominal_samples(place.k));
        let c1 = place.data.assumed_c1();
        calibrate::lemma3_of_weight(c1, place.rho, place.neighbourhood, samples)
    }
}

impl Protection for Intrinsic {
    fn name(&self) -> &'static str {
        "intrinsic"
    }

    fn claimed(&self) -> Claimed {
        Claimed::Nominal { epsilon: self.epsilon, delta: self.delta }
    }

    fn choose(&self, _data: &Data) -> Choice {
        Choice {
            rho: PAPER_RHO,
            rounds: PAPER_ROUNDS,
            inner: PAPER_LOOP,
            antithetic: false,
            orthogonal: false,
            warm_start: false,
            reported: Reported::Last,
        }
    }

    fn needs_of_loop(&self) -> Option<&'static str> {
        Some("intrinsic noise")
    }

    fn needs_independent_directions(&self) -> bool {
        true
    }

    fn accepts(&self, kind: DataKind) -> Result<(), Refused> {
        Self::protects(kind)
    }

    fn numbers_per_agent(&self) -> Option<(&'static str, usize)> {
        Some(("privacy.c", self.c.count()?))
    }

    fn needs_optimum(&self) -> bool {
        self.optimum_norm == OptimumNorm::Replicate
    }

    fn grid(&self, sizes: &Sizes) -> Vec<Setting> {
        plain_grid(sizes)
    }

    fn charges(&self, place: &AgentPlace<'_>) -> Result<Charges, NoGuarantee> {
        let event = Event::Nominal { epsilon: self.epsilon, delta: self.delta };
        Ok(Charges::of_every_round(event, self.sensitivity(place)))
    }

    /// Corollary 1.
    fn step(&self, place: &AgentPlace<'_>, inner: &ZerothOrder) -> Result<f64, Refused> {
        let OptimumNorm::Bound(optimum_norm_squared) = self.optimum_norm else {
            return Err(Refused::NoOptimum);
        };
        let corollary = calibrate::Corollary1 {
            sensitivity: self.sensitivity(place),
            delta: self.delta,
            features: place.data.dim(),
            directions: inner.directions,
            inner_steps: inner.inner_steps,
            c: self.c.at(place.k),
            optimum_norm_squared,
        };
        Ok(corollary.alpha0_times_r(self.epsilon))
    }

    fn primal(
        &self,
        place: &AgentPlace<'_>,
        _charges: &Charges,
        tolerance: Option<f64>,
    ) -> Box<dyn PrimalStep> {
        unprotected(place, tolerance)
    }

    fn assumed_noise(&self, place: &AgentPlace<'_>) -> Option<Assumed> {
        let sensitivity = self.sensitivity(place);
        let sigma = calibrate::theorem1_sigma(sensitivity, self.epsilon, self.delta);
        Some(Assumed { sensitivity, sigma })
    }

    fn with_optimum(&self, norm_squared: f64) -> Option<Mechanism> {
        (self.optimum_norm == OptimumNorm::Replicate).then(|| {
            let optimum_norm = OptimumNorm::Bound(norm_squared);
            Mechanism::new(Self { optimum_norm, ..self.clone() })
        })
    }
}
