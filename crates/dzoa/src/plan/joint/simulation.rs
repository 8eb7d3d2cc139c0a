//! From a plan to agents that take joint sums.

use super::{JointPlan, JointStudy};
use crate::joint::{Adversary, Answers, Contributor, ContributorSetup, Secrets, Session};
use crate::network::Graph;
use crate::plan::Refused;
use crate::plan::data::Data;
use crate::run::JointSimulation;
use crate::streams::Streams;
use dzoa_privacy::joint::Roster;
use dzoa_privacy::{Ledger, RunId};
use std::sync::Arc;

impl JointPlan {
    /// All agents in one process; `ledgers` may be empty.
    pub(in crate::plan) fn simulation(
        &self,
        study: &JointStudy<'_>,
        mut ledgers: Vec<Ledger>,
        streams: &Streams,
    ) -> Result<JointSimulation, Refused> {
        let graph = study.graph;
        ledgers.resize_with(graph.len(), Ledger::default);
        let agents = ledgers.into_iter().enumerate();
        let (network, run) = (study.network(), streams.run_id());
        let setup = |(k, ledger): (usize, Ledger)| {
            let secrets = study.secrets_in(network, k, streams);
            ContributorSetup { ledger, run, ..self.equipped(study, k, secrets) }
        };
        let setups: Vec<ContributorSetup> = agents.map(setup).collect();
        let roster = match self.masked() {
            true => {
                let keys = setups.iter().map(|setup| (setup.name.clone(), setup.secrets.public()));
                Some(Roster::new(keys).map_err(|no| Refused::NoShares(no.to_string()))?)
            }
            false => None,
        };
        let session = self.session(study.graph, roster.as_ref())?;
        let contributor = |setup| {
            Contributor::new(setup, roster.clone()).map_err(|no| Refused::NoShares(no.to_string()))
        };
        let contributors = setups.into_iter().map(contributor).collect::<Result<_, _>>()?;
        Ok(JointSimulation::new(session, contributors, self.masked(), graph))
    }

    /// The agents at these positions of the graph, colluding.
    pub fn adversary(
        &self,
        study: &JointStudy<'_>,
        colluders: &[usize],
        streams: &Streams,
    ) -> Result<Adversary, Refused> {
        let no = |no: String| Refused::NoShares(no);
        let secrets = |k: usize| self.setup(study, k, Ledger::default(), streams).secrets;
        let names = study.graph.names();
        let keys = (0..names.len()).map(|k| (names[k].clone(), secrets(k).public()));
        let roster = Roster::new(keys).map_err(|bad| no(bad.to_string()))?;
        let honest = (0..names.len()).filter(|k| !colluders.contains(k));
        let honest = honest.filter_map(|k| self.members.position(&names[k])).collect();
        let colluders = match self.masked() {
            true => colluders.iter().map(|&k| secrets(k)).collect(),
            // Every part is seen as it is.
            false => Vec::new(),
        };
        Adversary::new(colluders, honest, &roster).map_err(|bad| no(bad.to_string()))
    }

    /// What one row of the agent of this name weighs in a sum.
    pub fn weight(&self, name: &str) -> f64 {
        self.members.position(name).map_or(0.0, |at| self.silos[at].weight)
    }

    /// The public state before the first sum.
    pub fn session(&self, graph: &Graph, roster: Option<&Roster>) -> Result<Session, Refused> {
        let network = self.digest(graph);
        Ok(Session::new(self.method()?, self.opened(network, roster.map(Roster::digest))))
    }

    /// What makes agent k: its rows, its ledger, and secrets from the root of its streams.
    pub fn setup(
        &self,
        study: &JointStudy<'_>,
        k: usize,
        ledger: Ledger,
        streams: &Streams,
    ) -> ContributorSetup {
        let equipped = self.equipped(study, k, study.secrets(k, streams));
        ContributorSetup { ledger, run: streams.run_id(), ..equipped }
    }

    /// An agent with its rows and secrets, and without a ledger.
    fn equipped(&self, study: &JointStudy<'_>, k: usize, secrets: Secrets) -> ContributorSetup {
        let name = study.graph.names()[k].clone();
        let rows: Arc<dyn Answers> = match study.data {
            Data::Rows(problem) => Arc::new(problem.risk(k)),
            Data::Boxes(boxes) => boxes.boxes[k].clone(),
        };
        let (weight, ledger, run) = (self.weight(&name), Ledger::default(), RunId::default());
        ContributorSetup { name, rows, weight, ledger, run, secrets }
    }
}
