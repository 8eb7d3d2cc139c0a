//! What only agents over a network need: taking up a run after a crash, late neighbours, and
//! neighbours that leave.

use super::{Agent, CannotResume, Input, Inputs, Output, Past, Phase, ProtocolError};
use crate::primal::PrimalStep;
use crate::streams::Streams;
use dzoa_privacy::{Event, Ledger, Query, Release, Seen};
use std::sync::Arc;
use thiserror::Error;

/// What changes for an agent when its neighbourhood does.
pub struct Terms {
    /// How each round is charged, with the sensitivity of the new neighbourhood.
    pub events: Arc<[Event]>,
    /// The primal step that they pay for.
    pub step: Box<dyn PrimalStep>,
}

/// From `|N_k|` to the terms of the rounds that are left.
pub type Replan = Box<dyn Fn(usize) -> Result<Terms, String> + Send + Sync>;

/// A neighbour that cannot be left behind.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum CannotLeave {
    /// Not a neighbour.
    #[error("agent {0} is not a neighbour")]
    NotANeighbour(usize),
    /// The last one.
    #[error("it is the last neighbour")]
    Alone,
    /// Nobody said what the smaller neighbourhood costs.
    #[error("no terms are known for a smaller neighbourhood")]
    NoTerms,
    /// There is no guarantee with fewer neighbours.
    #[error("the guarantee cannot hold without it: {0}")]
    NoGuarantee(String),
}

impl Agent {
    /// Lets neighbours be up to this many rounds behind: the mode `partial`.
    pub fn allow_lag(&mut self, rounds: u64) {
        self.lag = rounds;
    }

    /// Neither sends nor takes in vectors of a larger norm, such as [`super::LARGEST_NORM`]; a
    /// smaller radius of the primal step stays.
    pub fn limit_norm(&mut self, largest: f64) {
        self.largest_norm = self.largest_norm.min(largest);
    }

    /// How to go on with fewer neighbours.
    pub fn on_leave(&mut self, replan: Replan) {
        self.replan = Some(replan);
    }

    /// Goes on from this ledger: what was spent on the rows before.
    pub fn take_ledger(&mut self, ledger: Ledger) {
        self.ledger = ledger;
    }

    /// Takes the place of an agent whose randomness had another root: to replay its journal.
    pub fn stand_in_for(&mut self, streams: Streams) {
        self.setup.streams = streams;
    }

    /// Writes down how far a neighbour's ledger was seen; a driver makes that durable.
    pub fn witness(&mut self, neighbour: &str, seen: Seen) {
        if self.ledger.witness(neighbour, seen) {
            self.outbox.extend(self.ledger.entries().last().cloned().map(Output::Persist));
        }
    }

    /// The release of this round with everything that a fresh agent needs to take it up again: what
    /// a driver persists before it is sent.
    pub fn past(&self, release: &Release) -> Option<Past> {
        let charge = self.charge.clone()?;
        let memory = self.setup.step.memory().to_vec();
        Some(Past { release: release.seal(&charge), charge, memory, counters: self.counters })
    }

    /// Takes up a round that was charged and released before a restart: the same entry, the same
    /// bytes. No noise is drawn and no row is queried.
    pub fn resume(&mut self, past: Past) -> Result<(), CannotResume> {
        if self.phase != Phase::Ready {
            return Err(CannotResume::NotReady);
        }
        let Past { charge, release, memory, counters } = past;
        // Whoever computed it, on whichever machine: nothing is computed again.
        let query = Query { program: charge.program.clone(), ..self.query() };
        if !charge.answers(&query) {
            let (persisted, now) = (charge.inputs.to_string(), query.inputs.to_string());
            return Err(CannotResume::OtherInputs { round: self.round, persisted, now });
        }
        let written = self.ledger.entries().len();
        let release = release.reopen(self.ledger.recover(charge.clone()))?;
        self.charge = Some(charge);
        self.outbox.extend(self.ledger.entries().get(written).cloned().map(Output::Persist));
        self.counters = counters;
        self.setup.step.recall(memory);
        self.release(release);
        Ok(())
    }

    /// Completes a round again with what it took in before a restart, no less and no more: where
    /// neighbours may be late, the order of arrival decides what a round sees. Returns whether it
    /// was this round's turn.
    pub fn retake(&mut self, inputs: Inputs) -> Result<bool, ProtocolError> {
        let turn = self.phase == Phase::Waiting && inputs.round == self.round;
        if turn {
            for (from, round, beta) in inputs.vectors {
                self.accept(Input::Received { from, round, beta })?;
            }
            self.complete();
        }
        Ok(turn)
    }

    /// Goes on after everything before a restart was taken up again.
    pub fn resumed(&mut self) {
        self.advance();
    }

    /// Leaves a neighbour behind: its edge goes, and the dual on it. What is released from now on
    /// is charged with the sensitivity of the smaller neighbourhood.
    pub fn leave(&mut self, from: usize) -> Result<(), CannotLeave> {
        let position = self.position(from).ok_or(CannotLeave::NotANeighbour(from))?;
        if self.setup.neighbours.len() == 1 {
            return Err(CannotLeave::Alone);
        }
        let replan = self.replan.as_ref().ok_or(CannotLeave::NoTerms)?;
        let neighbourhood = self.state.neighbourhood(&self.setup.settings) - 1;
        let Terms { events, mut step } = replan(neighbourhood).map_err(CannotLeave::NoGuarantee)?;
        step.recall(self.setup.step.memory().to_vec());
        self.setup.events = events;
        self.setup.step = step;
        self.setup.neighbours.remove(position);
        // Its weight in the averaging stays with us.
        self.setup.gossip_weights.remove(position);
        self.state.edges.remove(position);
        self.links.remove(position);
        self.advance();
        Ok(())
    }
}
