//! One agent: its rows, its ledger, its secrets.

use super::algorithm::{Step, SumPart};
use super::answers::Answers;
use crate::agent::CannotResume;
use crate::kernels::program;
use crate::problem::Failure;
use crate::status::Status;
use dzoa_privacy::joint::{
    Accumulator, Context, MaskKey, Masked, Masks, NoMasks, Origin, Roster, SealedWords, ShareKey,
    Summand,
};
use dzoa_privacy::{
    Charge, ChargeRefused, Digest, Entry, Event, Ledger, NoiseKey, Private, Query, Receipt,
    Release, RunId, Sealed, Seen,
};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Everything that makes a contributor.
pub struct ContributorSetup {
    /// Its name.
    pub name: String,
    /// Its rows.
    pub rows: Arc<dyn Answers>,
    /// What one row weighs in the sum.
    pub weight: f64,
    /// What was spent on them before, and how much may be.
    pub ledger: Ledger,
    /// The run that it is charged for.
    pub run: RunId,
    /// What it keeps secret.
    pub secrets: Secrets,
}

/// An agent's secrets, all from its root. Forgotten when dropped.
pub struct Secrets {
    share: ShareKey,
    mask: MaskKey,
    plain: NoiseKey,
}

impl Secrets {
    /// From the secret of the run, for an agent with these rows. `plain` is only asked for where
    /// nothing is hidden.
    pub fn new(origin: &Origin<'_>, network: Digest, plain: NoiseKey) -> Self {
        Self { share: ShareKey::new(origin), mask: MaskKey::new(origin, network), plain }
    }

    /// The masks that its owner shares with those on the roster.
    pub(super) fn masks(self, roster: Roster) -> Result<Masks, NoMasks> {
        Masks::new(self.mask, roster)
    }

    /// The public key that others agree on masks with.
    pub fn public(&self) -> [u8; 32] {
        self.mask.public()
    }
}

/// One agent between two sums.
pub struct Contributor {
    name: String,
    rows: Arc<dyn Answers>,
    weight: f64,
    ledger: Ledger,
    run: RunId,
    /// Nothing once its root is erased: then it says again what it said, and nothing else.
    hiding: Option<Hiding>,
}

/// What hides a part.
struct Hiding {
    share: ShareKey,
    plain: NoiseKey,
    masks: Masks,
}

/// A part that was charged and may be sent, once it is durable.
#[derive(Clone, Debug)]
pub enum Contribution {
    /// With noise, and with masks where the plan has them.
    Hidden(Masked),
    /// A vector that nothing masks, as it was charged: with its noise, or as it is.
    Plain(Release),
}

impl Contribution {
    /// As everybody sees it.
    pub fn part(&self) -> SumPart {
        match self {
            Self::Hidden(masked) => SumPart::Words(masked.words().clone()),
            Self::Plain(release) => SumPart::Plain(release.values().clone()),
        }
    }

    /// With a seal that binds it to the charge that paid for it: what a journal persists.
    pub fn seal(&self, charge: &Charge) -> SealedPart {
        match self {
            Self::Hidden(masked) => SealedPart::Hidden(masked.seal()),
            Self::Plain(release) => SealedPart::Plain(release.seal(charge)),
        }
    }
}

/// A contribution at rest: what was sent, and never what it hides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum SealedPart {
    /// With noise, and with masks where the plan has them.
    Hidden(SealedWords),
    /// As it is.
    Plain(Sealed),
}

impl SealedPart {
    /// As everybody saw it.
    pub fn part(&self) -> SumPart {
        match self {
            Self::Hidden(sealed) => SumPart::Words(sealed.words().clone()),
            Self::Plain(sealed) => SumPart::Plain(sealed.values().into()),
        }
    }
}

/// A contribution with the charge that paid for it: what a fresh agent takes up again.
#[derive(Clone, Debug, PartialEq)]
pub struct PastPart {
    /// The charge.
    pub charge: Charge,
    /// What was sent.
    pub part: SealedPart,
}

impl Contributor {
    /// Before its first sum. With a roster it has masks.
    pub fn new(setup: ContributorSetup, roster: Option<Roster>) -> Result<Self, NoMasks> {
        let ContributorSetup { name, rows, weight, ledger, run, secrets } = setup;
        let Secrets { share, mask, plain } = secrets;
        let masks = match roster {
            Some(roster) => Masks::new(mask, roster)?,
            None => Masks::none(),
        };
        let hiding = Some(Hiding { share, plain, masks });
        Ok(Self { name, rows, weight, ledger, run, hiding })
    }

    /// The same without its secrets: it takes up what it said before, and nothing else.
    pub fn without_secrets(mut self) -> Self {
        self.hiding = None;
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What was charged to its rows.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The run that it is charged for.
    pub fn run(&self) -> RunId {
        self.run
    }

    /// What its part of this sum costs. The position is that among the members.
    pub fn query(&self, step: &Step, position: usize) -> Query {
        match (step.context(), &self.hiding) {
            (Some(context), Some(Hiding { share, .. })) => {
                context.charge(position, self.run, &program(), share)
            }
            _ => Query {
                run: self.run,
                round: step.round,
                inputs: step.id(),
                program: program(),
                event: Event::Unprotected,
            },
        }
    }

    /// Charges its part of this sum; the entry is new, or was there before. Nothing is drawn before
    /// the entry is durable.
    pub fn charge(&mut self, step: &Step, position: usize) -> Result<Charged, ChargeRefused> {
        let query = self.query(step, position);
        let written = self.ledger.entries().len();
        let receipt = self.ledger.charge(query.clone())?;
        let entry = self.ledger.entries().get(written).cloned();
        let charge = self.ledger.charge_for(&query).cloned();
        Ok(Charged { receipt, entry, charge })
    }

    /// Takes up a part that was charged and sealed before: the same entry, the same words. No row
    /// is asked and no noise is drawn. The entry is new where the ledger did not have it.
    pub fn resume(
        &mut self,
        step: &Step,
        position: usize,
        past: PastPart,
    ) -> Result<Resumed, CannotResume> {
        if self.hiding.is_none() {
            return self.recall(step, past);
        }
        let PastPart { charge, part } = past;
        // Whoever computed it, on whichever machine: nothing is computed again.
        let query = Query { program: charge.program.clone(), ..self.query(step, position) };
        if !charge.answers(&query) {
            let (persisted, now) = (charge.inputs.to_string(), query.inputs.to_string());
            return Err(CannotResume::OtherInputs { round: step.round, persisted, now });
        }
        self.recover(charge, part)
    }

    /// Takes up a part of a run that others' secrets were made for, for whoever replays journals.
    pub(crate) fn recall(&mut self, step: &Step, past: PastPart) -> Result<Resumed, CannotResume> {
        let PastPart { charge, part } = past;
        let known = match charge.event {
            Event::JointSum { context, .. } => context,
            _ => charge.inputs,
        };
        if charge.round != step.round || known != step.id() {
            let (persisted, now) = (known.to_string(), step.id().to_string());
            return Err(CannotResume::OtherInputs { round: step.round, persisted, now });
        }
        self.run = charge.run;
        self.recover(charge, part)
    }

    fn recover(&mut self, charge: Charge, part: SealedPart) -> Result<Resumed, CannotResume> {
        let written = self.ledger.entries().len();
        let receipt = self.ledger.recover(charge);
        let entry = self.ledger.entries().get(written).cloned();
        let contribution = match part {
            SealedPart::Hidden(sealed) => Contribution::Hidden(sealed.reopen(receipt)?),
            SealedPart::Plain(sealed) => Contribution::Plain(sealed.reopen(receipt)?),
        };
        Ok(Resumed { contribution, entry })
    }

    /// Writes down how far another agent's ledger was seen. The entry is to be made durable.
    pub fn witness(&mut self, other: &str, seen: Seen) -> Option<Entry> {
        let news = self.ledger.witness(other, seen);
        self.ledger.entries().last().filter(|_| news).cloned()
    }

    /// Its part of this sum: rows answer, answers are added up, noise and masks hide the rest.
    pub fn part(
        &mut self,
        step: &Step,
        position: usize,
        receipt: Receipt,
    ) -> Result<Contribution, Status> {
        let failed = |reason: String| Status::NoSum { round: step.round, reason };
        let erased = || failed("the root key of this run is erased".into());
        let Some(context) = step.context() else {
            let values = self.plain_sum(step).map_err(|no| self.failed(step, no))?;
            let Hiding { plain, .. } = self.hiding.as_ref().ok_or_else(erased)?;
            let release = Private::new(values).release(receipt, plain);
            return Ok(Contribution::Plain(release.map_err(|no| failed(no.to_string()))?));
        };
        let summand = self.summand(step, context, position)?;
        let Hiding { share, masks, .. } = self.hiding.as_mut().ok_or_else(erased)?;
        let share = summand.share(receipt, share).map_err(|no| failed(no.to_string()))?;
        let masked = share.mask(masks).map_err(|no| failed(no.to_string()))?;
        Ok(Contribution::Hidden(masked))
    }

    /// All answers as whole numbers of steps: threads may add in any order.
    fn summand(&self, step: &Step, context: &Context, position: usize) -> Result<Summand, Status> {
        let pieces: Vec<Result<Accumulator, Status>> = self
            .pieces()
            .into_par_iter()
            .map(|rows| {
                let mut sum = Accumulator::new(context, position);
                let mut refused = None;
                let answered = self.rows.answer(&step.ask, rows, &mut |answer| {
                    refused = refused.or(sum.add(answer).err());
                });
                // Under a guarantee a row that fails counts as nothing and ends nothing: an end
                // would be a release. A box that gives no answer at all ends the run.
                answered.map_err(|failure| self.failed(step, failure))?;
                match refused {
                    None => Ok(sum),
                    Some(bad) => Err(Status::NoSum { round: step.round, reason: bad.to_string() }),
                }
            })
            .collect();
        let mut total = Accumulator::new(context, position);
        for piece in pieces {
            total
                .absorb(piece?)
                .map_err(|bad| Status::NoSum { round: step.round, reason: bad.to_string() })?;
        }
        Ok(total.finish())
    }

    /// All answers as plain floats: piece by piece, and the pieces in their order.
    fn plain_sum(&self, step: &Step) -> Result<Vec<f64>, Failure> {
        let count = step.ask.coordinates();
        let pieces: Vec<Result<Vec<f64>, Failure>> = self
            .pieces()
            .into_par_iter()
            .map(|rows| {
                let mut sum = vec![0.0; count];
                self.rows.answer(&step.ask, rows, &mut |answer| {
                    sum.iter_mut().zip(answer).for_each(|(sum, value)| *sum += value);
                })?;
                Ok(sum)
            })
            .collect();
        let mut total = vec![0.0; count];
        for piece in pieces {
            total.iter_mut().zip(piece?).for_each(|(total, sum)| *total += sum);
        }
        total.iter_mut().for_each(|total| *total *= self.weight);
        Ok(total)
    }

    fn pieces(&self) -> Vec<std::ops::Range<usize>> {
        let (rows, piece) = (self.rows.rows(), self.rows.piece());
        (0..rows).step_by(piece).map(|first| first..rows.min(first + piece)).collect()
    }

    fn failed(&self, step: &Step, failure: Failure) -> Status {
        let agent = self.name.clone();
        Status::ObjectiveFailed { agent, round: step.round, step: 0, failure }
    }
}

/// A part that was taken up again.
pub struct Resumed {
    /// The part.
    pub contribution: Contribution,
    /// The entry of the ledger, where it was not there.
    pub entry: Option<Entry>,
}

/// A part that was paid for.
pub struct Charged {
    /// Proof of it.
    pub receipt: Receipt,
    /// The new entry of the ledger, to be made durable; `None` where it was there before.
    pub entry: Option<Entry>,
    /// The charge.
    pub charge: Option<Charge>,
}
