//! What an agent's releases cost: from a budget to the noise of every round.
//!
//! Sensitivities are for replace-one adjacency on one agent's rows; the number of rows is public.

use crate::exact::least_distance;
use crate::problem::{Problem, Scale};
use crate::scalar;
use dzoa_privacy::Event;
use dzoa_privacy::calibrate::{self, Schedule};
use std::sync::Arc;
use thiserror::Error;

/// A total budget and how it is spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// Over the whole run.
    pub total_epsilon: f64,
    /// Over the whole run.
    pub delta: f64,
    /// Over the rounds.
    pub schedule: Schedule,
    /// Rows that one person may have in one agent's data: the guarantee is per person.
    pub rows_per_person: usize,
}

/// Settings that a public rule chooses from public numbers alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// rho.
    pub rho: f64,
    /// M.
    pub rounds: u64,
    /// Each round's share of the budget over that of the one before.
    pub growth: f64,
}

/// The rule for `output`, from the rows of the smallest agent and the total budget.
///
/// The noise of a release falls with `rho N_k epsilon`, convergence slows down with rho: a cube root balances
/// them. The constants were tuned with `cargo run --release -p dzoa --example tune_exact -- output` on L1
/// logistic problems, on seeds that no document reports.
pub fn output_rule(samples: usize, total_epsilon: f64) -> Rule {
    let signal = samples as f64 * total_epsilon / 1000.0;
    Rule { rho: (0.028 / signal.cbrt()).clamp(1e-3, 10.0), rounds: 60, growth: 1.03 }
}

/// The rule for `scalar`, with the clip C: one look a round, many rounds, so that consensus averages the
/// noise of the agents early. While noise dominates, a low clip and a firm rho pay; once the budget is large
/// for the rows, the bias of clipping and the slowness of a firm rho do not. Tuned as [`output_rule`], with
/// `-- scalar`.
pub fn scalar_rule(samples: usize, total_epsilon: f64) -> (Rule, f64) {
    let noise_dominates = samples as f64 * total_epsilon < 8000.0;
    let (rho, clip) = if noise_dominates { (0.03, 1.0) } else { (0.01, 2.0) };
    (Rule { rho, rounds: 100, growth: 1.0 }, clip)
}

/// The step on the data term in one look of `scalar`, for a data term of at most this curvature h.
///
/// The Lagrangian's quadratic `q = rho |N_k|` goes through its prox, so a step contracts the distance by
/// `|1 - step h|/(1 + 2 step q)`: it is stable while `h < 2/step + 2q`. Four fifths of the longest stable step is
/// taken, and at most `5/h`, where more no longer helped on the tuning seeds.
pub fn scalar_step(curvature: f64, quadratic: f64) -> f64 {
    let excess = curvature - 2.0 * quadratic;
    let most = 5.0 / curvature;
    if excess > 0.0 { most.min(1.6 / excess) } else { most }
}

/// Why a mechanism cannot make its promise.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum NoGuarantee {
    /// The loss has no c1.
    #[error("the {0} loss has an unbounded gradient: no sensitivity exists")]
    NoLipschitz(&'static str),
    /// No public bound on the rows' norms.
    #[error(
        "nothing bounds the rows' norms, and the {0} loss's gradient grows with them: there is no \
         sensitivity"
    )]
    UnboundedRows(&'static str),
    /// The loss has kinks where a proof needs a second derivative.
    #[error("the {0} loss has kinks, and the proof needs a bounded second derivative")]
    NotSmooth(&'static str),
    /// Objective perturbation: one row changes the Hessian too much.
    #[error(
        "what one row does to the Hessian costs epsilon {costs:.3} a release, and a release may cost {epsilon:.3}"
    )]
    Hessian {
        /// What a release may cost.
        epsilon: f64,
        /// What the Hessian alone costs.
        costs: f64,
    },
    /// The budget is finer than the grid of the noise.
    #[error(
        "a total epsilon of {epsilon:e} over so many releases is finer than the grid of the noise"
    )]
    BudgetTooSmall {
        /// Asked for.
        epsilon: f64,
    },
    /// A solver might not come to its end.
    #[error("the solver may need {steps:.1e} steps, more than {most}")]
    Steps {
        /// Needed on some data set.
        steps: f64,
        /// Allowed.
        most: usize,
    },
    /// The tolerance cannot be certified in double precision.
    #[error(
        "a tolerance of {tolerance:.1e} cannot be certified in double precision (at least {least:.1e})"
    )]
    Tolerance {
        /// Asked for.
        tolerance: f64,
        /// What can be done.
        least: f64,
    },
}

/// The radius of the ball that all releases of `output` lie in, from what every agent of a network
/// knows.
///
/// In one round the data carry a minimiser at most `c1/(2 rho |N_k|)` away from a public point
/// (`N_k` times as far under the sum scale, where the sizes of other agents are not known: 65,536
/// rows are assumed). So honest agents stay within about `c1/rho` times the rounds of the origin,
/// and this is a thousand times as far.
pub fn radius(c1: f64, scale: Scale, rho: f64, rounds: u64) -> f64 {
    let total = match scale {
        Scale::Mean => 1.0,
        Scale::Sum => 65_536.0,
    };
    1024.0 * (rounds + 1) as f64 * c1 * total / rho
}

/// c1 at agent k: how long the gradient of one sample's loss can be, for every `b` and every row that
/// could be one of its rows. The loss bounds the slope, and the rows' public bound the rest.
#[doc(alias = "Assumption 3")]
pub fn c1(problem: &Problem, k: usize) -> Result<f64, NoGuarantee> {
    let name = problem.loss.name();
    let slope = problem.loss.lipschitz().ok_or(NoGuarantee::NoLipschitz(name))?;
    Ok(slope * longest_row(problem, k)?)
}

/// c3 at agent k: how large the second derivative of one sample's loss can be in any direction.
pub fn c3(problem: &Problem, k: usize) -> Result<f64, NoGuarantee> {
    let curvature = problem.loss.smoothness().ok_or(NoGuarantee::NotSmooth(problem.loss.name()))?;
    Ok(curvature * longest_row(problem, k)?.powi(2))
}

/// The rows' public bound, and what rounding adds where rows were cut to it.
fn longest_row(problem: &Problem, k: usize) -> Result<f64, NoGuarantee> {
    let rows = &problem.agents[k].rows;
    let bound = rows.norm_bound().ok_or(NoGuarantee::UnboundedRows(problem.loss.name()))?;
    Ok(bound * (1.0 + (rows.width() + 8) as f64 * f64::EPSILON))
}

/// The promise of the mechanism `output` at one agent.
#[derive(Clone, Debug)]
pub struct OutputPlan {
    /// How near every point must come to its minimiser.
    pub tau: f64,
    /// Of the ball that all releases lie in.
    pub radius: f64,
    /// `rows_per_person (Delta_k + 2 tau)`
    pub sensitivity: f64,
    /// The charge of every round.
    pub events: Arc<[Event]>,
}

/// Plans `output` for agent `k`; without a tolerance, a thousandth of Lemma 3's sensitivity.
pub fn plan_output(
    problem: &Problem,
    k: usize,
    (rho, neighbourhood): (f64, usize),
    rounds: u64,
    tolerance: Option<f64>,
    target: &Target,
) -> Result<OutputPlan, NoGuarantee> {
    let c1 = c1(problem, k)?;
    let samples = match problem.scale {
        Scale::Mean => problem.agents[k].count(),
        // A sum weighs every sample N_k times as much.
        Scale::Sum => 1,
    };
    let lemma3 = calibrate::lemma3_sensitivity(c1, rho, neighbourhood, samples);
    let tau = tolerance.unwrap_or(1e-3 * lemma3);
    // Decided here, from public numbers: a solve that begins must be able to end on every data set.
    let radius = radius(c1, problem.scale, rho, rounds);
    let (sample, quadratic) = (problem.sample_weight(k), rho * neighbourhood as f64);
    let total = sample * problem.agents[k].count() as f64;
    let reach = radius + 0.5 * c1 * total / quadratic;
    let least = least_distance(c1, (sample, total), quadratic, reach);
    if tau < least {
        return Err(NoGuarantee::Tolerance { tolerance: tau, least });
    }
    let sensitivity = target.rows_per_person as f64 * (lemma3 + 2.0 * tau);
    let budget = (target.total_epsilon, target.delta);
    let events = calibrate::discrete_gaussian_events(
        sensitivity,
        budget,
        (problem.dim(), 1),
        rounds,
        target.schedule,
    )
    .ok_or(NoGuarantee::BudgetTooSmall { epsilon: target.total_epsilon })?;
    Ok(OutputPlan { tau, radius, sensitivity, events: events.into() })
}

/// The charges of the mechanism `scalar` at an agent with `samples` rows: `directions` clipped means in
/// each of `inner_steps` looks a round. Returns the sensitivity of one look, and the events.
pub fn plan_scalar(
    clip: f64,
    (directions, inner_steps): (usize, usize),
    samples: usize,
    rounds: u64,
    target: &Target,
) -> Result<(f64, Arc<[Event]>), NoGuarantee> {
    let sensitivity =
        target.rows_per_person as f64 * scalar::sensitivity(clip, directions, samples);
    let budget = (target.total_epsilon, target.delta);
    let events = calibrate::discrete_gaussian_events(
        sensitivity,
        budget,
        (directions, inner_steps),
        rounds,
        target.schedule,
    )
    .ok_or(NoGuarantee::BudgetTooSmall { epsilon: target.total_epsilon })?;
    Ok((sensitivity, events.into()))
}
