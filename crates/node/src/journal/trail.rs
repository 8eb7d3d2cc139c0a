//! What a journal tells of its rounds, over all restarts: nothing but what was exchanged.

use super::{JournalError, JournalRecord, PersistedPart, PersistedPast};
use dzoa::joint::Saying;
use dzoa::privacy::Event;
use dzoa::run::evaluate::{distance, mean};
use std::collections::BTreeMap;

/// The rounds of a journal.
#[derive(Clone, Debug, Default)]
pub struct Trail {
    /// The rounds, in order.
    pub rounds: Vec<TrailRound>,
    /// What was charged, in order.
    pub charged: Vec<Event>,
}

/// One round of a journal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrailRound {
    /// Counted from 1.
    pub round: u64,
    /// How far the agent's vector was from the mean of those that it knew.
    pub consensus: f64,
    /// Charges up to it. A sum that was begun anew was charged more than once.
    pub charges: usize,
}

impl Trail {
    /// Of these records.
    pub fn of(
        records: impl Iterator<Item = Result<JournalRecord, JournalError>>,
    ) -> Result<Self, JournalError> {
        let mut trail = Self::default();
        // Vectors of rounds that are not over.
        let (mut own, mut released) = (BTreeMap::<u64, Vec<f64>>::new(), 0);
        for record in records {
            match record? {
                JournalRecord::Round { inputs, past, .. } => {
                    for inputs in inputs {
                        let inputs = inputs.inputs();
                        let Some(beta) = &own.remove(&inputs.round) else { continue };
                        let vectors = inputs.vectors.iter();
                        let same = vectors.filter(|(_, round, _)| *round == inputs.round);
                        let known = same.map(|(_, _, theirs)| theirs.to_vec());
                        let centre = mean(&known.chain([beta.clone()]).collect::<Vec<_>>());
                        let (round, consensus) = (inputs.round, distance(beta, &centre));
                        let charges = round as usize;
                        trail.rounds.push(TrailRound { round, consensus, charges });
                    }
                    if let Some(past) = past.and_then(PersistedPast::past) {
                        released += 1;
                        own.insert(released, past.release.values().to_vec());
                        trail.charged.push(past.charge.event);
                    }
                }
                JournalRecord::Stage { letters, past, .. } => {
                    let summed = letters.first().map(|letter| letter.notice());
                    // Everybody holds the same.
                    let charges = trail.charged.len();
                    trail.rounds.extend(summed.and_then(|notice| match notice.saying {
                        Saying::Part(_) => {
                            let round = notice.stage.saturating_sub(1);
                            Some(TrailRound { round, consensus: 0.0, charges })
                        }
                        _ => None,
                    }));
                    let past = past.and_then(PersistedPart::past);
                    trail.charged.extend(past.map(|past| past.charge.event));
                }
                JournalRecord::Start(_)
                | JournalRecord::Left { .. }
                | JournalRecord::Leaving { .. }
                | JournalRecord::Redone { .. } => {}
            }
        }
        Ok(trail)
    }
}
