//! The mechanism `joint`: noise in shares on sums over all agents.

use crate::guarantee::{BudgetTarget, NoGuarantee};
use crate::plan::Refused;
use crate::plan::claimed::{Claimed, Total};
use crate::plan::data::{Data, DataKind};
use crate::plan::given::Reported;
use crate::plan::keys::{KeyError, Keys};
use crate::plan::mechanism::{AgentPlace, Charges, Choice, Mechanism, Protection, SumTerms};
use crate::plan::none::stable;
use crate::plan::rules::{self, PAPER_LOOP};
use crate::primal::{PrimalStep, ZerothOrder};
use crate::tuning::{Setting, Sizes};
use dzoa_privacy::Colluders;
use dzoa_privacy::calibrate::Schedule;

/// Its settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointNoise {
    /// The budget.
    pub total: Total,
    /// Whom it protects against.
    pub colluders: Colluders,
    /// Answers are clipped to this length; `None` leaves it to loss and rule.
    pub clip: Option<f64>,
}

impl JointNoise {
    pub(in crate::plan) fn from_keys(keys: &Keys) -> Result<Mechanism, KeyError> {
        let colluders = keys.colluders.unwrap_or_default();
        Ok(Mechanism::new(Self { total: keys.total()?, colluders, clip: keys.clip }))
    }

    /// Refuses data that it cannot protect, whatever its settings.
    pub(in crate::plan) fn protects(kind: DataKind) -> Result<(), Refused> {
        match kind {
            DataKind::Rows | DataKind::Boxes { per_sample: true, .. } => Ok(()),
            DataKind::Boxes { .. } => Err(Refused::NotPerSample),
        }
    }
}

impl Protection for JointNoise {
    fn name(&self) -> &'static str {
        "joint"
    }

    fn claimed(&self) -> Claimed {
        self.total.claimed()
    }

    fn choose(&self, _data: &Data) -> Choice {
        Choice {
            rho: rules::PAPER_RHO,
            rounds: rules::PAPER_ROUNDS,
            inner: PAPER_LOOP,
            antithetic: false,
            orthogonal: false,
            warm_start: false,
            reported: Reported::Last,
        }
    }

    fn target(&self, _data: &Data) -> Option<BudgetTarget> {
        Some(self.total.target(Schedule::Constant))
    }

    fn sums(&self) -> Option<SumTerms> {
        let Self { total, colluders, clip } = *self;
        Some(SumTerms::Hidden { total, colluders, clip })
    }

    fn only_sums(&self) -> bool {
        true
    }

    fn accepts(&self, kind: DataKind) -> Result<(), Refused> {
        Self::protects(kind)
    }

    fn clip(&self, _data: &Data) -> Option<f64> {
        self.clip
    }

    fn grid(&self, _sizes: &Sizes) -> Vec<Setting> {
        // The public rule is the only setting.
        vec![Setting::default()]
    }

    fn charges(&self, _place: &AgentPlace<'_>) -> Result<Charges, NoGuarantee> {
        unreachable!("Plan::new refuses `joint` without sums, whose charges are their own")
    }

    fn step(&self, place: &AgentPlace<'_>, inner: &ZerothOrder) -> Result<f64, Refused> {
        stable(place, inner)
    }

    fn primal(
        &self,
        _place: &AgentPlace<'_>,
        _charges: &Charges,
        _tolerance: Option<f64>,
    ) -> Box<dyn PrimalStep> {
        unreachable!("Plan::new refuses `joint` without sums, which have no primal step")
    }
}
