//! The public rules: every number that the library chooses by itself, from public numbers alone.
//!
//! No other file has such a constant. Those under a guarantee were tuned with
//! `cargo run --release -p dzoa-lab --example tune_exact`, on seeds that no document reports.

use crate::primal::ZerothOrder;
use crate::problem::{Problem, Scale};
use dzoa_privacy::calibrate::Schedule;

/// How far the agents' averages may still differ after the final gossip, as a fraction of before.
pub const GOSSIP_FRACTION: f64 = 1e-3;

/// The paper's rho.
pub const PAPER_RHO: f64 = 4.0;
/// The paper's M.
pub const PAPER_ROUNDS: u64 = 200;
/// The constant of Lemma 2, as the paper takes it.
pub const PAPER_C: f64 = 0.5;

/// T, J and u1 of an inner loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoopShape {
    /// T.
    pub inner_steps: usize,
    /// J.
    pub directions: usize,
    /// `u_1`
    pub smoothing: f64,
}

/// The paper's loop.
pub const PAPER_LOOP: LoopShape = LoopShape { inner_steps: 100, directions: 30, smoothing: 1.0 };

/// The paper's loop, as far as it says what it takes. (Here, beside every other number that is
/// chosen without being asked for.)
impl Default for ZerothOrder {
    fn default() -> Self {
        let LoopShape { inner_steps, directions, smoothing } = PAPER_LOOP;
        Self {
            inner_steps,
            directions,
            smoothing,
            alpha0_times_r: 1.0,
            lipschitz: 1.0,
            inner_average: false,
            antithetic: false,
            orthogonal: false,
        }
    }
}

/// For `scalar`: one query a round along a whole frame of directions, so that nothing of the
/// gradient is missed, or along this many; smoothed less.
pub fn scalar_loop(features: usize) -> LoopShape {
    const MOST_DIRECTIONS: usize = 200;
    let directions = features.clamp(1, MOST_DIRECTIONS);
    LoopShape { inner_steps: 1, directions, smoothing: SCALAR_SMOOTHING }
}

/// `u_1` of `scalar`.
const SCALAR_SMOOTHING: f64 = 0.01;

/// For black boxes without protection: few values a round.
pub const BOX_LOOP: LoopShape = LoopShape { inner_steps: 10, directions: 10, smoothing: 1.0 };

/// Rounds of black boxes without protection.
pub const BOX_ROUNDS: u64 = 100;
/// rho of black boxes whose step was given, so that nobody measured their curvature.
pub const BOX_RHO: f64 = 1.0;
/// Directions along which the curvature of a black box is measured where no step is given.
pub const CURVATURE_DIRECTIONS: usize = 8;
/// Values that this takes: one to either side along every direction, and one in the middle.
pub const MEASURING_CALLS: u64 = 2 * CURVATURE_DIRECTIONS as u64 + 1;

/// Rounds on rows without a budget, unless all releases stand still before.
pub const PLAIN_ROUNDS: u64 = 500;

/// rho on rows without a budget: a soft pull comes nearest to the optimum, and one agent has nobody
/// to agree with. With kinks the exact solver needs a firmer one. It pulls against the weight of an
/// agent's rows, which is 1 on average but under `sum`.
pub fn plain_rho(problem: &Problem) -> f64 {
    let alone = problem.agents.len() == 1 && problem.loss.smoothness().is_some();
    let rho = if alone { 1e-4 } else { 1e-3 };
    let rows: usize = problem.agents.iter().map(|samples| samples.count()).sum();
    match problem.scale {
        Scale::Sum => rho * rows as f64 / problem.agents.len().max(1) as f64,
        Scale::Mean | Scale::Pooled | Scale::PooledOver(_) => rho,
    }
}

/// How near the exact solver must come without a budget. Where the loss has kinks, the gap is
/// resolved slowly; a gap of 1e-10 is enough for four digits of the objective.
pub fn plain_tolerance(problem: &Problem, rho: f64) -> Option<f64> {
    problem.loss.smoothness().is_none().then(|| (1e-10 / rho).sqrt())
}

/// rho of black boxes, from their measured curvatures and neighbourhoods: consensus pulls about as
/// hard as the objectives, whose curvature was measured with a margin of up to three.
pub fn box_rho(curvatures: &[f64], neighbourhoods: &[usize]) -> f64 {
    let agents = curvatures.len().max(1) as f64;
    let curvature = curvatures.iter().sum::<f64>() / agents;
    let pull = neighbourhoods.iter().map(|&near| near as f64).sum::<f64>() / agents;
    let rho = curvature / (6.0 * pull);
    if rho > 0.0 && rho.is_finite() { rho } else { 1.0 }
}

/// Every n-th round over rows is recorded: all of them, unless that would be a quarter of a million
/// records, or more work than the rounds themselves. To record a round is to query everybody's rows
/// once for every agent; `passes` are those that an agent takes over its own in a round, where they
/// are counted.
pub fn record_rows_every(records: u64, agents: u64, passes: Option<u64>) -> u64 {
    const MOST_RECORDS: u64 = 250_000;
    const USUAL_PASSES: u64 = 100;
    let work = agents.div_ceil(passes.unwrap_or(USUAL_PASSES));
    records.div_ceil(MOST_RECORDS).max(work).max(1)
}

/// Every n-th round over black boxes their values are recorded: about fifty times, since each may
/// be dear.
pub fn record_values_every(rounds: u64) -> u64 {
    (rounds / 50).max(1)
}

/// eta: one row weighs against the regulariser as in scikit-learn with C = 1, however rows are
/// weighed. The numbers of agents and rows are public.
pub fn plain_eta(scale: Scale, agents: usize, samples: usize) -> f64 {
    match scale {
        Scale::Sum => 1.0,
        Scale::Mean | Scale::Pooled | Scale::PooledOver(_) => agents as f64 / samples.max(1) as f64,
    }
}

/// What a rule chooses for a whole run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// rho.
    pub rho: f64,
    /// M.
    pub rounds: u64,
    /// How the budget is spread over the rounds.
    pub schedule: Schedule,
}

/// The rule for `output`, from the rows of the smallest agent and the total budget.
///
/// The noise of a release falls with `rho N_k epsilon`, convergence slows down with rho: a cube
/// root balances them.
pub fn output_rule(samples: usize, total_epsilon: f64) -> Rule {
    let signal = samples as f64 * total_epsilon / 1000.0;
    Rule {
        rho: (0.028 / signal.cbrt()).clamp(1e-3, 10.0),
        rounds: 60,
        schedule: Schedule::Growth(1.03),
    }
}

/// The rule for `scalar`, with the clip C: one query a round, so that consensus averages the noise
/// of the agents early.
///
/// As under `output`, a cube root balances noise and the pull of rho. While noise dominates, a low
/// clip pays: noise falls with it, and the direction of a mean of shortened gradients stays nearly
/// that of the gradient. Once the budget is large for the rows, its bias does not. `steepest` is a
/// bound on the slope of the loss where there is one: a longer gradient does not occur in the unit
/// ball. More rounds come nearer to the optimum, and leave less of the budget to each.
pub fn scalar_rule(samples: usize, total_epsilon: f64, steepest: Option<f64>) -> (Rule, f64) {
    const LARGEST_CLIP: f64 = 2.0;
    let signal = samples as f64 * total_epsilon / 1000.0;
    let fourth_root = signal.sqrt().sqrt();
    let rule = Rule {
        rho: (0.02 / signal.cbrt()).clamp(1e-3, 10.0),
        rounds: (57.0 * fourth_root).round().clamp(30.0, 200.0) as u64,
        schedule: Schedule::Growth(1.02),
    };
    let longest = steepest.unwrap_or(LARGEST_CLIP).min(LARGEST_CLIP);
    (rule, longest.min(0.5 * fourth_root.max(0.5)))
}
