//! One agent of a baseline over a network in which everybody hears every release: so everybody
//! computes what a coordinator would, to the same bits, and nobody has to be one.

use super::agent::BaselineAgent;
use super::{Baseline, Part};
use crate::agent::{Average, CannotResume, LARGEST_NORM};
use crate::joint::{Charged, Contribution, PastPart, Resumed, SharedRounds, SumPart};
use crate::network::gossip::RunningMean;
use crate::status::Status;
use dzoa_privacy::joint::Members;
use dzoa_privacy::packed::pack;
use dzoa_privacy::{Digest, Entry, Ledger, Receipt, Seen};
use std::sync::Arc;

/// What all agents agree on before the first round.
pub struct FloodedOpening {
    /// The algorithm, which needs flooding and nothing of anybody else.
    pub baseline: Box<dyn Baseline>,
    /// The agents in the order of the graph.
    pub names: Vec<String>,
    /// All agents.
    pub members: Members,
    /// Rounds in all.
    pub rounds: u64,
    /// What is reported.
    pub average: Average,
    /// A digest of everything that was decided: problem, network and plan.
    pub plan: Digest,
}

/// The rounds of a baseline at one agent.
pub struct FloodedBaseline {
    opening: FloodedOpening,
    agent: BaselineAgent,
    done: u64,
    /// Whether a round is open.
    open: bool,
    /// The mean of the estimates of the second half of the rounds.
    late: RunningMean,
    /// Digest of everything public so far.
    chain: Digest,
}

impl FloodedBaseline {
    /// Before the first round.
    pub fn new(opening: FloodedOpening, agent: BaselineAgent) -> Self {
        let late = RunningMean::new(opening.baseline.estimate(agent.position()).len());
        Self { chain: opening.plan, opening, agent, done: 0, open: false, late }
    }

    fn round(&self) -> u64 {
        self.done + 1
    }

    fn own_estimate(&self) -> Vec<f64> {
        self.opening.baseline.estimate(self.agent.position())
    }

    /// What everybody released, in the order of the graph. Refuses what no agent of this program
    /// sends: one that is too long would drown what others say.
    fn released(&self, parts: &[SumPart]) -> Result<Vec<Arc<[f64]>>, Status> {
        let round = self.round();
        let of = |name: &String| -> Result<Arc<[f64]>, Status> {
            let part = self.opening.members.position(name).and_then(|at| parts.get(at));
            let Some(SumPart::Plain(values)) = part else {
                let reason = format!("nothing was heard of {name}");
                return Err(Status::NoSum { round, reason });
            };
            let agent = name.clone();
            let norm = values.iter().map(|value| value * value).sum::<f64>().sqrt();
            if values.iter().any(|value| !value.is_finite()) {
                return Err(Status::NonFinite { agent, round, step: 0 });
            }
            match norm <= LARGEST_NORM {
                true => Ok(values.clone()),
                false => Err(Status::Diverged { agent, round, norm }),
            }
        };
        self.opening.names.iter().map(of).collect()
    }
}

impl SharedRounds for FloodedBaseline {
    fn rounds(&self) -> u64 {
        self.opening.rounds
    }

    fn done(&self) -> u64 {
        self.done
    }

    fn estimate(&self) -> Vec<f64> {
        self.late.mean().unwrap_or_else(|| self.own_estimate())
    }

    fn calls(&self) -> u64 {
        self.opening.baseline.gradients_per_query()
    }

    fn digest(&self) -> Digest {
        self.chain
    }

    fn ledger(&self) -> &Ledger {
        self.agent.ledger()
    }

    fn witness(&mut self, other: &str, seen: Seen) -> Option<Entry> {
        self.agent.witness(other, seen)
    }

    fn begin(&mut self) -> Result<Option<Digest>, Status> {
        self.open = self.done < self.opening.rounds;
        if !self.open {
            return Ok(None);
        }
        // Where everybody stands is in it: whoever computed something else is found out before
        // anything of the round is taken in.
        let mut hasher = blake3::Hasher::new_derive_key("dzoa 2026 flooded round");
        hasher.update(&self.chain.0).update(&self.round().to_le_bytes());
        hasher.update(&pack(&self.own_estimate()));
        Ok(Some(Digest::from(*hasher.finalize().as_bytes())))
    }

    fn fits(&self, part: &SumPart) -> bool {
        let expected = self.own_estimate().len();
        self.open && matches!(part, SumPart::Plain(values) if values.len() == expected)
    }

    fn charge(&mut self) -> Result<Charged, Status> {
        let (round, k) = (self.round(), self.agent.position());
        if self.opening.baseline.part(round, k) != Part::Releases {
            return Err(Status::NoSum { round, reason: "not everybody releases in it".into() });
        }
        self.agent.charge(round).map_err(|no| {
            let agent = self.agent.name().into();
            Status::BudgetExhausted { agent, rounds: round - 1, reason: no.to_string() }
        })
    }

    fn contribute(&mut self, receipt: Receipt) -> Result<Contribution, Status> {
        let round = self.round();
        let release = self.agent.release(&*self.opening.baseline, round, receipt)?;
        Ok(Contribution::Plain(release))
    }

    fn resume(&mut self, past: PastPart) -> Result<Resumed, CannotResume> {
        self.agent.resume(self.round(), past)
    }

    fn absorb(&mut self, parts: &[SumPart]) -> Result<(), Status> {
        let (round, released) = (self.round(), self.released(parts)?);
        let mut hasher = blake3::Hasher::new_derive_key("dzoa 2026 flooded releases");
        hasher.update(&self.chain.0);
        released.iter().for_each(|values| {
            hasher.update(&pack(values));
        });
        self.chain = Digest::from(*hasher.finalize().as_bytes());
        let digest = self.agent.digest(&released);
        digest.iter().for_each(|digest| self.agent.follow(digest));
        self.opening.baseline.absorb(round, &released);
        if self.opening.average.takes(round, self.opening.rounds) {
            self.late.add(&self.own_estimate());
        }
        self.done = round;
        Ok(())
    }
}
