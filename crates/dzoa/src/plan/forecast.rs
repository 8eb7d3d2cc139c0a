//! What a run will cost, before anything is computed or asked for.

use super::Refused;
use super::claimed::Claimed;
use super::data::Data;
use super::measure::are_measured;
use super::mechanism::Charges;
use super::outline::Outline;
use super::plan::Plan;
use super::rules;
use super::spec::RunSpec;
use super::spending::Spending;
use crate::network::Graph;

/// A plan without its steps.
///
/// A step may need the optimum of all rows, as the paper takes it, or values of black boxes, and
/// where boxes are asked rho comes from them, too. Charges need neither. So a forecast has rounds,
/// charges and costs, and no step or rho that somebody could take for the run's.
#[derive(Clone, Debug)]
pub struct Forecast(Plan);

impl Forecast {
    /// Foresees a run of all agents.
    pub fn new(spec: &RunSpec, data: &Data, graph: &Graph) -> Result<Self, Refused> {
        Plan::without_steps(spec, data, graph).map(Self)
    }

    /// Rows or boxes.
    pub fn data(&self) -> &Data {
        self.0.data()
    }

    /// The network.
    pub fn graph(&self) -> &Graph {
        self.0.graph()
    }

    /// M.
    pub fn rounds(&self) -> u64 {
        self.0.rounds()
    }

    /// What the mechanism claims.
    pub fn claimed(&self) -> Claimed {
        self.0.claimed()
    }

    /// What the queries of every agent cost.
    pub fn charges(&self) -> impl Iterator<Item = &Charges> {
        self.0.agents().iter().map(|agent| &agent.charges)
    }

    /// What every agent has spent after each round.
    pub fn spending(&self) -> Spending {
        self.0.spending()
    }

    /// Every n-th round of so many trials is recorded, where nobody said how often.
    pub fn record_every(&self, trials: u64) -> u64 {
        let (agents, rounds) = (self.graph().len() as u64, self.rounds());
        match self.data() {
            Data::Rows(_) => {
                let passes = self.0.shape(0).map(|inner| inner.oracle_calls(inner.inner_steps));
                rules::record_rows_every(trials * rounds * agents, agents, passes)
            }
            Data::Boxes(_) => rules::record_values_every(rounds),
        }
    }

    /// The numbers that are known, and what they cost.
    pub fn outline(&self) -> Outline {
        let (outline, spec) = (self.0.outline(), self.0.spec());
        if !(are_measured(spec) && matches!(self.data(), Data::Boxes(_))) {
            return outline;
        }
        let agents = self.graph().len() as u64;
        Outline {
            rho: spec.rho.given(),
            steps: Some("measured at the start of the run"),
            oracle_calls: outline.oracle_calls.map(|calls| calls + agents * rules::MEASURING_CALLS),
            ..outline
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Algorithm, Auto, Boxes, Keys, Mechanism, OptimumNorm};
    use crate::problem::data::{Rows, Samples};
    use crate::problem::loss::Squared;
    use crate::problem::regularizer::Regularizer;
    use crate::problem::{BlackBox, Problem, Scale};
    use std::sync::Arc;

    fn rows(graph: &Graph) -> Data {
        let rows = Rows::dense(1, vec![1.0, 0.5]).unwrap();
        let samples = Arc::new(Samples::new(rows, vec![1.0, 0.0]).unwrap());
        Data::Rows(Problem {
            loss: Arc::new(Squared),
            regularizer: Regularizer::None,
            eta: 0.0,
            scale: Scale::Mean,
            intercept: false,
            agents: vec![samples; graph.len()],
        })
    }

    #[test]
    fn what_needs_the_optimum_is_foreseen_without_it_and_planned_with_it() {
        let graph = Graph::from_edges(vec!["a".into(), "b".into()], &[(0, 1)]).unwrap();
        let keys = Keys {
            epsilon: Some(0.1),
            delta: Some(1e-3),
            optimum_norm: Some(OptimumNorm::Replicate),
            ..Keys::default()
        };
        let mechanism = Mechanism::from_keys("intrinsic", &keys).unwrap();
        let spec = RunSpec::new(Algorithm::DZoa, mechanism.clone());
        let data = rows(&graph);
        assert_eq!(Plan::new(&spec, &data, &graph).unwrap_err(), Refused::NoOptimum);
        let forecast = Forecast::new(&spec, &data, &graph).unwrap();
        let known = RunSpec { mechanism: mechanism.with_optimum(&[2.0]), ..spec };
        let plan = Plan::new(&known, &data, &graph).unwrap();
        let charges = plan.agents().iter().map(|agent| &agent.charges);
        assert!(forecast.charges().eq(charges));
        assert_eq!(forecast.rounds(), plan.rounds());
    }

    #[test]
    fn no_box_is_asked_and_nothing_that_is_measured_is_shown() {
        let graph = Graph::from_edges(vec!["a".into(), "b".into()], &[(0, 1)]).unwrap();
        let asked = || Arc::new(BlackBox::new(1, |_: &[f64]| panic!("asked")));
        let data = Data::Boxes(Boxes::new(vec![asked(), asked()]));
        let spec = RunSpec::new(Algorithm::DZoa, Mechanism::none());
        let outline = Forecast::new(&spec, &data, &graph).unwrap().outline();
        assert_eq!((outline.rho, outline.agents[0].step), (None, None));
        let given = RunSpec { rho: Auto::Given(0.5), ..spec };
        let outline = Forecast::new(&given, &data, &graph).unwrap().outline();
        assert_eq!(outline.rho, Some(0.5));
    }
}
