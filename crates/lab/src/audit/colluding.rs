//! The attack on joint sums: some agents pool their keys, and everybody knows all rows but one.

use super::attacked::Attack;
use dzoa::joint::{Adversary, noiseless};
use dzoa::plan::Plan;
use dzoa::prelude::*;
use dzoa::problem::EmpiricalRisk;
use dzoa::run::Simulation;
use dzoa_report::refused;
use dzoa_table::Result;
use std::ops::ControlFlow;

/// Agents that collude against one, and the rows that they know or guess.
pub(super) struct Colluding {
    adversary: Adversary,
    /// What the attacked agent may hold.
    guesses: [EmpiricalRisk; 2],
    /// The rows of the other honest agents, and what one of them weighs.
    known: Vec<(EmpiricalRisk, f64)>,
    weight: f64,
    rounds: u64,
}

impl Colluding {
    /// Before the first sum; `None` where the algorithm takes no joint sums.
    pub(super) fn new(
        attack: &Attack<'_>,
        plan: &Plan,
        problems: [&Problem; 2],
        streams: &Streams,
    ) -> Result<Option<Self>> {
        let k = attack.k;
        let Some(joint) = plan.joint() else { return Ok(None) };
        let others: Vec<usize> = (0..plan.graph().len()).filter(|&other| other != k).collect();
        let (colluders, honest) = match joint.masked() {
            true => others.split_at(attack.colluders.min(others.len())),
            // Without masks every part stands alone.
            false => (&others[..], &others[..0]),
        };
        let adversary = joint.adversary(&plan.study(), colluders, streams).map_err(refused)?;
        let weight = |agent: usize| joint.weight(&plan.graph().names()[agent]);
        let known = |&other: &usize| (problems[0].risk(other), weight(other));
        Ok(Some(Self {
            adversary,
            guesses: problems.map(|problem| problem.risk(k)),
            known: honest.iter().map(known).collect(),
            weight: weight(k),
            rounds: plan.rounds(),
        }))
    }

    /// The score of one run: how much likelier all sums are under the second guess.
    pub(super) fn score(mut self, simulation: &mut dyn Simulation) -> f64 {
        let mut score = 0.0;
        simulation.run(&mut |view: &RoundView<'_>| {
            score += self.see(view.simulation).unwrap_or(0.0);
            match view.round < self.rounds {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        });
        score
    }

    fn see(&mut self, simulation: &dyn Simulation) -> Option<f64> {
        let (step, parts) = simulation.sums()?.last()?;
        let mut left = self.adversary.view(step, parts)?;
        for (rows, weight) in &self.known {
            let part = noiseless(rows, *weight, &step.ask)?;
            left.iter_mut().zip(part).for_each(|(left, part)| *left -= part);
        }
        let [without, with] =
            self.guesses.each_ref().map(|rows| noiseless(rows, self.weight, &step.ask));
        let (without, with) = (without?, with?);
        // The difference of two squares, without their cancellation.
        let product = |(at, left): (usize, &f64)| {
            (with[at] - without[at]) * (left - 0.5 * (with[at] + without[at]))
        };
        Some(left.iter().enumerate().map(product).sum::<f64>() / self.adversary.variance(step)?)
    }
}
