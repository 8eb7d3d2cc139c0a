//! What an agent leaves behind: model.json and trace.csv, which may be shared, and summary.json and
//! local.json, which stay.

use crate::network_file::NetworkFile;
use dzoa::baselines::Needs;
use dzoa::plan::Plan;
use dzoa::prelude::*;
use dzoa::privacy::{EarlierRuns, Ledger, RunId};
use dzoa::run::evaluate::Fit;
use dzoa_cli::args::AgentArgs;
use dzoa_cli::files::model;
use dzoa_cli::summarise::{EntryFacts, own_units, privacy_entry};
use dzoa_node::journal::{self, Trail, TrailRound};
use dzoa_node::node::{End, Running};
use dzoa_report::refused;
use dzoa_report::{
    NOT_TO_BE_SHARED, SHARED_TRACE_HEADER, Summary, csv_field, csv_number, to_json, write_file,
    write_pages, write_private,
};
use dzoa_table::{Error, Instances, Result};
use std::fmt::Write as _;
use std::time::Duration;

/// What the files are made from.
pub struct Results<'a> {
    pub args: &'a AgentArgs,
    pub network: &'a NetworkFile,
    pub instances: &'a Instances,
    pub plan: &'a Plan,
    pub k: usize,
    /// `None` once the root key is erased.
    pub streams: Option<&'a Streams>,
    /// Rounds done, and when.
    pub reached: &'a [(u64, f64)],
}

/// What was charged to the rows.
pub struct Spent {
    /// This run.
    pub run: RunId,
    /// With the charges of earlier runs.
    pub ledger: Ledger,
}

impl Results<'_> {
    /// Writes all files, summary.json last.
    pub fn write(
        &self,
        node: &dyn Running,
        problem: &Problem,
        charged: &Spent,
        end: &End,
        elapsed: Duration,
    ) -> Result<()> {
        let dir = &self.args.state;
        let mut summary = self.summary(node, charged, end, elapsed)?;
        summary.fit = self.own_fit(problem, &summary.coefficients[0]);
        write_file(dir, "trace.csv", &self.trace()?)?;
        let NetworkFile { rows, .. } = self.network;
        write_file(dir, "model.json", &to_json(&model(Some(rows), &summary))?)?;
        let gained = node.gained();
        let local = serde_json::json!({
            "sharing": NOT_TO_BE_SHARED,
            "agent": self.args.name,
            "rows": problem.agents[self.k].count(),
            "finished_exactly": gained.finished_exactly,
            "clipped": gained.clipped,
            "accuracy_on_own_rows": summary.fit.as_ref().and_then(|fit| fit.accuracy),
            "went_on_without": node.went_on_without(),
        });
        write_private(dir, "local.json", &to_json(&local)?)?;
        write_pages(dir, &summary, &[])?;
        write_private(dir, "summary.json", &to_json(&summary)?)
    }

    fn own_fit(&self, problem: &Problem, b: &[f64]) -> Option<Fit> {
        let own = Problem { agents: vec![problem.agents[self.k].clone()], ..problem.clone() };
        Fit::of_problem(&own, b, self.instances.target_unit)
    }

    fn summary(
        &self,
        node: &dyn Running,
        charged: &Spent,
        end: &End,
        elapsed: Duration,
    ) -> Result<Summary> {
        let Self { network, instances, k, .. } = *self;
        let NetworkFile { config, rows, .. } = network;
        let (gained, graph) = (node.gained(), &instances.graph);
        let plan = &self.last_plan(node)?;
        let finished = *end == End::Agent(Status::Finished);
        let measured = |agent| plan.measured_noise(k, agent, self.streams?);
        let noise = node.exchanging().filter(|_| finished).and_then(measured);
        let (features, mut estimate) = (instances.columns.len(), gained.estimate);
        estimate.resize(features, 0.0);
        let own_units = own_units(Some(rows), std::slice::from_ref(&estimate));
        let about = EntryFacts {
            plan,
            k,
            noise: noise.as_ref(),
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
            status: end.word().into(),
            algorithm: config.spec.algorithm.name().into(),
            mechanism: config.spec.mechanism.name().into(),
            loss: plan.data().loss().into(),
            agent_names: vec![self.args.name.clone()],
            network: graph.names().to_vec(),
            agents: graph.len(),
            edges: graph.edges().collect(),
            features,
            rounds: plan.rounds(),
            rounds_done: node.rounds_done(),
            trials: 1,
            seed: config.run.seed,
            seeded: config.run.seed.is_some(),
            coefficients: vec![estimate],
            columns: instances.columns.clone(),
            own_units,
            oracle_calls: gained.oracle_calls,
            messages: gained.sent,
            bytes: 8 * features as u64 * gained.sent,
            step_raised: gained.step_raised,
            moved_inside: gained.moved_inside,
            seconds: elapsed.as_secs_f64(),
            reached: self.reached.to_vec(),
            went_on_without: node.went_on_without(),
            privacy: vec![privacy_entry(config, Some(rows), &about)],
            settings: plan.outline().settings(),
            config: config.given.clone(),
            // What needs everybody's rows stays empty.
            ..Summary::default()
        })
    }

    /// The plan of the last round: without neighbours that were left behind, the largest
    /// sensitivity; with what agents that hear everybody told each other.
    fn last_plan(&self, node: &dyn Running) -> Result<Plan> {
        let neighbours = node.gained().neighbours;
        let neighbourhood = neighbours + usize::from(self.network.config.network.self_loop);
        let plan = match node.summing().filter(|agent| !agent.rows().is_empty()) {
            Some(agent) => self.plan.after_meeting(self.k, agent),
            None => self.plan.for_neighbourhood(self.k, neighbourhood),
        };
        plan.map_err(refused)
    }

    /// trace.csv from the journal: what was exchanged, over all restarts, and functions of it.
    fn trace(&self) -> Result<String> {
        let path = self.args.state.join("journal");
        let Trail { rounds, charged } = (journal::records(&path).and_then(Trail::of))
            .map_err(|error| Error::run(format!("{}: {error}", path.display())))?;
        let mut csv = format!("{SHARED_TRACE_HEADER}\n");
        let name = csv_field(&self.args.name);
        for TrailRound { round, consensus, charges } in rounds {
            let spent = self.plan.claimed().spent(round, charged.iter().take(charges));
            let _ = writeln!(csv, "{round},{name},{consensus},{}", csv_number(spent));
        }
        Ok(csv)
    }
}
