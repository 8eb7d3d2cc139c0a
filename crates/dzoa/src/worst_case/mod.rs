//! The largest move: a deterministic audit of a claimed sensitivity.
//!
//! Every exact guarantee here rests on one number: replacing one person's rows moves an update
//! without noise by at most so much. This module attacks the number. For one agent it builds
//! neighbouring data sets and public states that push the update as far apart as it will go
//! (saturated slopes, opposite rows, rows as long as nothing forbids), computes it on both, and
//! returns the largest move beside the claim.
//!
//! It needs no noise and no statistics and takes milliseconds. It can refute a claim, not prove
//! one.

mod pairs;

use crate::baselines::{Baseline, Part, Party};
use crate::joint::{self, SumMethod};
use crate::primal::{
    Certified, Lagrangian, PrimalStep, PrimalTask, RoundContext, Scalar, Workspace, ZerothOrder,
};
use crate::problem::data::Samples;
use crate::problem::{EmpiricalRisk, LocalObjective, PerSample, Probe, Problem};
use crate::streams::{Purpose, Streams};
use dzoa_privacy::{Event, Ledger, NoiseKey, Receipt};
use pairs::{Person, pairs};
use std::sync::Arc;

/// How far out public vectors are put, along the diagonal: slopes of every loss saturate on the
/// way.
const STATES: [f64; 5] = [0.0, 5.0, 20.0, 400.0, 8000.0];
/// What the attacker's own sums are off by, relatively: where it computes derivatives, the public
/// part of the objective is large against one row's. An update is taken as it is, rounding and all.
const OWN_ROUNDING: f64 = 1e-9;

/// The largest move that was found, relative to what was claimed.
#[derive(Clone, Debug, PartialEq)]
pub struct LargestMove {
    /// How far the update moved.
    pub moved: f64,
    /// How far it may, by the claim.
    pub claimed: f64,
    /// The round.
    pub round: u64,
    /// Which rows moved it.
    pub pair: String,
}

impl LargestMove {
    /// Whether no move was longer than the claim.
    pub fn holds(&self) -> bool {
        self.moved <= self.claimed
    }

    fn share(&self) -> f64 {
        // A claim of 0 is broken by any move, and a move that is no number breaks any claim.
        let share = if self.moved > 0.0 { self.moved / self.claimed } else { 0.0 };
        if self.moved.is_nan() || share.is_nan() { f64::INFINITY } else { share }
    }

    fn larger(self, other: Option<Self>) -> Option<Self> {
        match other {
            Some(other) if other.share() >= self.share() => Some(other),
            _ => Some(self),
        }
    }
}

/// Whose rows are replaced.
#[derive(Clone, Copy, Debug)]
pub struct Attacked<'a> {
    /// Loss, weights, and what bounds the rows.
    pub problem: &'a Problem,
    /// The agent.
    pub k: usize,
    /// Rows that one person may have.
    pub rows_per_person: usize,
}

/// The mechanism `output` at one agent, whose penalty is `quadratic = rho |N_k|`.
///
/// The exact solver searches. Where the mechanism tries a zeroth-order loop first, the worst pair
/// is computed again with it: a loop takes a thousand times as long.
pub fn of_output(
    attacked: &Attacked<'_>,
    event: &Event,
    quadratic: f64,
    inner: Option<ZerothOrder>,
    tau: f64,
) -> Option<LargestMove> {
    let Attacked { problem, k, .. } = *attacked;
    let (claimed, length) = claim(event)?;
    let streams = Streams::from_seed(0);
    let context = RoundContext { agent: "worst case", round: 1, streams: &streams };
    let penalty = problem.local(k).penalty;
    let update = |inner, state: &[f64], samples: &Arc<Samples>| {
        let risk = EmpiricalRisk { samples: samples.clone(), ..problem.risk(k) };
        let objective = LocalObjective { data: Arc::new(risk.clone()), penalty: penalty.clone() };
        // All neighbours and the agent itself last released this point.
        let linear = state.iter().map(|b| -2.0 * quadratic * b).collect();
        let lagrangian = Lagrangian { objective: &objective, linear, quadratic };
        let (mut step, mut work) =
            (Certified::output(inner, risk, tau, f64::INFINITY), Workspace::default());
        let (lagrangian, start, receipt) = (&lagrangian, state, receipt(1)?);
        let done = step.update(PrimalTask { lagrangian, start, receipt, context }, &mut work);
        Some(done.ok()?.release.to_vec())
    };
    let search = Search { attacked, claimed, length, round: 1 };
    let mut worst: Option<(Found, Vec<f64>)> = None;
    for state in states(problem.dim()) {
        let found = search.over_pairs(&state, |samples| update(None, &state, samples));
        let least = worst.as_ref().map_or(-1.0, |(worst, _)| worst.largest.share());
        worst = found.filter(|found| found.largest.share() > least).map(|f| (f, state)).or(worst);
    }
    let (Found { largest, sets }, state) = worst?;
    let Some(inner) = inner else { return Some(largest) };
    let moved = search.moved(&sets, &mut |samples| update(Some(inner), &state, samples));
    let looped = moved.map(|moved| LargestMove { moved, ..largest.clone() });
    largest.larger(looped)
}

/// One query of the mechanism `scalar` at one agent: the mean of clipped vectors.
pub fn of_scalar(attacked: &Attacked<'_>, event: &Event, scalar: &Scalar) -> Option<LargestMove> {
    let Attacked { problem, k, .. } = *attacked;
    let (claimed, length) = claim(event)?;
    let streams = Streams::from_seed(0);
    let context = RoundContext { agent: "worst case", round: 1, streams: &streams };
    let mut work = Workspace::default();
    work.directions.resize(problem.dim(), scalar.inner.directions);
    context.directions(Purpose::Directions, 1)(1, &mut work.directions);
    scalar.inner.arrange(&mut work);
    let (u1, u2) = scalar.inner.smoothing_at(1, problem.dim());
    let mut worst = None;
    for state in states(problem.dim()) {
        let update = |samples: &Arc<Samples>| {
            let risk = EmpiricalRisk { samples: samples.clone(), ..problem.risk(k) };
            let probe = Probe { point: &state, u1, u2, directions: &work.directions };
            let mut means = vec![0.0; scalar.inner.directions];
            risk.clipped_means(&probe, scalar.clip, &mut work.scratch, &mut means);
            Some(means)
        };
        let search = Search { attacked, claimed, length, round: 1 };
        let found = search.over_pairs(&state, update);
        worst = found.into_iter().fold(worst, |worst, found| found.largest.larger(worst));
    }
    worst
}

/// A sum over all agents, at one agent with rows of this weight: every question of a method at far
/// and near points, each against the diameter that its noise is for.
pub fn of_sums(
    attacked: &Attacked<'_>,
    method: &dyn SumMethod,
    weight: f64,
) -> Option<LargestMove> {
    let Attacked { problem, k, .. } = *attacked;
    let mut worst = None;
    // The first question of each kind: gradients, second derivatives or values.
    for round in 0..method.rounds().min(2) {
        for state in states(problem.dim()).flat_map(|state| [state.clone(), negative(state)]) {
            let ask = method.ask_at(round, state.clone()).ok()?;
            let claimed = weight * ask.hidden.as_ref()?.region.diameter() * (1.0 + OWN_ROUNDING);
            let search = Search { attacked, claimed, length: l2, round: round + 1 };
            let found = search.over_pairs(&state, |samples| {
                let risk = EmpiricalRisk { samples: samples.clone(), ..problem.risk(k) };
                joint::noiseless(&risk, weight, &ask)
            });
            worst = found.into_iter().fold(worst, |worst, found| found.largest.larger(worst));
        }
    }
    worst
}

/// A baseline at one agent, in its first query and its last: `fresh` makes it before its first
/// round, `events` are those of its queries. Where the objective is perturbed, the moves are those
/// of its gradient and of its log-determinant.
pub fn of_baseline(
    attacked: &Attacked<'_>,
    events: &[Event],
    rounds: u64,
    fresh: impl Fn() -> Box<dyn Baseline>,
) -> Option<LargestMove> {
    let k = attacked.k;
    let before = fresh();
    let queries: Vec<u64> =
        (1..=rounds).filter(|&round| before.part(round, k) != Part::Rests).collect();
    let mut worst = None;
    for query in [0, queries.len().checked_sub(1)?] {
        let (round, event) = (queries[query], events[query.min(events.len() - 1)]);
        // Some algorithms release points, others gradients that are subtracted: both ways out.
        for state in states(attacked.problem.dim()).flat_map(|s| [s.clone(), negative(s)]) {
            let mut baseline = fresh();
            let agents = attacked.problem.agents.len();
            baseline.absorb(1, &vec![state.into(); agents]);
            for found in moves(attacked, &*baseline, round, &event) {
                worst = found.larger(worst);
            }
        }
    }
    worst
}

/// The largest moves of one query of a baseline in the state it is in.
fn moves(
    attacked: &Attacked<'_>,
    baseline: &dyn Baseline,
    round: u64,
    event: &Event,
) -> Vec<LargestMove> {
    let Attacked { problem, k, .. } = *attacked;
    let point = baseline.estimate(k);
    let party = |samples: &Arc<Samples>| {
        let mut agents = problem.agents.clone();
        agents[k] = samples.clone();
        Party::new(baseline, &Problem { agents, ..problem.clone() }, k)
    };
    if let Event::ObjectivePerturbation { gradient, log_determinant, .. } = *event {
        let at = |samples: &Arc<Samples>| baseline.perturbed(round, &party(samples), &point);
        let gradients = |samples: &Arc<Samples>| Some(at(samples)?.gradient);
        let determinants = |samples: &Arc<Samples>| Some(vec![at(samples)?.log_determinant()?]);
        let of = |claim: f64| {
            let claimed = claim * (1.0 + OWN_ROUNDING);
            Search { attacked, claimed, length: l2, round }
        };
        let (first, second) = (
            of(gradient).over_pairs(&point, gradients),
            of(log_determinant).over_pairs(&point, determinants),
        );
        return first.into_iter().chain(second).map(|found| found.largest).collect();
    }
    let Some((claimed, length)) = claim(event) else { return Vec::new() };
    let update = |samples: &Arc<Samples>| noiseless(baseline, round, &mut party(samples));
    let found = Search { attacked, claimed, length, round }.over_pairs(&point, update);
    found.map(|found| found.largest).into_iter().collect()
}

/// A search for the largest move of one update.
struct Search<'a> {
    attacked: &'a Attacked<'a>,
    claimed: f64,
    /// The norm of the claim.
    length: fn(&[f64]) -> f64,
    round: u64,
}

/// The largest move, and the data sets that made it.
struct Found {
    largest: LargestMove,
    sets: [Arc<Samples>; 2],
}

impl Search<'_> {
    /// The largest move over all pairs. An update that has no result on a data set is left out: it
    /// releases nothing.
    fn over_pairs(
        &self,
        point: &[f64],
        mut update: impl FnMut(&Arc<Samples>) -> Option<Vec<f64>>,
    ) -> Option<Found> {
        let Attacked { problem, k, rows_per_person } = *self.attacked;
        let last = problem.agents[k].count() - rows_per_person.min(problem.agents[k].count());
        // An update on a batch does not see all rows: search for one that it sees.
        let mut found = (0..=last).map(|first| self.with_person_at(first, point, &mut update));
        let unmoved = found.next()?;
        match unmoved {
            Some(found) if found.largest.moved != 0.0 => Some(found),
            unmoved => found.flatten().find(|found| found.largest.moved != 0.0).or(unmoved),
        }
    }

    /// The largest move over all pairs whose rows begin at this one.
    fn with_person_at(
        &self,
        first: usize,
        point: &[f64],
        update: &mut impl FnMut(&Arc<Samples>) -> Option<Vec<f64>>,
    ) -> Option<Found> {
        let Attacked { problem, k, rows_per_person } = *self.attacked;
        let own = &problem.agents[k];
        let person = Person { first, rows: rows_per_person.min(own.count()) };
        let away = point.iter().any(|b| *b != 0.0);
        let mut worst: Option<Found> = None;
        for pair in &pairs(problem, k, point) {
            // The agent's own rows only where no slope is saturated anyway.
            let among = if away { None } else { pair.among(own, person) };
            for sets in pair.alone(own, person).into_iter().chain(among) {
                let Some(moved) = self.moved(&sets, update) else { continue };
                let (claimed, round) = (self.claimed, self.round);
                let largest = LargestMove { moved, claimed, round, pair: pair.description() };
                if worst.as_ref().is_none_or(|worst| largest.share() > worst.largest.share()) {
                    worst = Some(Found { largest, sets });
                }
            }
        }
        worst
    }

    /// How far the update moves from the one data set to the other.
    fn moved(
        &self,
        [one, other]: &[Arc<Samples>; 2],
        update: &mut impl FnMut(&Arc<Samples>) -> Option<Vec<f64>>,
    ) -> Option<f64> {
        let (one, other) = (update(one)?, update(other)?);
        let apart: Vec<f64> = one.iter().zip(&other).map(|(a, b)| a - b).collect();
        Some((self.length)(&apart))
    }
}

/// How the length of a move is measured.
type Length = fn(&[f64]) -> f64;

/// The claimed sensitivity of an event and its norm; `None` where nothing is claimed.
fn claim(event: &Event) -> Option<(f64, Length)> {
    match *event {
        Event::DiscreteGaussian { sensitivity, .. } | Event::Gaussian { sensitivity, .. } => {
            Some((sensitivity, l2))
        }
        Event::SphericalLaplace { sensitivity, .. } => Some((sensitivity, l2)),
        Event::Laplace { sensitivity, .. } => Some((sensitivity, l1)),
        _ => None,
    }
}

fn l1(values: &[f64]) -> f64 {
    values.iter().map(|v| v.abs()).sum()
}

fn l2(values: &[f64]) -> f64 {
    values.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// Public vectors ever farther out along the diagonal.
fn states(dim: usize) -> impl Iterator<Item = Vec<f64>> {
    STATES.into_iter().map(move |length| vec![length / (dim as f64).sqrt(); dim])
}

fn negative(mut state: Vec<f64>) -> Vec<f64> {
    state.iter_mut().for_each(|b| *b = -*b);
    state
}

/// What this party would release in this round without noise.
pub fn noiseless(baseline: &dyn Baseline, round: u64, party: &mut Party) -> Option<Vec<f64>> {
    let answer = baseline.query(round, party, receipt(round)?, &key());
    answer.ok().map(|release| release.to_vec())
}

/// The way past the ledger for what an attacker computes itself, and never sends.
fn receipt(round: u64) -> Option<Receipt> {
    Ledger::default().charge(Event::Unprotected.query(round)).ok()
}

/// One key for every data set: an update that draws its batch draws the same one.
fn key() -> NoiseKey {
    Streams::from_seed(0).noise_key("worst case")
}
