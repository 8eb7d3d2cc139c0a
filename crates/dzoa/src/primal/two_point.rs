//! The two-point stochastic-gradient loop: the inner loop of Algorithm 1.

use super::{InnerFailure, Lagrangian, Primal, PrimalStep, PrimalTask, RoundContext};
use crate::kernels::{dot_lines, vectorized};
use crate::problem::{Directions, Objective, Probe, Scratch};
use crate::streams::Purpose;

/// Settings of the inner loop, in the paper's letters.
///
/// ```
/// let paper = dzoa::primal::ZerothOrder { alpha0_times_r: 1.1, ..Default::default() };
/// assert_eq!((paper.inner_steps, paper.directions), (100, 30));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ZerothOrder {
    /// T.
    pub inner_steps: usize,
    /// J.
    pub directions: usize,
    /// `u_1`.
    pub smoothing: f64,
    /// `alpha_0 R`: only the product occurs.
    pub alpha0_times_r: f64,
    /// L.
    #[doc(alias = "Assumption 2")]
    pub lipschitz: f64,
    /// Take the average of the iterates instead of the last one.
    #[doc(alias = "hat w^(T)")]
    pub inner_average: bool,
    /// Pairs of opposite directions, not in the paper: whatever is odd in them cancels.
    /// docs/oracle-calls.md.
    pub antithetic: bool,
    /// Directions at right angles, not in the paper. docs/oracle-calls.md.
    pub orthogonal: bool,
}

/// What a descent did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Descent {
    /// Whether `u_2` had to be raised to what the objective can resolve.
    pub raised: bool,
    /// Steps taken.
    pub steps: usize,
}

/// Steps between two checks of how near the loop has come: a check costs about as much as a step
/// with few directions.
const STEPS_PER_CHECK: usize = 2;

/// Buffers of the inner loop, reused over steps, rounds and agents.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    pub(crate) directions: Directions,
    pub(crate) scratch: Scratch,
    pub(crate) quotients: Vec<f64>,
    gradient: Vec<f64>,
    average: Vec<f64>,
}

impl Workspace {
    /// Makes room for a loop.
    fn prepare(&mut self, inner: &ZerothOrder, features: usize) {
        self.directions.resize(features, inner.directions);
        self.quotients.resize(inner.directions, 0.0);
        self.gradient.resize(features, 0.0);
        self.average.clear();
        self.average.resize(features, 0.0);
    }
}

/// One step of the loop: its number and its smoothing constants.
#[derive(Clone, Copy, Debug)]
pub(super) struct InnerStep {
    pub(super) t: usize,
    pub(super) u1: f64,
    pub(super) u2: f64,
}

/// What the loop asks of an objective in one step, and how the answer becomes the next point.
pub(super) trait InnerQuery {
    /// The shortest `u_2` that the objective can resolve at a point.
    fn shortest_step(&self, b: &[f64]) -> f64;

    /// Asks along the directions of the workspace, and moves `b`.
    fn step(
        &mut self,
        step: InnerStep,
        b: &mut [f64],
        work: &mut Workspace,
    ) -> Result<(), InnerFailure>;

    /// Whether the loop may end here. Asked now and then.
    fn is_near(&self, _b: &[f64]) -> bool {
        false
    }
}

/// Steps against the gradient estimate, until a point is near enough.
pub(super) struct GradientQuery<'a, N> {
    pub(super) inner: &'a ZerothOrder,
    pub(super) objective: &'a dyn Objective,
    pub(super) near: N,
}

impl<N: Fn(&[f64]) -> bool> InnerQuery for GradientQuery<'_, N> {
    fn shortest_step(&self, b: &[f64]) -> f64 {
        self.objective.shortest_step(b)
    }

    fn step(
        &mut self,
        InnerStep { t, u1, u2 }: InnerStep,
        b: &mut [f64],
        work: &mut Workspace,
    ) -> Result<(), InnerFailure> {
        let Workspace { directions, scratch, quotients, gradient: g, .. } = work;
        let probe = Probe { point: b, u1, u2, directions };
        gradient(self.objective, &probe, scratch, quotients, g);
        if let Some(failure) = self.objective.failure() {
            return Err(InnerFailure::Objective { step: t, failure });
        }
        self.inner.step(t, b, g);
        Ok(())
    }

    fn is_near(&self, b: &[f64]) -> bool {
        (self.near)(b)
    }
}

impl ZerothOrder {
    /// `alpha_t = alpha_0 R/(L sqrt(t P log 2P))`.
    #[doc(alias = "alpha_t")]
    pub fn step_size(&self, t: usize, features: usize) -> f64 {
        let p = features as f64;
        self.alpha0_times_r / (self.lipschitz * (t as f64 * p * (2.0 * p).ln()).sqrt())
    }

    /// `u_{1,t} = u_1/t` and `u_{2,t} = min(u_1/(P t)^2, u_{1,t}/2)`.
    #[doc(alias = "u_{1,t}")]
    #[doc(alias = "u_{2,t}")]
    #[doc(alias = "Algorithm 1, line 8: the smoothing constants")]
    pub fn smoothing_at(&self, t: usize, features: usize) -> (f64, f64) {
        let (t, p) = (t as f64, features as f64);
        let u1 = self.smoothing / t;
        (u1, (self.smoothing / (p * t * p * t)).min(0.5 * u1))
    }

    /// `b <- b - alpha_t g`
    #[doc(alias = "thirdzeroth")]
    #[doc(alias = "fifthzeroth")]
    #[doc(alias = "Algorithm 1, line 10: the step")]
    pub fn step(&self, t: usize, b: &mut [f64], g: &[f64]) {
        let alpha = self.step_size(t, b.len());
        b.iter_mut().zip(g).for_each(|(b, g)| *b -= alpha * g);
    }

    /// Values of the objective that so many steps ask for.
    pub fn oracle_calls(&self, steps: usize) -> u64 {
        2 * (steps * self.directions) as u64
    }

    /// Directions of a step that are not mirrored from another.
    pub fn distinct_directions(&self) -> usize {
        if self.antithetic { self.directions.div_ceil(2) } else { self.directions }
    }

    /// T steps down from `b`, in place. `draw(t, directions)` supplies the directions of step t.
    #[doc(alias = "Algorithm 1, lines 5 to 10: the inner loop")]
    #[doc(alias = "Algorithm 1, line 6: the loop over t")]
    pub fn descend(
        &self,
        objective: &dyn Objective,
        b: &mut [f64],
        draw: impl FnMut(usize, &mut Directions),
        work: &mut Workspace,
    ) -> Result<Descent, InnerFailure> {
        let mut query = GradientQuery { inner: self, objective, near: |_: &[f64]| false };
        self.repeat(&mut query, b, draw, work)
    }

    /// The loop over t: at most T queries, from `b`, in place.
    pub(super) fn repeat(
        &self,
        query: &mut impl InnerQuery,
        b: &mut [f64],
        mut draw: impl FnMut(usize, &mut Directions),
        work: &mut Workspace,
    ) -> Result<Descent, InnerFailure> {
        let features = b.len();
        let mut done = Descent::default();
        work.prepare(self, features);
        for t in 1..=self.inner_steps {
            if done.steps.is_multiple_of(STEPS_PER_CHECK) && query.is_near(b) {
                break;
            }
            // Line 7.
            draw(t, &mut work.directions);
            self.arrange(work);
            // Line 8, but never below what the objective can resolve.
            let (u1, mut u2) = self.smoothing_at(t, features);
            let shortest = query.shortest_step(b);
            if u2 < shortest {
                (u2, done.raised) = (shortest, true);
            }
            // Lines 9 and 10.
            query.step(InnerStep { t, u1, u2 }, b, work)?;
            for (b, sum) in b.iter().zip(&mut work.average) {
                *sum += b;
            }
            if !b.iter().all(|b| b.is_finite()) {
                return Err(InnerFailure::NonFinite { step: t });
            }
            done.steps = t;
        }
        if self.inner_average && done.steps > 0 {
            let steps = done.steps as f64;
            b.iter_mut().zip(&work.average).for_each(|(b, sum)| *b = sum / steps);
        }
        Ok(done)
    }

    /// The options beyond the paper, applied to directions that were just drawn.
    pub(crate) fn arrange(&self, work: &mut Workspace) {
        let Workspace { directions, gradient: buffer, .. } = work;
        if self.orthogonal {
            directions.orthogonalize(self.distinct_directions(), buffer);
        }
        if self.antithetic {
            directions.mirror();
        }
    }
}

/// The gradient estimate `g = (1/J) sum_j Gamma(b, u1, u2, nu1_j, nu2_j)` with
/// `Gamma = [F(b + u1 nu1 + u2 nu2) - F(b + u1 nu1)]/u2 nu2`.
#[doc(alias = "firstzeroth")]
#[doc(alias = "secondzeroth")]
#[doc(alias = "fourthzeroth")]
#[doc(alias = "Algorithm 1, line 9: the gradient estimate")]
pub fn gradient(
    objective: &dyn Objective,
    probe: &Probe<'_>,
    scratch: &mut Scratch,
    quotients: &mut Vec<f64>,
    gradient: &mut [f64],
) {
    let count = probe.directions.count();
    quotients.resize(count, 0.0);
    objective.quotients(probe, scratch, quotients);
    vectorized(
        #[inline(always)]
        || {
            dot_lines(quotients, probe.directions.block(), 2 * count, count, gradient);
            let share = 1.0 / count as f64;
            gradient.iter_mut().for_each(|g| *g *= share);
        },
    );
}

impl PrimalStep for ZerothOrder {
    fn update(
        &mut self,
        task: PrimalTask<'_>,
        work: &mut Workspace,
    ) -> Result<Primal, InnerFailure> {
        let PrimalTask { lagrangian, start, receipt, context } = task;
        let mut b = start.to_vec();
        let draw = context.directions(Purpose::Directions, context.round);
        let done = self.descend(lagrangian, &mut b, draw, work)?;
        Ok(Primal {
            release: context.release(b, receipt)?,
            oracle_calls: self.oracle_calls(done.steps),
            step_raised: done.raised,
            finished_exactly: false,
            clipped: 0,
        })
    }
}

/// Measures the noise of the inner loop: repeats it at frozen inputs with fresh directions and
/// returns the standard deviation of one coordinate of the result, averaged (in variance) over
/// coordinates.
///
/// This is the `sigma_k` that Lemma 1 speaks of, measured instead of assumed. `None` where a
/// repetition leaves the finite numbers.
#[doc(alias = "Lemma 1")]
#[doc(alias = "lemmaone")]
#[doc(alias = "sigma_k^2")]
pub fn measure_noise(
    inner: &ZerothOrder,
    lagrangian: &Lagrangian<'_>,
    start: &[f64],
    replicates: u64,
    context: &RoundContext<'_>,
) -> Option<f64> {
    let mut work = Workspace::default();
    let (mut sum, mut squares) = (vec![0.0; start.len()], vec![0.0; start.len()]);
    let mut origin = None;
    for replicate in 0..replicates {
        let mut b = start.to_vec();
        let draw = context.directions(Purpose::Replicates, replicate);
        inner.descend(lagrangian, &mut b, draw, &mut work).ok()?;
        // Deviations from the first replicate: sums of squares of raw values would cancel.
        let origin = origin.get_or_insert_with(|| b.clone());
        for p in 0..b.len() {
            let deviation = b[p] - origin[p];
            sum[p] += deviation;
            squares[p] += deviation * deviation;
        }
    }
    let n = replicates as f64;
    let variance: f64 =
        sum.iter().zip(&squares).map(|(sum, square)| (square - sum * sum / n) / (n - 1.0)).sum();
    Some((variance / start.len() as f64).sqrt())
}
