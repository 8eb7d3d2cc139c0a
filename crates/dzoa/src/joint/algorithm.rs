//! One round of joint sums, as code.
//!
//! ```text
//! session.next        the public question, and what all agents agree on about it
//! contributor.charge  the ledger pays, and the entry becomes durable
//! contributor.part    rows answer, answers are added up, noise and masks hide the part
//!                     (the part becomes durable, and floods over the network)
//! session.absorb      the sum of all parts: the same next point everywhere
//! ```

use super::ask::{Ask, Question};
use super::{Certainty, SumMethod, Told};
use dzoa_privacy::joint::{
    Context, Members, NoContext, NoGrid, NoRegion, NoSum, Opening, Shares, Sum, Transcript, Turn,
    Words,
};
use dzoa_privacy::packed::pack;
use dzoa_privacy::{Colluders, Digest};
use std::sync::Arc;
use thiserror::Error;

/// The public state of a run: equal at all agents.
pub struct Session {
    method: Box<dyn SumMethod>,
    opened: SessionOpening,
    chain: Chain,
    attempt: u64,
    /// What all sums that were asked for cost, those that were given up included: mu^2.
    spent: f64,
    /// What is left to every further sum of the mu that was planned for it.
    scale: f64,
}

/// What all agents agree on before the first sum.
#[derive(Clone, Debug)]
pub struct SessionOpening {
    /// A digest of everything that was decided: problem, network and plan.
    pub network: Digest,
    /// The program's name and version.
    pub program: String,
    /// The digest of the roster of mask keys, where there are masks.
    pub roster: Option<Digest>,
    /// Everybody.
    pub members: Members,
    /// The rows of everybody, in the order of the members.
    pub rows: Vec<u64>,
    /// Who adds how much noise; `None` without protection.
    pub shares: Option<Shares>,
}

/// The chain of everything public that happened.
#[derive(Clone, Copy, Debug)]
enum Chain {
    Hidden(Transcript),
    Plain(Digest),
}

/// One round before anybody has answered.
#[derive(Clone, Debug)]
pub struct Step {
    /// Counted from 1.
    pub round: u64,
    /// The question.
    pub ask: Ask,
    /// How often the round was begun before.
    pub attempt: u64,
    id: Digest,
    context: Option<Context>,
}

/// One agent's part of a sum, as everybody sees it.
#[derive(Clone, Debug)]
pub enum SumPart {
    /// With noise, and with masks where the plan has them.
    Words(Words),
    /// As it is.
    Plain(Arc<[f64]>),
}

/// A round that cannot be. All of it is public.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum NoRound {
    /// There is no region at the point.
    #[error(transparent)]
    Region(#[from] NoRegion),
    /// There is no grid for the noise.
    #[error(transparent)]
    Grid(#[from] NoGrid),
    /// Agents do not fit.
    #[error(transparent)]
    Context(#[from] NoContext),
    /// The parts are no sum.
    #[error(transparent)]
    Sum(#[from] NoSum),
    /// A part of another kind or length.
    #[error("the part of agent {agent} has {got} numbers where the sum has {expected}")]
    Length {
        /// Its position among the members.
        agent: usize,
        /// Its numbers.
        got: usize,
        /// Those of the sum.
        expected: usize,
    },
    /// A sum that was given up took too much of the budget.
    #[error("too little of the budget is left to take sum {round} again")]
    Spent {
        /// The sum.
        round: u64,
    },
    /// A part without noise that is not finite.
    #[error("the part of agent {agent} is not finite")]
    NotFinite {
        /// Its position among the members.
        agent: usize,
    },
}

impl Chain {
    fn new(opened: &SessionOpening) -> Self {
        let SessionOpening { network, program, roster, rows, shares, .. } = opened;
        let colluders = shares.as_ref().map_or(Colluders::All, Shares::colluders);
        let (network, roster) = (*network, *roster);
        let transcript = Transcript::new(&Opening { network, program, roster, rows, colluders });
        match shares {
            Some(_) => Self::Hidden(transcript),
            None => Self::Plain(transcript.digest()),
        }
    }
}

impl Session {
    /// A run before its first sum.
    pub fn new(method: Box<dyn SumMethod>, opened: SessionOpening) -> Self {
        let chain = Chain::new(&opened);
        Self { method, chain, opened, attempt: 0, spent: 0.0, scale: 1.0 }
    }

    /// The same run before its first sum with another roster: that of agents whose journals are
    /// replayed.
    pub(crate) fn reopen(&mut self, roster: Digest) {
        if self.opened.roster.is_some() {
            self.opened.roster = Some(roster);
            self.chain = Chain::new(&self.opened);
        }
    }

    /// The next round; `None` once all are done.
    pub fn next(&self) -> Result<Option<Step>, NoRound> {
        let Some(mut ask) = self.method.ask()? else { return Ok(None) };
        ask.hidden.iter_mut().for_each(|hidden| hidden.mu *= self.scale);
        let (round, attempt) = (self.method.done() + 1, self.attempt);
        let context = match (&self.chain, &self.opened.shares, &ask.hidden) {
            (Chain::Hidden(transcript), Some(shares), Some(hidden)) => {
                let query = shares.query(hidden.region.clone(), hidden.mu)?;
                let (purpose, point) = (ask.question.purpose(), &ask.point);
                let turn = Turn { round, attempt, members: &self.opened.members, purpose, point };
                Some(transcript.context(&turn, query)?)
            }
            _ => None,
        };
        let id = match (&context, &self.chain) {
            (Some(context), _) => context.id(),
            (None, Chain::Hidden(transcript)) => transcript.digest(),
            (None, Chain::Plain(before)) => self.plain_id(before, round, &ask),
        };
        Ok(Some(Step { round, ask, attempt, id, context }))
    }

    /// What tells a sum without protection from every other.
    fn plain_id(&self, before: &Digest, round: u64, ask: &Ask) -> Digest {
        let mut hasher = blake3::Hasher::new_derive_key("dzoa 2026 plain joint context");
        hasher.update(&before.0).update(&round.to_le_bytes());
        hasher.update(&self.attempt.to_le_bytes()).update(&self.opened.members.digest().0);
        hasher.update(ask.question.purpose().as_bytes()).update(&pack(&ask.point));
        if let Question::Points(points) = &ask.question {
            hasher.update(&pack(points));
        }
        Digest::from(*hasher.finalize().as_bytes())
    }

    /// Goes on with one part of every member, in the order of the members. Returns the sum.
    pub fn absorb(&mut self, step: &Step, parts: &[SumPart]) -> Result<Vec<f64>, NoRound> {
        let sum = match &step.context {
            Some(context) => {
                let sum = Sum::of(context, words(parts, context.query().coordinates())?)?;
                self.chain = Chain::Hidden(context.follow(&sum));
                sum.values()
            }
            None => {
                let sum = self.plain_sum(step, parts)?;
                let mut hasher = blake3::Hasher::new_derive_key("dzoa 2026 plain joint sum");
                hasher.update(&step.id.0).update(&pack(&sum));
                self.chain = Chain::Plain(Digest::from(*hasher.finalize().as_bytes()));
                sum
            }
        };
        self.method.absorb(&sum);
        self.spent += step.cost();
        self.attempt = 0;
        Ok(sum)
    }

    /// In the order of the members, so that everybody finds the same bits.
    fn plain_sum(&self, step: &Step, parts: &[SumPart]) -> Result<Vec<f64>, NoRound> {
        let (members, got) = (self.opened.members.len(), parts.len());
        if members != got {
            return Err(NoSum::Missing { got, members }.into());
        }
        let expected = step.ask.coordinates();
        let mut sum = vec![0.0; expected];
        for (agent, part) in parts.iter().enumerate() {
            let values = match part {
                SumPart::Plain(values) if values.len() == expected => values,
                _ => return Err(NoRound::Length { agent, got: part.len(), expected }),
            };
            if !values.iter().all(|value| value.is_finite()) {
                return Err(NoRound::NotFinite { agent });
            }
            sum.iter_mut().zip(values.iter()).for_each(|(sum, value)| *sum += value);
        }
        Ok(sum)
    }

    /// Begins the open round anew without those that are gone: fresh noise, fresh masks, and
    /// another charge. The attempt that is given up was charged, too: what it cost is taken from
    /// this sum and all further ones alike, so that the whole run costs what was planned.
    pub fn without(&mut self, members: Members, shares: Option<Shares>) -> Result<(), NoRound> {
        let given_up = self.next()?.map_or(0.0, |step| step.cost());
        let costs: Vec<f64> = self.method.planned()?.iter().map(|sum| sum.mu * sum.mu).collect();
        let done = self.done() as usize;
        let (planned, ahead) = (costs.iter().sum::<f64>(), costs.iter().skip(done).sum::<f64>());
        self.spent += given_up;
        if !costs.is_empty() {
            let left = ((planned - self.spent).max(0.0) / ahead).sqrt() * (1.0 - 1e-9);
            self.scale = left.min(self.scale);
            if self.scale.is_nan() || self.scale < LEAST_SCALE {
                return Err(NoRound::Spent { round: self.done() + 1 });
            }
        }
        self.opened.members = members;
        self.opened.shares = shares;
        self.attempt += 1;
        Ok(())
    }

    /// How often the open round was begun before.
    pub fn attempt(&self) -> u64 {
        self.attempt
    }

    /// A digest of everything public so far: equal at all agents, or something diverged.
    pub fn digest(&self) -> Digest {
        match self.chain {
            Chain::Hidden(transcript) => transcript.digest(),
            Chain::Plain(digest) => digest,
        }
    }

    /// Who takes part.
    pub fn members(&self) -> &Members {
        &self.opened.members
    }

    /// Members that the guarantee expects to collude; none where it names no number.
    pub fn colluders(&self) -> usize {
        match self.opened.shares.as_ref().map(Shares::colluders) {
            Some(Colluders::AtMost(count)) => count as usize,
            Some(Colluders::All) | None => 0,
        }
    }

    /// Sums that were taken in.
    pub fn done(&self) -> u64 {
        self.method.done()
    }

    /// Sums in all.
    pub fn rounds(&self) -> u64 {
        self.method.rounds()
    }

    /// What everybody reports.
    pub fn estimate(&self) -> Vec<f64> {
        self.method.estimate()
    }

    /// Values of the objective, where the sums told them.
    pub fn told(&self) -> Option<Told> {
        self.method.told()
    }

    /// How sure it is, where the sums told it.
    pub fn certainty(&self) -> Option<Certainty> {
        self.method.certainty()
    }

    /// What an answer costs an agent, in values or gradients.
    pub fn calls(&self) -> u64 {
        self.method.calls()
    }
}

/// The words of all parts, each of the right length.
fn words(parts: &[SumPart], expected: usize) -> Result<Vec<&Words>, NoRound> {
    let check = |(agent, part): (usize, &'_ SumPart)| match part {
        SumPart::Words(_) if part.len() == expected => Ok(()),
        _ => Err(NoRound::Length { agent, got: part.len(), expected }),
    };
    parts.iter().enumerate().try_for_each(check)?;
    Ok(parts.iter().filter_map(SumPart::words).collect())
}

/// A sum with less than this part of its mu would spoil more than it brings.
const LEAST_SCALE: f64 = 0.5;

impl Step {
    /// mu^2; nothing without protection.
    fn cost(&self) -> f64 {
        self.ask.hidden.as_ref().map_or(0.0, |hidden| hidden.mu * hidden.mu)
    }

    /// What tells this sum from every other: equal at all agents, or something diverged.
    pub fn id(&self) -> Digest {
        self.id
    }

    /// What masks and noise are keyed with; `None` without protection.
    pub(super) fn context(&self) -> Option<&Context> {
        self.context.as_ref()
    }

    /// The step of the grid that words are on; `None` without protection.
    pub fn grid(&self) -> Option<f64> {
        self.context.as_ref().map(|context| context.query().step())
    }
}

/// Bit by bit: what is not a number equals itself.
impl PartialEq for SumPart {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Words(one), Self::Words(other)) => one == other,
            (Self::Plain(one), Self::Plain(other)) => pack(one) == pack(other),
            _ => false,
        }
    }
}

impl SumPart {
    fn words(&self) -> Option<&Words> {
        match self {
            Self::Words(words) => Some(words),
            Self::Plain(_) => None,
        }
    }

    /// Numbers in it.
    pub fn len(&self) -> usize {
        match self {
            Self::Words(words) => words.len(),
            Self::Plain(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
