//! A plan in numbers: what `--dry-run` shows before anything is computed or released.

use super::claimed::Claimed;
use super::data::Data;
use super::plan::{AgentPlan, Plan};
use crate::agent::Average;
use crate::run::Costs;
use dzoa_privacy::{Claim, Event};
use serde::Serialize;

/// Every number that a plan has chosen, and what it costs.
#[derive(Clone, Debug, Serialize)]
pub struct Outline {
    /// Which algorithm.
    pub algorithm: &'static str,
    /// Which mechanism.
    pub mechanism: &'static str,
    /// `exact`, `nominal` or `none`.
    pub claim: Claim,
    /// Which loss.
    pub loss: &'static str,
    /// P.
    pub features: usize,
    /// rho; `None` where the algorithm has none.
    pub rho: Option<f64>,
    /// eta, where a rule chose it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eta: Option<f64>,
    /// M.
    pub rounds: u64,
    /// Whether an agent counts in its own neighbourhood.
    pub self_loop: bool,
    /// Whether a primal step starts at the last release.
    pub warm_start: bool,
    /// T; `None` where no two-point loop runs. So for J and u1.
    pub inner_steps: Option<usize>,
    /// J.
    pub directions: Option<usize>,
    /// `u_1`
    pub smoothing: Option<f64>,
    /// C, where the mechanism clips.
    pub clip: Option<f64>,
    /// Whether that is only the first, and sums say how it goes on.
    pub clip_follows: bool,
    /// When steps are decided, where that is not before the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<&'static str>,
    /// What the agents report.
    pub reports: &'static str,
    /// Rounds of the final averaging over the network.
    pub gossip_rounds: u64,
    /// delta of the claim.
    pub delta: Option<f64>,
    /// The largest total epsilon over the agents: nominal by Theorem 2, or exact.
    pub epsilon_total: Option<f64>,
    /// Vectors sent, all agents together.
    pub messages: u64,
    /// Their values, at eight bytes each.
    pub bytes: u64,
    /// Values of the objective that are asked for at most; `None` where they are not counted.
    pub oracle_calls: Option<u64>,
    /// One entry for each agent that is planned for.
    pub agents: Vec<AgentOutline>,
}

impl Outline {
    /// Every public number that was chosen or given, as `key=value`: it may be pasted into a
    /// config, or behind `--set`.
    pub fn settings(&self) -> Vec<String> {
        let whole = |key: &str, value: Option<usize>| value.map(|v| format!("{key}={v}"));
        let number = |key: &str, value: Option<f64>| value.map(|v| format!("{key}={v:?}"));
        let name = format!("algorithm.name=\"{}\"", self.algorithm);
        let chosen = [
            Some(name),
            number("problem.eta", self.eta),
            number("algorithm.rho", self.rho),
            Some(format!("algorithm.rounds={}", self.rounds)),
            whole("algorithm.inner_steps", self.inner_steps),
            whole("algorithm.directions", self.directions),
            number("algorithm.smoothing", self.smoothing),
            number("privacy.clip", self.clip),
        ];
        chosen.into_iter().flatten().collect()
    }
}

/// One agent's numbers.
#[derive(Clone, Debug, Serialize)]
pub struct AgentOutline {
    /// Its name.
    pub name: String,
    /// `N_k`
    pub samples: usize,
    /// `|N_k|` in the graph.
    pub neighbourhood: usize,
    /// `alpha_0 R`
    pub step: Option<f64>,
    /// How far one person's rows move a query, where noise hides it or a claim rests on it.
    pub sensitivity: Option<f64>,
    /// tau, where releases are certified.
    pub tau: Option<f64>,
    /// The scale of the noise in the first query: added, or under a nominal claim only assumed.
    pub noise_first: Option<f64>,
    /// The scale of the noise in the last query.
    pub noise_last: Option<f64>,
    /// What the first round alone costs.
    pub epsilon_first_round: Option<f64>,
    /// What all rounds cost.
    pub epsilon_total: Option<f64>,
}

impl Plan {
    /// The plan in numbers.
    pub fn outline(&self) -> Outline {
        let (spec, admm, claimed) = (self.spec(), self.admm(), self.claimed());
        let inner = self.planned_agents().next().and_then(|(k, _)| self.shape(k));
        let agents: Vec<AgentOutline> =
            self.planned_agents().map(|(k, agent)| self.agent_outline(k, agent)).collect();
        let total = agents.iter().filter_map(|agent| agent.epsilon_total).reduce(f64::max);
        let Costs { messages, bytes, .. } = self.costs();
        let (reports, gossip_rounds) = match self.average() {
            Average::None if self.joint().is_some() => ("a mean over the sums, weighted", 0),
            Average::None => ("the last release", 0),
            Average::LastHalf => ("the mean over the second half of the rounds", 0),
            Average::Network { gossip } => {
                ("the mean over the second half of the rounds and over the network", gossip)
            }
        };
        Outline {
            algorithm: spec.algorithm.name(),
            mechanism: spec.mechanism.name(),
            claim: claimed.claim(),
            loss: self.data().loss(),
            features: self.data().dim(),
            rho: spec.algorithm.reads_rho().then_some(admm.rho),
            eta: self.public().filter(|_| spec.eta_by_rule).map(|public| public.eta),
            rounds: admm.rounds,
            self_loop: admm.self_loop,
            warm_start: admm.warm_start,
            inner_steps: inner.map(|inner| inner.inner_steps),
            directions: inner.map(|inner| inner.directions),
            smoothing: inner.map(|inner| inner.smoothing),
            clip: self.clip(),
            clip_follows: self.joint().is_some_and(|joint| joint.following_clip().is_some()),
            steps: None,
            reports,
            gossip_rounds,
            delta: claimed.delta(),
            epsilon_total: total,
            messages,
            bytes,
            oracle_calls: inner.map(|inner| {
                let agents = self.agents().len() as u64;
                inner.oracle_calls(inner.inner_steps) * admm.rounds * agents
            }),
            agents,
        }
    }

    fn agent_outline(&self, k: usize, agent: &AgentPlan) -> AgentOutline {
        let claimed = self.claimed();
        let charges = &agent.charges;
        let assumed = self.assumed_noise(k).map(|assumed| assumed.sigma);
        let noise = |event: Option<&Event>| event.and_then(Event::noise).or(assumed);
        AgentOutline {
            name: self.graph().names()[k].clone(),
            samples: self.data().samples(k),
            neighbourhood: agent.neighbourhood,
            step: agent.inner.map(|inner| inner.alpha0_times_r),
            sensitivity: (claimed != Claimed::Nothing).then_some(charges.sensitivity),
            tau: (charges.tau > 0.0).then_some(charges.tau),
            noise_first: noise(charges.events.first()),
            noise_last: noise(charges.events.last()),
            epsilon_first_round: match claimed {
                Claimed::Nominal { epsilon, .. } => Some(epsilon),
                _ => claimed.spent(1, charges.charged(1)),
            },
            epsilon_total: claimed.spent(self.rounds(), charges.charged(self.rounds())),
        }
    }

    /// What the agents that are planned for send.
    fn costs(&self) -> Costs {
        let baseline = self.baseline().ok().flatten();
        if self.joint().is_some() {
            let messages = self.graph().flooded(self.graph().len() as u64) * self.rounds();
            let bytes = 8 * self.data().dim() as u64 * messages;
            return Costs { oracle_calls: 0, messages, bytes };
        }
        let messages = match (baseline, self.data()) {
            (Some(baseline), Data::Rows(_)) => {
                (1..=self.rounds()).map(|round| baseline.messages(round, self.graph())).sum()
            }
            _ => {
                let gossip = match self.average() {
                    Average::Network { gossip } => gossip,
                    Average::None | Average::LastHalf => 0,
                };
                let degree = |k: usize| self.graph().neighbours(k).len() as u64;
                let sent = self.planned_agents().map(|(k, _)| degree(k)).sum::<u64>();
                sent * (self.rounds() + gossip)
            }
        };
        Costs { oracle_calls: 0, messages, bytes: 8 * self.data().dim() as u64 * messages }
    }
}
