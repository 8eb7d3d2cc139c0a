//! What an agent remembers of one neighbour between rounds.

use super::input::{Input, ProtocolError};
use crate::admm::{Exchanged, ReleasePair};
use dzoa_privacy::ball::norm;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A neighbour's vector that an agent can use.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Received(Arc<[f64]>);

impl Received {
    /// Refuses a vector that an honest neighbour would not send: of another length than expected,
    /// not finite, or of a larger norm than the limit.
    pub(super) fn checked(
        Input::Received { from, round, beta }: Input,
        expected: usize,
        limit: f64,
    ) -> Result<Self, ProtocolError> {
        if beta.len() != expected {
            let got = beta.len();
            return Err(ProtocolError::WrongDimension { from, round, got, expected });
        }
        let norm = norm(&beta);
        // A finite norm has finite entries only: no second pass is needed.
        if !norm.is_finite() && !beta.iter().all(|value| value.is_finite()) {
            return Err(ProtocolError::NonFinite { from, round });
        }
        if norm > limit {
            return Err(ProtocolError::HugeNorm { from, round, norm, limit });
        }
        Ok(Self(beta))
    }

    pub(super) fn values(&self) -> &Arc<[f64]> {
        &self.0
    }
}

/// One neighbour.
#[derive(Clone, Debug, Default)]
pub(super) struct Link {
    /// Its vectors that have no partner yet, by round.
    pub(super) theirs: BTreeMap<u64, Received>,
    /// Our releases that have no partner yet, by round: one, unless it is behind.
    pub(super) ours: BTreeMap<u64, Arc<[f64]>>,
    /// Rounds that arrived since a round was last completed.
    pub(super) fresh: Vec<u64>,
    /// The newest round of its that was taken in.
    newest: u64,
}

impl Link {
    /// What a round takes in: the vector of this round, or everything new where neighbours may be
    /// late.
    pub(super) fn take_fresh(&mut self, round: u64, late: bool) -> Vec<(u64, Arc<[f64]>)> {
        let (taken, kept) = self.fresh.iter().partition(|&&fresh| late || fresh == round);
        self.fresh = kept;
        let taken: Vec<u64> = taken;
        taken.iter().filter_map(|r| Some((*r, self.theirs.get(r)?.0.clone()))).collect()
    }

    /// What the dual update uses: pairs of the same round only. With anything else the duals of the
    /// two ends would no longer cancel, and the answer stays wrong for ever.
    pub(super) fn exchanged(&mut self, late: bool) -> Exchanged {
        let mut exchanged = Exchanged::default();
        self.ours.retain(|round, ours| {
            let Some(Received(theirs)) = self.theirs.remove(round) else { return true };
            if *round >= self.newest {
                (self.newest, exchanged.newest) = (*round, Some(theirs.clone()));
            }
            exchanged.pairs.push(ReleasePair { ours: ours.clone(), theirs });
            false
        });
        // An agent that is late itself uses the newest vectors of those ahead of it.
        if let Some((&round, Received(theirs))) = self.theirs.last_key_value()
            && late
            && round > self.newest
        {
            (self.newest, exchanged.newest) = (round, Some(theirs.clone()));
        }
        exchanged
    }

    /// Whether an agent may leave this round: not while one of its vectors from `lag` rounds before
    /// is missing. The neighbour keeps its vectors no longer than that, and a pair that only one
    /// end has counted spoils the duals for ever.
    pub(super) fn is_near(&self, round: u64, lag: u64) -> bool {
        let unpaired = self.ours.keys().find(|ours| !self.theirs.contains_key(ours));
        unpaired.is_none_or(|oldest| round < oldest + lag.max(1))
    }

    /// The first round of its that is missing, for an agent in the given round.
    pub(super) fn first_missing(&self, round: u64) -> u64 {
        let first = self.ours.keys().next().copied().unwrap_or(round).min(round);
        (first..).find(|round| !self.theirs.contains_key(round)).unwrap_or(round)
    }

    /// Drops everything before a round.
    pub(super) fn forget(&mut self, round: u64) {
        self.ours.clear();
        self.theirs = self.theirs.split_off(&round);
        self.fresh.retain(|fresh| *fresh >= round);
    }
}
