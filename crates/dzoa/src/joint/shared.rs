//! What agents do together once all have met: rounds in which everybody says one part to all
//! others, and from all parts the same next round follows everywhere.

use super::algorithm::{NoRound, Session, Step, SumPart};
use super::contributor::{Charged, Contribution, Contributor, PastPart, Resumed};
use crate::agent::CannotResume;
use crate::status::Status;
use dzoa_privacy::joint::{Members, Shares};
use dzoa_privacy::{Digest, Entry, Ledger, Receipt, Seen};

/// The rounds of one agent: what all hold alike, and what only this one has.
pub trait SharedRounds: Send {
    /// Rounds in all.
    fn rounds(&self) -> u64;

    /// Rounds that were taken in.
    fn done(&self) -> u64;

    /// What everybody would report now.
    fn estimate(&self) -> Vec<f64>;

    /// What one part costs an agent, in values or gradients.
    fn calls(&self) -> u64;

    /// A digest of everything public so far: equal at all agents, or something diverged.
    fn digest(&self) -> Digest;

    /// What was charged to this agent's rows.
    fn ledger(&self) -> &Ledger;

    /// Writes down how far another agent's ledger was seen. The entry is to be made durable.
    fn witness(&mut self, other: &str, seen: Seen) -> Option<Entry>;

    /// Begins the next round. Returns what tells it from every other, at all agents alike; `None`
    /// once all are done.
    fn begin(&mut self) -> Result<Option<Digest>, Status>;

    /// Whether a part is of the kind and length that this round has.
    fn fits(&self, part: &SumPart) -> bool;

    /// Charges this agent's part. Nothing is drawn before the entry is durable.
    fn charge(&mut self) -> Result<Charged, Status>;

    /// This agent's part, which is to be made durable before it is said.
    fn contribute(&mut self, receipt: Receipt) -> Result<Contribution, Status>;

    /// Takes up a part that was charged and said before a restart.
    fn resume(&mut self, past: PastPart) -> Result<Resumed, CannotResume>;

    /// Goes on with one part of every member, in the order of the members.
    fn absorb(&mut self, parts: &[SumPart]) -> Result<(), Status>;

    /// Gives up the open round, to begin it anew with these members only.
    fn without(&mut self, members: &Members) -> Result<(), Status> {
        let reason = format!("it needs everybody, and only {} are left", members.len());
        Err(Status::NoSum { round: self.done() + 1, reason })
    }
}

/// From those that are left to their shares of the noise; a sentence where they are too few.
pub type Reshare = Box<dyn Fn(&Members) -> Result<Option<Shares>, String> + Send>;

/// Joint sums at one agent.
pub struct Joined {
    session: Session,
    contributor: Contributor,
    reshare: Reshare,
    step: Option<Step>,
}

impl Joined {
    /// Before the first sum.
    pub fn new(session: Session, contributor: Contributor, reshare: Reshare) -> Self {
        Self { session, contributor, reshare, step: None }
    }

    fn position(&self) -> usize {
        self.session.members().position(self.contributor.name()).unwrap_or(0)
    }

    fn no_sum(&self) -> Status {
        Status::NoSum { round: self.session.done() + 1, reason: "it has not begun".into() }
    }
}

impl SharedRounds for Joined {
    fn rounds(&self) -> u64 {
        self.session.rounds()
    }

    fn done(&self) -> u64 {
        self.session.done()
    }

    fn estimate(&self) -> Vec<f64> {
        self.session.estimate()
    }

    fn calls(&self) -> u64 {
        self.session.calls()
    }

    fn digest(&self) -> Digest {
        self.session.digest()
    }

    fn ledger(&self) -> &Ledger {
        self.contributor.ledger()
    }

    fn witness(&mut self, other: &str, seen: Seen) -> Option<Entry> {
        self.contributor.witness(other, seen)
    }

    fn begin(&mut self) -> Result<Option<Digest>, Status> {
        let round = self.session.done() + 1;
        let refused = |no: NoRound| Status::NoSum { round, reason: no.to_string() };
        self.step = self.session.next().map_err(refused)?;
        Ok(self.step.as_ref().map(Step::id))
    }

    fn fits(&self, part: &SumPart) -> bool {
        let Some(step) = &self.step else { return false };
        let expected = step.ask.coordinates();
        let hidden = matches!(part, SumPart::Words(_));
        part.len() == expected && hidden == step.ask.hidden.is_some()
    }

    fn charge(&mut self) -> Result<Charged, Status> {
        let (position, missing) = (self.position(), self.no_sum());
        let step = self.step.as_ref().ok_or(missing)?;
        self.contributor.charge(step, position).map_err(|no| {
            let agent = self.contributor.name().into();
            Status::BudgetExhausted { agent, rounds: step.round - 1, reason: no.to_string() }
        })
    }

    fn contribute(&mut self, receipt: Receipt) -> Result<Contribution, Status> {
        let (position, missing) = (self.position(), self.no_sum());
        self.contributor.part(self.step.as_ref().ok_or(missing)?, position, receipt)
    }

    fn resume(&mut self, past: PastPart) -> Result<Resumed, CannotResume> {
        let position = self.position();
        let step = self.step.as_ref().ok_or(CannotResume::NotReady)?;
        self.contributor.resume(step, position, past)
    }

    fn absorb(&mut self, parts: &[SumPart]) -> Result<(), Status> {
        let missing = self.no_sum();
        let step = self.step.as_ref().ok_or(missing)?;
        let refused = |no: NoRound| Status::NoSum { round: step.round, reason: no.to_string() };
        self.session.absorb(step, parts).map_err(refused)?;
        Ok(())
    }

    fn without(&mut self, members: &Members) -> Result<(), Status> {
        let (round, agent) = (self.session.done() + 1, self.contributor.name().into());
        let no = |reason: String| Status::NoSum { round, reason };
        let shares = (self.reshare)(members).map_err(no)?;
        self.step = None;
        self.session.without(members.clone(), shares).map_err(|why| match why {
            NoRound::Spent { .. } => {
                let reason = why.to_string();
                Status::BudgetExhausted { agent, rounds: round - 1, reason }
            }
            _ => no(why.to_string()),
        })
    }
}
