//! What a network of agents did, once more, from their journals: for whoever holds all of them.

use crate::journal::{self, JournalRecord, PersistedPart, PersistedPast};
use dzoa::Status;
use dzoa::agent::{Agent, CannotResume, Past};
use dzoa::joint::{PastPart, Saying};
use dzoa::privacy::Digest;
use dzoa::run::{NotReplayed, Observer, OutOfStep, Releasing, RoundView, Simulation, drive};
use dzoa::streams::Streams;
use std::collections::VecDeque;
use std::ops::ControlFlow;
use thiserror::Error;

/// Journals that do not tell of one run in lockstep.
#[derive(Debug, Error)]
pub enum ReplayError {
    /// A charge or release is not what these agents would make.
    #[error("agent {agent}, round {round}: {why}")]
    Resume {
        /// Its name.
        agent: String,
        /// The round.
        round: u64,
        /// What is wrong.
        why: CannotResume,
    },
    /// A part of a sum, or a release to all, is not what these agents would have said.
    #[error(transparent)]
    Sums(#[from] NotReplayed),
    /// Rounds with late or leaving neighbours cannot be told in lockstep.
    #[error(transparent)]
    NotInLockstep(#[from] OutOfStep),
}

/// The releases in a journal, in order.
fn releases(records: Vec<JournalRecord>) -> VecDeque<Past> {
    let kept = records.into_iter().filter_map(|record| match record {
        JournalRecord::Round { past, .. } => past.and_then(PersistedPast::past),
        _ => None,
    });
    kept.collect()
}

/// What was charged and said to all in a journal, in order.
fn parts(records: Vec<JournalRecord>) -> VecDeque<PastPart> {
    let kept = records.into_iter().filter_map(|record| match record {
        JournalRecord::Stage { past, .. } => past.and_then(PersistedPart::past),
        _ => None,
    });
    kept.collect()
}

/// The roster that everybody in a journal had.
fn roster(records: &[JournalRecord]) -> Option<Digest> {
    records.iter().find_map(|record| match record {
        JournalRecord::Stage { letters, .. } => match letters.first()?.notice().saying {
            Saying::Ready { roster } => Some(roster),
            _ => None,
        },
        _ => None,
    })
}

/// Takes the agents of a simulation through the rounds in their journals, in the order of the
/// graph. No row is queried and no noise is drawn; the observer sees what it would have seen in a
/// simulation.
pub fn replay(
    simulation: &mut dyn Simulation,
    journals: Vec<Vec<JournalRecord>>,
    seeded: bool,
    observer: &mut dyn Observer,
) -> Result<Status, ReplayError> {
    if let Some(sums) = simulation.sums_mut() {
        let roster = journals.first().and_then(|records| roster(records));
        return Ok(sums.replay(journals.into_iter().map(parts).collect(), roster, observer)?);
    }
    if let Some(lockstep) = simulation.lockstep_mut() {
        return Ok(lockstep.replay(journals.into_iter().map(parts).collect(), observer)?);
    }
    for (agent, records) in simulation.agents_mut().iter_mut().zip(&journals) {
        let root = journal::root(records).unwrap_or_default();
        agent.stand_in_for(Streams::from_key(root, seeded));
    }
    let pasts = journals.into_iter().map(releases).collect();
    drive(simulation, &mut FromJournals(pasts), &mut Unstoppable(observer))
}

/// Every agent takes up the releases of its journal again.
struct FromJournals(Vec<VecDeque<Past>>);

impl Releasing for FromJournals {
    type Error = ReplayError;

    fn release(&mut self, agents: &mut [Agent]) -> Result<ControlFlow<()>, ReplayError> {
        let mut flow = ControlFlow::Continue(());
        let ready = agents.iter_mut().zip(&mut self.0).filter(|(agent, _)| agent.is_ready());
        for (agent, pasts) in ready {
            match pasts.pop_front() {
                None => flow = ControlFlow::Break(()),
                Some(past) => agent.resume(past).map_err(|why| {
                    let (agent, round) = (agent.name().into(), agent.round());
                    ReplayError::Resume { agent, round, why }
                })?,
            }
        }
        Ok(flow)
    }
}

/// A replay is never stopped by who watches it, and persists nothing again.
struct Unstoppable<'a>(&'a mut dyn Observer);

impl Observer for Unstoppable<'_> {
    fn round(&mut self, view: &RoundView<'_>) -> ControlFlow<()> {
        let _ = self.0.round(view);
        ControlFlow::Continue(())
    }
}
