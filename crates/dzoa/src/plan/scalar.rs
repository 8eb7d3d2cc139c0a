//! The mechanism `scalar`: noise on clipped difference quotients, inside the two-point loop. Exact,
//! for any loss that gives one value per sample. [`crate::primal::Scalar`] has the proof.

use super::Refused;
use super::claimed::{Claimed, Total};
use super::data::{Data, DataKind};
use super::given::Reported;
use super::keys::{KeyError, Keys};
use super::mechanism::{AgentPlace, Charges, Choice, Mechanism, Protection};
use super::rules::{self, LoopShape};
use super::steps::{first_step, scalar_step};
use crate::guarantee::{BudgetTarget, NoGuarantee};
use crate::primal::PrimalStep;
use crate::primal::ZerothOrder;
use crate::primal::scalar::{self, Scalar};
use crate::tuning::{Setting, Sizes, product};
use dzoa_privacy::calibrate::{self, RoundQueries};

/// Noise on the mean of clipped vectors.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalarNoise {
    /// The budget.
    pub total: Total,
    /// C; without one, the public rule chooses.
    pub clip: Option<f64>,
}

impl ScalarNoise {
    pub(super) fn from_keys(keys: &Keys) -> Result<Mechanism, KeyError> {
        Ok(Mechanism::new(Self { total: keys.total()?, clip: keys.clip }))
    }

    /// Refuses data that it cannot protect, whatever its settings.
    pub(super) fn protects(kind: DataKind) -> Result<(), Refused> {
        match kind {
            DataKind::Boxes { per_sample: false, .. } => Err(Refused::NotPerSample),
            _ => Ok(()),
        }
    }

    /// What the rule chooses, C among it.
    fn rule(&self, data: &Data) -> (rules::Rule, f64) {
        rules::scalar_rule(data.smallest(), self.total.budget.epsilon, data.steepest())
    }

    /// C.
    fn clipped_at(&self, data: &Data) -> f64 {
        self.clip.unwrap_or_else(|| self.rule(data).1)
    }
}

impl Protection for ScalarNoise {
    fn name(&self) -> &'static str {
        "scalar"
    }

    fn claimed(&self) -> Claimed {
        self.total.claimed()
    }

    fn choose(&self, data: &Data) -> Choice {
        let (rule, _) = self.rule(data);
        Choice {
            rho: rule.rho,
            rounds: rule.rounds,
            inner: rules::scalar_loop(data.dim()),
            antithetic: false,
            // The guarantee holds for any directions, and a frame at right angles misses nothing.
            orthogonal: true,
            warm_start: true,
            // Averaging releases is free, and under noise worth a lot.
            reported: Reported::Network,
        }
    }

    fn target(&self, data: &Data) -> Option<BudgetTarget> {
        let (rule, _) = self.rule(data);
        Some(self.total.target(rule.schedule))
    }

    fn clip(&self, data: &Data) -> Option<f64> {
        Some(self.clipped_at(data))
    }

    fn needs_of_loop(&self) -> Option<&'static str> {
        Some("scalars to protect")
    }

    fn accepts(&self, kind: DataKind) -> Result<(), Refused> {
        Self::protects(kind)
    }

    fn left_to_rule(&self) -> Option<&'static str> {
        self.clip.is_none().then_some("privacy.clip")
    }

    fn grid(&self, sizes: &Sizes) -> Vec<Setting> {
        let LoopShape { inner_steps, directions, smoothing } = rules::scalar_loop(sizes.features);
        let setting = |(rho, clip, rounds): (f64, f64, u64)| Setting {
            rho: Some(rho * sizes.weight),
            rounds: Some(rounds),
            clip: Some(clip),
            growth: Some(1.02),
            inner: Some((inner_steps, directions, smoothing)),
            ..Setting::default()
        };
        product([0.008, 0.013, 0.02], [0.6, 1.0], [60, 110]).map(setting).collect()
    }

    fn charges(&self, place: &AgentPlace<'_>) -> Result<Charges, NoGuarantee> {
        let inner = place.inner.copied().unwrap_or_default();
        let (rule, _) = self.rule(place.data);
        let query = ScalarQuery {
            clip: self.clipped_at(place.data),
            directions: inner.directions,
            inner_steps: inner.inner_steps,
            samples: place.data.samples(place.k),
        };
        query.charges(place.rounds, &self.total.target(rule.schedule))
    }

    fn step(&self, place: &AgentPlace<'_>, inner: &ZerothOrder) -> Result<f64, Refused> {
        let curvature = place.data.typical_curvature(place.k);
        let longest = scalar_step(curvature, place.data.dim(), inner, place.quadratic());
        Ok(first_step(longest, inner, place.data.dim()))
    }

    fn primal(
        &self,
        place: &AgentPlace<'_>,
        _charges: &Charges,
        _tolerance: Option<f64>,
    ) -> Box<dyn PrimalStep> {
        Box::new(Scalar {
            inner: place.inner.copied().unwrap_or_default(),
            clip: self.clipped_at(place.data),
            samples: place.data.per_sample(place.k),
        })
    }
}

/// The queries of one agent under `scalar`: public numbers.
#[derive(Clone, Copy, Debug)]
pub struct ScalarQuery {
    /// C.
    pub clip: f64,
    /// J: coordinates of the mean vector in one query.
    pub directions: usize,
    /// T: queries in one round.
    pub inner_steps: usize,
    /// `N_k`
    pub samples: usize,
}

impl ScalarQuery {
    /// What its rounds charge so that they keep the target together.
    pub fn charges(&self, rounds: u64, target: &BudgetTarget) -> Result<Charges, NoGuarantee> {
        let sensitivity =
            target.rows_per_person as f64 * scalar::sensitivity(self.clip, self.samples);
        let budget = target.budget();
        let shape = RoundQueries { coordinates: self.directions, count: self.inner_steps };
        let schedule = target.schedule;
        let events =
            calibrate::discrete_gaussian_events(sensitivity, budget, shape, rounds, schedule)
                .ok_or(NoGuarantee::BudgetTooSmall { epsilon: target.total_epsilon })?;
        let (tau, radius) = (0.0, f64::INFINITY);
        Ok(Charges { sensitivity, tau, radius, events: events.into(), rounds_per_query: 1 })
    }
}
