//! What an agent says of itself.

use super::{Agent, Average, Phase};
use crate::admm::Admm;
use crate::primal::Lagrangian;
use dzoa_privacy::{Ledger, RunId};

impl Agent {
    /// The run it takes part in.
    pub fn run(&self) -> RunId {
        self.setup.streams.run_id()
    }

    /// Whether its next round waits to be computed, or taken up again.
    pub fn is_ready(&self) -> bool {
        self.phase == Phase::Ready
    }

    /// Whether it sends nothing any more.
    pub fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.setup.name
    }

    /// The last release, `beta_k`.
    pub fn beta(&self) -> &[f64] {
        &self.state.beta
    }

    /// The estimate it reports: the last release, or a mean of the later ones.
    pub fn estimate(&self) -> Vec<f64> {
        let average = match self.setup.average {
            Average::None => None,
            Average::LastHalf | Average::Network { .. } => self.late.mean(),
        };
        let average = self.gossip.clone().or(average);
        average.map_or(self.state.beta.to_vec(), |average| average.values().to_vec())
    }

    /// Rounds whose dual update is done.
    pub fn rounds_done(&self) -> u64 {
        self.rounds_done
    }

    /// The round it is in, those of the final averaging included.
    pub fn round(&self) -> u64 {
        self.round
    }

    /// The last round that sends anything.
    pub fn last_round(&self) -> u64 {
        let Admm { rounds, .. } = self.setup.settings;
        match self.setup.average {
            Average::Network { gossip } => rounds + gossip,
            _ => rounds,
        }
    }

    /// The first round of a neighbour that is still missing here.
    pub fn needs(&self, from: usize) -> Option<u64> {
        let link = &self.links[self.position(from)?];
        let over = u64::from(self.phase == Phase::Over);
        Some(link.first_missing(self.round + over))
    }

    /// Difference quotients that were clipped: a local value.
    pub fn clipped(&self) -> u64 {
        self.counters.clipped
    }

    /// Rounds in which an exact solver had to finish: a local value.
    pub fn finished_exactly(&self) -> u64 {
        self.counters.finished_exactly
    }

    /// Releases that had to be moved into the ball of the step's radius: a function of releases, so
    /// public.
    pub fn moved_inside(&self) -> u64 {
        self.moved_inside
    }

    /// `gamma_k`.
    pub fn gamma(&self) -> Vec<f64> {
        self.state.gamma()
    }

    /// The neighbours' positions.
    pub fn neighbours(&self) -> &[usize] {
        &self.setup.neighbours
    }

    /// What was charged.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Vectors sent so far, one per neighbour and round.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Values of the objective asked for so far.
    pub fn oracle_calls(&self) -> u64 {
        self.counters.oracle_calls
    }

    /// Whether `u_2` was ever raised to what the objective can resolve.
    pub fn step_raised(&self) -> bool {
        self.counters.step_raised
    }

    /// `F_k` as the next round would minimise it: what a measurement of the inner noise freezes.
    pub fn frozen_lagrangian(&self) -> Lagrangian<'_> {
        self.state.lagrangian(&self.setup.settings, &self.setup.objective)
    }
}
