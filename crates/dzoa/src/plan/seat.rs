//! From one agent's rows to an agent that meets all others and then does its rounds with them.

use super::Refused;
use super::data::Data;
use super::joint::JointStudy;
use super::plan::Plan;
use super::spec::RunSpec;
use crate::joint::{Contributor, Joined, JointAgent, JointSetup, Open, SharedRounds, Unplanned};
use crate::network::Graph;
use crate::streams::Streams;
use dzoa_privacy::joint::{Members, Roster};
use dzoa_privacy::{Ledger, RunId};

/// One agent's place in a network in which everybody hears everybody, before anybody has met.
#[derive(Clone, Copy)]
pub struct JointSeat<'a> {
    /// What is asked for.
    pub spec: &'a RunSpec,
    /// Its place in the data holds its rows; the others' are never queried.
    pub data: &'a Data,
    /// The network.
    pub graph: &'a Graph,
    /// The agent.
    pub k: usize,
}

/// What is left of the root of an agent's randomness once it is erased. No secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PastRoot {
    /// The run that it was for.
    pub run: RunId,
    /// The public mask key that followed from it.
    pub key: [u8; 32],
}

impl JointSeat<'_> {
    fn study(&self) -> JointStudy<'_> {
        JointStudy { spec: self.spec, data: self.data, graph: self.graph }
    }

    /// The plan once everybody's rows are known, in the order of the graph.
    pub fn plan(&self, samples: &[usize]) -> Result<Plan, Refused> {
        Plan::of_one_among(self.spec, self.data, self.graph, self.k, samples)
    }

    /// Everybody's rows in the order of the graph, from those in the order of the names.
    pub fn samples(&self, members: &Members, rows: &[u64]) -> Vec<usize> {
        let of = |name: &String| members.position(name).map_or(0, |at| rows[at] as usize);
        self.graph.names().iter().map(of).collect()
    }

    /// The public key with which the others agree on masks with this agent.
    pub fn public_key(&self, streams: &Streams) -> [u8; 32] {
        self.study().secrets(self.k, streams).public()
    }

    /// The agent, which plans once it has met all others.
    pub fn agent(&self, ledger: Ledger, streams: &Streams) -> Result<JointAgent, Refused> {
        let past = PastRoot { run: streams.run_id(), key: self.public_key(streams) };
        self.with_root(ledger, past, Some(streams))
    }

    /// An agent whose root is erased: it answers with what it said before, and nothing else.
    pub fn past_agent(&self, ledger: Ledger, root: PastRoot) -> Result<JointAgent, Refused> {
        self.with_root(ledger, root, None)
    }

    fn with_root(
        &self,
        ledger: Ledger,
        PastRoot { run, key }: PastRoot,
        streams: Option<&Streams>,
    ) -> Result<JointAgent, Refused> {
        let Self { k, graph, .. } = *self;
        let members = Members::new(graph.names().iter().map(String::as_str))
            .map_err(|no| Refused::NoShares(no.to_string()))?;
        Ok(JointAgent::new(JointSetup {
            name: graph.names()[k].clone(),
            members,
            key,
            rows: self.data.samples(k) as u64,
            ledger,
            run,
            past: streams.is_none(),
            open: self.open(streams),
        }))
    }

    fn open(&self, streams: Option<&Streams>) -> Open {
        let (spec, data, graph) = (self.spec.clone(), self.data.clone(), self.graph.clone());
        let (k, streams) = (self.k, streams.cloned());
        Box::new(move |roster: &Roster, rows: &[u64], ledger: Ledger| {
            let seat = JointSeat { spec: &spec, data: &data, graph: &graph, k };
            let joined = || -> Result<Box<dyn SharedRounds>, Refused> {
                let plan = seat.plan(&seat.samples(roster.members(), rows))?;
                let Some(joint) = plan.joint() else {
                    return Ok(Box::new(plan.flooded(k, ledger, streams.as_ref())?));
                };
                let roster = joint.masked().then_some(roster);
                let session = joint.session(plan.graph(), roster)?;
                let setup = |streams| joint.setup(&seat.study(), k, ledger, streams);
                let contributor = match &streams {
                    Some(streams) => Contributor::new(setup(streams), roster.cloned()),
                    None => Contributor::new(setup(&Streams::from_key([0; 32], false)), None)
                        .map(Contributor::without_secrets),
                };
                let contributor = contributor.map_err(|no| Refused::NoShares(no.to_string()))?;
                let joint = joint.clone();
                let reshare =
                    move |left: &Members| joint.without(left).map_err(|no| no.to_string());
                Ok(Box::new(Joined::new(session, contributor, Box::new(reshare))))
            };
            joined().map_err(|no| Unplanned(no.to_string()))
        })
    }
}

impl Plan {
    /// Agent k's place among those that hear everybody, where the algorithm is one of theirs.
    pub fn seat(&self, k: usize) -> Option<JointSeat<'_>> {
        let seat = JointSeat { spec: self.spec(), data: self.data(), graph: self.graph(), k };
        self.spec().algorithm.floods().then_some(seat)
    }

    /// The plan of agent k once it has met the others.
    pub fn after_meeting(&self, k: usize, agent: &JointAgent) -> Result<Self, Refused> {
        let seat = JointSeat { spec: self.spec(), data: self.data(), graph: self.graph(), k };
        seat.plan(&seat.samples(agent.members(), agent.rows()))
    }
}
