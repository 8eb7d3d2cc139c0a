//! What a network of agents did, once more, from their journals: for whoever holds all of them.

use crate::journal::{Kept, Record};
use dzoa::agent::{CannotResume, Envelope, Input, Message, Output, Past};
use dzoa::simulate::Fleet;
use dzoa::trace::{Observer, RoundView, Status};
use std::collections::VecDeque;
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
    /// Rounds with late or leaving neighbours cannot be told in lockstep.
    #[error("the agents did not wait for each other in every round")]
    NotInLockstep,
}

/// The releases in a journal, in order.
pub fn releases(records: Vec<Record>) -> VecDeque<Past> {
    let kept = records.into_iter().filter_map(|record| match record {
        Record::Round { past, .. } => past.and_then(Kept::past),
        Record::Start(_) | Record::Left { .. } => None,
    });
    kept.collect()
}

/// Takes fresh agents through the rounds in their journals. No row is looked at and no noise is drawn; the
/// observer sees what it would have seen in a simulation.
pub fn replay(
    fleet: &mut dyn Fleet,
    mut pasts: Vec<VecDeque<Past>>,
    observer: &mut dyn Observer,
) -> Result<Status, ReplayError> {
    let mut round = 0;
    loop {
        let mut mail: Vec<Envelope> = Vec::new();
        let (mut done, mut stopped) = (0, 0);
        for (agent, past) in fleet.agents_mut().iter_mut().zip(&mut pasts) {
            while let Some(output) = agent.poll() {
                match output {
                    Output::Compute => match past.pop_front() {
                        None => {
                            stopped += 1;
                            break;
                        }
                        Some(past) => agent.resume(past).map_err(|why| {
                            let (agent, round) = (agent.name().into(), agent.round());
                            ReplayError::Resume { agent, round, why }
                        })?,
                    },
                    Output::Send(envelope) => mail.push(envelope),
                    Output::Done(_) => done += 1,
                    Output::Persist(_) | Output::Completed(_) => {}
                }
            }
        }
        if stopped > 0 {
            return Ok(Status::Stopped { round });
        }
        if mail.is_empty() {
            return if done > 0 { Ok(Status::Finished) } else { Err(ReplayError::NotInLockstep) };
        }
        let fresh = mail.iter().any(|envelope| matches!(envelope.message, Message::Release(_)));
        let agents = fleet.agents_mut();
        for Envelope { from, round, message } in mail {
            for neighbour in agents[from].neighbours().to_vec() {
                let input = Input::Received { from, round, beta: message.values().clone() };
                agents[neighbour].handle(input).map_err(|_| ReplayError::NotInLockstep)?;
            }
        }
        if fresh {
            round += 1;
            // A replay is never stopped by who watches it.
            let _ = observer.round(&RoundView { round, fleet: &*fleet });
        }
    }
}
