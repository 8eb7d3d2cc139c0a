//! From a plan to one agent of a baseline that hears everybody.

use super::Refused;
use super::data::Data;
use super::plan::Plan;
use crate::baselines::{BaselineAgent, BaselineAgentSetup, FloodedBaseline, FloodedOpening, Party};
use crate::streams::Streams;
use dzoa_privacy::joint::Members;
use dzoa_privacy::{Digest, Ledger};

impl Plan {
    /// Numbers in the longest thing that an agent says to all others, where it says such things.
    pub fn numbers_said_to_all(&self) -> Result<Option<usize>, Refused> {
        match self.joint() {
            Some(joint) => Ok(Some(joint.coordinates())),
            None => Ok(self.spec().algorithm.floods().then(|| self.data().dim())),
        }
    }

    /// The rounds of a baseline at agent k, which hears everybody. Without the root of its
    /// randomness it takes up what it released before, and nothing else.
    pub(super) fn flooded(
        &self,
        k: usize,
        ledger: Ledger,
        streams: Option<&Streams>,
    ) -> Result<FloodedBaseline, Refused> {
        let together = Refused::OnlyTogether(self.spec().algorithm.name());
        let (Some(baseline), Data::Rows(problem)) = (self.baseline()?, self.data()) else {
            return Err(together);
        };
        if !baseline.needs().flooding {
            return Err(together);
        }
        let names = self.graph().names();
        let agent = BaselineAgent::new(BaselineAgentSetup {
            name: names[k].clone(),
            party: Party::new(&*baseline, problem, k),
            rows: problem.fingerprint(k),
            events: self.at(k).charges.events.clone(),
            ledger,
            run: streams.map(Streams::run_id).unwrap_or_default(),
            streams: streams.cloned(),
        });
        let opening = FloodedOpening {
            baseline,
            names: names.to_vec(),
            members: Members::new(names.iter().map(String::as_str))
                .map_err(|no| Refused::NoShares(no.to_string()))?,
            rounds: self.rounds(),
            average: self.average(),
            plan: self.digest(),
        };
        Ok(FloodedBaseline::new(opening, agent))
    }

    /// A digest of everything public that was decided about a baseline: all must agree on it.
    fn digest(&self) -> Digest {
        let mut hasher = blake3::Hasher::new_derive_key("dzoa 2026 flooded plan");
        let mut field = |text: String| {
            hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
        };
        field(format!("dzoa {}", env!("CARGO_PKG_VERSION")));
        let names = self.graph().names();
        names.iter().for_each(|name| field(name.clone()));
        for (a, b) in self.graph().edges() {
            field(format!("{} {}", names[a], names[b]));
        }
        field(format!("{} {:?}", self.spec().algorithm.name(), self.spec().algorithm.options()));
        field(format!("{:?} {:?} {:?}", self.admm(), self.average(), self.claimed()));
        if let Some(problem) = self.public() {
            let samples: Vec<usize> = (0..problem.agents()).map(|k| problem.samples(k)).collect();
            field(format!("{} {:?}", problem.loss.name(), problem.loss.parameters()));
            field(format!("{:?} {:e} {:?}", problem.penalty(1.0), problem.eta, problem.scale));
            field(format!("{samples:?}"));
        }
        Digest::from(*hasher.finalize().as_bytes())
    }
}
