//! What is done about a run that nobody asked for in so many words.

use super::data::DataKind;
use super::given::Auto;
use super::keys::{KeyError, Keys};
use super::mechanism::{Mechanism, SumTerms};
use super::plan::Plan;
use super::rules;
use super::spec::{Algorithm, RunSpec};
use super::sums::JOINT;
use super::sums::rules::MOST_MODELLED;
use crate::problem::loss::Loss;
use crate::registry::Options;
use crate::run::EarlyStop;
use dzoa_privacy::{Budget, Claim};

impl RunSpec {
    /// What suits a loss where at most a budget is given: the mechanism that its slope allows, with
    /// everything left to the rules. Without an algorithm it is joint sums wherever the slope is
    /// bounded, or smooth so that a clip can follow it. A mechanism that needs the two-point loop
    /// overrules the algorithm.
    pub fn for_budget(
        loss: &dyn Loss,
        algorithm: Option<Algorithm>,
        budget: Option<Budget>,
        rows_per_person: usize,
    ) -> Result<Self, KeyError> {
        let Some(Budget { epsilon, delta }) = budget else {
            return Ok(Self::new(algorithm.unwrap_or(Algorithm::Admm), Mechanism::none()));
        };
        let slope = loss.lipschitz().or(loss.smoothness());
        if let (None, Some(entry)) = (&algorithm, slope.and(JOINT.first())) {
            let total = Keys {
                total_epsilon: Some(epsilon),
                delta: Some(delta),
                rows_per_person: Some(rows_per_person),
                ..Keys::default()
            };
            let algorithm = Algorithm::Joint(entry, Options::default());
            return Ok(Self::new(algorithm, Mechanism::from_keys("joint", &total)?));
        }
        let algorithm = algorithm.unwrap_or(Algorithm::Admm);
        let keys = Keys {
            total_epsilon: Some(epsilon),
            delta: Some(delta),
            schedule: Some(Auto::Auto),
            rows_per_person: Some(rows_per_person),
            ..Keys::default()
        };
        let mechanism = Mechanism::for_loss(loss, &keys)?;
        let needs_loop = mechanism.needs_of_loop().is_some();
        Ok(Self::new(if needs_loop { Algorithm::DZoa } else { algorithm }, mechanism))
    }
}

/// What is public about the data before any of it is read.
#[derive(Clone, Copy, Debug)]
pub struct Suited<'a> {
    /// Rows or boxes.
    pub kind: DataKind,
    /// The loss; boxes have none.
    pub loss: Option<&'a dyn Loss>,
    /// Variables.
    pub columns: usize,
    /// Whether the penalty has no kinks.
    pub smooth_penalty: bool,
    /// Whether rounds or steps of the two-point loop were given, which nothing else reads.
    pub looped: bool,
}

impl Mechanism {
    /// The name of the algorithm that suits it and the data, where nobody named one.
    ///
    /// Joint sums wherever they are protected or nothing is: few of them where the loss is smooth,
    /// gradients where it is not, values where there is nothing else. Models of a box where nothing
    /// has to be protected.
    pub fn algorithm_for(&self, data: Suited<'_>) -> &'static str {
        let smooth = data.loss.is_some_and(|loss| loss.smoothness().is_some());
        let boxes = data.kind != DataKind::Rows;
        let small = data.columns <= MOST_MODELLED;
        let modelled = boxes && small && data.smooth_penalty && !data.looped;
        match (self.sums(), self.needs_of_loop()) {
            (Some(SumTerms::Hidden { .. }), _) if boxes => "joint-values",
            (_, Some(_)) => "d-zoa",
            (Some(SumTerms::Plain), None) if modelled => "joint-models",
            (_, None) if boxes => "d-zoa",
            (Some(_), _) if smooth => "joint-gradient",
            (Some(SumTerms::Hidden { .. }), _) => "joint-gradient",
            (_, None) => "admm",
        }
    }
}

impl Plan {
    /// Ends a run once its releases stand still, for whoever fits until then by default. Not under
    /// a budget: its charges are for all rounds, and fewer would only waste it.
    pub fn early_stop(&self, tolerance: f64) -> Option<EarlyStop> {
        let stops = tolerance > 0.0 && self.claimed().claim() != Claim::Exact;
        stops.then(|| EarlyStop::new(tolerance))
    }

    /// Every n-th round values of black boxes are recorded in a result that is handed on; 0 is
    /// never. Nothing protects them, so under a guarantee nobody asks for them unless told to.
    pub fn record_values_every(&self) -> u64 {
        match self.claimed().claim() {
            Claim::Exact => 0,
            Claim::Nominal | Claim::None => rules::record_values_every(self.rounds()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Graph;
    use crate::plan::{Boxes, Data, PerAgent};
    use crate::problem::BlackBox;
    use crate::problem::loss::{Logistic, Squared};
    use std::sync::Arc;

    #[test]
    fn a_slope_without_a_bound_needs_the_loop_and_nothing_else_overrules_the_algorithm() {
        let budget = Some(Budget { epsilon: 1.0, delta: 1e-5 });
        let chosen = |loss: &dyn Loss, budget| {
            let spec = RunSpec::for_budget(loss, Some(Algorithm::Admm), budget, 1).unwrap();
            (spec.algorithm.name(), spec.mechanism.name())
        };
        for loss in [&Logistic as &dyn Loss, &Squared] {
            let free = RunSpec::for_budget(loss, None, budget, 1).unwrap();
            let names = (free.algorithm.name(), free.mechanism.name());
            assert_eq!(names, ("joint-gradient", "joint"), "{}", loss.name());
        }
        assert_eq!(chosen(&Squared, budget), ("d-zoa", "scalar"));
        assert_eq!(chosen(&Logistic, budget), ("admm", "output"));
        assert_eq!(chosen(&Squared, None), ("admm", "none"));
    }

    #[test]
    fn under_a_budget_all_rounds_are_run_and_no_value_is_recorded() {
        let graph = Graph::from_edges(vec!["a".into(), "b".into()], &[(0, 1)]).unwrap();
        let known = || {
            Arc::new(BlackBox::per_sample(1, 5, |b: &[f64], out: &mut [f64]| {
                out.fill(b[0].abs());
            }))
        };
        let data = Data::Boxes(Boxes::new(vec![known(), known()]));
        let keys = Keys { total_epsilon: Some(9.0), delta: Some(1e-5), ..Keys::default() };
        let plan = |mechanism: Mechanism| {
            let spec = RunSpec {
                rounds: Auto::Given(200),
                step: Auto::Given(PerAgent::All(0.1)),
                ..RunSpec::new(Algorithm::DZoa, mechanism)
            };
            Plan::new(&spec, &data, &graph).unwrap()
        };
        let exact = plan(Mechanism::from_keys("scalar", &keys).unwrap());
        assert!(exact.early_stop(1e-3).is_none() && exact.record_values_every() == 0);
        let plain = plan(Mechanism::none());
        assert!(plain.early_stop(1e-3).is_some() && plain.early_stop(0.0).is_none());
        assert_eq!(plain.record_values_every(), 4);
    }
}
