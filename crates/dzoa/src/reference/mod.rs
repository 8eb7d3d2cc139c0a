//! The centralised optimum `beta^c`, with a certificate.
//!
//! Smooth losses are minimised by proximal Newton steps ([`crate::newton`]), to the last digits;
//! losses of lines by an interior-point method. Both have systems with one unknown per column, not
//! per row; where columns are too many for that, `wide.rs` takes some of them, or the rows. The
//! certificate is computed from the point that was found: a duality gap, not the solver's word.
//! What is not certified is an error, and no optimum. Tests compare with another solver.

mod certificate;
mod narrow;
mod solve;
mod wide;

pub use certificate::Certificate;
pub(crate) use certificate::gram;
pub(crate) use narrow::narrowed;

use crate::newton::{self, NewtonLimits};
use crate::problem::Problem;
use thiserror::Error;

/// The optimum and how well it is known.
#[derive(Clone, Debug)]
pub struct Optimum {
    /// `beta^c`
    pub coefficients: Vec<f64>,
    /// The centralised objective there.
    pub objective: f64,
    /// What is proven about it.
    pub certificate: Certificate,
}

/// There is no reference.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ReferenceError {
    /// The loss has kinks, and its [epigraph](crate::problem::loss::Loss::epigraph) does not say
    /// which lines it is made of.
    #[error(
        "the loss `{0}` has no second derivative and no lines that it is made of, so there is no \
         reference optimum"
    )]
    NoSolver(&'static str),
    /// The minimum is not attained: coefficients that nothing penalises grow for ever.
    #[error(
        "the objective has no minimiser: without a regulariser on all columns, coefficients that \
         separate the rows grow for ever"
    )]
    NoMinimiser,
    /// The solver came to no end.
    #[error("the reference solver came to no end")]
    NotSolved,
    /// The solver ended, and its end is not proven to be an optimum.
    #[error(
        "the reference solver ended at the objective {objective}, which is not certified (duality \
         gap {duality_gap:?}, stationarity {stationarity:.1e})"
    )]
    Uncertified {
        /// There.
        objective: f64,
        /// As in a [`Certificate`].
        duality_gap: Option<f64>,
        /// As in a [`Certificate`].
        stationarity: f64,
    },
    /// The systems would be too large.
    #[error("the reference solver would need {columns} columns at once, and has at most {most}")]
    TooManyColumns {
        /// That it would need.
        columns: usize,
        /// That it can have.
        most: usize,
    },
    /// Nobody wants it.
    #[error("it was not asked for")]
    NotAsked,
    /// It is left out by default, since it would take long.
    #[error(
        "it would take about {seconds:.0} s, and at most {most} s are spent unasked; \
         run.reference = \"always\" computes it"
    )]
    TakesLong {
        /// What it would take, roughly.
        seconds: f64,
        /// What is spent by default.
        most: f64,
    },
}

/// Whether the optimum is computed beside a run, which does not need it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReferenceWish {
    /// Where it takes less than about [`MOST_SECONDS`].
    #[default]
    Auto,
    /// However long it takes.
    Always,
    /// Not at all.
    Never,
}

/// What the optimum may take where nobody asked for it, by a rough count of operations.
pub const MOST_SECONDS: f64 = 60.0;

/// The optimum, as far as it is wished for.
pub fn wished_optimum(problem: &Problem, wish: ReferenceWish) -> Result<Optimum, ReferenceError> {
    let seconds = rough_seconds(problem);
    match wish {
        ReferenceWish::Never => Err(ReferenceError::NotAsked),
        ReferenceWish::Auto if seconds > MOST_SECONDS => {
            Err(ReferenceError::TakesLong { seconds, most: MOST_SECONDS })
        }
        ReferenceWish::Auto | ReferenceWish::Always => optimum(problem),
    }
}

/// What the solver would take, roughly, on one core of a plain machine.
fn rough_seconds(problem: &Problem) -> f64 {
    let entries: usize = problem.agents.iter().map(|samples| samples.rows.stored()).sum();
    let rows: usize = problem.agents.iter().map(|samples| samples.count()).sum();
    let width = match problem.dim() {
        dim if dim > MOST_COLUMNS => dim.min(rows),
        dim => dim,
    };
    let (gram, cube) = (entries as f64 * width as f64, (width as f64).powi(3));
    let smooth = problem.loss.smoothness().is_some();
    (gram + cube) * if smooth { 4e-9 } else { 2e-8 }
}

/// Columns of a dense system.
const MOST_COLUMNS: usize = 4000;

/// Minimises eq. (1).
#[doc(alias = "beta^c")]
pub fn optimum(problem: &Problem) -> Result<Optimum, ReferenceError> {
    match problem.dim() > MOST_COLUMNS {
        true => wide::optimum(problem),
        false => solve::optimum(problem).map(|found| found.optimum),
    }
}

/// The minimiser of eq. (1) from nothing but sums over all rows at points that everybody knows.
#[derive(Clone, Debug, PartialEq)]
pub struct BySums {
    /// The minimiser.
    pub b: Vec<f64>,
    /// How often everybody's sums were asked for.
    pub sums: usize,
    /// Whether the last step was as short as it should be.
    pub converged: bool,
    /// For a loss of lines: the slope that the multipliers choose, per sample.
    slopes: Option<Vec<f64>>,
}

/// Minimises eq. (1) from sums of derivatives, which agents can flood over any network: value,
/// gradient and Hessian of their data terms where the loss is smooth; where it is made of lines,
/// the sums of an interior-point method. `None` where the loss allows neither.
pub fn by_sums(problem: &Problem, limits: NewtonLimits) -> Option<BySums> {
    if problem.dim() > newton::MOST_COLUMNS {
        return None;
    }
    let start = vec![0.0; problem.dim()];
    solve::by_newton(problem, &start, limits).or_else(|| solve::by_interior(problem, limits.sums))
}
