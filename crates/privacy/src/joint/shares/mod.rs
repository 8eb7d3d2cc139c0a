//! How much noise each agent adds to a joint sum.
//!
//! Agent `k` moves the sum by at most `Delta_k` when one of its rows is replaced; let `d_k =
//! Delta_k^2`. Of K agents at most `t` collude: `h = K - t` are honest, `k` among them. The noise
//! that protects `k` is its own and that of the `h - 1` others who add least. So the least noise is
//! a linear program:
//!
//! ```text
//! minimise sum_j v_j   subject to   V_k = v_k + (the h - 1 smallest other v) >= d_k   for all k
//! ```
//!
//! **Solution.** Sort `d_1 <= ... <= d_K`, and let `q = h - 1 + max(1, ceil(t (h - 1)/h))`. Then
//! `v_k = d_q/h + max(0, d_k - d_q)`.
//!
//! **Proof.** (1) *There is a solution that is sorted like d.* Let `d_i <= d_j` and `v_i > v_j`,
//! and swap the two. `V_k` is the smallest sum of `v` over the sets of `h` agents with `k` in them.
//! For other agents it stays. A set with `i` has a sum of at least `V_j`: if it holds `j`, by
//! definition, and if not, because `j` in place of `i` makes it smaller. So `V_i >= V_j >= d_j`,
//! and after the swap `V_j` is what `V_i` was, and `V_i` what `V_j` was, at least `d_j >= d_i`.
//!
//! (2) *Then one number decides.* Let `S` be the sum of the `h - 1` smallest, `v_1 .. v_(h-1)`. For
//! `k >= h` the program asks for `v_k >= d_k - S`. For `k < h` it asks for `v_h >= d_k - S`, which
//! follows from `k = h`. Sorting asks for `v_k >= v_(h-1)`, which is at least the mean `S/(h-1)`.
//! So the total is at least
//!
//! ```text
//! J(S) = S + sum over k >= h of max(d_k - S, S/(h-1)),
//! ```
//!
//! and `v_1 = ... = v_(h-1) = S/(h-1)`, `v_k = max(d_k - S, S/(h-1))` attains it. `J` is convex
//! with corners at `S = d_k (h-1)/h` for the `t + 1` agents from `h` to `K`. Beyond `j` of them its
//! slope is `1 - (t + 1 - j) + j/(h-1) = j h/(h-1) - t`: at most zero before the first, and not
//! negative from the corner `j = max(1, ceil(t (h-1)/h))` on, which is that of `k = q`. There
//! `S/(h-1) = d_q/h`. For `h = 1` there are no others: `v_k = d_k`, as the solution says. QED
//!
//! **What follows.** `v_k >= d_k/h`: no agent leaves its protection to others alone, and under more
//! colluders than planned the guarantee gets weaker by degrees. And every `v` up to rank `q >= h`
//! is equal: with `t' >= t` colluders the noise is `v_k + (K - t' - 1) v_1`, from two numbers.
//!
//! **Whole multiples.** One sampler serves all: `v_j = c_j s^2`, drawn as `c_j` draws of parameter
//! `s`. The sum of discrete Gaussians on a grid of at most `s/2^16` is one with the sum of the
//! variances, but for a factor below `1 + exp(-10^9)`: the probability of `z = x + y` with
//! variances `a` and `b` is proportional to `exp(-z^2/2(a+b))` times the sum of `exp(-(x -
//! m)^2/2e)` over whole `x`, with `e = ab/(a+b)` at least half of the smaller variance, and by
//! Poisson's formula that sum depends on `m` by at most a factor `1 +- 2.1 exp(-2 pi^2 e)`.

use super::fields::Fields;
use crate::{Colluders, Condition, Digest};
use std::sync::Arc;
use thiserror::Error;

/// The most draws an agent makes for one coordinate. Where silos differ by more, the smallest
/// shares are rounded up to one draw.
pub const MOST_DRAWS: u32 = 64;
/// A share may be so much larger than the least that fewer draws are enough.
const DRAWS_ARE_WORTH: f64 = 1.001;

/// What is public about one agent's rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Silo {
    /// Its rows.
    pub rows: u64,
    /// What one of its rows weighs in the sum: `1/rows` for a mean at each agent.
    pub weight: f64,
}

/// Silos that noise cannot be shared between.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum NoShares {
    /// Nobody.
    #[error("a sum needs an agent")]
    Nobody,
    /// A weight that is none, or no rows.
    #[error("agent {agent} has {rows} rows of weight {weight}: both must be positive")]
    Silo {
        /// Which, counted from 0.
        agent: usize,
        /// Its rows.
        rows: u64,
        /// Its weight.
        weight: f64,
    },
}

/// The plan of who adds how much noise: public, and the same at every agent.
///
/// ```
/// use dzoa_privacy::Colluders;
/// use dzoa_privacy::joint::{Shares, Silo};
/// let silos = [Silo { rows: 100, weight: 0.01 }; 5];
/// let shares = Shares::new(&silos, Colluders::AtMost(1))?;
/// // Equal silos: one draw each, four of which are honest.
/// assert_eq!((shares.multiples(), shares.honest(0)), (&[1; 5][..], 4));
/// # Ok::<(), dzoa_privacy::joint::NoShares>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Shares(Arc<Plan>);

#[derive(Debug, PartialEq)]
struct Plan {
    silos: Vec<Silo>,
    colluders: Colluders,
    multiples: Vec<u32>,
    sorted: Vec<u32>,
    /// The sum of so many smallest multiples.
    smallest: Vec<u64>,
    digest: Digest,
}

impl Shares {
    /// The least noise for these silos, in whole draws.
    pub fn new(silos: &[Silo], colluders: Colluders) -> Result<Self, NoShares> {
        if silos.is_empty() {
            return Err(NoShares::Nobody);
        }
        for (agent, Silo { rows, weight }) in silos.iter().copied().enumerate() {
            if rows == 0 || !(weight > 0.0 && weight.is_finite()) {
                return Err(NoShares::Silo { agent, rows, weight });
            }
        }
        // Relative to the largest, so that no square overflows.
        let largest = silos.iter().map(|silo| silo.weight).fold(0.0, f64::max);
        let sensitivities: Vec<f64> = silos.iter().map(|silo| silo.weight / largest).collect();
        let multiples = whole(&variances(&sensitivities, colluders.among(silos.len())));
        let mut sorted = multiples.clone();
        sorted.sort_unstable();
        let smallest = std::iter::once(0).chain(sorted.iter().scan(0u64, |sum, multiple| {
            *sum += u64::from(*multiple);
            Some(*sum)
        }));
        let smallest = smallest.collect();
        let wide: Vec<u64> = multiples.iter().copied().map(u64::from).collect();
        let digest = Fields::hash("dzoa 2026 joint shares").numbers(&wide).digest();
        let silos = silos.to_vec();
        Ok(Self(Arc::new(Plan { silos, colluders, multiples, sorted, smallest, digest })))
    }

    /// The draws of every agent for one coordinate.
    pub fn multiples(&self) -> &[u32] {
        &self.0.multiples
    }

    /// The fewest draws of any agent.
    pub fn least(&self) -> u32 {
        self.0.sorted[0]
    }

    /// Draws that protect an agent under the plan's number of colluders: its own, and the fewest
    /// that the other honest ones can have.
    pub fn honest(&self, agent: usize) -> u64 {
        self.honest_if(agent, self.0.colluders.among(self.agents()))
    }

    /// Draws that protect an agent when so many others collude in truth.
    pub fn honest_if(&self, agent: usize, colluders: usize) -> u64 {
        let Plan { multiples, sorted, smallest, .. } = &*self.0;
        if !self.masked() {
            // Every contribution is seen by itself.
            return u64::from(multiples[agent]);
        }
        let others = self.agents() - 1 - colluders.min(self.agents() - 1);
        // If its own is among the smallest, the next one takes its place.
        smallest[others] + u64::from(multiples[agent].max(sorted[others]))
    }

    /// Agents.
    pub fn agents(&self) -> usize {
        self.0.silos.len()
    }

    /// What is public about an agent's rows.
    pub fn silo(&self, agent: usize) -> Silo {
        self.0.silos[agent]
    }

    /// Whom the plan protects against.
    pub fn colluders(&self) -> Colluders {
        self.0.colluders
    }

    /// Whether contributions are masked.
    pub fn masked(&self) -> bool {
        self.0.colluders.masked(self.agents())
    }

    /// What the guarantee rests on; nothing where contributions are not masked.
    pub fn condition(&self) -> Option<Condition> {
        self.masked().then(|| {
            let colluders = self.0.colluders.among(self.agents()) as u32;
            Condition { agents: self.agents() as u32, colluders }
        })
    }

    /// A digest of all multiples.
    pub(super) fn digest(&self) -> Digest {
        self.0.digest
    }
}

/// The variances of the least noise such that agents of these sensitivities are protected at `mu =
/// 1` against so many colluders; by the module's text.
///
/// ```
/// use dzoa_privacy::joint::variances;
/// // Against everybody each agent needs all of its noise; against outsiders they share it.
/// assert_eq!(variances(&[1.0, 3.0], 1), [1.0, 9.0]);
/// assert_eq!(variances(&[1.0, 3.0], 0), [4.5, 4.5]);
/// ```
pub fn variances(sensitivities: &[f64], colluders: usize) -> Vec<f64> {
    let agents = sensitivities.len();
    let colluders = colluders.min(agents.saturating_sub(1));
    let honest = agents - colluders;
    let mut sorted: Vec<f64> = sensitivities.iter().map(|delta| delta * delta).collect();
    sorted.sort_by(f64::total_cmp);
    if agents == 0 {
        return Vec::new();
    }
    let corner = (colluders * (honest - 1)).div_ceil(honest).max(1);
    let common = sorted[honest - 1 + corner - 1];
    let of = |delta: &f64| common / honest as f64 + (delta * delta - common).max(0.0);
    sensitivities.iter().map(of).collect()
}

/// Variances as whole multiples of one, rounded up: the fewest draws whose total is within a
/// thousandth of the best.
fn whole(variances: &[f64]) -> Vec<u32> {
    let largest = variances.iter().copied().fold(0.0, f64::max);
    // The largest is a whole multiple. A little is taken off, so that a quotient that is whole but
    // for its rounding is not rounded up: what is drawn is what is charged, not what was wanted.
    let of = |variance: f64, draws: u32| {
        let multiple = (variance / largest * f64::from(draws) * (1.0 - 1e-12)).ceil();
        (multiple as u32).clamp(1, draws)
    };
    let total = |draws: u32| {
        let each = variances.iter().map(|variance| u64::from(of(*variance, draws)));
        each.sum::<u64>() as f64 / f64::from(draws)
    };
    let totals: Vec<f64> = (1..=MOST_DRAWS).map(total).collect();
    let best = totals.iter().copied().fold(f64::INFINITY, f64::min);
    let enough = totals.iter().position(|total| *total <= best * DRAWS_ARE_WORTH);
    let draws = enough.map_or(MOST_DRAWS, |position| position as u32 + 1);
    variances.iter().map(|variance| of(*variance, draws)).collect()
}

#[cfg(test)]
mod tests;
