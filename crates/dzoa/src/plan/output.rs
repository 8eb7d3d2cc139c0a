//! The mechanism `output`: a point within tau of the minimiser on every data set, and Gaussian
//! noise calibrated to how far one person's rows move it. Exact. [`crate::primal::Certified`] has
//! the proof.

use super::Refused;
use super::claimed::{Claimed, Total};
use super::data::{Data, DataKind};
use super::given::Reported;
use super::keys::{KeyError, Keys};
use super::mechanism::{AgentPlace, Charges, Choice, Mechanism, Protection};
use super::none::stable;
use super::rules::{self, PAPER_LOOP};
use crate::guarantee::{BudgetTarget, NoGuarantee, c1, c3, radius};
use crate::primal::Certified;
use crate::primal::PrimalStep;
use crate::primal::ZerothOrder;
use crate::primal::{SampleWeights, least_distance, least_smooth_distance};
use crate::problem::PublicProblem;
use crate::tuning::{Setting, Sizes, product};
use dzoa_privacy::calibrate::{self, RoundQueries};

/// tau, where none is given, as a fraction of Lemma 3's sensitivity.
const TAU: f64 = 1e-3;

/// Noise on the minimiser.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputNoise {
    /// The budget.
    pub total: Total,
    /// tau, if given.
    pub tolerance: Option<f64>,
}

impl OutputNoise {
    pub(super) fn from_keys(keys: &Keys) -> Result<Mechanism, KeyError> {
        Ok(Mechanism::new(Self { total: keys.total()?, tolerance: keys.tolerance }))
    }

    /// Refuses data that it cannot protect, whatever its settings.
    pub(super) fn protects(kind: DataKind) -> Result<(), Refused> {
        match kind {
            DataKind::Rows => Ok(()),
            DataKind::Boxes { .. } => Err(Refused::NoCertificate),
        }
    }
}

impl Protection for OutputNoise {
    fn name(&self) -> &'static str {
        "output"
    }

    fn claimed(&self) -> Claimed {
        self.total.claimed()
    }

    fn choose(&self, data: &Data) -> Choice {
        let rule = rules::output_rule(data.smallest(), self.total.budget.epsilon);
        Choice {
            rho: rule.rho,
            rounds: rule.rounds,
            inner: PAPER_LOOP,
            // The inner noise is not needed: fewer values do.
            antithetic: true,
            orthogonal: true,
            warm_start: true,
            // Averaging releases is free, and under noise worth a lot.
            reported: Reported::Network,
        }
    }

    fn target(&self, data: &Data) -> Option<BudgetTarget> {
        let rule = rules::output_rule(data.smallest(), self.total.budget.epsilon);
        Some(self.total.target(rule.schedule))
    }

    fn certifies(&self) -> bool {
        true
    }

    fn accepts(&self, kind: DataKind) -> Result<(), Refused> {
        Self::protects(kind)
    }

    fn grid(&self, sizes: &Sizes) -> Vec<Setting> {
        let setting = |(rho, growth, rounds): (f64, f64, u64)| Setting {
            rho: Some(rho * sizes.rho * sizes.weight),
            rounds: Some(rounds),
            growth: Some(growth),
            ..Setting::default()
        };
        product([0.3, 1.0, 3.0], [1.0, 1.03], [30, 60]).map(setting).collect()
    }

    fn charges(&self, place: &AgentPlace<'_>) -> Result<Charges, NoGuarantee> {
        let problem = place.public.ok_or(NoGuarantee::NoLipschitz("external"))?;
        let target = self.total.target(self.choose_schedule(place.data));
        let &AgentPlace { k, rho, neighbourhood, rounds, .. } = place;
        let at = OutputQuery { problem, k, rho, neighbourhood, rounds };
        at.charges(self.tolerance, &target)
    }

    fn step(&self, place: &AgentPlace<'_>, inner: &ZerothOrder) -> Result<f64, Refused> {
        stable(place, inner)
    }

    fn primal(
        &self,
        place: &AgentPlace<'_>,
        charges: &Charges,
        _tolerance: Option<f64>,
    ) -> Box<dyn PrimalStep> {
        let Data::Rows(problem) = place.data else {
            unreachable!("Plan::new refuses `output` on boxes");
        };
        let (risk, inner) = (problem.risk(place.k), place.inner.copied());
        Box::new(Certified::output(inner, risk, charges.tau, charges.radius))
    }
}

impl OutputNoise {
    fn choose_schedule(&self, data: &Data) -> calibrate::Schedule {
        rules::output_rule(data.smallest(), self.total.budget.epsilon).schedule
    }
}

/// The releases of one agent under `output`: public numbers.
#[derive(Clone, Copy, Debug)]
pub struct OutputQuery<'a> {
    /// Loss, weights, and what bounds the rows.
    pub problem: &'a PublicProblem,
    /// The agent.
    pub k: usize,
    /// rho.
    pub rho: f64,
    /// `|N_k|`
    pub neighbourhood: usize,
    /// M.
    pub rounds: u64,
}

impl OutputQuery<'_> {
    /// What its rounds charge so that they keep the target together. Without a tolerance, tau is a
    /// thousandth of Lemma 3's sensitivity, or what can be certified, where that is more.
    pub fn charges(
        &self,
        tolerance: Option<f64>,
        target: &BudgetTarget,
    ) -> Result<Charges, NoGuarantee> {
        let &Self { problem, k, rho, neighbourhood, rounds } = self;
        let c1 = c1(problem, k)?;
        let samples = problem.samples_to_weight_one(k);
        let lemma3 = calibrate::lemma3_of_weight(c1, rho, neighbourhood, samples);
        // Decided here, from public numbers: a solve that begins must be able to end on every data
        // set.
        let radius = radius(c1, problem.scale.heaviest(problem.agents()), rho, rounds);
        let (sample, quadratic) = (problem.sample_weight(k), rho * neighbourhood as f64);
        let total = problem.weight(k);
        let reach = radius + 0.5 * c1 * total / quadratic;
        let least = match problem.loss.smoothness() {
            Some(_) => {
                let far = reach * problem.norm_bound(k).unwrap_or(1.0).max(1.0);
                least_smooth_distance(c3(problem, k)?, total, quadratic, far)
            }
            None => least_distance(c1, SampleWeights { sample, total }, quadratic, reach),
        };
        // Of very many rows one moves the minimiser by less than can be told from rounding. The
        // tolerance is then what can be told, and is part of the sensitivity.
        let tau = tolerance.unwrap_or((TAU * lemma3).max(least));
        if tau < least {
            return Err(NoGuarantee::Tolerance { tolerance: tau, least });
        }
        let sensitivity = target.rows_per_person as f64 * (lemma3 + 2.0 * tau);
        let budget = target.budget();
        let shape = RoundQueries { coordinates: problem.dim(), count: 1 };
        let schedule = target.schedule;
        let events =
            calibrate::discrete_gaussian_events(sensitivity, budget, shape, rounds, schedule)
                .ok_or(NoGuarantee::BudgetTooSmall { epsilon: target.total_epsilon })?;
        Ok(Charges { sensitivity, tau, radius, events: events.into(), rounds_per_query: 1 })
    }
}
