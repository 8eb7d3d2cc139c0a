//! The plan: from what is asked for, the data's public sizes and the network to everything that is
//! decided.

use super::checks::{
    check_alone, check_boxes, check_directions, check_inference, check_loop, check_per_agent,
    check_positive, check_sums,
};
use super::claimed::Claimed;
use super::data::Data;
use super::given::Reported;
use super::joint::{JointPlan, JointStudy};
use super::mechanism::{AgentPlace, Assumed, Charges, Choice};
use super::rules::{GOSSIP_FRACTION, plain_eta, plain_tolerance};
use super::spec::{Algorithm, RunSpec};
use super::spending::Spending;
use super::{Decider, Refused};
use crate::admm::Admm;
use crate::agent::{Agent, Average, Setup, Terms};
use crate::baselines::{Baseline, Making, Needs};
use crate::network::Graph;
use crate::primal::ZerothOrder;
use crate::problem::{Problem, PublicProblem, Scale};
use crate::run::{BuildError, Lockstep, Releases, Simulation, agents_of, check};
use crate::streams::Streams;
use dzoa_privacy::{Digest, Event, Ledger};
use std::sync::Arc;

/// Stands for rho where the algorithm has none, and a move of one row is measured all the same.
const NO_RHO: f64 = 1.0;

/// Everything that is decided about a run. See the [module](super).
#[derive(Clone, Debug)]
pub struct Plan {
    spec: RunSpec,
    data: Data,
    /// The problem without its rows; boxes have none.
    public: Option<PublicProblem>,
    graph: Graph,
    admm: Admm,
    average: Average,
    /// T, J, u1 and the like of every agent; steps and L are in [`AgentPlan`].
    inner: Option<ZerothOrder>,
    tolerance: Option<f64>,
    /// What is decided about joint sums, where the algorithm takes them.
    joint: Option<Arc<JointPlan>>,
    /// The agents that are planned for: all, or one.
    first: usize,
    agents: Vec<AgentPlan>,
}

/// What is decided about one agent.
#[derive(Clone, Debug)]
pub struct AgentPlan {
    /// `|N_k|`
    pub neighbourhood: usize,
    /// Its inner loop; `None` where the primal step is exact, or the algorithm has none.
    pub inner: Option<ZerothOrder>,
    /// What its queries cost.
    pub charges: Charges,
}

impl Plan {
    /// Plans a run of all agents.
    pub fn new(spec: &RunSpec, data: &Data, graph: &Graph) -> Result<Self, Refused> {
        let mut plan = Self::without_steps(spec, data, graph)?;
        for k in 0..graph.len() {
            plan.agents[k].inner = plan.inner_loop(k, plan.agents[k].neighbourhood)?;
        }
        Ok(plan)
    }

    /// Plans a run of all agents but for their inner loops, which charges do not depend on: what
    /// [`Forecast`](super::Forecast) shows.
    pub(super) fn without_steps(
        spec: &RunSpec,
        data: &Data,
        graph: &Graph,
    ) -> Result<Self, Refused> {
        let mut plan = Self::common(spec, data, graph)?;
        if let Data::Rows(problem) = data {
            check(problem, graph, &plan.admm)?;
        }
        let samples: Vec<usize> = (0..graph.len()).map(|k| data.samples(k)).collect();
        plan.join(&samples)?;
        let baseline = plan.baseline()?;
        plan.average = all_alike(plan.average, baseline.as_deref());
        let agent = |k: usize| {
            let neighbourhood = graph.neighbourhood(k, spec.self_loop);
            let charges = plan.charges(k, neighbourhood, baseline.as_deref())?;
            Ok(AgentPlan { neighbourhood, inner: None, charges })
        };
        plan.agents = (0..graph.len()).map(agent).collect::<Result<_, Refused>>()?;
        Ok(plan)
    }

    /// Plans for agent k alone. Its place in the data holds its rows; the others' are never
    /// queried.
    pub fn of_one(spec: &RunSpec, data: &Data, graph: &Graph, k: usize) -> Result<Self, Refused> {
        if let Some(entry) = spec.algorithm.entry() {
            return Err(Refused::OnlyTogether(entry.name));
        }
        check_alone(spec)?;
        if data.problem().is_some_and(|problem| problem.scale == Scale::Pooled) {
            return Err(Refused::RowsOfOthers);
        }
        let mut plan = Self::common(spec, data, graph)?;
        let (samples, neighbourhood) = (data.samples(k), graph.neighbourhood(k, spec.self_loop));
        if neighbourhood == 0 || samples == 0 {
            let agent = graph.names()[k].clone();
            return Err(Refused::Empty { agent, samples, neighbourhood });
        }
        plan.agents = vec![plan.decide(k, neighbourhood)?];
        plan.first = k;
        Ok(plan)
    }

    /// Plans for agent k alone where everybody's number of rows is known, as it is once agents that
    /// hear everybody have met.
    pub fn of_one_among(
        spec: &RunSpec,
        data: &Data,
        graph: &Graph,
        k: usize,
        samples: &[usize],
    ) -> Result<Self, Refused> {
        check_alone(spec)?;
        if samples.len() != graph.len() {
            return Err(Refused::Samples { got: samples.len(), agents: graph.len() });
        }
        let neighbourhood = graph.neighbourhood(k, spec.self_loop);
        if let Some(k) = samples.iter().position(|&samples| samples == 0) {
            let agent = graph.names()[k].clone();
            return Err(Refused::Empty { agent, samples: 0, neighbourhood });
        }
        let joint = spec.algorithm.joint().is_some();
        let mut data = data.clone();
        if let (true, Data::Rows(problem)) = (spec.eta_by_rule, &mut data) {
            problem.eta = plain_eta(problem.scale, samples.len(), samples.iter().sum());
        }
        if let Data::Rows(problem) = &mut data
            && matches!(problem.scale, Scale::Pooled | Scale::PooledOver(_))
        {
            // Everybody's rows are known here, as they are where all are in one process.
            problem.scale = match joint {
                true => Scale::Pooled,
                false => Scale::PooledOver(samples.iter().sum()),
            };
        }
        let mut plan = Self::common(spec, &data, graph)?;
        plan.join(samples)?;
        if let (false, Some(public)) = (joint, plan.public.take()) {
            plan.public = Some(public.with_samples(samples));
        }
        let baseline = plan.baseline()?;
        plan.average = all_alike(plan.average, baseline.as_deref());
        let charges = plan.charges(k, neighbourhood, baseline.as_deref())?;
        plan.agents = vec![AgentPlan { neighbourhood, inner: None, charges }];
        plan.first = k;
        Ok(plan)
    }

    /// All that is the same for every agent.
    fn common(spec: &RunSpec, data: &Data, graph: &Graph) -> Result<Self, Refused> {
        let agents = data.agents();
        if agents != graph.len() {
            return Err(BuildError::Count { data: agents, graph: graph.len() }.into());
        }
        check_per_agent(spec, agents)?;
        if let Data::Boxes(boxes) = data {
            check_boxes(boxes, graph)?;
        }
        spec.mechanism.accepts(data.kind())?;
        check_directions(spec)?;
        check_loop(spec)?;
        check_sums(spec)?;
        check_inference(spec, data)?;
        let values_only = spec.algorithm.joint().is_some_and(|entry| entry.values_only);
        let asks_values = spec.algorithm.is_zeroth_order() || values_only;
        if !asks_values && matches!(data, Data::Boxes(_)) {
            return Err(Refused::NeedsRows(spec.algorithm.name()));
        }
        let choice = spec.mechanism.choose(data);
        let fixed = spec.algorithm.entry().and_then(|entry| entry.rounds);
        let admm = Admm {
            rho: spec.rho.or(if spec.algorithm.reads_rho() { choice.rho } else { NO_RHO }),
            rounds: fixed.unwrap_or(spec.rounds.or(choice.rounds)),
            self_loop: spec.self_loop,
            warm_start: spec.warm_start.or(choice.warm_start),
        };
        check_positive("algorithm.rho", admm.rho)?;
        check_positive("algorithm.rounds", admm.rounds as f64)?;
        let average = match spec.reported.or(choice.reported) {
            Reported::Last => Average::None,
            Reported::LastHalf => Average::LastHalf,
            Reported::Network => Average::Network { gossip: graph.gossip_rounds(GOSSIP_FRACTION) },
        };
        let tolerance = spec.tolerance.or_else(|| match data {
            Data::Rows(problem) if !spec.algorithm.is_zeroth_order() => {
                plain_tolerance(problem, admm.rho)
            }
            _ => None,
        });
        let inner = spec.algorithm.is_zeroth_order().then(|| loop_shape(spec, &choice));
        if let Some(inner) = &inner {
            check_positive("algorithm.inner_steps", inner.inner_steps as f64)?;
            check_positive("algorithm.directions", inner.directions as f64)?;
            check_positive("algorithm.smoothing", inner.smoothing)?;
        }
        Ok(Self {
            inner,
            spec: spec.clone(),
            data: data.clone(),
            public: data.problem().map(Problem::public),
            graph: graph.clone(),
            admm,
            average,
            tolerance,
            joint: None,
            first: 0,
            agents: Vec::new(),
        })
    }

    /// Decides about joint sums, where the algorithm takes them: from the rows of every agent.
    fn join(&mut self, samples: &[usize]) -> Result<(), Refused> {
        let Some(entry) = self.spec.algorithm.joint() else { return Ok(()) };
        let joint = JointPlan::new(entry, &self.spec, &self.data, &self.graph, samples)?;
        self.admm.rounds = joint.sums();
        (self.average, self.joint) = (Average::None, Some(Arc::new(joint)));
        Ok(())
    }

    /// What it is about.
    pub fn study(&self) -> JointStudy<'_> {
        JointStudy { spec: &self.spec, data: &self.data, graph: &self.graph }
    }

    /// The problem without its rows, where there are rows.
    pub(super) fn public(&self) -> Option<&PublicProblem> {
        self.public.as_ref()
    }

    /// What is decided about joint sums, where the algorithm takes them.
    pub fn joint(&self) -> Option<&JointPlan> {
        self.joint.as_deref()
    }

    /// Everything about agent k with so large a neighbourhood.
    fn decide(&self, k: usize, neighbourhood: usize) -> Result<AgentPlan, Refused> {
        let charges = self.charges(k, neighbourhood, None)?;
        Ok(AgentPlan { neighbourhood, inner: self.inner_loop(k, neighbourhood)?, charges })
    }

    /// What agent k's queries cost.
    fn charges(
        &self,
        k: usize,
        neighbourhood: usize,
        baseline: Option<&dyn Baseline>,
    ) -> Result<Charges, Refused> {
        if let Some(joint) = &self.joint {
            return joint.charges(&self.graph.names()[k]);
        }
        let mechanism = &self.spec.mechanism;
        let shape = self.shape(k);
        match (baseline, mechanism.target(&self.data)) {
            (Some(baseline), Some(_)) => self.baseline_charges(baseline, k),
            _ => {
                mechanism.charges(&self.place(k, neighbourhood, shape.as_ref())).map_err(|error| {
                    Refused::NoGuarantee {
                        decider: Decider::Mechanism {
                            name: mechanism.name(),
                            in_loop: mechanism.needs_of_loop().is_some(),
                        },
                        error,
                    }
                })
            }
        }
    }

    /// Agent k's inner loop with its step, where there is one.
    fn inner_loop(&self, k: usize, neighbourhood: usize) -> Result<Option<ZerothOrder>, Refused> {
        let Some(shape) = self.shape(k) else { return Ok(None) };
        let given = self.spec.step.clone().given().map(|step| step.at(k));
        let alpha0_times_r = match given {
            Some(step) => step,
            None => {
                let place = self.place(k, neighbourhood, Some(&shape));
                self.spec.mechanism.step(&place, &shape)?
            }
        };
        Ok(Some(ZerothOrder { alpha0_times_r, ..shape }))
    }

    /// Agent k's inner loop but for its step, where there is one.
    pub(super) fn shape(&self, k: usize) -> Option<ZerothOrder> {
        self.inner.map(|inner| ZerothOrder { lipschitz: self.spec.lipschitz.at(k), ..inner })
    }

    fn baseline_charges(&self, baseline: &dyn Baseline, k: usize) -> Result<Charges, Refused> {
        let (Some(problem), Some(target)) = (&self.public, self.spec.mechanism.target(&self.data))
        else {
            return Err(Refused::NeedsRows(baseline.name()));
        };
        let Some(entry) = self.spec.algorithm.entry() else {
            return Err(Refused::NeedsRows(baseline.name()));
        };
        let refused = |error| Refused::NoGuarantee { decider: Decider::Algorithm(entry), error };
        let events = baseline.events(problem, k, self.admm.rounds, &target).map_err(refused)?;
        let rounds_per_query = entry.rounds_per_query;
        let sensitivity = events.first().map_or(0.0, Event::sensitivity);
        let (tau, radius) = (0.0, f64::INFINITY);
        Ok(Charges { sensitivity, tau, radius, events: events.into(), rounds_per_query })
    }

    fn place<'a>(
        &'a self,
        k: usize,
        neighbourhood: usize,
        inner: Option<&'a ZerothOrder>,
    ) -> AgentPlace<'a> {
        let Admm { rho, rounds, .. } = self.admm;
        AgentPlace {
            data: &self.data,
            public: self.public.as_ref(),
            k,
            neighbourhood,
            rho,
            rounds,
            inner,
        }
    }

    /// What was asked for.
    pub fn spec(&self) -> &RunSpec {
        &self.spec
    }

    /// Rows or boxes.
    pub fn data(&self) -> &Data {
        &self.data
    }

    /// The network.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// rho, M, and how neighbourhoods are counted.
    pub fn admm(&self) -> &Admm {
        &self.admm
    }

    /// M.
    pub fn rounds(&self) -> u64 {
        self.admm.rounds
    }

    /// What the agents report.
    pub fn average(&self) -> Average {
        self.average
    }

    /// What the mechanism claims.
    pub fn claimed(&self) -> Claimed {
        self.spec.mechanism.claimed()
    }

    /// Whether the claim rests on c1: not where values are clipped, or where another algorithm's
    /// own sensitivity says it all.
    pub fn uses_c1(&self) -> bool {
        let baseline = self.spec.algorithm.entry().is_some();
        match self.claimed() {
            Claimed::Nothing => false,
            Claimed::Nominal { .. } => true,
            Claimed::Exact { .. } => self.spec.mechanism.certifies() && !baseline,
        }
    }

    /// What is decided about agent k.
    pub fn at(&self, k: usize) -> &AgentPlan {
        &self.agents[k - self.first]
    }

    /// The agents that are planned for, with their positions.
    pub(super) fn planned_agents(&self) -> impl Iterator<Item = (usize, &AgentPlan)> {
        (self.first..).zip(&self.agents)
    }

    /// The noise that the claim assumes at agent k, where it rests on noise that nobody adds.
    pub(super) fn assumed_noise(&self, k: usize) -> Option<Assumed> {
        let AgentPlan { neighbourhood, inner, .. } = self.at(k);
        let place = self.place(k, *neighbourhood, inner.as_ref());
        self.spec.mechanism.assumed_noise(&place)
    }

    /// All agents that are planned for.
    pub fn agents(&self) -> &[AgentPlan] {
        &self.agents
    }

    /// C, where the mechanism clips; where the clip follows how many rows it moves, the first.
    pub fn clip(&self) -> Option<f64> {
        let found = self.joint.as_ref().and_then(|joint| joint.following_clip());
        self.spec.mechanism.clip(&self.data).or(found)
    }

    /// What every agent has spent after each round.
    pub fn spending(&self) -> Spending {
        Spending::new(self.claimed(), self.agents.iter().map(|agent| &agent.charges))
    }

    /// The primal step of agent k, on the data of this plan.
    pub fn primal(&self, k: usize) -> Box<dyn crate::primal::PrimalStep> {
        let AgentPlan { neighbourhood, inner, charges } = self.at(k);
        let place = self.place(k, *neighbourhood, inner.as_ref());
        self.spec.mechanism.primal(&place, charges, self.tolerance)
    }

    /// The plan with other data of the same public sizes: what an attacker compares.
    pub fn with_data(&self, data: Data) -> Self {
        Self { data, ..self.clone() }
    }

    /// The plan for the first rounds only, which reports the last release: what an attacker sees of
    /// a run. Charges stay those of the whole run.
    pub fn seen_for(&self, rounds: u64) -> Self {
        let admm = Admm { rounds, ..self.admm };
        Self { admm, average: Average::None, ..self.clone() }
    }

    /// The plan with other charges at every agent; `None` where `change` gives none.
    pub fn with_charges(&self, change: impl Fn(&Charges) -> Option<Charges>) -> Option<Self> {
        let changed = |agent: &AgentPlan| {
            Some(AgentPlan { charges: change(&agent.charges)?, ..agent.clone() })
        };
        let agents = self.agents.iter().map(changed).collect::<Option<_>>()?;
        Some(Self { agents, ..self.clone() })
    }

    /// The plan with the noise of its joint sums scaled, and the same charges; `None` where it has
    /// none.
    pub fn with_sum_noise_scaled(&self, scale: f64) -> Option<Self> {
        let joint = self.joint.as_ref()?.with_noise_scaled(scale)?;
        Some(Self { joint: Some(Arc::new(joint)), ..self.clone() })
    }

    /// The algorithm that d-zoa is compared with, before its first round, where one was asked for
    /// and its assumptions hold.
    pub fn baseline(&self) -> Result<Option<Box<dyn Baseline>>, Refused> {
        let (Algorithm::Baseline(entry, options), Some(problem)) =
            (&self.spec.algorithm, &self.public)
        else {
            return Ok(None);
        };
        let target = self.spec.mechanism.target(&self.data);
        let built = (entry.build)(&Making {
            options,
            admm: self.admm,
            problem,
            graph: &self.graph,
            target: target.as_ref(),
            nominal: match self.claimed() {
                Claimed::Nominal { epsilon, delta } => Some((epsilon, delta)),
                Claimed::Nothing | Claimed::Exact { .. } => None,
            },
        });
        let clips = entry.reads("clip");
        let check = built.needs().check(built.name(), problem, target.is_some());
        check.map_err(|broken| Refused::Broken { broken, clips })?;
        Ok(Some(built))
    }

    /// What the algorithm takes.
    pub fn needs(&self) -> Result<Needs, Refused> {
        if let Some(joint) = &self.joint {
            return Ok(joint.needs());
        }
        let exact = self.inner.is_none() || self.spec.mechanism.certifies();
        let own = Needs {
            exact_solver: exact,
            known_c1: self.spec.mechanism.certifies(),
            ..Needs::default()
        };
        Ok(self.baseline()?.map_or(own, |baseline| baseline.needs()))
    }

    /// All agents in one process; `ledgers` may be empty.
    pub fn simulation(
        &self,
        ledgers: Vec<Ledger>,
        streams: &Streams,
    ) -> Result<Box<dyn Simulation>, Refused> {
        if let Some(joint) = &self.joint {
            return Ok(Box::new(joint.simulation(&self.study(), ledgers, streams)?));
        }
        let releases = self.releases(ledgers, streams);
        if let (Some(baseline), Data::Rows(problem)) = (self.baseline()?, &self.data) {
            let rounds = self.admm.rounds;
            let lockstep = Lockstep::new(baseline, problem, &self.graph, rounds, releases);
            return Ok(Box::new(lockstep));
        }
        Ok(Box::new(self.agents_with(releases, |k| self.primal(k))?))
    }

    /// Agents with any primal steps, otherwise as planned; `ledgers` may be empty.
    pub fn agents_with_steps(
        &self,
        ledgers: Vec<Ledger>,
        streams: &Streams,
        step: impl Fn(usize) -> Box<dyn crate::primal::PrimalStep>,
    ) -> Result<Vec<Agent>, Refused> {
        self.agents_with(self.releases(ledgers, streams), step)
    }

    fn releases(&self, ledgers: Vec<Ledger>, streams: &Streams) -> Releases {
        let events = self.agents.iter().map(|agent| agent.charges.events.clone()).collect();
        Releases { events, ledgers, average: self.average, streams: streams.clone() }
    }

    fn agents_with(
        &self,
        releases: Releases,
        step: impl Fn(usize) -> Box<dyn crate::primal::PrimalStep>,
    ) -> Result<Vec<Agent>, Refused> {
        let objectives = (0..self.graph.len()).map(|k| self.data.objective(k)).collect();
        let mut agents = agents_of(objectives, &self.graph, self.admm, releases, step)?;
        agents.iter_mut().enumerate().for_each(|(k, agent)| agent.bind(self.fingerprint(k)));
        Ok(agents)
    }

    /// A digest of agent k's rows and of what is asked of them.
    pub(super) fn fingerprint(&self, k: usize) -> Digest {
        match &self.data {
            Data::Rows(problem) => problem.fingerprint(k),
            Data::Boxes(_) => Digest::default(),
        }
    }

    /// Agent k by itself, for a network. It plans anew when a neighbour leaves.
    pub fn agent(self: &Arc<Self>, k: usize, ledger: Ledger, streams: Streams) -> Agent {
        let mut agent = Agent::new(Setup {
            index: k,
            name: self.graph.names()[k].clone(),
            neighbours: self.graph.neighbours(k).to_vec(),
            settings: self.admm,
            objective: self.data.objective(k),
            step: self.primal(k),
            events: self.at(k).charges.events.clone(),
            ledger,
            rows: self.fingerprint(k),
            gossip_weights: self.graph.gossip_weights(k),
            average: self.average,
            streams,
        });
        let plan = self.clone();
        agent.on_leave(Box::new(move |neighbourhood| {
            let smaller = plan.for_neighbourhood(k, neighbourhood).map_err(|no| no.to_string())?;
            let (events, step) = (smaller.at(k).charges.events.clone(), smaller.primal(k));
            Ok(Terms { events, step })
        }));
        agent
    }

    /// The plan of agent k alone with a neighbourhood of another size.
    pub fn for_neighbourhood(&self, k: usize, neighbourhood: usize) -> Result<Self, Refused> {
        let agents = vec![self.decide(k, neighbourhood)?];
        Ok(Self { first: k, agents, ..self.clone() })
    }
}

/// Where everybody hears everything, or one hands out, all agents hold the same: there is nothing
/// to average over the network.
fn all_alike(average: Average, baseline: Option<&dyn Baseline>) -> Average {
    let needs = baseline.map(|baseline| baseline.needs()).unwrap_or_default();
    match average {
        Average::Network { .. } if needs.flooding || needs.coordinator => Average::LastHalf,
        average => average,
    }
}

/// T, J, u1 and how directions are arranged; step and L are every agent's own.
fn loop_shape(spec: &RunSpec, choice: &Choice) -> ZerothOrder {
    ZerothOrder {
        antithetic: spec.antithetic.or(choice.antithetic),
        orthogonal: spec.orthogonal.or(choice.orthogonal),
        inner_steps: spec.inner_steps.or(choice.inner.inner_steps),
        directions: spec.directions.or(choice.inner.directions),
        smoothing: spec.smoothing.or(choice.inner.smoothing),
        inner_average: spec.inner_average,
        ..ZerothOrder::default()
    }
}
