//! The mechanism `none`: releases as they are. It claims nothing.

use super::Refused;
use super::claimed::Claimed;
use super::data::Data;
use super::given::Reported;
use super::mechanism::{AgentPlace, Charges, Choice, Protection, SumTerms};
use super::rules::{self, BOX_LOOP, PAPER_LOOP};
use super::steps::{first_step, stable_step};
use crate::guarantee::NoGuarantee;
use crate::primal::Certified;
use crate::primal::Exact;
use crate::primal::PrimalStep;
use crate::primal::ZerothOrder;
use crate::tuning::{Setting, Sizes};
use dzoa_privacy::Event;

/// Nothing.
#[derive(Clone, Copy, Debug)]
pub struct Unprotected;

impl Protection for Unprotected {
    fn name(&self) -> &'static str {
        "none"
    }

    fn claimed(&self) -> Claimed {
        Claimed::Nothing
    }

    fn choose(&self, data: &Data) -> Choice {
        let (rho, rounds, inner) = match data {
            Data::Rows(problem) => (rules::plain_rho(problem), rules::PLAIN_ROUNDS, PAPER_LOOP),
            Data::Boxes(boxes) => (boxes.rho(), rules::BOX_ROUNDS, BOX_LOOP),
        };
        Choice {
            rho,
            rounds,
            inner,
            antithetic: false,
            // Over a kink, steps that are not averaged by chance jump to and fro.
            orthogonal: matches!(data, Data::Boxes(boxes) if !boxes.has_kinks()),
            warm_start: true,
            reported: Reported::Last,
        }
    }

    fn measures_curvature(&self) -> bool {
        true
    }

    fn sums(&self) -> Option<SumTerms> {
        Some(SumTerms::Plain)
    }

    fn grid(&self, sizes: &Sizes) -> Vec<Setting> {
        plain_grid(sizes)
    }

    fn charges(&self, _place: &AgentPlace<'_>) -> Result<Charges, NoGuarantee> {
        Ok(Charges::of_every_round(Event::Unprotected, 0.0))
    }

    fn step(&self, place: &AgentPlace<'_>, inner: &ZerothOrder) -> Result<f64, Refused> {
        stable(place, inner)
    }

    fn primal(
        &self,
        place: &AgentPlace<'_>,
        _charges: &Charges,
        tolerance: Option<f64>,
    ) -> Box<dyn PrimalStep> {
        unprotected(place, tolerance)
    }
}

/// Without noise consensus alone decides.
pub(super) fn plain_grid(sizes: &Sizes) -> Vec<Setting> {
    let rho = |power: i32| 1e-3 * 10f64.powf(0.4 * f64::from(power)) * sizes.weight;
    let setting =
        |power| Setting { rho: Some(rho(power)), rounds: Some(sizes.rounds), ..Setting::default() };
    (0..12).map(setting).collect()
}

/// Half of the longest step that contracts, for a data term of the curvature that is known of it.
pub(super) fn stable(place: &AgentPlace<'_>, inner: &ZerothOrder) -> Result<f64, Refused> {
    let features = place.data.dim();
    let curvature = place.data.curvature(place.k, inner)? + 2.0 * place.quadratic();
    Ok(first_step(stable_step(curvature, features, inner), inner, features))
}

/// A primal step that releases what it finds: the loop, alone or ended by its certificate, or the
/// exact solver.
pub(super) fn unprotected(place: &AgentPlace<'_>, tolerance: Option<f64>) -> Box<dyn PrimalStep> {
    match (place.data, place.inner, tolerance) {
        (Data::Rows(problem), Some(inner), Some(tolerance)) => {
            Box::new(Certified::stopping(*inner, problem.risk(place.k), tolerance))
        }
        (_, Some(inner), _) => Box::new(*inner),
        (Data::Rows(problem), None, _) => Box::new(Exact::new(problem.risk(place.k), tolerance)),
        (Data::Boxes(_), None, _) => unreachable!("Plan::new refuses an exact step on boxes"),
    }
}
