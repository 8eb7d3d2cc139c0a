//! The attack on an algorithm whose state between rounds is public: the attacker follows it by
//! itself.

use super::attacked::Attack;
use super::likelihood::log_likelihood_ratio;
use dzoa::baselines::{Baseline, Part, Party};
use dzoa::prelude::*;
use dzoa::privacy::Event;
use dzoa::run::Simulation;
use dzoa::worst_case::noiseless;
use dzoa_report::refused;
use dzoa_table::Result;
use std::ops::ControlFlow;

/// The public recursion, one round behind the run, and the two parties that the agent may be.
pub(super) struct Follower {
    baseline: Box<dyn Baseline>,
    parties: [Party; 2],
}

impl Follower {
    /// Before the first round; `None` where the config names no such algorithm.
    pub(super) fn new(attack: &Attack<'_>, problems: [&Problem; 2]) -> Result<Option<Self>> {
        let Some(baseline) = attack.plan.baseline().map_err(refused)? else {
            return Ok(None);
        };
        let parties = problems.map(|problem| Party::new(&*baseline, problem, attack.k));
        Ok(Some(Self { baseline, parties }))
    }

    /// The score of one run.
    pub(super) fn score(&mut self, simulation: &mut dyn Simulation) -> f64 {
        let mut score = 0.0;
        simulation.run(&mut |view: &RoundView<'_>| {
            score += self.see(view.round, view.simulation);
            self.follow(view.round, view.simulation);
            ControlFlow::Continue(())
        });
        score
    }

    /// Scores the release of this round.
    fn see(&mut self, round: u64, simulation: &dyn Simulation) -> f64 {
        let k = self.parties[0].k;
        let event = simulation.lockstep().and_then(|lockstep| lockstep.last_event(k));
        let (Some(event), false) = (event, self.baseline.part(round, k) == Part::Rests) else {
            return 0.0;
        };
        let (baseline, release) = (&*self.baseline, simulation.release(k));
        if let Event::ObjectivePerturbation { scale, .. } = *event {
            // The minimiser's density follows from that of the linear term, gradient and Hessian.
            // The noise that hides the solver's tolerance is too small to see.
            let density =
                |party: &Party| baseline.perturbed(round, party, release)?.log_density(scale);
            let [without, with] = &self.parties;
            return density(with)
                .zip(density(without))
                .map_or(0.0, |(with, without)| with - without);
        }
        let points = self.parties.each_mut().map(|party| noiseless(baseline, round, party));
        match points {
            [Some(without), Some(with)] => log_likelihood_ratio(&[without, with], release, event),
            _ => 0.0,
        }
    }

    /// Takes in what was released, as everybody does.
    fn follow(&mut self, round: u64, simulation: &dyn Simulation) {
        let released = (0..simulation.len())
            .filter(|&l| self.baseline.part(round, l) == Part::Releases)
            .map(|l| simulation.release(l).into());
        let released: Vec<_> = released.collect();
        self.baseline.absorb(round, &released);
    }
}
