//! Joint sums: the accuracy of a trusted curator, and no curator.
//!
//! Every agent adds up its rows' vectors at a public point, adds a *share* of noise, hides its part
//! under masks that cancel in the sum, and sends it. Everybody adds up all parts and holds the same
//! public sum. Who adds how much noise is [`Shares`], one sum as it is planned is [`JointQuery`],
//! what all agree on before it is [`Context`], and the path of an agent's rows is
//!
//! ```text
//! Accumulator --> Summand --Receipt--> Share --Masks--> Masked --> Words of all --> Sum
//! ```
//!
//! **Theorem.** Let at most `t` of K agents be corrupted, actively; let agent `k` be honest, and
//! let its rows differ in those of one person, at most g. With uniform words in place of masks
//! (`masks.rs` says what replaces them), everything that is seen is `mu_k`-Gaussian-DP with
//!
//! ```text
//! mu_k^2 = sum over charged sums of (Delta_k + 2 g step sqrt(n))^2/V_k (1 + step^2/11 V_k),
//! V_k = share^2 (draws of k and of the h - 1 others that draw least),   h = K - t.
//! ```
//!
//! *Proof.* Given the past, the point, the region and the noise are public. (1) By `masks.rs` only
//! the sum over the honest agents is seen, or nothing. (2) The others' parts and all noise do not
//! depend on the rows of `k`, and its own part moves by at most `Delta_k + 2 g step sqrt(n)` on the
//! grid (`query.rs`). (3) The sum carries the draws of at least `h` agents, `k` among them; more
//! are post-processing. Together they are discrete Gaussian noise of variance `V_k` (`shares.rs`),
//! which is Gaussian-DP with the factor of its grid ([`crate::gaussian`]). (4) Colluders choose the
//! sum, hence the next point, freely: the sensitivity holds at every point. (5) Gaussian DP
//! composes under budgets that depend on the past ([`crate::ExactGaussian`]). (6) That a sum is
//! refused depends on public values; a sum that is begun anew is charged anew, with fresh noise.
//! QED
//!
//! Under `t'` colluders in truth the same holds with `h = K - t'`: the guarantee gets weaker by
//! degrees, down to the agent's own draws if all others collude or masks hide nothing. Without
//! masks ([`crate::Colluders::All`]) that is the plan from the start, and nobody is relied on.
//!
//! ```
//! use dzoa_privacy::joint::*;
//! use dzoa_privacy::{Colluders, Ledger, RunId};
//! let (network, names) = ([2; 32].into(), ["ada", "bea", "cleo"]);
//! // Keys, from each agent's own root; all public keys are the roster.
//! let origin = |agent| Origin { root: &[7; 32], agent, rows: [1; 32].into() };
//! let key = |agent| MaskKey::new(&origin(agent), network);
//! let roster = Roster::new(names.map(|agent| (agent, key(agent).public())))?;
//! // Three rows each, against any one other agent; then one sum at a public point.
//! let colluders = Colluders::AtMost(1);
//! let shares = Shares::new(&[Silo { rows: 3, weight: 1.0 / 3.0 }; 3], colluders)?;
//! let query = shares.query(Region::logistic(&[0.0, 0.0])?, 1.0)?;
//! let (rows, program) = (&[3, 3, 3], "dzoa 0.3.0");
//! let roster_digest = Some(roster.digest());
//! let opening = Opening { network, program, roster: roster_digest, rows, colluders };
//! let (members, point) = (roster.members(), &[0.0, 0.0]);
//! let turn = Turn { round: 1, attempt: 0, members, purpose: "gradient", point };
//! let context = Transcript::new(&opening).context(&turn, query)?;
//! // At every agent: add up, charge, add noise, mask.
//! let send = |k: usize| -> Result<Words, Box<dyn std::error::Error>> {
//!     let mut sum = Accumulator::new(&context, k);
//!     sum.add(&[0.3, -0.2])?;
//!     let noise = ShareKey::new(&origin(names[k]));
//!     let charge = context.charge(k, RunId::default(), "dzoa 0.3.0 avx2", &noise);
//!     let receipt = Ledger::default().charge(charge)?;
//!     let mut masks = Masks::new(key(names[k]), roster.clone())?;
//!     Ok(sum.finish().share(receipt, &noise)?.mask(&mut masks)?.words().clone())
//! };
//! let all = (0..3).map(send).collect::<Result<Vec<Words>, _>>()?;
//! // Everybody: the same public sum, and the same transcript for the next one.
//! let sum = Sum::of(&context, &all)?;
//! assert_eq!(sum.values().len(), 2);
//! let next = context.follow(&sum);
//! # let _ = next;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What is not covered: a machine that is set back as a whole, journal and ledger together, and
//! then answers one context with another value. [`crate::Ledger`] refuses a second value for a
//! context that it holds.

mod accumulator;
mod diameter;
mod fields;
mod graph;
mod keys;
mod masks;
mod members;
mod query;
mod region;
mod roster;
mod share;
mod shares;
mod sum;
#[cfg(test)]
mod tests;
mod transcript;
mod words;

pub use accumulator::{Accumulator, BadRow, Summand};
pub use diameter::{Enclosing, diameter, enclosing};
pub use graph::COMPLETE;
pub use keys::{MaskKey, Origin, ShareKey};
pub use masks::{Masks, NoMasks};
pub use members::{Members, NoMembers};
pub use query::{JointQuery, NoGrid};
pub use region::{NoRegion, Region};
pub use roster::{BadRoster, Roster};
pub use share::{Masked, SealedWords, Share};
pub use shares::{MOST_DRAWS, NoShares, Shares, Silo, variances};
pub use sum::{NoSum, Sum};
pub use transcript::{Context, NoContext, Opening, Transcript, Turn};
pub use words::Words;
