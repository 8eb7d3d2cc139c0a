//! What may be said once a run is over: its privacy, and the noise that was there.

use super::plan::Plan;
use crate::agent::Agent;
use crate::inference::{Inference, NoInference};
use crate::primal::{RoundContext, measure_noise};
use crate::streams::Streams;
use dzoa_privacy::{EarlierRuns, Facts, Ledger, RunId, Statement};

/// Repetitions of an inner loop at frozen inputs when its noise is measured.
pub const REPLICATES: u64 = 64;

/// One agent's noise after the last round, as the claim assumes it and as it is.
#[derive(Clone, Copy, Debug)]
pub struct MeasuredNoise {
    /// Lemma 3.
    pub sensitivity: f64,
    /// Theorem 1.
    pub assumed: f64,
    /// The standard deviation over [`REPLICATES`] repetitions of the inner loop at frozen inputs.
    pub measured: Option<f64>,
}

/// What else a statement about one agent is made from.
#[derive(Clone, Debug)]
pub struct Circumstances<'a> {
    /// What was charged to the rows.
    pub ledger: &'a Ledger,
    /// The run.
    pub run: RunId,
    /// Whether the ledger outlives it.
    pub earlier_runs: EarlierRuns,
    /// What takes a guarantee away.
    pub void: Vec<String>,
    /// What a guarantee rests on.
    pub rests_on: Vec<String>,
}

impl Plan {
    /// How sure every coefficient is, where that was asked for: from the rows of all agents.
    pub fn inference(&self) -> Option<Result<Inference, NoInference>> {
        self.data().problem().filter(|_| self.spec().inference).map(Inference::new)
    }

    /// What may be said about agent k's privacy, however its run ended.
    pub fn statement(&self, k: usize, about: Circumstances<'_>) -> Statement {
        let Some(delta) = self.claimed().delta() else { return Statement::none() };
        let planned = self.at(k).charges.planned(self.rounds());
        let Circumstances { ledger, run, earlier_runs, void, rests_on } = about;
        Statement::new(&Facts {
            ledger,
            run,
            planned: &planned,
            delta,
            earlier_runs,
            void,
            rests_on,
        })
    }

    /// The noise of agent k's inner loop at the inputs of its next round, where the claim rests on
    /// noise that nobody adds.
    pub fn measured_noise(
        &self,
        k: usize,
        agent: &Agent,
        streams: &Streams,
    ) -> Option<MeasuredNoise> {
        let inner = self.at(k).inner.as_ref()?;
        let assumed = self.assumed_noise(k)?;
        let zero = vec![0.0; self.data().dim()];
        let start = if self.admm().warm_start { agent.beta() } else { &zero };
        let context = RoundContext { agent: agent.name(), round: 0, streams };
        let lagrangian = agent.frozen_lagrangian();
        Some(MeasuredNoise {
            sensitivity: assumed.sensitivity,
            assumed: assumed.sigma,
            measured: measure_noise(inner, &lagrangian, start, REPLICATES, &context),
        })
    }
}
