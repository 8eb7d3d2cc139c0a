//! What a guarantee is made of: a total budget, and the public bounds c1 and c3 that every
//! sensitivity rests on.
//!
//! Sensitivities are for replace-one adjacency on one agent's rows; the number of rows is public.

use crate::problem::PublicProblem;
use dzoa_privacy::Budget;
use dzoa_privacy::calibrate::Schedule;
use thiserror::Error;

/// A total budget and how it is spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BudgetTarget {
    /// Over the whole run.
    pub total_epsilon: f64,
    /// Over the whole run.
    pub delta: f64,
    /// Over the rounds.
    pub schedule: Schedule,
    /// Rows that one person may have in one agent's data: the guarantee is per person.
    pub rows_per_person: usize,
}

impl BudgetTarget {
    /// What the whole run may cost.
    pub fn budget(&self) -> Budget {
        Budget { epsilon: self.total_epsilon, delta: self.delta }
    }
}

/// Why a mechanism cannot give its guarantee.
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
        "what one row does to the Hessian costs epsilon {costs:.3} a release, and a release may \
         cost {epsilon:.3}"
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
        "a tolerance of {tolerance:.1e} cannot be certified in double precision (at least \
         {least:.1e})"
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
/// In one round the data carry a minimiser at most `c1 w/(2 rho |N_k|)` away from a public point,
/// where w is the weight of all of an agent's rows, at most [`heaviest`]. So honest agents stay
/// within about `c1 w/rho` times the rounds of the origin, and this is a thousand times as far.
///
/// [`heaviest`]: crate::problem::Scale::heaviest
pub fn radius(c1: f64, heaviest: f64, rho: f64, rounds: u64) -> f64 {
    1024.0 * (rounds + 1) as f64 * c1 * heaviest / rho
}

/// c1 at agent k: how long the gradient of one sample's loss can be, for every `b` and every row
/// that could be one of its rows. The loss bounds the slope, and the rows' public bound the rest.
#[doc(alias = "Assumption 3")]
pub fn c1(problem: &PublicProblem, k: usize) -> Result<f64, NoGuarantee> {
    let name = problem.loss.name();
    let slope = problem.loss.lipschitz().ok_or(NoGuarantee::NoLipschitz(name))?;
    Ok(slope * longest_row(problem, k)?)
}

/// c3 at agent k: how large the second derivative of one sample's loss can be in any direction.
pub fn c3(problem: &PublicProblem, k: usize) -> Result<f64, NoGuarantee> {
    let curvature = problem.loss.smoothness().ok_or(NoGuarantee::NotSmooth(problem.loss.name()))?;
    Ok(curvature * longest_row(problem, k)?.powi(2))
}

/// The rows' public bound, and what rounding adds where rows were cut to it.
fn longest_row(problem: &PublicProblem, k: usize) -> Result<f64, NoGuarantee> {
    let bound = problem.norm_bound(k).ok_or(NoGuarantee::UnboundedRows(problem.loss.name()))?;
    Ok(bound * (1.0 + (problem.dim() + 8) as f64 * f64::EPSILON))
}
