//! What no plan can be made from.

use super::Refused;
use super::claimed::Claimed;
use super::data::{Boxes, Data};
use super::given::{Auto, PerAgent};
use super::spec::RunSpec;
use crate::inference::NoInference;
use crate::network::Graph;
use crate::problem::Objective;
use crate::run::BuildError;

/// Refuses arrays with another number of entries than there are agents.
pub(super) fn check_per_agent(spec: &RunSpec, agents: usize) -> Result<(), Refused> {
    per_agent("algorithm.lipschitz", Some(&spec.lipschitz), agents)?;
    per_agent("algorithm.step", spec.step.clone().given().as_ref(), agents)?;
    match spec.mechanism.numbers_per_agent() {
        Some((key, got)) if got != agents => Err(Refused::PerAgent { key, got, agents }),
        _ => Ok(()),
    }
}

/// Refuses boxes of different dimensions, and counts of samples that are not one for each.
pub(super) fn check_boxes(boxes: &Boxes, graph: &Graph) -> Result<(), Refused> {
    let agents = boxes.boxes.len();
    if let Some(samples) = &boxes.samples
        && samples.len() != agents
    {
        return Err(Refused::Samples { got: samples.len(), agents });
    }
    let expected = boxes.boxes.first().map_or(0, |known| known.dim());
    let odd = boxes.boxes.iter().zip(graph.names()).find(|(known, _)| known.dim() != expected);
    let moved = boxes.variables.as_ref().is_some_and(|variables| !variables.are_plain());
    if moved && !boxes.regularizer.is_zero() && boxes.eta > 0.0 {
        return Err(Refused::PenaltyElsewhere);
    }
    match odd {
        Some((known, name)) => {
            let (name, got) = (name.clone(), known.dim());
            Err(BuildError::Columns { name, got, expected }.into())
        }
        None => Ok(()),
    }
}

/// Refuses an algorithm without an inner loop where the mechanism is about one. Some other
/// algorithms know the paper's nominal noise by themselves.
pub(super) fn check_loop(spec: &RunSpec) -> Result<(), Refused> {
    let nominal = matches!(spec.mechanism.claimed(), Claimed::Nominal { .. });
    let known = spec.algorithm.entry().is_some_and(|entry| entry.nominal && nominal);
    match spec.mechanism.needs_of_loop() {
        Some(needs) if !spec.algorithm.is_zeroth_order() && !known => {
            Err(Refused::NoLoop { algorithm: spec.algorithm.name(), needs })
        }
        _ => Ok(()),
    }
}

/// Refuses a mechanism that protects nothing but sums where the algorithm takes none.
pub(super) fn check_sums(spec: &RunSpec) -> Result<(), Refused> {
    match spec.mechanism.only_sums() && spec.algorithm.joint().is_none() {
        true => Err(Refused::OnlySums {
            mechanism: spec.mechanism.name(),
            algorithm: spec.algorithm.name(),
        }),
        false => Ok(()),
    }
}

/// Refuses intervals that nobody knows how to make.
pub(super) fn check_inference(spec: &RunSpec, data: &Data) -> Result<(), Refused> {
    if !spec.inference {
        return Ok(());
    }
    let Data::Rows(problem) = data else { return Err(Refused::NeedsRows("inference")) };
    if spec.mechanism.claimed() != Claimed::Nothing {
        return Err(Refused::NoIntervals { mechanism: spec.mechanism.name() });
    }
    match problem.loss.likelihood() {
        Some(_) => Ok(()),
        None => Err(NoInference::NoLikelihood(problem.loss.name()).into()),
    }
}

/// Refuses what takes the rows of all agents where one is planned for.
pub(super) fn check_alone(spec: &RunSpec) -> Result<(), Refused> {
    if spec.inference { Err(Refused::OnlyTogether("inference")) } else { Ok(()) }
}

pub(super) fn check_positive(key: &'static str, value: f64) -> Result<(), Refused> {
    match value > 0.0 && value.is_finite() {
        true => Ok(()),
        false => Err(Refused::NotPositive { key, value }),
    }
}

/// Refuses an array of another length than the number of agents.
fn per_agent(key: &'static str, given: Option<&PerAgent>, agents: usize) -> Result<(), Refused> {
    match given.and_then(PerAgent::count) {
        Some(got) if got != agents => Err(Refused::PerAgent { key, got, agents }),
        _ => Ok(()),
    }
}

/// Refuses directions that depend on each other, where the claim counts on their independence.
pub(super) fn check_directions(spec: &RunSpec) -> Result<(), Refused> {
    let arranged = [spec.antithetic, spec.orthogonal].contains(&Auto::Given(true));
    match arranged && spec.mechanism.needs_independent_directions() {
        true => Err(Refused::Arranged),
        false => Ok(()),
    }
}
