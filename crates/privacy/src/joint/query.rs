//! One joint sum before anybody answers it: its grid, its noise, and what it charges each agent.
//!
//! **One grid for all.** Every agent adds its rows' vectors as whole multiples of one public
//! `step`, and its noise on the same grid: so masks cancel to the last bit, and sums do not depend
//! on their order. One draw of noise has the parameter `share`, which is `2^32` steps or, where
//! such numbers would not fit, a smaller power of two. Sums of K agents fit into 64 bits because
//!
//! ```text
//! bound/step <= 2^52   and   K (bound/step + 2^40) < 2^62,
//! ```
//!
//! where `bound` is the largest coordinate that any agent's rows can add up to. An agent draws at
//! most 64 times, so that its noise leaves `2^40` steps with a probability below `exp(-2^9)`.
//!
//! **Sensitivity.** A row's vector is weighted and cut towards zero to the grid. Two cut numbers
//! are less than a step farther apart than the numbers themselves, and the division by the step is
//! exact to half a step each below `2^52`: together `2 step sqrt(n)` for n coordinates, for each of
//! the g rows of a person.

use super::{Region, Shares};
use crate::{Condition, Digest, Event, gaussian, round_up};
use thiserror::Error;

/// A draw of noise in steps of the finest grid, and of the coarsest, as powers of two.
const FINEST: u32 = 32;
const COARSEST: u32 = 16;
/// What the rows of one agent add up to in steps, at most.
const LARGEST_SUM: f64 = (1u64 << 52) as f64;
/// What the noise of one agent adds, at most.
const LARGEST_NOISE: u64 = 1 << 40;
/// What everything adds up to, at most.
const LARGEST_TOTAL: f64 = (1u64 << 62) as f64;

/// One sum over all agents, as it is planned: a function of public numbers.
///
/// ```
/// use dzoa_privacy::Colluders;
/// use dzoa_privacy::joint::{Region, Shares, Silo};
/// let shares = Shares::new(&[Silo { rows: 100, weight: 0.01 }; 5], Colluders::AtMost(1)).unwrap();
/// let query = shares.query(Region::ball(10, 1.0).unwrap(), 0.1)?;
/// // Sensitivity 0.02 at mu 0.1, shared by the four that are honest at least.
/// assert!((query.share() - 0.2 / 4f64.sqrt()).abs() < 1e-9);
/// # Ok::<(), dzoa_privacy::joint::NoGrid>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct JointQuery {
    shares: Shares,
    region: Region,
    share: f64,
    log2_share: u32,
    /// In steps: the largest coordinate of one agent's sum.
    bound: u64,
}

/// A sum for which there is no grid.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum NoGrid {
    /// A guarantee that is none, or a sum that is always zero.
    #[error("there is no noise for mu {mu} at a sensitivity of {sensitivity}")]
    Noise {
        /// The guarantee.
        mu: f64,
        /// The largest sensitivity.
        sensitivity: f64,
    },
    /// So strict a guarantee that rounding to the grid alone exceeds it.
    #[error("mu {mu} is less than rounding {coordinates} coordinates to the grid costs")]
    Rounding {
        /// The guarantee.
        mu: f64,
        /// Coordinates.
        coordinates: usize,
    },
    /// Sums so much larger than their noise that they do not fit beside it.
    #[error(
        "sums up to {bound:e} of {agents} agents do not fit into 64 bits beside noise of {share:e}"
    )]
    Overflow {
        /// The largest coordinate of an agent's sum.
        bound: f64,
        /// Agents.
        agents: usize,
        /// One draw of noise.
        share: f64,
    },
}

impl Shares {
    /// A sum of vectors that lie in this region, such that no agent's guarantee is weaker than `mu`
    /// (that of the agent who needs most noise is `mu`).
    pub fn query(&self, region: Region, mu: f64) -> Result<JointQuery, NoGrid> {
        let (agents, coordinates) = (self.agents(), region.coordinates());
        let sensitivity = |k: usize| self.silo(k).weight * region.diameter();
        let largest = (0..agents).map(sensitivity).fold(0.0, f64::max);
        let good = |x: f64| x > 0.0 && x.is_finite();
        if !(good(mu) && good(largest)) {
            return Err(NoGrid::Noise { mu, sensitivity: largest });
        }
        let sum = |k: usize| self.silo(k).rows as f64 * self.silo(k).weight * region.reach();
        let bound = (0..agents).map(sum).fold(0.0, f64::max);
        let mut overflow = NoGrid::Rounding { mu, coordinates };
        for log2_share in (COARSEST..=FINEST).rev() {
            let Some(share) = self.share(&region, mu, log2_share) else { continue };
            // Two more: rounding here, and up to whole steps.
            let steps = (bound / step(share, log2_share) * (1.0 + 1e-12)).ceil() + 2.0;
            let total = agents as f64 * (steps + LARGEST_NOISE as f64);
            if share.is_finite() && steps <= LARGEST_SUM && total < LARGEST_TOTAL {
                let (shares, bound) = (self.clone(), steps as u64);
                return Ok(JointQuery { shares, region, share, log2_share, bound });
            }
            overflow = NoGrid::Overflow { bound, agents, share };
        }
        Err(overflow)
    }

    /// One draw: agent `k` needs `(Delta_k + 2 g step sqrt(n))/(share sqrt(honest)) <= mu`, and
    /// what the grid adds to `mu^2`. The step is a fixed part of the share.
    fn share(&self, region: &Region, mu: f64, log2_share: u32) -> Option<f64> {
        let grid = step(1.0, log2_share);
        let rounding = region.rounding(grid);
        let tight = mu / gaussian::grid(grid);
        let needs = |k: usize| {
            let sensitivity = self.silo(k).weight * region.diameter();
            let left = tight * (self.honest(k) as f64).sqrt() - rounding;
            (left > 0.0).then(|| round_up(sensitivity / left))
        };
        (0..self.agents()).map(needs).try_fold(0.0, |most: f64, need| Some(most.max(need?)))
    }
}

fn step(share: f64, log2_share: u32) -> f64 {
    share / (1u64 << log2_share) as f64
}

impl JointQuery {
    /// The parameter of one draw of noise.
    pub fn share(&self) -> f64 {
        self.share
    }

    /// The step of the grid.
    pub fn step(&self) -> f64 {
        step(self.share, self.log2_share)
    }

    /// Coordinates of the sum.
    pub fn coordinates(&self) -> usize {
        self.region.coordinates()
    }

    /// Who adds how much noise.
    pub fn shares(&self) -> &Shares {
        &self.shares
    }

    /// Where rows' vectors lie.
    pub fn region(&self) -> &Region {
        &self.region
    }

    /// What the guarantee rests on, if on anything.
    pub fn condition(&self) -> Option<Condition> {
        self.shares.condition()
    }

    /// What the sum costs an agent, outside any transcript: for plans. What is charged is
    /// [`Context::event`](super::Context::event).
    pub fn event(&self, agent: usize) -> Event {
        let rounding = self.region.rounding(self.step());
        let sensitivity = self.shares.silo(agent).weight * self.region.diameter();
        let agents = self.shares.agents();
        Event::JointSum {
            sensitivity: round_up(sensitivity + rounding),
            share: self.share,
            step: self.step(),
            coordinates: self.coordinates() as u64,
            multiples: self.shares.multiples()[agent],
            honest: self.shares.honest(agent),
            least: self.shares.least(),
            agents: agents as u32,
            colluders: self.shares.colluders().among(agents) as u32,
            context: Digest::default(),
        }
    }

    pub(super) fn log2_share(&self) -> u32 {
        self.log2_share
    }

    /// In steps: the largest coordinate that a sum has where masks cancelled.
    pub(super) fn range(&self) -> u64 {
        self.shares.agents() as u64 * (self.bound + LARGEST_NOISE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::joint::Silo;
    use crate::{Accountant, Colluders, ExactGaussian};

    fn silos(agents: usize, rows: u64) -> Vec<Silo> {
        vec![Silo { rows, weight: 1.0 / rows as f64 }; agents]
    }

    fn epsilon(event: &Event, delta: f64) -> f64 {
        let mut account = ExactGaussian::default();
        account.compose(event).unwrap();
        account.epsilon(delta)
    }

    #[test]
    fn no_agent_is_charged_more_than_the_query_was_planned_for_and_one_just_that() {
        let hospitals = [303u64, 261, 46, 130].map(|rows| Silo { rows, weight: 1.0 / rows as f64 });
        for silos in [hospitals.to_vec(), silos(5, 2000), silos(1, 50)] {
            for colluders in (0..silos.len() as u32).map(Colluders::AtMost) {
                // Beyond, the share of delta for the grid shows.
                for mu in [1e-4, 0.3, 2.0] {
                    let shares = Shares::new(&silos, colluders).unwrap();
                    let query = shares.query(Region::ball(11, 1.0).unwrap(), mu).unwrap();
                    // Dong, Roth, Su: the epsilon of a mu-Gaussian mechanism.
                    let most = gaussian::epsilon(1e-5, mu);
                    let costs = |k| epsilon(&query.event(k), 1e-5);
                    let costs: Vec<f64> = (0..silos.len()).map(costs).collect();
                    let largest = costs.iter().copied().fold(0.0, f64::max);
                    assert!(largest <= most * (1.0 + 1e-7), "{colluders} {mu}: {costs:?} {most}");
                    assert!(largest >= most * (1.0 - 1e-7), "{colluders} {mu}: {costs:?} {most}");
                }
            }
        }
    }

    #[test]
    fn a_sum_that_would_overflow_gets_a_coarser_grid_and_is_charged_for_it() {
        let query = |agents: usize, rows: u64, mu: f64| {
            let shares = Shares::new(&silos(agents, rows), Colluders::AtMost(1)).unwrap();
            shares.query(Region::ball(3, 1.0).unwrap(), mu)
        };
        let fine = query(5, 2000, 0.1).unwrap();
        assert_eq!(fine.step(), fine.share() / 2f64.powi(32));
        // Ten thousand agents with a million rows each and almost no noise.
        let coarse = query(10_000, 1_000_000, 100.0).unwrap();
        assert!(coarse.log2_share() < 32 && coarse.bound <= 1 << 52);
        assert!(coarse.range() < 1 << 62);
        let next = coarse.bound * 2;
        assert!(10_000 * (next + (1 << 40)) >= 1 << 62, "no finer grid fits");
        let Event::JointSum { sensitivity, step, .. } = coarse.event(0) else { unreachable!() };
        let rows = coarse.region().diameter() * 1e-6;
        assert!(sensitivity >= rows + 2.0 * step * 3f64.sqrt() && step == coarse.step());
        let refused = query(10_000, 1_000_000_000, 1e6);
        assert!(matches!(refused, Err(NoGrid::Overflow { .. })), "{refused:?}");
    }

    #[test]
    fn a_guarantee_that_is_none_or_stricter_than_the_grid_is_refused() {
        let shares = Shares::new(&silos(3, 10), Colluders::All).unwrap();
        let query = |mu| shares.query(Region::ball(4, 1.0).unwrap(), mu);
        for mu in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(query(mu), Err(NoGrid::Noise { .. })), "{mu}");
        }
        assert!(matches!(query(1e-10), Err(NoGrid::Rounding { .. })));
        let still = shares.query(Region::ball(4, 0.0).unwrap(), 1.0);
        assert!(matches!(still, Err(NoGrid::Noise { .. })), "nothing to hide");
    }
}
