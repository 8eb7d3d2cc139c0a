//! The attack on an algorithm whose state between rounds is public: the attacker follows it by
//! itself.

use super::{Attack, log_likelihood_ratio};
use crate::agents;
use crate::error::Result;
use dzoa::baselines::{Baseline, Holder, Part};
use dzoa::prelude::*;
use dzoa::privacy::Event;
use dzoa::simulate::Fleet;
use dzoa::worst_case::{noiseless, unprotected};
use std::ops::ControlFlow;

/// The public recursion, one round behind the run, and the two holders that the agent may be.
pub(super) struct Follower {
    baseline: Box<dyn Baseline>,
    holders: [Holder; 2],
}

impl Follower {
    /// Before the first round; `None` where the config names no such algorithm.
    pub(super) fn new(attack: &Attack<'_>, problems: [&Problem; 2]) -> Result<Option<Self>> {
        let Some(baseline) = agents::baseline(attack.config, problems[0], attack.graph)? else {
            return Ok(None);
        };
        Ok(Some(Self { baseline, holders: problems.map(|problem| Holder::new(problem, attack.k)) }))
    }

    /// The score of one run.
    pub(super) fn score(&mut self, fleet: &mut dyn Fleet) -> f64 {
        let mut score = 0.0;
        fleet.run(&mut |view: &RoundView<'_>| {
            score += self.see(view.round, view.fleet);
            self.follow(view.round, view.fleet);
            ControlFlow::Continue(())
        });
        score
    }

    /// Scores the release of this round.
    fn see(&mut self, round: u64, fleet: &dyn Fleet) -> f64 {
        let k = self.holders[0].k;
        let event = fleet.lockstep().and_then(|lockstep| lockstep.last_event(k));
        let (Some(event), false) = (event, self.baseline.part(round, k) == Part::Rests) else {
            return 0.0;
        };
        let (baseline, release) = (&*self.baseline, fleet.release(k));
        if let Event::ObjectivePerturbation { scale, .. } = *event {
            // The minimiser's density follows from that of the linear term, gradient and Hessian.
            // The noise that hides the solver's tolerance is too small to see.
            let density =
                |holder: &Holder| baseline.perturbed(round, holder, release)?.log_density(scale);
            let [without, with] = &self.holders;
            return density(with)
                .zip(density(without))
                .map_or(0.0, |(with, without)| with - without);
        }
        let points = self.holders.each_mut().map(|holder| noiseless(baseline, round, holder));
        match points {
            [Some(without), Some(with)] => log_likelihood_ratio(&[without, with], release, event),
            _ => 0.0,
        }
    }

    /// Takes in what was released, as everybody does.
    fn follow(&mut self, round: u64, fleet: &dyn Fleet) {
        let released = (0..fleet.len())
            .filter(|&l| self.baseline.part(round, l) == Part::Releases)
            .filter_map(|l| unprotected(fleet.release(l).to_vec()));
        let released: Vec<_> = released.collect();
        self.baseline.absorb(round, &released);
    }
}
