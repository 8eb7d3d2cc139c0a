//! What an agent leaves behind: model.json and trace.csv, which may be shared, and summary.json and local.json,
//! which stay.

use super::super::compare::accuracy;
use super::super::summarise::{About, privacy_entry};
use crate::agents::promise;
use crate::args::AgentArgs;
use crate::config::{Config, Mechanism};
use crate::error::{Error, Result};
use crate::files::{csv_field, csv_number, json, model, write_file, write_private};
use crate::inner::{inner_loop, noise_of_one};
use crate::instance::Instances;
use crate::summary::{NOT_TO_BE_SHARED, Summary};
use crate::trace_file::SHARED_HEADER;
use dzoa::baselines::Needs;
use dzoa::prelude::*;
use dzoa::privacy::{Accountant, EarlierRuns, ExactGaussian, Ledger, RunId, calibrate};
use dzoa::trace::mean;
use dzoa_node::journal::{self, Record};
use dzoa_node::node::{End, Node};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

/// What the files are made from.
pub struct Results<'a> {
    pub args: &'a AgentArgs,
    pub config: &'a Config,
    pub instances: &'a Instances,
    pub k: usize,
    pub streams: &'a Streams,
}

/// What was charged to the rows.
pub struct Charged {
    /// This run.
    pub run: RunId,
    /// With the charges of earlier runs.
    pub ledger: Ledger,
}

impl Results<'_> {
    /// Writes all files, summary.json last.
    pub fn write(
        &self,
        node: &Node,
        problem: &Problem,
        charged: &Charged,
        end: &End,
        elapsed: Duration,
    ) -> Result<()> {
        let dir = &self.args.state;
        let summary = self.summary(node, problem, charged, end, elapsed)?;
        write_file(dir, "trace.csv", &self.trace()?)?;
        write_file(dir, "model.json", &json(&model(self.config, self.instances, &summary))?)?;
        let agent = node.agent();
        let left: BTreeMap<&str, u64> = node.left().collect();
        let local = serde_json::json!({
            "sharing": NOT_TO_BE_SHARED,
            "agent": agent.name(),
            "rows": problem.agents[self.k].count(),
            "finished_exactly": agent.finished_exactly(),
            "clipped": agent.clipped(),
            "accuracy_on_own_rows": self.own_accuracy(problem, &agent.estimate()),
            "went_on_without": left,
        });
        write_private(dir, "local.json", &json(&local)?)?;
        write_private(dir, "summary.json", &json(&summary)?)
    }

    fn own_accuracy(&self, problem: &Problem, b: &[f64]) -> Option<f64> {
        let own = Problem { agents: vec![problem.agents[self.k].clone()], ..problem.clone() };
        accuracy(&own, b)
    }

    fn summary(
        &self,
        node: &Node,
        problem: &Problem,
        charged: &Charged,
        end: &End,
        elapsed: Duration,
    ) -> Result<Summary> {
        let Self { config, instances, k, .. } = *self;
        let (agent, graph) = (node.agent(), &instances.graph);
        // That of the last round: without those that were left behind, the largest sensitivity.
        let neighbourhood = agent.neighbours().len() + usize::from(config.network.self_loop);
        let promise = promise(config, problem, neighbourhood, k)?;
        let finished = *end == End::Agent(Status::Finished);
        let inner = inner_loop(config, problem, neighbourhood, k, None).ok().flatten();
        let noise = inner.filter(|_| finished).and_then(|inner| {
            noise_of_one(config, problem, (neighbourhood, k), agent, &inner, self.streams)
        });
        let about = About {
            noise: noise.as_ref(),
            promise: &promise,
            ledger: &charged.ledger,
            run: charged.run,
            earlier_runs: match config.run.seed {
                Some(_) => EarlierRuns::NotCounted,
                None => EarlierRuns::Counted,
            },
            needs: Needs::default(),
        };
        Ok(Summary {
            sharing: NOT_TO_BE_SHARED.into(),
            name: config.name.clone(),
            status: match end {
                End::Agent(status) => status.word(),
                End::NeighbourLost { .. } => "neighbour-lost",
                End::NeighbourLeft { .. } => "neighbour-left",
                End::LeftBehind { .. } => "left-behind",
                End::RolledBack { .. } => "rolled-back",
            }
            .into(),
            algorithm: config.algorithm.name().into(),
            mechanism: config.privacy.mechanism.name().into(),
            loss: config.problem.loss.name().into(),
            agent_names: vec![agent.name().into()],
            agents: graph.len(),
            edges: graph.edges().collect(),
            features: instances.columns.len(),
            rounds: config.algorithm.admm.rounds,
            rounds_done: agent.rounds_done(),
            trials: 1,
            seed: config.run.seed,
            seeded: config.run.seed.is_some(),
            error_rounds: Vec::new(),
            error: Vec::new(),
            error_low: Vec::new(),
            error_high: Vec::new(),
            final_error: None,
            final_errors: Vec::new(),
            accuracies: Vec::new(),
            objective: None,
            optimum: None,
            optimum_gap: None,
            optimum_stationarity: None,
            consensus: None,
            coefficients: vec![agent.estimate()],
            columns: instances.columns.clone(),
            oracle_calls: agent.oracle_calls(),
            messages: agent.sent(),
            bytes: 8 * instances.columns.len() as u64 * agent.sent(),
            step_raised: agent.step_raised(),
            moved_inside: agent.moved_inside(),
            seconds: elapsed.as_secs_f64(),
            privacy: vec![privacy_entry(config, &about)],
            config: config.given.clone(),
        })
    }

    /// trace.csv from the journal: what was exchanged, over all restarts, and functions of it.
    fn trace(&self) -> Result<String> {
        let path = self.args.state.join("journal");
        let records = journal::read(&path)
            .map_err(|error| Error::run(format!("{}: {error}", path.display())))?;
        let mut csv = format!("{SHARED_HEADER}\n");
        let name = csv_field(&self.args.name);
        let mut own: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        let mut spent = ExactGaussian::default();
        let mut epsilons: BTreeMap<u64, f64> = BTreeMap::new();
        for record in records {
            let Record::Round { inputs, past, .. } = record else { continue };
            for inputs in inputs {
                let inputs = inputs.inputs();
                let Some(beta) = own.get(&inputs.round) else { continue };
                let same = inputs.vectors.iter().filter(|(_, round, _)| *round == inputs.round);
                let known: Vec<Vec<f64>> =
                    same.map(|(_, _, theirs)| theirs.to_vec()).chain([beta.clone()]).collect();
                let centre = mean(&known);
                let squares = beta.iter().zip(&centre).map(|(a, b)| (a - b) * (a - b));
                let consensus = squares.sum::<f64>().sqrt();
                let epsilon = csv_number(epsilons.get(&inputs.round).copied());
                let _ = writeln!(csv, "{},{name},{consensus},{epsilon}", inputs.round);
            }
            if let Some(past) = past.and_then(journal::Kept::past) {
                let round = own.len() as u64 + 1;
                own.insert(round, past.release.values().to_vec());
                let epsilon = match &self.config.privacy.mechanism {
                    Mechanism::Intrinsic { epsilon, delta, .. } => {
                        Some(calibrate::theorem2_epsilon(*epsilon, *delta, round))
                    }
                    Mechanism::None => None,
                    Mechanism::Output { target, .. } | Mechanism::Scalar { target, .. } => {
                        spent.compose(&past.charge.event).ok().map(|()| spent.epsilon(target.delta))
                    }
                };
                epsilons.extend(epsilon.map(|epsilon| (round, epsilon)));
            }
        }
        Ok(csv)
    }
}
