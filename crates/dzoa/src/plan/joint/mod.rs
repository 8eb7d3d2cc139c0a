//! What is decided about joint sums: who adds how much noise, which algorithm with which numbers,
//! and what each sum costs.

mod simulation;
mod study;

pub use study::JointStudy;

use super::claimed::Total;
use super::data::{Boxes, Data};
use super::mechanism::{Charges, SumTerms};
use super::spec::RunSpec;
use super::sums::rules::{JointSizes, TARGETS, moved_share};
use super::sums::{JointBudget, JointEntry, JointMaking};
use super::{Decider, Refused};
use crate::baselines::Needs;
use crate::guarantee::NoGuarantee;
use crate::joint::{Hidden, NoRound, Question, SessionOpening, Slopes, SumMethod};
use crate::network::Graph;
use crate::problem::loss::Targets;
use crate::problem::regularizer::Penalty;
use crate::problem::{PublicProblem, Variables};
use crate::registry::Options;
use dzoa_privacy::joint::{JointQuery, Members, NoGrid, Region, Shares, Silo};
use dzoa_privacy::{Accountant, Budget, Colluders, Digest, Event, ExactGaussian, gaussian};
use std::sync::Arc;

/// Bits of mu that are not used: machines whose exponentials differ in the last place still choose
/// the same number.
const UNUSED_BITS: u32 = 20;
/// Answers of black boxes are clipped to this length at first where nothing else is said.
const BOX_CLIP: f64 = 1.0;

/// Everything that is decided about joint sums. Equal at all agents.
#[derive(Clone, Debug)]
pub struct JointPlan {
    entry: &'static JointEntry,
    options: Options,
    sizes: JointSizes,
    problem: Option<PublicProblem>,
    penalty: Penalty,
    variables: Arc<Variables>,
    /// Values that every agent may give.
    values: Option<u64>,
    rounds: Option<u64>,
    directions: Option<usize>,
    members: Members,
    /// By position among the members.
    silos: Vec<Silo>,
    shares: Option<Shares>,
    budget: Option<JointBudget>,
    planned: Vec<Hidden>,
    /// The planned sums with their noise: worked out once, for all agents.
    queries: Vec<JointQuery>,
    sums: u64,
}

impl JointPlan {
    /// Decides, from public numbers; `samples` are the rows of every agent.
    pub(super) fn new(
        entry: &'static JointEntry,
        spec: &RunSpec,
        data: &Data,
        graph: &Graph,
        samples: &[usize],
    ) -> Result<Self, Refused> {
        let options = spec.algorithm.options().cloned().unwrap_or_default();
        let problem = data.problem().map(|problem| problem.public().with_samples(samples));
        if problem.is_none() && !entry.values_only {
            return Err(Refused::NeedsRows(entry.name));
        }
        let members = Members::new(graph.names().iter().map(String::as_str))
            .map_err(|no| Refused::NoShares(no.to_string()))?;
        let silos = silos(&problem, data, graph, &members, samples);
        let penalty = match (&problem, data) {
            (Some(problem), _) => problem.penalty(problem.eta),
            (None, Data::Boxes(boxes)) => boxes.penalty(boxes.eta),
            (None, Data::Rows(_)) => return Err(Refused::NeedsRows(entry.name)),
        };
        let mut plan = Self {
            sizes: sizes(&problem, data, samples.len()),
            entry,
            options,
            problem,
            penalty,
            variables: match data {
                Data::Boxes(Boxes { variables: Some(variables), .. }) => variables.clone(),
                _ => Arc::new(Variables::unbounded(data.dim())),
            },
            values: match data {
                Data::Boxes(boxes) => boxes.values_left(),
                Data::Rows(_) => None,
            },
            rounds: spec.rounds.given(),
            directions: spec.directions.given(),
            members,
            silos,
            shares: None,
            budget: None,
            planned: Vec::new(),
            queries: Vec::new(),
            sums: 0,
        };
        match spec.mechanism.sums() {
            None => {
                let (algorithm, mechanism) = (entry.name, spec.mechanism.name());
                return Err(Refused::NoSums { algorithm, mechanism });
            }
            Some(SumTerms::Plain) => {}
            Some(SumTerms::Hidden { .. }) if entry.plain_only => {
                let (algorithm, mechanism) = (entry.name, spec.mechanism.name());
                return Err(Refused::NoSums { algorithm, mechanism });
            }
            Some(SumTerms::Hidden { total, colluders, clip }) => {
                plan.protect(&total, colluders, clip)?;
            }
        }
        let method = plan.method()?;
        plan.sums = method.rounds();
        plan.planned = method.planned().map_err(NoRound::from)?;
        plan.queries = plan.worked_out()?;
        Ok(plan)
    }

    /// Shares of the noise, and the largest mu that the budget allows.
    fn protect(
        &mut self,
        total: &Total,
        colluders: Colluders,
        clip: Option<f64>,
    ) -> Result<(), Refused> {
        let shares =
            Shares::new(&self.silos, colluders).map_err(|no| Refused::NoShares(no.to_string()))?;
        let rows_per_person = total.rows_per_person as u64;
        let slopes = match &self.problem {
            Some(problem) => {
                let unbounded = problem.loss.lipschitz().is_none();
                let slopes = match clip {
                    None if unbounded && problem.loss.smoothness().is_some() => {
                        Slopes::following_residuals(problem, TARGETS, rows_per_person)
                    }
                    clip => Slopes::of(problem, clip, rows_per_person),
                };
                slopes.map_err(|error| Refused::NoGuarantee {
                    decider: Decider::Sums(self.entry.name),
                    error,
                })?
            }
            None => match clip {
                Some(clip) => Slopes::clipped(clip, rows_per_person),
                None => Slopes::following(BOX_CLIP, rows_per_person),
            },
        };
        let unit = unit_noise(&shares).map_err(NoRound::from)?;
        let start = vec![0.0; self.sizes.columns];
        let diameter = slopes.gradients(&start).map_err(NoRound::from)?.diameter();
        self.shares = Some(shares);
        // Below the budget by more than rounding adds from point to point.
        let most = gaussian::mu(total.budget.epsilon, total.budget.delta) * (1.0 - 1e-9);
        let mut mu = coarse(most);
        // The grid costs a little: aim lower until the accountant agrees, each time by twice as
        // much.
        let mut less = 1e-9;
        for _ in 0..28 {
            if !(mu > 0.0 && mu.is_finite()) {
                break;
            }
            self.sizes.noise = unit * diameter / mu;
            let weight: f64 = self.silos.iter().map(|silo| silo.weight * silo.rows as f64).sum();
            let slopes = slopes.clone().aiming_at(moved_share(&self.sizes), weight, unit);
            self.budget = Some(JointBudget { mu, unit, slopes, rows_per_person });
            self.planned = self.method()?.planned().map_err(NoRound::from)?;
            self.queries = self.worked_out()?;
            if self.keeps(total.budget)? {
                return Ok(());
            }
            mu = coarse(mu * (1.0 - less));
            less *= 2.0;
        }
        let epsilon = total.budget.epsilon;
        let error = NoGuarantee::BudgetTooSmall { epsilon };
        Err(Refused::NoGuarantee { decider: Decider::Sums(self.entry.name), error })
    }

    /// Whether all planned sums keep the budget at every agent.
    fn keeps(&self, budget: Budget) -> Result<bool, Refused> {
        for position in 0..self.members.len() {
            let mut account = ExactGaussian::default();
            let events = self.events_at(position);
            let composed = events.iter().try_for_each(|event| account.compose(event));
            // What is no number keeps nothing.
            let kept = composed.is_ok() && account.epsilon(budget.delta) <= budget.epsilon;
            if !kept {
                return Ok(false);
            }
            // Equal silos are charged alike.
            if self.silos.iter().all(|silo| *silo == self.silos[0]) {
                break;
            }
        }
        Ok(true)
    }

    /// Noise of the planned sums. It takes a look at every silo, for each of them.
    fn worked_out(&self) -> Result<Vec<JointQuery>, Refused> {
        let Some(shares) = &self.shares else { return Ok(Vec::new()) };
        let query = |hidden: &Hidden| shares.query(hidden.region.clone(), hidden.mu);
        let queries: Result<Vec<JointQuery>, NoGrid> = self.planned.iter().map(query).collect();
        Ok(queries.map_err(NoRound::from)?)
    }

    fn events_at(&self, position: usize) -> Vec<Event> {
        match self.shares {
            None => vec![Event::Unprotected],
            Some(_) => self.queries.iter().map(|query| query.event(position)).collect(),
        }
    }

    /// What agent k is charged.
    pub(super) fn charges(&self, name: &str) -> Result<Charges, Refused> {
        let position = self.members.position(name).unwrap_or(0);
        let events = self.events_at(position);
        let first = events.first().copied().unwrap_or(Event::Unprotected);
        Ok(Charges { events: events.into(), ..Charges::of_every_round(first, first.sensitivity()) })
    }

    /// The algorithm before its first sum.
    pub fn method(&self) -> Result<Box<dyn SumMethod>, Refused> {
        let making = JointMaking {
            options: &self.options,
            sizes: self.sizes,
            problem: self.problem.as_ref(),
            penalty: self.penalty.clone(),
            variables: self.variables.clone(),
            values: self.values,
            rounds: self.rounds,
            directions: self.directions,
            noise: self.budget.clone(),
        };
        (self.entry.build)(&making).map_err(|error| Refused::NoGuarantee {
            decider: Decider::Sums(self.entry.name),
            error,
        })
    }

    /// What it takes beyond rows and neighbours.
    pub(super) fn needs(&self) -> Needs {
        let known_c1 = self.budget.as_ref().is_some_and(|budget| !budget.slopes.is_clipped());
        Needs {
            flooding: true,
            gradients: !self.entry.values_only,
            smooth_loss: self.entry.smooth_loss,
            known_c1,
            ..Needs::default()
        }
    }

    /// The plan with noise that is scaled, and the same claim: what an audit must catch.
    pub(super) fn with_noise_scaled(&self, scale: f64) -> Option<Self> {
        let mut weaker = self.clone();
        weaker.budget.as_mut()?.mu /= scale;
        Some(weaker)
    }

    /// The first clip, where it then follows how many rows it moves.
    pub fn following_clip(&self) -> Option<f64> {
        let slopes = &self.budget.as_ref()?.slopes;
        slopes.is_following().then(|| slopes.radius())
    }

    /// Sums in all.
    pub fn sums(&self) -> u64 {
        self.sums
    }

    /// Numbers in the longest sum that the algorithm may take, whatever its rule says once all
    /// agents' rows are known.
    pub fn coordinates(&self) -> usize {
        let columns = self.sizes.columns;
        // One more says how many rows a clip moves.
        let gradient = Question::Gradient.coordinates(columns) + 1;
        match self.entry.smooth_loss {
            true => Question::Hessian.coordinates(columns).max(gradient),
            false => gradient,
        }
    }

    /// Everybody, by name.
    pub fn members(&self) -> &Members {
        &self.members
    }

    /// Whether masks hide single parts.
    pub fn masked(&self) -> bool {
        self.shares.as_ref().is_some_and(Shares::masked)
    }

    /// What all agents agree on; the roster's digest where there are masks.
    pub fn opened(&self, network: Digest, roster: Option<Digest>) -> SessionOpening {
        SessionOpening {
            network,
            program: format!("dzoa {}", env!("CARGO_PKG_VERSION")),
            roster,
            members: self.members.clone(),
            rows: self.silos.iter().map(|silo| silo.rows).collect(),
            shares: self.shares.clone(),
        }
    }

    /// The plan's public numbers without those that are gone: their noise is shared anew.
    pub fn without(&self, members: &Members) -> Result<Option<Shares>, Refused> {
        let Some(shares) = &self.shares else { return Ok(None) };
        let left = members.len();
        if let Colluders::AtMost(t) = shares.colluders()
            && left <= t as usize
        {
            let why = format!("{left} agents are left, and {t} others may collude");
            return Err(Refused::NoShares(why));
        }
        let position = |name: &String| self.members.position(name).map(|at| self.silos[at]);
        let silos: Vec<Silo> = members.names().iter().filter_map(position).collect();
        let shares = Shares::new(&silos, shares.colluders());
        shares.map(Some).map_err(|no| Refused::NoShares(no.to_string()))
    }

    /// A digest of everything that was decided, for transcripts and keys.
    pub(super) fn digest(&self, graph: &Graph) -> Digest {
        let Self { entry, options, sizes, penalty, rounds, directions, .. } = self;
        let mut hasher = blake3::Hasher::new_derive_key("dzoa 2026 joint plan");
        let mut field = |text: String| {
            hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
        };
        self.members.names().iter().for_each(|name| field(name.clone()));
        for (a, b) in graph.edges() {
            field(format!("{} {}", graph.names()[a], graph.names()[b]));
        }
        field(format!("{} {options:?} {sizes:?} {penalty:?}", entry.name));
        field(format!("{rounds:?} {directions:?} {:?}", self.silos));
        let loss = self.problem.as_ref().map(|problem| {
            (problem.loss.name(), problem.loss.parameters(), problem.eta, problem.scale)
        });
        field(format!("{loss:?} {:?}", self.budget.as_ref().map(|budget| budget.mu)));
        Digest::from(*hasher.finalize().as_bytes())
    }
}

/// What is public about every agent's rows, in the order of the members.
fn silos(
    problem: &Option<PublicProblem>,
    data: &Data,
    graph: &Graph,
    members: &Members,
    samples: &[usize],
) -> Vec<Silo> {
    let mut agents = vec![0; members.len()];
    for (k, name) in graph.names().iter().enumerate() {
        members.position(name).into_iter().for_each(|at| agents[at] = k);
    }
    let silo = |k: usize| Silo {
        rows: samples[k] as u64,
        weight: match problem {
            Some(problem) => problem.sample_weight(k),
            None if matches!(data, Data::Boxes(boxes) if !boxes.are_per_sample()) => 1.0,
            None => 1.0 / samples[k].max(1) as f64,
        },
    };
    agents.into_iter().map(silo).collect()
}

/// P and a bound on the curvature of the whole data term.
fn sizes(problem: &Option<PublicProblem>, data: &Data, agents: usize) -> JointSizes {
    let columns = data.dim();
    let (curvature, size) = match (problem, data) {
        (Some(problem), _) => {
            let row = |k: usize| problem.norm_bound(k).unwrap_or(1.0);
            let longest = (0..agents).map(row).fold(0.0, f64::max);
            let weight: f64 = (0..agents).map(|k| problem.weight(k)).sum();
            // Many rows together are nearly smooth, by how densely their kinks lie.
            let width = match problem.loss.targets() {
                Targets::Signs => 1.0,
                Targets::Real => 0.25,
            };
            let smooth = problem.loss.smoothness();
            let curvature = smooth.unwrap_or_else(|| problem.loss.smoothed_curvature(width));
            // Residuals of natural size: a third of targets within one, or where slopes stop
            // growing.
            let knee = smooth.zip(problem.loss.lipschitz()).map_or(0.0, |(c3, c1)| c1 / c3);
            let size = match problem.loss.targets() {
                Targets::Signs => 1.0,
                Targets::Real => knee.max(TARGETS / 3.0),
            };
            (weight * curvature * longest * longest, size / longest)
        }
        (None, Data::Boxes(Boxes { curvature, .. })) => (agents as f64 * curvature, 1.0),
        (None, Data::Rows(_)) => (1.0, 1.0),
    };
    JointSizes { columns, curvature, noise: 0.0, size }
}

/// A: the noise in a sum of diameter one and mu one.
fn unit_noise(shares: &Shares) -> Result<f64, NoGrid> {
    let region = Region::ball(1, 0.5).expect("half is a radius");
    let draws: f64 = shares.multiples().iter().map(|draws| f64::from(*draws)).sum();
    Ok(shares.query(region, 1.0)?.share() * draws.sqrt())
}

/// The number with its last bits cleared: never above it.
fn coarse(mu: f64) -> f64 {
    f64::from_bits(mu.to_bits() & !((1 << UNUSED_BITS) - 1))
}
